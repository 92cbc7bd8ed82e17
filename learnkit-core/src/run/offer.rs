//! What memory had to offer to a run, what became of it, and what the planner cost: what the ledger reads.

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::record::RecordId;

/// On which side a run was of the comparison that `holdout_rate` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// It took what memory offered.
    Memory,
    /// It was planned as if there were no memory.
    HoldOut,
}

impl Arm {
    /// The arm in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::HoldOut => "hold_out",
        }
    }
}

impl std::fmt::Display for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What memory had for a run when it began; a run of the hold-out arm did not get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// `replay` or `guide`.
    pub mode: Mode,
    /// The record to replay, or those of the playbook, the primary one first.
    pub records: Vec<RecordId>,
    /// The estimated size of the playbook in tokens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub playbook_tokens: usize,
}

/// Tokens of the planner, its synthesis calls among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// What it read.
    pub input: u64,
    /// What it wrote.
    pub output: u64,
}

impl Tokens {
    /// Both together.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Counts more of them.
    pub(crate) fn add(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
