//! Several processes on one file. A test starts itself again as the other process, told by a variable.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::ErrorKind;
use learnkit_core::backend::{MemoryBackend as _, PutMode};
use learnkit_core::record::RecordId;
use learnkit_core::testing::fixtures;

const DATABASE: &str = "LEARNKIT_TEST_DATABASE";

/// Starts this test again as another process.
fn again(test: &str, database: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(DATABASE, database).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Stores records until it is killed and says which ones were acknowledged.
#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
async fn put_until_killed(path: &str) {
    let store = SqliteStore::open(path).await.unwrap();
    for number in 0.. {
        let record = fixtures::fact(&format!("fct_{number}"), "acknowledged").unwrap();
        store.put(&record, PutMode::Create).await.unwrap();
        println!("stored {number}");
    }
}

#[tokio::test]
async fn every_acknowledged_record_survives_a_kill() {
    if let Ok(path) = std::env::var(DATABASE) {
        return put_until_killed(&path).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let mut child = again("every_acknowledged_record_survives_a_kill", &path);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let stored = |line: String| line.strip_prefix("stored ")?.parse::<u32>().ok();
    let mut last = lines.by_ref().filter_map(stored).nth(40).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // What was acknowledged before the signal may still stand in the pipe.
    last = lines.filter_map(stored).last().unwrap_or(last);

    let store = SqliteStore::open(&path).await.unwrap();
    for number in 0..=last {
        let id = RecordId::new(format!("fct_{number}")).unwrap();
        assert!(store.get(&fixtures::tenant(), &id).await.unwrap().is_some(), "{id} of {last}");
    }
}

const CHILDREN: u64 = 3;
const INCREMENTS: u64 = 20;

async fn increment(path: &str) {
    let store = SqliteStore::open(path).await.unwrap();
    let id = RecordId::new("fct_1").unwrap();
    let mut done = 0;
    while done < INCREMENTS {
        let mut record = store.get(&fixtures::tenant(), &id).await.unwrap().unwrap();
        record.usage.reuse_count += 1;
        match store.put(&record, PutMode::IfRevision(record.revision)).await {
            Ok(_) => done += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
        }
    }
}

#[tokio::test]
async fn d2_processes_that_count_together_lose_nothing() {
    if let Ok(path) = std::env::var(DATABASE) {
        return increment(&path).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let record = fixtures::fact("fct_1", "counted").unwrap();
    store.put(&record, PutMode::Create).await.unwrap();
    let test = "d2_processes_that_count_together_lose_nothing";
    let children: Vec<Child> = (0..CHILDREN).map(|_| again(test, &path)).collect();
    for child in children {
        let outcome = child.wait_with_output().unwrap();
        assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stdout));
    }
    let read = store.get(&record.tenant, &record.id).await.unwrap().unwrap();
    assert_eq!(read.usage.reuse_count, CHILDREN * INCREMENTS);
}

#[tokio::test]
async fn processes_that_open_a_new_file_at_once_all_succeed() {
    if let Ok(path) = std::env::var(DATABASE) {
        let store = SqliteStore::open(&path).await.unwrap();
        let record = fixtures::fact(&format!("fct_{}", std::process::id()), "opened").unwrap();
        store.put(&record, PutMode::Create).await.unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let test = "processes_that_open_a_new_file_at_once_all_succeed";
    let children: Vec<Child> = (0..4).map(|_| again(test, &path)).collect();
    let ids: Vec<u32> = children.iter().map(Child::id).collect();
    for child in children {
        let outcome = child.wait_with_output().unwrap();
        assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stdout));
    }
    let store = SqliteStore::open(&path).await.unwrap();
    for id in ids {
        let id = RecordId::new(format!("fct_{id}")).unwrap();
        assert!(store.get(&fixtures::tenant(), &id).await.unwrap().is_some(), "{id}");
    }
}
