//! Tokens of a canonical text: every byte belongs to one, so that joined tokens are the text again.

use std::ops::Range;

use super::super::canonical::verbatim_spans;
use crate::text::{is_unspaced, is_word};

/// What a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// White space.
    Space,
    /// One mark, or the marks that open or close a quote.
    Mark,
    /// Letters, with hyphens and apostrophes inside.
    Word,
    /// Digits with a sign, thousands marks and a decimal point.
    Number,
    /// Letters, digits and joining marks in one run: `W123`, `a@b.example`, `10:30`.
    Identifier,
    /// What a quote holds, all of it.
    Quoted,
    /// A run of a script that writes words without spaces.
    Unspaced,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) text: &'t str,
    pub(crate) class: Class,
    /// Where it stands in its text, in bytes.
    pub(super) span: Range<usize>,
}

impl Token<'_> {
    /// Whether it says something: no space and no mark.
    pub(super) fn is_word(&self) -> bool {
        !matches!(self.class, Class::Space | Class::Mark)
    }
}

/// The tokens of a canonical text.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut reader = Reader { text, at: 0, tokens: Vec::new() };
    for span in verbatim_spans(text) {
        reader.free_until(span.start);
        reader.quoted(&span);
    }
    reader.free_until(text.len());
    reader.tokens
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token<'t>>,
}

impl Reader<'_> {
    fn push(&mut self, end: usize, class: Class) {
        let span = self.at..end;
        if let Some(text) = self.text.get(span.clone()) {
            self.tokens.push(Token { text, class, span });
        }
        self.at = end;
    }

    /// The opening marks, what they hold (also nothing), the closing marks.
    fn quoted(&mut self, span: &Range<usize>) {
        let text = self.text.get(span.clone()).unwrap_or_default();
        let marks = match text.chars().next() {
            Some(mark @ ('`' | '~')) => text.len() - text.trim_start_matches(mark).len(),
            _ => 1,
        };
        self.push(span.start + marks, Class::Mark);
        self.push(span.end - marks, Class::Quoted);
        self.push(span.end, Class::Mark);
    }

    fn free_until(&mut self, end: usize) {
        while self.at < end {
            let rest = self.text.get(self.at..end).unwrap_or_default();
            let Some(first) = rest.chars().next() else { return };
            let run = |belongs: fn(char) -> bool| rest.find(|char| !belongs(char)).unwrap_or(rest.len());
            let (length, class) = match first {
                _ if first.is_whitespace() => (run(char::is_whitespace), Class::Space),
                _ if is_unspaced(first) => (run(is_unspaced), Class::Unspaced),
                _ if is_core(first) || self.is_sign(rest) => {
                    let length = core_length(rest);
                    (length, class_of(rest.get(..length).unwrap_or_default()))
                }
                _ => (first.len_utf8(), Class::Mark),
            };
            self.push(self.at + length, class);
        }
    }

    /// Whether a sign of a number stands here: `-5`, but not the hyphen of `a-5` and not `- 5`.
    fn is_sign(&self, rest: &str) -> bool {
        let mut chars = rest.chars();
        let is_signed = matches!(chars.next(), Some('-' | '+' | '−')) && chars.next().is_some_and(is_digit);
        let before = self.text.get(..self.at).and_then(|before| before.chars().next_back());
        is_signed && before.is_none_or(|char| !is_word(char))
    }
}

fn is_core(char: char) -> bool {
    (is_word(char) || char == '_') && !is_unspaced(char)
}

fn is_digit(char: char) -> bool {
    char.is_ascii_digit()
}

/// How long the word, number or identifier is that a text starts with, in bytes.
fn core_length(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut before = chars.next().map(|(_, first)| first);
    while let Some((at, char)) = chars.next() {
        let after = chars.peek().map(|(_, after)| *after);
        let joins = match char {
            ',' | ':' => before.is_some_and(is_digit) && after.is_some_and(is_digit),
            '.' | '-' | '@' | '/' | '\\' | '\'' | '’' => after.is_some_and(is_core),
            _ => is_core(char),
        };
        if !joins {
            return at;
        }
        before = Some(char);
    }
    text.len()
}

fn class_of(core: &str) -> Class {
    let is_letter = |char: char| is_core(char) && !char.is_numeric() && char != '_';
    if is_number(core) {
        Class::Number
    } else if core.chars().all(|char| is_letter(char) || matches!(char, '-' | '\'' | '’')) {
        Class::Word
    } else {
        Class::Identifier
    }
}

/// `5`, `-5`, `1.50`, `1,500.00`; not `1,2` and not `1.2.3`.
fn is_number(core: &str) -> bool {
    let unsigned = core.strip_prefix(['-', '+', '−']).unwrap_or(core);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let digits = |part: &str| !part.is_empty() && part.chars().all(is_digit);
    let mut groups = whole.split(',');
    let leads = groups.next().is_some_and(|first| digits(first) && (first.len() <= 3 || !whole.contains(',')));
    leads && groups.all(|group| group.len() == 3 && digits(group)) && digits(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::canonical;
    use proptest::prelude::*;

    fn classes(text: &str) -> Vec<(&str, Class)> {
        tokens(text).into_iter().filter(Token::is_word).map(|token| (token.text, token.class)).collect()
    }

    #[test]
    fn tokens_keep_numbers_identifiers_and_quotes_whole() {
        use Class::{Identifier, Number, Quoted, Unspaced, Word};
        assert_eq!(
            classes("Pay -1,500.50 to tom's well-known #W123, at 10:30."),
            [
                ("Pay", Word),
                ("-1,500.50", Number),
                ("to", Word),
                ("tom's", Word),
                ("well-known", Word),
                ("W123", Identifier),
                ("at", Word),
                ("10:30", Identifier)
            ]
        );
        assert_eq!(
            classes("say 'a  b' or ``x `y` ``"),
            [("say", Word), ("a  b", Quoted), ("or", Word), ("x `y` ", Quoted)]
        );
        assert_eq!(
            classes("用户API 2024-01-02 a@b.example 1,2"),
            [
                ("用户", Unspaced),
                ("API", Word),
                ("2024-01-02", Identifier),
                ("a@b.example", Identifier),
                ("1,2", Identifier)
            ]
        );
        assert_eq!(classes("x -- 5 a-5 (-5)"), [("x", Word), ("5", Number), ("a-5", Identifier), ("-5", Number)]);
    }

    proptest! {
        #[test]
        fn tokens_joined_are_the_text_in_any_script(text in any::<String>(), marked in "[a-c1 .,'\"`~:@/-]{0,40}") {
            for text in [canonical(&text), canonical(&marked)] {
                let tokens = tokens(&text);
                prop_assert_eq!(tokens.iter().map(|token| token.text).collect::<String>(), text);
            }
        }
    }
}
