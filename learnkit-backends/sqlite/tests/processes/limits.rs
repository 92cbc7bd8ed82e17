//! What the system refuses: space, permissions, locks. Each in a process of its own, so that limits and
//! users of the test itself stay as they are.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::backend::{
    Batch, MemoryBackend as _, Put, PutMode, RecordFilter, RunStore as _, ScanRequest, Store,
};
use learnkit_core::engine::{Outcome, SessionOptions, View};
use learnkit_core::record::{Record, RunId};
use learnkit_core::testing::fixtures;
use learnkit_core::{Error, ErrorKind, LearnKit, Task};
use rusqlite::Connection;
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use serde_json::json;

use crate::child::{Stopped, again, again_as, must_succeed, part, stop_here};

/// Limits how long a file of this process may become.
fn limit_files(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
}

fn long_fact(id: &str) -> Record {
    fixtures::fact(id, &"so many words ".repeat(400)).unwrap()
}

async fn fill_the_disk(path: &Path) {
    let store = SqliteStore::open(path).await.unwrap();
    let log = path.with_extension("db-wal");
    limit_files(Some(std::fs::metadata(&log).unwrap().len() + 100_000));
    let mut stored = 0;
    let error = loop {
        let puts = ["a", "b"].map(|half| Put { record: long_fact(&format!("{half}_{stored}")), mode: PutMode::Create });
        let run = fixtures::run(&format!("run_{stored}"), "fill the disk").unwrap();
        match store.commit(&Batch { puts: puts.to_vec(), run: Some(run) }).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{}", error.chain());
    assert!(error.message().contains("free space"), "{error}");
    assert!(stored > 0, "the disk was not full from the start");
    all_or_nothing(&store, stored).await;
    a_task_goes_on(&store).await;
    limit_files(None);
    store.put(&long_fact("a_after"), PutMode::Create).await.unwrap();
    drop(store);
    let store = SqliteStore::open(path).await.unwrap();
    all_or_nothing(&store, stored).await;
    let integrity = Connection::open(path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0));
    assert_eq!(integrity, Ok("ok".to_owned()));
}

/// Of every batch both records and the run are there, and of the one that failed nothing.
async fn all_or_nothing(store: &SqliteStore, stored: usize) {
    let request = ScanRequest { filter: RecordFilter::all_of(fixtures::tenant()), after: None, limit: 10_000 };
    let records = store.scan(&request).await.unwrap().items;
    for half in ["a_", "b_"] {
        let count = records.iter().filter(|record| record.id.as_str().starts_with(half)).count();
        let after = records.iter().filter(|record| record.id.as_str() == format!("{half}after")).count();
        assert_eq!(count - after, stored);
    }
    let run = |number: usize| RunId::new(format!("run_{number}")).unwrap();
    assert!(store.get_run(&fixtures::tenant(), &run(stored - 1)).await.unwrap().is_some());
    assert_eq!(store.get_run(&fixtures::tenant(), &run(stored)).await.unwrap(), None);
}

/// A run whose learning cannot be stored still ends, with a warning.
async fn a_task_goes_on(store: &SqliteStore) {
    let path = store.info().location;
    let memory = LearnKit::builder().store(Store::of(SqliteStore::open(path).await.unwrap())).build().await.unwrap();
    let session = memory.session(Task::new("Write a long report"), SessionOptions::default()).unwrap();
    session.decide(&View::default()).await;
    session.tracker().record("write", json!({}), "w".repeat(200_000));
    let report = session.finish(&Outcome::answered("done")).await;
    assert_eq!(report.answer.as_deref(), Some("done"));
    assert!(report.warnings.iter().any(|warning| warning.contains("was not stored")), "{:?}", report.warnings);
}

#[tokio::test]
async fn a_full_disk_is_unavailable_and_stores_nothing_by_halves() {
    if let Some(part) = part() {
        return fill_the_disk(&part.database).await;
    }
    let folder = tempfile::tempdir().unwrap();
    // A file that may not grow raises a signal; only a process that ignores it gets an error instead.
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    let test = "limits::a_full_disk_is_unavailable_and_stores_nothing_by_halves";
    must_succeed(again_as(shell, test, &folder.path().join("learnkit.db"), "").spawn().unwrap());
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

async fn refused(path: &Path) -> Error {
    let error = SqliteStore::open(path).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Permission, "{}", error.chain());
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    assert!(error.message().contains("permissions") || error.message().contains("writable"), "{error}");
    error
}

/// This test as an ordinary user: the one who runs it, or nobody where that is root.
fn as_ordinary_user(test: &str, folder: &Path, role: &str) -> Child {
    // The checkout may lie where an ordinary user cannot look.
    let program = folder.join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(&program, 0o755);
    let mut command = Command::new(program);
    command.current_dir(folder);
    if geteuid().is_root() {
        const NOBODY: u32 = 65_534;
        command.uid(NOBODY).gid(NOBODY);
    }
    again_as(command, test, &folder.join("in").join("learnkit.db"), role).spawn().unwrap()
}

#[tokio::test]
async fn what_an_ordinary_user_may_not_write_is_a_permission_that_names_the_path() {
    if let Some(part) = part() {
        assert!(!geteuid().is_root());
        drop(refused(&part.database).await);
        return;
    }
    let test = "limits::what_an_ordinary_user_may_not_write_is_a_permission_that_names_the_path";
    for (case, folder_mode, file_mode) in [
        ("a read-only file", 0o777, Some(0o444)),
        ("an unreadable file", 0o777, Some(0o000)),
        ("a read-only folder", 0o555, Some(0o666)),
        ("a read-only folder and file", 0o555, Some(0o444)),
        ("no file in a read-only folder", 0o555, None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o755);
        let inner = folder.path().join("in");
        std::fs::create_dir(&inner).unwrap();
        let path = inner.join("learnkit.db");
        let record = fixtures::fact("fct_1", "kept").unwrap();
        if let Some(mode) = file_mode {
            SqliteStore::open(&path).await.unwrap().put(&record, PutMode::Create).await.unwrap();
            set_mode(&path, mode);
        }
        set_mode(&inner, folder_mode);
        let child = as_ordinary_user(test, folder.path(), case);
        let output = child.wait_with_output().unwrap();
        set_mode(&inner, 0o755);
        assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
        if file_mode.is_some() {
            set_mode(&path, 0o644);
            let store = SqliteStore::open(&path).await.unwrap();
            assert!(store.get(&record.tenant, &record.id).await.unwrap().is_some(), "{case}");
        } else {
            assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 0, "{case}");
        }
    }
}

/// Holds the lock that the role names until it may go on.
fn hold(path: &Path, lock: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(lock).unwrap();
    stop_here();
    connection.execute_batch("ROLLBACK").unwrap();
}

/// The lock of a writer, and the one that lets nobody else in at all.
const LOCKS: [&str; 2] = ["BEGIN IMMEDIATE", "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM records"];
const HELD: &str = "limits::f55_a_lock_that_is_held_at_open_is_waited_for_and_then_unavailable";

#[tokio::test(flavor = "multi_thread")]
async fn f55_a_lock_that_is_held_at_open_is_waited_for_and_then_unavailable() {
    if let Some(part) = part() {
        return hold(&part.database, &part.role);
    }
    let mut waiting = Vec::new();
    for lock in LOCKS {
        waiting.push(tokio::spawn(async move {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("learnkit.db");
            let record = fixtures::fact("fct_1", "kept").unwrap();
            SqliteStore::open(&path).await.unwrap().put(&record, PutMode::Create).await.unwrap();
            let mut holder = Stopped::start(&mut again(HELD, &path, lock));
            let error = SqliteStore::open(&path).await.unwrap_err();
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{lock}: {error}");
            assert!(error.message().contains("locked"), "{lock}: {error}");
            holder.go_on();
            holder.must_succeed();
            let store = SqliteStore::open(&path).await.unwrap();
            store.put(&record, PutMode::Upsert).await.unwrap();
        }));
    }
    for one in waiting {
        one.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f55_a_lock_that_is_released_in_time_delays_opening_only() {
    if let Some(part) = part() {
        return hold(&part.database, &part.role);
    }
    let test = "limits::f55_a_lock_that_is_released_in_time_delays_opening_only";
    for lock in LOCKS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learnkit.db");
        drop(SqliteStore::open(&path).await.unwrap());
        let mut holder = Stopped::start(&mut again(test, &path, lock));
        let opening = [path.clone(), path.clone()].map(|path| tokio::spawn(SqliteStore::open(path)));
        // Opening takes a few milliseconds without a lock, so that after these it waits.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(opening.iter().all(|opening| !opening.is_finished()), "{lock}: opening waits");
        holder.go_on();
        for (number, store) in opening.into_iter().enumerate() {
            let record = fixtures::fact(&format!("fct_{number}"), "written").unwrap();
            store.await.unwrap().unwrap().put(&record, PutMode::Create).await.unwrap();
        }
        holder.must_succeed();
    }
}
