//! Opening connections and setting them up.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use learnkit_core::registry::OpenMode;
use learnkit_core::{Error, ErrorKind, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Fault, Outcome, explain};
use crate::migrate::{check, migrate};

/// How long a statement waits for another process.
pub(crate) const BUSY: Duration = Duration::from_secs(5);
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
            Self::File(path) => open_file(path, mode).map_err(|fault| refusal(path, fault)),
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
    must_be_writable(&writer)?;
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
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait_for_lock))?;
    // Without it SQLite plans a statement anew when its parameters change, at several times the cost of a lookup.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

thread_local! {
    /// When the statement of this thread began to wait.
    static WAITING: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Whether a statement waits for a lock once more.
///
/// SQLite's own handler soon asks only ten times a second. On a disk that takes 4 ms to sync, a busy writer
/// frees the lock for a few percent of the time, and 7 of 16 processes asked in vain for all their time.
fn wait_for_lock(times: i32) -> bool {
    let now = Instant::now();
    let since = WAITING.get().filter(|_| times > 0).unwrap_or(now);
    WAITING.set(Some(since));
    if now.duration_since(since) >= BUSY {
        return false;
    }
    // Short steps at first; then uneven ones, so that processes do not keep asking at the same moments.
    let uneven = u64::from(std::process::id()).wrapping_mul(7_919).wrapping_add(u64::from(times.unsigned_abs()) * 131);
    let step = if times < 3 { 1_000 << times } else { 5_000 + uneven % 10_000 };
    std::thread::sleep(Duration::from_micros(step));
    true
}

/// Why a file could not be opened. SQLite says only that it cannot; the system knows when the reason is a
/// permission.
fn refusal(path: &Path, fault: Fault) -> Error {
    let unclear = matches!(&fault, Fault::Sql(error) if matches!(error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure)));
    let denied = if unclear { denied(path) } else { None };
    denied.unwrap_or_else(|| explain(fault)).with_context("path", path.display())
}

fn denied(path: &Path) -> Option<Error> {
    let refused =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    let denial = |message: &str, error| Error::new(ErrorKind::Permission, message).with_source(error);
    if let Err(error) = OpenOptions::new().read(true).write(true).open(path)
        && refused(&error)
    {
        return Some(denial("the database file may not be read and written; check its permissions", error));
    }
    let folder = path.parent()?;
    // The only sure way to know is to try; the name is this process's own.
    let probe = folder.join(format!(".learnkit-probe-{}", std::process::id()));
    match OpenOptions::new().write(true).create_new(true).open(&probe) {
        Err(error) if refused(&error) => {
            let message =
                "the folder of the database may not be written, and SQLite keeps its log there; check its permissions";
            Some(denial(message, error))
        }
        Err(_) => None,
        Ok(_) => {
            // A leftover would be an empty file; nothing else depends on it.
            let _ = std::fs::remove_file(probe);
            None
        }
    }
}

fn must_exist(path: &Path, way_out: &str) -> Outcome<()> {
    if path.exists() { Ok(()) } else { Err(Error::new(ErrorKind::NotFound, way_out).into()) }
}

/// SQLite opens a file that it may not write for reading, and says so only at the first write.
fn must_be_writable(connection: &Connection) -> Outcome<()> {
    let message = "the database file is read-only; make it and its folder writable";
    if connection.is_readonly("main")? { Err(Error::new(ErrorKind::Permission, message).into()) } else { Ok(()) }
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
