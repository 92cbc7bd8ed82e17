//! Preflight: the whole plan is checked before its first effect.

use crate::Task;
use crate::procedure::{ContractChange, Procedure, Today};
use crate::run::Arguments;
use crate::tool::{EffectClass, ToolManifest};

/// Why a procedure cannot be replayed now, or nothing when it can.
///
/// Where the host does not say which tools there are (`None`), that part is not checked.
pub(crate) fn preflight(
    procedure: &Procedure,
    tools: Option<&ToolManifest>,
    task: &Task,
    today: &Today,
) -> Option<String> {
    if procedure.steps.is_empty() {
        return Some("it has no steps".to_owned());
    }
    if let Err(reason) = procedure.follows(task) {
        return Some(format!("its parameter values are other ones: {reason}"));
    }
    let unbound = procedure.steps.iter().enumerate().find_map(|(index, step)| {
        let reason = step.bound_to_task(task.parameters(), today).err()?;
        Some(format!("step {} (`{}`) cannot be filled: {reason}", index + 1, step.tool))
    });
    if unbound.is_some() {
        return unbound;
    }
    broken_by(procedure, tools?)
}

/// Why these tools cannot carry a procedure out, naming the tool and what changed.
pub(crate) fn broken_by(procedure: &Procedure, tools: &ToolManifest) -> Option<String> {
    let unfit = procedure.steps.iter().enumerate().find_map(|(index, step)| {
        let Some(spec) = tools.get(&step.tool) else {
            return Some(format!("the tool `{}` of step {} is gone", step.tool, index + 1));
        };
        let destructive =
            spec.annotations.effect() == EffectClass::Destructive && step.effect != EffectClass::Destructive;
        destructive.then(|| format!("the tool `{}` of step {} is destructive now", step.tool, index + 1))
    });
    unfit.or_else(|| broken_contract(procedure, tools))
}

/// The first change of a tool's contract that the procedure does not survive.
fn broken_contract(procedure: &Procedure, tools: &ToolManifest) -> Option<String> {
    procedure.contracts.iter().find_map(|(tool, contract)| {
        let index = procedure.steps.iter().position(|step| step.tool == *tool)?;
        let changes = contract.changes(tools.get(tool)?);
        let change = changes.iter().find(|change| blocks(change, procedure.arguments_of(tool)))?;
        Some(format!("the tool `{tool}` of step {} changed: {change}", index + 1))
    })
}

/// Whether a change of a tool blocks calls with these arguments: also a new optional field that they give
/// already, because it meant nothing then.
pub(crate) fn blocks<'a>(change: &ContractChange, mut arguments: impl Iterator<Item = &'a Arguments>) -> bool {
    let is_given = |field: &str| {
        arguments.any(|arguments| {
            let keys = arguments.json().map(|json| json.keys()).unwrap_or_default();
            keys.values().any(|keys| keys.contains(field))
        })
    };
    change.blocks() || change.added_field().is_some_and(is_given)
}
