//! Scanning everything, one page at a time.

use super::{ids, put_all};
use crate::Result;
use crate::backend::{RecordFilter, ScanRequest, Store};
use crate::record::{Kind, RecordId, Tenant};
use crate::testing::fixtures;

/// Follows the cursor to the end and returns each page's ids.
async fn pages(store: &Store, filter: &RecordFilter, limit: usize) -> Result<Vec<Vec<String>>> {
    let mut pages = Vec::new();
    let mut after = None;
    loop {
        let page = store.records.scan(&ScanRequest { filter: filter.clone(), after, limit }).await?;
        assert_eq!(page.skipped, [], "every row can be read");
        pages.push(ids(page.items));
        let Some(next) = page.next else { return Ok(pages) };
        assert!(pages.len() < 100, "the cursor moves");
        after = Some(RecordId::new(next)?);
    }
}

/// Pages follow the order of ids by bytes, without gap or repeat; the last has no cursor.
pub async fn scan_pages_in_the_order_of_ids(store: Store) -> Result<()> {
    for id in ["b", "é", "a/1", "B", "c", "a", "10", "9"] {
        put_all(&store, [fixtures::fact(id, id)?]).await?;
    }
    let all = RecordFilter::all_of(fixtures::tenant());
    let ordered = ["10", "9", "B", "a", "a/1", "b", "c", "é"];
    assert_eq!(pages(&store, &all, 100).await?, [ordered.to_vec()]);
    assert_eq!(pages(&store, &all, 8).await?.concat(), ordered);
    let by_three = pages(&store, &all, 3).await?;
    assert_eq!(by_three.concat(), ordered);
    assert!(by_three.iter().all(|page| page.len() <= 3));
    Ok(())
}

/// What the filter forbids is in no page.
pub async fn scan_applies_the_filter(store: Store) -> Result<()> {
    for mut record in fixtures::one_of_each_kind()? {
        record.tenant = fixtures::tenant();
        put_all(&store, [record]).await?;
    }
    let kinds = vec![Kind::Fact, Kind::Trace];
    let filter = RecordFilter { kinds, ..RecordFilter::all_of(fixtures::tenant()) };
    assert_eq!(pages(&store, &filter, 1).await?.concat(), ["rec_fact", "rec_trace"]);
    Ok(())
}

/// A tenant without records has one empty page.
pub async fn scan_of_an_empty_tenant_is_empty(store: Store) -> Result<()> {
    put_all(&store, [fixtures::fact("fct_1", "elsewhere")?]).await?;
    assert_eq!(pages(&store, &RecordFilter::all_of(Tenant::new("b")?), 5).await?, [Vec::<String>::new()]);
    Ok(())
}

/// A deleted record is in no page, and deleting the cursor's record does not break the listing.
pub async fn f69_a_deleted_record_is_not_scanned(store: Store) -> Result<()> {
    for id in ["a", "b", "c"] {
        put_all(&store, [fixtures::fact(id, id)?]).await?;
    }
    store.records.delete(&fixtures::tenant(), &RecordId::new("b")?).await?;
    let filter = RecordFilter::all_of(fixtures::tenant());
    assert_eq!(pages(&store, &filter, 9).await?.concat(), ["a", "c"]);
    let after_deleted = ScanRequest { filter, after: Some(RecordId::new("b")?), limit: 9 };
    assert_eq!(ids(store.records.scan(&after_deleted).await?.items), ["c"]);
    Ok(())
}
