//! Loading many records and runs at once, as an import does: everything or nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Batch, MemoryBackend, Put, PutMode, Store};
use crate::record::{Record, RecordId, Revision, RunId, Tenant};
use crate::run::StoredRun;
use crate::{Error, ErrorKind, Result};

/// One thing to load.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadItem {
    /// A record; its own revision is ignored, the store sets it.
    Record(Box<Record>),
    /// A finished run.
    Run(Box<StoredRun>),
}

impl From<Record> for LoadItem {
    fn from(record: Record) -> Self {
        Self::Record(Box::new(record))
    }
}

impl From<StoredRun> for LoadItem {
    fn from(run: StoredRun) -> Self {
        Self::Run(Box::new(run))
    }
}

/// What is loaded, one after the other; the first error ends the load and nothing is stored.
pub type LoadItems = Box<dyn Iterator<Item = Result<LoadItem>> + Send>;

/// What becomes of an id that is stored already with another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnExisting {
    /// The stored one stays.
    #[default]
    Keep,
    /// The loaded one takes its place.
    Replace,
}

impl OnExisting {
    /// What becomes of an item whose id is stored; `same` says whether the two are equal, revisions
    /// apart. Stores call it, so that all decide alike.
    pub fn fate(self, same: bool) -> Fate {
        match (same, self) {
            (true, _) => Fate::Unchanged,
            (false, Self::Keep) => Fate::Kept,
            (false, Self::Replace) => Fate::Replaced,
        }
    }
}

/// What became of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Its id was new.
    Added,
    /// It took the place of another content.
    Replaced,
    /// The stored one is equal, revisions apart.
    Unchanged,
    /// The stored one differs and stays.
    Kept,
}

/// What became of the records, or of the runs, of a load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadCounts {
    /// New ids.
    pub added: u64,
    /// Ids whose stored content was replaced.
    pub replaced: u64,
    /// Ids that were stored with the same content.
    pub unchanged: u64,
    /// Ids whose stored content differs and stays.
    pub kept: Vec<String>,
}

impl LoadCounts {
    /// How many items were looked at.
    pub fn total(&self) -> u64 {
        let kept = u64::try_from(self.kept.len()).unwrap_or(u64::MAX);
        self.added + self.replaced + self.unchanged + kept
    }

    fn count(&mut self, fate: Fate, id: &str) {
        match fate {
            Fate::Added => self.added += 1,
            Fate::Replaced => self.replaced += 1,
            Fate::Unchanged => self.unchanged += 1,
            Fate::Kept => self.kept.push(id.to_owned()),
        }
    }
}

/// What a load did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loaded {
    /// The records.
    pub records: LoadCounts,
    /// The runs.
    pub runs: LoadCounts,
}

impl Loaded {
    /// Counts a record.
    pub fn count_record(&mut self, fate: Fate, id: &RecordId) {
        self.records.count(fate, id.as_str());
    }

    /// Counts a run.
    pub fn count_run(&mut self, fate: Fate, id: &RunId) {
        self.runs.count(fate, id.as_str());
    }
}

/// Whether two records are equal, revisions apart.
pub fn same_record(stored: &Record, loaded: &mut Record) -> bool {
    loaded.revision = stored.revision;
    stored == loaded
}

/// What is stored under an id.
pub(crate) enum Stored<T> {
    Absent,
    /// A row that cannot be read, which differs from every content.
    Unreadable,
    There(T),
}

impl<T> Stored<T> {
    /// Tells a row that cannot be read from a store that cannot.
    pub(crate) fn of(read: Result<Option<T>>) -> Result<Self> {
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Self::Unreadable),
            other => Ok(other?.map_or(Self::Absent, Self::There)),
        }
    }

    /// What becomes of an item under this id.
    pub(crate) fn fate(&self, existing: OnExisting, is_same: impl FnOnce(&T) -> bool) -> Fate {
        match self {
            Self::Absent => Fate::Added,
            Self::Unreadable => existing.fate(false),
            Self::There(stored) => existing.fate(is_same(stored)),
        }
    }
}

/// Records through one commit, for stores without a bulk path of their own.
pub(super) async fn by_commit(
    store: &(impl MemoryBackend + ?Sized),
    items: LoadItems,
    existing: OnExisting,
) -> Result<Loaded> {
    let records = items.map(|item| only_record(item?)).collect::<Result<Vec<_>>>()?;
    let mut staged = Staged { existing, puts: Vec::new(), places: BTreeMap::new(), loaded: Loaded::default() };
    for record in records {
        staged.add(store, record).await?;
    }
    if !staged.puts.is_empty() {
        store.commit(&Batch { puts: staged.puts, run: None }).await?;
    }
    Ok(staged.loaded)
}

fn only_record(item: LoadItem) -> Result<Record> {
    match item {
        LoadItem::Record(record) => Ok(*record),
        LoadItem::Run(_) => {
            Err(Error::new(ErrorKind::Unsupported, "this store loads no runs; load them through `Store::load`"))
        }
    }
}

/// What a commit will put, with the place of each id in it.
struct Staged {
    existing: OnExisting,
    puts: Vec<Put>,
    places: BTreeMap<(Tenant, RecordId), usize>,
    loaded: Loaded,
}

impl Staged {
    async fn add(&mut self, store: &(impl MemoryBackend + ?Sized), mut record: Record) -> Result<()> {
        let name = (record.tenant.clone(), record.id.clone());
        let place = self.places.get(&name).copied();
        if let Some(put) = place.and_then(|place| self.puts.get_mut(place)) {
            let fate = self.existing.fate(same_record(&put.record, &mut record));
            self.loaded.count_record(fate, &record.id);
            if fate == Fate::Replaced {
                put.record = record;
            }
            return Ok(());
        }
        let stored = Stored::of(store.get(&record.tenant, &record.id).await)?;
        let fate = stored.fate(self.existing, |stored| same_record(stored, &mut record));
        let mode = match stored {
            Stored::Absent => PutMode::Create,
            // Its revision cannot be read either.
            Stored::Unreadable => PutMode::Upsert,
            Stored::There(stored) => PutMode::IfRevision(stored.revision),
        };
        self.loaded.count_record(fate, &record.id);
        if matches!(fate, Fate::Added | Fate::Replaced) {
            self.places.insert(name, self.puts.len());
            record.revision = Revision::default();
            self.puts.push(Put { record, mode });
        }
        Ok(())
    }
}

impl Store {
    /// Loads records and runs: everything or nothing where the records' store keeps runs.
    ///
    /// Where two stores share the work, all records are stored first, in one go, then the runs one by
    /// one; after an error the same load can be made again, and finds what is there unchanged.
    ///
    /// # Errors
    /// As for [`MemoryBackend::load`].
    pub async fn load(&self, items: LoadItems, existing: OnExisting) -> Result<Loaded> {
        if self.records.capabilities().runs {
            return self.records.load(items, existing).await;
        }
        let (mut records, mut runs) = (Vec::new(), Vec::new());
        for item in items {
            match item? {
                LoadItem::Record(record) => records.push(record),
                LoadItem::Run(run) => runs.push(run),
            }
        }
        let records = records.into_iter().map(|record| Ok(LoadItem::Record(record)));
        let mut loaded = self.records.load(Box::new(records), existing).await?;
        for run in runs {
            loaded.count_run(self.load_run(&run, existing).await?, &run.id);
        }
        Ok(loaded)
    }

    async fn load_run(&self, run: &StoredRun, existing: OnExisting) -> Result<Fate> {
        if self.runs.finish_run(run).await? {
            return Ok(Fate::Added);
        }
        let stored = Stored::of(self.runs.get_run(&run.tenant, &run.id).await)?;
        let fate = stored.fate(existing, |stored| stored == run);
        if fate == Fate::Replaced {
            self.runs.update_run(run).await?;
        }
        Ok(fate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;
    use crate::backend::{BackendInfo, Capabilities, Committed, ExactQuery, Page, ScanRequest, Scored, SearchQuery};
    use crate::testing::fixtures;

    /// A store that has no bulk path and keeps no runs.
    #[derive(Debug, Default)]
    struct Plain(MemoryStore);

    #[crate::async_trait]
    impl MemoryBackend for Plain {
        fn info(&self) -> BackendInfo {
            self.0.info()
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities { runs: false, ..self.0.capabilities() }
        }
        async fn commit(&self, batch: &Batch) -> Result<Committed> {
            if batch.run.is_some() {
                return Err(Error::new(ErrorKind::Unsupported, "no runs"));
            }
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

    mod behaviour {
        use super::Plain;
        use crate::MemoryStore;
        use crate::backend::{Capabilities, Store};

        fn apart() -> Store {
            let runs = Store::of(MemoryStore::new()).runs;
            Store { records: std::sync::Arc::new(Plain::default()), runs }
        }

        crate::testing::behaviour_suite! {
            backend: async { apart() },
            capabilities: Capabilities { runs: false, ..MemoryStore::CAPABILITIES },
        }
    }

    #[tokio::test]
    async fn a_store_without_runs_refuses_them_and_two_stores_share_the_work() {
        let runs = Store::of(MemoryStore::new()).runs;
        let store = Store { records: std::sync::Arc::new(Plain::default()), runs };
        let record = fixtures::fact("fct_1", "shared").unwrap();
        let run = fixtures::run("run_1", "do it").unwrap();
        let items = || -> LoadItems { Box::new([Ok(record.clone().into()), Ok(run.clone().into())].into_iter()) };
        let refused = store.records.load(items(), OnExisting::Keep).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        assert_eq!(store.records.get(&record.tenant, &record.id).await.unwrap(), None);
        let loaded = store.load(items(), OnExisting::Keep).await.unwrap();
        assert_eq!((loaded.records.added, loaded.runs.added), (1, 1));
        let again = store.load(items(), OnExisting::Replace).await.unwrap();
        assert_eq!((again.records.unchanged, again.runs.unchanged), (1, 1));
        assert_eq!(store.runs.get_run(&run.tenant, &run.id).await.unwrap(), Some(run));
    }
}
