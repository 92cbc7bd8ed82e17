//! What a run gives back to its caller.

use serde::{Deserialize, Serialize};

use crate::lifecycle::WorldCheck;
use crate::record::{RunId, Trust};
use crate::run::{AnswerSource, Gate, LearnedNote, Mode, ReplayNote, StoredRun, Tokens};

/// The result of a run.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunReport {
    /// The run; reports by id refer to it.
    pub run_id: RunId,
    /// Whether a whole procedure was replayed without planning.
    pub replayed: bool,
    /// What a replay did, also one that stopped; absent where none was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayNote>>,
    /// Planning calls; absent where nobody counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning_calls: Option<u32>,
    /// Calls of the planner that only worded the answer of a replay.
    pub synthesis_calls: u32,
    /// Tokens of the planner; absent where nobody tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Tool calls made, without those that other tracked calls made.
    pub tool_calls: u32,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Where the answer came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_source: Option<AnswerSource>,
    /// How the run ended up being planned.
    pub mode: Mode,
    /// Why.
    pub reason: String,
    /// The trust of the record that was replayed or learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// What spoke for the world before a replay began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_check: Option<WorldCheck>,
    /// The judgement of the run.
    pub gate: Gate,
    /// What the run changed in memory.
    pub learned: Vec<LearnedNote>,
    /// What went wrong without failing the task.
    pub warnings: Vec<String>,
}

impl RunReport {
    /// The report of a stored run; `answer` is the whole answer where it is at hand.
    pub(crate) fn of(run: &StoredRun, answer: Option<String>) -> Self {
        let outer = run.calls.iter().filter(|call| call.parent.is_none()).count();
        Self {
            run_id: run.id.clone(),
            replayed: run.replayed,
            replay: run.replay.clone(),
            planning_calls: run.planning_calls,
            synthesis_calls: run.synthesis_calls,
            tokens: run.tokens,
            tool_calls: u32::try_from(outer).unwrap_or(u32::MAX),
            answer: answer.or_else(|| run.answer.clone()),
            answer_source: run.answer_source,
            mode: run.mode,
            reason: run.reason.clone(),
            trust: run.trust,
            world_check: run.world_check,
            gate: run.gate.clone(),
            learned: run.learned.clone(),
            warnings: run.warnings.clone(),
        }
    }
}
