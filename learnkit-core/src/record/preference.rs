//! A preference of a user or team.

use serde::{Deserialize, Serialize};

/// What somebody prefers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preference {
    /// What it is about, such as `date format`.
    pub key: String,
    /// The preferred value.
    pub value: String,
}
