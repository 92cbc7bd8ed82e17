//! Loading many records and runs in one transaction of the writer.

use learnkit_core::backend::{Fate, LoadItem, LoadItems, Loaded, OnExisting, same_record};
use learnkit_core::record::{Record, Revision};
use learnkit_core::run::StoredRun;
use rusqlite::{Connection, params};

use crate::error::Outcome;
use crate::records::Place;
use crate::row::decode;
use crate::{records, runs};

/// Pulls the items and writes each at once; the caller's transaction makes it all or nothing.
pub(crate) fn load(connection: &Connection, items: LoadItems, existing: OnExisting) -> Outcome<Loaded> {
    let mut loaded = Loaded::default();
    for item in items {
        match item? {
            LoadItem::Record(mut record) => {
                let fate = load_record(connection, &mut record, existing)?;
                loaded.count_record(fate, &record.id);
            }
            LoadItem::Run(run) => loaded.count_run(load_run(connection, &run, existing)?, &run.id),
        }
    }
    Ok(loaded)
}

fn load_record(connection: &Connection, record: &mut Record, existing: OnExisting) -> Outcome<Fate> {
    record.revision = Revision::default().next();
    if records::add(connection, record)? {
        return Ok(Fate::Added);
    }
    let Some(Place { row, revision }) = records::place(connection, record)? else { return Ok(Fate::Kept) };
    // A row that cannot be read is another content.
    let stored = records::by_row(connection, row)?;
    let fate = existing.fate(stored.is_some_and(|stored| same_record(&stored, record)));
    if fate == Fate::Replaced {
        record.revision = revision.next();
        records::replace(connection, row, record)?;
    }
    Ok(fate)
}

fn load_run(connection: &Connection, run: &StoredRun, existing: OnExisting) -> Outcome<Fate> {
    if runs::insert(connection, run)? {
        return Ok(Fate::Added);
    }
    let mut stored = connection.prepare_cached("SELECT body FROM runs WHERE tenant = ?1 AND id = ?2")?;
    let mut rows = stored.query(params![run.tenant.as_str(), run.id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(Fate::Kept) };
    let same = decode::<StoredRun>(row, 0)?.is_ok_and(|stored| stored == *run);
    let fate = existing.fate(same);
    if fate == Fate::Replaced {
        runs::update(connection, run)?;
    }
    Ok(fate)
}
