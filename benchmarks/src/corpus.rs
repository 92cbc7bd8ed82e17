//! Made-up texts with the statistics of real ones: words by Zipf's law, 17-word tasks.
//!
//! The same number always gives the same text, so every run measures the same data.

use learnkit::Task;

/// Distinct words that say something.
const VOCABULARY: f64 = 50_000.0;
/// Flattens the top of the law (Mandelbrot's term), so that the commonest word that says something is in
/// one record of seven, as in real texts without their fillers.
const FLATTENING: f64 = 100.0;
/// Words of a task, and how many of them say something.
const TASK_WORDS: usize = 17;
const TELLING_WORDS: usize = 10;
/// Words of a record beside its task.
const BODY_WORDS: usize = 80;
/// Words that fill a sentence; searches drop them.
const FILLERS: [&str; 12] = ["the", "a", "to", "of", "in", "for", "and", "with", "on", "is", "that", "my"];
const SYLLABLES: [&str; 32] = [
    "ba", "be", "bi", "bo", "da", "de", "di", "do", "ka", "ke", "ki", "ko", "la", "le", "li", "lo", "ma", "me", "mi",
    "mo", "na", "ne", "ni", "no", "ra", "re", "ri", "ro", "sa", "se", "si", "so",
];

/// A small generator of random numbers (SplitMix64): reproducible, and no dependency.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn of(stream: &str, n: usize) -> Self {
        let seed = stream.bytes().fold(n as u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1, without 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or_default()
    }

    /// A word; how often one is drawn falls with its rank.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to the vocabulary")]
    fn word(&mut self) -> String {
        let rank = FLATTENING * ((VOCABULARY + FLATTENING) / FLATTENING).powf(self.share()) - FLATTENING;
        word(rank as usize)
    }
}

/// The word of a rank.
fn word(rank: usize) -> String {
    let mut word = String::new();
    let mut rest = rank + 31;
    while rest > 0 {
        word.push_str(SYLLABLES.get(rest % SYLLABLES.len()).copied().unwrap_or_default());
        rest /= SYLLABLES.len();
    }
    word
}

/// The words of task `n` that say something.
fn telling(n: usize) -> Vec<String> {
    let mut random = Random::of("task", n);
    (0..TELLING_WORDS).map(|_| random.word()).collect()
}

fn sentence(words: &[String], random: &mut Random) -> String {
    let mut fillers = TASK_WORDS.saturating_sub(words.len());
    let mut sentence = Vec::with_capacity(TASK_WORDS);
    for word in words {
        if fillers > 0 && random.below(10) < 7 {
            fillers -= 1;
            sentence.push(FILLERS.get(random.below(FILLERS.len())).copied().unwrap_or_default().to_owned());
        }
        sentence.push(word.clone());
    }
    sentence.join(" ")
}

/// Task `n`: 17 words, and a number of its own, so that no two are the same.
pub(crate) fn task(n: usize) -> Task {
    Task::new(format!("{} for account {n}", sentence(&telling(n), &mut Random::of("fillers", n))))
}

/// What somebody else might say for task `n`: half of its words, and others.
pub(crate) fn query(n: usize) -> String {
    let mut random = Random::of("query", n);
    let words: Vec<String> =
        telling(n).into_iter().map(|word| if random.below(2) == 0 { word } else { random.word() }).collect();
    sentence(&words, &mut random)
}

/// Sentences of 80 words in sum that belong to record `n` beside its task.
pub(crate) fn steps(n: usize) -> Vec<String> {
    let mut random = Random::of("body", n);
    let words: Vec<String> = (0..BODY_WORDS).map(|_| random.word()).collect();
    words.chunks(TASK_WORDS).map(|words| sentence(words, &mut random)).collect()
}
