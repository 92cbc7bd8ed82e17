//! The contract of adapters: how a framework's own loop meets memory.

use std::fmt::{self, Debug};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt as _;

use crate::engine::{LearnKit, Outcome, Run, RunReport};
use crate::error::BoxError;
use crate::run::{Arguments, ToolOutput};
use crate::tool::{Schema, Tool, ToolAnnotations, ToolContext, ToolSet};
use crate::{Error, ErrorKind, Result, Task};

/// An adapter that [`crate::get_adapter`] finds by name.
#[derive(Clone, Copy)]
pub struct AdapterEntry {
    /// The name users pass to `get_adapter`; lowercase, unique among linked crates.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The package that registered it, `env!("CARGO_PKG_NAME")`.
    pub package: &'static str,
    /// Makes the adapter.
    pub build: fn(&LearnKit) -> Result<Arc<dyn BaseAdapter>>,
}

impl AdapterEntry {
    /// Makes the adapter for a memory.
    ///
    /// # Errors
    /// What the adapter's own constructor reports.
    pub fn build(&self, memory: &LearnKit) -> Result<Arc<dyn BaseAdapter>> {
        (self.build)(memory)
    }
}

impl Debug for AdapterEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdapterEntry({} from {})", self.name, self.package)
    }
}

inventory::collect!(AdapterEntry);

/// What every adapter does. Implemented by adapter crates, called by applications through
/// [`BaseAdapterExt::session`].
#[async_trait]
pub trait BaseAdapter: Debug + Send + Sync {
    /// The name it is registered under.
    fn name(&self) -> &'static str;

    /// Starts a run: looks the task up, composes the playbook, arms the tracker.
    ///
    /// # Errors
    /// `Conflict` when a run of the same id is under way.
    async fn start_run(&self, task: Task) -> Result<Run>;

    /// Completes a run: gate, learn, account. A second call returns the first report.
    ///
    /// # Errors
    /// What the adapter's framework reports; memory itself never fails here.
    async fn complete_run(&self, run: &Run, outcome: Outcome) -> Result<RunReport>;

    /// The tools, each recording its calls in the run.
    fn wrap_tools(&self, run: &Run, tools: &ToolSet) -> ToolSet {
        tracked_tools(run, tools)
    }
}

/// What every adapter can do with the methods of [`BaseAdapter`].
#[async_trait]
pub trait BaseAdapterExt: BaseAdapter {
    /// Runs a body inside a run and completes it exactly once: also when the body fails, panics, or
    /// is dropped (then the next `finish` or report of the memory, or `shutdown`, stores it as cancelled).
    ///
    /// # Errors
    /// `Agent` with the body's error as the source, or when it panicked.
    async fn session<F, Fut, E>(&self, task: Task, body: F) -> Result<RunReport>
    where
        F: FnOnce(Run) -> Fut + Send,
        Fut: Future<Output = Result<String, E>> + Send,
        E: Into<BoxError> + Send,
    {
        let run = self.start_run(task).await?;
        let result = AssertUnwindSafe(body(run.clone())).catch_unwind().await;
        let error: BoxError = match result {
            Ok(Ok(answer)) => return self.complete_run(&run, Outcome::answered(answer)).await,
            Ok(Err(error)) => error.into(),
            Err(_) => "the body panicked".into(),
        };
        self.complete_run(&run, Outcome::of_error(&error)).await?;
        Err(Error::new(ErrorKind::Agent, "the agent failed; its run is stored")
            .with_context("run_id", run.id())
            .with_source(error))
    }
}

impl<T: BaseAdapter + ?Sized> BaseAdapterExt for T {}

/// The tools, each recording its calls in the run.
pub fn tracked_tools(run: &Run, tools: &ToolSet) -> ToolSet {
    tools
        .iter()
        .fold(ToolSet::new(), |tracked, tool| tracked.with(TrackedTool { run: run.clone(), tool: Arc::clone(tool) }))
}

/// A tool that records its calls.
struct TrackedTool {
    run: Run,
    tool: Arc<dyn Tool>,
}

#[async_trait]
impl Tool for TrackedTool {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn annotations(&self) -> ToolAnnotations {
        self.tool.annotations()
    }

    fn description(&self) -> Option<String> {
        self.tool.description()
    }

    fn input_schema(&self) -> Option<Schema> {
        self.tool.input_schema()
    }

    fn version(&self) -> Option<String> {
        self.tool.version()
    }

    fn success_when(&self, output: &ToolOutput) -> Option<bool> {
        self.tool.success_when(output)
    }

    async fn call(&self, arguments: &Arguments, context: &ToolContext) -> Result<ToolOutput, BoxError> {
        self.run.call_tool(self.tool.as_ref(), arguments, context).await
    }
}
