//! Export and import through the library: what survives, on which store, and the files of every format.

use std::collections::BTreeMap;
use std::io::Cursor;

use jiff::Timestamp;
use learnkit::backend::{Fate, LoadItem, OnExisting, PutMode, RunFilter, ScanRequest, Store};
use learnkit::backends::sqlite::SqliteStore;
use learnkit::portable::{ExportSelection, FORMAT_VERSION, Import, ImportOptions, Imported, OtherTenant};
use learnkit::record::{Confidence, Record, RecordId, Revision, Status, Tenant, Trust};
use learnkit::run::StoredRun;
use learnkit::{Error, ErrorKind, LearnKit, MemoryStore};
use learnkit_core::testing::fixtures;
use proptest::prelude::*;

async fn sqlite() -> LearnKit {
    of(Store::of(SqliteStore::open_in_memory().await.unwrap())).await
}

async fn in_memory() -> LearnKit {
    of(Store::of(MemoryStore::new())).await
}

async fn of(store: Store) -> LearnKit {
    LearnKit::builder().store(store).build().await.unwrap()
}

async fn export(memory: &LearnKit) -> String {
    let mut out = Vec::new();
    memory.export(&mut out, &ExportSelection::default()).await.unwrap();
    String::from_utf8(out).unwrap()
}

async fn import(memory: &LearnKit, export: &str) -> Result<Imported, Error> {
    memory.import(Import::read(Cursor::new(export.to_owned()))?, ImportOptions::default()).await
}

/// The lines that hold records and runs.
fn body(export: &str) -> Vec<&str> {
    export.lines().filter(|line| line.starts_with(r#"{"record":"#) || line.starts_with(r#"{"run":"#)).collect()
}

async fn fill(memory: &LearnKit, records: Vec<Record>, runs: Vec<StoredRun>) {
    let items: Vec<_> =
        records.into_iter().map(LoadItem::from).chain(runs.into_iter().map(LoadItem::from)).map(Ok).collect();
    memory.store().load(Box::new(items.into_iter()), OnExisting::Replace).await.unwrap();
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,30}", r"\PC{0,20}", Just("用户 👩‍👩‍👧 \u{0}\u{1b}\u{2028}\" \\".to_owned())]
}

/// Every time that jiff writes with four digits of a year.
fn times() -> impl Strategy<Value = Timestamp> {
    seconds(-62_000_000_000..253_000_000_000)
}

/// The years 1677 to 2262: runs are listed by times of 64 bits.
fn listed_times() -> impl Strategy<Value = Timestamp> {
    seconds(-9_200_000_000..9_200_000_000)
}

fn seconds(range: std::ops::Range<i64>) -> impl Strategy<Value = Timestamp> {
    (range, 0..1_000_000_000_i32).prop_map(|(seconds, nanoseconds)| Timestamp::new(seconds, nanoseconds).unwrap())
}

prop_compose! {
    /// A record of any kind in any state.
    fn records()(
        (kind, id, reason, agent) in (0_usize..7, "[a-z0-9/é:]{1,12}", texts(), r"[\pL\pN]{1,9}"),
        (pinned, trust, confidence, rate, weight) in
            (any::<bool>(), any::<bool>(), 0.0..=1.0_f64, proptest::option::of(0.0..=1.0_f64), 0.0..=1.0_f64),
        (reuse, help, harm, failed) in (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>()),
        (status, suspended) in (0_usize..5, proptest::option::of(texts())),
        (created, expires, reinforced) in
            (times(), proptest::option::of(times()), proptest::option::of(times())),
        (task, arguments) in (texts(), prop_oneof![
            Just(r#"{"id": 90071992547409930000000001, "b":1.10}"#), Just("null"), Just("{bad"), Just("")
        ]),
        revision in 1_u64..99,
    ) -> Record {
        let mut record = if kind == 0 {
            fixtures::skill("skl", &task, "query", arguments).unwrap()
        } else {
            fixtures::one_of_each_kind().unwrap().swap_remove(kind)
        };
        record.id = RecordId::new(id).unwrap();
        record.agent = learnkit::record::AgentName::new(agent).unwrap();
        record.status = Status::ALL[status];
        record.status_reason = reason;
        record.pinned = pinned;
        record.trust = if trust { Trust::Verified } else { Trust::Unverified };
        record.confidence = Confidence::new(confidence).unwrap();
        record.success_rate = rate;
        record.domains = BTreeMap::from([(task, weight)]);
        record.usage.reuse_count = reuse;
        record.usage.help = help;
        record.usage.harm = harm;
        record.usage.failed_replays = failed;
        record.usage.suspended = suspended;
        (record.created, record.expires, record.last_reinforced) = (created, expires, reinforced);
        record.revision = Revision(revision);
        record
    }
}

prop_compose! {
    fn runs()(
        (id, text, answer) in ("[a-z0-9]{1,9}", texts(), proptest::option::of(texts())),
        (started, finished, warnings) in (times(), listed_times(), proptest::collection::vec(texts(), 0..3)),
    ) -> StoredRun {
        let run = fixtures::run(&id, &text).unwrap();
        StoredRun { answer, started, finished, warnings, ..run }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn state_counters_pins_and_times_survive_to_the_last_bit(
        records in proptest::collection::vec(records(), 0..8), runs in proptest::collection::vec(runs(), 0..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let source = sqlite().await;
            fill(&source, records, runs).await;
            let first = export(&source).await;
            for target in [in_memory().await, sqlite().await] {
                import(&target, &first).await.unwrap();
                let second = export(&target).await;
                prop_assert_eq!(body(&second), body(&first));
                let again = import(&target, &first).await.unwrap().loaded;
                prop_assert_eq!(again.records.unchanged + again.runs.unchanged, again.records.total() + again.runs.total());
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn d11_a_record_that_never_expires_comes_back_without_a_date() {
    let source = in_memory().await;
    let forever = Record { expires: None, ..fixtures::fact("fct_forever", "kept for good").unwrap() };
    fill(&source, vec![forever.clone()], Vec::new()).await;
    let target = sqlite().await;
    import(&target, &export(&source).await).await.unwrap();
    let read = target.record(&forever.id).await.unwrap();
    assert_eq!((read.expires, read.created), (None, forever.created));
}

#[tokio::test]
async fn d6_an_import_that_fails_in_the_middle_stores_nothing_in_any_store() {
    let source = in_memory().await;
    let records = (0..700).map(|number| fixtures::fact(&format!("fct_{number:03}"), "some words").unwrap());
    fill(&source, records.collect(), vec![fixtures::run("run_1", "do it").unwrap()]).await;
    let mut lines: Vec<String> = export(&source).await.lines().map(str::to_owned).collect();
    let last_record = lines.len() - 3;
    lines[last_record].truncate(60);
    let broken = lines.join("\n");
    for target in [in_memory().await, sqlite().await] {
        let error = import(&target, &broken).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(&format!("line {}, column 60", last_record + 1)), "{error}");
        assert_eq!(body(&export(&target).await), [""; 0]);
    }
}

#[tokio::test]
async fn f70_another_tenants_export_is_refused_until_it_is_asked_for() {
    let source = in_memory().await;
    fill(&source, fixtures::one_of_each_kind().unwrap(), vec![fixtures::run("run_1", "do it").unwrap()]).await;
    let text = export(&source).await;
    let tenant = Tenant::new("team-a/b").unwrap();
    let target = LearnKit::builder().store(Store::of(MemoryStore::new())).tenant(tenant.clone()).build().await.unwrap();
    let read = || Import::read(Cursor::new(text.clone())).unwrap();
    let refused = target.import(read(), ImportOptions::default()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(target.check_import(read(), ImportOptions::default()).await.unwrap_err().kind(), ErrorKind::Conflict);
    let adopt = ImportOptions { other_tenant: OtherTenant::Adopt, ..ImportOptions::default() };
    let imported = target.import(read(), adopt).await.unwrap();
    assert_eq!((imported.from, imported.tenant), (Some(Tenant::default()), tenant.clone()));
    assert_eq!((imported.loaded.records.added, imported.loaded.runs.added), (7, 1));
    let page = target.scan(&ScanRequest { filter: target.every_record(), after: None, limit: 99 }).await.unwrap();
    assert!(page.items.iter().all(|record| record.tenant == tenant));
    let runs = target.runs(&RunFilter::newest(tenant.clone(), 9)).await.unwrap();
    assert!(runs.items.len() == 1 && runs.items.iter().all(|run| run.tenant == tenant));
}

#[tokio::test]
async fn a_check_tells_what_the_import_then_does() {
    let source = in_memory().await;
    fill(&source, fixtures::one_of_each_kind().unwrap(), vec![fixtures::run("run_1", "do it").unwrap()]).await;
    let text = export(&source).await;
    let target = sqlite().await;
    let records = &target.store().records;
    records.put(&fixtures::fact("rec_fact", "another").unwrap(), PutMode::Create).await.unwrap();
    target.store().runs.finish_run(&fixtures::run("run_1", "do it").unwrap()).await.unwrap();
    for existing in [OnExisting::Keep, OnExisting::Replace] {
        let options = ImportOptions { existing, ..ImportOptions::default() };
        let read = || Import::read(Cursor::new(text.clone())).unwrap();
        let before = export(&target).await;
        let told = target.check_import(read(), options).await.unwrap();
        assert_eq!(body(&export(&target).await), body(&before), "a check stores nothing");
        assert_eq!(target.import(read(), options).await.unwrap(), told);
    }
    assert_eq!(OnExisting::Keep.fate(false), Fate::Kept);
}

/// The first export of a format that was ever written; it must be read for ever.
fn golden(version: u32) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/export_v{version}.jsonl"))
}

/// `LEARNKIT_WRITE_GOLDEN=1` writes the one of the current format anew, which is right only before that
/// format is released.
async fn write_golden() {
    let source = in_memory().await;
    let mut records = fixtures::one_of_each_kind().unwrap();
    records.push(Record { expires: None, ..fixtures::fact("fct_forever", "删除用户张三 in C++").unwrap() });
    let runs = ["run_1", "run_2"].map(|id| fixtures::run(id, "удали заказ 5").unwrap());
    fill(&source, records, runs.to_vec()).await;
    std::fs::write(golden(FORMAT_VERSION), export(&source).await).unwrap();
}

#[tokio::test]
async fn f78_an_export_of_format_1_is_read_for_ever() {
    if std::env::var_os("LEARNKIT_WRITE_GOLDEN").is_some() {
        write_golden().await;
    }
    assert!(golden(FORMAT_VERSION).exists(), "every format that is written has its golden file");
    let text = std::fs::read_to_string(golden(1)).unwrap();
    for target in [sqlite().await, in_memory().await] {
        let imported = import(&target, &text).await.unwrap();
        assert_eq!((imported.loaded.records.added, imported.loaded.runs.added), (8, 2));
        let (mut records, mut runs) = (0, 0);
        for line in text.lines() {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            if let Some(record) = line.get_mut("record") {
                let mut record: Record = serde_json::from_value(record.take()).unwrap();
                record.revision = Revision(1);
                assert_eq!(target.record(&record.id).await.unwrap(), record);
                records += 1;
            } else if let Some(run) = line.get_mut("run") {
                let run: StoredRun = serde_json::from_value(run.take()).unwrap();
                assert_eq!(target.run(&run.id).await.unwrap(), run);
                runs += 1;
            }
        }
        assert_eq!((records, runs), (8, 2));
    }
}
