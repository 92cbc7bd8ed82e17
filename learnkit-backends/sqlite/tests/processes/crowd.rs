//! Several processes on one file.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::ErrorKind;
use learnkit_core::backend::{MemoryBackend as _, PutMode, RecordFilter, ScanRequest, SearchQuery};
use learnkit_core::record::{Record, RecordId};
use learnkit_core::testing::fixtures;

use crate::child::{again, must_succeed, part};

const WRITERS: u64 = 16;
const WRITES: u64 = 500;

fn written(writer: &str, number: u64) -> Record {
    fixtures::fact(&format!("fct_{writer}_{number}"), &format!("writer {writer} wrote word{writer}x{number}")).unwrap()
}

async fn write(path: &Path, writer: &str) {
    let store = SqliteStore::open(path).await.unwrap();
    for number in 0..WRITES {
        store.put(&written(writer, number), PutMode::Create).await.unwrap();
    }
}

/// Reads in every way until the writers are done; any error is a failure.
async fn read_while(store: &SqliteStore, writing: &AtomicU64) -> u64 {
    let filter = RecordFilter::all_of(fixtures::tenant());
    let mut reads = 0;
    while writing.load(Ordering::SeqCst) > 0 {
        store.scan(&ScanRequest { filter: filter.clone(), after: None, limit: 20 }).await.unwrap();
        let query = SearchQuery { text: "wrote word3x7".to_owned(), filter: filter.clone(), limit: 3 };
        store.search(&query).await.unwrap();
        store.get(&fixtures::tenant(), &RecordId::new("fct_0_0").unwrap()).await.unwrap();
        reads += 3;
    }
    reads
}

async fn every_id(store: &SqliteStore) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut request = ScanRequest { filter: RecordFilter::all_of(fixtures::tenant()), after: None, limit: 1_000 };
    loop {
        let page = store.scan(&request).await.unwrap();
        assert_eq!(page.skipped, []);
        ids.extend(page.items.into_iter().map(|record| record.id.to_string()));
        let Some(next) = page.next else { return ids };
        request.after = Some(RecordId::new(next).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f54_sixteen_writing_processes_and_a_reader_lose_nothing_and_meet_no_error() {
    if let Some(part) = part() {
        return write(&part.database, &part.role).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let started = Instant::now();
    let test = "crowd::f54_sixteen_writing_processes_and_a_reader_lose_nothing_and_meet_no_error";
    let writing = std::sync::Arc::new(AtomicU64::new(WRITERS));
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let child = again(test, &path, &number.to_string()).spawn().unwrap();
            let writing = std::sync::Arc::clone(&writing);
            std::thread::spawn(move || {
                let output = child.wait_with_output();
                writing.fetch_sub(1, Ordering::SeqCst);
                output.unwrap()
            })
        })
        .collect();
    let reads = read_while(&store, &writing).await;
    let failed: Vec<String> = writers
        .into_iter()
        .map(|writer| writer.join().unwrap())
        .filter(|output| !output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
        .collect();
    let wall = started.elapsed();
    let stored = every_id(&store).await;
    let lost = WRITERS * WRITES - u64::try_from(stored.len()).unwrap();
    println!(
        "{WRITERS} processes x {WRITES} writes: {:.1} s, {} writers with errors, {lost} lost, {reads} reads",
        wall.as_secs_f64(),
        failed.len()
    );
    assert_eq!(failed, Vec::<String>::new());
    let expected = |writer: u64| (0..WRITES).map(move |number| written(&writer.to_string(), number).id.to_string());
    assert_eq!(stored, (0..WRITERS).flat_map(expected).collect());
    assert!(reads > 0);
}

const CHILDREN: u64 = 3;
const INCREMENTS: u64 = 20;

async fn increment(path: &Path) {
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
    if let Some(part) = part() {
        return increment(&part.database).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let record = fixtures::fact("fct_1", "counted").unwrap();
    store.put(&record, PutMode::Create).await.unwrap();
    let test = "crowd::d2_processes_that_count_together_lose_nothing";
    let children: Vec<Child> = (0..CHILDREN).map(|_| again(test, &path, "").spawn().unwrap()).collect();
    for child in children {
        must_succeed(child);
    }
    let read = store.get(&record.tenant, &record.id).await.unwrap().unwrap();
    assert_eq!(read.usage.reuse_count, CHILDREN * INCREMENTS);
}

#[tokio::test]
async fn f56_processes_that_open_a_new_file_at_once_all_succeed() {
    if let Some(part) = part() {
        let store = SqliteStore::open(&part.database).await.unwrap();
        let record = fixtures::fact(&format!("fct_{}", part.role), "opened").unwrap();
        store.put(&record, PutMode::Create).await.unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let test = "crowd::f56_processes_that_open_a_new_file_at_once_all_succeed";
    let child = |number: u32| again(test, &path, &number.to_string()).spawn().unwrap();
    let children: Vec<Child> = (0..6).map(child).collect();
    for child in children {
        must_succeed(child);
    }
    let store = SqliteStore::open(&path).await.unwrap();
    let expected = (0..6).map(|number| format!("fct_{number}")).collect();
    assert_eq!(every_id(&store).await, expected);
}
