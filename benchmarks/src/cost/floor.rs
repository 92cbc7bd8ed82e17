//! The floor: the best plain statements for the same work, on a connection of this thread.

use std::path::Path;

use learnkit::record::Record;
use learnkit::text::{query_terms, terms};
use learnkit::{BoxError, LearnKit};
use rusqlite::{Connection, TransactionBehavior, params};

use super::CANDIDATES;
use crate::corpus;
use crate::meter::{Cost, Meter};

const LOOKUP: &str = "SELECT body FROM records WHERE tenant = ?1 AND task_key = ?2";
const COUNT: &str =
    "SELECT count(*), max(rowid) FROM (SELECT rowid FROM records_fts WHERE records_fts MATCH ?1 LIMIT 256)";
const RANK: &str = "SELECT rowid FROM records_fts WHERE records_fts MATCH ?1
     ORDER BY bm25(records_fts, 2.0, 3.0, 1.0) LIMIT ?2";
/// So many rows are worth ranking for an answer of sixteen.
const RANKED_ROWS: i64 = 1_000;
/// What a round of maintenance changes about a record two weeks old, in one statement.
const DECAY: &str = "UPDATE records SET confidence = confidence - 0.04, status = 'active', revision = revision + 1,
     body = json_set(body, '$.confidence', confidence - 0.04, '$.status', 'active', '$.revision', revision + 1,
         '$.status_reason', 'probation is over and it did no harm', '$.last_decayed', '2026-01-15T00:00:00Z')";

/// SQLite on the file of a store.
#[derive(Debug)]
pub(super) struct Floor<'a> {
    connection: Connection,
    memory: &'a LearnKit,
}

impl<'a> Floor<'a> {
    pub(super) fn open(path: &Path, memory: &'a LearnKit) -> Result<Self, BoxError> {
        Ok(Self { connection: connect(path)?, memory })
    }

    /// The body by key, through the index, read as a record.
    pub(super) fn lookup(&self, picks: &[usize]) -> Result<Cost, BoxError> {
        let mut statement = self.connection.prepare(LOOKUP)?;
        let keys: Vec<String> = picks.iter().map(|&n| self.memory.key(&corpus::task(n)).to_string()).collect();
        let meter = Meter::start();
        for key in &keys {
            let body: String = statement.query_row([self.memory.tenant().as_str(), key], |row| row.get(0))?;
            std::hint::black_box(serde_json::from_str::<Record>(&body)?);
        }
        Ok(meter.per(picks.len()))
    }

    /// The best plan there is in plain statements: stop-words dropped, terms counted up to a limit, the
    /// rarest ranked, the best sixteen read as records.
    pub(super) fn search(&self, texts: &[String]) -> Result<Cost, BoxError> {
        let meter = Meter::start();
        for text in texts {
            let rare = self.rare_terms(text)?;
            self.ranked(&rare)?;
        }
        Ok(meter.per(texts.len()))
    }

    /// The plan that most write: every term, every match ranked.
    pub(super) fn search_of_every_term(&self, texts: &[String]) -> Result<Cost, BoxError> {
        let meter = Meter::start();
        for text in texts {
            self.ranked(&query_terms(text).iter().map(|term| quoted(term)).collect::<Vec<_>>())?;
        }
        Ok(meter.per(texts.len()))
    }

    fn rare_terms(&self, text: &str) -> Result<Vec<String>, BoxError> {
        let last: i64 =
            self.connection.prepare_cached("SELECT max(row) FROM records")?.query_row([], |row| row.get(0))?;
        let terms: Vec<String> = query_terms(text).iter().map(|term| quoted(term)).collect();
        if last <= RANKED_ROWS {
            return Ok(terms);
        }
        let mut statement = self.connection.prepare_cached(COUNT)?;
        let mut counted = Vec::new();
        for term in terms {
            let (count, reached): (i64, Option<i64>) =
                statement.query_row([&term], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let rows = if count == 256 { count * last / reached.unwrap_or(last).max(1) } else { count };
            counted.push((rows, term));
        }
        counted.sort();
        let mut sum = 0;
        let rare = counted.into_iter().enumerate().take_while(|(at, (rows, _))| {
            sum += rows;
            *at == 0 || sum <= RANKED_ROWS
        });
        Ok(rare.map(|(_, (_, term))| term).collect())
    }

    fn ranked(&self, terms: &[String]) -> Result<(), BoxError> {
        let mut rank = self.connection.prepare_cached(RANK)?;
        let mut read = self.connection.prepare_cached("SELECT body FROM records WHERE row = ?1")?;
        let rows = rank.query_map(params![terms.join(" OR "), CANDIDATES], |row| row.get::<_, i64>(0))?;
        for row in rows {
            let body: String = read.query_row([row?], |row| row.get(0))?;
            std::hint::black_box(serde_json::from_str::<Record>(&body)?);
        }
        Ok(())
    }

    /// Each line read as a record and written with its search text, in one synced transaction. The terms
    /// are made beforehand.
    pub(super) fn import(&self, export: &[u8]) -> Result<Cost, BoxError> {
        let lines = || export.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{\"record\""));
        let read = |line| Ok::<_, BoxError>(serde_json::from_slice::<Line>(line)?.record.ok_or("no record")?);
        let texts = lines().map(|line| Ok(indexed(&read(line)?))).collect::<Result<Vec<_>, BoxError>>()?;
        let meter = Meter::start();
        let moment = rusqlite::Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        for (line, text) in lines().zip(&texts) {
            insert(&moment, &read(line)?, text)?;
        }
        moment.commit()?;
        Ok(meter.per(texts.len()))
    }

    /// The row and its search text, a synced transaction each.
    pub(super) fn puts(&self, records: &[Record]) -> Result<Cost, BoxError> {
        let texts: Vec<[String; 3]> = records.iter().map(indexed).collect();
        let meter = Meter::start();
        for (record, text) in records.iter().zip(&texts) {
            let moment = rusqlite::Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
            insert(&moment, record, text)?;
            moment.commit()?;
        }
        Ok(meter.per(records.len()))
    }
}

/// One line of an export; the others are its head and its end.
#[derive(Debug, serde::Deserialize)]
struct Line {
    record: Option<Record>,
}

/// The terms of a record as the index holds them.
fn indexed(record: &Record) -> [String; 3] {
    let text = record.content.search_text();
    [text.title, text.tools, text.body].map(|text| terms(&text).join(" "))
}

/// One record and its search text, as the store writes them.
fn insert(connection: &Connection, record: &Record, text: &[String; 3]) -> Result<(), BoxError> {
    let mut row = connection.prepare_cached(
        "INSERT INTO records (tenant, id, revision, kind, scope, agent, status, confidence, expires, task_key,
            canonical, body)
         VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    row.execute(params![
        record.tenant.as_str(),
        record.id.as_str(),
        record.kind().as_str(),
        record.scope.to_string(),
        record.agent.as_str(),
        record.status.as_str(),
        record.confidence.get(),
        record.expires.map(|expires| expires.as_millisecond() * 1_000_000),
        record.task.as_ref().map(|task| task.key.as_str()),
        record.task.as_ref().map(|task| task.canonical.as_str()),
        serde_json::to_string(record)?,
    ])?;
    let [title, tools, body] = text;
    let values = params![connection.last_insert_rowid(), title, tools, body];
    connection
        .prepare_cached("INSERT INTO records_fts (rowid, title, tools, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(values)?;
    Ok(())
}

/// One UPDATE of every record of a copy of the store.
pub(super) fn decay(path: &Path, copy: &Path) -> Result<Cost, BoxError> {
    let original = connect(path)?;
    original.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
    let connection = connect(copy)?;
    let meter = Meter::start();
    let changed = connection.execute(DECAY, [])?;
    Ok(meter.per(changed))
}

/// A connection with the settings of the store.
fn connect(path: &Path) -> Result<Connection, BoxError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(connection)
}

fn quoted(term: &str) -> String {
    format!("\"{}\"", term.replace('"', "\"\""))
}
