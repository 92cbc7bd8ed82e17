//! Alignment: what several texts have in common, in order.
//!
//! Words that stand once in each text tie the texts together, then the same between each two of them.
//! Words that change places are tied nowhere: `alice -> bob` and `bob -> alice` share neither name.

use std::collections::HashMap;
use std::ops::Range;

use super::token::{Class, Token};
use super::value::is_frame;

/// A stretch of tokens of each text.
type Gap = Vec<Range<usize>>;

/// What the texts do at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// All say the same: tokens of the first text.
    Same(Range<usize>),
    /// They differ.
    Differs(Gap),
}

/// The pieces of texts, in order.
pub(super) fn pieces(rows: &[Vec<Token<'_>>]) -> Vec<Piece> {
    let mut aligner = Aligner { rows, pieces: Vec::new() };
    aligner.align(rows.iter().map(|row| 0..row.len()).collect());
    aligner.pieces
}

struct Aligner<'r, 't> {
    rows: &'r [Vec<Token<'t>>],
    pieces: Vec<Piece>,
}

/// A token that stands once in the gap of each text.
#[derive(Debug)]
struct Anchor {
    /// Its index in each text.
    at: Vec<usize>,
    /// Whether it belongs to the frame of the texts and can be no value.
    is_frame: bool,
}

impl Anchor {
    /// Whether two tokens stand in another order in one text than in another.
    fn crosses(&self, other: &Self) -> bool {
        let mut orders = self.at.iter().zip(&other.at).map(|(own, other)| own < other);
        let first = orders.next();
        orders.any(|order| Some(order) != first)
    }
}

impl<'t> Aligner<'_, 't> {
    fn token(&self, text: usize, at: usize) -> Option<&Token<'t>> {
        self.rows.get(text).and_then(|row| row.get(at))
    }

    fn align(&mut self, gap: Gap) {
        let (head, middle, tail) = self.trimmed(gap);
        self.same(head);
        if middle.iter().any(|range| !range.is_empty()) {
            let ties = self.ties(&middle);
            if ties.is_empty() {
                self.pieces.push(Piece::Differs(middle));
            } else {
                self.align_between(middle, &ties);
            }
        }
        self.same(tail);
    }

    fn same(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.pieces.push(Piece::Same(range));
        }
    }

    fn align_between(&mut self, mut rest: Gap, ties: &[Vec<usize>]) {
        for tie in ties {
            let before = rest.iter().zip(tie).map(|(range, at)| range.start..*at).collect();
            self.align(before);
            self.same(tie.first().map_or(0..0, |at| *at..at + 1));
            rest = rest.iter().zip(tie).map(|(range, at)| at + 1..range.end).collect();
        }
        self.align(rest);
    }

    /// What all texts begin with and end with, as tokens of the first text, and what is left of each.
    fn trimmed(&self, gap: Gap) -> (Range<usize>, Gap, Range<usize>) {
        let shortest = gap.iter().map(Range::len).min().unwrap_or_default();
        let head = (0..shortest).take_while(|at| self.agree(gap.iter().map(|range| range.start + at))).count();
        let left = shortest - head;
        let tail = (1..=left).take_while(|at| self.agree(gap.iter().map(|range| range.end - at))).count();
        let first = gap.first().cloned().unwrap_or_default();
        let middle = gap.into_iter().map(|range| range.start + head..range.end - tail).collect();
        (first.start..first.start + head, middle, first.end - tail..first.end)
    }

    fn agree(&self, places: impl Iterator<Item = usize>) -> bool {
        let mut texts = places.enumerate().map(|(text, at)| self.token(text, at).map(|token| token.text));
        let first = texts.next();
        texts.all(|text| Some(text) == first)
    }

    /// Where the texts are tied together: at words, or where no word serves, at marks.
    fn ties(&self, gap: &Gap) -> Vec<Vec<usize>> {
        let anchors = without_crossings(self.anchors(gap));
        if anchors.is_empty() { self.marks(gap) } else { anchors.into_iter().map(|anchor| anchor.at).collect() }
    }

    /// The words that stand once in each text of the gap, in the order of the first text.
    fn anchors(&self, gap: &Gap) -> Vec<Anchor> {
        let places: Vec<HashMap<&str, Vec<usize>>> =
            gap.iter().enumerate().map(|(text, range)| self.places(text, range)).collect();
        let Some(first) = places.first() else { return Vec::new() };
        let once = |word: &str| {
            let at = places
                .iter()
                .map(|own| own.get(word).and_then(|at| if let [only] = at.as_slice() { Some(*only) } else { None }));
            at.collect::<Option<Vec<usize>>>().map(|at| Anchor { at, is_frame: is_frame(word) })
        };
        let mut anchors: Vec<Anchor> = first.keys().filter_map(|word| once(word)).collect();
        anchors.sort_by(|a, b| a.at.cmp(&b.at));
        anchors
    }

    fn places(&self, text: usize, range: &Range<usize>) -> HashMap<&'t str, Vec<usize>> {
        let mut places: HashMap<&'t str, Vec<usize>> = HashMap::new();
        for at in range.clone() {
            if let Some(token) = self.token(text, at).filter(|token| token.is_word()) {
                places.entry(token.text).or_default().push(at);
            }
        }
        places
    }

    /// The marks of a gap where every text has the same ones.
    fn marks(&self, gap: &Gap) -> Vec<Vec<usize>> {
        let is_mark = |text: usize, at: &usize| self.token(text, *at).is_some_and(|token| token.class == Class::Mark);
        let marks: Vec<Vec<usize>> = gap
            .iter()
            .enumerate()
            .map(|(text, range)| range.clone().filter(|at| is_mark(text, at)).collect())
            .collect();
        let count = marks.first().map_or(0, Vec::len);
        let nth = |nth: usize| marks.iter().map(|own| own.get(nth).copied()).collect::<Option<Vec<usize>>>();
        let ties: Vec<Vec<usize>> = (0..count).filter_map(nth).collect();
        let is_same = marks.iter().all(|own| own.len() == count);
        if is_same && ties.iter().all(|tie| self.agree(tie.iter().copied())) { ties } else { Vec::new() }
    }
}

/// Leaves out words that change places with others: those that cross the most first, the frame last,
/// and all that cross equally often at once, so that no order of the texts is preferred.
fn without_crossings(mut anchors: Vec<Anchor>) -> Vec<Anchor> {
    loop {
        let counts: Vec<usize> =
            anchors.iter().map(|own| anchors.iter().filter(|other| own.crosses(other)).count()).collect();
        let weight = |(anchor, count): (&Anchor, &usize)| (!anchor.is_frame, *count);
        let crossing = anchors.iter().zip(&counts).filter(|(_, count)| **count > 0);
        let Some(worst) = crossing.map(weight).max() else { return anchors };
        let mut counts = counts.iter();
        anchors.retain(|anchor| counts.next().is_some_and(|count| *count == 0 || weight((anchor, count)) != worst));
    }
}
