//! Compacting the file, bringing the text index up to date, and telling how the store is doing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use learnkit_core::backend::{Health, Vacuumed};
use learnkit_core::{Error, ErrorKind};
use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Outcome, explain};
use crate::records;

/// So many records are indexed in one transaction, so that other writers get their turn.
const PAGE: i64 = 500;
/// At most so many faults of the file are named.
const FAULTS: i64 = 3;

/// Indexes what the index lacks, and gives freed space back.
pub(crate) fn vacuum(connection: &mut Connection, path: Option<&Path>) -> Outcome<Vacuumed> {
    let bytes_before = bytes(connection, path)?;
    let reindexed = reindex(connection)?;
    connection.execute("INSERT INTO records_fts (records_fts) VALUES ('optimize')", [])?;
    connection.execute_batch("VACUUM")?;
    empty_log(connection)?;
    Ok(Vacuumed { bytes_before, bytes_after: bytes(connection, path)?, reindexed })
}

/// Rebuilds what is missing or out of date in the text index, through the code that every put uses.
fn reindex(connection: &mut Connection) -> Outcome<u64> {
    let mut reindexed = 0;
    let mut after = Some(i64::MIN);
    while let Some(row) = after {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (changed, last) = records::reindex(&transaction, row, PAGE)?;
        transaction.commit()?;
        reindexed += changed;
        after = last;
    }
    connection.execute("DELETE FROM records_fts WHERE rowid NOT IN (SELECT row FROM records)", [])?;
    Ok(reindexed)
}

/// Moves the write-ahead log into the file and truncates it; only then the file gets smaller.
fn empty_log(connection: &Connection) -> Outcome<()> {
    let is_busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if is_busy {
        let message = "the file is compacted, but another process reads its old form, so that it could not shrink yet; \
                       try again when it is done";
        return Err(Error::new(ErrorKind::Unavailable, message).retryable().into());
    }
    Ok(())
}

/// The size on the disk, or in memory where there is no file.
fn bytes(connection: &Connection, path: Option<&Path>) -> Outcome<u64> {
    let Some(path) = path else {
        return Ok(number(connection, "page_count")? * number(connection, "page_size")?);
    };
    let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
    let mut log = OsString::from(path);
    log.push("-wal");
    Ok(size(path.to_owned()) + size(log.into()))
}

fn number(connection: &Connection, pragma: &str) -> Outcome<u64> {
    Ok(connection.pragma_query_value(None, pragma, |row| row.get(0))?)
}

/// Mode, schema, size and faults.
pub(crate) fn health(connection: &mut Connection, path: Option<&Path>) -> Outcome<Health> {
    let mut health = Health {
        schema: Some(number(connection, "user_version")?),
        bytes: Some(bytes(connection, path)?),
        ..Health::default()
    };
    let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let free = number(connection, "freelist_count")? * number(connection, "page_size")?;
    let details = [("journal_mode", journal), ("free_bytes", free.to_string())];
    health.details = details.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    health.problems = faults(connection)?;
    let asked =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(rusqlite::Transaction::rollback);
    health.writable = Some(asked.is_ok());
    health.problems.extend(asked.err().map(|error| explain(error.into()).chain()));
    Ok(health)
}

/// Damage to the file, and records that search cannot find.
fn faults(connection: &Connection) -> Outcome<Vec<String>> {
    let mut check = connection.prepare(&format!("PRAGMA quick_check({FAULTS})"))?;
    let lines = check.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let damage = lines.into_iter().filter(|line| line != "ok");
    let mut faults: Vec<String> =
        damage.map(|line| format!("the database is damaged; restore a backup: {line}")).collect();
    let unindexed = "SELECT count(*) FROM records WHERE row NOT IN (SELECT rowid FROM records_fts)";
    let unindexed: u64 = connection.query_row(unindexed, [], |row| row.get(0))?;
    if unindexed > 0 {
        faults.push(format!(
            "the text index lacks {unindexed} records; `learnkit vacuum` indexes those that can be read"
        ));
    }
    Ok(faults)
}
