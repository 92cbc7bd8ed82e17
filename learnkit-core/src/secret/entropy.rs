//! Random texts: keys that no name and no known shape gives away.
//!
//! Digits, capitals and small letters that are mixed say little by themselves: `getUserV2ByName` has all three.
//! What tells a word from a key is which letters stand side by side.

/// The letters that follow each letter in 93 % of the letter pairs of words in the sources and manuals of
/// Rust libraries, one bit each. A random text has one such pair in three.
const COMMON: [u32; 26] = [
    0x13e_bd4e, 0x016_4911, 0x01e_4d95, 0x016_4919, 0x0af_b97d, 0x016_4931, 0x016_2191, 0x000_4111, 0x22e_f87f,
    0x000_0000, 0x004_0110, 0x11c_4919, 0x014_d113, 0x03c_6d7d, 0x07e_f96e, 0x01e_c991, 0x010_0000, 0x11e_797d,
    0x11c_c995, 0x11e_4995, 0x00e_b937, 0x000_0111, 0x002_6111, 0x008_8010, 0x004_8000, 0x000_0010,
];

/// A shorter key of small letters, capitals and digits is told from an id only by what stands before it.
pub(super) const MIN_MIXED: usize = 20;
/// Without digits it needs so many letters more.
const MORE_LETTERS: usize = 4;
/// With letters of one case it needs more yet: so are many ids made.
const MIN_ONE_CASE: usize = 32;
/// A longer text is data, in bytes.
const MAX_BYTES: usize = 512;
/// At most so many of a hundred letter pairs are common ones, by how often a digit stands before a letter: names
/// have their numbers at the end.
const COMMON_PERCENT: [usize; 3] = [55, 65, 85];

/// Prefixes that say what follows is a secret; any other one (`pi_…`, `call_…`, `sha256-…`) names an id.
const SECRET_PREFIXES: [&str; 18] = [
    "sk", "rk", "key", "api", "apikey", "token", "tok", "secret", "sec", "pat", "auth", "live", "bearer", "pass",
    "pwd", "access", "refresh", "cred",
];

/// What a text is made of.
#[derive(Debug, Default)]
struct Made {
    lower: usize,
    upper: usize,
    digits: usize,
    /// Letters of `a` to `f` and digits.
    hex: usize,
    /// Digits with a letter behind.
    inner: usize,
    pairs: usize,
    common: usize,
    /// The longest part without `-`, `_`, `+` and `/`.
    longest: usize,
}

impl Made {
    fn of(text: &str) -> Self {
        let mut made = Self::default();
        let (mut before, mut part) = (b' ', 0);
        for byte in text.bytes() {
            part = if byte.is_ascii_alphanumeric() { part + 1 } else { 0 };
            made.longest = made.longest.max(part);
            made.lower += usize::from(byte.is_ascii_lowercase());
            made.upper += usize::from(byte.is_ascii_uppercase());
            made.digits += usize::from(byte.is_ascii_digit());
            made.hex += usize::from(byte.is_ascii_hexdigit());
            made.inner += usize::from(before.is_ascii_digit() && byte.is_ascii_alphabetic());
            // A capital after a small letter begins another word.
            let is_start = before.is_ascii_lowercase() && byte.is_ascii_uppercase();
            if before.is_ascii_alphabetic() && byte.is_ascii_alphabetic() && !is_start {
                made.pairs += 1;
                made.common += usize::from(is_common(before, byte));
            }
            before = byte;
        }
        made
    }

    fn count(&self) -> usize {
        self.lower + self.upper + self.digits
    }

    fn is_random(&self, least: usize) -> bool {
        let count = self.count();
        let least = match (self.lower > 0, self.upper > 0, self.digits > 0) {
            (true, true, true) => least,
            (true, true, false) => least + MORE_LETTERS,
            (true, false, true) | (false, true, true) if self.digits * 3 <= count * 2 => MIN_ONE_CASE,
            _ => return false,
        };
        let percent = COMMON_PERCENT.get(self.inner).or(COMMON_PERCENT.last()).copied().unwrap_or_default();
        let is_rare = self.common * 100 <= self.pairs * percent;
        count >= least && self.hex < count && self.longest * 2 >= least && is_rare
    }
}

fn is_common(first: u8, second: u8) -> bool {
    let place = |byte: u8| usize::from(byte.to_ascii_lowercase().wrapping_sub(b'a'));
    COMMON.get(place(first)).is_some_and(|followers| followers >> place(second) & 1 == 1)
}

/// Whether a text of letters, digits, `_`, `-`, `+` and `/` reads like a random key of at least so many
/// letters and digits.
pub(super) fn is_random(text: &str, least: usize) -> bool {
    let text = text.strip_prefix("0x").unwrap_or(text);
    (least..=MAX_BYTES).contains(&text.len()) && !names_its_type(text) && Made::of(text).is_random(least)
}

/// Whether a text says by its beginning what kind of id it is.
fn names_its_type(text: &str) -> bool {
    let Some((prefix, rest)) = text.split_once(['_', '-']) else { return false };
    let is_word = prefix.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && prefix.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    // A random text may have small letters before its first mark.
    let is_whole = !prefix.is_empty() && prefix.len() <= 12 && rest.len() >= prefix.len();
    is_word && is_whole && !text.split(['_', '-']).take(3).any(|word| SECRET_PREFIXES.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_text_is_told_from_words_and_ids() {
        for key in ["bBVVrQFoj7zKtw39pazW", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "sk_9aFq2LkZ8xWv3RtB7nQ1"] {
            assert!(is_random(key, MIN_MIXED), "{key}");
        }
        for id in [
            "getUserAccountByIdV2FromStore",
            "550e8400-e29b-41d4-a716-446655440000",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "pi_3MtwBwLkdIwHu7ix28a3tqPa",
            "call_9pw5xYzQ2LkW8vRtB7nQ1aF4",
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "Donaudampfschifffahrtsgesellschaft2024",
            "DE02120300000000202051",
        ] {
            assert!(!is_random(id, MIN_MIXED), "{id}");
        }
    }
}
