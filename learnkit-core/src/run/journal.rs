//! The journal of a run that has not finished: which calls were about to be made, and what came of each.
//!
//! Not here: when it is written, and how a run goes on from it ([`crate::engine`]).

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{CallStatus, StoredCall, StoredOutput, ToolCall, ToolOutput};
use crate::hash::sha256;
use crate::record::{AgentName, RecordId, RunId, Scope, TaskLink, Tenant};
use crate::tool::{EffectClass, ToolAnnotations};

/// A run that has not finished, as its journal knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRun {
    /// Unique in the tenant; a retry with it goes on with the run.
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
    /// The values of its declared parameters; a secret is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The replay that it began as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<OpenReplay>,
    /// When it started.
    pub started: Timestamp,
}

/// The replay that a run began as.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenReplay {
    /// The record of the procedure.
    pub record: RecordId,
    /// The version of the procedure; another one is another plan.
    pub version: u32,
    /// What its parameters are in this task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The day that "today" means: a replay over midnight stays one task.
    pub today: Date,
    /// The time zone of that day.
    pub time_zone: String,
}

/// One call in a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalStep {
    /// Counts from 1 in the order of the run.
    pub number: u32,
    /// How far it came.
    pub state: StepState,
    /// The call, secrets masked; result and status say nothing while it has only begun, and `parent` is the
    /// number of the step that made it from inside.
    pub call: StoredCall,
    /// What the tool says about itself.
    #[serde(default)]
    pub annotations: ToolAnnotations,
    /// What the tool was given to tell a repeat from a new call.
    pub idempotency_key: String,
    /// How many planning calls there were until then; absent where nobody counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning_calls: Option<u32>,
}

/// How far a journaled call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It was about to be made. Without a later word nobody knows whether it was.
    Begun,
    /// It was made, and this came of it.
    Ended,
    /// Somebody said that it was made; what it gave is known only where it was said.
    SaidDone,
    /// Somebody said that it was not made.
    SaidNotDone,
}

impl StepState {
    /// The state in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Ended => "ended",
            Self::SaidDone => "said_done",
            Self::SaidNotDone => "said_not_done",
        }
    }
}

impl JournalStep {
    /// Whether nobody knows what came of it and making it again could do harm.
    pub fn is_doubtful(&self) -> bool {
        let harmless = matches!(self.annotations.effect(), EffectClass::ReadOnly | EffectClass::Idempotent);
        self.state == StepState::Begun && !harmless
    }

    /// Whether the call was made.
    pub fn is_done(&self) -> bool {
        matches!(self.state, StepState::Ended | StepState::SaidDone)
    }

    /// Whether its result is here as the tool gave it: neither cut nor masked.
    pub(crate) fn is_whole(&self) -> bool {
        let result = &self.call.result;
        self.is_done() && !result.truncated && sha256(result.text.as_bytes()) == result.sha256
    }

    /// Notes that it was made, and what it gave where that is known.
    pub(crate) fn say_done(&mut self, result: Option<&ToolOutput>, limit: usize) {
        self.state = StepState::SaidDone;
        self.call.status = result.map_or(CallStatus::Ok, |result| CallStatus::of(result, None));
        // Of an unknown result nothing is stored, so it is never taken for a whole one.
        let unknown = || StoredOutput { truncated: true, ..ToolOutput::text(RESULT_UNKNOWN).stored(limit) };
        self.call.result = result.map_or_else(unknown, |result| result.stored(limit));
    }

    /// The call as a run that goes on has it.
    pub(crate) fn to_call(&self, parent: Option<usize>) -> ToolCall {
        let StoredCall { tool, arguments, result, status, started, duration_ms, group, turn, replayed, .. } =
            &self.call;
        ToolCall {
            tool: tool.clone(),
            arguments: arguments.clone(),
            output: ToolOutput::text(result.text.clone()),
            status: status.clone(),
            annotations: self.annotations,
            started: *started,
            duration_ms: *duration_ms,
            group: *group,
            parent,
            turn: *turn,
            replayed: *replayed,
        }
    }
}

/// What stands for the result of a call that was made and whose result nobody told.
const RESULT_UNKNOWN: &str = "done before the run was interrupted; its result is not known";

/// Who may go on with an open run, and until when nobody else may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// A token of one session.
    pub owner: String,
    /// From then on another session may take the run.
    pub until: Timestamp,
}

impl Lease {
    /// Whether nobody else may take the run yet.
    pub fn is_held(&self, now: Timestamp) -> bool {
        now < self.until
    }
}

/// A run that has not finished, with every call that was written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// The run.
    pub run: OpenRun,
    /// Who holds it.
    pub lease: Lease,
    /// Its calls, by number.
    pub steps: Vec<JournalStep>,
}

impl Journal {
    /// The calls of which nobody knows whether they were made, and that are not made again unasked.
    pub fn doubtful(&self) -> impl Iterator<Item = &JournalStep> {
        self.steps.iter().filter(|step| step.is_doubtful())
    }
}
