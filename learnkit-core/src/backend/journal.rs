//! What a store is asked about journals, and what it answers.
//!
//! The rules stand here once, so that every store decides alike.

use jiff::Timestamp;

use crate::record::{RunId, Tenant};
use crate::run::{Journal, JournalStep, Lease, OpenRun};

/// One write to the journal of a run: all of it is stored, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalWrite {
    /// The isolation boundary.
    pub tenant: Tenant,
    /// The run.
    pub run: RunId,
    /// Makes the journal where there is none; absent when it has to be there.
    pub begin: Option<OpenRun>,
    /// The token of the session that writes, and how long it holds the run from now on.
    pub lease: Lease,
    /// Steps to add, or to replace by their number.
    pub steps: Vec<JournalStep>,
}

/// What became of a [`JournalWrite`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Journaled {
    /// Stored, and durable where the store is.
    Written,
    /// Another session has taken the run; nothing was written.
    Held(Lease),
    /// The run is finished; nothing was written.
    Finished,
    /// There is no journal, and the write was not to begin one.
    Missing,
}

impl Journaled {
    /// What keeps a write from being made over what is stored; `Written` where nothing does. Stores call it for
    /// each write, so that all refuse alike.
    pub fn over(write: &JournalWrite, stored: Option<&Lease>, is_finished: bool) -> Self {
        match stored {
            _ if is_finished => Self::Finished,
            Some(lease) if lease.owner != write.lease.owner => Self::Held(lease.clone()),
            None if write.begin.is_none() => Self::Missing,
            _ => Self::Written,
        }
    }
}

/// A session that wants to go on with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeJournal {
    /// The isolation boundary.
    pub tenant: Tenant,
    /// The run.
    pub run: RunId,
    /// The token of the session, and how long it will hold the run.
    pub lease: Lease,
    /// The time: a lease that another session holds then is respected.
    pub now: Timestamp,
    /// Whether to take it from a session that still holds it.
    pub from: TakeFrom,
}

/// From whom a run may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TakeFrom {
    /// From nobody: only when its lease has run out.
    Nobody,
    /// From whoever holds it, because the caller knows that it is dead.
    Anybody,
}

/// What became of a [`TakeJournal`].
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// The run is the session's now.
    Journal(Box<Journal>),
    /// Another session holds it.
    Held(Lease),
    /// The run is finished.
    Finished,
    /// No run of this id is known.
    Missing,
}

impl TakeJournal {
    /// Whether a lease that is stored gives way.
    pub fn may_take(&self, stored: &Lease) -> bool {
        self.from == TakeFrom::Anybody || stored.owner == self.lease.owner || !stored.is_held(self.now)
    }
}
