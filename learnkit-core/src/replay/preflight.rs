//! Preflight: the whole plan is checked before its first effect.

use crate::Task;
use crate::procedure::Procedure;
use crate::tool::{EffectClass, ToolManifest};

/// Why a procedure cannot be replayed now, or nothing when it can.
///
/// Where the host does not say which tools there are (`None`), that part is not checked.
pub(crate) fn preflight(procedure: &Procedure, tools: Option<&ToolManifest>, task: &Task) -> Option<String> {
    if procedure.steps.is_empty() {
        return Some("it has no steps".to_owned());
    }
    if let Err(reason) = procedure.follows(task) {
        return Some(format!("its parameter values are other ones: {reason}"));
    }
    if let Some(step) = procedure.steps.iter().find(|step| step.requires_approval) {
        return Some(format!("`{}` needs an approval for each call", step.tool));
    }
    let tools = tools?;
    procedure.steps.iter().enumerate().find_map(|(index, step)| {
        let Some(annotations) = tools.get(&step.tool) else {
            return Some(format!("the tool `{}` of step {} is gone", step.tool, index + 1));
        };
        if annotations.requires_approval {
            return Some(format!("`{}` needs an approval for each call", step.tool));
        }
        let destructive = annotations.effect() == EffectClass::Destructive && step.effect != EffectClass::Destructive;
        destructive.then(|| format!("the tool `{}` of step {} is destructive now", step.tool, index + 1))
    })
}
