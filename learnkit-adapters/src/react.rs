//! The built-in adapter for agents that drive a ReAct loop of their own.
//!
//! `run_react_agent` is the loop itself; this adapter is for hosts that keep their loop and only
//! want memory around it, found by the name `react`.

use std::sync::Arc;

use async_trait::async_trait;
use learnkit_core::adapter::BaseAdapter;
use learnkit_core::engine::{Outcome, Run, SessionOptions};
use learnkit_core::{LearnKit, Result, RunReport, Task, register_adapter};

register_adapter!("react", "ReAct loops written by hand: playbook, plan steps and tracked tools.", |memory| {
    Ok(Arc::new(ReactAdapter::new(memory)))
});

/// Memory around a hand-written ReAct loop.
#[derive(Debug, Clone)]
pub struct ReactAdapter {
    memory: LearnKit,
}

impl ReactAdapter {
    /// An adapter over a memory.
    pub fn new(memory: &LearnKit) -> Self {
        Self { memory: memory.clone() }
    }
}

#[async_trait]
impl BaseAdapter for ReactAdapter {
    fn name(&self) -> &'static str {
        "react"
    }

    async fn start_run(&self, task: Task) -> Result<Run> {
        self.memory.prepare_run(task, SessionOptions::default()).await
    }

    async fn complete_run(&self, run: &Run, outcome: Outcome) -> Result<RunReport> {
        Ok(self.memory.finalize_run(run, &outcome).await)
    }
}
