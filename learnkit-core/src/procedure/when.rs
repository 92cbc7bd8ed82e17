//! What the words of a task say about time relative to its own moment, such as "tomorrow" or "next week".

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::value::words;

/// Words that name a day by themselves.
const DAYS: [(&str, i64); 29] = [
    ("today", 0),
    ("tonight", 0),
    ("tomorrow", 1),
    ("yesterday", -1),
    ("сегодня", 0),
    ("завтра", 1),
    ("послезавтра", 2),
    ("вчера", -1),
    ("позавчера", -2),
    ("heute", 0),
    ("morgen", 1),
    ("übermorgen", 2),
    ("gestern", -1),
    ("vorgestern", -2),
    ("hoy", 0),
    ("ayer", -1),
    ("demain", 1),
    ("oggi", 0),
    ("domani", 1),
    ("ieri", -1),
    ("mañana", 1),
    ("hier", -1),
    ("hoje", 0),
    ("amanhã", 1),
    ("ontem", -1),
    ("vandaag", 0),
    ("gisteren", -1),
    ("dzisiaj", 0),
    ("jutro", 1),
];
/// The same in writing without spaces.
const UNSPACED_DAYS: [(&str, i64); 13] = [
    ("今天", 0),
    ("今日", 0),
    ("明天", 1),
    ("明日", 1),
    ("昨天", -1),
    ("昨日", -1),
    ("오늘", 0),
    ("내일", 1),
    ("어제", -1),
    ("اليوم", 0),
    ("غدا", 1),
    ("أمس", -1),
    ("aujourd'hui", 0),
];
/// Spans around the day in writing without spaces.
const UNSPACED_SPANS: [&str; 12] =
    ["后天", "後天", "前天", "上周", "本周", "下周", "上个月", "下个月", "先週", "来週", "先月", "来月"];
/// Words of the moment itself.
const NOW: [&str; 3] = ["now", "сейчас", "现在"];
const WHICH: [&str; 8] = ["next", "last", "this", "past", "previous", "current", "coming", "upcoming"];
const SPANS: [&str; 8] = ["week", "weekend", "month", "quarter", "year", "morning", "afternoon", "evening"];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// Units in which "in 2 …" counts from now.
const UNITS: [&str; 12] =
    ["minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months", "year", "years"];
/// How the months begin in several languages.
const MONTHS: [&str; 38] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mai", "mär", "okt", "dez",
    "ene", "abr", "ago", "dic", "fév", "avr", "juin", "juil", "aoû", "déc", "gen", "mag", "giu", "lug", "set", "ott",
    "янв", "фев", "мар", "апр", "июн", "июл",
];
const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// What a task says about time relative to its own moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// Days by their distance from today.
    days: BTreeSet<i64>,
    /// Whether there is more that no distance in days says: "next week", "on Friday", "2 hours ago".
    is_vague: bool,
    is_now: bool,
}

impl Named {
    /// What a text says.
    pub(super) fn of(task: &str) -> Self {
        let words: Vec<String> = words(task).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut named = Self::default();
        let mut rest = words.as_slice();
        while !rest.is_empty() {
            let taken = named.take(rest);
            rest = rest.get(taken..).unwrap_or_default();
        }
        let lower = task.to_lowercase().replace('’', "'");
        named.days.extend(UNSPACED_DAYS.iter().filter(|(word, _)| lower.contains(word)).map(|(_, days)| *days));
        named.is_now |= NOW.iter().any(|now| words.contains(now) || (!now.is_ascii() && task.contains(now)));
        // 后天, 前天 and 大后天 end like one another.
        named.is_vague |= UNSPACED_SPANS.iter().any(|word| task.contains(word));
        named
    }

    /// Whether anything is relative to the moment of the task.
    pub(super) fn is_relative(&self) -> bool {
        !self.days.is_empty() || self.is_vague || self.is_now
    }

    /// The distance of the day that it names, where it names exactly one.
    pub(super) fn only_day(&self) -> Option<i64> {
        let mut days = self.days.iter();
        match (days.next(), days.next()) {
            (Some(day), None) if !self.is_vague => Some(*day),
            _ => None,
        }
    }

    /// Whether it speaks of the very moment.
    pub(super) fn is_now(&self) -> bool {
        self.is_now
    }

    /// Reads the words from the first on, and says how many.
    fn take(&mut self, words: &[&str]) -> usize {
        let (days, taken) = match *words {
            ["day", "after", "tomorrow", ..] => (Some(2), 3),
            ["day", "before", "yesterday", ..] => (Some(-2), 3),
            ["in", count, "day" | "days", ..] if number(count).is_some() => (number(count), 3),
            [count, "day" | "days", "ago", ..] => (number(count).map(|days| -days), 3),
            ["in", count, unit, ..] if number(count).is_some() && UNITS.contains(&unit) => (None, 3),
            [which, count, unit, ..] if WHICH.contains(&which) && number(count).is_some() && UNITS.contains(&unit) => {
                (None, 3)
            }
            [which, span, ..] if WHICH.contains(&which) && (SPANS.contains(&span) || WEEKDAYS.contains(&span)) => {
                (None, 2)
            }
            ["ago", ..] => (None, 1),
            [word, ..] if WEEKDAYS.contains(&word) => (None, 1),
            [word, ..] => match DAYS.iter().find(|(known, _)| *known == word) {
                Some((_, days)) => (Some(*days), 1),
                None => return 1,
            },
            [] => return 0,
        };
        match days {
            Some(days) => drop(self.days.insert(days)),
            None => self.is_vague = true,
        }
        taken
    }
}

/// Whether a text names a date of the calendar, as digits or by a month.
pub(super) fn names_date(text: &str) -> bool {
    static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\b\d{1,4}[-/.]\d{1,2}\b|\b\d{1,2}(?:st|nd|rd|th)\b|\d\s*[月日]|\b(?:19|20)\d\d\b").ok()
    });
    let is_month = |word: &str| MONTHS.iter().any(|month| word.starts_with(month));
    DIGITS.as_ref().is_some_and(|digits| digits.is_match(text)) || words(text).any(|word| is_month(&word))
}

/// A small count in digits or in English.
fn number(word: &str) -> Option<i64> {
    let named = NUMBERS.iter().position(|number| *number == word).and_then(|at| i64::try_from(at + 1).ok());
    let digits = || word.parse::<i64>().ok().filter(|days| (0..=36_500).contains(days));
    if matches!(word, "a" | "an") { Some(1) } else { named.or_else(digits) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_the_distance_of_a_day() {
        for (task, days) in [
            ("What is due today?", 0),
            ("Book a table for tonight", 0),
            ("TOMORROW's weather", 1),
            ("The day after tomorrow, please", 2),
            ("sales of yesterday", -1),
            ("sales of the day before yesterday", -2),
            ("Remind me in 3 days", 3),
            ("Remind me in three days", 3),
            ("orders of 10 days ago", -10),
            ("orders of a day ago", -1),
            ("Отчёт за вчера", -1),
            ("Morgen einen Tisch buchen", 1),
            ("明天开会", 1),
            ("Start it now for tomorrow", 1),
            ("tomorrow, yes, tomorrow", 1),
        ] {
            assert_eq!(Named::of(task).only_day(), Some(days), "{task}");
        }
    }

    #[test]
    fn what_names_no_single_day_is_only_relative() {
        for task in [
            "Not today but tomorrow",
            "Book it for next Friday",
            "Book it on Sunday",
            "report of last month",
            "Move today's meeting to Friday",
            "in 2 weeks",
            "2 hours ago, as today",
            "Do it now",
            "heute Morgen",
            "后天开会",
            "In 3 days from tomorrow",
        ] {
            let named = Named::of(task);
            assert!(named.is_relative(), "{task}");
            assert_eq!(named.only_day(), None, "{task}");
        }
        for task in ["Forward the last mail of this order to the next person", "3 days of leave", "in 2026", ""] {
            assert!(!Named::of(task).is_relative(), "{task}");
        }
    }
}
