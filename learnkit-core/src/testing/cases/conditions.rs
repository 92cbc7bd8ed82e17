//! Conditional puts, alone and in parallel.

use std::sync::Arc;

use crate::backend::{Batch, Committed, Deletion, MakeBatch, Put, PutMode, Store};
use crate::record::{Record, Revision};
use crate::testing::fixtures;
use crate::{Error, ErrorKind, Result};

fn kind(outcome: Result<Revision>) -> Result<Revision, ErrorKind> {
    outcome.map_err(|error| error.kind())
}

/// `Create` never replaces.
pub async fn create_refuses_an_id_that_exists(store: Store) -> Result<()> {
    let first = fixtures::fact("fct_1", "first")?;
    let second = fixtures::fact("fct_1", "second")?;
    store.records.put(&first, PutMode::Create).await?;
    assert_eq!(kind(store.records.put(&second, PutMode::Create).await), Err(ErrorKind::Conflict));
    let read = store.records.get(&first.tenant, &first.id).await?;
    assert_eq!(read.map(|read| (read.headline(), read.revision)), Some(("first".to_owned(), Revision(1))));
    Ok(())
}

/// `IfRevision` writes over that revision and over no other, nor where nothing is.
pub async fn if_revision_writes_only_over_that_revision(store: Store) -> Result<()> {
    let record = fixtures::fact("fct_1", "one")?;
    let absent = store.records.put(&record, PutMode::IfRevision(Revision(1))).await;
    assert_eq!(kind(absent), Err(ErrorKind::Conflict));
    store.records.put(&record, PutMode::Create).await?;
    assert_eq!(store.records.put(&record, PutMode::IfRevision(Revision(1))).await?, Revision(2));
    for stale in [0, 1, 3] {
        let outcome = store.records.put(&record, PutMode::IfRevision(Revision(stale))).await;
        assert_eq!(kind(outcome), Err(ErrorKind::Conflict), "revision {stale}");
    }
    Ok(())
}

/// One put that conflicts, wherever it stands, undoes the whole batch.
pub async fn d6_a_batch_with_one_conflict_writes_nothing(store: Store) -> Result<()> {
    let taken = fixtures::fact("fct_taken", "was here")?;
    store.records.put(&taken, PutMode::Create).await?;
    let put = |record: &Record, mode| Put { record: record.clone(), mode };
    let changed = fixtures::fact("fct_taken", "changed")?;
    let fresh = fixtures::fact("fct_new", "new")?;
    let last = fixtures::fact("fct_last", "last")?;
    let puts = vec![
        put(&fresh, PutMode::Create),
        put(&changed, PutMode::Upsert),
        put(&taken, PutMode::Create),
        put(&last, PutMode::Upsert),
    ];
    let outcome = store.records.commit(&Batch { puts, run: None }).await;
    assert_eq!(outcome.map_err(|error| error.kind()), Err(ErrorKind::Conflict));
    assert_eq!(store.records.get(&fresh.tenant, &fresh.id).await?, None);
    assert_eq!(store.records.get(&last.tenant, &last.id).await?, None);
    let read = store.records.get(&taken.tenant, &taken.id).await?;
    assert_eq!(read.map(|read| (read.headline(), read.revision)), Some(("was here".to_owned(), Revision(1))));
    Ok(())
}

const TASKS: u64 = 4;
const INCREMENTS: u64 = 50;

/// Read, add one, write if unchanged, from four tasks at once: the sum is exact.
pub async fn d2_d3_concurrent_increments_lose_nothing(store: Store) -> Result<()> {
    let record = fixtures::fact("fct_1", "counted")?;
    store.records.put(&record, PutMode::Create).await?;
    let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(increment(store.clone(), record.clone()))).collect();
    for task in tasks {
        task.await.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))??;
    }
    let read = store.records.get(&record.tenant, &record.id).await?;
    let counted = read.map(|read| (read.usage.reuse_count, read.revision));
    assert_eq!(counted, Some((TASKS * INCREMENTS, Revision(TASKS * INCREMENTS + 1))));
    Ok(())
}

async fn increment(store: Store, seen: Record) -> Result<()> {
    let mut done = 0;
    while done < INCREMENTS {
        let gone = || Error::new(ErrorKind::NotFound, "the counted record is gone");
        let mut record = store.records.get(&seen.tenant, &seen.id).await?.ok_or_else(gone)?;
        record.usage.reuse_count += 1;
        match store.records.put(&record, PutMode::IfRevision(record.revision)).await {
            Ok(_) => done += 1,
            Err(error) if error.kind() == ErrorKind::Conflict => tokio::task::yield_now().await,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A change that the store makes of the record as it is then needs no second try.
pub async fn d2_changes_over_what_is_stored_lose_nothing(store: Store) -> Result<()> {
    let record = fixtures::fact("fct_1", "counted")?;
    store.records.put(&record, PutMode::Create).await?;
    let count = |store: Store| async move {
        let make: MakeBatch = Arc::new(|found| Batch { puts: found.records.iter().map(one_more).collect(), run: None });
        for _ in 0..INCREMENTS {
            store.commit_over(&fixtures::tenant(), &[crate::record::RecordId::new("fct_1")?], &make).await?;
        }
        Ok::<_, Error>(())
    };
    let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(count(store.clone()))).collect();
    for task in tasks {
        task.await.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))??;
    }
    let read = store.records.get(&record.tenant, &record.id).await?;
    assert_eq!(read.map(|read| read.usage.reuse_count), Some(TASKS * INCREMENTS));
    Ok(())
}

fn one_more(record: &Record) -> Put {
    let mut record = record.clone();
    record.usage.reuse_count += 1;
    Put { mode: PutMode::IfRevision(record.revision), record }
}

/// A change gets the records that are there, in the order it asked for them, and gives the batch back.
pub async fn a_change_sees_what_is_there_and_says_what_it_stored(store: Store) -> Result<()> {
    let first = fixtures::fact("fct_1", "one")?;
    let second = fixtures::fact("fct_2", "two")?;
    for record in [&first, &second] {
        store.records.put(record, PutMode::Create).await?;
    }
    let make: MakeBatch = Arc::new(|found| {
        assert_eq!(found.unreadable, []);
        Batch { puts: found.records.iter().map(one_more).collect(), run: None }
    });
    let ids = ["fct_2", "fct_none", "fct_1"].map(crate::record::RecordId::new);
    let ids = ids.into_iter().collect::<Result<Vec<_>>>()?;
    let done = store.commit_over(&fixtures::tenant(), &ids, &make).await?;
    let changed: Vec<_> = done.batch.puts.iter().map(|put| put.record.id.as_str()).collect();
    assert_eq!(changed, ["fct_2", "fct_1"]);
    assert_eq!(done.committed, Committed::Stored(vec![Revision(2), Revision(2)]));
    let elsewhere = store.commit_over(&crate::record::Tenant::new("other")?, &ids, &make).await?;
    assert_eq!(elsewhere.committed, Committed::Stored(Vec::new()), "another tenant's records are not there");
    Ok(())
}

/// Deleting many leaves one that changed since it was seen.
pub async fn f36_many_deletions_spare_what_changed_meanwhile(store: Store) -> Result<()> {
    for id in ["fct_1", "fct_2", "fct_3"] {
        store.records.put(&fixtures::fact(id, "deleted")?, PutMode::Create).await?;
    }
    store.records.put(&fixtures::fact("fct_2", "changed")?, PutMode::Upsert).await?;
    let deletion = |id: &str, only: Option<u64>| {
        crate::record::RecordId::new(id).map(|id| Deletion { id, only: only.map(Revision) })
    };
    let deletions = [
        deletion("fct_1", Some(1))?,
        deletion("fct_2", Some(1))?,
        deletion("fct_3", None)?,
        deletion("fct_none", None)?,
        deletion("fct_none", Some(0))?,
    ];
    assert_eq!(store.records.delete_many(&crate::record::Tenant::new("other")?, &deletions).await?, 0);
    assert_eq!(store.records.delete_many(&fixtures::tenant(), &deletions).await?, 2);
    let left = crate::record::RecordId::new("fct_2")?;
    assert!(store.records.get(&fixtures::tenant(), &left).await?.is_some());
    assert_eq!(store.records.delete_many(&fixtures::tenant(), &deletions).await?, 0);
    Ok(())
}

/// Of many tasks that create one id, exactly one succeeds and its record is the one kept.
pub async fn f30_parallel_creates_have_one_winner(store: Store) -> Result<()> {
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let record = fixtures::fact("fct_1", &format!("by {number}"))?;
                let outcome = store.records.put(&record, PutMode::Create).await;
                Ok::<_, Error>((record.headline(), outcome))
            })
        })
        .collect();
    let mut winners = Vec::new();
    for task in tasks {
        let (name, outcome) = task.await.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))??;
        match kind(outcome) {
            Ok(_) => winners.push(name),
            refused => assert_eq!(refused, Err(ErrorKind::Conflict)),
        }
    }
    let id = crate::record::RecordId::new("fct_1")?;
    let read = store.records.get(&fixtures::tenant(), &id).await?;
    assert_eq!(winners, read.map(|read| read.headline()).into_iter().collect::<Vec<_>>());
    Ok(())
}
