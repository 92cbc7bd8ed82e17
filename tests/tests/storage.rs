//! Huge texts, and what leaves the store by age.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use learnkit::backend::{
    BackendInfo, Batch, Capabilities, Committed, ExactQuery, MemoryBackend, Page, RunFilter, ScanRequest, Scored,
    SearchQuery, Store,
};
use learnkit::engine::{Outcome, Pass, RunRetention, SessionOptions, View};
use learnkit::record::{Kind, Record, RecordId, RunId, Status, Tenant};
use learnkit::run::{Arguments, Mode, StoredRun};
use learnkit::{Error, ErrorKind, LearnKit, Result, RunReport, Task, async_trait};
use learnkit_core::MemoryStore;
use learnkit_core::testing::ManualClock;
use learnkit_tests::{builder, fact, memory, of_kind, run_once, skills, stored_runs};
use serde_json::{Value, json};

const MEGABYTE: usize = 1_000_000;

/// A run of one call with these arguments and this result.
async fn learn(memory: &LearnKit, arguments: &Value, result: String, answer: &str) -> RunReport {
    let session = memory.session(Task::new("Load the page"), SessionOptions::default()).unwrap();
    session.decide(&View::default()).await;
    session.tracker().record("load", Arguments::of(arguments).unwrap(), result);
    session.finish(&Outcome::answered(answer)).await
}

async fn on_disk(path: &Path) -> LearnKit {
    LearnKit::builder().backend(format!("sqlite:{}", path.display())).build().await.unwrap()
}

fn stored_prefix(run: &StoredRun) -> &str {
    let result = &run.calls[0].result;
    assert!(result.truncated && result.text.len() <= 64 * 1024 && result.sha256.len() == 64, "{} bytes", result.bytes);
    &result.text
}

/// Rows with numbers of their own, up to a size.
fn rows(bytes: usize, row: impl Fn(usize) -> String) -> String {
    let mut all = String::new();
    for number in 0.. {
        if all.len() > bytes {
            break;
        }
        all.push_str(if number == 0 { "" } else { "," });
        all.push_str(&row(number));
    }
    all
}

#[tokio::test]
async fn f61_a_huge_result_of_any_form_is_stored_as_a_prefix_and_still_replays() {
    let folder = tempfile::tempdir().unwrap();
    let fields = rows(MEGABYTE, |row| format!(r#""key{row}":"wert ü {row}""#));
    let items = rows(MEGABYTE, |row| format!(r#"{{"id":{row},"name":"née {row}"}}"#));
    for (form, bytes, result) in [
        ("10 MB of text", 10 * MEGABYTE, "§ä漢".repeat(10 * MEGABYTE / 7 + 1)),
        ("10 MB of a string in JSON", 10 * MEGABYTE, json!("\u{1F600}\"".repeat(2 * MEGABYTE)).to_string()),
        ("an object with many keys", MEGABYTE, format!("{{{fields}}}")),
        ("a long list", MEGABYTE, format!("[{items}]")),
    ] {
        assert!(result.len() > bytes, "{form}");
        let path = folder.path().join(format!("{form}.db"));
        let memory = on_disk(&path).await;
        let report = learn(&memory, &json!({ "page": 7 }), result.clone(), "loaded").await;
        assert!(report.learned.iter().any(|note| note.kind == Kind::Skill), "{form}: {:?}", report.warnings);
        let run = memory.run(&report.run_id).await.unwrap();
        assert!(result.starts_with(stored_prefix(&run)), "{form}: it is cut at a character");
        assert_eq!(run.calls[0].result.bytes, result.len(), "{form}");

        let session = memory.session(Task::new("Load the page"), SessionOptions::default()).unwrap();
        session.decide(&View::default()).await;
        session.tracker().record("load", json!({ "page": 7 }), result);
        session.decide(&View::default()).await;
        let again = session.finish(&Outcome::default()).await;
        assert_eq!((again.replayed, again.answer.as_deref()), (true, Some("loaded")), "{form}: {}", again.reason);
        drop((memory, session));
        let bytes = std::fs::metadata(&path).unwrap().len();
        assert!(bytes < 1_000_000, "{form}: {bytes} bytes");
    }
}

#[tokio::test]
async fn f83_an_argument_of_3_mb_is_stored_as_a_prefix_and_makes_the_procedure_guide_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let memory = on_disk(&path).await;
    let arguments = json!({ "body": "ü漢".repeat(3 * MEGABYTE / 5) });
    let whole = arguments.to_string();
    for _ in 0..2 {
        let report = learn(&memory, &arguments, "kept".to_owned(), "loaded").await;
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        let call = memory.run(&report.run_id).await.unwrap().calls.remove(0);
        let cut = call.arguments_cut.unwrap();
        assert_eq!((cut.bytes, cut.sha256.len()), (whole.len(), 64));
        assert!(whole.starts_with(call.arguments.raw()) && call.arguments.raw().len() > 60_000);
    }
    let skill = skills(&memory).await.remove(0);
    let procedure = skill.procedure().unwrap();
    assert_eq!((skill.usage.successes, procedure.guide_only.len()), (2, 1), "one record, learned twice");
    assert!(procedure.guide_only[0].contains("longer than 64 KiB"), "{:?}", procedure.guide_only);
    let inspection = memory.inspect("Load the page").await.unwrap();
    assert_eq!(inspection.mode, Mode::Guide, "{}", inspection.reason);
    drop(memory);
    assert!(std::fs::metadata(&path).unwrap().len() < 1_000_000);
}

#[tokio::test]
async fn f61_an_answer_of_10_mb_is_stored_as_a_prefix_and_given_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let memory = on_disk(&path).await;
    let answer = "größe ".repeat(10 * MEGABYTE / 8);
    let report = learn(&memory, &json!({}), "ok".to_owned(), &answer).await;
    assert_eq!(report.answer.as_deref(), Some(answer.as_str()));
    assert!(report.warnings.iter().any(|warning| warning.contains("of the answer the first")), "{:?}", report.warnings);
    let stored = memory.run(&report.run_id).await.unwrap().answer.unwrap();
    assert!(answer.starts_with(&stored) && stored.len() > 60_000);
    assert_eq!(skills(&memory).await[0].procedure().unwrap().answer, None, "a prefix is never given as the answer");
    drop(memory);
    assert!(std::fs::metadata(&path).unwrap().len() < 1_000_000);
}

#[tokio::test]
async fn f28_the_same_procedure_learned_twice_is_one_record_with_its_history() {
    let (memory, _) = memory().await;
    for answer in ["loaded", "loaded again"] {
        // Nobody asks memory for a decision, so that the run is planned both times.
        let session = memory.session(Task::new("Load the page"), SessionOptions::default()).unwrap();
        session.tracker().record("load", json!({ "page": 7 }), "kept");
        session.finish(&Outcome::answered(answer)).await;
    }
    let known = skills(&memory).await;
    assert_eq!((known.len(), known[0].usage.successes), (1, 2));
    let procedure = known[0].procedure().unwrap();
    assert_eq!((procedure.version, procedure.answer.as_deref()), (2, Some("loaded again")));
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

const DAY: Duration = Duration::from_hours(24);

async fn purge(memory: &LearnKit, older_than: Duration, pass: Pass) -> usize {
    memory.purge_records(&memory.every_record(), older_than, pass).await.unwrap()
}

#[tokio::test]
async fn a_tombstone_is_purged_so_long_after_it_was_retired_and_can_be_learned_anew() {
    let (memory, clock) = memory().await;
    let report = run_once(&memory, "ping", "ping", &Outcome::answered("up")).await;
    clock.advance(days(40));
    memory.report_failure(&report.run_id).await.unwrap();
    let retired = skills(&memory).await.remove(0);
    assert_eq!((retired.status, retired.status_since), (Status::Retired, Some(clock_time(&clock))));
    clock.advance(days(29));
    assert_eq!(purge(&memory, 30 * DAY, Pass::DryRun).await, 1, "the trace of the run expired on day 30");
    assert_eq!(purge(&memory, 30 * DAY, Pass::Real).await, 1);
    assert_eq!(skills(&memory).await.len(), 1, "made 69 days ago, but retired 29 days ago");
    clock.advance(days(2));
    assert_eq!(purge(&memory, 30 * DAY, Pass::DryRun).await, 1);
    assert_eq!(skills(&memory).await.len(), 1, "a dry run deletes nothing");
    assert_eq!(purge(&memory, 30 * DAY, Pass::Real).await, 1);
    assert_eq!(skills(&memory).await, []);
    assert_eq!(stored_runs(&memory).await.len(), 1, "runs are pruned, not purged");
    run_once(&memory, "ping", "ping", &Outcome::answered("up")).await;
    assert_eq!(skills(&memory).await[0].status, Status::Probation);
}

fn clock_time(clock: &Arc<ManualClock>) -> jiff::Timestamp {
    learnkit_core::Clock::now(&**clock)
}

#[tokio::test]
async fn f36_nothing_pinned_and_nothing_that_may_come_back_is_purged() {
    let (memory, clock) = memory().await;
    run_once(&memory, "ping", "ping", &Outcome::answered("up")).await;
    let pinned_trace = of_kind(&memory, Kind::Trace).await[0].id.clone();
    let retired = run_once(&memory, "pong", "pong", &Outcome::answered("up")).await;
    memory.report_failure(&retired.run_id).await.unwrap();
    let is_retired = |record: &&Record| record.status == Status::Retired;
    let pinned_tombstone = skills(&memory).await.iter().find(is_retired).unwrap().id.clone();
    memory.remember(fact(&memory, "fct_1", "the moon is round")).await.unwrap();
    for id in [&pinned_trace, &pinned_tombstone] {
        memory.pin(id, true).await.unwrap();
    }
    clock.advance(days(1_000));
    memory.maintain_memory(1, 0.02, 24.0).await.unwrap();
    let stale = of_kind(&memory, Kind::Fact).await.remove(0);
    assert_eq!(stale.status, Status::Stale, "stale is undone by a later success");
    assert_eq!(purge(&memory, DAY, Pass::Real).await, 1, "the trace of the other run, which expired");
    for id in [&pinned_trace, &pinned_tombstone, &stale.id] {
        memory.record(id).await.unwrap();
    }
}

#[tokio::test]
async fn purging_within_a_filter_touches_nothing_else() {
    let (memory, clock) = memory().await;
    let report = run_once(&memory, "ping", "ping", &Outcome::answered("up")).await;
    memory.report_failure(&report.run_id).await.unwrap();
    clock.advance(days(100));
    let mut facts = memory.every_record();
    facts.kinds = vec![Kind::Fact];
    facts.agents = learnkit::backend::AgentFilter::Only("somebody-else".parse().unwrap());
    assert_eq!(memory.purge_records(&facts, DAY, Pass::Real).await.unwrap(), 0);
    assert_eq!(skills(&memory).await.len(), 1);
}

/// Runs of one task, a day apart, oldest first.
async fn runs(memory: &LearnKit, clock: &ManualClock, count: usize) -> Vec<RunId> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(run_once(memory, "ping", "ping", &Outcome::answered("up")).await.run_id);
        clock.advance(days(1));
    }
    ids
}

async fn left(memory: &LearnKit) -> Vec<RunId> {
    let mut ids: Vec<RunId> = stored_runs(memory).await.into_iter().map(|run| run.id).collect();
    ids.reverse();
    ids
}

#[tokio::test]
async fn runs_older_than_an_age_go_with_their_traces_and_what_they_taught_stays() {
    let (memory, clock) = memory().await;
    let ids = runs(&memory, &clock, 10).await;
    let pinned =
        of_kind(&memory, Kind::Trace).await.into_iter().find(|trace| trace.provenance.run.as_ref() == Some(&ids[0]));
    memory.pin(&pinned.unwrap().id, true).await.unwrap();
    let known = skills(&memory).await;
    let retention = RunRetention { older_than: 4 * DAY, keep_newest: 0 };
    let planned = memory.prune_runs(&retention, Pass::DryRun).await.unwrap();
    assert_eq!((planned.runs, planned.records), (6, 5), "a pinned trace stays");
    assert_eq!(left(&memory).await, ids, "a dry run deletes nothing");
    assert_eq!(memory.prune_runs(&retention, Pass::Real).await.unwrap(), planned);
    assert_eq!(left(&memory).await, ids[6..]);
    assert_eq!(of_kind(&memory, Kind::Trace).await.len(), 5);
    assert_eq!(skills(&memory).await, known);
    assert_eq!(memory.prune_runs(&retention, Pass::Real).await.unwrap().runs, 0);
}

#[tokio::test]
async fn the_newest_runs_are_kept_however_old_they_are() {
    let (memory, clock) = memory().await;
    let ids = runs(&memory, &clock, 10).await;
    let retention = |keep_newest| RunRetention { older_than: Duration::ZERO, keep_newest };
    for (keep, pruned) in [(11, 0), (10, 0), (7, 3), (7, 0), (1, 6), (0, 1)] {
        let done = memory.prune_runs(&retention(keep), Pass::Real).await.unwrap();
        assert_eq!(done.runs, pruned, "keep {keep}");
        assert_eq!(left(&memory).await, ids[ids.len() - keep.min(ids.len())..], "keep {keep}");
    }
}

#[tokio::test]
async fn hundreds_of_runs_are_pruned_page_by_page() {
    let (memory, clock) = memory().await;
    runs(&memory, &clock, 450).await;
    let pruned = memory.prune_runs(&RunRetention { older_than: DAY, keep_newest: 210 }, Pass::Real).await.unwrap();
    assert_eq!((pruned.runs, pruned.records), (240, 240));
    let page = memory.runs(&RunFilter::newest(memory.tenant().clone(), 1_000)).await.unwrap();
    assert_eq!(page.items.len(), 210);
}

#[tokio::test]
async fn a_store_without_space_of_its_own_says_so() {
    let clock = Arc::new(ManualClock::default());
    let memory = builder(&clock).backend("memory:").build().await.unwrap();
    let error: Error = memory.vacuum().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(memory.health().await.unwrap(), learnkit::backend::Health::default());
    let unknown = memory.record(&RecordId::new("fct_1").unwrap()).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
}

/// A store of records only, as far as a store can be from transactions: what it can do is what it must.
#[derive(Debug, Default)]
struct RecordsOnly(MemoryStore);

#[async_trait]
impl MemoryBackend for RecordsOnly {
    fn info(&self) -> BackendInfo {
        self.0.info()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { runs: false, ..self.0.capabilities() }
    }

    async fn commit(&self, batch: &Batch) -> Result<Committed> {
        assert_eq!(batch.run, None, "it keeps no runs");
        self.0.commit(batch).await
    }

    async fn get(&self, tenant: &Tenant, id: &RecordId) -> Result<Option<Record>> {
        self.0.get(tenant, id).await
    }

    async fn delete(&self, tenant: &Tenant, id: &RecordId) -> Result<bool> {
        self.0.delete(tenant, id).await
    }

    async fn lookup(&self, query: &ExactQuery) -> Result<Vec<Record>> {
        self.0.lookup(query).await
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Scored<Record>>> {
        self.0.search(query).await
    }

    async fn scan(&self, request: &ScanRequest) -> Result<Page<Record>> {
        self.0.scan(request).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_and_runs_in_stores_apart_are_learned_counted_and_pruned_alike() {
    let store = Store { records: Arc::new(RecordsOnly::default()), runs: Arc::new(MemoryStore::new()) };
    let clock = Arc::new(ManualClock::default());
    let memory = builder(&clock).store(store).build().await.unwrap();
    let planned = |id: String| {
        let options = SessionOptions { run_id: Some(RunId::new(id).unwrap()) };
        let session = memory.session(Task::new("ping"), options).unwrap();
        session.tracker().record("ping", json!({}), "pong");
        session
    };
    let sessions: Vec<_> = (0..20).map(|number| planned(format!("run_{number}"))).collect();
    let finished =
        sessions.into_iter().map(|session| tokio::spawn(async move { session.finish(&Outcome::answered("up")).await }));
    for report in finished.collect::<Vec<_>>() {
        let report = report.await.unwrap();
        assert!(report.learned.iter().any(|note| note.kind == Kind::Skill), "{:?}", report.warnings);
    }
    let again = planned("run_3".to_owned()).finish(&Outcome::answered("up")).await;
    assert!(again.warnings.iter().any(|warning| warning.contains("was learned before")), "{:?}", again.warnings);
    let known = skills(&memory).await;
    assert_eq!((known.len(), known[0].usage.successes), (1, 20));
    clock.advance(days(10));
    let pruned = memory.prune_runs(&RunRetention { older_than: DAY, keep_newest: 5 }, Pass::Real).await.unwrap();
    assert_eq!((pruned.runs, pruned.records), (15, 15));
    assert_eq!(of_kind(&memory, Kind::Trace).await.len(), 5);
}
