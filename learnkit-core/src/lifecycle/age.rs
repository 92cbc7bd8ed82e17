//! The passing of time: decay, expiry, promotion, and what may be deleted for its age.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::record::{Confidence, Kind, Record, Status};
use crate::{Error, Result};

/// What periodic maintenance does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MaintenancePlan {
    weeks: i64,
    decay_rate: f64,
    quarantine_hours: f64,
}

impl MaintenancePlan {
    /// Decay by `decay_rate` for each week since a record was last reinforced or decayed, once at
    /// least `weeks` of them have passed; promote from probation after `quarantine_hours`.
    ///
    /// # Errors
    /// `InvalidInput` unless `weeks` is at least 1, `decay_rate` is from 0 to 1 and
    /// `quarantine_hours` is a number of at least 0.
    pub fn new(weeks: i64, decay_rate: f64, quarantine_hours: f64) -> Result<Self> {
        if weeks < 1 {
            return Err(Error::invalid("weeks must be at least 1").with_context("weeks", weeks));
        }
        if !(0.0..=1.0).contains(&decay_rate) {
            return Err(Error::invalid("the decay rate must be from 0 to 1").with_context("decay_rate", decay_rate));
        }
        if !(0.0..=1e6).contains(&quarantine_hours) {
            let error = Error::invalid("the quarantine must be from 0 to 1,000,000 hours");
            return Err(error.with_context("quarantine_hours", quarantine_hours));
        }
        Ok(Self { weeks, decay_rate, quarantine_hours })
    }

    /// Decay starts after so many weeks.
    pub fn weeks(&self) -> i64 {
        self.weeks
    }

    /// What a week costs.
    pub fn decay_rate(&self) -> f64 {
        self.decay_rate
    }

    /// How long probation takes, in hours.
    pub fn quarantine_hours(&self) -> f64 {
        self.quarantine_hours
    }
}

impl Default for MaintenancePlan {
    /// One week, 0.02 a week, 24 hours.
    fn default() -> Self {
        Self { weeks: 1, decay_rate: 0.02, quarantine_hours: 24.0 }
    }
}

/// What maintenance changed about one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Maintained {
    /// It lost confidence.
    pub decayed: bool,
    /// It went stale.
    pub stale: bool,
    /// It left probation.
    pub promoted: bool,
}

impl Maintained {
    /// Whether anything changed.
    pub fn is_change(self) -> bool {
        self.decayed || self.stale || self.promoted
    }
}

/// Applies the passing of time, and changes nothing else than it says. Doing it twice at one time
/// changes nothing the second time.
pub fn maintain(record: &mut Record, plan: &MaintenancePlan, now: Timestamp) -> Maintained {
    let mut done = Maintained::default();
    if record.pinned {
        done.promoted = promote(record, plan, now);
        return done;
    }
    if matches!(record.status, Status::Probation | Status::Active | Status::Stale) {
        done.decayed = decay(record, plan, now);
    }
    if matches!(record.status, Status::Active | Status::Probation) {
        done.stale = expire(record, now);
    }
    done.promoted = promote(record, plan, now);
    done
}

fn decay(record: &mut Record, plan: &MaintenancePlan, now: Timestamp) -> bool {
    let reinforced = record.last_reinforced.unwrap_or(record.created);
    let anchor = reinforced.max(record.last_decayed.unwrap_or(record.created)).max(record.created);
    let weeks = now.duration_since(anchor).as_hours() / (24 * 7);
    if weeks < plan.weeks || plan.decay_rate == 0.0 {
        return false;
    }
    let Ok(decayed_to) = anchor.checked_add(SignedDuration::from_hours(weeks * 24 * 7)) else { return false };
    #[expect(clippy::cast_precision_loss, reason = "weeks stay far below 2^52")]
    let loss = plan.decay_rate * weeks as f64;
    let lowered = record.confidence.lowered(loss);
    let falls = lowered < record.confidence;
    if falls {
        record.confidence = lowered;
        record.last_decayed = Some(decayed_to);
    }
    falls
}

fn expire(record: &mut Record, now: Timestamp) -> bool {
    let reason = if record.is_expired(now) {
        "expired"
    } else if record.confidence < Confidence::FLOOR {
        "confidence fell below 0.30"
    } else {
        return false;
    };
    record.status = Status::Stale;
    record.status_since = Some(now);
    reason.clone_into(&mut record.status_reason);
    true
}

fn promote(record: &mut Record, plan: &MaintenancePlan, now: Timestamp) -> bool {
    // Whoever came back is on probation from then on.
    let since = record.status_since.unwrap_or(record.created).max(record.created);
    let hours = now.duration_since(since).as_secs_f64() / 3600.0;
    let over = record.status == Status::Probation && hours >= plan.quarantine_hours && record.usage.harm == 0;
    if over {
        record.status = Status::Active;
        record.status_since = Some(now);
        "probation is over and it did no harm".clone_into(&mut record.status_reason);
    }
    over
}

/// Whether a record may be deleted for its age: a tombstone that was retired, or a trace that expired,
/// before this time. Nothing that is pinned, and nothing that may still replay, guide or come back.
pub fn may_purge(record: &Record, before: Timestamp) -> bool {
    if record.pinned {
        return false;
    }
    if record.status == Status::Retired {
        // Records of before this was noted: nothing is known to have happened to them since.
        let known =
            [record.last_reinforced, record.last_decayed].into_iter().flatten().fold(record.created, Timestamp::max);
        return record.status_since.unwrap_or(known) < before;
    }
    record.kind() == Kind::Trace && record.expires.is_some_and(|expires| expires < before)
}
