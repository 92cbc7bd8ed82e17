//! A failure: a path that did not work.

use serde::{Deserialize, Serialize};

/// A dead end, so that later runs avoid it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The task that failed and how.
    pub description: String,
    /// What to avoid.
    pub what_to_avoid: String,
    /// The error as the tool told it, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The tools called, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}
