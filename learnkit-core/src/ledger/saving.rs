//! What was saved: what the same task needed when it was planned, less what this run needed.
//!
//! Nothing is claimed for a run that did not solve its task or whose replay stopped; what such a run needed
//! beyond the planned one is charged. Where nobody counted, the figure is absent, never 0.

use serde::{Deserialize, Serialize};

use super::entry::{Entry, How};
use super::rate::as_f64;

/// What memory saved of one thing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saving {
    /// How much less was needed; below 0 more was. Absent where nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<f64>,
    /// The runs that memory had a part in for which it is known.
    pub known: u64,
    /// Those for which it is not: nobody counted, or the task was never planned.
    pub unknown: u64,
}

impl Saving {
    /// Counts one run that memory had a part in; `share` of it is claimed.
    pub(super) fn add(&mut self, saved: Option<f64>, share: f64) {
        match saved {
            Some(saved) => {
                *self.saved.get_or_insert(0.0) += saved * share;
                self.known += 1;
            }
            None => self.unknown += 1,
        }
    }
}

/// A mean on its way.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / as_f64(self.count))
    }
}

/// What a task needs when it is planned.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Need {
    cold: Mean,
    guided: Mean,
}

impl Need {
    /// Learns from a run that was planned throughout and solved its task.
    pub(super) fn learn(&mut self, entry: &Entry, needed: Option<f64>) {
        let (Some(needed), Some(true)) = (needed, entry.solved) else { return };
        match entry.how {
            How::Cold | How::HeldOut => self.cold.add(needed),
            How::Guided => self.guided.add(needed),
            How::Replayed | How::Stopped => {}
        }
    }

    /// What the task needs without memory; with a playbook where it was never planned without.
    pub(super) fn planned(&self) -> Option<f64> {
        self.cold.get().or(self.guided.get())
    }

    /// What a run saved, given what it needed. Absent for a run that memory had no part in.
    pub(super) fn saved(&self, entry: &Entry, needed: Option<f64>) -> Option<f64> {
        let planned = if entry.how == How::Guided { self.cold.get() } else { self.planned() };
        let saved = planned? - needed?;
        let may_claim = entry.how != How::Stopped && entry.solved == Some(true);
        Some(if may_claim { saved } else { saved.min(0.0) })
    }
}

/// The calls of the planner that a run needed; absent where nobody counted.
pub(super) fn calls_needed(entry: &Entry) -> Option<f64> {
    entry.planning_calls.map(|calls| f64::from(calls) + f64::from(entry.synthesis_calls))
}

/// The tokens of the planner that a run needed; absent where nobody told.
pub(super) fn tokens_needed(entry: &Entry) -> Option<f64> {
    entry.tokens.map(as_f64)
}
