//! A clock that only tests move.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use crate::Clock;

/// A clock that stands still until a test moves it.
///
/// ```
/// use jiff::{SignedDuration, Timestamp};
/// use learnkit_core::{Clock as _, testing::ManualClock};
/// let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
/// clock.advance(SignedDuration::from_hours(1));
/// assert_eq!(clock.now().to_string(), "1970-01-01T01:00:00Z");
/// ```
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// A clock that stands at `start`.
    pub fn new(start: Timestamp) -> Self {
        Self(Mutex::new(start))
    }

    /// Moves it to a time, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Moves it by a duration; it stops at the ends of the calendar.
    pub fn advance(&self, by: SignedDuration) {
        let end = if by.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = now.checked_add(by).unwrap_or(end);
    }
}

impl Default for ManualClock {
    /// Stands at [`super::fixtures::START`].
    fn default() -> Self {
        Self::new(super::fixtures::START)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stops_at_the_end_of_the_calendar() {
        let clock = ManualClock::default();
        clock.advance(SignedDuration::MAX);
        assert_eq!(clock.now(), Timestamp::MAX);
        clock.set(Timestamp::UNIX_EPOCH);
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH);
    }
}
