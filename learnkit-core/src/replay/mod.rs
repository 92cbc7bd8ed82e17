//! Checked replay: a procedure is carried out step by step, and stops at the first divergence.
//!
//! Pure: it plans and checks, the engine's callers execute. Not here: which record replays
//! ([`crate::lifecycle::may_replay`]) and what happens after a stop ([`crate::engine`]).

mod answer;
mod each;
mod foresee;
mod handover;
mod permit;
mod preflight;
mod rehearse;
mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use answer::{Fresh, recorded_answer};
pub use handover::{DeclinedCall, render_done};
pub(crate) use permit::{Leave, Permit, is_read_only};
pub(crate) use preflight::{blocks, broken_by, preflight};
pub(crate) use rehearse::Recorded;
use serde::{Deserialize, Serialize};

use crate::procedure::{Procedure, Said, Sources, Step, Supplied, Today};
use crate::run::{Arguments, CallStatus, ToolCall};
use crate::secret::Secrets;
use crate::tool::ToolManifest;

/// A call that memory plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    /// The index of the step in the procedure, from 0.
    pub step: usize,
    /// The tool.
    pub tool: String,
    /// The arguments, to the letter.
    pub arguments: Arguments,
    /// Calls with one number may run side by side.
    pub group: Option<u32>,
    /// Arguments, as JSON pointers, that an earlier result or the host's secrets have yet to give; what stands there is what was
    /// recorded and is not to be sent. Empty in what [`Session::decide`](crate::engine::Session::decide) plans.
    pub open: Vec<String>,
}

/// Why a replay stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Divergence {
    /// The index of the step, from 0.
    pub step: usize,
    /// Why, in words.
    pub reason: String,
    /// What it says of the procedure.
    pub cause: StopCause,
}

/// What the stop of a replay says of its procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// A call failed, or gave what was never seen: the procedure is at fault.
    Failed,
    /// The world, the tools or the plan of the host are other ones now; its replay waits for a planned success.
    Changed,
    /// The host did not let a call be made, or it could not be written down; that says nothing.
    Declined,
}

impl StopCause {
    /// The cause in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Changed => "changed",
            Self::Declined => "declined",
        }
    }
}

impl Divergence {
    /// Whether the procedure failed.
    pub fn is_at_fault(&self) -> bool {
        self.cause == StopCause::Failed
    }
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "replay stopped at step {}: {}", self.step + 1, self.reason)
    }
}

/// What comes next in a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// Make these calls.
    Calls(Vec<PlannedCall>),
    /// Every step is done.
    Complete,
    /// Stop.
    Diverged(Divergence),
}

/// A replay under way.
#[derive(Debug)]
pub(crate) struct Replay {
    procedure: Arc<Procedure>,
    /// The procedure with one call for each element in place of the loops that were come to.
    plan: Arc<Procedure>,
    /// The step of the procedure that each step of the plan is.
    origin: Vec<usize>,
    /// Whether a list had another length than it was recorded with.
    is_resized: bool,
    /// The parameters of the task.
    parameters: BTreeMap<String, String>,
    /// The day, looked up once: a replay over midnight stays one task.
    today: Today,
    results: crate::procedure::Results,
    fresh: Vec<Option<Fresh>>,
    done: Vec<bool>,
    warnings: Vec<String>,
    /// How many calls of the run it has looked at.
    looked_at: usize,
    /// Which of them were its own, whether they worked or not, by their place in the run.
    made: Vec<usize>,
    /// The step that was made and gave what was never seen.
    odd: Option<usize>,
    stopped: Option<Divergence>,
    /// The secrets that the host supplied.
    secrets: Supplied,
}

impl Replay {
    /// A replay that has not begun, for a task with these parameters that is asked today.
    pub(crate) fn new(procedure: Arc<Procedure>, parameters: BTreeMap<String, String>, today: Today) -> Self {
        let steps = procedure.steps.len();
        Self {
            plan: Arc::clone(&procedure),
            procedure,
            origin: (0..steps).collect(),
            is_resized: false,
            parameters,
            today,
            results: crate::procedure::Results::default(),
            fresh: vec![None; steps],
            done: vec![false; steps],
            warnings: Vec::new(),
            looked_at: 0,
            made: Vec::new(),
            odd: None,
            stopped: None,
            secrets: Supplied::new(),
        }
    }

    /// The same with the secrets that it takes.
    pub(crate) fn with_secrets(self, secrets: Supplied) -> Self {
        Self { secrets, ..self }
    }

    /// The secrets that the host supplied for it.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add(self.secrets.values());
        secrets
    }

    /// The procedure.
    pub(crate) fn procedure(&self) -> &Procedure {
        &self.procedure
    }

    /// The parameters of the task.
    pub(crate) fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// The day of the task.
    pub(crate) fn today(&self) -> &Today {
        &self.today
    }

    /// Stops before the next step for a reason that is no fault of the procedure.
    pub(crate) fn halt(&mut self, reason: &str) {
        if self.stopped.is_none() {
            let next = self.done.iter().position(|done| !done).unwrap_or(self.done.len());
            self.stop(next, reason.to_owned(), StopCause::Declined);
        }
    }

    /// Every step as a planned call, see [`plan_of`].
    pub(crate) fn plan(&self) -> Vec<PlannedCall> {
        plan_of(&self.procedure, &self.parameters, &self.today)
    }

    /// How many steps are done.
    pub(crate) fn done_count(&self) -> usize {
        self.done.iter().filter(|done| **done).count()
    }

    /// The calls of the run that were its own, by their places.
    pub(crate) fn made(&self) -> &[usize] {
        &self.made
    }

    /// How many calls the plan has now.
    pub(crate) fn planned_count(&self) -> usize {
        self.done.len()
    }

    /// Whether every step is done.
    pub(crate) fn is_complete(&self) -> bool {
        self.done.iter().all(|done| *done)
    }

    /// Why it stopped, if it did.
    pub(crate) fn stopped(&self) -> Option<&Divergence> {
        self.stopped.as_ref()
    }

    /// Whether a step that is not done makes this call: then it is wanted once more.
    pub(crate) fn has_open(&self, tool: &str, arguments: &Arguments) -> bool {
        let open = self.plan.steps.iter().enumerate().filter(|(index, step)| {
            step.tool == tool && self.done.get(*index) == Some(&false) && self.odd != Some(*index)
        });
        open.map(|(_, step)| step).any(|step| self.bound(step).is_ok_and(|own| own.same_as(arguments)))
    }

    /// Differences that nothing uses.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The next step or parallel group, its guards checked first.
    pub(crate) fn next(&mut self) -> Next {
        if let Some(divergence) = &self.stopped {
            return Next::Diverged(divergence.clone());
        }
        let first = match self.come_to() {
            Ok(Some(first)) => first,
            Ok(None) => return Next::Complete,
            Err(divergence) => return Next::Diverged(divergence),
        };
        let plan = Arc::clone(&self.plan);
        let batch = batch_of(&plan.steps, first);
        let mut calls = Vec::new();
        for index in batch.filter(|index| self.done.get(*index) == Some(&false)) {
            let Some(step) = plan.steps.get(index) else { continue };
            match self.bound(step) {
                Ok(arguments) => calls.push(planned(step, self.origin_of(index), arguments)),
                Err(reason) => return Next::Diverged(self.stop(index, reason, StopCause::Changed)),
            }
        }
        Next::Calls(calls)
    }

    /// The arguments of a step as the results so far give them.
    fn bound(&self, step: &Step) -> Result<Arguments, String> {
        let Self { results, parameters, today, secrets, .. } = self;
        match step.guards.iter().find_map(|guard| results.broken(guard)) {
            Some(reason) => Err(reason),
            None => step.bound(&Sources { results, parameters, today, secrets }),
        }
    }

    /// Checks a call that the host made against the plan.
    pub(crate) fn observe(&mut self, call: &ToolCall) {
        self.looked_at += 1;
        // Nested calls are made by their outer call, and a later user turn is another task.
        if self.stopped.is_some() || call.parent.is_some() || call.turn > 0 {
            return;
        }
        let Ok(first) = self.come_to() else { return };
        let plan = Arc::clone(&self.plan);
        let Some(first) = first else {
            self.stop(plan.steps.len(), format!("`{}` was called after the last step", call.tool), StopCause::Changed);
            return;
        };
        let open = batch_of(&plan.steps, first).filter(|index| self.done.get(*index) == Some(&false));
        let same_tool = open.filter_map(|index| Some((index, plan.steps.get(index)?)));
        let same_tool: Vec<(usize, &Step)> = same_tool.filter(|(_, step)| step.tool == call.tool).collect();
        for (index, step) in &same_tool {
            match self.bound(step) {
                Ok(arguments) if arguments.same_as(&call.arguments) => return self.check(*index, step, call),
                // A host that records after the fact has sent some value already; the run goes on as planned anew.
                Err(reason) => return drop(self.stop(*index, reason, StopCause::Changed)),
                Ok(_) => {}
            }
        }
        self.stop(first, format!("`{}` was called instead of the planned call", call.tool), StopCause::Changed);
    }

    fn check(&mut self, index: usize, step: &Step, call: &ToolCall) {
        self.made.push(self.looked_at - 1);
        if let CallStatus::Failed { reason } = &call.status {
            let reason = crate::run::short_reason(reason);
            let doubt = if call.is_in_doubt() { "; its outcome is not known" } else { "" };
            self.stop(index, format!("`{}` failed: {reason}{doubt}", call.tool), StopCause::Failed);
            return;
        }
        let plan = Arc::clone(&self.plan);
        let fresh = Arc::new(call.output.to_json());
        let same_text = crate::hash::sha256(call.output.as_text().as_bytes()) == step.result.sha256;
        let may_be_empty = each::empty_list(index, &fresh, &plan).map(|list| step.shape.without_elements_of(list));
        let shape = may_be_empty.as_ref().unwrap_or(&step.shape);
        if let Some(reason) = shape.divergence(&fresh) {
            self.odd = Some(index);
            self.stop(index, format!("`{}`: {reason}", call.tool), StopCause::Failed);
            return;
        }
        if let Some(drift) = step.shape.drift(&fresh) {
            self.warnings.push(format!("step {} (`{}`): {drift}", index + 1, call.tool));
        }
        self.results.set(index, Said::of(&fresh, call.output.as_text().len()));
        if let (Some(done), Some(place)) = (self.done.get_mut(index), self.fresh.get_mut(index)) {
            *done = true;
            *place = Some(Fresh { json: fresh, same_text });
        }
    }

    /// Stops before the next step where the tools of the host are not those of the procedure any more.
    pub(crate) fn check_tools(&mut self, tools: &ToolManifest) {
        let next = self.done.iter().position(|done| !done);
        if let (None, Some(next)) = (&self.stopped, next)
            && let Some(reason) = broken_by(&self.procedure, tools)
        {
            self.stop(next, reason, StopCause::Changed);
        }
    }

    /// Stops before a step that the host does not let be made.
    pub(crate) fn decline(&mut self, step: usize, reason: String) {
        self.stopped.get_or_insert(Divergence { step, reason, cause: StopCause::Declined });
    }

    /// The step of the procedure that a step of the plan is.
    fn origin_of(&self, step: usize) -> usize {
        self.origin.get(step).copied().unwrap_or(self.procedure.steps.len())
    }

    fn stop(&mut self, step: usize, mut reason: String, cause: StopCause) -> Divergence {
        // A tool may say what it was sent.
        self.secrets().scrub(&mut reason);
        let divergence = Divergence { step: self.origin_of(step), reason, cause };
        self.stopped = Some(divergence.clone());
        divergence
    }

    /// The recorded answer, when every result equals the recorded one (semantics §6) and it answers for the
    /// same parameters and dates.
    pub(crate) fn recorded_answer(&self) -> Option<&str> {
        let Self { plan, parameters, today, .. } = self;
        let is_same = plan.parameters == *parameters && plan.steps.iter().all(|step| step.is_of_day(today));
        (is_same && !self.is_resized).then(|| recorded_answer(plan, &self.fresh)).flatten()
    }
}

/// What a procedure would have made of a task that a planner solved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Would {
    /// The same calls.
    Same,
    /// It would have handed over before a call that differs.
    Stop,
    /// Other calls: the reason in words.
    Differ(String),
}

/// Lets a replay look at the calls of a planned run, which were kept in a procedure of its own.
pub(crate) fn would_make<'c>(mut replay: Replay, calls: impl IntoIterator<Item = &'c ToolCall>) -> Would {
    if let Some(other) = leaves(&mut replay, calls) {
        return other;
    }
    let steps = replay.plan.steps.len();
    match (replay.stopped(), replay.done_count()) {
        (Some(_), _) => Would::Stop,
        (None, done) if done == steps => Would::Same,
        (None, done) => Would::Differ(format!("a planned run was done after {done} of its {steps} steps")),
    }
}

/// How a replay leaves the way of recorded calls, if it does.
fn leaves<'c>(replay: &mut Replay, calls: impl IntoIterator<Item = &'c ToolCall>) -> Option<Would> {
    for call in calls {
        match replay.next() {
            Next::Calls(planned) => {
                let is_planned = |own: &PlannedCall| own.tool == call.tool && own.arguments.same_as(&call.arguments);
                if !planned.iter().any(is_planned) {
                    let tool = &call.tool;
                    return Some(Would::Differ(format!("a planned run called `{tool}` otherwise than it would have")));
                }
            }
            Next::Complete => {
                return Some(Would::Differ(format!("a planned run called `{}` after its last step", call.tool)));
            }
            Next::Diverged(_) => return Some(Would::Stop),
        }
        replay.observe(call);
    }
    None
}

/// The step and the steps after it that ran side by side with it.
fn batch_of(steps: &[Step], first: usize) -> std::ops::Range<usize> {
    let group = steps.get(first).and_then(|step| step.group);
    let start = match group {
        Some(_) => steps.iter().take(first).rposition(|step| step.group != group).map_or(0, |before| before + 1),
        None => first,
    };
    let same = steps.iter().skip(first).take_while(|step| group.is_some() && step.group == group).count();
    start..first + same.max(1)
}

fn planned(step: &Step, index: usize, arguments: Arguments) -> PlannedCall {
    PlannedCall { step: index, tool: step.tool.clone(), arguments, group: step.group, open: Vec::new() }
}

/// Every step of a procedure as planned calls, for hosts that carry out plans themselves. What an earlier
/// result has to give is shown as it was recorded, and named as open.
pub(crate) fn plan_of(procedure: &Procedure, parameters: &BTreeMap<String, String>, today: &Today) -> Vec<PlannedCall> {
    let steps = procedure.steps.iter().enumerate();
    let plan = steps.map(|(index, step)| {
        // Preflight refuses what cannot be bound; such values are not to be sent either.
        let (arguments, mut open) = step.bound_to_task(parameters, today).unwrap_or_else(|_| {
            (step.arguments.clone(), step.slots.iter().map(|slot| slot.argument.clone()).collect())
        });
        open.extend(procedure.proven_argument(index).filter(|own| !open.contains(own)));
        PlannedCall { open, ..planned(step, index, arguments) }
    });
    plan.collect()
}
