//! Search in a store that is too large to rank every match.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::backend::{Batch, MemoryBackend as _, Put, PutMode, RecordFilter, SearchQuery};
use learnkit_core::record::{Record, Tenant};
use learnkit_core::testing::fixtures;

/// More than the search ranks at first.
const RECORDS: usize = 3_000;

fn common(number: usize, tenant: &Tenant) -> Record {
    let mut record =
        fixtures::fact(&format!("fct_{number:05}"), &format!("monthly report of branch {number}")).unwrap();
    record.tenant = tenant.clone();
    record
}

async fn store_of(records: impl Iterator<Item = Record>) -> SqliteStore {
    let store = SqliteStore::open_in_memory().await.unwrap();
    let puts = records.map(|record| Put { record, mode: PutMode::Create }).collect();
    store.commit(&Batch { puts, run: None }).await.unwrap();
    store
}

async fn found(store: &SqliteStore, text: &str, tenant: Tenant, limit: usize) -> Vec<String> {
    let query = SearchQuery { text: text.to_owned(), filter: RecordFilter::all_of(tenant), limit };
    let found = store.search(&query).await.unwrap();
    found.into_iter().map(|scored| scored.item.id.to_string()).collect()
}

#[tokio::test]
async fn a_rare_term_finds_its_record_among_thousands_that_share_the_common_ones() {
    let store = store_of((0..RECORDS).map(|number| common(number, &fixtures::tenant()))).await;
    let found = found(&store, "the monthly report of branch 1234", fixtures::tenant(), 3).await;
    assert_eq!(found.first().unwrap(), "fct_01234");
    // The rest of the answer is filled with what only the common terms find.
    assert_eq!(found.len(), 3);
}

#[tokio::test]
async fn common_terms_alone_fill_the_answer_in_the_order_of_ids() {
    let store = store_of((0..RECORDS).rev().map(|number| common(number, &fixtures::tenant()))).await;
    let found = found(&store, "monthly report", fixtures::tenant(), RECORDS).await;
    assert_eq!(found.len(), RECORDS);
    assert!(found.is_sorted(), "equal records come in the order of their ids");
}

#[tokio::test]
async fn b10_a_small_tenant_finds_its_own_among_thousands_of_others() {
    let small = Tenant::new("small").unwrap();
    let others = (0..RECORDS).map(|number| common(number, &fixtures::tenant()));
    let own = [common(1, &small), common(2, &small)];
    let store = store_of(others.chain(own)).await;
    assert_eq!(found(&store, "monthly report of branch 2", small.clone(), 5).await, ["fct_00002", "fct_00001"]);
    assert_eq!(found(&store, "monthly report", small, 5).await, ["fct_00001", "fct_00002"]);
}
