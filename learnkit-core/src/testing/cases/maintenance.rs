//! Maintenance of a page: every store does what the state machine says, and nothing else.

use super::put_all;
use crate::Result;
use crate::backend::{MaintenanceReport, RecordFilter, ScanRequest, Store};
use crate::lifecycle::{MaintenancePlan, maintain};
use crate::record::{Record, RecordId, Status, Tenant};
use crate::testing::fixtures;

const WEEK: i64 = 7 * 24 * 3600;

/// Follows the pages to the end and adds up what was done.
async fn maintained(store: &Store, seconds: i64) -> Result<MaintenanceReport> {
    let mut done = MaintenanceReport::default();
    let mut after = None;
    loop {
        let request = ScanRequest { filter: RecordFilter::all_of(fixtures::tenant()), after, limit: 2 };
        let page = store.records.maintain(&request, &MaintenancePlan::default(), fixtures::after(seconds)).await?;
        done.add(page.report);
        let Some(next) = page.next else { return Ok(done) };
        after = Some(RecordId::new(next)?);
    }
}

async fn all(store: &Store, tenant: Tenant) -> Result<Vec<Record>> {
    let request = ScanRequest { filter: RecordFilter::all_of(tenant), after: None, limit: 100 };
    Ok(store.records.scan(&request).await?.items)
}

/// Every kind ages as the state machine says; what does not change keeps its revision, and a second
/// time changes nothing.
pub async fn c8_every_record_ages_as_the_state_machine_says_and_only_once(store: Store) -> Result<()> {
    let mut records = fixtures::one_of_each_kind()?;
    for (number, record) in records.iter_mut().enumerate() {
        record.tenant = fixtures::tenant();
        record.pinned = number == 0;
        record.status = if number % 2 == 0 { Status::Probation } else { Status::Active };
        record.usage.harm = u64::from(number == 2);
    }
    put_all(&store, records).await?;
    for seconds in [3 * WEEK, 30 * WEEK] {
        let mut expected = all(&store, fixtures::tenant()).await?;
        let mut report = MaintenanceReport::default();
        for record in &mut expected {
            let change = maintain(record, &MaintenancePlan::default(), fixtures::after(seconds));
            report.count(change);
            if change.is_change() {
                record.revision = record.revision.next();
            }
        }
        assert_ne!(report, MaintenanceReport::default());
        assert_eq!(maintained(&store, seconds).await?, report);
        assert_eq!(all(&store, fixtures::tenant()).await?, expected);
        assert_eq!(maintained(&store, seconds).await?, MaintenanceReport::default());
        assert_eq!(all(&store, fixtures::tenant()).await?, expected);
    }
    Ok(())
}

/// Another tenant's records do not age with ours.
pub async fn f70_maintenance_never_touches_another_tenant(store: Store) -> Result<()> {
    let mut other = fixtures::fact("fct_other", "elsewhere")?;
    other.tenant = Tenant::new("other")?;
    put_all(&store, [other, fixtures::fact("fct_own", "here")?]).await?;
    let before = all(&store, Tenant::new("other")?).await?;
    assert_eq!(maintained(&store, 3 * WEEK).await?.decayed, 1);
    assert_eq!(all(&store, Tenant::new("other")?).await?, before);
    Ok(())
}
