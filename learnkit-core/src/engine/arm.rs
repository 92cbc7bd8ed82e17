//! The arms of a comparison: a share of the runs skips memory (`holdout_rate`), and what memory would have
//! done is kept with them, so that like is compared with like.

use super::LearnKit;
use super::choose::Choice;
use crate::hash::Fingerprint;
use crate::record::RunId;
use crate::run::{Arm, Mode, Offer};

/// One more than the greatest hash of a run id that [`LearnKit::arm`] takes.
const HASHES: f64 = 4_294_967_296.0;

impl LearnKit {
    /// The arm of a run, by a hash of its id alone: a repeat is in the same arm, and nothing about the task
    /// or its outcome has a say. Absent where no share is held out.
    pub(super) fn arm(&self, run: &RunId) -> Option<Arm> {
        let rate = self.inner.settings.holdout_rate;
        if rate <= 0.0 {
            return None;
        }
        let hash = Fingerprint::new("holdout").part(run.as_str()).hex();
        let hash = hash.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(u32::MAX);
        Some(if f64::from(hash) / HASHES < rate { Arm::HoldOut } else { Arm::Memory })
    }
}

impl Choice {
    /// What memory has for the run.
    pub(super) fn offer(&self) -> Option<Offer> {
        let playbook = &self.guidance.playbook;
        let (records, playbook_tokens) = match (&self.record, self.mode) {
            (Some(record), Mode::Replay) => (vec![record.id.clone()], 0),
            (_, Mode::Guide) => (playbook.records.clone(), playbook.tokens),
            _ => return None,
        };
        Some(Offer { mode: self.mode, records, playbook_tokens })
    }

    /// The same run planned without memory. Nothing that was found is left for it to use; what it teaches is
    /// compared with the other procedures of the task as ever.
    pub(super) fn held_out(self) -> Self {
        let cold = Self::cold(self.today, "the run is in the hold-out arm");
        Self { siblings: self.siblings, warnings: self.warnings, ..cold }
    }
}
