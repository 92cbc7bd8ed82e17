//! Opening connections and setting them up.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use learnkit_core::registry::OpenMode;
use learnkit_core::{Error, ErrorKind, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Fault, Outcome, explain};
use crate::migrate::{check, migrate};

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(5);
/// Statements kept prepared; more than the store has.
const STATEMENTS: usize = 32;
const READERS: usize = 2;

/// Where a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Memory,
    File(PathBuf),
}

/// The connections of a store; without readers the writer reads too.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) writer: Connection,
    pub(crate) readers: Vec<Connection>,
    /// Reads single rows where they are asked for, and never waits.
    pub(crate) near: Option<Connection>,
}

impl Location {
    /// `:memory:` or a path.
    pub(crate) fn parse(path: &Path) -> Result<Self> {
        if path.as_os_str().is_empty() {
            let message = "the URI names no file; write `sqlite:learnkit.db` or `sqlite::memory:`";
            return Err(Error::new(ErrorKind::Config, message));
        }
        Ok(if path == Path::new(":memory:") { Self::Memory } else { Self::File(path.to_owned()) })
    }

    /// Opens and migrates the database.
    pub(crate) fn open(&self, mode: OpenMode) -> Result<Connections> {
        match self {
            Self::Memory => open_memory(mode),
            Self::File(path) => {
                open_file(path, mode).map_err(|fault| explain(fault).with_context("path", path.display()))
            }
        }
        .map_err(|error| error.with_operation("open"))
    }
}

fn open_memory(mode: OpenMode) -> Result<Connections> {
    if mode == OpenMode::ExistingOnly {
        let message = "a store in memory starts empty, so there is none to open; name a file";
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    let open = || -> Outcome<Connections> {
        let mut writer = Connection::open_in_memory()?;
        writer.set_prepared_statement_cache_capacity(STATEMENTS);
        migrate(&mut writer)?;
        Ok(Connections { writer, readers: Vec::new(), near: None })
    };
    open().map_err(explain)
}

fn open_file(path: &Path, mode: OpenMode) -> Outcome<Connections> {
    // No SQLITE_OPEN_URI: a path that starts with `file:` is a path.
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match mode {
        OpenMode::CreateIfMissing => flags |= OpenFlags::SQLITE_OPEN_CREATE,
        OpenMode::ExistingOnly => must_exist(path, "there is no database; check the path or run something first")?,
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        must_exist(folder, "the folder of the database does not exist; make it first")?;
    }
    let mut writer = connect(path, flags)?;
    check(&writer)?;
    let wal = switch_to_wal(&writer)?;
    if wal != "wal" {
        let message = "the file system does not support SQLite's write-ahead log; use a local disk";
        return Err(Error::new(ErrorKind::Unsupported, message).with_context("journal_mode", wal).into());
    }
    // FULL: a commit is acknowledged when it is on the disk, not when the system has buffered it.
    writer.pragma_update(None, "synchronous", "FULL")?;
    writer.pragma_update(None, "secure_delete", true)?;
    migrate(&mut writer)?;
    let readers = (0..READERS).map(|_| open_reader(path)).collect::<Outcome<_>>()?;
    let near = open_reader(path)?;
    near.busy_timeout(Duration::ZERO)?;
    Ok(Connections { writer, readers, near: Some(near) })
}

fn open_reader(path: &Path) -> Outcome<Connection> {
    let reader = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    reader.pragma_update(None, "query_only", true)?;
    Ok(reader)
}

fn connect(path: &Path, flags: OpenFlags) -> Outcome<Connection> {
    let connection = Connection::open_with_flags(path, flags).map_err(|error| denied(path).unwrap_or(error.into()))?;
    connection.busy_timeout(BUSY)?;
    // Without it SQLite plans a statement anew when its parameters change, at several times the cost of a lookup.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// SQLite says only that it cannot open; the system knows when the reason is a permission.
fn denied(path: &Path) -> Option<Fault> {
    let error = std::fs::File::open(path).err()?;
    let denied = error.kind() == std::io::ErrorKind::PermissionDenied;
    let message = "the database file may not be opened; check its permissions";
    denied.then(|| Error::new(ErrorKind::Permission, message).with_source(error).into())
}

fn must_exist(path: &Path, way_out: &str) -> Outcome<()> {
    if path.exists() { Ok(()) } else { Err(Error::new(ErrorKind::NotFound, way_out).into()) }
}

/// Two processes that switch at once do not wait for each other: SQLite skips the busy timeout there.
fn switch_to_wal(connection: &Connection) -> Outcome<String> {
    let deadline = Instant::now() + BUSY;
    loop {
        let switched = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        let busy = |error: &rusqlite::Error| error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy);
        match switched {
            Err(error) if busy(&error) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return Ok(other?),
        }
    }
}
