//! A strategy: a way to go about a goal.

use serde::{Deserialize, Serialize};

/// A higher-level approach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strategy {
    /// What it achieves.
    pub goal: String,
    /// The phases, in order.
    pub phases: Vec<String>,
    /// Why it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
