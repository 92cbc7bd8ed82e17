//! What a host lets a replay do: which steps go without asking, which wait for an approval, which never go.

use crate::config::ReplayPolicy;
use crate::procedure::{Procedure, Step};
use crate::tool::{EffectClass, ToolManifest};

/// The policy of a host, and whether there is somebody to ask.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Permit {
    pub(crate) policy: ReplayPolicy,
    pub(crate) has_approver: bool,
}

/// What is needed before a step is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Nothing.
    Given,
    /// An approval of this very call.
    Asked,
    /// It is not to be taken, with the reason in words.
    Refused(String),
}

impl Permit {
    /// What is needed before a step is taken; `tools` says what the tools say of themselves now.
    pub(crate) fn leave(self, step: &Step, tools: Option<&ToolManifest>) -> Leave {
        let needs_approval =
            step.requires_approval || tools.is_some_and(|tools| tools.annotations(&step.tool).requires_approval);
        let tool = &step.tool;
        let why = match self.policy {
            ReplayPolicy::ReadOnly if !is_read_only(step, tools) => {
                return Leave::Refused(format!(
                    "`{tool}` is not stated to only read, and `replay_policy` is `{}`",
                    self.policy
                ));
            }
            ReplayPolicy::Ask if !needs_approval && !is_read_only(step, tools) => {
                format!("`{tool}` is not stated to only read, and `replay_policy` is `{}`", self.policy)
            }
            _ if needs_approval => format!("`{tool}` needs an approval for each call"),
            _ => return Leave::Given,
        };
        if self.has_approver {
            return Leave::Asked;
        }
        Leave::Refused(format!("{why}, but there is nobody to ask; give `Builder::approver` one who approves"))
    }

    /// Why a procedure may not be replayed with what the host allows, or nothing when it may.
    pub(crate) fn refusal(self, procedure: &Procedure, tools: Option<&ToolManifest>) -> Option<String> {
        procedure.steps.iter().enumerate().find_map(|(index, step)| match self.leave(step, tools) {
            Leave::Refused(reason) => Some(format!("step {}: {reason}", index + 1)),
            Leave::Given | Leave::Asked => None,
        })
    }
}

/// Whether a step was stated to only read when it was captured, and its tool does not say otherwise now.
pub(crate) fn is_read_only(step: &Step, tools: Option<&ToolManifest>) -> bool {
    let still = tools.and_then(|tools| tools.get(&step.tool)).map(|spec| spec.annotations.effect());
    step.effect == EffectClass::ReadOnly && still.is_none_or(|effect| effect == EffectClass::ReadOnly)
}
