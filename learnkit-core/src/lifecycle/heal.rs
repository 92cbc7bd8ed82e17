//! Versions of a procedure: other calls take the place of the ones before, and the last good ones come back
//! when the new ones fail for good (semantics §8). Pure: which run healed what is the engine's affair.

use jiff::Timestamp;

use super::{Event, apply, rate};
use crate::procedure::Procedure;
use crate::record::{Confidence, Content, History, LastGood, Record, Status, Trust, VersionChange};
use crate::secret::MASK;

/// Puts other calls that solved the task in the place of the record's. What is out of use stays so.
pub(crate) fn heal(record: &mut Record, fresh: Procedure, trust: Trust, at: Timestamp) -> String {
    let why = apply(record, &Event::MovedOn(trust), at);
    set_procedure(record, fresh, &why, at);
    why
}

/// Whether what a run of this version showed is about the calls that the record has now.
pub(crate) fn is_about(record: &Record, version: Option<u32>) -> bool {
    let since = record.history.as_ref().and_then(|history| history.changes.last()).map(|change| change.version);
    since.is_none_or(|since| version.is_some_and(|version| version >= since))
}

/// Keeps what the record has now, unless a replay of it failed or it is out of use.
pub(super) fn keep_last_good(record: &mut Record) {
    let is_good = record.usage.failed_replays == 0 && !matches!(record.status, Status::Retired | Status::Harmful);
    let Some(procedure) = record.procedure().filter(|procedure| is_good && procedure.template.is_none()) else {
        return;
    };
    let good = LastGood {
        procedure: procedure.clone(),
        trust: record.trust,
        help: record.usage.help,
        harm: record.usage.harm,
    };
    history(record).last_good = Some(good);
}

pub(super) fn forget_last_good(record: &mut Record) {
    if let Some(history) = &mut record.history {
        history.last_good = None;
    }
}

/// The last good version takes the place of one that failed for good. It was left because the world had
/// changed, so that it replays only after a planned success or a report.
pub(super) fn fall_back(record: &mut Record, why: &str, at: Timestamp) -> Option<String> {
    let reason = bring_back(record, why, at)?;
    record.usage.suspended = Some(reason.clone());
    record.status = if record.confidence < Confidence::FLOOR { Status::Stale } else { Status::Probation };
    Some(reason)
}

/// Somebody wants the last good version back, and it may replay again. What is retired or did harm stays so.
pub(super) fn roll_back(record: &mut Record, at: Timestamp) -> String {
    if matches!(record.status, Status::Retired | Status::Harmful) {
        return format!("it is {}, so that no version of it comes back", record.status);
    }
    let Some(reason) = bring_back(record, "somebody asked for it", at) else {
        return "it has no earlier version that worked".to_owned();
    };
    record.usage.suspended = None;
    reason
}

fn bring_back(record: &mut Record, why: &str, at: Timestamp) -> Option<String> {
    let failed = record.procedure()?.version;
    let good = record.history.as_mut()?.last_good.take()?;
    let reason = format!("version {} came back in the place of version {failed}: {why}", good.procedure.version);
    record.trust = good.trust;
    // What the other calls did is not charged to these.
    record.usage.help = good.help;
    record.usage.harm = good.harm;
    record.usage.harms_in_a_row = 0;
    record.usage.failed_replays = 0;
    rate(record);
    let mut procedure = Procedure { version: failed + 1, ..good.procedure };
    // What was found to be a secret since then is not sent, and neither is what stands in its place.
    if procedure.steps.iter().any(|step| step.arguments.raw().contains(MASK)) {
        procedure.guide_only.push("a secret was masked in it while another version was in use".to_owned());
    }
    set_procedure(record, procedure, &reason, at);
    Some(reason)
}

fn set_procedure(record: &mut Record, procedure: Procedure, why: &str, at: Timestamp) {
    let change =
        VersionChange { version: procedure.version, at, run: procedure.source_run.clone(), why: why.to_owned() };
    if let Content::Skill(skill) = &mut record.content {
        skill.procedure = Some(procedure);
        history(record).note(change);
    }
}

fn history(record: &mut Record) -> &mut History {
    record.history.get_or_insert_default()
}
