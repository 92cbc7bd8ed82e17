//! Canonical text: the few differences between two texts that never mean another task.
//!
//! Only form is removed (semantics §3): Unicode composition, line endings, quote style, runs of
//! spaces, one final full stop. Case, order, digits, signs, punctuation and scripts stay.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

/// The canonical form of a task text. Applying it twice changes nothing.
///
/// ```
/// use learnkit_core::task::canonical;
/// assert_eq!(canonical("  Rename  ‘a  b’ to “c”. "), "Rename 'a  b' to \"c\"");
/// assert_ne!(canonical("Delete /etc/Hosts"), canonical("Delete /etc/hosts"));
/// ```
pub fn canonical(text: &str) -> String {
    // Most texts are composed already, and asking costs a tenth of composing.
    let composed: Cow<'_, str> = match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => text.into(),
        IsNormalized::No | IsNormalized::Maybe => text.nfc().collect::<String>().into(),
    };
    let chars: Vec<char> = if composed.contains('\r') {
        composed.replace("\r\n", "\n").replace('\r', "\n").chars().collect()
    } else {
        composed.chars().collect()
    };
    let pieces = Scanner::new(&chars).pieces();
    without_final_stop(trimmed(joined(&pieces)))
}

/// Where the pairs of a canonical text stand with all that they hold, delimiters included, in bytes.
pub(super) fn verbatim_spans(canonical: &str) -> Vec<Range<usize>> {
    let chars: Vec<char> = canonical.chars().collect();
    let mut at = 0;
    let mut spans = Vec::new();
    for piece in Scanner::new(&chars).pieces() {
        let (Piece::Verbatim(text) | Piece::Free(text)) = &piece;
        let end = at + text.len();
        if matches!(piece, Piece::Verbatim(_)) {
            spans.push(at..end);
        }
        at = end;
    }
    spans
}

/// A run of text: verbatim between delimiters, or free.
#[derive(Debug)]
enum Piece {
    /// Delimiters straightened, content byte for byte.
    Verbatim(String),
    /// Outside every pair.
    Free(String),
}

/// One character of the output, marked when it is protected from trimming.
#[derive(Debug, Clone, Copy)]
struct Mark {
    char: char,
    verbatim: bool,
    /// The last character of a verbatim piece: a closing delimiter.
    closing: bool,
}

fn is_space(char: char) -> bool {
    // Vertical tab, form feed, NEL and the Unicode line and paragraph separators break lines.
    char.is_whitespace() && !matches!(char, '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn single(char: char) -> bool {
    matches!(char, '\'' | '‘' | '’')
}

fn double(char: char) -> bool {
    matches!(char, '"' | '“' | '”')
}

/// Finds the pairs, left to right; the first opener wins and pairs do not nest.
struct Scanner<'a> {
    chars: &'a [char],
    at: usize,
    pieces: Vec<Piece>,
    free: String,
    /// Where the runs of each mark and length start, so that an unclosed one costs no search.
    runs: HashMap<(char, usize), Vec<usize>>,
}

impl<'a> Scanner<'a> {
    fn new(chars: &'a [char]) -> Self {
        Self { chars, at: 0, pieces: Vec::new(), free: String::new(), runs: marks(chars) }
    }

    fn pieces(mut self) -> Vec<Piece> {
        while let Some(&char) = self.chars.get(self.at) {
            let found = match char {
                '`' => self.fence('`', 1),
                '~' if self.at_line_start() => self.fence('~', 3),
                _ if self.is_apostrophe(self.at) => {
                    self.free.push('\'');
                    self.at += 1;
                    continue;
                }
                _ if single(char) => self.quote(single, '\''),
                _ if double(char) => self.quote(double, '"'),
                _ => false,
            };
            if !found {
                self.free.push(char);
                self.at += 1;
            }
        }
        self.flush();
        self.pieces
    }

    /// An apostrophe between letters opens and closes nothing.
    fn is_apostrophe(&self, at: usize) -> bool {
        let letter = |at: Option<usize>| at.and_then(|at| self.chars.get(at)).is_some_and(|char| char.is_alphabetic());
        self.chars.get(at).is_some_and(|&char| single(char)) && letter(at.checked_sub(1)) && letter(Some(at + 1))
    }

    fn at_line_start(&self) -> bool {
        let before = self.chars.get(..self.at).unwrap_or_default();
        before.iter().rev().take_while(|&&char| char != '\n').all(|&char| is_space(char))
    }

    /// A quote pair: the next delimiter of the same family that is not an apostrophe closes it.
    fn quote(&mut self, family: fn(char) -> bool, straight: char) -> bool {
        let rest = self.at + 1..self.chars.len();
        let Some(end) =
            rest.clone().find(|&at| self.chars.get(at).is_some_and(|&char| family(char)) && !self.is_apostrophe(at))
        else {
            // Unclosed: nothing later closes this family either, so the text is searched only once more
            // for each later opener of it, and there is at most one.
            return false;
        };
        let inner: String = self.chars.get(self.at + 1..end).unwrap_or_default().iter().collect();
        self.verbatim(format!("{straight}{inner}{straight}"), end + 1)
    }

    /// Backticks or a tilde fence: a run of at least `least` marks, closed by a run of the same length.
    fn fence(&mut self, mark: char, least: usize) -> bool {
        let open = self.run(self.at, mark);
        if open < least {
            return false;
        }
        let runs = self.runs.get(&(mark, open)).map(Vec::as_slice).unwrap_or_default();
        let later = runs.partition_point(|start| *start <= self.at);
        if let Some(&close) = runs.get(later) {
            let piece: String = self.chars.get(self.at..close + open).unwrap_or_default().iter().collect();
            return self.verbatim(piece, close + open);
        }
        self.free.extend(std::iter::repeat_n(mark, open));
        self.at += open;
        true
    }

    fn run(&self, at: usize, mark: char) -> usize {
        self.chars.get(at..).unwrap_or_default().iter().take_while(|&&char| char == mark).count()
    }

    fn verbatim(&mut self, piece: String, next: usize) -> bool {
        self.flush();
        self.pieces.push(Piece::Verbatim(piece));
        self.at = next;
        true
    }

    fn flush(&mut self) {
        if !self.free.is_empty() {
            self.pieces.push(Piece::Free(std::mem::take(&mut self.free)));
        }
    }
}

/// Where the maximal runs of backticks and tildes start, by mark and length.
fn marks(chars: &[char]) -> HashMap<(char, usize), Vec<usize>> {
    let mut runs: HashMap<(char, usize), Vec<usize>> = HashMap::new();
    let mut at = 0;
    for run in chars.chunk_by(|a, b| a == b) {
        if let Some(&mark @ ('`' | '~')) = run.first() {
            runs.entry((mark, run.len())).or_default().push(at);
        }
        at += run.len();
    }
    runs
}

/// Joins the pieces; in free text a run of spaces becomes one, indentation stays, line ends lose theirs.
fn joined(pieces: &[Piece]) -> Vec<Mark> {
    let mut out: Vec<Mark> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Verbatim(text) => {
                let last = text.chars().count().saturating_sub(1);
                let marks = text.chars().enumerate();
                out.extend(marks.map(|(at, char)| Mark { char, verbatim: true, closing: at == last }));
            }
            Piece::Free(text) => push_free(&mut out, text),
        }
    }
    out
}

fn push_free(out: &mut Vec<Mark>, text: &str) {
    let mut spaces = String::new();
    for char in text.chars() {
        if is_space(char) {
            spaces.push(char);
            continue;
        }
        push_spaces(out, &spaces, char);
        spaces.clear();
        out.push(Mark { char, verbatim: false, closing: false });
    }
    push_spaces(out, &spaces, ' ');
}

/// Writes a run of spaces that stands before `next`.
fn push_spaces(out: &mut Vec<Mark>, spaces: &str, next: char) {
    if spaces.is_empty() || next == '\n' {
        return;
    }
    let free = |char| Mark { char, verbatim: false, closing: false };
    let indents = out.last().is_some_and(|mark| mark.char == '\n' && !mark.verbatim);
    if indents {
        out.extend(spaces.chars().map(free));
    } else {
        out.push(free(' '));
    }
}

fn trimmed(mut marks: Vec<Mark>) -> Vec<Mark> {
    let outer = |mark: &Mark| !mark.verbatim && (mark.char == '\n' || is_space(mark.char));
    while marks.last().is_some_and(outer) {
        marks.pop();
    }
    let start = marks.iter().take_while(|mark| outer(mark)).count();
    marks.split_off(start)
}

/// Drops one final full stop that directly follows a letter, digit, closing quote or bracket.
fn without_final_stop(mut marks: Vec<Mark>) -> String {
    let is_stop = |mark: &Mark| !mark.verbatim && matches!(mark.char, '.' | '。');
    let follows =
        |mark: &Mark| mark.closing || (!mark.verbatim && (mark.char.is_alphanumeric() || is_close_bracket(mark.char)));
    if let [.., before, last] = marks.as_slice()
        && is_stop(last)
        && follows(before)
    {
        marks.pop();
    }
    marks.iter().map(|mark| mark.char).collect()
}

fn is_close_bracket(char: char) -> bool {
    matches!(char, ')' | ']' | '}' | '）' | '］' | '｝' | '」' | '』' | '】' | '》' | '〉' | '〕' | '〗' | '»' | '›')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_quotes_hold_stays_byte_for_byte() {
        assert_eq!(canonical("a “x  ’ y” b"), "a \"x  ’ y\" b");
        assert_eq!(canonical("run `ls  -l`  now"), "run `ls  -l` now");
        assert_eq!(canonical("```\n a  b \n```  x"), "```\n a  b \n``` x");
        assert_eq!(canonical("~~~\n a  b \n~~~"), "~~~\n a  b \n~~~");
    }

    #[test]
    fn an_apostrophe_or_an_unclosed_quote_opens_nothing() {
        assert_eq!(canonical("don’t  stop"), "don't stop");
        assert_eq!(canonical("the  \"  end"), "the \" end");
        assert_eq!(canonical("tom’s  and  ann's"), "tom's and ann's");
    }

    #[test]
    fn indentation_stays_and_line_ends_go() {
        assert_eq!(canonical("  a  b  \r\n    c  d \n"), "a b\n    c d");
        assert_eq!(canonical("a\n   \nb"), "a\n\nb");
    }

    #[test]
    fn one_final_stop_goes_and_other_marks_stay() {
        assert_eq!(canonical("go."), "go");
        assert_eq!(canonical("go.."), "go..");
        assert_eq!(canonical("go!"), "go!");
        assert_eq!(canonical("(go)."), "(go)");
        assert_eq!(canonical("say 'go.'"), "say 'go.'");
        assert_eq!(canonical("say 'go'."), "say 'go'");
        assert_eq!(canonical("end ."), "end .");
        assert_eq!(canonical("删除用户张三。"), "删除用户张三");
    }

    #[test]
    fn b15_a_long_hostile_text_is_linear_enough() {
        let text = "' \" ` `` ``` ~~~ ".repeat(20_000);
        assert!(!canonical(&text).is_empty());
    }

    proptest! {
        #[test]
        fn twice_changes_nothing(text in "[a-c1 .'\"`’‘“”\u{a0}\n\t\r~。)-]{0,40}") {
            let once = canonical(&text);
            prop_assert_eq!(canonical(&once), once);
        }

        #[test]
        fn twice_changes_nothing_in_any_script(text in any::<String>()) {
            let once = canonical(&text);
            prop_assert_eq!(canonical(&once), once);
        }
    }
}
