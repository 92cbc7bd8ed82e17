//! Which trust a procedure needs to replay (semantics §5).

use crate::config::ReplayTrust;
use crate::procedure::Procedure;
use crate::record::Trust;
use crate::tool::EffectClass;

/// Whether a trust is enough to replay a procedure under a setting.
///
/// # Errors
/// The reason in words why it is not.
pub(super) fn is_enough(trust: Trust, procedure: &Procedure, setting: ReplayTrust) -> Result<(), String> {
    let has = |effect: EffectClass| procedure.steps.iter().any(|step| step.effect == effect);
    let only_reads = procedure.steps.iter().all(|step| step.effect == EffectClass::ReadOnly);
    let (needed, why) = match setting {
        ReplayTrust::Verified => (Trust::Verified, "the settings ask for it"),
        ReplayTrust::ToolOutcome | ReplayTrust::Careful if has(EffectClass::Destructive) => {
            (Trust::Confirmed, "it has a destructive step")
        }
        ReplayTrust::Careful if !only_reads => (Trust::Confirmed, "a step may change something"),
        ReplayTrust::ToolOutcome | ReplayTrust::Careful => (Trust::Unverified, ""),
    };
    if trust >= needed {
        return Ok(());
    }
    let way_out = match needed {
        Trust::Verified => "a reported success",
        _ => "a second planned run with the same calls or a reported success",
    };
    Err(format!("it is {trust} and needs {way_out}, because {why}"))
}
