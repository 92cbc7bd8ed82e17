//! The database of the older LearnKit for Python: known when it is met, and read without changing it.
//!
//! Its tables are `metadata`, `records` and a full-text index; the column `full_record` holds each record
//! as JSON. What the records mean is known to `learnkit_core::portable`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use learnkit_core::portable::OlderRow;
use learnkit_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::error::{Fault, Outcome, explain};
use crate::migrate::{APPLICATION_ID, Marks};

/// Rows are read in pages of this size.
const PAGE: usize = 500;
/// The only schema that was ever written.
const SCHEMA: &str = "1";

/// The records of an older database, in the order in which they were stored.
///
/// The file is opened for reading only and is never changed. It may be in use by the older LearnKit.
#[derive(Debug)]
pub struct OlderDatabase {
    connection: Connection,
    page: VecDeque<OlderRow>,
    /// The row that was read last.
    last: i64,
    is_done: bool,
}

impl OlderDatabase {
    /// Opens the database of an older LearnKit.
    ///
    /// # Errors
    /// `InvalidInput` for a database of this LearnKit or of another program, `Unsupported` for an unknown
    /// schema, `Corrupt` when it is damaged or no database, `Permission` when it may not be read,
    /// `Unavailable` when it cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let open = || -> Outcome<Self> {
            let connection = connect(path)?;
            check(&connection)?;
            Ok(Self { connection, page: VecDeque::new(), last: i64::MIN, is_done: false })
        };
        open().map_err(|fault| explain(fault).with_context("path", path.display()))
    }

    fn read_page(&mut self) -> Outcome<()> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT rowid, id, full_record FROM records WHERE rowid > ?1 ORDER BY rowid LIMIT ?2")?;
        let mut rows = statement.query((self.last, crate::row::limit(PAGE)))?;
        while let Some(row) = rows.next()? {
            self.last = row.get(0)?;
            let text = |column: usize| -> Outcome<Result<String, String>> {
                Ok(row.get_ref(column)?.as_str().map(str::to_owned).map_err(|error| error.to_string()))
            };
            let id = text(1)?.unwrap_or_else(|_| format!("of row {}", self.last));
            self.page.push_back(OlderRow { id, record: text(2)? });
        }
        self.is_done = self.page.is_empty();
        Ok(())
    }
}

impl Iterator for OlderDatabase {
    type Item = Result<OlderRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.is_empty()
            && !self.is_done
            && let Err(fault) = self.read_page()
        {
            self.is_done = true;
            return Some(Err(explain(fault)));
        }
        self.page.pop_front().map(Ok)
    }
}

/// Whether a database has the tables of an older LearnKit.
pub(crate) fn is_older(connection: &Connection) -> Outcome<bool> {
    let count: i64 = connection.query_row(
        "SELECT count(*) FROM pragma_table_info('records') WHERE name IN ('full_record', 'last_reinforced')
         AND EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'metadata')",
        [],
        |row| row.get(0),
    )?;
    Ok(count == 2)
}

fn check(connection: &Connection) -> Outcome<()> {
    let Marks { application, .. } = Marks::of(&connection.unchecked_transaction()?)?;
    if application == APPLICATION_ID {
        let message = "the file is a store of this LearnKit; `learnkit export FILE --backend sqlite:PATH` writes what can be imported";
        return Err(Error::invalid(message).into());
    }
    if !is_older(connection)? {
        return Err(Error::invalid("the file is a SQLite database of another program; name another file").into());
    }
    let schema = "SELECT value FROM metadata WHERE key = 'schema_version'";
    let schema: Option<String> = connection.query_row(schema, [], |row| row.get(0)).optional()?;
    match schema.as_deref() {
        None | Some(SCHEMA) => Ok(()),
        Some(other) => {
            let message =
                format!("the older database has schema {other} and this build reads only {SCHEMA}; export it there");
            Err(Error::new(ErrorKind::Unsupported, message).into())
        }
    }
}

/// Opens for reading. Where nothing lies beside the file nobody uses it, and it is read as it is: SQLite
/// would make files beside it otherwise.
fn connect(path: &Path) -> Outcome<Connection> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name).exists()
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = if beside("-wal") || beside("-shm") || beside("-journal") {
        Connection::open_with_flags(path, flags)
    } else {
        Connection::open_with_flags(unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI)
    };
    let connection = opened.map_err(|error| unreadable(path).unwrap_or(error.into()))?;
    connection.busy_timeout(crate::connection::BUSY)?;
    Ok(connection)
}

/// SQLite says only that it cannot open; the system knows when the reason is a permission.
fn unreadable(path: &Path) -> Option<Fault> {
    let error = std::fs::File::open(path).err()?;
    let is_denied = error.kind() == std::io::ErrorKind::PermissionDenied;
    let message = "the database file may not be read; check its permissions";
    is_denied.then(|| Error::new(ErrorKind::Permission, message).with_source(error).into())
}

/// The URI of a file that nobody changes.
fn unchanging(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = "file:".to_owned();
    for byte in absolute.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~') {
            uri.push(char::from(byte));
        } else {
            // A String takes every write.
            let _ = std::fmt::Write::write_fmt(&mut uri, format_args!("%{byte:02X}"));
        }
    }
    uri + "?immutable=1"
}
