//! `run_react_agent`: plans with the caller's planner, replays what is proven.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::execute::{execute, execute_planned};
use super::resume::Begun;
use super::session::{Decision, Session, SessionOptions, View};
use super::{LearnKit, Outcome, RunReport};
use crate::error::BoxError;
use crate::record::RunId;
use crate::run::{Arguments, CallDraft, Tokens, ToolCall};
use crate::tool::{ToolManifest, ToolSet};
use crate::{Error, ErrorKind, Result, Task};

/// A call that a planner asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRequest {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Arguments,
}

impl ToolRequest {
    /// Asks for a call.
    pub fn new(tool: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self { tool: tool.into(), arguments: arguments.into() }
    }
}

/// What a planner is given.
#[derive(Clone, PartialEq)]
pub struct PlanningTurn<'a> {
    /// The task.
    pub task: &'a Task,
    /// The playbook and, after a hand-over, the calls that are done; may be empty.
    pub playbook: String,
    /// Every call of the run so far.
    pub history: Vec<ToolCall>,
    /// Only an answer is asked for, no call.
    pub answer_only: bool,
}

/// What a planner says.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct PlannerReply {
    /// Calls to make, side by side when there are several.
    pub tool_calls: Vec<ToolRequest>,
    /// The final answer; calls beside it are not made.
    pub answer: Option<String>,
    /// What saying it took, where the planner knows.
    pub tokens: Option<Tokens>,
}

impl PlannerReply {
    /// Asks for one call.
    pub fn call(tool: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self { tool_calls: vec![ToolRequest::new(tool, arguments)], ..Self::default() }
    }

    /// Gives the final answer.
    pub fn answer(answer: impl Into<String>) -> Self {
        Self { answer: Some(answer.into()), ..Self::default() }
    }

    /// Adds what saying it took.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = Some(tokens);
        self
    }
}

/// Whatever decides the next call, usually an LLM. Called by [`run_react_agent`], once per step.
#[async_trait]
pub trait Planner: Send + Sync {
    /// Plans the next step.
    ///
    /// # Errors
    /// Whatever went wrong; the run ends with it and nothing is learned of it.
    async fn plan(&self, turn: &PlanningTurn<'_>) -> std::result::Result<PlannerReply, BoxError>;
}

/// How [`run_react_agent`] runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactOptions {
    /// Tools that only look around; their calls are dropped unless a later step needs them.
    pub exploration_tools: BTreeSet<String>,
    /// At most so many planning calls.
    pub max_steps: u32,
    /// The caller's own run id, which makes the run safe to retry; see
    /// [`LearningAgent::call_with`](super::LearningAgent::call_with).
    pub run_id: Option<RunId>,
}

impl Default for ReactOptions {
    fn default() -> Self {
        Self { exploration_tools: BTreeSet::new(), max_steps: 8, run_id: None }
    }
}

/// Runs a task: replays an exact repeat without planning, else drives the planner with the playbook
/// and captures what it does. After a stopped replay the planner goes on from what is done.
///
/// # Errors
/// `Agent` when the planner fails, with its error as the source; the run is stored first, or stays open for a retry
/// where the caller chose its id. `Conflict`, `InDoubt` and errors of the store as for
/// [`LearningAgent::call_with`](super::LearningAgent::call_with).
pub async fn run_react_agent(
    memory: &LearnKit,
    task: impl Into<Task> + Send,
    tools: &ToolSet,
    planner: &dyn Planner,
    options: ReactOptions,
) -> Result<RunReport> {
    let session = match Box::pin(memory.begin(task.into(), SessionOptions { run_id: options.run_id.clone() })).await? {
        Begun::Session(session) => session,
        Begun::Finished(report) => return Ok(*report),
    };
    session.count_planning();
    let react = React { session: &session, tools, planner, manifest: manifest(tools, &options), options: &options };
    let driven = react.drive().await;
    if let Some(lost) = session.lost() {
        return Err(lost);
    }
    match driven {
        Ok(outcome) => Ok(session.finish(&outcome).await),
        Err(error) => {
            session.finish(&Outcome::interrupted(format!("the planner failed: {error}"))).await;
            let failed = Error::new(ErrorKind::Agent, "the planner failed; the run can be repeated");
            Err(failed.with_context("run_id", session.run_id()).with_source(error))
        }
    }
}

fn manifest(tools: &ToolSet, options: &ReactOptions) -> ToolManifest {
    let mut manifest = tools.manifest();
    for (name, spec) in manifest.iter_mut() {
        spec.annotations.exploration |= options.exploration_tools.contains(name);
    }
    manifest
}

struct React<'a> {
    session: &'a Session,
    tools: &'a ToolSet,
    planner: &'a dyn Planner,
    manifest: ToolManifest,
    options: &'a ReactOptions,
}

impl React<'_> {
    async fn drive(&self) -> std::result::Result<Outcome, BoxError> {
        let view = View { tools: Some(&self.manifest), can_synthesize: true };
        let mut planned = 0;
        while self.session.lost().is_none() {
            match self.session.decide(&view).await {
                Decision::Replay(calls) => {
                    execute_planned(self.session, self.tools, &self.manifest, &calls).await;
                }
                Decision::Answer { text, .. } => return Ok(Outcome::answered(text)),
                Decision::Synthesize { .. } => self.synthesize().await,
                Decision::Forward { playbook, .. } => {
                    if planned == self.options.max_steps {
                        return Ok(Outcome::default());
                    }
                    planned += 1;
                    if let Some(answer) = self.plan(playbook).await? {
                        return Ok(Outcome::answered(answer));
                    }
                }
            }
        }
        Ok(Outcome::default())
    }

    fn turn(&self, playbook: String, answer_only: bool) -> PlanningTurn<'_> {
        PlanningTurn { task: self.session.task(), playbook, history: self.session.tracker().calls(), answer_only }
    }

    /// A planner that fails here leaves the answer to the last result.
    async fn synthesize(&self) {
        let Ok(reply) = self.planner.plan(&self.turn(String::new(), true)).await else { return };
        self.count_tokens(&reply);
        if let Some(answer) = reply.answer {
            self.session.synthesized(answer);
        }
    }

    fn count_tokens(&self, reply: &PlannerReply) {
        if let Some(tokens) = reply.tokens {
            self.session.planner_tokens(tokens);
        }
    }

    /// One planning call; returns the answer when the planner gives one.
    async fn plan(&self, playbook: String) -> std::result::Result<Option<String>, BoxError> {
        self.session.planning_call();
        let reply = self.planner.plan(&self.turn(playbook, false)).await?;
        self.count_tokens(&reply);
        if reply.answer.is_some() {
            return Ok(reply.answer);
        }
        // Calls of one reply belong together, however fast each of them is.
        let group = (reply.tool_calls.len() > 1).then(|| self.session.tracker().fresh_group());
        let drafts = reply.tool_calls.into_iter().map(|request| {
            let annotations = self.manifest.annotations(&request.tool);
            CallDraft::new(request.tool, request.arguments).with_annotations(annotations).with_group(group)
        });
        execute(self.session, self.tools, drafts.collect()).await;
        Ok(None)
    }
}
