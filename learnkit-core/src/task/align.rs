//! Alignment of texts: the literal skeleton that several tasks share, with slots where they differ.
//!
//! Conservative, because a slot that is read wrongly fills a wrong value in: better no skeleton than a
//! loose one. Not here: whether the calls of those tasks follow the slots, which decides whether a
//! template is confirmed. A slot that no argument follows is a difference that the calls ignore.

mod anchor;
mod token;
mod value;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use self::anchor::{Piece, pieces};
use self::token::Token;
pub(crate) use self::token::{Class, tokens};
pub use self::value::SlotKind;
pub(crate) use self::value::is_unit;
use super::canonical;
use crate::{Error, Result};

/// So many distinct texts make a skeleton at most.
pub const MAX_TEXTS: usize = 64;
/// A text of more words is not aligned.
pub const MAX_WORDS: usize = 400;
/// So many words have to be literal ones.
const MIN_LITERAL_WORDS: usize = 3;
/// So many of a hundred words of each text have to be literal ones.
const MIN_LITERAL_PERCENT: usize = 60;

/// The words that several texts share, with slots between them.
///
/// ```
/// use learnkit_core::task::Skeleton;
/// let skeleton = Skeleton::of(&["Please send 5 coins from alice to bob", "Please send 7 coins from bob to carol"]).unwrap();
/// assert_eq!(skeleton.read("Please send 12 coins from eve to dan").unwrap(), ["12", "eve", "dan"]);
/// assert_eq!(skeleton.read("Please send 12 coins from eve and dan to bob"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<Segment>", into = "Vec<Segment>")]
pub struct Skeleton {
    segments: Vec<Segment>,
}

/// A part of a [`Skeleton`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// Text that every task has, to the byte.
    Literal(String),
    /// A place that each task fills with a value of this kind.
    Slot {
        /// The kind.
        kind: SlotKind,
    },
}

impl Skeleton {
    /// The skeleton of canonical texts, in any order; texts that are equal count once.
    ///
    /// Nothing when they are fewer than two, more than [`MAX_TEXTS`] or not canonical, have over
    /// [`MAX_WORDS`] words or a script without spaces outside quotes where they differ, share fewer
    /// than 3 words or 60 % of the words of any of them, or differ in something that is not one short
    /// value of one kind: a value has at most 8 words and 96 bytes (256 in quotes), starts no sentence
    /// unless it is a number, date, identifier or quote, and holds no word that says what to do, such as
    /// a negation, `and`, `from`, `cheapest`, `days` or `delete`.
    pub fn of(texts: &[&str]) -> Option<Self> {
        let texts: BTreeSet<&str> = texts.iter().copied().collect();
        if !(2..=MAX_TEXTS).contains(&texts.len()) {
            return None;
        }
        let rows: Vec<Vec<Token<'_>>> = texts.iter().map(|text| readable(text)).collect::<Option<_>>()?;
        let pieces = pieces(&rows);
        if !share_enough(&rows, &pieces) {
            return None;
        }
        let skeleton = Self::try_from(segments(&rows, &pieces)?).ok()?;
        // What cannot be read back one way only is no skeleton.
        let reads_back = |(text, row): (&&str, &Vec<Token<'_>>)| {
            skeleton.read_tokens(text, row).is_some_and(|values| skeleton.fill(&values).as_deref() == Some(*text))
        };
        texts.iter().zip(&rows).all(reads_back).then_some(skeleton)
    }

    /// The parts, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The kinds of the slots, in order.
    pub fn kinds(&self) -> impl Iterator<Item = SlotKind> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Slot { kind } => Some(*kind),
            Segment::Literal(_) => None,
        })
    }

    /// The values that a canonical text has for the slots, in order: only if every literal stands in it
    /// to the byte, each value is of the kind of its slot, and there is one way only to split the text.
    pub fn read(&self, text: &str) -> Option<Vec<String>> {
        self.read_tokens(text, &readable(text)?)
    }

    /// The text with these values for the slots; nothing when they are more or fewer than the slots.
    pub fn fill(&self, values: &[impl AsRef<str>]) -> Option<String> {
        let mut values = values.iter();
        let mut text = String::new();
        for segment in &self.segments {
            match segment {
                Segment::Literal(literal) => text.push_str(literal),
                Segment::Slot { .. } => text.push_str(values.next()?.as_ref()),
            }
        }
        values.next().is_none().then_some(text)
    }

    /// The text with `{p1}`, `{p2}` and so on for the slots, as [`Task::template`](crate::Task::template) takes
    /// it.
    pub fn template(&self) -> String {
        let mut slots = 0;
        let parts = self.segments.iter().map(|segment| match segment {
            Segment::Literal(literal) => literal.replace('{', "{{").replace('}', "}}"),
            Segment::Slot { .. } => {
                slots += 1;
                format!("{{p{slots}}}")
            }
        });
        parts.collect()
    }

    fn read_tokens(&self, text: &str, tokens: &[Token<'_>]) -> Option<Vec<String>> {
        let mut ways = Ways::start(tokens.len());
        let mut steps = Vec::new();
        let mut before = "";
        for segment in &self.segments {
            ways = match segment {
                Segment::Literal(literal) => {
                    before = literal;
                    ways.over_literal(text, tokens, literal)
                }
                Segment::Slot { kind } => ways.over_slot(tokens, *kind, starts_sentence(before)),
            };
            steps.push(ways.clone());
        }
        ways.is_single().then(|| self.values(text, tokens, &steps))?
    }

    /// The values along the only way, from its end.
    fn values(&self, text: &str, tokens: &[Token<'_>], steps: &[Ways]) -> Option<Vec<String>> {
        let mut values = Vec::new();
        let mut end = tokens.len();
        for (segment, ways) in self.segments.iter().zip(steps).rev() {
            let start = ways.came_from(end)?;
            if matches!(segment, Segment::Slot { .. }) {
                values.push(text.get(offset(tokens, start, text)..offset(tokens, end, text))?.to_owned());
            }
            end = start;
        }
        values.reverse();
        Some(values)
    }
}

impl TryFrom<Vec<Segment>> for Skeleton {
    type Error = Error;

    /// Takes parts as a skeleton: at least one slot, and a word or mark between two of them.
    fn try_from(segments: Vec<Segment>) -> Result<Self> {
        let is_slot = |segment: &Segment| matches!(segment, Segment::Slot { .. });
        let parts = |pair: &[Segment]| pair.iter().filter(|segment| is_slot(segment)).count() == 1;
        let says = |segment: &Segment| match segment {
            Segment::Literal(text) => !text.is_empty(),
            Segment::Slot { .. } => true,
        };
        let inner = segments.get(1..segments.len().saturating_sub(1)).unwrap_or_default();
        let is_blank = |segment: &Segment| matches!(segment, Segment::Literal(text) if text.trim().is_empty());
        if !segments.iter().any(is_slot)
            || !segments.windows(2).all(parts)
            || !segments.iter().all(says)
            || inner.iter().any(is_blank)
        {
            let message = "a skeleton has slots and literals in turn, with a word or mark between two slots";
            return Err(Error::invalid(message));
        }
        Ok(Self { segments })
    }
}

impl From<Skeleton> for Vec<Segment> {
    fn from(skeleton: Skeleton) -> Self {
        skeleton.segments
    }
}

/// The tokens of a text that may be aligned.
fn readable(text: &str) -> Option<Vec<Token<'_>>> {
    let tokens = tokens(text);
    let is_short = tokens.iter().filter(|token| token.is_word()).count() <= MAX_WORDS;
    (is_short && canonical(text) == text).then_some(tokens)
}

/// Whether enough words of every text are literal ones.
fn share_enough(rows: &[Vec<Token<'_>>], pieces: &[Piece]) -> bool {
    let words = |tokens: &[Token<'_>]| tokens.iter().filter(|token| token.is_word()).count();
    let first = rows.first().map(Vec::as_slice).unwrap_or_default();
    let literal: usize = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Same(range) => words(first.get(range.clone()).unwrap_or_default()),
            Piece::Differs(_) => 0,
        })
        .sum();
    literal >= MIN_LITERAL_WORDS && rows.iter().all(|row| literal * 100 >= words(row) * MIN_LITERAL_PERCENT)
}

/// The parts of a skeleton, if every difference is a slot.
fn segments(rows: &[Vec<Token<'_>>], pieces: &[Piece]) -> Option<Vec<Segment>> {
    let first = rows.first()?;
    let mut segments = Vec::new();
    let mut literal = String::new();
    for piece in pieces {
        match piece {
            Piece::Same(range) => literal.extend(first.get(range.clone())?.iter().map(|token| token.text)),
            Piece::Differs(gap) => {
                let values = rows.iter().zip(gap).map(|(row, range)| SlotKind::of(row.get(range.clone())?));
                let kinds = values.collect::<Option<Vec<_>>>()?;
                let kind = kinds.iter().skip(1).try_fold(*kinds.first()?, |kind, own| kind.joined(*own))?;
                if !literal.is_empty() {
                    segments.push(Segment::Literal(std::mem::take(&mut literal)));
                }
                segments.push(Segment::Slot { kind });
            }
        }
    }
    if !literal.is_empty() {
        segments.push(Segment::Literal(literal));
    }
    Some(segments)
}

/// Whether what follows a literal starts a sentence, where most languages put the order.
fn starts_sentence(literal: &str) -> bool {
    let before = literal.trim_end_matches(' ');
    before.is_empty() || before.ends_with(['\n', '.', '!', '?', '。', '！', '？', ':', ';'])
}

/// Where the token at an index starts, in bytes; the end of the text for the index after the last.
fn offset(tokens: &[Token<'_>], at: usize, text: &str) -> usize {
    tokens.get(at).map_or(text.len(), |token| token.span.start)
}

/// How many ways lead to each place between two tokens, none, one or several, and where the last came from.
#[derive(Debug, Clone)]
struct Ways(Vec<Way>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    None,
    From(usize),
    Several,
}

impl Ways {
    fn start(tokens: usize) -> Self {
        let mut ways = Self::none(tokens);
        ways.add(0, Way::None, 0);
        ways
    }

    fn none(tokens: usize) -> Self {
        Self(vec![Way::None; tokens + 1])
    }

    /// Comes to `to` by a way that leads to `from`.
    fn add(&mut self, from: usize, by: Way, to: usize) {
        if let Some(way) = self.0.get_mut(to) {
            *way = if by == Way::Several || *way != Way::None { Way::Several } else { Way::From(from) };
        }
    }

    fn reached(&self) -> impl Iterator<Item = (usize, Way)> {
        self.0.iter().copied().enumerate().filter(|(_, way)| *way != Way::None)
    }

    fn over_literal(&self, text: &str, tokens: &[Token<'_>], literal: &str) -> Self {
        let mut next = Self::none(tokens.len());
        for (from, way) in self.reached() {
            let start = offset(tokens, from, text);
            let follows = text.get(start..).is_some_and(|rest| rest.starts_with(literal));
            let end = start + literal.len();
            let to = (from..=tokens.len()).find(|to| offset(tokens, *to, text) >= end);
            if let Some(to) = to.filter(|to| follows && offset(tokens, *to, text) == end) {
                next.add(from, way, to);
            }
        }
        next
    }

    fn over_slot(&self, tokens: &[Token<'_>], kind: SlotKind, starts_sentence: bool) -> Self {
        let mut next = Self::none(tokens.len());
        for (from, way) in self.reached().filter(|_| !(starts_sentence && kind.is_words())) {
            for to in from + 1..=tokens.len().min(from + value::MAX_VALUE_TOKENS) {
                let value = tokens.get(from..to).and_then(SlotKind::of);
                if value.is_some_and(|value| kind.takes(value)) {
                    next.add(from, way, to);
                }
            }
        }
        next
    }

    fn is_single(&self) -> bool {
        matches!(self.0.last(), Some(Way::From(_)))
    }

    fn came_from(&self, at: usize) -> Option<usize> {
        match self.0.get(at) {
            Some(Way::From(from)) => Some(*from),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
