//! Maintenance page by page: what a page gives, and how any store does one.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{MemoryBackend, PutMode, ScanRequest, SkippedRow};
use crate::lifecycle::{Maintained, MaintenancePlan, maintain};
use crate::record::Record;
use crate::{ErrorKind, Result};

/// What maintenance did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaintenanceReport {
    /// Records that lost confidence.
    pub decayed: u64,
    /// Records that went stale.
    pub stale: u64,
    /// Records that left probation.
    pub promoted: u64,
    /// Records that said what another one says, which counts for both now.
    #[serde(default)]
    pub merged: u64,
    /// Facts that a newer one contradicts.
    #[serde(default)]
    pub superseded: u64,
    /// Rows that could not be read; they stop nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedRow>,
}

impl MaintenanceReport {
    /// Counts one record.
    pub fn count(&mut self, done: Maintained) {
        self.decayed += u64::from(done.decayed);
        self.stale += u64::from(done.stale);
        self.promoted += u64::from(done.promoted);
    }

    /// Adds what was done elsewhere.
    pub fn add(&mut self, other: Self) {
        self.decayed += other.decayed;
        self.stale += other.stale;
        self.promoted += other.promoted;
        self.merged += other.merged;
        self.superseded += other.superseded;
        self.skipped.extend(other.skipped);
    }
}

/// One page of maintenance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MaintainedPage {
    /// What was done.
    pub report: MaintenanceReport,
    /// Where the next page starts; absent at the end.
    pub next: Option<String>,
}

/// Maintains a page with the calls that every store has.
pub(super) async fn maintain_page<B: MemoryBackend + ?Sized>(
    backend: &B,
    request: &ScanRequest,
    plan: &MaintenancePlan,
    now: Timestamp,
) -> Result<MaintainedPage> {
    let page = backend.scan(request).await?;
    let mut done = MaintainedPage { next: page.next, ..MaintainedPage::default() };
    done.report.skipped = page.skipped;
    for record in page.items {
        done.report.count(maintain_one(backend, record, plan, now).await?);
    }
    Ok(done)
}

/// Maintains one record; one that changes meanwhile is read again.
async fn maintain_one<B: MemoryBackend + ?Sized>(
    backend: &B,
    mut record: Record,
    plan: &MaintenancePlan,
    now: Timestamp,
) -> Result<Maintained> {
    loop {
        let done = maintain(&mut record, plan, now);
        if !done.is_change() {
            return Ok(done);
        }
        match backend.put(&record, PutMode::IfRevision(record.revision)).await {
            Ok(_) => return Ok(done),
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            Err(error) => return Err(error),
        }
        match backend.get(&record.tenant, &record.id).await? {
            Some(fresh) => record = fresh,
            None => return Ok(Maintained::default()),
        }
    }
}
