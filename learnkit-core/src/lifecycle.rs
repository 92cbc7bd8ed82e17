//! The life of a record: one state machine without I/O, `(state, event) -> (state, reason)`.
//!
//! Every number is from `semantics.md` §8. Nothing else in LearnKit moves a status or confidence.

mod age;
mod blame;
mod heal;
mod merge;
mod trust;

use jiff::Timestamp;

use crate::config::ReplayTrust;
use crate::record::{Confidence, Record, RecordId, Status, Trust};

pub use age::{Maintained, MaintenancePlan, maintain, may_purge};
pub(crate) use blame::blame;
pub(crate) use heal::{heal, is_about};
pub(crate) use merge::absorb;
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
/// The heal budget: the first stopped replay, and two failed heals after it.
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
    /// It says what another record says, which counts for both.
    Merged {
        /// The other record.
        into: RecordId,
    },
    /// Somebody brought its last good version back.
    RolledBack,
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
        Event::Harmed => harmed(record, at),
        Event::Misguided => misguided(record, at),
        Event::ReplayStopped { reason, at_fault: false } => suspended(record, reason),
        Event::ReplayStopped { reason, at_fault: true } => replay_failed(record, reason, at),
        Event::Contradicted { reason } => format!("contradicted, and never replays again: {reason}"),
        Event::ReportedSuccess => reported_success(record, at),
        Event::ReportedFailure => reported_failure(record, at),
        Event::Superseded { by } => retired(record, format!("superseded by {by}")),
        Event::Merged { into } => retired(record, format!("merged into {into}, which says the same")),
        Event::RolledBack => heal::roll_back(record, at),
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
        record.confidence = record.confidence.max(Confidence::START);
        record.success_rate = None;
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

/// What was known of the old calls is not known of the new ones; the old ones stay as the last good version.
fn moved_on(record: &mut Record, trust: Trust, at: Timestamp) -> String {
    heal::keep_last_good(record);
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

fn harmed(record: &mut Record, at: Timestamp) -> String {
    harm(record, at).unwrap_or_else(|| "used, and the run failed".to_owned())
}

/// Counts a harm; the reason when it moves the record down.
fn harm(record: &mut Record, at: Timestamp) -> Option<String> {
    record.usage.reuse_count += 1;
    record.usage.harm += 1;
    record.usage.harms_in_a_row += 1;
    record.confidence = record.confidence.lowered(HARMED_STEP);
    rate(record);
    sink(record, at)
}

/// The failure of another task says nothing about the own one, for which a verdict stands: such a record is
/// shown with less confidence, but replays as before.
fn misguided(record: &mut Record, at: Timestamp) -> String {
    if record.trust < Trust::Verified {
        return harmed(record, at);
    }
    record.usage.reuse_count += 1;
    if record.confidence > Confidence::FLOOR {
        let lowered = record.confidence.lowered(HARMED_STEP);
        record.confidence = if lowered < Confidence::FLOOR { Confidence::FLOOR } else { lowered };
    }
    "guided another task, whose run failed; the verdict on its own task stands".to_owned()
}

fn suspended(record: &mut Record, reason: &str) -> String {
    record.usage.suspended = Some(reason.to_owned());
    format!("its replay is suspended until a planned success: {reason}")
}

fn replay_failed(record: &mut Record, reason: &str, at: Timestamp) -> String {
    suspended(record, reason);
    record.usage.failed_replays += 1;
    let sunk = harm(record, at);
    if record.usage.failed_replays >= FAILED_REPLAYS_TO_RETIRE {
        return give_up(record, "retired after two failed heals".to_owned(), Status::Retired, at);
    }
    let sunk = sunk.filter(|_| record.status != Status::Stale);
    sunk.unwrap_or_else(|| format!("its replay failed and is suspended until a planned success: {reason}"))
}

fn retired(record: &mut Record, reason: String) -> String {
    record.status = Status::Retired;
    reason
}

/// Takes a record out of use, unless an earlier version of it worked and was never shown wrong: then that
/// one comes back.
fn give_up(record: &mut Record, reason: String, status: Status, at: Timestamp) -> String {
    if record.status == Status::Retired {
        return reason;
    }
    heal::fall_back(record, &reason, at).unwrap_or_else(|| {
        record.status = status;
        reason
    })
}

fn reported_success(record: &mut Record, at: Timestamp) -> String {
    revive(record);
    record.trust = Trust::Verified;
    // The use itself was counted when the run finished.
    renew(record, at);
    "the caller or a verifier reported success".to_owned()
}

/// Nobody can tell which of the versions it speaks of, so that none of them comes back.
fn reported_failure(record: &mut Record, at: Timestamp) -> String {
    heal::forget_last_good(record);
    harmed(record, at);
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
    let (help, uses) = (record.usage.help, record.usage.help + record.usage.harm);
    record.success_rate = (uses > 0).then(|| help as f64 / uses as f64);
}

/// Moves a record down when its harms call for it.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn sink(record: &mut Record, at: Timestamp) -> Option<String> {
    let usage = &record.usage;
    let (help, harm) = (usage.help, usage.harm);
    let mean = (1 + help) as f64 / (2 + help + harm) as f64;
    if record.status == Status::Retired {
        return None;
    }
    if help + harm >= USES_TO_RETIRE && mean < RATE_TO_RETIRE {
        return Some(give_up(
            record,
            format!("retired: helped {help} times, harmed {harm} times"),
            Status::Retired,
            at,
        ));
    }
    if usage.harms_in_a_row >= HARMS_TO_QUARANTINE {
        let reason = format!("harmed {} times in a row", usage.harms_in_a_row);
        return Some(give_up(record, reason, Status::Harmful, at));
    }
    if record.confidence < Confidence::FLOOR && record.status != Status::Harmful {
        record.status = Status::Stale;
        return Some("confidence fell below 0.30".to_owned());
    }
    None
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
    if record.usage.failed_replays >= FAILED_REPLAYS_TO_RETIRE {
        return Err("its heal budget is used up".to_owned());
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
