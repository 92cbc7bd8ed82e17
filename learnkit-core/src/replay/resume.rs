//! Going on with a replay that an earlier process began: what its journal says was made is looked at as if it had
//! just been made, and nothing of it is made again.

use std::collections::BTreeMap;

use super::{Next, PlannedCall, Replay};
use crate::run::{Arguments, JournalStep, ToolCall};

impl Replay {
    /// Looks at the steps that were made, in their order, and gives the arguments that were sent, by number: a journal
    /// holds them with secrets masked. After a divergence the steps are a planner's and are left alone.
    ///
    /// # Errors
    /// The reason, in words, why the plan cannot be gone on with.
    pub(crate) fn go_on_after<'s>(
        &mut self,
        steps: impl Iterator<Item = &'s JournalStep>,
    ) -> Result<BTreeMap<u32, Arguments>, String> {
        let mut sent = BTreeMap::new();
        for step in steps.filter(|step| step.call.parent.is_none()) {
            if self.stopped().is_some() {
                break;
            }
            let planned = match self.next() {
                Next::Calls(calls) => calls.into_iter().find(|planned| is_same(planned, step)),
                Next::Complete => None,
                Next::Diverged(_) => break,
            };
            let planned = planned.ok_or_else(|| format!("step {} was not made as it is planned now", step.number))?;
            if step.call.status.is_ok() && !step.is_whole() {
                return Err(format!("the result of step {} was not kept whole", step.number));
            }
            self.observe(&ToolCall { arguments: planned.arguments.clone(), ..step.to_call(None) });
            sent.insert(step.number, planned.arguments);
        }
        Ok(sent)
    }
}

/// Whether a step is the planned call, as far as masked arguments tell.
fn is_same(planned: &PlannedCall, step: &JournalStep) -> bool {
    let masked = || Arguments::from_raw(planned.arguments.masked());
    planned.tool == step.call.tool && step.call.arguments_cut.is_none() && masked().same_as(&step.call.arguments)
}
