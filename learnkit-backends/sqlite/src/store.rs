//! The store: traits over jobs for the threads that own the connections.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use learnkit_core::backend::{
    BackendInfo, Batch, Capabilities, Committed, Deletion, ExactQuery, Health, JournalWrite, Journaled, LoadItems,
    Loaded, Made, MaintainedPage, MakeBatch, MemoryBackend, OnExisting, Page, Put, PutMode, RunFilter, RunStore,
    ScanRequest, Scored, SearchQuery, TakeJournal, Taken, Vacuumed,
};
use learnkit_core::lifecycle::MaintenancePlan;
use learnkit_core::record::{Record, RecordId, Revision, RunId, Tenant};
use learnkit_core::registry::OpenMode;
use learnkit_core::run::{Journal, StoredRun};
use learnkit_core::{Result, async_trait};
use rusqlite::{Connection, TransactionBehavior};

use crate::connection::{Connections, Location};
use crate::error::{Outcome, explain};
use crate::near::Near;
use crate::workers::{Workers, apart};
use crate::{journal, load, records, runs, search, upkeep};

/// Records and runs in one SQLite database.
///
/// One thread writes and two read, each with its own connection; in memory one thread does both. The
/// lookup of an exact task reads on the caller's thread where that needs no waiting.
/// A write is acknowledged when it is committed and synced to the disk. Several processes may use one
/// file on a local disk; a writer waits up to 5 seconds for another. What is deleted is overwritten
/// in the file; the write-ahead log beside it forgets at its next checkpoint, at the latest when the
/// last process closes the store. Dropping the store waits for what it has begun.
///
/// ```
/// # async fn example() -> learnkit_core::Result<()> {
/// use learnkit_backend_sqlite::SqliteStore;
/// use learnkit_core::backend::Store;
///
/// let store = Store::of(SqliteStore::open("learnkit.db").await?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    // Fields are dropped in this order: the writer closes last and empties the write-ahead log.
    near: Option<Near>,
    readers: Option<Workers>,
    writer: Workers,
    location: Location,
}

impl SqliteStore {
    /// What a store in a file can do; one in memory is neither durable nor shared.
    pub const ON_DISK: Capabilities = Capabilities {
        full_text: true,
        dense: false,
        metadata_filter: true,
        conditional_put: true,
        read_after_write: true,
        durable: true,
        shared: true,
        runs: true,
    };

    /// Opens the database of a file, and makes it when it is missing; `:memory:` is a new one in memory.
    ///
    /// # Errors
    /// As for [`Self::open_with`], but never for a missing file.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open_with(path, OpenMode::CreateIfMissing).await
    }

    /// Opens a new database in memory; it ends with the store.
    ///
    /// # Errors
    /// `Unavailable` when a thread cannot be started.
    pub async fn open_in_memory() -> Result<Self> {
        Self::open(":memory:").await
    }

    /// Opens the database of a file and brings it up to the current schema.
    ///
    /// # Errors
    /// `Config` for an empty path or another program's database, `NotFound` when the folder or, with
    /// [`OpenMode::ExistingOnly`], the file is missing, `Unsupported` when a newer LearnKit wrote it,
    /// `Corrupt` when it is damaged or no database, `Permission` when it may not be written,
    /// `Unavailable` when it is locked or cannot be opened. Nothing is changed then.
    pub async fn open_with(path: impl Into<PathBuf>, mode: OpenMode) -> Result<Self> {
        let location = Location::parse(&path.into())?;
        let place = location.clone();
        let Connections { writer, readers, near } = apart(move || place.open(mode)).await?;
        let writer = Workers::start("learnkit-sqlite-writer", vec![writer])?;
        let readers = match readers {
            none if none.is_empty() => None,
            readers => Some(Workers::start("learnkit-sqlite-reader", readers)?),
        };
        Ok(Self { near: near.map(Near::new), readers, writer, location })
    }

    async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        job: impl FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let readers = self.readers.as_ref().unwrap_or(&self.writer);
        readers.run(operation, |connection| job(connection)).await
    }

    /// Reads single rows on the spot where that needs no waiting, else on a reader.
    async fn read_near<Q: Clone + Send + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        query: &Q,
        job: fn(&Connection, &Q) -> Outcome<T>,
    ) -> Result<T> {
        if let Some(answer) = self.near.as_ref().and_then(|near| near.try_read(|connection| job(connection, query))) {
            return answer.map_err(|fault| explain(fault).with_operation(operation));
        }
        let query = query.clone();
        self.read(operation, move |connection| job(connection, &query)).await
    }

    fn path(&self) -> Option<PathBuf> {
        match &self.location {
            Location::Memory => None,
            Location::File(path) => Some(path.clone()),
        }
    }

    /// Runs a job in a transaction that is committed when the job succeeds.
    async fn write<T: Send + 'static>(
        &self,
        operation: &'static str,
        job: impl FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let whole = |connection: &mut Connection| {
            // Immediate: a transaction that begins by reading could not wait for another writer.
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = job(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        self.writer.run(operation, whole).await
    }
}

fn commit(connection: &Connection, batch: Batch) -> Outcome<Committed> {
    if let Some(run) = &batch.run
        && !runs::insert(connection, run)?
    {
        return Ok(Committed::RunExists);
    }
    let revisions = batch.puts.into_iter().map(|put| records::put(connection, put)).collect::<Outcome<_>>()?;
    Ok(Committed::Stored(revisions))
}

#[async_trait]
impl MemoryBackend for SqliteStore {
    fn info(&self) -> BackendInfo {
        let location = match &self.location {
            Location::Memory => ":memory:".to_owned(),
            Location::File(path) => path.display().to_string(),
        };
        BackendInfo { scheme: "sqlite", location }
    }

    fn capabilities(&self) -> Capabilities {
        let on_disk = self.location != Location::Memory;
        Capabilities { durable: on_disk, shared: on_disk, ..Self::ON_DISK }
    }

    async fn commit(&self, batch: &Batch) -> Result<Committed> {
        let batch = batch.clone();
        self.write("commit", move |connection| commit(connection, batch)).await
    }

    async fn put(&self, record: &Record, mode: PutMode) -> Result<Revision> {
        let put = Put { record: record.clone(), mode };
        self.write("commit", move |connection| records::put(connection, put)).await
    }

    async fn commit_over(&self, tenant: &Tenant, ids: &[RecordId], make: &MakeBatch) -> Result<Made> {
        let (tenant, ids, make) = (tenant.clone(), ids.to_vec(), Arc::clone(make));
        let whole = move |connection: &Connection| {
            let batch = make(&records::find(connection, &tenant, &ids)?);
            let committed = commit(connection, batch.clone())?;
            Ok(Made { batch, committed })
        };
        self.write("commit", whole).await
    }

    async fn get(&self, tenant: &Tenant, id: &RecordId) -> Result<Option<Record>> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.read("get", move |connection| records::get(connection, &tenant, &id)).await
    }

    async fn delete(&self, tenant: &Tenant, id: &RecordId) -> Result<bool> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.write("delete", move |connection| records::delete(connection, &tenant, &id)).await
    }

    async fn delete_many(&self, tenant: &Tenant, deletions: &[Deletion]) -> Result<u64> {
        let (tenant, deletions) = (tenant.clone(), deletions.to_vec());
        self.write("delete", move |connection| records::delete_many(connection, &tenant, &deletions)).await
    }

    async fn lookup(&self, query: &ExactQuery) -> Result<Vec<Record>> {
        self.read_near("lookup", query, records::lookup).await
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Scored<Record>>> {
        let query = query.clone();
        self.read("search", move |connection| search::search(connection, &query)).await
    }

    async fn scan(&self, request: &ScanRequest) -> Result<Page<Record>> {
        let request = request.clone();
        self.read("scan", move |connection| records::scan(connection, &request)).await
    }

    async fn maintain(&self, request: &ScanRequest, plan: &MaintenancePlan, now: Timestamp) -> Result<MaintainedPage> {
        let (request, plan) = (request.clone(), *plan);
        self.write("maintain", move |connection| records::maintain(connection, &request, &plan, now)).await
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        let path = self.path();
        self.writer.run("vacuum", move |connection| upkeep::vacuum(connection, path.as_deref())).await
    }

    async fn health(&self) -> Result<Health> {
        let path = self.path();
        self.writer.run("health", move |connection| upkeep::health(connection, path.as_deref())).await
    }

    async fn load(&self, items: LoadItems, existing: OnExisting) -> Result<Loaded> {
        self.write("load", move |connection| load::load(connection, items, existing)).await
    }
}

#[async_trait]
impl RunStore for SqliteStore {
    async fn finish_run(&self, run: &StoredRun) -> Result<bool> {
        let run = run.clone();
        self.write("finish_run", move |connection| runs::insert(connection, &run)).await
    }

    async fn update_run(&self, run: &StoredRun) -> Result<bool> {
        let run = run.clone();
        self.write("update_run", move |connection| runs::update(connection, &run)).await
    }

    async fn get_run(&self, tenant: &Tenant, id: &RunId) -> Result<Option<StoredRun>> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.read("get_run", move |connection| runs::get(connection, &tenant, &id)).await
    }

    async fn list_runs(&self, filter: &RunFilter) -> Result<Page<StoredRun>> {
        let filter = filter.clone();
        self.read("list_runs", move |connection| runs::list(connection, &filter)).await
    }

    async fn delete_run(&self, tenant: &Tenant, id: &RunId) -> Result<bool> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.write("delete_run", move |connection| runs::delete(connection, &tenant, &id)).await
    }

    async fn delete_runs(&self, tenant: &Tenant, ids: &[RunId]) -> Result<u64> {
        let (tenant, ids) = (tenant.clone(), ids.to_vec());
        self.write("delete_runs", move |connection| runs::delete_many(connection, &tenant, &ids)).await
    }

    async fn write_journal(&self, write: &JournalWrite) -> Result<Journaled> {
        let write = write.clone();
        self.write("write_journal", move |connection| journal::write(connection, &write)).await
    }

    async fn take_journal(&self, take: &TakeJournal) -> Result<Taken> {
        let take = take.clone();
        self.write("take_journal", move |connection| journal::take(connection, &take)).await
    }

    async fn get_journal(&self, tenant: &Tenant, id: &RunId) -> Result<Option<Journal>> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.read("get_journal", move |connection| journal::get(connection, &tenant, &id)).await
    }

    async fn list_journals(&self, tenant: &Tenant, after: Option<&RunId>, limit: usize) -> Result<Page<Journal>> {
        let (tenant, after) = (tenant.clone(), after.cloned());
        self.read("list_journals", move |connection| journal::list(connection, &tenant, after.as_ref(), limit)).await
    }

    async fn delete_journal(&self, tenant: &Tenant, id: &RunId) -> Result<bool> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.write("delete_journal", move |connection| journal::delete(connection, &tenant, &id)).await
    }
}

#[cfg(test)]
mod tests {
    use learnkit_core::ErrorKind;
    use learnkit_core::testing::fixtures;

    use super::*;

    async fn limit_pages(store: &SqliteStore, pages: u64) {
        let limit = move |connection: &mut Connection| {
            Ok(connection.pragma_update_and_check(None, "max_page_count", pages, |row| row.get::<_, u64>(0))?)
        };
        store.writer.run("limit", limit).await.unwrap();
    }

    #[tokio::test]
    async fn a_full_database_stores_nothing_by_halves_and_works_again_with_more_room() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("learnkit.db")).await.unwrap();
        let before = fixtures::fact("fct_before", "was here").unwrap();
        store.put(&before, PutMode::Create).await.unwrap();
        limit_pages(&store, 1).await;
        let puts = (0..2).map(|number| {
            let record = fixtures::fact(&format!("fct_{number}"), &"long words ".repeat(2_000)).unwrap();
            Put { record, mode: PutMode::Create }
        });
        let batch = Batch { puts: puts.collect(), run: Some(fixtures::run("run_1", "fill the disk").unwrap()) };
        let error = store.commit(&batch).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
        assert!(error.message().contains("free space"), "{error}");
        for put in &batch.puts {
            assert_eq!(store.get(&put.record.tenant, &put.record.id).await.unwrap(), None);
        }
        assert_eq!(store.get_run(&before.tenant, &RunId::new("run_1").unwrap()).await.unwrap(), None);
        assert!(store.get(&before.tenant, &before.id).await.unwrap().is_some(), "reading goes on");
        limit_pages(&store, 1_000_000).await;
        assert!(matches!(store.commit(&batch).await.unwrap(), Committed::Stored(_)));
    }
}
