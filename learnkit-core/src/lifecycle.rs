//! The life of a record: one state machine without I/O, `(state, event) -> (state, reason)`.
//!
//! Every number is from `semantics.md` §8. Nothing else in LearnKit moves a status or confidence.

mod blame;
mod trust;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::config::ReplayTrust;
use crate::record::{Confidence, Kind, Record, RecordId, Status, Trust};
use crate::{Error, Result};

pub(crate) use blame::blame;
pub use trust::WorldCheck;
pub(crate) use trust::{confirms, does_the_same, is_disputed};

/// Confidence gained by a use that helped.
const HELPED_STEP: f64 = 0.02;
/// Confidence lost by a use that harmed.
const HARMED_STEP: f64 = 0.05;
/// So many harms in a row quarantine a record for harm.
const HARMS_TO_QUARANTINE: u32 = 3;
/// A record with fewer uses is not judged by its rate.
const USES_TO_RETIRE: u64 = 4;
/// Below this mean of Beta(1 + help, 1 + harm) a record is retired.
const RATE_TO_RETIRE: f64 = 0.35;
/// The first stopped replay, and two failed heals after it.
const FAILED_REPLAYS_TO_RETIRE: u32 = 3;

/// Something that happened to a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A planned run made exactly these calls and passed; this is the trust that it gives.
    PlannedAgain(Trust),
    /// A planned run solved the task with other calls, which take the place of these; this is their trust.
    MovedOn(Trust),
    /// Another planned run had the same effects and passed.
    Confirmed,
    /// It was replayed to the end and the run passed.
    Replayed,
    /// It guided, was followed, and the run passed.
    Helped,
    /// It was used and the run failed.
    Harmed,
    /// It guided a run of another task, which did nothing else and failed.
    Misguided,
    /// A replay of it stopped before the end.
    ReplayStopped {
        /// Why.
        reason: String,
        /// Whether the procedure itself failed; a changed world is no fault of it.
        at_fault: bool,
    },
    /// A run showed that a learned template is none.
    Contradicted {
        /// Why.
        reason: String,
    },
    /// The caller reported success of the run that made or used it.
    ReportedSuccess,
    /// The caller reported failure of the run that made or replayed it.
    ReportedFailure,
    /// A newer fact took its place.
    Superseded {
        /// The newer record.
        by: RecordId,
    },
    /// Somebody pinned it: it does not expire.
    Pinned,
    /// Somebody unpinned it.
    Unpinned,
}

/// Applies an event and returns the reason in words. The record's status reason follows its status.
pub fn apply(record: &mut Record, event: &Event, at: Timestamp) -> String {
    let before = record.status;
    let reason = match event {
        Event::PlannedAgain(trust) => planned_again(record, *trust, at),
        Event::MovedOn(trust) => moved_on(record, *trust, at),
        Event::Confirmed => confirmed(record),
        Event::Replayed => {
            record.usage.failed_replays = 0;
            helped(record, at)
        }
        Event::Helped => helped(record, at),
        Event::Harmed => harmed(record),
        Event::Misguided => misguided(record),
        Event::ReplayStopped { reason, at_fault } => replay_stopped(record, reason, *at_fault),
        Event::Contradicted { reason } => format!("contradicted, and never replays again: {reason}"),
        Event::ReportedSuccess => reported_success(record, at),
        Event::ReportedFailure => reported_failure(record),
        Event::Superseded { by } => {
            record.status = Status::Retired;
            format!("superseded by {by}")
        }
        Event::Pinned => pin(record),
        Event::Unpinned => unpin(record, at),
    };
    end_template(record, event, &reason);
    if record.status != before {
        record.status_reason.clone_from(&reason);
        record.status_since = Some(at);
    }
    reason
}

/// One contradiction ends a learned template for good; the first reason stays.
fn end_template(record: &mut Record, event: &Event, words: &str) {
    let reason = match event {
        Event::Contradicted { reason } | Event::ReplayStopped { reason, at_fault: true } => reason.as_str(),
        Event::ReportedFailure => words,
        _ => return,
    };
    if let Some(template) = record.template_mut() {
        template.contradicted.get_or_insert_with(|| reason.to_owned());
    }
}

/// The time to live starts anew; stale is undone. Whoever did harm goes through probation again.
fn renew(record: &mut Record, at: Timestamp) {
    record.last_reinforced = Some(at);
    if record.expires.is_some() {
        record.expires = crate::clock::days_after(at, record.kind().ttl_days());
    }
    if record.status == Status::Stale {
        // A success undoes it for good: what was lost to time alone would make it stale again at once.
        record.confidence = record.confidence.max(Confidence::START);
        record.status = if record.usage.harm == 0 { Status::Active } else { Status::Probation };
    }
}

fn reinforce(record: &mut Record, at: Timestamp) {
    record.confidence = record.confidence.raised(HELPED_STEP);
    renew(record, at);
}

/// Somebody who knows says that it works: what was held against it is forgotten.
fn revive(record: &mut Record) {
    if matches!(record.status, Status::Retired | Status::Harmful) {
        record.status = Status::Probation;
        record.usage.help = 0;
        record.usage.harm = 0;
        record.usage.failed_replays = 0;
    }
    record.usage.harms_in_a_row = 0;
    record.usage.suspended = None;
}

fn planned_again(record: &mut Record, trust: Trust, at: Timestamp) -> String {
    record.usage.successes += 1;
    if matches!(record.status, Status::Retired | Status::Harmful) {
        if trust < Trust::Verified {
            return format!("solved the task again, but stays {} until a success is reported", record.status);
        }
        revive(record);
    }
    record.trust = record.trust.max(trust);
    record.usage.suspended = None;
    reinforce(record, at);
    "a planned run made the same calls and passed".to_owned()
}

/// What was known of the old calls is not known of the new ones.
fn moved_on(record: &mut Record, trust: Trust, at: Timestamp) -> String {
    let reason = planned_again(record, trust, at);
    if matches!(record.status, Status::Retired | Status::Harmful) {
        return reason;
    }
    record.trust = trust;
    "a planned run solved the task with other values, which count from now on".to_owned()
}

fn confirmed(record: &mut Record) -> String {
    if matches!(record.status, Status::Retired | Status::Harmful) {
        return format!("another planned run had the same effects, but it stays {}", record.status);
    }
    record.trust = record.trust.max(Trust::Confirmed);
    "another planned run had the same effects".to_owned()
}

fn helped(record: &mut Record, at: Timestamp) -> String {
    record.usage.reuse_count += 1;
    record.usage.help += 1;
    record.usage.harms_in_a_row = 0;
    rate(record);
    reinforce(record, at);
    "used, and the run passed".to_owned()
}

fn harmed(record: &mut Record) -> String {
    record.usage.reuse_count += 1;
    record.usage.harm += 1;
    record.usage.harms_in_a_row += 1;
    record.confidence = record.confidence.lowered(HARMED_STEP);
    rate(record);
    sink(record).unwrap_or_else(|| "used, and the run failed".to_owned())
}

/// The failure of another task says nothing about the own one, for which a verdict stands: such a record is
/// shown with less confidence, but replays as before.
fn misguided(record: &mut Record) -> String {
    if record.trust < Trust::Verified {
        return harmed(record);
    }
    record.usage.reuse_count += 1;
    if record.confidence > Confidence::FLOOR {
        let lowered = record.confidence.lowered(HARMED_STEP);
        record.confidence = if lowered < Confidence::FLOOR { Confidence::FLOOR } else { lowered };
    }
    "guided another task, whose run failed; the verdict on its own task stands".to_owned()
}

fn replay_stopped(record: &mut Record, reason: &str, at_fault: bool) -> String {
    record.usage.suspended = Some(reason.to_owned());
    if !at_fault {
        return format!("its replay is suspended until a planned success: {reason}");
    }
    record.usage.failed_replays += 1;
    let harm = harmed(record);
    if record.usage.failed_replays >= FAILED_REPLAYS_TO_RETIRE {
        record.status = Status::Retired;
        return "retired after two failed heals".to_owned();
    }
    if record.status.is_quarantined() && record.status != Status::Probation || record.status == Status::Retired {
        return harm;
    }
    format!("its replay failed and is suspended until a planned success: {reason}")
}

fn reported_success(record: &mut Record, at: Timestamp) -> String {
    revive(record);
    record.trust = Trust::Verified;
    // The use itself was counted when the run finished.
    renew(record, at);
    "the caller or a verifier reported success".to_owned()
}

fn reported_failure(record: &mut Record) -> String {
    harmed(record);
    record.trust = Trust::Unverified;
    record.status = Status::Retired;
    "the caller or a verifier reported failure".to_owned()
}

fn pin(record: &mut Record) -> String {
    record.pinned = true;
    record.expires = None;
    "pinned".to_owned()
}

fn unpin(record: &mut Record, at: Timestamp) -> String {
    record.pinned = false;
    record.expires = crate::clock::days_after(at, record.kind().ttl_days());
    "unpinned".to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn rate(record: &mut Record) {
    let usage = &record.usage;
    record.success_rate = Some(usage.help as f64 / (usage.help + usage.harm).max(1) as f64);
}

/// Moves a record down when its harms call for it.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn sink(record: &mut Record) -> Option<String> {
    let usage = &record.usage;
    let (help, harm) = (usage.help, usage.harm);
    let mean = (1 + help) as f64 / (2 + help + harm) as f64;
    if record.status == Status::Retired {
        return None;
    }
    if help + harm >= USES_TO_RETIRE && mean < RATE_TO_RETIRE {
        record.status = Status::Retired;
        return Some(format!("retired: helped {help} times, harmed {harm} times"));
    }
    if usage.harms_in_a_row >= HARMS_TO_QUARANTINE {
        record.status = Status::Harmful;
        return Some(format!("harmed {} times in a row", usage.harms_in_a_row));
    }
    if record.confidence < Confidence::FLOOR && record.status != Status::Harmful {
        record.status = Status::Stale;
        return Some("confidence fell below 0.30".to_owned());
    }
    None
}

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
    let hours = now.duration_since(record.created).as_secs_f64() / 3600.0;
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

/// Whether a record may replay its own key at `now`.
///
/// # Errors
/// The reason in words why it may not.
pub fn may_replay(record: &Record, trust: ReplayTrust, now: Timestamp) -> Result<(), String> {
    let Some(procedure) = record.procedure() else {
        return Err("it holds no procedure".to_owned());
    };
    if !matches!(record.status, Status::Probation | Status::Active) {
        return Err(format!("it is {}: {}", record.status, record.status_reason));
    }
    if record.is_expired(now) {
        return Err("it has expired".to_owned());
    }
    if record.confidence < Confidence::FLOOR {
        return Err("its confidence is below 0.30".to_owned());
    }
    if let Some(reason) = &record.usage.suspended {
        return Err(format!("its replay is suspended until a planned success or a report: {reason}"));
    }
    if let Some(reason) = procedure.template.as_ref().and_then(|template| template.contradicted.as_ref()) {
        return Err(format!("it was contradicted: {reason}"));
    }
    if let Some(reason) = procedure.guide_only.first() {
        return Err(format!("it may only guide: {reason}"));
    }
    if let Some(reason) = procedure.unsettled.first() {
        return Err(format!("it may only guide until another run has made the same calls: {reason}"));
    }
    trust::is_enough(record.trust, procedure, trust)
}

#[cfg(test)]
mod tests;
