//! A store that dies before and after what it writes.

use std::sync::Arc;

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::backend::{
    BackendInfo, Batch, Capabilities, Committed, ExactQuery, JournalWrite, Journaled, Made, MakeBatch, MemoryBackend,
    Page, RunFilter, RunStore, ScanRequest, Scored, SearchQuery, Store, TakeJournal, Taken,
};
use learnkit_core::record::{Record, RecordId, RunId, Tenant};
use learnkit_core::run::{Journal, StepState, StoredRun};
use learnkit_core::{Result, async_trait};

use super::service::{Files, Points};

#[derive(Debug)]
struct Dying {
    inner: SqliteStore,
    points: Points,
    files: Files,
}

/// The store of a database, with points to die at.
pub(crate) fn dying(inner: SqliteStore, points: Points, files: Files) -> Store {
    let store = Arc::new(Dying { inner, points, files });
    Store { records: store.clone(), runs: store }
}

#[async_trait]
impl MemoryBackend for Dying {
    fn info(&self) -> BackendInfo {
        self.inner.info()
    }
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    async fn commit(&self, batch: &Batch) -> Result<Committed> {
        self.inner.commit(batch).await
    }
    async fn commit_over(&self, tenant: &Tenant, ids: &[RecordId], make: &MakeBatch) -> Result<Made> {
        self.points.pass("before the run is finished");
        let committed = self.inner.commit_over(tenant, ids, make).await;
        self.points.pass("after the run is finished");
        committed
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
impl RunStore for Dying {
    async fn finish_run(&self, run: &StoredRun) -> Result<bool> {
        self.inner.finish_run(run).await
    }
    async fn update_run(&self, run: &StoredRun) -> Result<bool> {
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
        let what = match write.steps.last().map(|step| step.state) {
            Some(StepState::Begun) => "intent",
            Some(StepState::Ended) => "outcome",
            Some(StepState::SaidDone | StepState::SaidNotDone) => "settlement",
            None => "lease",
        };
        self.points.pass(&format!("before the {what} is written"));
        let journaled = self.inner.write_journal(write).await;
        if matches!(journaled, Ok(Journaled::Written)) {
            let ended = write.steps.iter().filter(|step| step.state == StepState::Ended);
            ended.for_each(|step| self.files.acknowledge(&step.idempotency_key));
        }
        self.points.pass(&format!("after the {what} is written"));
        journaled
    }
    async fn take_journal(&self, take: &TakeJournal) -> Result<Taken> {
        self.points.pass("before the run is taken");
        let taken = self.inner.take_journal(take).await;
        self.points.pass("after the run is taken");
        taken
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
