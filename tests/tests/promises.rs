//! Memory that is slow, broken or unreachable turns into a cold run plus a warning.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use learnkit::backend::{
    BackendInfo, Batch, Capabilities, Committed, ExactQuery, JournalWrite, Journaled, MemoryBackend, Page, RunFilter,
    RunStore, ScanRequest, Scored, SearchQuery, Store, TakeJournal, Taken,
};
use learnkit::config::Settings;
use learnkit::record::{Record, RecordId, RunId, Tenant};
use learnkit::run::{Journal, Mode, StoredRun};
use learnkit::{Error, ErrorKind, LearnKit, MemoryStore, Result, async_trait};
use learnkit_tests::{Script, World, run};
use serde_json::json;

/// A store that fails or hangs at every call.
#[derive(Debug, Clone, Copy)]
enum Broken {
    Failing,
    Hanging,
}

impl Broken {
    async fn fail<T>(self) -> Result<T> {
        match self {
            Self::Failing => Err(Error::new(ErrorKind::Unavailable, "the disk is gone")),
            Self::Hanging => std::future::pending().await,
        }
    }
}

#[async_trait]
impl MemoryBackend for Broken {
    fn info(&self) -> BackendInfo {
        BackendInfo { scheme: "broken", location: String::new() }
    }
    fn capabilities(&self) -> Capabilities {
        learnkit::MemoryStore::CAPABILITIES
    }
    async fn commit(&self, _: &Batch) -> Result<Committed> {
        self.fail().await
    }
    async fn get(&self, _: &Tenant, _: &RecordId) -> Result<Option<Record>> {
        self.fail().await
    }
    async fn delete(&self, _: &Tenant, _: &RecordId) -> Result<bool> {
        self.fail().await
    }
    async fn lookup(&self, _: &ExactQuery) -> Result<Vec<Record>> {
        self.fail().await
    }
    async fn search(&self, _: &SearchQuery) -> Result<Vec<Scored<Record>>> {
        self.fail().await
    }
    async fn scan(&self, _: &ScanRequest) -> Result<Page<Record>> {
        self.fail().await
    }
}

#[async_trait]
impl RunStore for Broken {
    async fn finish_run(&self, _: &StoredRun) -> Result<bool> {
        self.fail().await
    }
    async fn update_run(&self, _: &StoredRun) -> Result<bool> {
        self.fail().await
    }
    async fn get_run(&self, _: &Tenant, _: &RunId) -> Result<Option<StoredRun>> {
        self.fail().await
    }
    async fn list_runs(&self, _: &RunFilter) -> Result<Page<StoredRun>> {
        self.fail().await
    }
    async fn delete_run(&self, _: &Tenant, _: &RunId) -> Result<bool> {
        self.fail().await
    }
    async fn write_journal(&self, _: &JournalWrite) -> Result<Journaled> {
        self.fail().await
    }
    async fn take_journal(&self, _: &TakeJournal) -> Result<Taken> {
        self.fail().await
    }
    async fn get_journal(&self, _: &Tenant, _: &RunId) -> Result<Option<Journal>> {
        self.fail().await
    }
    async fn list_journals(&self, _: &Tenant, _: Option<&RunId>, _: usize) -> Result<Page<Journal>> {
        self.fail().await
    }
    async fn delete_journal(&self, _: &Tenant, _: &RunId) -> Result<bool> {
        self.fail().await
    }
}

/// A store that counts the commits, each of which is one transaction.
#[derive(Debug, Default)]
struct Counting {
    inner: MemoryStore,
    commits: AtomicU32,
}

#[async_trait]
impl MemoryBackend for Counting {
    fn info(&self) -> BackendInfo {
        self.inner.info()
    }
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    async fn commit(&self, batch: &Batch) -> Result<Committed> {
        self.commits.fetch_add(1, Ordering::SeqCst);
        self.inner.commit(batch).await
    }
    async fn get(&self, tenant: &Tenant, id: &RecordId) -> Result<Option<Record>> {
        self.inner.get(tenant, id).await
    }
    async fn delete(&self, tenant: &Tenant, id: &RecordId) -> Result<bool> {
        self.inner.delete(tenant, id).await
    }
    async fn lookup(&self, query: &ExactQuery) -> Result<Vec<Record>> {
        self.inner.lookup(query).await
    }
    async fn search(&self, query: &SearchQuery) -> Result<Vec<Scored<Record>>> {
        self.inner.search(query).await
    }
    async fn scan(&self, request: &ScanRequest) -> Result<Page<Record>> {
        self.inner.scan(request).await
    }
}

#[async_trait]
impl RunStore for Counting {
    async fn finish_run(&self, run: &StoredRun) -> Result<bool> {
        self.commits.fetch_add(1, Ordering::SeqCst);
        self.inner.finish_run(run).await
    }
    async fn update_run(&self, run: &StoredRun) -> Result<bool> {
        self.commits.fetch_add(1, Ordering::SeqCst);
        self.inner.update_run(run).await
    }
    async fn get_run(&self, tenant: &Tenant, id: &RunId) -> Result<Option<StoredRun>> {
        self.inner.get_run(tenant, id).await
    }
    async fn list_runs(&self, filter: &RunFilter) -> Result<Page<StoredRun>> {
        self.inner.list_runs(filter).await
    }
    async fn delete_run(&self, tenant: &Tenant, id: &RunId) -> Result<bool> {
        self.inner.delete_run(tenant, id).await
    }
    async fn write_journal(&self, write: &JournalWrite) -> Result<Journaled> {
        self.inner.write_journal(write).await
    }
    async fn take_journal(&self, take: &TakeJournal) -> Result<Taken> {
        self.inner.take_journal(take).await
    }
    async fn get_journal(&self, tenant: &Tenant, id: &RunId) -> Result<Option<Journal>> {
        self.inner.get_journal(tenant, id).await
    }
    async fn list_journals(&self, tenant: &Tenant, after: Option<&RunId>, limit: usize) -> Result<Page<Journal>> {
        self.inner.list_journals(tenant, after, limit).await
    }
    async fn delete_journal(&self, tenant: &Tenant, id: &RunId) -> Result<bool> {
        self.inner.delete_journal(tenant, id).await
    }
}

#[tokio::test]
async fn d4_a_run_that_seven_records_guided_is_one_transaction() {
    let store = Arc::new(Counting::default());
    let both = Store { records: store.clone(), runs: store.clone() };
    let memory = LearnKit::builder().store(both).build().await.unwrap();
    let world = World::new([("restart", json!("done"))]);
    let plan = || Script::new([("restart", json!({}))], "done");
    for host in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"] {
        run(&memory, &format!("Restart the web server {host}"), &world, &plan()).await.unwrap();
    }
    let before = store.commits.load(Ordering::SeqCst);
    let report = run(&memory, "Restart the web server theta", &world, &plan()).await.unwrap();
    let decisions = memory.run(&report.run_id).await.unwrap().decisions;
    assert_eq!((report.mode, decisions[0].candidates.len()), (Mode::Guide, 7));
    assert_eq!(report.learned.len(), 8, "seven that helped and the new one: {:?}", report.learned);
    assert_eq!(store.commits.load(Ordering::SeqCst) - before, 1);
}

async fn memory(broken: Broken) -> LearnKit {
    let settings = Settings { memory_deadline: Duration::from_millis(20), ..Settings::default() };
    LearnKit::builder().store(Store::of(broken)).settings(settings).build().await.unwrap()
}

#[tokio::test]
async fn f38_a_store_that_fails_or_hangs_costs_a_warning_and_never_the_task() {
    for broken in [Broken::Failing, Broken::Hanging] {
        let memory = memory(broken).await;
        let world = World::new([("ping", json!("pong"))]);
        let report = run(&memory, "ping", &world, &Script::new([("ping", json!({}))], "up")).await.unwrap();
        assert_eq!((report.mode, report.answer.as_deref(), report.tool_calls), (Mode::Cold, Some("up"), 1));
        assert_eq!(report.warnings.len(), 2, "{:?}", report.warnings);
        assert!(report.warnings[0].contains("could not be read"), "{:?}", report.warnings);
        assert!(report.warnings[1].contains("was not stored"), "{:?}", report.warnings);
        assert_eq!(report.learned, []);
    }
}

#[tokio::test]
async fn a_wrong_setting_is_refused_by_name() {
    for settings in [
        Settings { quality_threshold: f64::NAN, ..Settings::default() },
        Settings { holdout_rate: 1.5, ..Settings::default() },
        Settings { memory_deadline: Duration::ZERO, ..Settings::default() },
    ] {
        let error = LearnKit::builder().backend("memory:").settings(settings).build().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
    }
}

#[test]
fn building_outside_a_runtime_is_an_error_and_not_a_panic() {
    let mut build = Box::pin(LearnKit::builder().backend("memory:").build());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(result) = build.as_mut().poll(&mut context) else { panic!("it must not wait") };
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Config);
}

#[tokio::test]
async fn the_engine_is_shared_between_threads() {
    fn check<T: Send + Sync + 'static>(_: &T) {}
    let memory = memory(Broken::Failing).await;
    check(&memory);
    check(&Arc::new(memory));
}
