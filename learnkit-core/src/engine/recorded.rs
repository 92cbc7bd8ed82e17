//! Learning from a run that somebody recorded: the same gate, distiller and commit.

use super::learn::{Ended, Outcome, learn};
use super::session::State;
use super::{LearnKit, RunReport};
use crate::Task;
use crate::record::RunId;
use crate::run::ToolCall;

/// A recorded run.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedOutcome {
    /// The task.
    pub task: Task,
    /// The run's id; a run id is learned once.
    pub run_id: RunId,
    /// The calls in order.
    pub calls: Vec<ToolCall>,
    /// What came of it.
    pub outcome: Outcome,
}

impl LearnKit {
    /// Learns from a recorded run. Nothing is replayed and no tool is called.
    pub async fn learn_recorded(&self, recorded: RecordedOutcome) -> RunReport {
        let now = self.now();
        let started = recorded.calls.iter().map(|call| call.started).min().unwrap_or(now);
        let ended = Ended {
            kit: self.clone(),
            task: recorded.task,
            run_id: recorded.run_id,
            calls: recorded.calls,
            started,
            state: State::recorded(),
        };
        learn(ended, &recorded.outcome).await.report
    }
}
