//! YAML scalars that every parser reads back to the letter.

use std::fmt::Write as _;

/// A text as a double-quoted scalar on one line, whatever is in it.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        // A String takes every write.
        let _ = match char {
            '"' => write!(out, "\\\""),
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            '\r' => write!(out, "\\r"),
            char if is_printable(char) => write!(out, "{char}"),
            char if u32::from(char) <= 0xFF => write!(out, "\\x{:02X}", u32::from(char)),
            char if u32::from(char) <= 0xFFFF => write!(out, "\\u{:04X}", u32::from(char)),
            char => write!(out, "\\U{:08X}", u32::from(char)),
        };
    }
    out.push('"');
    out
}

/// What stands in a scalar as it is: printable (YAML 1.2, rule 1), and neither a line break of YAML 1.1
/// nor a byte order mark.
fn is_printable(char: char) -> bool {
    let printable = matches!(char, ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    printable && !matches!(char, '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}
