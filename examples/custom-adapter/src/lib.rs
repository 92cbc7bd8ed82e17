//! An adapter in a package of its own that registers itself and is found by name.
//!
//! A program that uses it lists this package in Cargo.toml and names it once, because a crate that
//! nobody names is not linked:
//!
//! ```
//! use learnkit_example_custom_adapter as _;
//!
//! assert_eq!(learnkit::get_adapter("journal")?.package, "learnkit-example-custom-adapter");
//! # Ok::<(), learnkit::Error>(())
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use learnkit::adapter::BaseAdapter;
use learnkit::engine::{Outcome, Run, SessionOptions};
use learnkit::{LearnKit, Result, RunReport, Task, async_trait, register_adapter};

register_adapter!("journal", "Keeps a line for each run beside memory.", |memory| {
    Ok(Arc::new(JournalAdapter::new(memory)))
});

/// Memory around a host's own loop, with a line of text for each run.
#[derive(Debug)]
pub struct JournalAdapter {
    memory: LearnKit,
    lines: Mutex<Vec<String>>,
}

impl JournalAdapter {
    /// An adapter over a memory.
    pub fn new(memory: &LearnKit) -> Self {
        Self { memory: memory.clone(), lines: Mutex::default() }
    }

    /// The lines so far, one for each completed run.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl BaseAdapter for JournalAdapter {
    fn name(&self) -> &'static str {
        "journal"
    }

    async fn start_run(&self, task: Task) -> Result<Run> {
        self.memory.prepare_run(task, SessionOptions::default()).await
    }

    async fn complete_run(&self, run: &Run, outcome: Outcome) -> Result<RunReport> {
        let report = self.memory.finalize_run(run, &outcome).await;
        let line = format!("{}: {} tool calls, {}", report.mode, report.tool_calls, report.reason);
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use learnkit::adapter::BaseAdapterExt as _;

    #[tokio::test]
    async fn it_keeps_a_line_for_each_run() {
        let memory = LearnKit::builder().backend("memory:").build().await.unwrap();
        let adapter = JournalAdapter::new(&memory);
        let body = |run: Run| async move {
            run.record("ping", serde_json::json!({}), "pong");
            Ok::<_, learnkit::BoxError>("up".to_owned())
        };
        adapter.session(Task::new("Ping"), body).await.unwrap();
        assert_eq!(adapter.lines(), ["cold: 1 tool calls, no record of this exact task; nothing similar is known"]);
    }
}
