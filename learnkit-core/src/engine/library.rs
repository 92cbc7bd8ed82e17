//! Records and runs as people manage them: look, pin, forget.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::LearnKit;
use crate::backend::{
    Batch, Committed, Found, MakeBatch, Page, Put, PutMode, RecordFilter, RunFilter, ScanRequest, Visibility,
};
use crate::lifecycle::{Event, apply};
use crate::record::{Content, Kind, Record, RecordId, RunId, Status};
use crate::run::StoredRun;
use crate::{Error, ErrorKind, Result};

/// Records are looked through in pages of this size.
pub(super) const PAGE: usize = 500;

/// What forgetting a record removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Forgotten {
    /// Records: the one that was named, and traces of its runs.
    pub records: usize,
    /// Runs it was learned from.
    pub runs: usize,
}

impl LearnKit {
    /// A record of this tenant in any scope and status.
    ///
    /// # Errors
    /// `NotFound` when there is none, `Corrupt` when it cannot be read.
    pub async fn record(&self, id: &RecordId) -> Result<Record> {
        let found = self.within("get", self.inner.store.records.get(&self.inner.tenant, id)).await?;
        found.ok_or_else(|| missing("record", id))
    }

    /// One page of records.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    pub async fn scan(&self, request: &ScanRequest) -> Result<Page<Record>> {
        self.within("scan", self.inner.store.records.scan(request)).await
    }

    /// Every record of this tenant, unfiltered, as a filter to narrow down.
    pub fn every_record(&self) -> RecordFilter {
        RecordFilter::all_of(self.inner.tenant.clone())
    }

    /// Applies a lifecycle event to a record and returns it as stored.
    ///
    /// # Errors
    /// `NotFound` when there is none, `Corrupt` when it cannot be read.
    pub(super) async fn change(&self, id: &RecordId, event: &Event) -> Result<Record> {
        let (event, now) = (event.clone(), self.now());
        let changed = self.rewrite(id, move |record| drop(apply(record, &event, now))).await?;
        match changed {
            Some(record) => Ok(record),
            // It says whether the record is missing or cannot be read.
            None => self.record(id).await,
        }
    }

    /// Changes a record in one step with reading it, so that nothing that happens meanwhile is lost, and
    /// returns it as stored; absent when there is none that can be read.
    pub(super) async fn rewrite(
        &self,
        id: &RecordId,
        change: impl Fn(&mut Record) + Send + Sync + 'static,
    ) -> Result<Option<Record>> {
        let make: MakeBatch = Arc::new(move |found: &Found| {
            let changed = found.records.iter().cloned().map(|mut record| {
                let mode = PutMode::IfRevision(record.revision);
                change(&mut record);
                Put { record, mode }
            });
            Batch { puts: changed.collect(), run: None }
        });
        let ids = std::slice::from_ref(id);
        let done = self.within("put", self.inner.store.records.commit_over(&self.inner.tenant, ids, &make)).await?;
        let Committed::Stored(revisions) = done.committed else { return Ok(None) };
        let record = done.batch.puts.into_iter().next().map(|put| put.record);
        Ok(record.map(|record| Record { revision: revisions.first().copied().unwrap_or_default(), ..record }))
    }

    /// Pins a record, so that age never makes it stale, or unpins it.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub async fn pin(&self, id: &RecordId, pinned: bool) -> Result<Record> {
        self.change(id, if pinned { &Event::Pinned } else { &Event::Unpinned }).await
    }

    /// Brings the last good version of a healed procedure back; it may replay again. The one that it takes the
    /// place of is dropped.
    ///
    /// # Errors
    /// `NotFound` when there is no such record, `Conflict` when no earlier version of it is kept, or when it is
    /// retired or did harm: only a reported success of its run undoes that.
    pub async fn roll_back(&self, id: &RecordId) -> Result<Record> {
        let record = self.record(id).await?;
        if matches!(record.status, Status::Retired | Status::Harmful) {
            let message = format!(
                "the record is {}: {}; report the success of a run that it replayed to bring it back",
                record.status, record.status_reason
            );
            return Err(Error::new(ErrorKind::Conflict, message).with_context("id", id));
        }
        if record.last_good().is_none() {
            let message = "no earlier version of the record is kept; `learnkit records show` says what it did before";
            return Err(Error::new(ErrorKind::Conflict, message).with_context("id", id));
        }
        self.change(id, &Event::RolledBack).await
    }

    /// Deletes a record with the runs and traces of its exact task; an old fact also leaves the history
    /// of the fact that superseded it. Other records of the task stay: they are deleted by their own id.
    ///
    /// # Errors
    /// `NotFound` when there is none, `Unavailable` when the store cannot be written.
    pub async fn forget(&self, id: &RecordId) -> Result<Forgotten> {
        let records = &self.inner.store.records;
        let found = self.within("get", records.get(&self.inner.tenant, id)).await;
        let record = match found {
            // A row that cannot be read can still be deleted.
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            other => Some(other?.ok_or_else(|| missing("record", id))?),
        };
        let mut forgotten = Forgotten::default();
        if let Some(record) = &record {
            self.forget_runs(record, &mut forgotten).await?;
            self.forget_history(record).await?;
        }
        forgotten.records += usize::from(self.within("delete", records.delete(&self.inner.tenant, id)).await?);
        Ok(forgotten)
    }

    /// Deletes a run with its trace, also a run that cannot be read or has not finished; what was in doubt about
    /// that one is forgotten.
    ///
    /// # Errors
    /// `NotFound` when there is neither, `Unavailable` when the store cannot be written.
    pub async fn forget_run(&self, id: &RunId) -> Result<Forgotten> {
        let tenant = &self.inner.tenant;
        let trace = self.within("delete", self.inner.store.records.delete(tenant, &trace_id(id))).await?;
        let run = self.within("delete run", self.inner.store.runs.delete_run(tenant, id)).await?;
        let open = self.forget_open_run(id).await?;
        let forgotten = Forgotten { records: usize::from(trace), runs: usize::from(run || open) };
        if forgotten == Forgotten::default() { Err(missing("run", id)) } else { Ok(forgotten) }
    }

    /// Takes the statement of an old fact out of the history of newer ones.
    async fn forget_history(&self, record: &Record) -> Result<()> {
        let Content::Fact(old) = &record.content else { return Ok(()) };
        let mut filter = self.every_record();
        filter.kinds = vec![Kind::Fact];
        for newer in self.scan_all(filter).await? {
            let Content::Fact(fact) = &newer.content else { continue };
            if fact.superseded.contains(&old.statement) {
                let statement = old.statement.clone();
                self.rewrite(&newer.id, move |record| {
                    if let Content::Fact(fact) = &mut record.content {
                        fact.superseded.retain(|known| *known != statement);
                    }
                })
                .await?;
            }
        }
        Ok(())
    }

    /// Every record that a filter allows, page by page.
    async fn scan_all(&self, filter: RecordFilter) -> Result<Vec<Record>> {
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = self.scan(&ScanRequest { filter: filter.clone(), after, limit: PAGE }).await?;
            all.extend(page.items);
            let Some(next) = page.next else { return Ok(all) };
            after = Some(RecordId::new(next)?);
        }
    }

    /// Deletes the runs a record came from: its own run, and every run of its exact task.
    async fn forget_runs(&self, record: &Record, forgotten: &mut Forgotten) -> Result<()> {
        let mut ids: Vec<RunId> = record.provenance.run.iter().cloned().collect();
        if let Content::Trace(trace) = &record.content {
            ids.push(trace.run.clone());
        } else if let Some(task) = &record.task {
            forgotten.runs += self.forget_open_runs(task).await?;
            let filter =
                RunFilter { key: Some(task.key.clone()), ..RunFilter::newest(self.inner.tenant.clone(), usize::MAX) };
            let runs = self.within("list runs", self.inner.store.runs.list_runs(&filter)).await?;
            ids.extend(runs.items.into_iter().map(|run| run.id));
            // A run that cannot be read is still a run of the task.
            for row in runs.skipped {
                ids.push(RunId::new(row.id)?);
            }
        }
        ids.sort();
        ids.dedup();
        for id in ids {
            let trace = trace_id(&id);
            if trace != record.id {
                forgotten.records += usize::from(
                    self.within("delete", self.inner.store.records.delete(&self.inner.tenant, &trace)).await?,
                );
            }
            forgotten.runs += usize::from(
                self.within("delete run", self.inner.store.runs.delete_run(&self.inner.tenant, &id)).await?,
            );
        }
        Ok(())
    }

    /// Records that may guide and that no run of the newest `runs` ever considered: what is never
    /// found is of no use to anybody.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    pub async fn never_retrieved(&self, runs: usize) -> Result<Vec<RecordId>> {
        let filter = RunFilter::newest(self.inner.tenant.clone(), runs);
        let runs = self.runs(&filter).await?.items;
        let decisions = runs.iter().flat_map(|run| &run.decisions);
        let seen: BTreeSet<&RecordId> =
            decisions.flat_map(|decision| &decision.candidates).map(|note| &note.id).collect();
        let visibility = Visibility { statuses: vec![Status::Probation, Status::Active], probation_in: None };
        let filter = RecordFilter { kinds: Kind::GUIDING.to_vec(), visibility, ..self.every_record() };
        let records = self.scan_all(filter).await?.into_iter();
        Ok(records.map(|record| record.id).filter(|id| !seen.contains(id)).collect())
    }

    /// A run of this tenant.
    ///
    /// # Errors
    /// `NotFound` when there is none, `Corrupt` when it cannot be read.
    pub async fn run(&self, id: &RunId) -> Result<StoredRun> {
        let found = self.within("get run", self.inner.store.runs.get_run(&self.inner.tenant, id)).await?;
        found.ok_or_else(|| missing("run", id))
    }

    /// Runs of this tenant, newest first.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    pub async fn runs(&self, filter: &RunFilter) -> Result<Page<StoredRun>> {
        self.within("list runs", self.inner.store.runs.list_runs(filter)).await
    }
}

/// The id of the trace of a run.
pub(super) fn trace_id(run: &RunId) -> RecordId {
    RecordId::derived("trace", &[run.as_str()])
}

pub(super) fn missing(what: &str, id: &impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::NotFound, format!("no {what} `{id}` in this tenant; list them with `learnkit {what}s list`"))
}
