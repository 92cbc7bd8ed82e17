//! Which database it is, and bringing it up to the current schema.

use learnkit_core::{Error, ErrorKind};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::Outcome;
use crate::older::is_older;

/// `LKIT`: marks the file as LearnKit's, so that no other program's database is ever changed.
pub(crate) const APPLICATION_ID: i32 = 0x4C4B_4954;

/// The schemas, oldest first; number n brings version n to n + 1. Released entries never change.
const MIGRATIONS: &[&str] = &[include_str!("schema_v1.sql"), include_str!("schema_v2.sql")];

/// Refuses what must not be touched: another program's database, and a newer schema. Only reads.
pub(crate) fn check(connection: &Connection) -> Outcome<()> {
    // One transaction: between two, another process may migrate, and a half-seen database looks foreign.
    let moment = connection.unchecked_transaction()?;
    let Marks { application, version } = Marks::of(&moment)?;
    let tables: i64 = moment.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    let is_older = is_older(&moment)?;
    drop(moment);
    if is_older && application != APPLICATION_ID {
        let message =
            "the file is a database of the older LearnKit for Python; `learnkit import PATH` reads it into a new store";
        return Err(Error::new(ErrorKind::Config, message).into());
    }
    if application != APPLICATION_ID && (application != 0 || version != 0 || tables > 0) {
        let message = "the file is a SQLite database of another program; name another file";
        return Err(Error::new(ErrorKind::Config, message).into());
    }
    if version > MIGRATIONS.len() {
        let known = MIGRATIONS.len();
        let message = format!("the database has schema {version} and this build knows up to {known}; update LearnKit");
        return Err(Error::new(ErrorKind::Unsupported, message).into());
    }
    Ok(())
}

/// Applies what is missing, each step in a transaction: it is done whole or not at all.
pub(crate) fn migrate(connection: &mut Connection) -> Outcome<()> {
    apply(connection, MIGRATIONS)
}

fn apply(connection: &mut Connection, migrations: &[&str]) -> Outcome<()> {
    // One round per step, and one that finds nothing left; another process may take any of them.
    for _ in 0..=migrations.len() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Marks { version, .. } = Marks::of(&transaction)?;
        let Some(step) = migrations.get(version) else { return Ok(()) };
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", i64::try_from(version + 1).unwrap_or(i64::MAX))?;
        transaction.commit()?;
    }
    Ok(())
}

/// What a database says it is, as it was at one moment: hence the transaction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) application: i32,
    version: usize,
}

impl Marks {
    pub(crate) fn of(moment: &Transaction<'_>) -> Outcome<Self> {
        let application = moment.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version: i64 = moment.pragma_query_value(None, "user_version", |row| row.get(0))?;
        // A negative version is nobody's; it is refused as too new.
        Ok(Self { application, version: usize::try_from(version).unwrap_or(usize::MAX) })
    }
}

/// How the current schema answers a statement, a line for each step.
#[cfg(test)]
pub(crate) fn plan(statement: &str) -> String {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection).unwrap();
    let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    let mut rows = plan.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        lines.push(row.get::<_, String>("detail").unwrap());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::explain;

    fn marks(connection: &Connection) -> Marks {
        Marks::of(&connection.unchecked_transaction().unwrap()).unwrap()
    }

    fn version(connection: &Connection) -> usize {
        marks(connection).version
    }

    fn refusal(connection: &Connection) -> Option<ErrorKind> {
        check(connection).err().map(|fault| explain(fault).kind())
    }

    #[test]
    fn migrating_twice_changes_nothing_more() {
        let mut connection = Connection::open_in_memory().unwrap();
        check(&connection).unwrap();
        migrate(&mut connection).unwrap();
        assert_eq!(marks(&connection), Marks { application: APPLICATION_ID, version: MIGRATIONS.len() });
        migrate(&mut connection).unwrap();
        assert_eq!(version(&connection), MIGRATIONS.len());
        check(&connection).unwrap();
    }

    #[test]
    fn f57_a_step_that_fails_leaves_the_version_before_it() {
        let mut connection = Connection::open_in_memory().unwrap();
        let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO missing VALUES (1)"];
        assert!(apply(&mut connection, &steps).is_err());
        assert_eq!(version(&connection), 1);
        let tables: String =
            connection.query_row("SELECT group_concat(name) FROM sqlite_master", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, "a");
        apply(&mut connection, &["never run", "CREATE TABLE b (x)"]).unwrap();
        assert_eq!(version(&connection), 2);
    }

    #[test]
    fn a_newer_schema_and_another_program_are_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        assert_eq!(refusal(&connection), Some(ErrorKind::Unsupported));
        connection.pragma_update(None, "user_version", -1).unwrap();
        assert_eq!(refusal(&connection), Some(ErrorKind::Unsupported));
        let other = Connection::open_in_memory().unwrap();
        other.execute_batch("CREATE TABLE notes (x)").unwrap();
        assert_eq!(refusal(&other), Some(ErrorKind::Config));
    }

    #[test]
    fn a_check_sees_a_database_before_or_after_a_migration_and_never_between() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..40 {
            let path = folder.path().join(format!("{number}.db"));
            let mut writer = Connection::open(&path).unwrap();
            writer.pragma_update(None, "journal_mode", "WAL").unwrap();
            let migrating = std::thread::spawn(move || migrate(&mut writer).unwrap());
            let reader = Connection::open(&path).unwrap();
            while !migrating.is_finished() {
                assert_eq!(refusal(&reader), None);
            }
            migrating.join().unwrap();
            assert_eq!(version(&reader), MIGRATIONS.len());
        }
    }
}
