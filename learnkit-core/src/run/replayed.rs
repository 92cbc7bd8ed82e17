//! What a replay did in a run, and what it cost where it stopped.

use serde::{Deserialize, Serialize};

use crate::record::RecordId;
use crate::replay::Divergence;

/// The account of a replay that was begun. It has saved planning only where the run says `replayed`; where
/// it stopped, everything here is a cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayNote {
    /// The record that was replayed.
    pub record: RecordId,
    /// How many calls it planned; of a list, as many as it had elements now.
    pub planned: u32,
    /// How many calls it made, the failed ones included.
    pub made: u32,
    /// How long they took, in milliseconds; those side by side are added up.
    pub duration_ms: u64,
    /// Which calls were made for nothing: those that failed and those that the planner made again after the
    /// stop. Places in the calls of the run, from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_vain: Vec<usize>,
    /// Where it stopped and why; absent where it came to its end, or was left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Divergence>,
}
