//! Reading a statement: its words, which of them are values, and where it negates.

use unicode_normalization::UnicodeNormalization as _;

use super::words;
use crate::procedure::is_date_or_time;
use crate::task::{Class, canonical, is_unit, tokens};

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Quoted,
    Number,
    Date,
    Unit,
}

impl Kind {
    pub(super) fn is_value(self) -> bool {
        matches!(self, Self::Number | Self::Date | Self::Unit)
    }
}

/// What a statement insists on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stress {
    Not,
    Always,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// In one case where case says nothing.
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) is_capital: bool,
    /// One sign of a script that writes words without spaces.
    pub(super) is_unspaced: bool,
    /// The verb after a negation, with its helper: `does not support`.
    helper: Option<String>,
}

impl Word {
    fn new(text: impl Into<String>, kind: Kind) -> Self {
        Self { text: text.into(), kind, is_capital: false, is_unspaced: false, helper: None }
    }

    /// Whether both say the same, also once as `supports` and once as `does not support`.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let is_same = self.text == other.text && self.kind == other.kind;
        is_same || self.is_verb_of(other) || other.is_verb_of(self)
    }

    fn is_verb_of(&self, other: &Self) -> bool {
        let Some(helper) = self.helper.as_deref().filter(|_| other.helper.is_none()) else { return false };
        let (ends, after_y, of_have): (&[&str], _, _) = match helper {
            "does" => (&["s", "es"], "ies", "has"),
            "did" => (&["ed", "d"], "ied", "had"),
            _ => return false,
        };
        let ends_so = |end: &&str| other.text.strip_prefix(&self.text) == Some(*end);
        let is_short = self.text.strip_suffix('y').is_some_and(|stem| other.text.strip_prefix(stem) == Some(after_y));
        ends.iter().any(ends_so) || is_short || (self.text == "have" && other.text == of_have)
    }

    pub(super) fn is_ordinal(&self) -> bool {
        self.kind == Kind::Number && self.text.ends_with(|char: char| char.is_alphabetic())
    }
}

/// A statement in its words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Statement {
    pub(super) words: Vec<Word>,
    /// What it insists on, and before which word.
    pub(super) stresses: Vec<(usize, Stress)>,
    helper: Option<String>,
}

impl Statement {
    pub(super) fn of(text: &str) -> Self {
        let text = canonical(text);
        let is_shouted = !text.chars().any(char::is_lowercase);
        let mut statement = Self::default();
        for token in tokens(&text) {
            match token.class {
                Class::Space => {}
                Class::Mark if words::is_sentence_mark(token.text) => {}
                Class::Mark => statement.push(Word::new(token.text, statement.unit_or(token.text, Kind::Plain))),
                Class::Quoted => statement.push(Word::new(token.text, Kind::Quoted)),
                Class::Number => statement.number(token.text),
                Class::Identifier => statement.identifier(token.text),
                Class::Unspaced => token.text.chars().for_each(|sign| statement.sign(sign)),
                Class::Word => statement.word(token.text, is_shouted),
            }
        }
        statement.drop_ne();
        statement.find_dates();
        statement
    }

    /// What every statement that it may be related to has in common with it.
    pub(super) fn blocking_key(&self) -> String {
        let part = |word: &Word| match word.kind {
            kind if kind.is_value() => "#".to_owned(),
            _ => word.text.chars().take(2).collect(),
        };
        self.words.iter().map(part).collect::<Vec<_>>().join(" ")
    }

    fn last(&self) -> Option<&Word> {
        self.words.last()
    }

    fn push(&mut self, mut word: Word) {
        if word.kind == Kind::Plain {
            word.helper = self.helper.take();
        }
        self.words.push(word);
    }

    fn stress(&mut self, stress: Stress) {
        self.stresses.push((self.words.len(), stress));
    }

    fn negate(&mut self) {
        // A helper that only carries the negation goes with it.
        if self.last().is_some_and(|word| words::is_helper(&word.text)) {
            self.helper = self.words.pop().map(|word| word.text);
        }
        self.stress(Stress::Not);
    }

    fn number(&mut self, text: &str) {
        let is_year = text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
        let is_dated = self.last().is_some_and(|word| words::is_before_year(&word.text));
        self.push(Word::new(text, if is_year && is_dated { Kind::Date } else { Kind::Number }));
    }

    /// `10:30` and `2024-01-02` are dates, `5MB` a number with its unit, `15.2.1` and `3rd` numbers; the rest is a
    /// name, to the letter.
    fn identifier(&mut self, text: &str) {
        if is_date_or_time(text) {
            return self.push(Word::new(text, Kind::Date));
        }
        let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit() || char == '.').len();
        let (number, rest) = text.split_at(digits);
        let lower = rest.to_lowercase();
        if number.is_empty() {
            self.push(Word::new(text, Kind::Plain));
        } else if rest.is_empty() || matches!(&*lower, "st" | "nd" | "rd" | "th") {
            self.push(Word::new(text.to_lowercase(), Kind::Number));
        } else if is_unit(&lower) || words::is_own_unit(&lower) {
            self.push(Word::new(number, Kind::Number));
            self.push(Word::new(lower, Kind::Unit));
        } else {
            self.push(Word::new(text, Kind::Plain));
        }
    }

    fn sign(&mut self, sign: char) {
        if words::is_cjk_negation(sign) {
            return self.stress(Stress::Not);
        }
        let text = sign.to_string();
        let is_number = words::is_cjk_digit(sign);
        let kind = if is_number { Kind::Number } else { self.unit_or(&text, Kind::Plain) };
        if let Some(before) = self.words.last_mut().filter(|word| is_number && word.is_unspaced && word.kind == kind) {
            before.text.push(sign);
            return;
        }
        self.push(Word { is_unspaced: true, ..Word::new(text, kind) });
    }

    fn word(&mut self, written: &str, is_shouted: bool) {
        let lower: String = written.nfkc().flat_map(char::to_lowercase).collect::<String>().replace('’', "'");
        if words::is_negation(&lower) {
            return self.negate();
        }
        if lower == "always" {
            return self.stress(Stress::Always);
        }
        if let Some(left) = words::hidden(&lower) {
            // `without` negates what comes, `can't` what was said.
            if left == "with" || left.starts_with('e') {
                self.stress(Stress::Not);
                return self.push(Word::new(left, Kind::Plain));
            }
            self.push(Word::new(left, Kind::Plain));
            return self.negate();
        }
        if let Some(left) = lower.strip_prefix("n'").filter(|left| !left.is_empty()) {
            self.push(Word::new("ne", Kind::Plain));
            return self.push(Word::new(left, Kind::Plain));
        }
        let is_name = !is_shouted && words::is_name_in_capitals(&lower) && !written.chars().any(char::is_lowercase);
        let kind = if words::is_count_word(&lower) { Kind::Number } else { self.unit_or(&lower, Kind::Plain) };
        let is_capital =
            !is_shouted && !self.words.is_empty() && written.chars().next().is_some_and(char::is_uppercase);
        let text = if is_name { written.to_owned() } else { lower };
        self.push(Word { is_capital, ..Word::new(text, kind) });
    }

    /// A unit is one after a number and after `per`.
    fn unit_or(&self, text: &str, kind: Kind) -> Kind {
        let Some(before) = self.last() else { return kind };
        let stands = before.kind == Kind::Number || words::is_rate(&before.text);
        let is_currency = matches!(text, "$" | "€" | "£" | "¥" | "₹");
        if is_currency || (stands && (is_unit(text) || words::is_own_unit(text))) { Kind::Unit } else { kind }
    }

    /// The French `ne` says nothing without the `pas` that follows it.
    fn drop_ne(&mut self) {
        let Some(at) = self.words.iter().position(|word| word.text == "ne") else { return };
        let is_closed = |(there, stress): &(usize, Stress)| *stress == Stress::Not && *there > at && *there <= at + 4;
        if self.stresses.iter().any(is_closed) {
            self.words.remove(at);
            self.stresses.iter_mut().filter(|(there, _)| *there > at).for_each(|(there, _)| *there -= 1);
        }
    }

    /// A month beside a number is a part of a date.
    fn find_dates(&mut self) {
        let numbers: Vec<bool> = self.words.iter().map(|word| word.kind == Kind::Number).collect();
        let is_number = |at: Option<usize>| at.and_then(|at| numbers.get(at)).copied().unwrap_or_default();
        for (at, word) in self.words.iter_mut().enumerate() {
            if words::is_month(&word.text) && (is_number(at.checked_sub(1)) || is_number(Some(at + 1))) {
                word.kind = Kind::Date;
            }
        }
    }
}
