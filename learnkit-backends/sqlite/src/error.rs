//! SQLite's errors as LearnKit's: the only place that reads an error code.

use learnkit_core::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// What can go wrong in a job: SQLite's own error, or one that is explained already.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Explained(Error),
}

/// The outcome of a job on a connection.
pub(crate) type Outcome<T> = Result<T, Fault>;

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Explained(error)
    }
}

/// The error that callers see.
pub(crate) fn explain(fault: Fault) -> Error {
    let error = match fault {
        Fault::Explained(error) => return error,
        Fault::Sql(error) => error,
    };
    let (kind, message, retryable) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            (ErrorKind::Unavailable, "the database is locked by another process; try again", true)
        }
        Some(ErrorCode::DiskFull) => (ErrorKind::Unavailable, "the disk is full; free space and try again", true),
        Some(ErrorCode::SystemIoFailure) => (
            ErrorKind::Unavailable,
            "the database file cannot be read or written; check the disk and its free space",
            true,
        ),
        Some(ErrorCode::CannotOpen) => {
            (ErrorKind::Unavailable, "the database file cannot be opened; check the path and its permissions", false)
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            (ErrorKind::Permission, "the database file is read-only; make it and its folder writable", false)
        }
        Some(ErrorCode::NotADatabase) => {
            (ErrorKind::Corrupt, "the file is not a SQLite database; name another file", false)
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            (ErrorKind::Corrupt, "the database is damaged; restore a backup or export what `sqlite3` recovers", false)
        }
        Some(ErrorCode::TooBig) => {
            (ErrorKind::InvalidInput, "the text is longer than SQLite stores (1 GB); shorten it", false)
        }
        _ => (ErrorKind::Internal, "SQLite refused a statement", false),
    };
    let explained = Error::new(kind, message).with_source(error);
    if retryable { explained.retryable() } else { explained }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn of(code: i32) -> (ErrorKind, bool) {
        let error = explain(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into());
        (error.kind(), error.is_retryable())
    }

    #[test]
    fn every_code_that_a_user_can_meet_has_its_kind() {
        assert_eq!(of(ffi::SQLITE_BUSY), (ErrorKind::Unavailable, true));
        assert_eq!(of(ffi::SQLITE_LOCKED), (ErrorKind::Unavailable, true));
        assert_eq!(of(ffi::SQLITE_FULL), (ErrorKind::Unavailable, true));
        assert_eq!(of(ffi::SQLITE_IOERR), (ErrorKind::Unavailable, true));
        assert_eq!(of(ffi::SQLITE_CANTOPEN), (ErrorKind::Unavailable, false));
        assert_eq!(of(ffi::SQLITE_READONLY), (ErrorKind::Permission, false));
        assert_eq!(of(ffi::SQLITE_PERM), (ErrorKind::Permission, false));
        assert_eq!(of(ffi::SQLITE_NOTADB), (ErrorKind::Corrupt, false));
        assert_eq!(of(ffi::SQLITE_CORRUPT), (ErrorKind::Corrupt, false));
        assert_eq!(of(ffi::SQLITE_TOOBIG), (ErrorKind::InvalidInput, false));
        assert_eq!(of(ffi::SQLITE_ERROR), (ErrorKind::Internal, false));
    }
}
