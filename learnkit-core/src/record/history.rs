//! What a record did before its procedure was healed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{RunId, Trust};
use crate::procedure::Procedure;

/// So many changes are kept, the newest.
const MAX_CHANGES: usize = 8;

/// The earlier versions of a procedure: all of the last good one, and a line about each change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// The version that worked and was never shown wrong; it comes back when the present one fails for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<LastGood>,
    /// When other calls took the place of the ones before, oldest first; at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<VersionChange>,
}

/// A version that worked, with what was known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastGood {
    /// Its calls.
    pub procedure: Procedure,
    /// How far it was trusted.
    pub trust: Trust,
    /// Uses that had helped.
    pub help: u64,
    /// Uses that had harmed.
    pub harm: u64,
}

/// One change of calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionChange {
    /// The version that began with it.
    pub version: u32,
    /// When.
    pub at: Timestamp,
    /// The run that the calls are from.
    pub run: RunId,
    /// Why.
    pub why: String,
}

impl History {
    /// Notes a change; the oldest ones give way.
    pub(crate) fn note(&mut self, change: VersionChange) {
        self.changes.push(change);
        let surplus = self.changes.len().saturating_sub(MAX_CHANGES);
        self.changes.drain(..surplus);
    }

    /// Visits every free text of it.
    pub(crate) fn each_text(&mut self, visit: &impl Fn(&mut String)) {
        self.last_good.iter_mut().for_each(|good| good.procedure.each_text(visit));
        self.changes.iter_mut().for_each(|change| visit(&mut change.why));
    }
}
