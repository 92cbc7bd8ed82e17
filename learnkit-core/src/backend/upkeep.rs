//! What keeps a store in shape: changes over what is stored now, many deletes at once, compaction, health.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Batch, Committed, MemoryBackend};
use crate::record::{Record, RecordId, Revision, Tenant};
use crate::{Error, ErrorKind, Result};

/// A store without transactions of its own reads and writes again at most so often.
const MAX_ATTEMPTS: usize = 64;

/// What is stored under the ids that were asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The records that are there, in the order of the ids.
    pub records: Vec<Record>,
    /// The ids whose rows cannot be read; nothing may be written over them unseen.
    pub unreadable: Vec<RecordId>,
}

/// Makes a batch of what is stored. It may be asked several times and has to start anew each time; every
/// put over a found record names its revision.
pub type MakeBatch = Arc<dyn Fn(&Found) -> Batch + Send + Sync>;

/// A batch that was made of what is stored, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The batch as it was stored.
    pub batch: Batch,
    /// What became of it.
    pub committed: Committed,
}

/// A record to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The record.
    pub id: RecordId,
    /// Only while it still has this revision; absent deletes it whatever it says.
    pub only: Option<Revision>,
}

/// What compacting did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vacuumed {
    /// The size before, in bytes, its log included.
    pub bytes_before: u64,
    /// The size after, in bytes, its log included.
    pub bytes_after: u64,
    /// Records whose entry in the text index was missing or out of date and was made anew.
    pub reindexed: u64,
}

/// How a store is doing, as far as it can tell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// Whether it can be written now; absent where the store cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable: Option<bool>,
    /// The version of its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<u64>,
    /// Its size in bytes, its log included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What else it says of itself, such as `journal_mode`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
    /// What is wrong with it, each with the way out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What is stored under ids, one by one.
pub(super) async fn find<B: MemoryBackend + ?Sized>(store: &B, tenant: &Tenant, ids: &[RecordId]) -> Result<Found> {
    let mut found = Found::default();
    for id in ids {
        match store.get(tenant, id).await {
            Ok(record) => found.records.extend(record),
            Err(error) if error.kind() == ErrorKind::Corrupt => found.unreadable.push(id.clone()),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// [`MemoryBackend::commit_over`] by compare and swap.
pub(super) async fn commit_over<B: MemoryBackend + ?Sized>(
    store: &B,
    tenant: &Tenant,
    ids: &[RecordId],
    make: &MakeBatch,
) -> Result<Made> {
    for _ in 0..MAX_ATTEMPTS {
        let batch = make(&find(store, tenant, ids).await?);
        match store.commit(&batch).await {
            Ok(committed) => return Ok(Made { batch, committed }),
            Err(error) if error.kind() == ErrorKind::Conflict => tokio::task::yield_now().await,
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(ErrorKind::Conflict, "the records kept changing while they were written; try again").retryable())
}

/// [`MemoryBackend::delete_many`] one by one.
pub(super) async fn delete_many<B: MemoryBackend + ?Sized>(
    store: &B,
    tenant: &Tenant,
    deletions: &[Deletion],
) -> Result<u64> {
    let mut deleted = 0;
    for Deletion { id, only } in deletions {
        if let Some(seen) = only {
            let unchanged = store.get(tenant, id).await?.is_some_and(|record| record.revision == *seen);
            if !unchanged {
                continue;
            }
        }
        deleted += u64::from(store.delete(tenant, id).await?);
    }
    Ok(deleted)
}
