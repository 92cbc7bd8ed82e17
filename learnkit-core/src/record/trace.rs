//! A trace: that a run happened, and which tools it called.

use serde::{Deserialize, Serialize};

use super::RunId;

/// The short account of one run; the full one is in the run store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The run.
    pub run: RunId,
    /// The task in words.
    pub task: String,
    /// `success`, `failure` or `unknown`.
    pub outcome: String,
    /// Each call as `tool` or `tool (failed)`, in order.
    pub calls: Vec<String>,
}
