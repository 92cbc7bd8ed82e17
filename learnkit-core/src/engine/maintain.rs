//! Periodic maintenance: decay, expiry, promotion, and putting in order. Idempotent within a period.

use super::LearnKit;
use crate::Result;
use crate::backend::{MaintenanceReport, ScanRequest};
use crate::lifecycle::MaintenancePlan;
use crate::record::RecordId;

/// Records are maintained in pages of this size, so that other writers get their turn between two.
const PAGE: usize = 2_000;

impl LearnKit {
    /// Decays by `decay_rate` for each week since a record was last reinforced or decayed, once at
    /// least `weeks` weeks have passed, marks what expired as stale, and promotes from probation
    /// after `quarantine_hours`. Then it merges what people wrote that says the same, and lets newer facts
    /// supersede older ones that they contradict. Calling it twice changes nothing the second time.
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
            let work = self.inner.store.records.maintain(&request, &plan, self.now());
            let page = self.within("maintain", work).await?;
            report.add(page.report);
            let Some(next) = page.next else { break };
            after = Some(RecordId::new(next)?);
        }
        let settled = self.settle_statements().await?;
        report.merged = settled.merged;
        report.superseded = settled.superseded;
        Ok(report)
    }
}
