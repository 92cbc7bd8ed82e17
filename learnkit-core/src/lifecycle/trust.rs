//! Which trust, and which look at the world, a procedure needs to replay (semantics §5 and §6), and what
//! makes it confirmed. Pure: who asks whom is the engine's affair.

use serde::{Deserialize, Serialize};

use crate::Task;
use crate::config::ReplayTrust;
use crate::procedure::Procedure;
use crate::record::{Record, RunId, Status, Trust};
use crate::tool::EffectClass;

/// What shows, before the first effect of a replay, that the world is the one its procedure was learned in.
/// The same words are not the same task in another world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorldCheck {
    /// Every step is stated to only read, so there is nothing to guard.
    ReadOnly,
    /// A step that only reads comes before the first effect, and its result is compared.
    Read,
    /// The task carries a digest of its environment, which is part of its key.
    Environment,
    /// The precheck of the host passed.
    Precheck,
    /// Nothing does.
    Unchecked,
}

impl WorldCheck {
    /// What speaks for the world before anybody is asked.
    pub fn of(procedure: &Procedure, task: &Task) -> Self {
        match Self::of_procedure(procedure) {
            Self::Unchecked if task.has_environment() => Self::Environment,
            own => own,
        }
    }

    /// What the steps themselves check, whatever the task carries.
    pub fn of_procedure(procedure: &Procedure) -> Self {
        match procedure.first_effect() {
            None => Self::ReadOnly,
            Some(_) if procedure.reads_before_effects() => Self::Read,
            Some(_) => Self::Unchecked,
        }
    }

    /// The same once the precheck has passed.
    #[must_use]
    pub fn after_precheck(self) -> Self {
        if self == Self::Unchecked { Self::Precheck } else { self }
    }

    /// The check in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Read => "a read before the first effect",
            Self::Environment => "the environment digest of the task",
            Self::Precheck => "the precheck passed",
            Self::Unchecked => "unchecked",
        }
    }

    /// Whether it is enough to replay under a setting.
    ///
    /// # Errors
    /// The reason in words why it is not.
    pub fn is_enough(self, setting: ReplayTrust) -> Result<(), String> {
        if setting == ReplayTrust::Careful && self == Self::Unchecked {
            let reason = "it is unchecked: nothing is read before its first effect, and neither an environment digest nor a precheck speaks for the world";
            return Err(reason.to_owned());
        }
        Ok(())
    }
}

impl std::fmt::Display for WorldCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether a trust is enough to replay a procedure under a setting.
///
/// # Errors
/// The reason in words why it is not.
pub(super) fn is_enough(trust: Trust, procedure: &Procedure, setting: ReplayTrust) -> Result<(), String> {
    let (needed, why) = needed(procedure, setting);
    if trust >= needed {
        return Ok(());
    }
    let way_out = match needed {
        Trust::Verified => "a reported success",
        _ => "a second planned run that does the same or a reported success",
    };
    Err(format!("it is {trust} and needs {way_out}, because {why}"))
}

fn needed(procedure: &Procedure, setting: ReplayTrust) -> (Trust, &'static str) {
    let is_destructive = procedure.steps.iter().any(|step| step.effect == EffectClass::Destructive);
    match setting {
        ReplayTrust::Verified => (Trust::Verified, "the settings ask for it"),
        _ if is_destructive => (Trust::Confirmed, "it has a destructive step"),
        ReplayTrust::Careful if procedure.first_effect().is_some() => (Trust::Confirmed, "a step may change something"),
        ReplayTrust::ToolOutcome | ReplayTrust::Careful => (Trust::Unverified, "nothing is asked for"),
    }
}

/// Whether a stored procedure and the one that a planned run has just made confirm each other: another run
/// made the same calls, or had the same effects where effects are known. What was retired or did harm speaks
/// for nothing, and a run does not confirm itself.
pub(crate) fn confirms(stored: &Record, new: &Procedure, run: &RunId) -> bool {
    let Some(procedure) = stored.procedure() else { return false };
    let is_another = stored.provenance.run.as_ref() != Some(run) && procedure.source_run != *run;
    let stands = matches!(stored.status, Status::Probation | Status::Active | Status::Stale);
    stands && is_another && stored.usage.successes > 0 && does_the_same(procedure, new)
}

/// Whether another procedure of the same task, that passed and is trusted no less, changed the world otherwise:
/// then one of the two runs was wrong.
pub(crate) fn is_disputed(record: &Record, others: &[&Record]) -> bool {
    let stands = |other: &Record| matches!(other.status, Status::Probation | Status::Active | Status::Stale);
    let differs = |other: &Record| match (record.procedure(), other.procedure()) {
        (Some(own), Some(other)) => own.changes_otherwise_than(other),
        _ => false,
    };
    record.trust < Trust::Verified
        && others.iter().any(|other| stands(other) && other.trust >= record.trust && differs(other))
}

/// Whether two procedures of one task do the same as far as it can be known.
pub(crate) fn does_the_same(one: &Procedure, other: &Procedure) -> bool {
    one.has_calls_of(other) || one.has_effects_of(other)
}

#[cfg(test)]
mod tests;
