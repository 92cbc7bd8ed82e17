//! The values of slots: what kind one is, and what is never one.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::token::{Class, Token};
use crate::text::{is_negation, is_stop_word, terms};

/// More words are no name of one thing.
const MAX_VALUE_WORDS: usize = 8;
/// Words with a space and a mark or two between them come to no more tokens.
pub(super) const MAX_VALUE_TOKENS: usize = 4 * MAX_VALUE_WORDS;
/// Longer values are texts of their own, in bytes.
const MAX_VALUE_BYTES: usize = 96;
/// What a quote holds may be longer, in bytes.
const MAX_QUOTED_BYTES: usize = 256;
/// A full stop inside a value follows an initial or a title of at most so many letters: `F.`, `Mrs.`.
const MAX_ABBREVIATION: usize = 3;

/// What the values of a slot are, the same for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotKind {
    /// A number as written: `5`, `-1,500.50`.
    Number,
    /// A date or a time of day: `2024-10-13`, `October 13th, 2024`, `10 am`.
    Date,
    /// What stands between quotes, without them; also nothing.
    Quoted,
    /// Letters and digits in one run: `W123`, `a@b.example`, `/`-joined parts.
    Identifier,
    /// One capital word or several: `Boston`, `John F. Kennedy International Airport`.
    Name,
    /// One word of letters that is no name: `users`.
    Word,
    /// One word or several, names among them.
    Words,
}

impl SlotKind {
    /// The kind in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Date => "date",
            Self::Quoted => "quoted",
            Self::Identifier => "identifier",
            Self::Name => "name",
            Self::Word => "word",
            Self::Words => "words",
        }
    }

    /// The kind of tokens that stand for one value; nothing where they may not be one.
    pub(super) fn of(tokens: &[Token<'_>]) -> Option<Self> {
        if let [only] = tokens
            && only.class == Class::Quoted
        {
            return (only.text.len() <= MAX_QUOTED_BYTES).then_some(Self::Quoted);
        }
        let (first, last) = (tokens.first()?, tokens.last()?);
        let words = tokens.iter().filter(|token| token.is_word()).count();
        let is_short = words <= MAX_VALUE_WORDS && last.span.end - first.span.start <= MAX_VALUE_BYTES;
        let is_framed = [first, last].iter().all(|token| token.is_word() && !is_stop_word(token.text));
        if !is_short || !is_framed || !tokens.iter().enumerate().all(|(at, _)| may_stand(tokens, at)) {
            return None;
        }
        match first.class {
            _ if is_date(tokens) => Some(Self::Date),
            Class::Number if words == 1 => Some(Self::Number),
            Class::Identifier if words == 1 => Some(Self::Identifier),
            Class::Word if is_name(tokens) => Some(Self::Name),
            Class::Word if words == 1 => Some(Self::Word),
            _ => tokens.iter().any(|token| token.class == Class::Word).then_some(Self::Words),
        }
    }

    /// The kind of a slot whose values have these two.
    pub(super) fn joined(self, other: Self) -> Option<Self> {
        if self == other { Some(self) } else { (self.is_words() && other.is_words()).then_some(Self::Words) }
    }

    /// Whether a slot of this kind takes a value of that one.
    pub(super) fn takes(self, value: Self) -> bool {
        self == value || (self == Self::Words && value.is_words())
    }

    /// Whether values are words, which may be orders as well as names.
    pub(super) fn is_words(self) -> bool {
        matches!(self, Self::Name | Self::Word | Self::Words)
    }
}

fn is_name(tokens: &[Token<'_>]) -> bool {
    tokens.iter().filter(|token| token.class == Class::Word).all(|token| is_capital(token.text))
}

/// Whether a token may be part of a value.
fn may_stand(tokens: &[Token<'_>], at: usize) -> bool {
    let Some(token) = tokens.get(at) else { return false };
    match token.class {
        Class::Space => token.text == " ",
        Class::Mark => match token.text {
            "&" | "-" => true,
            "," => is_date(tokens),
            "." => at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(is_abbreviation),
            _ => false,
        },
        Class::Word | Class::Identifier => !is_frame(token.text),
        Class::Number => true,
        Class::Quoted | Class::Unspaced => false,
    }
}

fn is_abbreviation(token: &Token<'_>) -> bool {
    token.class == Class::Word && token.text.chars().count() <= MAX_ABBREVIATION
}

/// Whether a word says what is to be done, how much of it or to which side, so that it is never data:
/// negations, and/or, directions, comparatives, quantities, units of measure, verbs that have a contrary.
pub(super) fn is_frame(word: &str) -> bool {
    static FRAME: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        [LOGIC, SIDES, DEGREES, UNITS, VERBS, STATES, ELSEWHERE]
            .iter()
            .flat_map(|list| list.split_whitespace())
            .collect()
    });
    // As in New York and Old Town.
    if matches!(word, "New" | "Old") {
        return false;
    }
    // A single letter counts only by itself: `5 m`, not `a@m.example`.
    let counts = |term: &str| term.chars().nth(1).is_some() || term.len() == word.len();
    terms(word).iter().any(|term| counts(term) && (is_negation(term) || FRAME.contains(term.as_str())))
}

/// Whether a word is a unit of time, size or measure.
pub(crate) fn is_unit(word: &str) -> bool {
    UNITS.split_whitespace().any(|unit| unit == word)
}

/// Whether tokens are a date or a time of day and nothing else.
fn is_date(tokens: &[Token<'_>]) -> bool {
    let mut words = tokens.iter().filter(|token| token.is_word());
    let fits = tokens.iter().all(|token| match token.class {
        Class::Space => token.text == " ",
        Class::Mark => token.text == ",",
        Class::Number => token.text.len() <= 4 && token.text.chars().all(|char| char.is_ascii_digit()),
        Class::Word | Class::Identifier => is_date_word(token.text),
        Class::Quoted | Class::Unspaced => false,
    });
    fits && words.any(|token| token.class != Class::Number)
}

/// A month, a weekday, `am`, `13th`, `10:30`, `2024-10-13T08:00:00Z`.
fn is_date_word(word: &str) -> bool {
    let digits = word.len() - word.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let (number, rest) = word.split_at(digits);
    let lower = rest.to_lowercase();
    if number.is_empty() {
        return matches!(lower.as_str(), "am" | "pm")
            || (is_capital(word) && DATES.split_whitespace().any(|date| date == lower));
    }
    let is_short = number.len() <= 2 && matches!(lower.as_str(), "st" | "nd" | "rd" | "th" | "am" | "pm");
    is_short || (is_moment(word) && crate::procedure::is_date_or_time(word))
}

/// Only the characters of ISO dates and times.
fn is_moment(word: &str) -> bool {
    word.chars().all(|char| char.is_ascii_digit() || matches!(char, '-' | '/' | '.' | ':' | '+' | 'T' | 'Z'))
}

fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

const DATES: &str = "\
    january february march april may june july august september october november december jan feb mar apr jun jul \
    aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday";

/// And/or, conditions, quantities.
const LOGIC: &str = "\
    and or nor but xor if unless when while whenever then else otherwise instead than because also too only just all \
    any every each both either neither some few many except excluding including same other another i you he she it \
    they";

/// Directions in space, time and exchange.
const SIDES: &str = "\
    from to into onto in on off out at by for with via before after until till since during within between above \
    below over under up down left right toward towards against inside outside through as per past next previous ago \
    later";

/// Comparatives and superlatives that turn an order around.
const DEGREES: &str = "\
    more less fewer greater smaller larger bigger higher lower longer shorter earlier sooner newer older cheaper \
    faster slower better worse most least maximum minimum max min highest lowest largest smallest biggest longest \
    shortest earliest latest newest oldest cheapest fastest slowest best worst first last top bottom ascending descending \
    asc desc";

/// Units of time, size and measure: 10 MB is not 10 GB of something.
const UNITS: &str = "\
    second seconds sec minute minutes hour hours day days week weeks month months year years ms s h b kb mb gb tb \
    kib mib gib bytes bits mm cm m km inch inches feet mile miles g kg lb pounds percent ml l gallon gallons liter \
    liters celsius fahrenheit";

/// Verbs that have a contrary, and those that are orders of their own.
const VERBS: &str = "\
    add remove delete create drop make insert append set unset reset clear keep cancel confirm book rebook order \
    reorder return exchange refund charge pay buy sell rent borrow lend send receive forward reply give take get put \
    push pull fetch upload download import export load save store restore open close lock unlock enable disable \
    activate deactivate start stop begin end restart pause resume run kill show hide list count find search check \
    read write edit change update upgrade downgrade modify replace rename move copy merge split sort filter group \
    increase decrease raise reduce extend shorten expand shrink scale accept reject approve decline deny allow block \
    unblock grant revoke invite subscribe unsubscribe follow unfollow like dislike include exclude ignore mute \
    unmute archive publish unpublish deploy rollback revert undo redo encrypt decrypt compress extract attach detach \
    connect disconnect install uninstall";

/// States that exclude each other.
const STATES: &str = "\
    true false yes active inactive enabled disabled public private paid unpaid visible hidden read unread empty full \
    new old cheap expensive locked unlocked valid invalid required";

/// The commonest of these in other languages; the rule about the start of a sentence does not need them.
const ELSEWHERE: &str = "\
    und oder nur alle von nach vor bis mehr weniger et ou seulement tous à avant après plus moins y o solo todos \
    desde hasta antes después más menos и или только все от до из после больше меньше أو من إلى";

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    fn kind(text: &str) -> Option<SlotKind> {
        SlotKind::of(&tokens(text))
    }

    #[test]
    fn kinds_are_told_apart() {
        for (text, expected) in [
            ("5", SlotKind::Number),
            ("-1,500.50", SlotKind::Number),
            ("2024-10-13", SlotKind::Date),
            ("October 13th, 2024", SlotKind::Date),
            ("10:30", SlotKind::Date),
            ("10 am", SlotKind::Date),
            ("W123", SlotKind::Identifier),
            ("a@b.example", SlotKind::Identifier),
            ("Boston", SlotKind::Name),
            ("John F. Kennedy International Airport", SlotKind::Name),
            ("San Francisco - Ellis Street", SlotKind::Name),
            ("users", SlotKind::Word),
            ("office chair", SlotKind::Words),
        ] {
            assert_eq!(kind(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_says_what_to_do_is_never_a_value() {
        for text in [
            "not",
            "never",
            "alice and bob",
            "alice or bob",
            "and/or",
            "delete",
            "Cancel",
            "enable",
            "more",
            "cheapest",
            "from",
            "from-scratch",
            "MB",
            "days",
            "不",
            "не",
            "oder",
            "Paris. Delete",
            "Paris, Rome",
            "a\nb",
            "",
            "one two three four five six seven eight nine",
            "用户",
            "only",
            "top",
            "the",
            "a speaker",
            "read",
            "un-like",
        ] {
            assert_eq!(kind(text), None, "{text}");
        }
        assert_eq!(kind(&"x".repeat(MAX_VALUE_BYTES + 1)), None);
    }
}
