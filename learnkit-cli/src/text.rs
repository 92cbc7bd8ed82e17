//! Text on its way to a terminal or a line: stored text is somebody else's and must not act there.

use std::fmt::Write as _;

/// Longer cells of a list are cut.
const LIST_CHARS: usize = 80;

/// The text with control characters written out, line breaks kept.
pub(crate) fn lines(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, char| {
        match char {
            '\n' => out.push('\n'),
            char => push_plain(&mut out, char),
        }
        out
    })
}

/// The text on one line, control characters and line breaks written out.
pub(crate) fn line(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, char| {
        push_plain(&mut out, char);
        out
    })
}

/// The text on one line for a list, cut where it is long.
pub(crate) fn short(text: &str) -> String {
    shortened(text, LIST_CHARS)
}

/// The text on one line, at most so many characters.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", line(words.get(..at).unwrap_or_default())),
        None => line(&words),
    }
}

/// The text as a JSON string that holds no control character and no line separator at all.
pub(crate) fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.chars().fold(String::with_capacity(json.len()), |mut out, char| {
        if acts(char) {
            // A String takes every write.
            let _ = write!(out, "\\u{:04x}", u32::from(char));
        } else {
            out.push(char);
        }
        out
    })
}

/// Whether a character moves the cursor, changes the order of letters or ends a line.
pub(crate) fn acts(char: char) -> bool {
    let orders =
        matches!(char, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    char.is_control() || orders || matches!(char, '\u{2028}' | '\u{2029}')
}

fn push_plain(out: &mut String, char: char) {
    match char {
        '\t' => out.push(' '),
        '\n' => out.push_str("\\n"),
        char if acts(char) => out.extend(char.escape_unicode()),
        char => out.push(char),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_text_cannot_act_on_a_terminal() {
        assert_eq!(line("a\u{1b}[2Jb\nc\td"), "a\\u{1b}[2Jb\\nc d");
        assert_eq!(lines("a\n\u{202E}b"), "a\n\\u{202e}b");
        assert_eq!(line("a\u{200E}b\u{200F}c\u{61C}d"), "a\\u{200e}b\\u{200f}c\\u{61c}d");
        assert_eq!(short(&"x".repeat(81)), format!("{}…", "x".repeat(80)));
    }

    #[test]
    fn a_quoted_text_reads_back_and_stays_on_one_line() {
        for text in ["a\nb", "a\u{85}b", "a\u{2028}b\u{7f}\u{9b}", "a\u{200E}\u{61C}b", "\"x\" \\ é 用户"] {
            let quoted = quoted(text);
            assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
            assert!(!quoted.chars().any(acts), "{quoted}");
        }
    }
}
