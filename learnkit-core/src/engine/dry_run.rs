//! `dry_run`: exactly what a run would call now, without an effect.

use std::sync::Arc;

use super::LearnKit;
use super::choose::Choice;
use super::execute::make;
use super::inspect::{Inspection, PlanLine};
use crate::record::RunId;
use crate::replay::{Divergence, Leave, Next, Permit, PlannedCall, Replay, is_read_only};
use crate::run::{Arguments, CallDraft, ToolTracker};
use crate::tool::{EffectClass, ToolContext, ToolManifest, ToolSet};
use crate::{Result, Task};

/// What a replay would do.
pub(super) struct Foreseen {
    pub(super) plan: Vec<PlanLine>,
    pub(super) stops: Option<Divergence>,
}

impl LearnKit {
    /// What a run of a task with these tools would call: as [`Self::inspect`], and the plan as a replay would
    /// make it now, to the byte.
    ///
    /// Calls that are stated to only read are made, so that later arguments can be told, up to the first call
    /// that may change something or needs an approval. What the result of a call that was not made has to
    /// give is [open](PlanLine::open). Nothing is changed or stored, no approval is asked for, and a precheck of
    /// the host is asked as before a replay. How long the reads take is the affair of the tools; a dropped future
    /// leaves nothing behind.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> learnkit_core::Result<()> {
    /// use learnkit_core::LearnKit;
    /// use learnkit_core::tool::ToolSet;
    ///
    /// let memory = LearnKit::builder().backend("memory:").build().await?;
    /// let would = memory.dry_run("Pay invoice 7", &ToolSet::new()).await?;
    /// for line in &would.plan {
    ///     println!("{} {} ({}{})", line.tool, line.arguments, line.effect, if line.approval { ", asks" } else { "" });
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `InvalidInput` for a blank task.
    pub async fn dry_run(&self, task: impl Into<Task> + Send, tools: &ToolSet) -> Result<Inspection> {
        let task = task.into();
        let manifest = tools.manifest();
        let run = RunId::fresh();
        let choice = self.choice_of(&task, Some(&manifest)).await?;
        let dry = DryRun { tools, manifest: &manifest, permit: self.permit(), run: &run };
        let foreseen = dry.foresee(&choice, ToolTracker::new(Arc::clone(&self.inner.clock))).await;
        Ok(self.inspection(&task, choice, foreseen).await)
    }
}

struct DryRun<'a> {
    tools: &'a ToolSet,
    manifest: &'a ToolManifest,
    permit: Permit,
    run: &'a RunId,
}

impl DryRun<'_> {
    async fn foresee(&self, choice: &Choice, tracker: ToolTracker) -> Foreseen {
        let Some(mut replay) = replay_of(choice) else { return Foreseen { plan: Vec::new(), stops: None } };
        let mut plan = Vec::new();
        loop {
            match replay.next() {
                Next::Calls(calls) if calls.iter().all(|call| self.may_make(&replay, call)) => {
                    let made = calls.iter().map(|call| PlanLine {
                        is_made: true,
                        ..plan_line(&replay, self.permit, Some(self.manifest), call)
                    });
                    plan.extend(made);
                    self.make(&calls, &tracker).await;
                    tracker.settled_from(plan.len() - calls.len()).iter().for_each(|call| replay.observe(call));
                }
                Next::Calls(_) => break,
                Next::Complete => return Foreseen { plan, stops: None },
                Next::Diverged(stops) => return Foreseen { plan, stops: Some(stops) },
            }
        }
        let (left, stops) = replay.foresee();
        plan.extend(left.iter().map(|call| plan_line(&replay, self.permit, Some(self.manifest), call)));
        Foreseen { plan, stops }
    }

    /// Whether a call changes nothing and nobody has to approve it.
    fn may_make(&self, replay: &Replay, call: &PlannedCall) -> bool {
        let tools = Some(self.manifest);
        let step = replay.procedure().steps.get(call.step);
        step.is_some_and(|step| is_read_only(step, tools) && self.permit.leave(step, tools) == Leave::Given)
    }

    async fn make(&self, calls: &[PlannedCall], tracker: &ToolTracker) {
        let made = calls.iter().map(async |call| {
            let annotations = self.manifest.annotations(&call.tool);
            let draft = CallDraft::new(&call.tool, call.arguments.clone()).with_annotations(annotations);
            let draft = draft.with_group(call.group);
            match self.tools.find(&call.tool) {
                Ok(tool) => {
                    let context = ToolContext { idempotency_key: format!("{}_{}", self.run, call.step) };
                    make(tracker, tool.as_ref(), draft, &context).await;
                }
                Err(error) => tracker.begin(draft).fail(error.to_string()),
            }
        });
        futures_util::future::join_all(made).await;
    }
}

/// What a replay would do as far as it can be told without any call.
pub(super) fn foreseen_at_rest(choice: &Choice, permit: Permit) -> Foreseen {
    let Some(mut replay) = replay_of(choice) else { return Foreseen { plan: Vec::new(), stops: None } };
    let (left, stops) = replay.foresee();
    Foreseen { plan: left.iter().map(|call| plan_line(&replay, permit, None, call)).collect(), stops }
}

fn replay_of(choice: &Choice) -> Option<Replay> {
    let procedure = choice.record.as_ref()?.procedure()?.clone();
    let replay = Replay::new(Arc::new(procedure), choice.parameters.clone(), choice.today.clone());
    Some(replay.with_secrets(choice.secrets.clone()))
}

fn plan_line(replay: &Replay, permit: Permit, tools: Option<&ToolManifest>, call: &PlannedCall) -> PlanLine {
    let step = replay.procedure().steps.get(call.step);
    PlanLine {
        tool: call.tool.clone(),
        arguments: Arguments::from_raw(call.arguments.masked()),
        effect: step.map_or(EffectClass::Unknown, |step| step.effect),
        approval: step.is_some_and(|step| permit.leave(step, tools) == Leave::Asked),
        is_made: false,
        open: call.open.clone(),
        guards: step.map_or(0, |step| step.guards.len()),
    }
}
