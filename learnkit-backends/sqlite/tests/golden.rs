//! Databases of every released schema, beside a listing of what they hold.
//!
//! `LEARNKIT_WRITE_GOLDEN=1 cargo test -p learnkit-backend-sqlite --test golden` writes the one of the
//! current schema anew, which is right only before that schema is released.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::backend::{
    ExactQuery, MemoryBackend as _, PutMode, RecordFilter, RunFilter, RunStore as _, ScanRequest, SearchQuery,
};
use learnkit_core::record::{Record, Tenant};
use learnkit_core::run::{Journal, StepState, StoredRun};
use learnkit_core::testing::fixtures;
use serde::{Deserialize, Serialize};

const TENANTS: [&str; 2] = ["default", "team-a/b"];

/// Everything in a store.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Listing {
    records: Vec<Record>,
    runs: Vec<StoredRun>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    journals: Vec<Journal>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

async fn listing(store: &SqliteStore) -> Listing {
    let mut listing = Listing { records: Vec::new(), runs: Vec::new(), journals: Vec::new() };
    for tenant in TENANTS.map(|name| Tenant::new(name).unwrap()) {
        let all = ScanRequest { filter: RecordFilter::all_of(tenant.clone()), after: None, limit: 1000 };
        let records = store.scan(&all).await.unwrap();
        let runs = store.list_runs(&RunFilter::newest(tenant.clone(), 1000)).await.unwrap();
        let journals = store.list_journals(&tenant, None, 1000).await.unwrap();
        assert_eq!((records.skipped, runs.skipped, journals.skipped), (Vec::new(), Vec::new(), Vec::new()));
        listing.records.extend(records.items);
        listing.runs.extend(runs.items);
        listing.journals.extend(journals.items);
    }
    listing
}

async fn fill(store: &SqliteStore) {
    for name in TENANTS {
        let tenant = Tenant::new(name).unwrap();
        let others = [
            fixtures::fact("fct_cjk", "删除用户张三 in C++").unwrap(),
            fixtures::fact("fct_forever", "kept for good").unwrap(),
        ];
        for mut record in fixtures::one_of_each_kind().unwrap().into_iter().chain(others) {
            record.tenant = tenant.clone();
            if record.id.as_str() == "fct_forever" {
                record.expires = None;
                store.put(&record, PutMode::Create).await.unwrap();
            }
            store.put(&record, PutMode::Upsert).await.unwrap();
        }
        for id in ["run_1", "run_2"] {
            let run = StoredRun { tenant: tenant.clone(), ..fixtures::run(id, "удали заказ 5").unwrap() };
            store.finish_run(&run).await.unwrap();
        }
        let states = [StepState::Ended, StepState::SaidDone, StepState::SaidNotDone, StepState::Begun];
        let steps = (1..).zip(states).map(|(number, state)| fixtures::journal_step(number, state)).collect();
        let mut write = fixtures::journal_write("run_open", "session 1", 30, steps).unwrap();
        write.tenant = tenant.clone();
        store.write_journal(&write).await.unwrap();
    }
}

async fn write(version: &str) {
    let path = golden(&format!("{version}.db"));
    if path.exists() {
        std::fs::remove_file(&path).unwrap();
    }
    let store = SqliteStore::open(&path).await.unwrap();
    fill(&store).await;
    let text = serde_json::to_string_pretty(&listing(&store).await).unwrap();
    std::fs::write(golden(&format!("{version}.json")), text + "\n").unwrap();
}

/// Opens a copy of a golden file and checks that everything in it reads back, and that nothing that was there changed.
async fn reads_back(version: &str, tables: &[(&str, &str)], counts: [usize; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    std::fs::copy(golden(&format!("{version}.db")), &copy).unwrap();
    let before = rows(&copy, tables);
    assert_eq!(names(&copy), tables.iter().map(|(table, _)| *table).collect::<Vec<_>>(), "every table is looked at");
    assert!(before.iter().all(|rows| !rows.is_empty()), "every table is filled");

    let store = SqliteStore::open(&copy).await.unwrap();
    let expected = std::fs::read_to_string(golden(&format!("{version}.json"))).unwrap();
    let expected: Listing = serde_json::from_str(&expected).unwrap();
    assert_eq!([expected.records.len(), expected.runs.len(), expected.journals.len()], counts);
    assert_eq!(listing(&store).await, expected);
    for record in &expected.records {
        assert_eq!(store.get(&record.tenant, &record.id).await.unwrap().as_ref(), Some(record));
    }
    let link = expected.records.iter().find_map(|record| record.task.clone()).unwrap();
    let query = ExactQuery { tenant: Tenant::default(), keys: vec![link.key], canonical: link.canonical };
    assert_eq!(store.lookup(&query).await.unwrap().len(), 1);
    let filter = RecordFilter::all_of(Tenant::default());
    let search = SearchQuery { text: "张三".to_owned(), filter, limit: 9 };
    assert_eq!(store.search(&search).await.unwrap().len(), 1);
    drop(store);
    assert_eq!(rows(&copy, tables), before, "opening and migrating changes no value that was there");
}

#[tokio::test]
async fn f57_f59_a_database_of_schema_1_reads_back_row_by_row() {
    reads_back("v1", &TABLES[..3], [18, 4, 0]).await;
}

#[tokio::test]
async fn f57_f59_a_database_of_schema_2_reads_back_row_by_row_with_open_runs() {
    if std::env::var_os("LEARNKIT_WRITE_GOLDEN").is_some() {
        write("v2").await;
    }
    reads_back("v2", &sorted(), [18, 4, 2]).await;
}

/// The tables with their columns, those of schema 1 first; shadow tables of the text index are its own affair.
const TABLES: [(&str, &str); 5] = [
    (
        "records",
        "row, tenant, id, revision, kind, scope, agent, status, confidence, expires, task_key, canonical, body",
    ),
    ("records_fts", "rowid, title, tools, body"),
    ("runs", "row, tenant, id, agent, task_key, finished, body"),
    ("open_runs", "row, tenant, id, owner, until, body"),
    ("open_steps", "run, number, body"),
];

/// The tables by name.
fn sorted() -> Vec<(&'static str, &'static str)> {
    let mut tables = TABLES.to_vec();
    tables.sort_unstable();
    tables
}

fn texts(path: &Path, statement: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut statement = connection.prepare(statement).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// The names of the tables that are there.
fn names(path: &Path) -> Vec<String> {
    let statement = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                     AND name NOT LIKE 'records\\_fts\\_%' ESCAPE '\\' ORDER BY name";
    texts(path, statement)
}

/// Every value, by table and row.
fn rows(path: &Path, tables: &[(&str, &str)]) -> Vec<BTreeSet<String>> {
    let rows = |(table, columns): &(&str, &str)| texts(path, &format!("SELECT json_array({columns}) FROM {table}"));
    tables.iter().map(rows).map(|rows| rows.into_iter().collect()).collect()
}
