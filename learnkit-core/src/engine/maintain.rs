//! Periodic maintenance: decay, expiry, promotion. Idempotent within a period.

use serde::{Deserialize, Serialize};

use super::LearnKit;
use super::library::PAGE;
use crate::backend::{PutMode, ScanRequest, SkippedRow};
use crate::lifecycle::{Maintained, MaintenancePlan, maintain};
use crate::record::{Record, RecordId};
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
    /// Rows that could not be read; they stop nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedRow>,
}

impl LearnKit {
    /// Decays by `decay_rate` for each week since a record was last reinforced or decayed, once at
    /// least `weeks` weeks have passed, marks what expired as stale, and promotes from probation
    /// after `quarantine_hours`. Calling it twice changes nothing the second time.
    ///
    /// # Errors
    /// `InvalidInput` for a negative or senseless number, `Unavailable` when the store cannot be
    /// read or written; records maintained before that stay so.
    pub async fn maintain_memory(
        &self,
        weeks: i64,
        decay_rate: f64,
        quarantine_hours: f64,
    ) -> Result<MaintenanceReport> {
        let plan = MaintenancePlan::new(weeks, decay_rate, quarantine_hours)?;
        let mut report = MaintenanceReport::default();
        let mut after: Option<RecordId> = None;
        loop {
            let request = ScanRequest { filter: self.every_record(), after: after.take(), limit: PAGE };
            let page = self.scan(&request).await?;
            for record in page.items {
                report.count(self.maintain_one(record, &plan).await?);
            }
            report.skipped.extend(page.skipped);
            let Some(next) = page.next else { return Ok(report) };
            after = Some(RecordId::new(next)?);
        }
    }

    /// Maintains one record; one that changes meanwhile is read again.
    async fn maintain_one(&self, mut record: Record, plan: &MaintenancePlan) -> Result<Maintained> {
        loop {
            let before = record.clone();
            let done = maintain(&mut record, plan, self.now());
            if record == before {
                return Ok(done);
            }
            let mode = PutMode::IfRevision(record.revision);
            match self.within("put", self.inner.store.records.put(&record, mode)).await {
                Ok(_) => return Ok(done),
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                Err(error) => return Err(error),
            }
            match self.within("get", self.inner.store.records.get(&record.tenant, &record.id)).await? {
                Some(fresh) => record = fresh,
                None => return Ok(Maintained::default()),
            }
        }
    }
}

impl MaintenanceReport {
    fn count(&mut self, done: Maintained) {
        self.decayed += u64::from(done.decayed);
        self.stale += u64::from(done.stale);
        self.promoted += u64::from(done.promoted);
    }
}
