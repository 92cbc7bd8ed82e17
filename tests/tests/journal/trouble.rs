//! Stores that fail while a run is under way: no effect of a replay without a written intent, and a planner that
//! goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use learnkit::backend::{JournalWrite, Journaled, Page, RunFilter, RunStore, Store, TakeJournal, Taken};
use learnkit::config::Settings;
use learnkit::engine::{PlannerReply, ReactOptions, ToolRequest};
use learnkit::record::{RunId, Tenant};
use learnkit::run::{Journal, StoredRun};
use learnkit::{Error, ErrorKind, LearnKit, MemoryStore, async_trait, run_react_agent};
use learnkit_tests::{Script, nobody};
use serde_json::json;

use super::*;

/// A store in memory whose journal can be written until it breaks, or never answers.
#[derive(Debug)]
struct Failing {
    inner: MemoryStore,
    writes: AtomicUsize,
    /// So many writes work.
    works: usize,
    hangs: bool,
}

#[async_trait]
impl RunStore for Failing {
    async fn finish_run(&self, run: &StoredRun) -> Result<bool, Error> {
        self.inner.finish_run(run).await
    }
    async fn update_run(&self, run: &StoredRun) -> Result<bool, Error> {
        self.inner.update_run(run).await
    }
    async fn get_run(&self, tenant: &Tenant, id: &RunId) -> Result<Option<StoredRun>, Error> {
        self.inner.get_run(tenant, id).await
    }
    async fn list_runs(&self, filter: &RunFilter) -> Result<Page<StoredRun>, Error> {
        self.inner.list_runs(filter).await
    }
    async fn delete_run(&self, tenant: &Tenant, id: &RunId) -> Result<bool, Error> {
        self.inner.delete_run(tenant, id).await
    }
    async fn write_journal(&self, write: &JournalWrite) -> Result<Journaled, Error> {
        if self.writes.fetch_add(1, Ordering::SeqCst) < self.works {
            return self.inner.write_journal(write).await;
        }
        if self.hangs {
            std::future::pending::<()>().await;
        }
        Err(Error::new(ErrorKind::Unavailable, "the disk is full"))
    }
    async fn take_journal(&self, take: &TakeJournal) -> Result<Taken, Error> {
        self.inner.take_journal(take).await
    }
    async fn get_journal(&self, tenant: &Tenant, id: &RunId) -> Result<Option<Journal>, Error> {
        self.inner.get_journal(tenant, id).await
    }
    async fn list_journals(
        &self,
        tenant: &Tenant,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Page<Journal>, Error> {
        self.inner.list_journals(tenant, after, limit).await
    }
    async fn delete_journal(&self, tenant: &Tenant, id: &RunId) -> Result<bool, Error> {
        self.inner.delete_journal(tenant, id).await
    }
}

/// A memory that knows the task and whose journal takes so many writes more.
async fn with_failing_journal(works: usize, hangs: bool) -> (LearnKit, Service, Arc<Failing>) {
    let service = Service::default();
    let records = Arc::new(MemoryStore::new());
    let memory = |runs: Arc<dyn RunStore>| {
        let settings = Settings { memory_deadline: Duration::from_millis(40), ..Settings::default() };
        let store = Store { records: records.clone(), runs };
        LearnKit::builder().store(store).settings(settings).build()
    };
    let learning = memory(Arc::new(MemoryStore::new())).await.unwrap();
    run_react_agent(&learning, TASK, &service.tools(), &script(), ReactOptions::default()).await.unwrap();
    service.done();
    let runs = Arc::new(Failing { inner: MemoryStore::new(), writes: AtomicUsize::new(0), works, hangs });
    (memory(runs.clone()).await.unwrap(), service, runs)
}

#[tokio::test]
async fn a_replay_makes_no_effect_whose_intent_cannot_be_written() {
    for hangs in [false, true] {
        // The charge is written down, the mail is not.
        let (memory, service, _) = with_failing_journal(2, hangs).await;
        let planner = Script::of([PlannerReply::answer("somebody else has to mail it")]);
        let tools = service.tools();
        let report = run_react_agent(&memory, TASK, &tools, &planner, ReactOptions::default()).await.unwrap();
        assert_eq!(service.done(), ["newest", "charge"], "{hangs}");
        assert_eq!((report.replayed, planner.asked()), (false, 1));
        assert!(report.reason.contains("its journal cannot be written"), "{}", report.reason);
        let warnings = report.warnings.iter().filter(|warning| warning.contains("not written down")).count();
        assert_eq!(warnings, 1, "{:?}", report.warnings);
    }
}

#[tokio::test]
async fn a_planner_goes_on_without_a_journal_and_waits_for_it_once() {
    let (memory, service, runs) = with_failing_journal(0, true).await;
    let calls = [("charge", json!({ "n": 1 })), ("charge", json!({ "n": 2 })), ("mail", json!({}))];
    let tools = service.tools();
    let planner = Script::new(calls, "done");
    let report = run_react_agent(&memory, "Something new", &tools, &planner, ReactOptions::default()).await.unwrap();
    assert_eq!((report.answer.as_deref(), service.done().len()), (Some("done"), 3));
    assert_eq!(runs.writes.load(Ordering::SeqCst), 1, "a store that hangs is not waited for again");
    let warnings = report.warnings.iter().filter(|warning| warning.contains("not written down")).count();
    assert_eq!(warnings, 1, "{:?}", report.warnings);
}

#[tokio::test]
async fn reads_are_written_down_with_the_next_effect_and_effects_before_and_after() {
    let (memory, service, runs) = with_failing_journal(usize::MAX, false).await;
    let tools = service.tools();
    let reads = Script::new([("newest", json!({ "n": 1 })), ("newest", json!({ "n": 2 }))], "read");
    run_react_agent(&memory, "Only read", &tools, &reads, ReactOptions::default()).await.unwrap();
    assert_eq!(runs.writes.load(Ordering::SeqCst), 0, "what only reads is not written down");
    let report = run_react_agent(&memory, TASK, &tools, &nobody(), ReactOptions::default()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!(runs.writes.load(Ordering::SeqCst), 4, "two effects");
}

#[tokio::test]
async fn effects_side_by_side_are_all_written_down_before_they_go_out() {
    let (memory, service, runs) = with_failing_journal(usize::MAX, false).await;
    let requests = (0..8).map(|n| ToolRequest::new("charge", json!({ "n": n }))).collect();
    let planner =
        Script::of([PlannerReply { tool_calls: requests, ..PlannerReply::default() }, PlannerReply::answer("done")]);
    let report = run_react_agent(&memory, "Eight", &service.tools(), &planner, ReactOptions::default()).await.unwrap();
    assert_eq!((report.tool_calls, service.done().len()), (8, 8));
    assert!(runs.writes.load(Ordering::SeqCst) <= 16, "{} writes", runs.writes.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_run_id_of_which_nothing_can_be_told_does_nothing() {
    #[derive(Debug)]
    struct Lost(MemoryStore);
    #[async_trait]
    impl RunStore for Lost {
        async fn finish_run(&self, run: &StoredRun) -> Result<bool, Error> {
            self.0.finish_run(run).await
        }
        async fn update_run(&self, run: &StoredRun) -> Result<bool, Error> {
            self.0.update_run(run).await
        }
        async fn get_run(&self, tenant: &Tenant, id: &RunId) -> Result<Option<StoredRun>, Error> {
            self.0.get_run(tenant, id).await
        }
        async fn list_runs(&self, filter: &RunFilter) -> Result<Page<StoredRun>, Error> {
            self.0.list_runs(filter).await
        }
        async fn delete_run(&self, tenant: &Tenant, id: &RunId) -> Result<bool, Error> {
            self.0.delete_run(tenant, id).await
        }
        async fn write_journal(&self, write: &JournalWrite) -> Result<Journaled, Error> {
            self.0.write_journal(write).await
        }
        async fn take_journal(&self, _: &TakeJournal) -> Result<Taken, Error> {
            Err(Error::new(ErrorKind::Unavailable, "the database is locked").retryable())
        }
        async fn get_journal(&self, tenant: &Tenant, id: &RunId) -> Result<Option<Journal>, Error> {
            self.0.get_journal(tenant, id).await
        }
        async fn list_journals(
            &self,
            tenant: &Tenant,
            after: Option<&RunId>,
            limit: usize,
        ) -> Result<Page<Journal>, Error> {
            self.0.list_journals(tenant, after, limit).await
        }
        async fn delete_journal(&self, tenant: &Tenant, id: &RunId) -> Result<bool, Error> {
            self.0.delete_journal(tenant, id).await
        }
    }
    let store = Store { records: Arc::new(MemoryStore::new()), runs: Arc::new(Lost(MemoryStore::new())) };
    let memory = LearnKit::builder().store(store).build().await.unwrap();
    let service = Service::default();
    let error = run_named(&memory, &service, &script()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
    assert_eq!(service.done(), [""; 0]);
    let tools = service.tools();
    run_react_agent(&memory, TASK, &tools, &script(), ReactOptions::default()).await.expect("without an id it runs");
    assert_eq!(service.done().len(), 3);
}

#[tokio::test]
async fn what_ends_with_the_process_is_written_down_only_for_a_run_that_can_be_named() {
    let service = Service::default();
    let memory = learnkit_tests::builder(&learnkit_tests::bank::clock()).build().await.unwrap();
    let tools = service.tools();
    for (options, open) in
        [(ReactOptions::default(), 0), (ReactOptions { run_id: Some(id()), ..ReactOptions::default() }, 1)]
    {
        service.gets_stuck("charge", Stuck::BeforeItActs);
        dies(run_react_agent(&memory, TASK, &tools, &script(), options), &service).await;
        assert_eq!(memory.open_runs(None, 9).await.unwrap().items.len(), open);
    }
}
