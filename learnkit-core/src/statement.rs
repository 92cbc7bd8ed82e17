//! What two statements that people wrote are to each other: the same, a contradiction, or two things.
//!
//! Strict on both sides, because one of the two goes out of use. The same are only statements that differ in
//! case, spacing and the marks of a sentence. A contradiction differs in one value (a number, a date, a unit) or
//! in one negation, and in nothing else. Whatever may name another subject (`Server 1`, `in 2023`) is kept as
//! two. The lists of words are English first, with the commonest negations of some other languages.
//!
//! Not here: what becomes of either ([`crate::engine`]).

mod content;
mod parse;
mod words;

pub(crate) use content::Saying;
use parse::{Kind, Statement, Stress, Word};
use words::{is_article, is_copula, is_introducer, is_introducing_sign};

use crate::text::is_stop_word;

/// Words before a number that say in other languages that it belongs to the predicate.
const MIN_WORDS_BEFORE: usize = 3;

/// What a statement is to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Relation {
    /// It says something else of the same subject.
    Contradicts,
    /// It says the same.
    Same,
}

impl Statement {
    /// What it is to another statement; nothing where both may be true or nobody can tell.
    fn relation(&self, other: &Self) -> Option<Relation> {
        if self.words.len() != other.words.len() {
            return None;
        }
        let pairs = self.words.iter().zip(&other.words).enumerate();
        let differing: Vec<usize> = pairs.clone().filter(|(_, (a, b))| !a.is_as(b)).map(|(at, _)| at).collect();
        if differing.iter().any(|at| !self.both_values(other, *at)) {
            return None;
        }
        match (differing.as_slice(), self.is_contrary(other)) {
            ([], None) => Some(Relation::Same),
            ([], Some(true)) | (_, None) if self.is_one_value(&differing) => Some(Relation::Contradicts),
            _ => None,
        }
    }

    fn both_values(&self, other: &Self, at: usize) -> bool {
        let kinds = self.words.get(at).zip(other.words.get(at));
        kinds.is_some_and(|(a, b)| a.kind == b.kind && a.kind.is_value())
    }

    /// Whether one is the contrary of the other; nothing where they negate alike.
    fn is_contrary(&self, other: &Self) -> Option<bool> {
        let only = |of: &Self, not: &Self| -> Vec<(usize, Stress)> {
            of.stresses.iter().filter(|stress| !not.stresses.contains(stress)).copied().collect()
        };
        match (only(self, other).as_slice(), only(other, self).as_slice()) {
            ([], []) => None,
            ([(_, Stress::Not)], []) | ([], [(_, Stress::Not)]) => Some(true),
            ([(at, one)], [(there, two)]) => Some(at == there && one != two),
            _ => Some(false),
        }
    }

    /// Whether words that differ are one value, and none that names the subject.
    fn is_one_value(&self, differing: &[usize]) -> bool {
        let (Some(first), Some(last)) = (differing.first(), differing.last()) else { return true };
        let span = self.span_of(*first);
        span.contains(last) && !self.is_label(&span)
    }

    /// The values around one of them: `5 MB`, `October 13 2024`.
    fn span_of(&self, at: usize) -> std::ops::Range<usize> {
        let is_value = |word: &&Word| word.kind.is_value();
        let before = self.words.iter().take(at).rev().take_while(is_value).count();
        let after = self.words.iter().skip(at).take_while(is_value).count();
        at - before..at + after
    }

    /// Whether a value names what the statement is about, as far as its neighbours tell; in doubt it does.
    fn is_label(&self, span: &std::ops::Range<usize>) -> bool {
        let value = self.words.get(span.clone()).unwrap_or_default();
        let after = self.words.get(span.end);
        let before = self.words.get(..span.start).unwrap_or_default();
        let tells = |word: &&Word| word.kind == Kind::Plain && !is_article(&word.text) && !is_stop_word(&word.text);
        let told = before.iter().filter(tells).count();
        let Some(last) = before.last() else {
            return value.iter().any(|word| word.kind == Kind::Date || word.is_ordinal());
        };
        if after.is_some_and(|word| is_copula(&word.text)) {
            return true;
        }
        if told == 0 && !is_copula(&last.text) {
            return true;
        }
        if value.iter().any(|word| word.kind == Kind::Unit) || is_introducing_sign(&last.text) {
            return false;
        }
        if last.is_unspaced || is_introducer(&last.text) {
            return !is_introducer(&last.text);
        }
        if (told == 1 && tells(&last)) || last.is_capital {
            return true;
        }
        if is_verb(&last.text) {
            return false;
        }
        let is_english = self.words.iter().any(|word| is_stop_word(&word.text));
        is_english || before.len() < MIN_WORDS_BEFORE
    }
}

/// Whether a word looks like an English verb: `allows 100`, `reached 100`.
fn is_verb(word: &str) -> bool {
    let ends = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    word.is_ascii() && ends(&["s", "ed"]) && !ends(&["ss", "us", "is"])
}

#[cfg(test)]
mod tests;
