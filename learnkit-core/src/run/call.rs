//! One tool call of a run.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Arguments, StoredOutput, ToolOutput, prefix};
use crate::hash::sha256;
use crate::tool::ToolAnnotations;

/// Longer arguments are stored as a prefix, in bytes; such a call is not replayed.
const STORED_ARGUMENT_BYTES: usize = 64 * 1024;
/// Longer reasons of failures are stored as a prefix, in bytes.
const STORED_REASON_BYTES: usize = 500;

/// Whether a call worked.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", deny_unknown_fields)]
pub enum CallStatus {
    /// It worked.
    Ok,
    /// It did not.
    Failed {
        /// Why it counts as failed.
        reason: String,
    },
}

impl CallStatus {
    /// Whether the call worked.
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Ok)
    }
}

/// One call with arguments, result and outcome, as captured; the result is whole.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments as written.
    pub arguments: Arguments,
    /// The whole result.
    pub output: ToolOutput,
    /// Whether it worked.
    pub status: CallStatus,
    /// What the tool says about itself.
    pub annotations: ToolAnnotations,
    /// When it started.
    pub started: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Calls that ran side by side share a number.
    pub group: Option<u32>,
    /// The index of the tracked call that made this one from inside.
    pub parent: Option<usize>,
    /// The user turn it belongs to, from 0.
    pub turn: u32,
    /// Whether LearnKit planned it.
    pub replayed: bool,
}

impl ToolCall {
    /// Whether it worked and its tool is not declared exploration.
    pub fn is_productive(&self) -> bool {
        self.status.is_ok() && !self.annotations.exploration
    }

    /// What is stored of it: secrets masked first, then cut, because a cut text hides its structure.
    pub fn stored(&self, limit: usize) -> StoredCall {
        self.stored_with(self.output.stored(limit))
    }

    /// The same where the result is at hand as it is stored.
    pub(super) fn stored_with(&self, result: StoredOutput) -> StoredCall {
        let arguments = self.arguments.masked();
        StoredCall {
            tool: self.tool.clone(),
            arguments: Arguments::from_raw(prefix(&arguments, STORED_ARGUMENT_BYTES)),
            arguments_cut: (arguments.len() > STORED_ARGUMENT_BYTES).then(|| Cut::of(self.arguments.raw())),
            result,
            status: match &self.status {
                CallStatus::Ok => CallStatus::Ok,
                CallStatus::Failed { reason } => CallStatus::Failed { reason: short_reason(reason) },
            },
            started: self.started,
            duration_ms: self.duration_ms,
            group: self.group,
            parent: self.parent,
            turn: self.turn,
            replayed: self.replayed,
        }
    }
}

/// What somebody else says about a failure, as it may be stored: masked and short.
pub(crate) fn short_reason(reason: &str) -> String {
    prefix(&crate::secret::mask_text(reason).text, STORED_REASON_BYTES).to_owned()
}

/// What was left of a text that is stored as a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// The size of the whole text in bytes.
    pub bytes: usize,
    /// The hash of the whole text.
    pub sha256: String,
}

impl Cut {
    fn of(text: &str) -> Self {
        Self { bytes: text.len(), sha256: sha256(text.as_bytes()) }
    }
}

/// A call as the run store keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments, or their first 64 KiB; secrets masked.
    pub arguments: Arguments,
    /// Set where `arguments` is only a prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_cut: Option<Cut>,
    /// The result, shortened and masked.
    pub result: StoredOutput,
    /// Whether it worked.
    pub status: CallStatus,
    /// When it started.
    pub started: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Calls that ran side by side share a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// The index of the call that made this one from inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// The user turn, from 0.
    pub turn: u32,
    /// Whether LearnKit planned it.
    pub replayed: bool,
}
