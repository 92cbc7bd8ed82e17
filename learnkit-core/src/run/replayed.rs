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
    /// How many calls it made, the failed ones included.
    pub made: u32,
    /// How long they took, in milliseconds; those side by side are added up.
    pub duration_ms: u64,
    /// Where it stopped and why; absent where it came to its end, or was left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Divergence>,
}
