//! The day of a run or replay, and the arguments that are a day counted from it.
//!
//! Not here: which day the words of a task name (`when`).

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Span, Timestamp};

use super::slot::{Part, Slot};
use super::value::mentions;
use super::when::Named;
use crate::config::TimeZone;
use crate::json::Json;
use crate::run::{Arguments, ToolCall};

/// A run whose calls are further away from now is a recording of another day.
const NEAR: SignedDuration = SignedDuration::from_hours(24);

/// A date that close to the day of the run was probably counted from it.
const NEAR_DATES: SignedDuration = SignedDuration::from_hours(24 * 60);

/// A day in a time zone: one look at the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Today {
    date: Date,
    zone: TimeZone,
}

impl Today {
    /// The day that an instant falls on.
    pub fn at(now: Timestamp, zone: &TimeZone) -> Self {
        Self { date: zone.zone().to_datetime(now).date(), zone: zone.clone() }
    }

    /// The same day as it was kept: a date in a time zone.
    pub(crate) fn on(date: Date, zone: TimeZone) -> Self {
        Self { date, zone }
    }

    /// The date.
    pub(crate) fn date_here(&self) -> Date {
        self.date
    }

    /// The time zone.
    pub(crate) fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The day of a run: that of its beginning, where its first call started on the same one and both are near
    /// to now. Of another run it is not certain on which day it was asked for.
    pub(crate) fn of_run(began: Timestamp, calls: &[ToolCall], now: Timestamp, zone: &TimeZone) -> Option<Self> {
        let first = calls.first()?.started;
        let is_near = [began, first].iter().all(|at| now.duration_since(*at).abs() <= NEAR);
        let today = Self::at(began, zone);
        (is_near && today == Self::at(first, zone)).then_some(today)
    }

    /// Whether a text has a date that is close to the day.
    pub(super) fn is_near(&self, text: &str) -> bool {
        let dates = text.split(|char: char| !(char.is_ascii_digit() || char == '-')).filter_map(|run| run.get(..10));
        let mut dates = dates.filter_map(|date| date.parse::<Date>().ok());
        dates.any(|date| self.date.duration_until(date).abs() <= NEAR_DATES)
    }

    /// The date so many days on, in a zone; the reason in words where there is none.
    pub(super) fn date(&self, days: i64, zone: &str) -> Result<String, String> {
        if zone != self.zone.name() {
            return Err(other_zone(zone, &self.zone));
        }
        let date = Span::new().try_days(days).ok().and_then(|days| self.date.checked_add(days).ok());
        date.map(|date| date.to_string()).ok_or_else(|| format!("{days} days from today is no date"))
    }
}

/// Why a slot of one zone is not filled in another.
pub(super) fn other_zone(zone: &str, setting: &TimeZone) -> String {
    format!("its dates are counted in the time zone {zone}, and `time_zone` is {setting}")
}

/// What the task says of days, and the day on which it was asked.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) today: &'a Today,
    pub(super) named: &'a Named,
    /// The words of the task.
    pub(super) task: &'a str,
}

impl Asked<'_> {
    /// The slots of the arguments that are the day that the task names, apart from those that it gives itself.
    pub(super) fn slots(&self, arguments: &Arguments, is_given: impl Fn(&str) -> bool) -> Vec<Slot> {
        let Some(days) = self.named.only_day() else { return Vec::new() };
        let Ok(date) = self.today.date(days, self.today.zone.name()) else { return Vec::new() };
        let leaves = arguments.json().map(|json| json.leaves()).unwrap_or_default();
        let slots = leaves.into_iter().filter_map(|leaf| {
            let Json::Text(text) = &leaf.value else { return None };
            let time = text.strip_prefix(&date).filter(|time| self.is_fixed(time, days) && !is_given(text))?;
            let mut parts = vec![Part::Date { days, zone: self.today.zone.name().to_owned() }];
            if !time.is_empty() {
                parts.push(Part::Text { text: time.to_owned() });
            }
            Some(Slot { argument: leaf.pointer, parts, examples: 1 })
        });
        slots.collect()
    }

    /// Whether what follows a date is no time, or one that does not depend on when the task was asked: the task
    /// says it, or it is an end of a day, or, of another day than today, on the quarter of an hour.
    fn is_fixed(&self, rest: &str, days: i64) -> bool {
        if rest.is_empty() {
            return true;
        }
        let Some(rest) = rest.strip_prefix(['T', ' ']) else { return false };
        let clock = rest.split(['Z', '+', '-']).next().unwrap_or_default();
        let offset = rest.get(clock.len()..).unwrap_or_default();
        let Ok(time) = clock.parse::<Time>() else { return false };
        if self.named.is_now() || !self.is_own_offset(offset) {
            return false;
        }
        let is_end = time == Time::midnight() || (time.hour(), time.minute()) == (23, 59);
        let is_round = time.minute() % 15 == 0 && time.second() == 0 && time.subsec_nanosecond() == 0;
        is_end || (days != 0 && is_round) || says_time(self.task, time)
    }

    /// Whether an offset behind a time is that of the zone all year, so that the date is one of the zone.
    fn is_own_offset(&self, offset: &str) -> bool {
        if offset.is_empty() {
            return true;
        }
        let offset = if offset == "Z" { "+00:00" } else { offset };
        let is_fixed = self.today.zone.zone().to_fixed_offset().is_ok();
        is_fixed && offset.parse::<TimeZone>().is_ok_and(|zone| zone == self.today.zone)
    }
}

/// Whether a text says a time of day, as `19:30`, `7:30 pm` or `7pm`.
fn says_time(text: &str, time: Time) -> bool {
    if time.second() != 0 || time.subsec_nanosecond() != 0 {
        return false;
    }
    let text = text.to_lowercase();
    let (hour, minute, half) = (time.hour(), time.minute(), if time.hour() < 12 { "am" } else { "pm" });
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let mut spellings = vec![
        format!("{hour:02}:{minute:02}"),
        format!("{hour}:{minute:02}"),
        format!("{twelve}:{minute:02}{half}"),
        format!("{twelve}:{minute:02} {half}"),
    ];
    if minute == 0 {
        spellings.extend([format!("{twelve}{half}"), format!("{twelve} {half}")]);
    }
    spellings.iter().any(|spelling| mentions(&text, spelling))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> TimeZone {
        name.parse().unwrap()
    }

    fn slot(task: &str, value: &str, zone_name: &str) -> Option<String> {
        let today = Today::at("2026-01-05T08:00:00Z".parse().unwrap(), &zone(zone_name));
        let asked = Asked { today: &today, named: &Named::of(task), task };
        let arguments = Arguments::from_raw(serde_json::json!({ "at": value }).to_string());
        asked.slots(&arguments, |_| false).first().map(ToString::to_string)
    }

    #[test]
    fn a_day_is_that_of_the_zone() {
        let late = "2026-01-05T23:30:00Z".parse().unwrap();
        for (name, date) in [("UTC", "2026-01-06"), ("+02:00", "2026-01-07"), ("-05:00", "2026-01-06")] {
            assert_eq!(Today::at(late, &zone(name)).date(1, name).as_deref(), Ok(date), "{name}");
        }
        let today = Today::at(late, &zone("UTC"));
        assert!(today.date(1, "+02:00").is_err_and(|reason| reason.contains("`time_zone` is UTC")));
        assert!(today.date(i64::MAX, "UTC").is_err());
    }

    #[test]
    fn a_time_is_kept_only_where_it_does_not_depend_on_the_run() {
        for (task, value, zone) in [
            ("Book it for tomorrow", "2026-01-06", "UTC"),
            ("Book it for tomorrow", "2026-01-06T19:00:00", "UTC"),
            ("Book it for tomorrow", "2026-01-06 19:30", "+01:00"),
            ("Book it for tomorrow", "2026-01-06T19:00:00Z", "UTC"),
            ("Book it for tomorrow", "2026-01-06T19:00:00+01:00", "+01:00"),
            ("List what is due today", "2026-01-05T23:59:59.999Z", "UTC"),
            ("Book it tonight at 7 pm", "2026-01-05T19:00", "UTC"),
            ("Book it tomorrow at 7:20pm", "2026-01-06T19:20:00", "UTC"),
        ] {
            assert!(slot(task, value, zone).is_some(), "{task}: {value} in {zone}");
        }
        for (task, value, zone) in [
            ("Log my visit of today", "2026-01-05T08:00:00Z", "UTC"),
            ("Ask again tomorrow", "2026-01-06T08:00:03Z", "UTC"),
            ("Ask again tomorrow as I do now", "2026-01-06T08:00:00Z", "UTC"),
            ("Book it for tomorrow", "2026-01-06T19:00:00Z", "+01:00"),
            ("Book it for tomorrow", "2026-01-06T19:00:00+01:00", "UTC"),
            ("Book it for tomorrow", "2026-01-06.pdf", "UTC"),
            ("Book it for tomorrow", "2026-01-061", "UTC"),
            ("Book it for tomorrow", "report 2026-01-06", "UTC"),
            ("Book it for tomorrow", "2026-01-07", "UTC"),
            ("Book it for tomorrow", "06/01/2026", "UTC"),
        ] {
            assert_eq!(slot(task, value, zone), None, "{task}: {value} in {zone}");
        }
    }
}
