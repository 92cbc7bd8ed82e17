//! How much of a prompt a playbook takes.

/// The tokens of a text, estimated as characters divided by four, rounded up.
///
/// ```
/// assert_eq!(learnkit_core::retrieve::approximate_tokens("12345"), 2);
/// ```
pub fn approximate_tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

/// Cuts a text to at most so many tokens at a character boundary; a cut ends with `…`.
pub(super) fn cut_to_tokens(text: &str, tokens: usize) -> String {
    if approximate_tokens(text) <= tokens {
        return text.to_owned();
    }
    let keep = (tokens * 4).saturating_sub(1);
    let mut cut: String = text.chars().take(keep).collect();
    cut.push('…');
    cut
}
