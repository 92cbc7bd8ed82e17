//! The cases of the behaviour suite, written only against the traits.
//!
//! Each is one promise; [`super::CASES`] lists them all.
#![expect(clippy::missing_panics_doc, reason = "a case panics when the promise of its name is broken")]

pub mod conditions;
pub mod filters;
pub mod journals;
pub mod loads;
pub mod loads_of_runs;
pub mod lookups;
pub mod maintenance;
pub mod records;
pub mod runs;
pub mod scans;
pub mod searches;

use crate::Result;
use crate::backend::{ExactQuery, PutMode, RecordFilter, SearchQuery, Store};
use crate::record::{Record, TaskLink};
use crate::testing::fixtures;

/// Stores records whatever was there.
async fn put_all(store: &Store, records: impl IntoIterator<Item = Record>) -> Result<()> {
    for record in records {
        store.records.put(&record, PutMode::Upsert).await?;
    }
    Ok(())
}

/// The ids that a text finds, best first.
async fn found(store: &Store, text: &str) -> Result<Vec<String>> {
    found_by(store, text, RecordFilter::all_of(fixtures::tenant()), 20).await
}

/// The ids that a text finds among what a filter allows.
async fn found_by(store: &Store, text: &str, filter: RecordFilter, limit: usize) -> Result<Vec<String>> {
    let found = store.records.search(&SearchQuery { text: text.to_owned(), filter, limit }).await?;
    let falls = found.is_sorted_by(|one, next| one.score >= next.score);
    assert!(falls, "the best comes first");
    Ok(found.into_iter().map(|scored| scored.item.id.to_string()).collect())
}

/// The ids of an exact task, for the tenant of the fixtures.
async fn looked_up(store: &Store, link: &TaskLink) -> Result<Vec<String>> {
    let query =
        ExactQuery { tenant: fixtures::tenant(), keys: vec![link.key.clone()], canonical: link.canonical.clone() };
    Ok(ids(store.records.lookup(&query).await?))
}

fn ids(records: Vec<Record>) -> Vec<String> {
    records.into_iter().map(|record| record.id.to_string()).collect()
}
