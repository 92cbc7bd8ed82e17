//! What a replay may do on its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What a replay may do on its own, beside what [`ReplayTrust`](super::ReplayTrust) asks of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReplayPolicy {
    /// Every step; those of tools that require an approval with one.
    #[default]
    All,
    /// Nothing but steps that are stated to only read: any other procedure guides.
    ReadOnly,
    /// Every step that is not stated to only read waits for an approval.
    Ask,
}

impl ReplayPolicy {
    const EACH: [Self; 3] = [Self::All, Self::ReadOnly, Self::Ask];

    /// The name in snake case, as settings write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::ReadOnly => "read_only",
            Self::Ask => "ask",
        }
    }
}

impl fmt::Display for ReplayPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ReplayPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = Self::EACH.into_iter().find(|policy| policy.as_str() == text);
        known.ok_or_else(|| Error::invalid("unknown replay policy; use `all`, `read_only` or `ask`"))
    }
}
