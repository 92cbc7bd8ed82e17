//! Database files: what opening refuses, what a bad row costs, what a delete leaves behind.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::backend::{
    Deletion, ExactQuery, MemoryBackend as _, PutMode, RecordFilter, RunFilter, RunStore as _, ScanRequest,
    SearchQuery, Store,
};
use learnkit_core::config::BackendUri;
use learnkit_core::engine::{Outcome, Pass, RunRetention, SessionOptions, View};
use learnkit_core::record::{Kind, Record, RecordId, RunId};
use learnkit_core::registry::OpenMode;
use learnkit_core::run::Mode;
use learnkit_core::testing::fixtures;
use learnkit_core::{ErrorKind, LearnKit, RunReport, Task, open_store};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learn kit?#é.db");
    (folder, path)
}

async fn stored(path: &Path, records: &[Record]) -> SqliteStore {
    let store = SqliteStore::open(path).await.unwrap();
    for record in records {
        store.put(record, PutMode::Upsert).await.unwrap();
    }
    store
}

async fn refusal(path: &Path) -> ErrorKind {
    SqliteStore::open(path).await.unwrap_err().kind()
}

fn all() -> ScanRequest {
    ScanRequest { filter: RecordFilter::all_of(fixtures::tenant()), after: None, limit: 100 }
}

fn files(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn d20_opening_what_must_exist_makes_no_file() {
    let (folder, path) = place();
    let error = SqliteStore::open_with(&path, OpenMode::ExistingOnly).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("learn kit"), "{error}");
    assert_eq!(files(&folder), Vec::<String>::new());
    drop(SqliteStore::open(&path).await.unwrap());
    SqliteStore::open_with(&path, OpenMode::ExistingOnly).await.unwrap();
}

#[tokio::test]
async fn a_missing_folder_and_an_empty_path_are_named() {
    let (_folder, path) = place();
    assert_eq!(refusal(&path.join("learnkit.db")).await, ErrorKind::NotFound);
    assert_eq!(refusal(Path::new("")).await, ErrorKind::Config);
    let existing = SqliteStore::open_with(":memory:", OpenMode::ExistingOnly).await;
    assert_eq!(existing.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_untouched() {
    let (folder, path) = place();
    drop(stored(&path, &[]).await);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(&path).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("schema 99"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(files(&folder).len(), 1);
}

#[tokio::test]
async fn another_programs_database_is_refused_and_left_untouched() {
    let (_folder, path) = place();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE notes (x)").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert_eq!(refusal(&path).await, ErrorKind::Config);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_corrupt_and_left_untouched() {
    let (_folder, path) = place();
    let text = "these are notes, not a database\n".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert_eq!(refusal(&path).await, ErrorKind::Corrupt);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn a_damaged_page_is_corrupt_not_a_crash() {
    let (_folder, path) = place();
    let records: Vec<Record> =
        (0..200).map(|number| fixtures::fact(&format!("fct_{number}"), "some words").unwrap()).collect();
    drop(stored(&path, &records).await);
    let mut bytes = std::fs::read(&path).unwrap();
    let pages = bytes.len() / 4096;
    for page in 1..pages {
        bytes[page * 4096..page * 4096 + 64].fill(0xFF);
    }
    std::fs::write(&path, bytes).unwrap();
    let outcome = match SqliteStore::open(&path).await {
        Ok(store) => store.scan(&all()).await.map(drop),
        Err(error) => Err(error),
    };
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn a_locked_database_is_unavailable_for_now() {
    let (_folder, path) = place();
    let record = fixtures::fact("fct_1", "waits").unwrap();
    let store = stored(&path, &[]).await;
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.put(&record, PutMode::Create).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    assert_eq!(store.get(&record.tenant, &record.id).await.unwrap(), None, "reading does not wait");
    other.execute_batch("ROLLBACK").unwrap();
    store.put(&record, PutMode::Create).await.unwrap();
}

#[tokio::test]
async fn everything_is_there_after_reopening_and_closing_leaves_one_file() {
    let (folder, path) = place();
    let records = fixtures::one_of_each_kind().unwrap();
    let run = fixtures::run("run_1", "do it").unwrap();
    let store = stored(&path, &records).await;
    store.finish_run(&run).await.unwrap();
    drop(store);
    assert_eq!(files(&folder).len(), 1, "the write-ahead log is merged");
    let store = SqliteStore::open(&path).await.unwrap();
    let mut read = store.scan(&all()).await.unwrap().items;
    let mut expected = records;
    for record in &mut expected {
        record.revision = learnkit_core::record::Revision(1);
    }
    expected.sort_by(|one, other| one.id.cmp(&other.id));
    read.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(read, expected);
    assert_eq!(store.get_run(&run.tenant, &run.id).await.unwrap(), Some(run));
}

/// Damages the body of one record and one run behind the store's back.
fn damage(path: &Path, body: &str) {
    let connection = Connection::open(path).unwrap();
    assert_eq!(connection.execute("UPDATE records SET body = ?1 WHERE id = 'b'", [body]).unwrap(), 1);
    assert_eq!(connection.execute("UPDATE runs SET body = ?1 WHERE id = 'run_b'", [body]).unwrap(), 1);
}

#[tokio::test]
async fn d7_a_bad_row_is_named_by_scan_left_out_by_search_and_corrupt_by_id() {
    let newer = serde_json::to_string(&Record { schema_version: 99, ..fixtures::fact("b", "new").unwrap() }).unwrap();
    let bodies = ["{bad", "{}", "", "null", "[]", "7", "\"text\"", r#"{"id": 7, "schema_version": 1}"#, &newer];
    for body in bodies {
        let (_folder, path) = place();
        let records = ["a", "b", "c"].map(|id| fixtures::skill(id, "do it", "query", "{}").unwrap());
        let store = stored(&path, &records).await;
        for id in ["run_a", "run_b"] {
            store.finish_run(&fixtures::run(id, "do it").unwrap()).await.unwrap();
        }
        damage(&path, body);

        let page = store.scan(&all()).await.unwrap();
        assert_eq!(page.items.iter().map(|record| record.id.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(page.skipped.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["b"]);
        let filter = RecordFilter::all_of(fixtures::tenant());
        let search = SearchQuery { text: "query".to_owned(), filter, limit: 2 };
        let found = store.search(&search).await.unwrap();
        assert_eq!(found.iter().map(|found| found.item.id.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        let link = fixtures::link("do it");
        let query = ExactQuery { tenant: fixtures::tenant(), keys: vec![link.key], canonical: link.canonical };
        assert_eq!(store.lookup(&query).await.unwrap().len(), 2);
        let by_id = store.get(&fixtures::tenant(), &RecordId::new("b").unwrap()).await;
        assert_eq!(by_id.unwrap_err().kind(), ErrorKind::Corrupt);

        let runs = store.list_runs(&RunFilter::newest(fixtures::tenant(), 9)).await.unwrap();
        assert_eq!((runs.items.len(), runs.skipped[0].id.as_str()), (1, "run_b"));
        let by_id = store.get_run(&fixtures::tenant(), &RunId::new("run_b").unwrap()).await;
        assert_eq!(by_id.unwrap_err().kind(), ErrorKind::Corrupt);

        assert!(store.delete(&fixtures::tenant(), &RecordId::new("b").unwrap()).await.unwrap());
        assert_eq!(store.scan(&all()).await.unwrap().skipped, []);
    }
}

#[tokio::test]
async fn d7_a_page_of_bad_rows_still_leads_on() {
    let (_folder, path) = place();
    let store = stored(&path, &["a", "b", "c"].map(|id| fixtures::fact(id, id).unwrap())).await;
    Connection::open(&path).unwrap().execute("UPDATE records SET body = '{bad' WHERE id < 'c'", []).unwrap();
    let first = store.scan(&ScanRequest { limit: 1, ..all() }).await.unwrap();
    assert_eq!((first.items.len(), first.skipped.len(), first.next.as_deref()), (0, 1, Some("a")));
    let rest = ScanRequest { after: Some(RecordId::new("a").unwrap()), ..all() };
    let rest = store.scan(&rest).await.unwrap();
    assert_eq!((rest.items.len(), rest.skipped.len(), rest.next), (1, 1, None));
}

/// Whether a word stands anywhere in the files of the store, in either case.
///
/// The index stores a term without the letters it shares with the one before, so the first three are
/// not looked for.
fn leaves(folder: &TempDir, word: &str) -> bool {
    let word = &word[3..];
    files(folder).iter().any(|name| {
        let bytes = std::fs::read(folder.path().join(name)).unwrap().to_ascii_lowercase();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    })
}

#[tokio::test]
async fn d13_deleted_and_replaced_text_leaves_no_bytes() {
    let (folder, path) = place();
    let mut records = vec![fixtures::skill("skl_1", "call Zanzibarius", "query", r#"{"to": "Quagmirety"}"#).unwrap()];
    records.extend((0..50).map(|number| fixtures::fact(&format!("fct_{number}"), "other words").unwrap()));
    records.push(fixtures::fact("fct_x", "before Xylophonium").unwrap());
    let run = fixtures::run("run_1", "call Zanzibarius").unwrap();
    let store = stored(&path, &records).await;
    store.finish_run(&run).await.unwrap();
    drop(store);
    for word in ["zanzibarius", "quagmirety", "xylophonium"] {
        assert!(leaves(&folder, word), "{word} was stored");
    }
    let store = stored(&path, &[fixtures::fact("fct_x", "after").unwrap()]).await;
    assert!(store.delete(&records[0].tenant, &records[0].id).await.unwrap());
    assert!(store.delete_run(&run.tenant, &run.id).await.unwrap());
    drop(store);
    for word in ["zanzibarius", "quagmirety", "xylophonium"] {
        assert!(!leaves(&folder, word), "{word} is gone");
    }
}

#[tokio::test]
async fn a_uri_opens_a_file_or_memory() {
    let (folder, path) = place();
    let uri: BackendUri = format!("sqlite:{}", path.display()).parse().unwrap();
    let store = open_store(&uri, OpenMode::CreateIfMissing).await.unwrap();
    assert_eq!(store.records.info().location, path.display().to_string());
    assert!(store.records.capabilities().durable && path.exists());
    drop(store);
    let uri: BackendUri = "sqlite::memory:".parse().unwrap();
    let store = open_store(&uri, OpenMode::CreateIfMissing).await.unwrap();
    assert!(!store.records.capabilities().durable && !store.records.capabilities().shared);
    assert_eq!(files(&folder).len(), 1);
}

#[tokio::test]
async fn d1_d9_d10_a_new_store_needs_no_extension_and_holds_nothing_that_could_have_expired() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("learnkit.db")).await.unwrap();
    let filter = RecordFilter::all_of(fixtures::tenant());
    let page = store.scan(&ScanRequest { filter, after: None, limit: 10 }).await.unwrap();
    assert_eq!((page.items, page.skipped, page.next), (Vec::new(), Vec::new(), None));
    // Full-text search is part of the linked library.
    store.put(&fixtures::fact("fct_1", "the moon is round").unwrap(), PutMode::Create).await.unwrap();
    let filter = RecordFilter::all_of(fixtures::tenant());
    let query = SearchQuery { text: "moon".to_owned(), filter, limit: 10 };
    assert_eq!(store.search(&query).await.unwrap().len(), 1);
}

/// A run of a task with one call, learned through the engine.
async fn learn(memory: &LearnKit, task: &str) -> RunReport {
    let session = memory.session(Task::new(task), SessionOptions::default()).unwrap();
    session.decide(&View::default()).await;
    session.tracker().record("fetch", json!({ "page": "Vexillophagy" }), json!({ "text": "Obambulatory" }));
    session.finish(&Outcome::answered("It says Nudiustertian")).await
}

async fn engine(path: &Path) -> LearnKit {
    LearnKit::builder().store(Store::of(SqliteStore::open(path).await.unwrap())).build().await.unwrap()
}

#[tokio::test]
async fn d7_learning_maintenance_and_pruning_go_on_beside_rows_that_cannot_be_read() {
    let (_folder, path) = place();
    let memory = engine(&path).await;
    let first = learn(&memory, "Fetch the page").await;
    let skill = first.learned.iter().find(|note| note.kind == Kind::Skill).unwrap().id.clone();
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE records SET body = '[]' WHERE id = ?1", [skill.as_str()]).unwrap();
    connection.execute("UPDATE runs SET body = '{' WHERE id = ?1", [first.run_id.as_str()]).unwrap();

    let again = learn(&memory, "Fetch the page").await;
    assert_eq!(again.mode, Mode::Cold, "nothing readable is known: {}", again.reason);
    let warned = again.warnings.iter().any(|warning| warning.contains(skill.as_str()) && warning.contains("delete"));
    assert!(warned, "{:?}", again.warnings);
    assert_eq!(memory.run(&again.run_id).await.unwrap().calls.len(), 1, "the run itself is stored");

    let maintained = memory.maintain_memory(1, 0.02, 0.0).await.unwrap();
    assert_eq!(maintained.skipped.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), [skill.as_str()]);
    assert_eq!(memory.purge_records(&memory.every_record(), Duration::ZERO, Pass::Real).await.unwrap(), 0);
    assert_eq!(memory.vacuum().await.unwrap().reindexed, 0);
    assert_eq!(memory.health().await.unwrap().problems, Vec::<String>::new());
    memory.never_retrieved(10).await.unwrap();
    let all = RunRetention { older_than: Duration::ZERO, keep_newest: 0 };
    let pruned = memory.prune_runs(&all, Pass::Real).await.unwrap();
    assert_eq!((pruned.runs, pruned.records), (2, 2), "the unreadable run too");

    assert_eq!(memory.forget(&skill).await.unwrap().records, 1);
    let fresh = learn(&memory, "Fetch the page").await;
    assert!(fresh.learned.iter().any(|note| note.id == skill && note.change == "learned"), "{fresh:?}");
}

#[tokio::test]
async fn d13_forgetting_through_the_engine_leaves_no_byte_of_task_arguments_result_or_answer() {
    const WORDS: [&str; 4] = ["quockerwodger", "vexillophagy", "obambulatory", "nudiustertian"];
    let (folder, path) = place();
    let memory = engine(&path).await;
    let report = learn(&memory, "Fetch the page Quockerwodger").await;
    for number in 0..40 {
        memory
            .remember(fixtures::fact(&format!("fct_{number}"), &format!("floor f{number} is wide")).unwrap())
            .await
            .unwrap();
    }
    let skill = report.learned.iter().find(|note| note.kind == Kind::Skill).unwrap().id.clone();
    drop(memory);
    assert!(WORDS.iter().all(|word| leaves(&folder, word)), "all of it was stored");

    let memory = engine(&path).await;
    let forgotten = memory.forget(&skill).await.unwrap();
    assert_eq!((forgotten.records, forgotten.runs), (2, 1), "the skill, its trace and its run");
    assert_eq!(memory.run(&report.run_id).await.unwrap_err().kind(), ErrorKind::NotFound);
    let again = learn_nothing(&memory, "Fetch the page Quockerwodger").await;
    assert_eq!(again, Mode::Cold);
    drop(memory);
    for word in WORDS {
        assert!(!leaves(&folder, word), "{word} is gone");
    }
}

/// How a task would be planned, without storing anything.
async fn learn_nothing(memory: &LearnKit, task: &str) -> Mode {
    memory.inspect(Task::new(task)).await.unwrap().mode
}

#[tokio::test]
async fn d13_pruned_runs_and_purged_records_leave_no_bytes() {
    let (folder, path) = place();
    let memory = engine(&path).await;
    let report = learn(&memory, "Fetch the page Quockerwodger").await;
    memory.report_failure(&report.run_id).await.unwrap();
    let all = RunRetention { older_than: Duration::ZERO, keep_newest: 0 };
    assert_eq!(memory.prune_runs(&all, Pass::Real).await.unwrap().runs, 1);
    assert_eq!(memory.purge_records(&memory.every_record(), Duration::ZERO, Pass::Real).await.unwrap(), 1);
    drop(memory);
    for word in ["quockerwodger", "vexillophagy", "obambulatory", "nudiustertian"] {
        assert!(!leaves(&folder, word), "{word} is gone");
    }
}

#[tokio::test]
async fn f80_vacuum_rebuilds_the_index_as_every_put_writes_it_and_gives_space_back() {
    let (_folder, path) = place();
    let records: Vec<Record> = (0..300)
        .map(|number| {
            fixtures::fact(&format!("fct_{number}"), &format!("删除用户{number} {}", "words ".repeat(200))).unwrap()
        })
        .collect();
    let store = stored(&path, &records).await;
    let index = |path: &Path| {
        let connection = Connection::open(path).unwrap();
        let mut rows = connection.prepare("SELECT rowid, title, tools, body FROM records_fts ORDER BY rowid").unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
        rows.collect::<Result<Vec<(i64, String, String, String)>, _>>().unwrap()
    };
    let before = index(&path);
    let connection = Connection::open(&path).unwrap();
    // What a foreign program, an old bug or another tokenizer could have left.
    connection.execute_batch("DELETE FROM records_fts WHERE rowid % 3 = 0; UPDATE records_fts SET title = 'x' WHERE rowid % 3 = 1; INSERT INTO records_fts (rowid, title) VALUES (9999, 'nobody')").unwrap();
    let filter = RecordFilter::all_of(fixtures::tenant());
    let search = SearchQuery { text: "用户".to_owned(), filter, limit: 1_000 };
    assert!(store.search(&search).await.unwrap().len() < 300);
    let problems = store.health().await.unwrap().problems;
    assert!(problems.len() == 1 && problems[0].contains("learnkit vacuum"), "{problems:?}");

    assert_eq!(store.vacuum().await.unwrap().reindexed, 200);
    assert_eq!(index(&path), before, "the same code made both");
    assert_eq!(store.search(&search).await.unwrap().len(), 300);
    assert_eq!(store.health().await.unwrap().problems, Vec::<String>::new());

    let gone: Vec<Deletion> =
        records.iter().skip(10).map(|record| Deletion { id: record.id.clone(), only: None }).collect();
    assert_eq!(store.delete_many(&fixtures::tenant(), &gone).await.unwrap(), 290);
    let done = store.vacuum().await.unwrap();
    assert!(done.bytes_after * 4 < done.bytes_before, "{done:?}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), done.bytes_after, "the log is empty");
    assert_eq!(store.search(&search).await.unwrap().len(), 10);
}

#[tokio::test]
async fn vacuum_beside_others_keeps_what_they_wrote_and_says_when_it_is_busy() {
    let (_folder, path) = place();
    let store = stored(&path, &[fixtures::fact("fct_1", "one").unwrap()]).await;
    let other = stored(&path, &[fixtures::fact("fct_2", "two").unwrap()]).await;
    store.vacuum().await.unwrap();
    other.put(&fixtures::fact("fct_3", "three").unwrap(), PutMode::Create).await.unwrap();
    assert_eq!(store.scan(&all()).await.unwrap().items.len(), 3);

    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.vacuum().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
    writer.execute_batch("ROLLBACK").unwrap();
    store.vacuum().await.unwrap();
    let memory = SqliteStore::open_in_memory().await.unwrap();
    assert!(memory.vacuum().await.unwrap().bytes_after > 0);
}

#[tokio::test]
async fn f55_health_says_mode_schema_and_size() {
    let (_folder, path) = place();
    let store = stored(&path, &[]).await;
    let health = store.health().await.unwrap();
    let version = Connection::open(&path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!((health.writable, health.schema), (Some(true), Some(version)));
    assert_eq!(health.details["journal_mode"], "wal");
    assert!(health.bytes.unwrap() >= std::fs::metadata(&path).unwrap().len());
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let health = store.health().await.unwrap();
    assert_eq!(health.writable, Some(false));
    assert!(health.problems.iter().any(|problem| problem.contains("locked")), "{:?}", health.problems);
}
