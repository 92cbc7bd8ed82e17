//! Time as the engine sees it: UTC, injected, so that tests can move it.

use std::fmt::Debug;

use jiff::{SignedDuration, Timestamp};

/// Where the time comes from.
pub trait Clock: Debug + Send + Sync + 'static {
    /// The current time, UTC.
    fn now(&self) -> Timestamp;
}

/// The time of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A time so many days later; absent when it leaves the calendar.
pub(crate) fn days_after(start: Timestamp, days: i64) -> Option<Timestamp> {
    start.checked_add(SignedDuration::from_hours(days.checked_mul(24)?)).ok()
}
