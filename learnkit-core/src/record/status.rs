//! Where a record stands in its life.

use serde::{Deserialize, Serialize};

/// The status of a record; [`crate::lifecycle`] is the only code that moves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// New; may replay its own key and guide its own scope and agent.
    Probation,
    /// Quarantined because it harmed; never replays, never guides, never promoted by age.
    Harmful,
    /// Proven; shared with every reader of its scope.
    Active,
    /// Expired or of low confidence; a later success brings it back.
    Stale,
    /// Out of use; kept as a tombstone until it is purged.
    Retired,
}

impl Status {
    /// Every status, in the order of a life.
    pub const ALL: [Self; 5] = [Self::Probation, Self::Active, Self::Stale, Self::Harmful, Self::Retired];

    /// The status in snake case, as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Probation => "probation",
            Self::Harmful => "harmful",
            Self::Active => "active",
            Self::Stale => "stale",
            Self::Retired => "retired",
        }
    }

    /// Whether the record is in quarantine, for either cause.
    pub fn is_quarantined(self) -> bool {
        matches!(self, Self::Probation | Self::Harmful)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Probation => "quarantine (probation)",
            Self::Harmful => "quarantine (harm)",
            other => other.as_str(),
        })
    }
}

impl std::str::FromStr for Status {
    type Err = crate::Error;

    fn from_str(text: &str) -> crate::Result<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            crate::Error::invalid(format!("unknown status `{text}`; use probation, active, stale, harmful or retired"))
        })
    }
}
