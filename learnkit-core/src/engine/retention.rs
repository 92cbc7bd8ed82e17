//! What leaves the store by age: old runs with their traces, tombstones, expired traces. And compacting.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::library::trace_id;
use super::{Forgotten, LearnKit};
use crate::backend::{Deletion, Health, RecordFilter, RunFilter, ScanRequest, Vacuumed, Visibility};
use crate::lifecycle::may_purge;
use crate::record::{Kind, Record, RecordId, RunId, Status};
use crate::{ErrorKind, Result};

/// So much is deleted in one transaction, so that other writers get their turn.
const PAGE: usize = 200;

/// Which runs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunRetention {
    /// Runs that finished at most so long ago are kept.
    pub older_than: Duration,
    /// So many of the newest runs are kept however old they are.
    pub keep_newest: usize,
}

/// Whether something is done or only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    /// Only counted.
    DryRun,
    /// Done.
    Real,
}

impl LearnKit {
    /// Deletes old runs with their traces, unreadable ones too, a few hundred in a transaction. What they
    /// taught stays, and so does a pinned trace. Where it stops with an error, what is deleted stays deleted;
    /// doing it again goes on.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be read or written.
    pub async fn prune_runs(&self, retention: &RunRetention, pass: Pass) -> Result<Forgotten> {
        let mut pruned = Forgotten::default();
        let mut filter = RunFilter::newest(self.inner.tenant.clone(), PAGE);
        let mut kept = 0;
        while kept < retention.keep_newest {
            filter.limit = PAGE.min(retention.keep_newest - kept);
            kept += filter.limit;
            filter.after = self.runs(&filter).await?.next;
            if filter.after.is_none() {
                return Ok(pruned);
            }
        }
        filter.limit = PAGE;
        filter.finished_before = Some(self.ago(retention.older_than));
        loop {
            let page = self.runs(&filter).await?;
            let mut ids: Vec<RunId> = page.items.into_iter().map(|run| run.id).collect();
            for row in page.skipped {
                ids.push(RunId::new(row.id)?);
            }
            self.prune(&ids, pass, &mut pruned).await?;
            if page.next.is_none() {
                return Ok(pruned);
            }
            filter.after = page.next;
        }
    }

    async fn prune(&self, ids: &[RunId], pass: Pass, pruned: &mut Forgotten) -> Result<()> {
        let mut traces = Vec::new();
        for id in ids {
            traces.extend(self.trace_to_prune(trace_id(id)).await?);
        }
        if pass == Pass::DryRun {
            pruned.records += traces.len();
            pruned.runs += ids.len();
            return Ok(());
        }
        // Traces first: a run whose trace is gone is found again, a trace without its run is not.
        pruned.records += self.delete_records(&traces).await?;
        let runs = self.inner.store.runs.delete_runs(&self.inner.tenant, ids);
        pruned.runs += as_count(self.within("delete runs", runs).await?);
        Ok(())
    }

    async fn trace_to_prune(&self, id: RecordId) -> Result<Option<Deletion>> {
        match self.record(&id).await {
            Ok(trace) if trace.pinned => Ok(None),
            Ok(trace) => Ok(Some(Deletion { id, only: Some(trace.revision) })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Some(Deletion { id, only: None })),
            Err(error) => Err(error),
        }
    }

    /// Deletes, of what a filter allows, records that were retired at least so long ago and traces that expired
    /// at least so long ago. Pinned records stay, and so does one that changes meanwhile. A procedure whose
    /// tombstone is purged may be learned anew.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be read or written; what was deleted before stays deleted.
    pub async fn purge_records(&self, filter: &RecordFilter, older_than: Duration, pass: Pass) -> Result<usize> {
        let seen = |statuses: Vec<Status>| Visibility { statuses, probation_in: None };
        let other = Status::ALL.into_iter().filter(|status| *status != Status::Retired).collect();
        let tombstones = RecordFilter { visibility: seen(vec![Status::Retired]), ..filter.clone() };
        let traces = RecordFilter { kinds: vec![Kind::Trace], visibility: seen(other), ..filter.clone() };
        let before = self.ago(older_than);
        Ok(self.purge(tombstones, before, pass).await? + self.purge(traces, before, pass).await?)
    }

    async fn purge(&self, filter: RecordFilter, before: Timestamp, pass: Pass) -> Result<usize> {
        let mut purged = 0;
        let mut request = ScanRequest { filter, after: None, limit: PAGE };
        loop {
            let page = self.scan(&request).await?;
            let deletion = |record: Record| Deletion { id: record.id, only: Some(record.revision) };
            let due = page.items.into_iter().filter(|record| may_purge(record, before)).map(deletion);
            let due: Vec<Deletion> = due.collect();
            purged += match pass {
                Pass::DryRun => due.len(),
                Pass::Real => self.delete_records(&due).await?,
            };
            let Some(next) = page.next else { return Ok(purged) };
            request.after = Some(RecordId::new(next)?);
        }
    }

    async fn delete_records(&self, deletions: &[Deletion]) -> Result<usize> {
        let delete = self.inner.store.records.delete_many(&self.inner.tenant, deletions);
        Ok(as_count(self.within("delete", delete).await?))
    }

    /// The time so long ago.
    fn ago(&self, age: Duration) -> Timestamp {
        let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
        self.now().checked_sub(age).unwrap_or(Timestamp::MIN)
    }

    /// Gives the space of what was deleted back to the system and brings the text index up to date.
    ///
    /// It takes as long as the store needs, without a deadline, and other writers wait meanwhile. A dropped
    /// future does not stop it.
    ///
    /// # Errors
    /// `Unsupported` for a store without space of its own, `Unavailable` when it is busy or its disk is full.
    pub async fn vacuum(&self) -> Result<Vacuumed> {
        self.inner.store.records.vacuum().await
    }

    /// How the store is doing: mode, schema, size, faults. It may read the whole store, without a deadline.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    pub async fn health(&self) -> Result<Health> {
        self.inner.store.records.health().await
    }
}

fn as_count(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
