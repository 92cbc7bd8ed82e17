//! Journals of open runs in SQL.

use jiff::Timestamp;
use learnkit_core::backend::{JournalWrite, Journaled, Page, SkippedRow, TakeJournal, Taken};
use learnkit_core::record::{RunId, Tenant};
use learnkit_core::run::{Journal, JournalStep, Lease, OpenRun};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::Outcome;
use crate::row::{corrupt, decode, encode, limit, nanoseconds};

/// An open run: its row, and who holds it.
struct Held {
    row: i64,
    lease: Lease,
}

/// Writes steps and renews the lease.
pub(crate) fn write(connection: &Connection, write: &JournalWrite) -> Outcome<Journaled> {
    let stored = held(connection, &write.tenant, &write.run)?;
    // An open run is not finished: storing a run deletes its journal.
    let is_finished = stored.is_none() && is_finished(connection, &write.tenant, &write.run)?;
    let journaled = Journaled::over(write, stored.as_ref().map(|held| &held.lease), is_finished);
    if journaled != Journaled::Written {
        return Ok(journaled);
    }
    let row = match (stored, &write.begin) {
        (Some(held), _) => renew(connection, held.row, &write.lease)?,
        (None, Some(run)) => begin(connection, write, run)?,
        (None, None) => return Ok(Journaled::Missing),
    };
    let mut put = connection.prepare_cached(
        "INSERT INTO open_steps (run, number, body) VALUES (?1, ?2, ?3)
         ON CONFLICT (run, number) DO UPDATE SET body = excluded.body",
    )?;
    for step in &write.steps {
        put.execute(params![row, step.number, encode(step)?])?;
    }
    Ok(Journaled::Written)
}

fn begin(connection: &Connection, write: &JournalWrite, run: &OpenRun) -> Outcome<i64> {
    let mut begin = connection
        .prepare_cached("INSERT INTO open_runs (tenant, id, owner, until, body) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let JournalWrite { tenant, run: id, lease, .. } = write;
    Ok(begin.insert(params![tenant.as_str(), id.as_str(), lease.owner, nanoseconds(lease.until), encode(run)?])?)
}

fn renew(connection: &Connection, row: i64, lease: &Lease) -> Outcome<i64> {
    let mut renew = connection.prepare_cached("UPDATE open_runs SET owner = ?2, until = ?3 WHERE row = ?1")?;
    renew.execute(params![row, lease.owner, nanoseconds(lease.until)])?;
    Ok(row)
}

/// Gives a run to another session where its lease allows it.
pub(crate) fn take(connection: &Connection, take: &TakeJournal) -> Outcome<Taken> {
    let TakeJournal { tenant, run, lease, .. } = take;
    let Some(held) = held(connection, tenant, run)? else {
        return Ok(if is_finished(connection, tenant, run)? { Taken::Finished } else { Taken::Missing });
    };
    if !take.may_take(&held.lease) {
        return Ok(Taken::Held(held.lease));
    }
    renew(connection, held.row, lease)?;
    let journal = get(connection, tenant, run)?;
    Ok(journal.map_or(Taken::Missing, |journal| Taken::Journal(Box::new(journal))))
}

/// The journal of a run.
pub(crate) fn get(connection: &Connection, tenant: &Tenant, id: &RunId) -> Outcome<Option<Journal>> {
    let mut statement =
        connection.prepare_cached("SELECT row, owner, until, body FROM open_runs WHERE tenant = ?1 AND id = ?2")?;
    let mut rows = statement.query([tenant.as_str(), id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(journal(connection, row, 0)?.map_err(|reason| corrupt(id.as_str(), &reason))?))
}

/// One page of journals, by run id.
pub(crate) fn list(
    connection: &Connection,
    tenant: &Tenant,
    after: Option<&RunId>,
    count: usize,
) -> Outcome<Page<Journal>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, row, owner, until, body FROM open_runs WHERE tenant = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
    )?;
    // No id is empty, so every id is beyond the empty text. One more row tells whether another page follows.
    let after = after.map_or("", RunId::as_str);
    let mut rows = statement.query(params![tenant.as_str(), after, limit(count.saturating_add(1))])?;
    let mut page = Page { items: Vec::new(), skipped: Vec::new(), next: None };
    let mut last: Option<String> = None;
    while let Some(row) = rows.next()? {
        if page.items.len() + page.skipped.len() == count {
            page.next = last;
            break;
        }
        let id: String = row.get(0)?;
        match journal(connection, row, 1)? {
            Ok(journal) => page.items.push(journal),
            Err(reason) => page.skipped.push(SkippedRow { id: id.clone(), reason }),
        }
        last = Some(id);
    }
    Ok(page)
}

/// Deletes a journal with its steps.
pub(crate) fn delete(connection: &Connection, tenant: &Tenant, id: &RunId) -> Outcome<bool> {
    let Some(Held { row, .. }) = held(connection, tenant, id)? else { return Ok(false) };
    connection.prepare_cached("DELETE FROM open_steps WHERE run = ?1")?.execute([row])?;
    Ok(connection.prepare_cached("DELETE FROM open_runs WHERE row = ?1")?.execute([row])? > 0)
}

fn held(connection: &Connection, tenant: &Tenant, id: &RunId) -> Outcome<Option<Held>> {
    let mut statement =
        connection.prepare_cached("SELECT row, owner, until FROM open_runs WHERE tenant = ?1 AND id = ?2")?;
    let held = statement.query_row([tenant.as_str(), id.as_str()], |row| {
        Ok(Held { row: row.get(0)?, lease: Lease { owner: row.get(1)?, until: time(row.get(2)?) } })
    });
    Ok(held.optional()?)
}

fn is_finished(connection: &Connection, tenant: &Tenant, id: &RunId) -> Outcome<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM runs WHERE tenant = ?1 AND id = ?2")?;
    Ok(statement.exists([tenant.as_str(), id.as_str()])?)
}

/// The journal whose row, owner, time and body stand in columns from `first` on, or why it cannot be read.
fn journal(connection: &Connection, row: &rusqlite::Row<'_>, first: usize) -> Outcome<Result<Journal, String>> {
    let number: i64 = row.get(first)?;
    let lease = Lease { owner: row.get(first + 1)?, until: time(row.get(first + 2)?) };
    let run: OpenRun = match decode(row, first + 3)? {
        Ok(run) => run,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut statement = connection.prepare_cached("SELECT body FROM open_steps WHERE run = ?1 ORDER BY number")?;
    let mut rows = statement.query([number])?;
    let mut steps: Vec<JournalStep> = Vec::new();
    while let Some(row) = rows.next()? {
        match decode(row, 0)? {
            Ok(step) => steps.push(step),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    Ok(Ok(Journal { run, lease, steps }))
}

fn time(nanoseconds: i64) -> Timestamp {
    let limit = if nanoseconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_nanosecond(i128::from(nanoseconds)).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use crate::migrate::plan;

    #[test]
    fn steps_and_open_runs_go_through_their_keys() {
        let steps = plan("SELECT body FROM open_steps WHERE run = ?1 ORDER BY number");
        assert_eq!(steps, "SEARCH open_steps USING PRIMARY KEY (run=?)");
        let run = plan("SELECT row, owner, until FROM open_runs WHERE tenant = ?1 AND id = ?2");
        assert!(run.starts_with("SEARCH open_runs USING INDEX") && run.ends_with("(tenant=? AND id=?)"), "{run}");
    }
}
