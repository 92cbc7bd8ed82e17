//! Runs in SQL.

use std::sync::LazyLock;

use learnkit_core::backend::{Page, RunFilter, SkippedRow};
use learnkit_core::record::{RunId, Tenant};
use learnkit_core::run::StoredRun;
use learnkit_core::{Error, Result};
use rusqlite::{Connection, named_params};

use crate::error::Outcome;
use crate::journal;
use crate::row::{corrupt, decode, encode, limit, nanoseconds};

/// Every run that is asked for, newest first.
static LIST: LazyLock<String> = LazyLock::new(|| list_where(":key IS NULL"));

/// The same for one task; a statement of its own, so that it goes through the index of task keys.
static LIST_OF_TASK: LazyLock<String> = LazyLock::new(|| list_where("task_key = :key"));

fn list_where(task: &str) -> String {
    format!(
        "SELECT body, finished, id FROM runs
         WHERE tenant = :tenant AND {task}
           AND (:agent IS NULL OR agent = :agent)
           AND (:before IS NULL OR finished < :before)
           AND (:finished IS NULL OR (finished, id) < (:finished, :after))
         ORDER BY finished DESC, id DESC LIMIT :limit"
    )
}

/// Stores a run once and closes its journal; `false` when its id is stored already.
pub(crate) fn insert(connection: &Connection, run: &StoredRun) -> Outcome<bool> {
    journal::delete(connection, &run.tenant, &run.id)?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO runs (tenant, id, agent, task_key, finished, body)
         VALUES (:tenant, :id, :agent, :task_key, :finished, :body)
         ON CONFLICT (tenant, id) DO NOTHING",
    )?;
    write(&mut statement, run)
}

/// Replaces a stored run; `false` when there is none.
pub(crate) fn update(connection: &Connection, run: &StoredRun) -> Outcome<bool> {
    let mut statement = connection.prepare_cached(
        "UPDATE runs SET agent = :agent, task_key = :task_key, finished = :finished, body = :body
         WHERE tenant = :tenant AND id = :id",
    )?;
    write(&mut statement, run)
}

fn write(statement: &mut rusqlite::Statement<'_>, run: &StoredRun) -> Outcome<bool> {
    let changed = statement.execute(named_params! {
        ":tenant": run.tenant.as_str(),
        ":id": run.id.as_str(),
        ":agent": run.agent.as_str(),
        ":task_key": run.task.key.as_str(),
        ":finished": nanoseconds(run.finished),
        ":body": encode(run)?,
    })?;
    Ok(changed > 0)
}

/// A run by id.
pub(crate) fn get(connection: &Connection, tenant: &Tenant, id: &RunId) -> Outcome<Option<StoredRun>> {
    let mut statement = connection.prepare_cached("SELECT body FROM runs WHERE tenant = ?1 AND id = ?2")?;
    let mut rows = statement.query([tenant.as_str(), id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(decode(row, 0)?.map_err(|reason| corrupt(id.as_str(), &reason))?))
}

/// Deletes a run with its calls, which are part of its body.
pub(crate) fn delete(connection: &Connection, tenant: &Tenant, id: &RunId) -> Outcome<bool> {
    let mut statement = connection.prepare_cached("DELETE FROM runs WHERE tenant = ?1 AND id = ?2")?;
    Ok(statement.execute([tenant.as_str(), id.as_str()])? > 0)
}

/// Deletes runs with their calls.
pub(crate) fn delete_many(connection: &Connection, tenant: &Tenant, ids: &[RunId]) -> Outcome<u64> {
    let mut deleted = 0;
    for id in ids {
        deleted += u64::from(delete(connection, tenant, id)?);
    }
    Ok(deleted)
}

/// One page of runs, newest first.
pub(crate) fn list(connection: &Connection, filter: &RunFilter) -> Outcome<Page<StoredRun>> {
    let after = filter.after.as_deref().map(Cursor::parse).transpose()?;
    let statement = if filter.key.is_some() { &LIST_OF_TASK } else { &LIST };
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query(named_params! {
        ":tenant": filter.tenant.as_str(),
        ":key": filter.key.as_ref().map(learnkit_core::task::TaskKey::as_str),
        ":agent": filter.agent.as_ref().map(learnkit_core::record::AgentName::as_str),
        ":before": filter.finished_before.map(nanoseconds),
        ":finished": after.as_ref().map(|after| after.finished),
        ":after": after.as_ref().map(|after| after.id.as_str()),
        // One more row than asked for tells whether another page follows.
        ":limit": limit(filter.limit.saturating_add(1)),
    })?;
    let mut page = Page { items: Vec::new(), skipped: Vec::new(), next: None };
    let mut last: Option<Cursor> = None;
    while let Some(row) = rows.next()? {
        if page.items.len() + page.skipped.len() == filter.limit {
            page.next = last.map(|cursor| cursor.to_text());
            break;
        }
        let cursor = Cursor { finished: row.get(1)?, id: row.get(2)? };
        match decode(row, 0)? {
            Ok(run) => page.items.push(run),
            Err(reason) => page.skipped.push(SkippedRow { id: cursor.id.clone(), reason }),
        }
        last = Some(cursor);
    }
    Ok(page)
}

/// The place of a run in the listing: `nanoseconds|id`.
#[derive(Debug, PartialEq, Eq)]
struct Cursor {
    finished: i64,
    id: String,
}

impl Cursor {
    fn to_text(&self) -> String {
        format!("{}|{}", self.finished, self.id)
    }

    fn parse(text: &str) -> Result<Self> {
        let parts = text.split_once('|');
        let cursor =
            parts.and_then(|(finished, id)| Some(Self { finished: finished.parse().ok()?, id: id.to_owned() }));
        cursor.ok_or_else(|| Error::invalid("unknown cursor; pass the `next` of the page before, unchanged"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::plan;

    #[test]
    fn runs_of_a_task_go_through_its_index_and_all_runs_through_their_times() {
        let of_task = plan(&LIST_OF_TASK);
        assert_eq!(of_task, "SEARCH runs USING INDEX runs_by_task (tenant=? AND task_key=?)");
        assert_eq!(plan(&LIST), "SEARCH runs USING INDEX runs_by_time (tenant=?)");
    }

    #[test]
    fn a_cursor_reads_back_whatever_the_id_holds() {
        let cursor = Cursor { finished: -7, id: "run|1 é".to_owned() };
        assert_eq!(Cursor::parse(&cursor.to_text()).unwrap(), cursor);
        assert!(Cursor::parse("x|run").is_err() && Cursor::parse("7").is_err());
    }
}
