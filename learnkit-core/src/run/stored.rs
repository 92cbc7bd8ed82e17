//! A finished run as the run store keeps it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Arm, CallStatus, Gate, Offer, ReplayNote, StoredCall, Tokens, Verdict};
use crate::lifecycle::WorldCheck;
use crate::record::{AgentName, Kind, RecordId, RunId, Scope, TaskLink, Tenant, Trust};

/// How a run was planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By a proven procedure, without a planner.
    Replay,
    /// By the planner with a playbook.
    Guide,
    /// By the planner alone.
    Cold,
}

impl Mode {
    /// The mode in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Guide => "guide",
            Self::Cold => "cold",
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where the answer of a run came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerSource {
    /// The planner or agent function wrote it in a planned run.
    Planner,
    /// The recorded answer; every result equals the recorded one.
    Recorded,
    /// One synthesis call over the fresh results.
    Synthesis,
    /// The last productive result as text; no planner was at hand.
    LastResult,
}

impl AnswerSource {
    /// The source in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Recorded => "recorded",
            Self::Synthesis => "synthesis",
            Self::LastResult => "last_result",
        }
    }
}

/// A record that was considered, and what spoke for or against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateNote {
    /// The record.
    pub id: RecordId,
    /// Its kind.
    pub kind: Kind,
    /// Whether it belongs to this exact task.
    pub exact: bool,
    /// The relevance score, for ranked candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What became of it.
    pub note: String,
}

/// One decision of a run with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionNote {
    /// How many calls were done when it was made.
    pub after_calls: usize,
    /// What was decided: `replay`, `answer`, `forward` or `synthesize`; or what was asked or seen meanwhile.
    pub decision: String,
    /// Why.
    pub reason: String,
    /// The records that were considered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<CandidateNote>,
}

/// What a run changed in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedNote {
    /// The record.
    pub id: RecordId,
    /// Its kind.
    pub kind: Kind,
    /// What happened to it, such as `learned` or `replay failed`.
    pub change: String,
}

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredRun {
    /// Unique in the tenant.
    pub id: RunId,
    /// The isolation boundary.
    pub tenant: Tenant,
    /// The scope written to.
    pub scope: Scope,
    /// The agent.
    pub agent: AgentName,
    /// The exact task.
    pub task: TaskLink,
    /// The task in words, secrets masked.
    pub text: String,
    /// How it ended up being planned.
    pub mode: Mode,
    /// Why.
    pub reason: String,
    /// Whether a whole procedure was replayed.
    pub replayed: bool,
    /// What a replay did; absent where none was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayNote>>,
    /// Planning calls; absent where nobody counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning_calls: Option<u32>,
    /// Synthesis calls.
    pub synthesis_calls: u32,
    /// Tokens of the planner; absent where nobody tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// On which side it was of the comparison that `holdout_rate` asks for; absent where no share is held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<Arm>,
    /// What memory had for it when it began; absent where it had nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<Offer>,
    /// The tool calls in order.
    pub calls: Vec<StoredCall>,
    /// The answer, secrets masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Where the answer came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_source: Option<AnswerSource>,
    /// The judgement.
    pub gate: Gate,
    /// What was reported later by run id, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<Verdict>,
    /// The trust of what it used or made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// The procedure that it replayed or taught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedure: Option<RecordId>,
    /// Its version then; what a run shows is about the calls of that version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedure_version: Option<u32>,
    /// What spoke for the world before a replay began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_check: Option<WorldCheck>,
    /// Every decision.
    pub decisions: Vec<DecisionNote>,
    /// The records it used: replayed or followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<RecordId>,
    /// What it changed in memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<LearnedNote>,
    /// What went wrong on the way without failing the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// When it started.
    pub started: Timestamp,
    /// When it finished.
    pub finished: Timestamp,
}

impl StoredRun {
    /// Visits every free text of it: what a task, a tool or an agent said.
    pub(crate) fn each_text(&mut self, visit: &impl Fn(&mut String)) {
        visit(&mut self.task.canonical);
        visit(&mut self.text);
        visit(&mut self.reason);
        visit(&mut self.gate.reason);
        self.answer.iter_mut().for_each(visit);
        self.warnings.iter_mut().for_each(visit);
        self.decisions.iter_mut().for_each(|decision| visit(&mut decision.reason));
        self.learned.iter_mut().for_each(|learned| visit(&mut learned.change));
        let stopped = self.replay.iter_mut().filter_map(|replay| replay.stopped.as_mut());
        stopped.for_each(|stopped| visit(&mut stopped.reason));
        for call in &mut self.calls {
            call.arguments.each_text(visit);
            visit(&mut call.result.text);
            if let CallStatus::Failed { reason } = &mut call.status {
                visit(reason);
            }
        }
    }
}
