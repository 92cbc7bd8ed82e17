//! Stored text on its way into a file that a model reads: visible, and without power over what stands
//! around it.

use std::fmt::Write as _;

use serde::de::IgnoredAny;

/// The text on one line: control characters, invisible characters and tags are taken out of it.
pub(super) fn plain(text: &str) -> String {
    let visible: String = text.chars().filter_map(visible).collect();
    untagged(&visible.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The text line by line, each of them plain, indentation kept.
pub(super) fn plain_lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let line = |line: &str| untagged(line.chars().filter_map(visible).collect::<String>().trim_end());
    text.split(['\n', '\r']).map(line).collect()
}

/// At most so many characters; a cut ends with `…`.
pub(super) fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The text in a code span that it cannot close.
pub(super) fn code(text: &str) -> String {
    span(&plain(text))
}

/// A text of one line as it is, in a code span that it cannot close.
pub(super) fn span(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let pad = if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The text in a code block that it cannot close.
pub(super) fn block(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

/// JSON text in which every character that acts on a reader is written as an escape.
pub(super) fn inert_json(json: &str) -> String {
    json.chars().fold(String::with_capacity(json.len()), |mut out, char| {
        // White space stands between values; inside of strings it is escaped already.
        if matches!(char, '\n' | '\r' | '\t') || visible(char) == Some(char) {
            out.push(char);
        } else {
            push_escape(&mut out, char);
        }
        out
    })
}

/// JSON text on one line that says the same to the letter: in a string, what acts on a reader or opens a tag
/// is written as an escape and spaces stay, between values they are one. Absent for what is no JSON.
pub(super) fn json_line(json: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(json).ok()?;
    let mut out = String::with_capacity(json.len());
    let (mut in_string, mut is_escaped) = (false, false);
    let mut chars = json.trim().chars().peekable();
    while let Some(char) = chars.next() {
        let opens = char == '<' && chars.peek().copied().is_some_and(opens_tag);
        match char {
            '\n' | '\r' | '\t' | ' ' if !in_string => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            char if opens || visible(char) != Some(char) => push_escape(&mut out, char),
            char => out.push(char),
        }
        in_string ^= char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
    }
    Some(out)
}

fn push_escape(out: &mut String, char: char) {
    for unit in char.encode_utf16(&mut [0; 2]) {
        // A String takes every write.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// A character as it may be shown: whatever ends a line or cannot be printed is a space, what is
/// invisible is dropped. Joiners stay, because emoji and Persian words are written with them.
fn visible(char: char) -> Option<char> {
    match char {
        char if char.is_control() => Some(' '),
        '\u{2028}' | '\u{2029}' => Some(' '),
        char if is_hidden(char) => None,
        char => Some(char),
    }
}

/// Orders and widths of letters, tags and selectors that smuggle text past people, and code points that
/// are no characters.
fn is_hidden(char: char) -> bool {
    matches!(char,
        '\u{61C}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}' | '\u{FDD0}'..='\u{FDEF}')
        || u32::from(char) & 0xFFFE == 0xFFFE
}

/// Text that opens no tag of a prompt and no comment that hides what follows.
fn untagged(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let opens = char == '<' && chars.peek().copied().is_some_and(opens_tag);
        out.push(if opens { '‹' } else { char });
    }
    out
}

/// Whether a `<` before it opens a tag or a comment.
fn opens_tag(next: char) -> bool {
    next.is_alphabetic() || matches!(next, '/' | '!' | '?' | '|' | '_')
}

fn longest_run(text: &str) -> usize {
    text.split(|char| char != '`').map(str::len).max().unwrap_or_default()
}
