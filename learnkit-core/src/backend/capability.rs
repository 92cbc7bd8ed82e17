//! What a store can do, as data.

use serde::{Deserialize, Serialize};

/// What a store can do; the behaviour suite runs the negative twin of what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a table of independent yes-or-no facts")]
pub struct Capabilities {
    /// `search` ranks by text.
    pub full_text: bool,
    /// `search` can rank by vectors.
    pub dense: bool,
    /// `search` and `scan` filter inside the store.
    pub metadata_filter: bool,
    /// `PutMode::Create` and `IfRevision` are atomic.
    pub conditional_put: bool,
    /// A read after an acknowledged write sees it.
    pub read_after_write: bool,
    /// An acknowledged write survives a crash of the process.
    pub durable: bool,
    /// Several processes may use it at once.
    pub shared: bool,
    /// `commit` takes runs, in the same transaction.
    pub runs: bool,
}
