//! Base64 that holds text. Not here: which texts are worth opening, and what is looked for inside.

/// So many characters show whether the rest is worth decoding.
const LOOK: usize = 64;
/// Fewer bytes say nothing.
const MIN_DATA: usize = 12;

/// The text inside base64, standard or URL-safe, padded or not; absent where it holds none.
pub(super) fn text_of(encoded: &str) -> Option<String> {
    let encoded = encoded.trim_end_matches('=');
    if !begins_as_text(encoded) {
        return None;
    }
    let text = String::from_utf8(decoded(encoded)?).ok()?;
    is_printable(&text).then_some(text)
}

/// Whether the beginning of a text is base64 of text.
fn begins_as_text(encoded: &str) -> bool {
    beginning(encoded).is_some_and(|bytes| match std::str::from_utf8(&bytes) {
        Ok(text) => is_printable(text),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok());
            error.error_len().is_none() && valid.is_some_and(is_printable)
        }
    })
}

/// Whether a text is base64 of text, or of something that has mostly bytes of ASCII, as data with words in it has.
/// Half of the bytes of a random key are others.
pub(super) fn is_data(encoded: &str) -> bool {
    let encoded = encoded.trim_end_matches('=');
    let bytes = beginning(encoded).unwrap_or_default();
    let ascii = bytes.iter().filter(|byte| byte.is_ascii()).count();
    bytes.len() >= MIN_DATA && (ascii * 10 >= bytes.len() * 9 || begins_as_text(encoded))
}

/// The first bytes of what is encoded; of a text that was cut the last characters may be no whole byte.
fn beginning(encoded: &str) -> Option<Vec<u8>> {
    let look = encoded.get(..LOOK).unwrap_or(encoded);
    let whole = look.get(..look.len() / 4 * 4).filter(|whole| !whole.is_empty()).unwrap_or(look);
    decoded(whole)
}

fn is_printable(text: &str) -> bool {
    text.chars().all(|char| !char.is_control() || matches!(char, '\n' | '\r' | '\t'))
}

fn decoded(encoded: &str) -> Option<Vec<u8>> {
    if encoded.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(encoded.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in encoded.bytes() {
        bits = bits << 6 | u32::from(value(byte)?);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.extend(u8::try_from(bits >> held & 0xff));
        }
    }
    Some(bytes)
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_with_words_in_it_is_no_random_key() {
        assert!(is_data("GgEwIAAoATICZW46FERvd250b3duIExvcyBBbmdlbGVzQABKAFAA"));
        assert!(!is_data("bBVVrQFoj7zKtw39pazW") && !is_data("aGVsbG8="));
    }

    #[test]
    fn texts_are_opened_and_bytes_are_not() {
        assert_eq!(text_of("aGVsbG8=").as_deref(), Some("hello"));
        assert_eq!(text_of("w7xiZXIgPz4=").as_deref(), Some("über ?>"));
        for other in ["aGVsbG8!", "iVBORw0KGgoAAAANSUhEUg==", "aGVsb", "AAAA"] {
            assert_eq!(text_of(other), None, "{other}");
        }
    }
}
