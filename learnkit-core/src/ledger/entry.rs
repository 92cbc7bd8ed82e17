//! A run as the ledger keeps it: a few numbers, so that many runs fit into memory.

use std::collections::HashMap;
use std::hash::Hash;

use jiff::Timestamp;

use crate::record::{RecordId, RunId};
use crate::replay::Divergence;
use crate::run::{Arm, Mode, StoredRun, Verdict};

/// What memory did for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// It replayed a whole procedure.
    Replayed,
    /// A replay was begun and not brought to its end.
    Stopped,
    /// It gave a playbook.
    Guided,
    /// Nothing.
    Cold,
    /// Nothing, because the run was held out.
    HeldOut,
}

/// One run.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: RunId,
    pub(super) finished: Timestamp,
    pub(super) task: usize,
    pub(super) words: usize,
    pub(super) agent: usize,
    pub(super) how: How,
    pub(super) arm: Option<Arm>,
    /// What memory had for it, also where it was held out.
    pub(super) offered: Vec<usize>,
    /// The record that was replayed, or whose replay was begun, and what it did.
    pub(super) replay: Option<Begun>,
    /// The records of a playbook that were followed.
    pub(super) followed: Vec<usize>,
    pub(super) planning_calls: Option<u32>,
    pub(super) synthesis_calls: u32,
    pub(super) tokens: Option<u64>,
    pub(super) playbook_tokens: u64,
    /// The score of the gate from 0 to 1, or what somebody told later; absent where nobody knows.
    pub(super) score: Option<f64>,
    /// Whether it solved its task, as far as is known.
    pub(super) solved: Option<bool>,
}

/// A replay that was begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub(super) record: usize,
    pub(super) at_fault: bool,
    pub(super) calls: u64,
    pub(super) milliseconds: u64,
}

/// Numbers for what is named often.
#[derive(Debug)]
pub(super) struct Names<T> {
    numbers: HashMap<T, usize>,
}

impl<T: Hash + Eq> Names<T> {
    pub(super) fn new() -> Self {
        Self { numbers: HashMap::new() }
    }

    /// The number of a name, and whether it is new.
    pub(super) fn number(&mut self, name: T) -> (usize, bool) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(name).or_insert(next);
        (number, number == next)
    }
}

/// The numbers under which an entry stands.
pub(super) struct Place {
    pub(super) task: usize,
    pub(super) words: usize,
    pub(super) agent: usize,
}

impl Entry {
    /// The entry of a run; `number` gives the numbers of records.
    pub(super) fn of(
        run: &StoredRun,
        place: &Place,
        threshold: f64,
        mut number: impl FnMut(&RecordId) -> usize,
    ) -> Self {
        let begun = begun(run);
        let offered: Vec<usize> = run.offer.iter().flat_map(|offer| &offer.records).map(&mut number).collect();
        let note = run.replay.as_ref();
        let replay = begun.map(|record| Begun {
            record: number(record),
            at_fault: note.and_then(|note| note.stopped.as_ref()).is_some_and(Divergence::is_at_fault),
            calls: note.map_or(0, |note| u64::from(note.made)),
            milliseconds: note.map_or(0, |note| note.duration_ms),
        });
        let is_held_out = run.arm == Some(Arm::HoldOut);
        let how = match (&replay, run.mode) {
            _ if is_held_out => How::HeldOut,
            (Some(_), _) if run.replayed => How::Replayed,
            (Some(_), _) => How::Stopped,
            (None, Mode::Cold) => How::Cold,
            (None, _) => How::Guided,
        };
        let followed = if how == How::Guided { run.used.iter().map(number).collect() } else { Vec::new() };
        let is_guided = matches!(how, How::Guided);
        let playbook = run.offer.as_ref().filter(|_| is_guided).map_or(0, |offer| offer.playbook_tokens);
        let told = run.reports.last().map(|verdict| *verdict == Verdict::Success);
        Self {
            id: run.id.clone(),
            finished: run.finished,
            task: place.task,
            words: place.words,
            agent: place.agent,
            how,
            arm: run.arm,
            offered,
            replay,
            followed,
            planning_calls: run.planning_calls,
            synthesis_calls: run.synthesis_calls,
            tokens: run.tokens.map(crate::run::Tokens::total),
            playbook_tokens: u64::try_from(playbook).unwrap_or(u64::MAX),
            score: told.map(|success| f64::from(u8::from(success))).or(run.gate.score.map(|score| score / 5.0)),
            solved: told.or(run.gate.score.map(|score| score >= threshold)),
        }
    }

    /// The records it used, as far as is known: replayed, begun to be replayed, or followed.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> {
        self.replay.iter().map(|begun| begun.record).chain(self.followed.iter().copied())
    }

    /// Whether the use of a record did good or harm; neither where nobody knows, or a changed world is to blame.
    pub(super) fn helped(&self) -> Option<bool> {
        match (self.how, &self.replay) {
            (How::Stopped, Some(begun)) => begun.at_fault.then_some(false),
            _ => self.solved,
        }
    }
}

/// The record whose replay was begun. One that nobody carried out is none.
fn begun(run: &StoredRun) -> Option<&RecordId> {
    if let Some(replay) = &run.replay {
        let is_begun = run.replayed || replay.stopped.is_some() || replay.made > 0;
        return is_begun.then_some(&replay.record);
    }
    // Runs of before this was noted tell only of replays to the end.
    run.procedure.as_ref().or(run.used.first()).filter(|_| run.replayed)
}
