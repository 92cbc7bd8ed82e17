//! `memory:`, a store in the memory of the process: for tests and trials, gone when it is dropped.
//!
//! Every call holds one lock for its whole length, so batches are atomic and reads see every write.
//! Search looks at each record of the tenant; it is made for thousands of records, not millions.

mod bm25;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use self::bm25::{Document, Ranking};
use crate::backend::{
    BackendInfo, Batch, Capabilities, Committed, Deletion, ExactQuery, Fate, Found, JournalWrite, Journaled, LoadItem,
    LoadItems, Loaded, Made, MakeBatch, MemoryBackend, OnExisting, Page, Put, RunFilter, RunStore, ScanRequest, Scored,
    SearchQuery, Store, TakeJournal, Taken, same_record,
};
use crate::config::BackendUri;
use crate::record::{Record, RecordId, RunId, Tenant};
use crate::registry::{OpenFuture, OpenMode};
use crate::run::{Journal, JournalStep, StoredRun};
use crate::task::TaskKey;
use crate::{Error, ErrorKind, Result};

crate::register_backend!(
    "memory",
    "In the memory of this process; gone when it ends.",
    open,
    MemoryStore::CAPABILITIES
);

fn open(_uri: BackendUri, mode: OpenMode) -> OpenFuture {
    let opened = match mode {
        OpenMode::CreateIfMissing => Ok(Store::of(MemoryStore::new())),
        OpenMode::ExistingOnly => Err(Error::new(
            ErrorKind::NotFound,
            "a store in memory starts empty, so there is none to open; name a file, such as `sqlite:learnkit.db`",
        )),
    };
    Box::pin(std::future::ready(opened))
}

/// A store of records and runs in memory.
///
/// ```
/// use learnkit_core::MemoryStore;
/// use learnkit_core::backend::{MemoryBackend as _, Store};
///
/// let store = Store::of(MemoryStore::new());
/// assert!(!store.records.capabilities().durable);
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<State>);

/// Everything, by tenant: one tenant's calls cannot reach another's records.
#[derive(Debug, Default)]
struct State(BTreeMap<Tenant, Space>);

#[derive(Debug, Default)]
struct Space {
    records: BTreeMap<RecordId, Entry>,
    keys: BTreeMap<TaskKey, BTreeSet<RecordId>>,
    runs: BTreeMap<RunId, StoredRun>,
    /// Of runs that have not finished.
    journals: BTreeMap<RunId, Journal>,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    document: Document,
}

impl MemoryStore {
    /// What it can do.
    pub const CAPABILITIES: Capabilities = Capabilities {
        full_text: true,
        dense: false,
        metadata_filter: true,
        conditional_put: true,
        read_after_write: true,
        durable: false,
        shared: false,
        runs: true,
    };

    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The state; each write is staged first, so a panic leaves it whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at one tenant's part; an unknown tenant's is empty.
    fn read<T>(&self, tenant: &Tenant, look: impl FnOnce(&Space) -> T) -> T {
        look(self.state().0.get(tenant).unwrap_or(&Space::default()))
    }
}

impl State {
    fn commit(&mut self, batch: &Batch) -> Result<Committed> {
        let known = |run: &StoredRun| self.0.get(&run.tenant).is_some_and(|space| space.runs.contains_key(&run.id));
        if batch.run.as_ref().is_some_and(known) {
            return Ok(Committed::RunExists);
        }
        let staged = self.staged(&batch.puts)?;
        let revisions = staged.iter().map(|record| record.revision).collect();
        for record in staged {
            self.0.entry(record.tenant.clone()).or_default().insert(record);
        }
        if let Some(run) = &batch.run {
            self.0.entry(run.tenant.clone()).or_default().finish(run.clone());
        }
        Ok(Committed::Stored(revisions))
    }

    /// The records of a batch with their new revisions, or the first conflict.
    fn staged(&self, puts: &[Put]) -> Result<Vec<Record>> {
        let mut staged: Vec<Record> = Vec::with_capacity(puts.len());
        for put in puts {
            let same = |record: &&Record| record.id == put.record.id && record.tenant == put.record.tenant;
            let stored = self.0.get(&put.record.tenant).and_then(|space| space.records.get(&put.record.id));
            let seen = staged.iter().rfind(same).or(stored.map(|entry| &entry.record));
            staged.push(put.clone().over(seen.map(|record| record.revision).unwrap_or_default())?);
        }
        Ok(staged)
    }
}

impl Space {
    /// Stores a run and closes its journal.
    fn finish(&mut self, run: StoredRun) {
        self.journals.remove(&run.id);
        self.runs.insert(run.id.clone(), run);
    }

    fn insert(&mut self, record: Record) {
        self.remove(&record.id);
        if let Some(task) = &record.task {
            self.keys.entry(task.key.clone()).or_default().insert(record.id.clone());
        }
        let document = Document::of(&record.content.search_text());
        self.records.insert(record.id.clone(), Entry { record, document });
    }

    fn remove(&mut self, id: &RecordId) -> bool {
        let Some(entry) = self.records.remove(id) else { return false };
        let key = entry.record.task.map(|task| task.key);
        if let Some(ids) = key.and_then(|key| self.keys.get_mut(&key)) {
            ids.remove(id);
        }
        true
    }

    fn load_record(&mut self, mut record: Record, existing: OnExisting) -> Fate {
        let stored = self.records.get(&record.id).map(|entry| &entry.record);
        let fate = stored.map_or(Fate::Added, |stored| existing.fate(same_record(stored, &mut record)));
        if matches!(fate, Fate::Added | Fate::Replaced) {
            record.revision = stored.map(|stored| stored.revision).unwrap_or_default().next();
            self.insert(record);
        }
        fate
    }

    fn load_run(&mut self, run: StoredRun, existing: OnExisting) -> Fate {
        let fate = self.runs.get(&run.id).map_or(Fate::Added, |stored| existing.fate(*stored == run));
        if matches!(fate, Fate::Added | Fate::Replaced) {
            self.finish(run);
        }
        fate
    }

    fn lookup(&self, query: &ExactQuery) -> Vec<Record> {
        let mut asked = BTreeSet::new();
        let keys = query.keys.iter().filter(|key| asked.insert(*key));
        let ids = keys.filter_map(|key| self.keys.get(key)).flatten();
        let records = ids.filter_map(|id| self.records.get(id)).map(|entry| &entry.record);
        let same = |record: &&Record| record.task.as_ref().is_some_and(|task| task.canonical == query.canonical);
        records.filter(same).cloned().collect()
    }

    fn search(&self, query: &SearchQuery) -> Vec<Scored<Record>> {
        let terms = crate::text::query_terms(&query.text);
        let ranking = Ranking::of(&terms, &self.records.values().map(|entry| &entry.document));
        let allowed = self.records.values().filter(|entry| query.filter.allows(&entry.record));
        let mut found: Vec<(f64, &Record)> =
            allowed.filter_map(|entry| Some((ranking.score(&entry.document)?, &entry.record))).collect();
        // The sort is stable and the map is in the order of ids, so ties stay in that order.
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        found.truncate(query.limit);
        found.into_iter().map(|(score, record)| Scored { item: record.clone(), score }).collect()
    }

    fn scan(&self, request: &ScanRequest) -> Page<Record> {
        let records = self.records.values().map(|entry| &entry.record);
        let beyond = records.filter(|record| request.after.as_ref().is_none_or(|after| record.id > *after));
        let allowed = beyond.filter(|record| request.filter.allows(record)).cloned();
        page(allowed, request.limit, |record| record.id.to_string())
    }

    fn list_runs(&self, filter: &RunFilter) -> Result<Page<StoredRun>> {
        let after = filter.after.as_deref().map(RunCursor::parse).transpose()?;
        let mut runs: Vec<&StoredRun> = self.runs.values().filter(|run| filter.allows(run)).collect();
        runs.sort_by_key(|run| std::cmp::Reverse((run.finished, &run.id)));
        let beyond = runs.into_iter().filter(|run| after.as_ref().is_none_or(|after| RunCursor::of(run) < *after));
        Ok(page(beyond.cloned(), filter.limit, |run| RunCursor::of(run).to_text()))
    }
}

impl Space {
    fn write_journal(&mut self, write: &JournalWrite) -> Journaled {
        let stored = self.journals.get(&write.run).map(|journal| &journal.lease);
        let journaled = Journaled::over(write, stored, self.runs.contains_key(&write.run));
        if journaled == Journaled::Written {
            if let (None, Some(run)) = (stored, &write.begin) {
                let journal = Journal { run: run.clone(), lease: write.lease.clone(), steps: Vec::new() };
                self.journals.insert(write.run.clone(), journal);
            }
            if let Some(journal) = self.journals.get_mut(&write.run) {
                journal.lease.clone_from(&write.lease);
                write.steps.iter().for_each(|step| put_step(journal, step.clone()));
            }
        }
        journaled
    }

    fn take_journal(&mut self, take: &TakeJournal) -> Taken {
        if self.runs.contains_key(&take.run) {
            return Taken::Finished;
        }
        let Some(journal) = self.journals.get_mut(&take.run) else { return Taken::Missing };
        if !take.may_take(&journal.lease) {
            return Taken::Held(journal.lease.clone());
        }
        journal.lease.clone_from(&take.lease);
        Taken::Journal(Box::new(journal.clone()))
    }
}

/// Adds a step in the order of numbers, or replaces the one of its number.
fn put_step(journal: &mut Journal, step: JournalStep) {
    match journal.steps.binary_search_by_key(&step.number, |known| known.number) {
        Ok(at) => {
            if let Some(known) = journal.steps.get_mut(at) {
                *known = step;
            }
        }
        Err(at) => journal.steps.insert(at, step),
    }
}

/// The first items, with the cursor of the last where more follow.
fn page<T>(items: impl Iterator<Item = T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
    let mut items: Vec<T> = items.take(limit.saturating_add(1)).collect();
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(cursor);
    Page { items, skipped: Vec::new(), next }
}

/// The place of a run in the listing.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RunCursor {
    finished: jiff::Timestamp,
    id: RunId,
}

impl RunCursor {
    fn of(run: &StoredRun) -> Self {
        Self { finished: run.finished, id: run.id.clone() }
    }

    fn to_text(&self) -> String {
        format!("{}|{}", self.finished, self.id)
    }

    fn parse(text: &str) -> Result<Self> {
        let unknown = || Error::invalid("unknown cursor; pass the `next` of the page before, unchanged");
        let (finished, id) = text.split_once('|').ok_or_else(unknown)?;
        Ok(Self { finished: finished.parse().map_err(|_| unknown())?, id: RunId::new(id)? })
    }
}

#[async_trait]
impl MemoryBackend for MemoryStore {
    fn info(&self) -> BackendInfo {
        BackendInfo { scheme: "memory", location: String::new() }
    }

    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    async fn commit(&self, batch: &Batch) -> Result<Committed> {
        self.state().commit(batch)
    }

    async fn commit_over(&self, tenant: &Tenant, ids: &[RecordId], make: &MakeBatch) -> Result<Made> {
        let mut state = self.state();
        let stored = |id| state.0.get(tenant).and_then(|space| space.records.get(id)).map(|entry| entry.record.clone());
        let batch = make(&Found { records: ids.iter().filter_map(stored).collect(), unreadable: Vec::new() });
        let committed = state.commit(&batch)?;
        Ok(Made { batch, committed })
    }

    async fn get(&self, tenant: &Tenant, id: &RecordId) -> Result<Option<Record>> {
        Ok(self.read(tenant, |space| space.records.get(id).map(|entry| entry.record.clone())))
    }

    async fn delete(&self, tenant: &Tenant, id: &RecordId) -> Result<bool> {
        Ok(self.state().0.get_mut(tenant).is_some_and(|space| space.remove(id)))
    }

    async fn delete_many(&self, tenant: &Tenant, deletions: &[Deletion]) -> Result<u64> {
        let mut state = self.state();
        let Some(space) = state.0.get_mut(tenant) else { return Ok(0) };
        let mut deleted = 0;
        for Deletion { id, only } in deletions {
            let stored = space.records.get(id).map(|entry| entry.record.revision);
            if only.is_none() || *only == stored {
                deleted += u64::from(space.remove(id));
            }
        }
        Ok(deleted)
    }

    async fn lookup(&self, query: &ExactQuery) -> Result<Vec<Record>> {
        Ok(self.read(&query.tenant, |space| space.lookup(query)))
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Scored<Record>>> {
        Ok(self.read(&query.filter.tenant, |space| space.search(query)))
    }

    async fn scan(&self, request: &ScanRequest) -> Result<Page<Record>> {
        Ok(self.read(&request.filter.tenant, |space| space.scan(request)))
    }

    async fn load(&self, items: LoadItems, existing: OnExisting) -> Result<Loaded> {
        // Collected before the lock is taken: an iterator may wait for its input, or fail.
        let items = items.collect::<Result<Vec<_>>>()?;
        let mut state = self.state();
        let mut loaded = Loaded::default();
        for item in items {
            match item {
                LoadItem::Record(record) => {
                    let id = record.id.clone();
                    let space = state.0.entry(record.tenant.clone()).or_default();
                    loaded.count_record(space.load_record(*record, existing), &id);
                }
                LoadItem::Run(run) => {
                    let id = run.id.clone();
                    let space = state.0.entry(run.tenant.clone()).or_default();
                    loaded.count_run(space.load_run(*run, existing), &id);
                }
            }
        }
        Ok(loaded)
    }
}

#[async_trait]
impl RunStore for MemoryStore {
    async fn finish_run(&self, run: &StoredRun) -> Result<bool> {
        let batch = Batch { puts: Vec::new(), run: Some(run.clone()) };
        Ok(self.commit(&batch).await? != Committed::RunExists)
    }

    async fn update_run(&self, run: &StoredRun) -> Result<bool> {
        let mut state = self.state();
        let stored = state.0.get_mut(&run.tenant).and_then(|space| space.runs.get_mut(&run.id));
        Ok(stored.map(|stored| stored.clone_from(run)).is_some())
    }

    async fn get_run(&self, tenant: &Tenant, id: &RunId) -> Result<Option<StoredRun>> {
        Ok(self.read(tenant, |space| space.runs.get(id).cloned()))
    }

    async fn list_runs(&self, filter: &RunFilter) -> Result<Page<StoredRun>> {
        self.read(&filter.tenant, |space| space.list_runs(filter))
    }

    async fn delete_run(&self, tenant: &Tenant, id: &RunId) -> Result<bool> {
        Ok(self.state().0.get_mut(tenant).is_some_and(|space| space.runs.remove(id).is_some()))
    }

    async fn write_journal(&self, write: &JournalWrite) -> Result<Journaled> {
        Ok(self.state().0.entry(write.tenant.clone()).or_default().write_journal(write))
    }

    async fn take_journal(&self, take: &TakeJournal) -> Result<Taken> {
        Ok(self.state().0.get_mut(&take.tenant).map_or(Taken::Missing, |space| space.take_journal(take)))
    }

    async fn get_journal(&self, tenant: &Tenant, id: &RunId) -> Result<Option<Journal>> {
        Ok(self.read(tenant, |space| space.journals.get(id).cloned()))
    }

    async fn list_journals(&self, tenant: &Tenant, after: Option<&RunId>, limit: usize) -> Result<Page<Journal>> {
        Ok(self.read(tenant, |space| {
            let beyond = space.journals.values().filter(|journal| after.is_none_or(|after| journal.run.id > *after));
            page(beyond.cloned(), limit, |journal| journal.run.id.to_string())
        }))
    }

    async fn delete_journal(&self, tenant: &Tenant, id: &RunId) -> Result<bool> {
        Ok(self.state().0.get_mut(tenant).is_some_and(|space| space.journals.remove(id).is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::open_store;

    mod behaviour {
        use crate::MemoryStore;
        use crate::backend::Store;

        crate::testing::behaviour_suite! {
            backend: async { Store::of(MemoryStore::new()) },
            capabilities: MemoryStore::CAPABILITIES,
        }
    }

    #[tokio::test]
    async fn a_uri_opens_a_new_store_and_never_an_existing_one() {
        let uri: BackendUri = "memory:".parse().unwrap();
        let store = open_store(&uri, OpenMode::CreateIfMissing).await.unwrap();
        assert_eq!(store.records.info().scheme, "memory");
        let refused = open_store(&uri, OpenMode::ExistingOnly).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
    }
}
