//! A heuristic: a rule of thumb of a domain.

use serde::{Deserialize, Serialize};

/// A rule with its exception.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heuristic {
    /// The rule.
    pub rule: String,
    /// When it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
}
