//! Reading single rows on the caller's own thread.
//!
//! Waking a thread and being woken costs several times what a row through an index costs
//! (`learnkit-benchmarks cost`). Only reads of a few rows come here, and none of them waits: not for
//! another reader, not for another process.

use std::sync::{Mutex, TryLockError};

use rusqlite::{Connection, ErrorCode};

use crate::error::{Fault, Outcome};

/// A connection that whoever asks may use, one at a time.
#[derive(Debug)]
pub(crate) struct Near {
    connection: Mutex<Connection>,
}

impl Near {
    /// Takes a connection without a busy timeout.
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection: Mutex::new(connection) }
    }

    /// Reads now, or gives nothing when that would mean waiting.
    pub(crate) fn try_read<T>(&self, job: impl FnOnce(&Connection) -> Outcome<T>) -> Option<Outcome<T>> {
        let connection = match self.connection.try_lock() {
            Ok(connection) => connection,
            // A job that panicked has left nothing half-done: it only read.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let outcome = job(&connection);
        let is_busy =
            matches!(&outcome, Err(Fault::Sql(error)) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy));
        (!is_busy).then_some(outcome)
    }
}
