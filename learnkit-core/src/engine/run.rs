//! The run as a host holds it: playbook, plan, tracker.

use std::future::Future;
use std::sync::Arc;

use super::execute::step_key;
use super::resume::Begun;
use super::session::{Decision, Session, SessionOptions, View};
use super::{LearnKit, Outcome, RunReport};
use crate::error::BoxError;
use crate::record::RunId;
use crate::replay::PlannedCall;
use crate::run::{Arguments, CallDraft, Mode, Tokens, ToolCall, ToolOutput, ToolTracker};
use crate::tool::{Tool, ToolContext};
use crate::{Error, ErrorKind, Result, Task};

/// A prepared run: what memory knows, and the tracker that records what happens. A cheap clone.
#[derive(Debug, Clone)]
pub struct Run {
    session: Arc<Session>,
}

impl LearnKit {
    /// Prepares a run of a task: looks the task up and composes the playbook.
    ///
    /// Memory that cannot be read gives a cold run with a warning in its report. A run of this id that did not
    /// finish is gone on with: [`Run::call`] gives back what is done.
    ///
    /// # Errors
    /// As for [`LearningAgent::call_with`](super::LearningAgent::call_with); `Conflict` also when the run of this id
    /// is finished: [`LearnKit::run`] has what came of it.
    pub async fn prepare_run(&self, task: impl Into<Task>, options: SessionOptions) -> Result<Run> {
        let session = match Box::pin(self.begin(task.into(), options)).await? {
            Begun::Session(session) => *session,
            Begun::Finished(report) => {
                let message = "the run of this id is finished; look at it with `learnkit runs show`, or use another id";
                return Err(Error::new(ErrorKind::Conflict, message).with_context("run_id", report.run_id));
            }
        };
        session.decide(&View::default()).await;
        Ok(Run { session: Arc::new(session) })
    }

    /// Finishes a prepared run: gate, learn, account. A second call returns the first report.
    pub async fn finalize_run(&self, run: &Run, outcome: &Outcome) -> RunReport {
        run.session.finish(outcome).await
    }
}

impl Run {
    pub(super) fn of(session: Session) -> Self {
        Self { session: Arc::new(session) }
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        self.session.run_id()
    }

    /// The task.
    pub fn task(&self) -> &Task {
        self.session.task()
    }

    /// How the run is planned so far; a replay that stopped is a guided run.
    pub fn mode(&self) -> Mode {
        self.session.mode()
    }

    /// Why.
    pub fn reason(&self) -> String {
        self.session.reason()
    }

    /// The block to put into the planner's prompt, after a hand-over with the calls that are done.
    pub fn playbook(&self) -> String {
        self.session.playbook()
    }

    /// The whole plan of a replay; empty in a planned run. [`Self::next_step`] takes it step by step.
    pub fn plan_steps(&self) -> Vec<PlannedCall> {
        self.session.plan_steps()
    }

    /// The next proven step, checked against the results so far; absent when there is none, or when
    /// the replay stopped and the planner has to take over ([`Self::mode`] says which).
    ///
    /// ```no_run
    /// # async fn example(run: learnkit_core::engine::Run) -> Result<(), learnkit_core::BoxError> {
    /// while let Some(step) = run.next_step().await {
    ///     let output = format!("result of {}", step.tool);
    ///     run.record(step.tool, step.arguments, output);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_step(&self) -> Option<PlannedCall> {
        if self.session.plan_steps().is_empty() {
            return None;
        }
        match self.session.decide(&View::default()).await {
            Decision::Replay(calls) => calls.into_iter().next(),
            _ => None,
        }
    }

    /// The log of calls.
    pub fn tracker(&self) -> &ToolTracker {
        self.session.tracker()
    }

    /// The calls so far.
    pub fn calls(&self) -> Vec<ToolCall> {
        self.session.tracker().calls()
    }

    /// Records a call after the fact; whether it worked is read off the result.
    pub fn record(&self, tool: impl Into<String>, arguments: impl Into<Arguments>, output: impl Into<ToolOutput>) {
        self.session.tracker().record(tool, arguments, output);
    }

    /// Makes a call and records it, its intent and outcome in the journal of the run too. A dropped future is
    /// recorded as a failed call, and is in doubt where the run is retried.
    ///
    /// A call that was made before a crash, or by a replay that stopped, is not made again: its stored result is given
    /// back, once for each time that it was made, with secrets masked and cut where it was too long to keep.
    ///
    /// # Errors
    /// The call's own error, after it was recorded. LearnKit's own `Conflict`, without a call, when another process
    /// has gone on with this run.
    pub async fn call<F, T, E>(
        &self,
        tool: impl Into<String>,
        arguments: impl Into<Arguments>,
        work: F,
    ) -> std::result::Result<T, E>
    where
        F: Future<Output = std::result::Result<T, E>> + Send,
        T: Clone + Into<ToolOutput> + From<ToolOutput>,
        E: std::fmt::Display + From<Error>,
    {
        let draft = CallDraft::new(tool, arguments);
        if let Some(output) = self.session.done_before(draft.tool(), draft.arguments()) {
            return Ok(output.into());
        }
        let key = step_key(&self.session, &draft, 0);
        match self.session.make(draft, key, work, |_| None).await {
            Ok(result) => result,
            Err(not_made) => Err(not_made.into()),
        }
    }

    /// Makes a call of a tool as [`Self::call`] does; without a key of the caller's own the tool is given the run's.
    pub(crate) async fn call_tool(
        &self,
        tool: &dyn Tool,
        arguments: &Arguments,
        context: &ToolContext,
    ) -> std::result::Result<ToolOutput, BoxError> {
        if let Some(output) = self.session.done_before(tool.name(), arguments) {
            return Ok(output);
        }
        let draft = CallDraft::new(tool.name(), arguments.clone()).with_annotations(tool.annotations());
        let key = step_key(&self.session, &draft, 0);
        let mut context = context.clone();
        if context.idempotency_key.is_empty() {
            context.idempotency_key.clone_from(&key.key);
        }
        let work = tool.call(arguments, &context);
        self.session.make(draft, key, work, |output| tool.success_when(output)).await?
    }

    /// Counts one call of the planner; without any count the report leaves the figure out.
    pub fn planning_call(&self) {
        self.session.planning_call();
    }

    /// See [`Session::planner_tokens`].
    pub fn planner_tokens(&self, tokens: Tokens) {
        self.session.planner_tokens(tokens);
    }
}
