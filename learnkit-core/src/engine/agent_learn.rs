//! `agent_learn`: wraps an async agent function so that it learns and replays.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::execute::execute_planned;
use super::resume::Begun;
use super::session::{Decision, Session, SessionOptions, View};
use super::{LearnKit, Outcome, Run, RunReport};
use crate::error::BoxError;
use crate::record::AgentName;
use crate::run::ToolCall;
use crate::tool::ToolSet;
use crate::{Error, ErrorKind, Result, Task};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Synthesizer = Arc<dyn Fn(Task, Vec<ToolCall>) -> BoxFuture<std::result::Result<String, BoxError>> + Send + Sync>;

/// An agent on its way to being wrapped.
#[must_use = "`wrap` makes the agent"]
pub struct AgentLearn {
    memory: Result<LearnKit>,
    tools: Option<ToolSet>,
    synthesizer: Option<Synthesizer>,
}

/// An agent function that learns and replays.
pub struct LearningAgent<F> {
    memory: Result<LearnKit>,
    tools: Option<ToolSet>,
    synthesizer: Option<Synthesizer>,
    function: F,
}

impl LearnKit {
    /// Wraps an async agent function under a domain, which is the agent's name in every key.
    ///
    /// The function receives a [`Run`] with the playbook, the plan steps and the tool tracker, and
    /// returns the answer. With [`AgentLearn::tools`] an exact repeat is replayed without calling
    /// the function; else the function gets the plan and each call is checked as it is recorded.
    pub fn agent_learn(&self, domain: &str) -> AgentLearn {
        let memory = AgentName::new(domain).map(|agent| self.with_agent(agent));
        AgentLearn { memory, tools: None, synthesizer: None }
    }
}

impl AgentLearn {
    /// The tools, so that memory itself can carry out a replay.
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = Some(tools);
        self
    }

    /// What words the answer of a replay whose results differ from the recorded ones: one planner
    /// call with the task and the calls that were made.
    pub fn synthesizer<F, Fut>(mut self, synthesize: F) -> Self
    where
        F: Fn(Task, Vec<ToolCall>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<String, BoxError>> + Send + 'static,
    {
        self.synthesizer = Some(Arc::new(move |task, calls| Box::pin(synthesize(task, calls))));
        self
    }

    /// Wraps the function.
    pub fn wrap<F, Fut, E>(self, function: F) -> LearningAgent<F>
    where
        F: Fn(Run) -> Fut + Send + Sync,
        Fut: Future<Output = std::result::Result<String, E>> + Send,
        E: Into<BoxError>,
    {
        LearningAgent { memory: self.memory, tools: self.tools, synthesizer: self.synthesizer, function }
    }
}

impl<F, Fut, E> LearningAgent<F>
where
    F: Fn(Run) -> Fut + Send + Sync,
    Fut: Future<Output = std::result::Result<String, E>> + Send,
    E: Into<BoxError>,
{
    /// Runs a task.
    ///
    /// # Errors
    /// `Agent` with the function's own error as the source, or when it panicked; the run is stored
    /// as failed first. `InvalidInput` when the domain is no valid name.
    pub async fn call(&self, task: impl Into<Task> + Send) -> Result<RunReport> {
        self.call_with(task, SessionOptions::default()).await
    }

    /// Runs a task with the caller's own run id, which makes it safe to retry: a run of this id that did not finish
    /// is gone on with, what it did is not done again, and one that is finished gives its stored report again,
    /// with a warning and without a call. An interrupted run (dropped, or ended with an error that is marked as
    /// transient) stays open for a retry.
    ///
    /// # Errors
    /// As for [`Self::call`]; `Conflict` when a run of this id is under way, here or in another process, belongs to
    /// another task, or is finished without an answer; `InDoubt` when nobody knows whether a step of it was made;
    /// what the store reports when it cannot be told whether the id was used before.
    pub async fn call_with(&self, task: impl Into<Task> + Send, options: SessionOptions) -> Result<RunReport> {
        let memory = self.memory.as_ref().map_err(|error| Error::new(error.kind(), error.message()))?;
        let session = match Box::pin(memory.begin(task.into(), options)).await? {
            Begun::Session(session) => *session,
            Begun::Finished(report) => return Ok(*report),
        };
        let answer = self.replay(&session).await;
        if let Some(lost) = session.lost() {
            return Err(lost);
        }
        match answer {
            Some(answer) => Ok(session.finish(&Outcome::answered(answer)).await),
            None => self.plan(Run::of(session)).await,
        }
    }

    /// Carries out a replay with the tools; absent when the function has to run.
    async fn replay(&self, session: &Session) -> Option<String> {
        let Some(tools) = &self.tools else {
            session.decide(&View::default()).await;
            return None;
        };
        let manifest = tools.manifest();
        let view = View { tools: Some(&manifest), can_synthesize: self.synthesizer.is_some() };
        loop {
            match session.decide(&view).await {
                Decision::Replay(calls) => {
                    execute_planned(session, tools, &manifest, &calls).await;
                    if session.lost().is_some() {
                        return None;
                    }
                }
                Decision::Synthesize { done } => self.synthesize(session, done).await,
                Decision::Answer { text, .. } => return Some(text),
                Decision::Forward { .. } => return None,
            }
        }
    }

    /// A synthesizer that fails leaves the answer to the last result.
    async fn synthesize(&self, session: &Session, done: Vec<ToolCall>) {
        if let Some(synthesizer) = &self.synthesizer
            && let Ok(answer) = synthesizer(session.task().clone(), done).await
        {
            session.synthesized(answer);
        }
    }

    async fn plan(&self, run: Run) -> Result<RunReport> {
        let result = AssertUnwindSafe((self.function)(run.clone())).catch_unwind().await;
        if let Some(lost) = run.session().lost() {
            return Err(lost);
        }
        let error: BoxError = match result {
            Ok(Ok(answer)) => return Ok(run.session().finish(&Outcome::answered(answer)).await),
            Ok(Err(error)) => error.into(),
            Err(_) => "the agent function panicked".into(),
        };
        run.session().finish(&Outcome::of_error(&error)).await;
        Err(Error::new(ErrorKind::Agent, "the agent function failed; its run is stored")
            .with_context("run_id", run.id())
            .with_source(error))
    }
}

impl fmt::Debug for AgentLearn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentLearn").field("memory", &self.memory).field("tools", &self.tools).finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for LearningAgent<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LearningAgent")
            .field("memory", &self.memory)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
