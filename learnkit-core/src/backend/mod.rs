//! The contract of stores: records, and runs.
//!
//! Backends implement [`MemoryBackend`] (and [`RunStore`] where they can keep runs); the engine
//! calls them. `learnkit_core::testing::behaviour_suite!` checks every promise made here.

mod capability;
mod journal;
mod load;
mod maintenance;
mod query;
mod upkeep;

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

pub use capability::Capabilities;
pub use journal::{JournalWrite, Journaled, TakeFrom, TakeJournal, Taken};
pub(crate) use load::Stored;
pub use load::{Fate, LoadCounts, LoadItem, LoadItems, Loaded, OnExisting, same_record};
pub use maintenance::{MaintainedPage, MaintenanceReport};
pub use query::{
    AgentFilter, ExactQuery, Page, RecordFilter, RunFilter, ScanRequest, Scored, SearchQuery, SkippedRow, Visibility,
};
pub use upkeep::{Deletion, Found, Health, Made, MakeBatch, Vacuumed};

use crate::lifecycle::MaintenancePlan;
use crate::record::{Record, RecordId, Revision, RunId, Tenant};
use crate::run::{Journal, StoredRun};
use crate::{Error, ErrorKind, Result};

/// What a store is and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendInfo {
    /// The URI scheme, such as `sqlite`.
    pub scheme: &'static str,
    /// Where it is, without credentials.
    pub location: String,
}

/// When a put may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PutMode {
    /// Always: insert or replace.
    Upsert,
    /// Only when the id is new, else `Conflict`.
    Create,
    /// Only when the stored revision is this one, else `Conflict`.
    IfRevision(Revision),
}

impl PutMode {
    /// The revision that a put gets over the stored one, which is 0 where nothing is stored. Stores call
    /// it for each put of a batch, so that all refuse alike.
    ///
    /// # Errors
    /// `Conflict` when the mode forbids writing.
    pub fn next_revision(self, stored: Revision) -> Result<Revision> {
        let conflict = match self {
            Self::Create if stored != Revision::default() => "a record of this id exists; read it and put it again",
            Self::IfRevision(read) if stored != read => "the record changed since it was read; read it again",
            _ => return Ok(stored.next()),
        };
        Err(Error::new(ErrorKind::Conflict, conflict))
    }
}

/// One record to put.
#[derive(Debug, Clone, PartialEq)]
pub struct Put {
    /// The record; its own revision is ignored, the store sets it.
    pub record: Record,
    /// When it may write.
    pub mode: PutMode,
}

impl Put {
    /// The record as it is stored over the revision that is there, 0 for none.
    ///
    /// # Errors
    /// As for [`PutMode::next_revision`], with the id.
    pub fn over(self, stored: Revision) -> Result<Record> {
        let revision = self.mode.next_revision(stored).map_err(|error| error.with_context("id", &self.record.id))?;
        Ok(Record { revision, ..self.record })
    }
}

/// Everything that one finished run changes: all of it is stored, or nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The records, in order.
    pub puts: Vec<Put>,
    /// The run, for stores that keep runs. A run id is stored once.
    pub run: Option<StoredRun>,
}

/// What became of a [`Batch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// Stored; the new revisions in the order of the puts.
    Stored(Vec<Revision>),
    /// The run id was stored before, so nothing was written.
    RunExists,
}

/// A store of records.
///
/// Every call names the tenant and never sees another tenant's record. Acknowledged means durable
/// as far as [`Capabilities::durable`] says. Dropping a future does not undo a write that has begun.
#[async_trait]
pub trait MemoryBackend: Debug + Send + Sync + 'static {
    /// What and where it is.
    fn info(&self) -> BackendInfo;

    /// What it can do, as data.
    fn capabilities(&self) -> Capabilities;

    /// Stores a batch: everything or nothing.
    ///
    /// # Errors
    /// `Conflict` when a put's mode forbids writing (nothing is written), `Unsupported` when the
    /// batch holds a run and [`Capabilities::runs`] is false, `Unavailable` when the store is
    /// locked, full, read-only or out of reach.
    async fn commit(&self, batch: &Batch) -> Result<Committed>;

    /// Reads records by id and stores the batch that `make` makes of them; nobody changes them in between.
    ///
    /// A store with transactions does it in one. The default compares revisions and reads again where
    /// somebody was faster, 64 times at most.
    ///
    /// # Errors
    /// As for [`Self::commit`]; `Conflict` also when the records keep changing.
    async fn commit_over(&self, tenant: &Tenant, ids: &[RecordId], make: &MakeBatch) -> Result<Made> {
        upkeep::commit_over(self, tenant, ids, make).await
    }

    /// Stores one record and returns its new revision.
    ///
    /// # Errors
    /// As for [`Self::commit`].
    async fn put(&self, record: &Record, mode: PutMode) -> Result<Revision> {
        let batch = Batch { puts: vec![Put { record: record.clone(), mode }], run: None };
        match self.commit(&batch).await? {
            Committed::Stored(revisions) => Ok(revisions.first().copied().unwrap_or_default()),
            Committed::RunExists => Ok(Revision::default()),
        }
    }

    /// A record by id, in any status; absent when there is none.
    ///
    /// # Errors
    /// `Corrupt` when the stored row cannot be read, `Unavailable` when the store is out of reach.
    async fn get(&self, tenant: &Tenant, id: &RecordId) -> Result<Option<Record>>;

    /// Deletes a record from every index; `false` when there was none.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be written.
    async fn delete(&self, tenant: &Tenant, id: &RecordId) -> Result<bool>;

    /// Deletes records from every index and returns how many there were; one that changed since its
    /// revision was read stays.
    ///
    /// A store with transactions deletes all in one. The default deletes one by one, so that after an
    /// error some are gone, and only there a change can fall between the look and the delete.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be written.
    async fn delete_many(&self, tenant: &Tenant, deletions: &[Deletion]) -> Result<u64> {
        upkeep::delete_many(self, tenant, deletions).await
    }

    /// The records of exact tasks, in any status: an index lookup, never ranked, never a search.
    ///
    /// Order: by the position of the key in the query, then by id. A row that cannot be read is
    /// left out here; `scan` names it.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    async fn lookup(&self, query: &ExactQuery) -> Result<Vec<Record>>;

    /// The most relevant records for a text that the filter allows, best first; ties by id.
    ///
    /// The text is data, never syntax. Text without a term finds nothing.
    ///
    /// # Errors
    /// `Unsupported` without [`Capabilities::full_text`], `Unavailable` when out of reach.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<Scored<Record>>>;

    /// Every record that the filter allows, in the order of ids, one page at a time.
    ///
    /// A row that cannot be read is skipped and named in [`Page::skipped`].
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    async fn scan(&self, request: &ScanRequest) -> Result<Page<Record>>;

    /// Applies the passing of time to the records of one page: [`crate::lifecycle::maintain`].
    ///
    /// A record that somebody changes meanwhile is maintained as it is then. A store that can do a page
    /// in one transaction overrides this; nothing but the speed may differ.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be read or written; records maintained before that stay so.
    async fn maintain(&self, request: &ScanRequest, plan: &MaintenancePlan, now: Timestamp) -> Result<MaintainedPage> {
        maintenance::maintain_page(self, request, plan, now).await
    }

    /// Gives freed space back and brings the text index up to date; reading goes on meanwhile.
    ///
    /// # Errors
    /// `Unsupported` where there is nothing to compact (the default), `Unavailable` when the store is
    /// busy or its disk is full; nothing that is stored is lost then.
    async fn vacuum(&self) -> Result<Vacuumed> {
        let message = "this store has no space of its own to give back; there is nothing to do";
        Err(Error::new(ErrorKind::Unsupported, message).with_context("backend", self.info().scheme))
    }

    /// How the store is doing: mode, schema, size, and what is wrong. The default knows nothing.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    async fn health(&self) -> Result<Health> {
        Ok(Health::default())
    }

    /// Loads many records and runs, as an import does: all of them are stored, or nothing.
    ///
    /// The items are pulled one after the other, so a store with a bulk path holds only one at a time.
    /// An id that is stored with an equal content, revisions apart, is left as it is; with another
    /// content it is kept or replaced as `existing` says. Of equal ids among the items the later one
    /// meets the earlier one as stored. While it lasts, other writers of the store may have to wait.
    ///
    /// A store with [`Capabilities::runs`] overrides it; the default collects the records and makes one
    /// commit, and refuses runs, which [`Store::load`] brings to the store that keeps them.
    ///
    /// # Errors
    /// The first error among the items; else as for [`Self::commit`]. Nothing is stored then.
    async fn load(&self, items: LoadItems, existing: OnExisting) -> Result<Loaded> {
        load::by_commit(self, items, existing).await
    }
}

/// A store of runs: finished ones, and the journals of those that are not.
///
/// Storing a run, here or by [`MemoryBackend::commit`], removes its journal in the same transaction.
#[async_trait]
pub trait RunStore: Debug + Send + Sync + 'static {
    /// Stores a run once; `false` when the id is stored already (nothing is changed).
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be written.
    async fn finish_run(&self, run: &StoredRun) -> Result<bool>;

    /// Replaces a stored run, to add a report; `false` when there is none.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be written.
    async fn update_run(&self, run: &StoredRun) -> Result<bool>;

    /// A run by id.
    ///
    /// # Errors
    /// `Corrupt` when the stored row cannot be read, `Unavailable` when out of reach.
    async fn get_run(&self, tenant: &Tenant, id: &RunId) -> Result<Option<StoredRun>>;

    /// Finished runs, newest first.
    ///
    /// # Errors
    /// `Unavailable` when out of reach.
    async fn list_runs(&self, filter: &RunFilter) -> Result<Page<StoredRun>>;

    /// Deletes a run with its calls; `false` when there was none.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be written.
    async fn delete_run(&self, tenant: &Tenant, id: &RunId) -> Result<bool>;

    /// Deletes runs with their calls and returns how many there were. A store with transactions deletes
    /// all in one; the default deletes one by one.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be written.
    async fn delete_runs(&self, tenant: &Tenant, ids: &[RunId]) -> Result<u64> {
        let mut deleted = 0;
        for id in ids {
            deleted += u64::from(self.delete_run(tenant, id).await?);
        }
        Ok(deleted)
    }

    /// Writes down what a run is about to do or has done, and renews its lease, as [`Journaled::over`] allows.
    ///
    /// `Written` means durable as far as the store is: an effect goes out only after it.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be written; nothing of the write is stored then.
    async fn write_journal(&self, write: &JournalWrite) -> Result<Journaled>;

    /// Takes an open run for one session, by compare and swap on its lease: of two that ask at once one gets it.
    ///
    /// # Errors
    /// `Corrupt` when a stored row cannot be read (nothing is taken then), `Unavailable` when the store cannot
    /// be written.
    async fn take_journal(&self, take: &TakeJournal) -> Result<Taken>;

    /// The journal of a run that has not finished; absent when there is none.
    ///
    /// # Errors
    /// `Corrupt` when a stored row cannot be read, `Unavailable` when out of reach.
    async fn get_journal(&self, tenant: &Tenant, id: &RunId) -> Result<Option<Journal>>;

    /// Journals in the order of run ids, at most so many, after an id where one is given. One that cannot be read
    /// is skipped and named.
    ///
    /// # Errors
    /// `Unavailable` when out of reach.
    async fn list_journals(&self, tenant: &Tenant, after: Option<&RunId>, limit: usize) -> Result<Page<Journal>>;

    /// Deletes the journal of a run, whoever holds it; `false` when there was none.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be written.
    async fn delete_journal(&self, tenant: &Tenant, id: &RunId) -> Result<bool>;
}

/// An opened store: records, and runs.
///
/// Where one store keeps both, both point to it and a batch with its run is one transaction.
#[derive(Debug, Clone)]
pub struct Store {
    /// The records.
    pub records: Arc<dyn MemoryBackend>,
    /// The runs.
    pub runs: Arc<dyn RunStore>,
}

impl Store {
    /// A store that keeps both.
    pub fn of<B: MemoryBackend + RunStore>(backend: B) -> Self {
        let backend = Arc::new(backend);
        Self { records: backend.clone(), runs: backend }
    }

    /// Whether one store keeps both.
    pub(crate) fn keeps_both(&self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.records), Arc::as_ptr(&self.runs))
    }

    /// Stores what a run changed and the run itself, in one transaction where the records' store
    /// keeps runs, else the run first.
    ///
    /// # Errors
    /// As for [`MemoryBackend::commit`].
    pub async fn commit(&self, batch: Batch) -> Result<Committed> {
        if self.records.capabilities().runs {
            return self.records.commit(&batch).await;
        }
        if let Some(run) = &batch.run
            && !self.runs.finish_run(run).await?
        {
            return Ok(Committed::RunExists);
        }
        self.records.commit(&Batch { run: None, ..batch }).await
    }

    /// Stores what `make` makes of the records as they are now, with its run, as [`Self::commit`] does.
    ///
    /// # Errors
    /// As for [`MemoryBackend::commit_over`].
    pub async fn commit_over(&self, tenant: &Tenant, ids: &[RecordId], make: &MakeBatch) -> Result<Made> {
        if self.records.capabilities().runs {
            return self.records.commit_over(tenant, ids, make).await;
        }
        let first = make(&upkeep::find(&*self.records, tenant, ids).await?);
        let run = first.run.clone();
        if let Some(run) = &run
            && !self.runs.finish_run(run).await?
        {
            return Ok(Made { batch: first, committed: Committed::RunExists });
        }
        let make = Arc::clone(make);
        let without_run: MakeBatch = Arc::new(move |found| Batch { run: None, ..make(found) });
        let done = self.records.commit_over(tenant, ids, &without_run).await?;
        Ok(Made { batch: Batch { run, ..done.batch }, ..done })
    }
}
