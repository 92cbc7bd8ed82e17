//! Records in SQL. Values are always bound; the text of a statement never depends on them.

use std::sync::LazyLock;

use jiff::Timestamp;
use learnkit_core::ErrorKind;
use learnkit_core::backend::{
    AgentFilter, Deletion, ExactQuery, Found, MaintainedPage, MaintenanceReport, Page, Put, RecordFilter, ScanRequest,
    SkippedRow,
};
use learnkit_core::lifecycle::{self, MaintenancePlan};
use learnkit_core::record::{Record, RecordId, Revision, SCHEMA_VERSION, Tenant};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use crate::error::{Fault, Outcome};
use crate::fts;
use crate::row::{Params, corrupt, decode, encode, limit, nanoseconds, optional};

/// What a record must meet; a parameter that is null asks for nothing.
pub(crate) const FILTER: &str = "records.tenant = :tenant
    AND (:scopes IS NULL OR scope IN (SELECT value FROM json_each(:scopes)))
    AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))
    AND (:only IS NULL OR agent = :only)
    AND (:except IS NULL OR agent <> :except)
    AND (status IN (SELECT value FROM json_each(:statuses)) OR (status = 'probation' AND scope = :probation_in))
    AND (:least IS NULL OR confidence >= :least)
    AND (:now IS NULL OR expires IS NULL OR expires > :now)";

static SCAN: LazyLock<String> =
    LazyLock::new(|| format!("SELECT body, id FROM records WHERE {FILTER} AND id > :after ORDER BY id LIMIT :limit"));

/// One key through the index; a task has one key for each readable scope, three at most.
pub(crate) const LOOKUP: &str = "SELECT body, id FROM records
     WHERE tenant = :tenant AND task_key = :key AND canonical = :canonical ORDER BY id";

/// Writes a record as its mode allows and returns the new revision.
pub(crate) fn put(connection: &Connection, put: Put) -> Outcome<Revision> {
    let stored = place(connection, &put.record)?;
    let record = put.over(stored.map(|place| place.revision).unwrap_or_default())?;
    match stored {
        Some(place) => replace(connection, place.row, &record)?,
        None => _ = add(connection, &record)?,
    }
    Ok(record.revision)
}

/// Where a record is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) row: i64,
    pub(crate) revision: Revision,
}

/// The row and revision of a record's id; absent when it is new.
pub(crate) fn place(connection: &Connection, record: &Record) -> Outcome<Option<Place>> {
    let mut statement = connection.prepare_cached("SELECT row, revision FROM records WHERE tenant = ?1 AND id = ?2")?;
    let place = statement.query_row([record.tenant.as_str(), record.id.as_str()], |row| {
        Ok(Place { row: row.get(0)?, revision: Revision(row.get(1)?) })
    });
    Ok(place.optional()?)
}

/// Writes a record with its own revision over the row that holds its id, and into the text index.
pub(crate) fn replace(connection: &Connection, row: i64, record: &Record) -> Outcome<()> {
    let mut statement = connection.prepare_cached(
        "UPDATE records SET revision = ?3, kind = ?4, scope = ?5, agent = ?6, status = ?7, confidence = ?8,
            expires = ?9, task_key = ?10, canonical = ?11, body = ?12
         WHERE row = ?13 AND tenant = ?1 AND id = ?2",
    )?;
    bind(&mut statement, record)?;
    statement.raw_bind_parameter(13, row)?;
    statement.raw_execute()?;
    fts::index(connection, row, &record.content.search_text())?;
    Ok(())
}

/// Writes a record with its own revision and its text; `false` when its id is stored already.
///
/// Without `RETURNING`: it would make SQLite open a savepoint, for which FTS5 writes out its index, so
/// that a bulk load took three times as long.
pub(crate) fn add(connection: &Connection, record: &Record) -> Outcome<bool> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO records (tenant, id, revision, kind, scope, agent, status, confidence, expires, task_key,
            canonical, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (tenant, id) DO NOTHING",
    )?;
    bind(&mut statement, record)?;
    let is_new = statement.raw_execute()? > 0;
    if is_new {
        fts::add(connection, connection.last_insert_rowid(), &record.content.search_text())?;
    }
    Ok(is_new)
}

/// Binds every column, in the order in which both statements name them.
fn bind(statement: &mut rusqlite::Statement<'_>, record: &Record) -> Outcome<()> {
    let values = params![
        record.tenant.as_str(),
        record.id.as_str(),
        record.revision.0,
        record.kind().as_str(),
        record.scope.to_string(),
        record.agent.as_str(),
        record.status.as_str(),
        record.confidence.get(),
        record.expires.map(nanoseconds),
        record.task.as_ref().map(|task| task.key.as_str()),
        record.task.as_ref().map(|task| task.canonical.as_str()),
        encode(record)?,
    ];
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}

/// A record by id.
pub(crate) fn get(connection: &Connection, tenant: &Tenant, id: &RecordId) -> Outcome<Option<Record>> {
    let mut statement = connection.prepare_cached("SELECT body FROM records WHERE tenant = ?1 AND id = ?2")?;
    let mut rows = statement.query([tenant.as_str(), id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(read(row)?.map_err(|reason| corrupt(id.as_str(), &reason))?))
}

/// Records by id, with those that cannot be read.
pub(crate) fn find(connection: &Connection, tenant: &Tenant, ids: &[RecordId]) -> Outcome<Found> {
    let mut found = Found::default();
    for id in ids {
        match get(connection, tenant, id) {
            Ok(record) => found.records.extend(record),
            Err(Fault::Explained(error)) if error.kind() == ErrorKind::Corrupt => found.unreadable.push(id.clone()),
            Err(fault) => return Err(fault),
        }
    }
    Ok(found)
}

/// Deletes records that are still as they were seen.
pub(crate) fn delete_many(connection: &Connection, tenant: &Tenant, deletions: &[Deletion]) -> Outcome<u64> {
    let mut stored = connection.prepare_cached("SELECT revision FROM records WHERE tenant = ?1 AND id = ?2")?;
    let mut deleted = 0;
    for Deletion { id, only } in deletions {
        if let Some(seen) = only {
            let now = stored.query_row([tenant.as_str(), id.as_str()], |row| row.get(0)).optional()?;
            if now != Some(seen.0) {
                continue;
            }
        }
        deleted += u64::from(delete(connection, tenant, id)?);
    }
    Ok(deleted)
}

/// Indexes up to `limit` records after a row number whose entry is missing or out of date; gives how many
/// they were and the row number to go on from. What cannot be read stays as it is.
pub(crate) fn reindex(connection: &Connection, after: i64, limit: i64) -> Outcome<(u64, Option<i64>)> {
    let mut statement =
        connection.prepare_cached("SELECT body, id, row FROM records WHERE row > ?1 ORDER BY row LIMIT ?2")?;
    let mut rows = statement.query([after, limit])?;
    let (mut changed, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        let number = row.get(2)?;
        last = Some(number);
        match read(row)? {
            Ok(record) => changed += u64::from(fts::index(connection, number, &record.content.search_text())?),
            Err(reason) => left_out(&row.get::<_, String>(1)?, &reason),
        }
    }
    Ok((changed, last))
}

/// Deletes a record with its index entry.
pub(crate) fn delete(connection: &Connection, tenant: &Tenant, id: &RecordId) -> Outcome<bool> {
    let mut statement = connection.prepare_cached("DELETE FROM records WHERE tenant = ?1 AND id = ?2 RETURNING row")?;
    let row = statement.query_row([tenant.as_str(), id.as_str()], |row| row.get(0)).optional()?;
    let Some(row) = row else { return Ok(false) };
    fts::remove(connection, row)?;
    Ok(true)
}

/// The records of exact tasks.
pub(crate) fn lookup(connection: &Connection, query: &ExactQuery) -> Outcome<Vec<Record>> {
    let mut statement = connection.prepare_cached(LOOKUP)?;
    let mut asked = std::collections::HashSet::new();
    let mut found = Vec::new();
    for key in query.keys.iter().filter(|key| asked.insert(*key)) {
        let tenant = query.tenant.as_str();
        let values = named_params! { ":tenant": tenant, ":key": key.as_str(), ":canonical": query.canonical };
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            match read(row)? {
                Ok(record) => found.push(record),
                Err(reason) => left_out(&row.get::<_, String>(1)?, &reason),
            }
        }
    }
    Ok(found)
}

/// The record of a row, if it can be read.
pub(crate) fn by_row(connection: &Connection, row: i64) -> Outcome<Option<Record>> {
    let mut statement = connection.prepare_cached("SELECT body, id FROM records WHERE row = ?1")?;
    let mut rows = statement.query([row])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    match read(row)? {
        Ok(record) => Ok(Some(record)),
        Err(reason) => {
            left_out(&row.get::<_, String>(1)?, &reason);
            Ok(None)
        }
    }
}

/// One page of all records.
pub(crate) fn scan(connection: &Connection, request: &ScanRequest) -> Outcome<Page<Record>> {
    let mut values = filter_values(&request.filter)?;
    let after = request.after.as_ref().map_or("", RecordId::as_str);
    values.push((":after", after.to_owned().into()));
    // One more row than asked for tells whether another page follows.
    values.push((":limit", limit(request.limit.saturating_add(1)).into()));
    let mut statement = connection.prepare_cached(&SCAN)?;
    let mut rows = statement.query(values.as_slice())?;
    let mut page = Page { items: Vec::new(), skipped: Vec::new(), next: None };
    let mut last = None;
    while let Some(row) = rows.next()? {
        if page.items.len() + page.skipped.len() == request.limit {
            page.next = last;
            break;
        }
        let id: String = row.get(1)?;
        match read(row)? {
            Ok(record) => page.items.push(record),
            Err(reason) => page.skipped.push(SkippedRow { id: id.clone(), reason }),
        }
        last = Some(id);
    }
    Ok(page)
}

/// Applies the passing of time to one page.
pub(crate) fn maintain(
    connection: &Connection,
    request: &ScanRequest,
    plan: &MaintenancePlan,
    now: Timestamp,
) -> Outcome<MaintainedPage> {
    let Page { items, skipped, next } = scan(connection, request)?;
    let mut done = MaintainedPage { report: MaintenanceReport { skipped, ..MaintenanceReport::default() }, next };
    for mut record in items {
        let change = lifecycle::maintain(&mut record, plan, now);
        if change.is_change() {
            record.revision = record.revision.next();
            move_on(connection, &record)?;
            done.report.count(change);
        }
    }
    Ok(done)
}

/// Writes what age changes; what is indexed for search stays.
fn move_on(connection: &Connection, record: &Record) -> Outcome<()> {
    let mut statement = connection.prepare_cached(
        "UPDATE records SET revision = :revision, status = :status, confidence = :confidence, body = :body
         WHERE tenant = :tenant AND id = :id",
    )?;
    statement.execute(named_params! {
        ":tenant": record.tenant.as_str(),
        ":id": record.id.as_str(),
        ":revision": record.revision.0,
        ":status": record.status.as_str(),
        ":confidence": record.confidence.get(),
        ":body": encode(record)?,
    })?;
    Ok(())
}

/// The record of a row whose first column is the body.
fn read(row: &Row<'_>) -> Outcome<Result<Record, String>> {
    Ok(decode::<Record>(row, 0)?.and_then(|record| match record.schema_version {
        version if version > SCHEMA_VERSION => {
            Err(format!("it has form {version} and this build knows up to {SCHEMA_VERSION}; update LearnKit"))
        }
        _ => Ok(record),
    }))
}

fn left_out(id: &str, reason: &str) {
    tracing::warn!(id, reason, "a stored record cannot be read and is left out");
}

pub(crate) fn filter_values(filter: &RecordFilter) -> Outcome<Params> {
    let (only, except) = match &filter.agents {
        AgentFilter::Any => (None, None),
        AgentFilter::Only(agent) => (Some(agent.to_string()), None),
        AgentFilter::Except(agent) => (None, Some(agent.to_string())),
    };
    let scopes = (!filter.scopes.is_empty()).then(|| encode(&filter.scopes)).transpose()?;
    let kinds = (!filter.kinds.is_empty()).then(|| encode(&filter.kinds)).transpose()?;
    Ok(vec![
        (":tenant", filter.tenant.to_string().into()),
        (":scopes", optional(scopes)),
        (":kinds", optional(kinds)),
        (":only", optional(only)),
        (":except", optional(except)),
        (":statuses", encode(&filter.visibility.statuses)?.into()),
        (":probation_in", optional(filter.visibility.probation_in.as_ref().map(ToString::to_string))),
        (":least", optional(filter.min_confidence.map(learnkit_core::record::Confidence::get))),
        (":now", optional(filter.valid_at.map(nanoseconds))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::plan;

    #[test]
    fn a23_lookup_goes_through_the_index_of_task_keys() {
        let plan = plan(LOOKUP);
        assert!(plan.contains("SEARCH records USING INDEX records_by_task (tenant=? AND task_key=?)"), "{plan}");
    }

    #[test]
    fn scan_goes_through_the_ids() {
        let scan = plan(&SCAN);
        assert!(scan.contains("SEARCH records USING INDEX sqlite_autoindex_records_1 (tenant=? AND id>?)"), "{scan}");
        assert!(!scan.contains("TEMP B-TREE"), "{scan}");
    }
}
