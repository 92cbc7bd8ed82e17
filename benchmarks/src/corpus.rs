//! Made-up texts with the statistics of real ones: words by Zipf's law, 17-word tasks.
//!
//! The same number always gives the same text, so every run measures the same data.

use learnkit::Task;

use crate::random::Random;

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

/// A word; how often one is drawn falls with its rank.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to the vocabulary")]
fn draw_word(random: &mut Random) -> String {
    let rank = FLATTENING * ((VOCABULARY + FLATTENING) / FLATTENING).powf(random.share()) - FLATTENING;
    word(rank as usize)
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
    (0..TELLING_WORDS).map(|_| draw_word(&mut random)).collect()
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
        telling(n).into_iter().map(|word| if random.below(2) == 0 { word } else { draw_word(&mut random) }).collect();
    sentence(&words, &mut random)
}

/// Sentences of 80 words in sum that belong to record `n` beside its task.
pub(crate) fn steps(n: usize) -> Vec<String> {
    let mut random = Random::of("body", n);
    let words: Vec<String> = (0..BODY_WORDS).map(|_| draw_word(&mut random)).collect();
    words.chunks(TASK_WORDS).map(|words| sentence(words, &mut random)).collect()
}
