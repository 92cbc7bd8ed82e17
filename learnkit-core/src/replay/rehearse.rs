//! Rehearsal: what a procedure would have sent, had it been given the results of a run that passed.
//!
//! Where something is not known as it was (a cut result, a masked secret) nothing is claimed from there on.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Replay, Would, leaves};
use crate::procedure::{Procedure, Today};
use crate::run::{Arguments, CallStatus, StoredCall, StoredOutput, ToolCall, ToolOutput};
use crate::secret::MASK;
use crate::tool::ToolAnnotations;

/// The calls of a run that passed, as far as they are known, with the day and the parameters of the run.
pub(crate) struct Recorded {
    calls: Vec<ToolCall>,
    parameters: BTreeMap<String, String>,
    today: Today,
}

impl Recorded {
    /// The run that a procedure was made from; nothing where it sent dates of a day that is not known any more.
    pub(crate) fn source_of(procedure: &Procedure, today: &Today) -> Option<Self> {
        if procedure.has_dates() {
            return None;
        }
        let mut recorded = Self::empty(procedure.parameters.clone(), today.clone());
        for step in &procedure.steps {
            if !recorded.add(&step.tool, &step.arguments, &step.result, step.group) {
                break;
            }
        }
        Some(recorded)
    }

    /// A run that replayed a procedure to its end, so that its calls are those of the procedure.
    pub(crate) fn replayed(calls: &[StoredCall], today: Today) -> Self {
        let mut recorded = Self::empty(BTreeMap::new(), today);
        for call in calls.iter().filter(|call| call.parent.is_none() && call.turn == 0) {
            let is_whole = call.arguments_cut.is_none() && call.status.is_ok();
            if !is_whole || !recorded.add(&call.tool, &call.arguments, &call.result, call.group) {
                break;
            }
        }
        recorded
    }

    fn empty(parameters: BTreeMap<String, String>, today: Today) -> Self {
        Self { calls: Vec::new(), parameters, today }
    }

    /// Adds a call; whether what comes after it can be judged.
    fn add(&mut self, tool: &str, arguments: &Arguments, result: &StoredOutput, group: Option<u32>) -> bool {
        if arguments.raw().contains(MASK) {
            return false;
        }
        self.calls.push(ToolCall {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            output: ToolOutput::text(result.text.clone()),
            status: CallStatus::Ok,
            annotations: ToolAnnotations::default(),
            started: Timestamp::UNIX_EPOCH,
            duration_ms: 0,
            group,
            parent: None,
            turn: 0,
            replayed: false,
        });
        !result.truncated && !result.text.contains(MASK)
    }

    /// What a procedure would have sent otherwise than this run did, if anything. To stop and ask a planner is
    /// never wrong.
    pub(crate) fn otherwise(&self, procedure: &Procedure) -> Option<String> {
        let mut replay = Replay::new(Arc::new(procedure.clone()), self.parameters.clone(), self.today.clone());
        match leaves(&mut replay, &self.calls) {
            Some(Would::Differ(reason)) => Some(reason),
            _ => None,
        }
    }
}
