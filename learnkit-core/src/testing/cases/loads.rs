//! Loading many records at once.

use super::{found, ids, looked_up, put_all};
use crate::backend::{LoadItems, Loaded, OnExisting, RecordFilter, ScanRequest, Store};
use crate::record::{Record, Revision, Tenant};
use crate::testing::fixtures;
use crate::{Error, ErrorKind, Result};

fn items(records: impl IntoIterator<Item = Record>) -> LoadItems {
    let items: Vec<_> = records.into_iter().map(|record| Ok(record.into())).collect();
    Box::new(items.into_iter())
}

async fn all(store: &Store, tenant: Tenant) -> Result<Vec<Record>> {
    let request = ScanRequest { filter: RecordFilter::all_of(tenant), after: None, limit: 999 };
    Ok(store.records.scan(&request).await?.items)
}

/// An error at the beginning, between records or after the last one undoes the whole load.
pub async fn d6_a_load_that_fails_anywhere_stores_nothing(store: Store) -> Result<()> {
    put_all(&store, [fixtures::fact("fct_known", "was here")?]).await?;
    let before = all(&store, fixtures::tenant()).await?;
    for place in 0..=3 {
        let new = (0..3).map(|number| fixtures::fact(&format!("fct_{number}"), "new"));
        let new = new.chain([fixtures::fact("fct_known", "changed")]).collect::<Result<Vec<_>>>()?;
        let mut load: Vec<_> = new.into_iter().map(|record| Ok(record.into())).collect();
        load.insert(place, Err(Error::invalid("line 4 is broken")));
        let outcome = store.records.load(Box::new(load.into_iter()), OnExisting::Replace).await;
        assert_eq!(outcome.map_err(|error| error.kind()), Err(ErrorKind::InvalidInput), "{place}");
        assert_eq!(all(&store, fixtures::tenant()).await?, before, "{place}");
    }
    if store.records.capabilities().full_text {
        assert_eq!(found(&store, "new changed").await?, [""; 0]);
    }
    Ok(())
}

/// New, equal and different ids are told apart; a different one is kept or replaced as asked.
pub async fn a_load_counts_what_is_new_equal_and_different(store: Store) -> Result<()> {
    let equal = fixtures::fact("fct_equal", "as it was")?;
    put_all(&store, [equal.clone(), equal.clone(), fixtures::fact("fct_other", "as it was")?]).await?;
    let other = fixtures::fact("fct_other", "changed")?;
    // The revision is the store's own affair and makes no difference.
    let copy = Record { revision: Revision(77), ..equal.clone() };
    let load = [fixtures::fact("fct_new", "new")?, copy, other.clone()];

    let loaded = store.records.load(items(load.clone()), OnExisting::Keep).await?;
    let Loaded { records, runs } = &loaded;
    assert_eq!((records.added, records.replaced, records.unchanged, records.total()), (1, 0, 1, 3));
    assert_eq!((records.kept.as_slice(), runs.total()), (&["fct_other".to_owned()][..], 0));
    let read = store.records.get(&other.tenant, &other.id).await?;
    assert_eq!(read.map(|read| (read.headline(), read.revision)), Some(("as it was".to_owned(), Revision(1))));

    let loaded = store.records.load(items(load), OnExisting::Replace).await?.records;
    assert_eq!((loaded.added, loaded.replaced, loaded.unchanged, loaded.kept.len()), (0, 1, 2, 0));
    let read = store.records.get(&other.tenant, &other.id).await?;
    assert_eq!(read.map(|read| (read.headline(), read.revision)), Some(("changed".to_owned(), Revision(2))));
    let read = store.records.get(&equal.tenant, &equal.id).await?;
    assert_eq!(read.map(|read| read.revision), Some(Revision(2)), "an equal record is not written");
    Ok(())
}

/// A load gives records every door that a put gives them, in every field, and takes old doors away.
pub async fn a_loaded_record_is_found_at_every_door(store: Store) -> Result<()> {
    let records = fixtures::one_of_each_kind()?;
    let loaded = store.records.load(items(records.clone()), OnExisting::Keep).await?;
    assert_eq!(loaded.records.added, 7);
    for record in records {
        let stored = Record { revision: Revision(1), ..record.clone() };
        assert_eq!(store.records.get(&record.tenant, &record.id).await?, Some(stored));
        if let Some(task) = &record.task {
            assert_eq!(looked_up(&store, task).await?, [record.id.to_string()]);
        }
    }
    let moved = fixtures::skill("rec_skill", "water the plants", "water", "{}")?;
    store.records.load(items([moved]), OnExisting::Replace).await?;
    assert_eq!(looked_up(&store, &fixtures::link("task of skill")).await?, [""; 0]);
    assert_eq!(looked_up(&store, &fixtures::link("water the plants")).await?, ["rec_skill"]);
    if store.records.capabilities().full_text {
        assert_eq!(found(&store, "plants").await?, ["rec_skill"]);
        assert_eq!(found(&store, "floors").await?, ["rec_fact"]);
    }
    Ok(())
}

/// One id in two tenants is two records, whatever the policy.
pub async fn f70_a_load_never_meets_another_tenant(store: Store) -> Result<()> {
    let own = fixtures::fact("fct_1", "own")?;
    put_all(&store, [own.clone()]).await?;
    let other = Record { tenant: Tenant::new("team-a/b")?, ..fixtures::fact("fct_1", "other")? };
    for existing in [OnExisting::Replace, OnExisting::Keep] {
        store.records.load(items([other.clone()]), existing).await?;
        let read = store.records.get(&own.tenant, &own.id).await?;
        assert_eq!(read.map(|read| (read.headline(), read.revision)), Some(("own".to_owned(), Revision(1))));
        assert_eq!(ids(all(&store, other.tenant.clone()).await?), ["fct_1"]);
    }
    Ok(())
}

/// An id that comes twice is treated the second time as if it had been stored before.
pub async fn of_equal_ids_in_one_load_the_later_meets_the_earlier(store: Store) -> Result<()> {
    let (first, second) = (fixtures::fact("fct_1", "first")?, fixtures::fact("fct_1", "second")?);
    let load = [first.clone(), first.clone(), second.clone()];
    let loaded = store.records.load(items(load), OnExisting::Keep).await?.records;
    assert_eq!((loaded.added, loaded.unchanged, loaded.kept.len()), (1, 1, 1));
    let third = fixtures::fact("fct_3", "third")?;
    let load = [third.clone(), Record { confidence: crate::record::Confidence::CEILING, ..third.clone() }];
    let loaded = store.records.load(items(load), OnExisting::Replace).await?.records;
    assert_eq!((loaded.added, loaded.replaced), (1, 1));
    let read = store.records.get(&third.tenant, &third.id).await?;
    assert_eq!(read.map(|read| read.confidence), Some(crate::record::Confidence::CEILING));
    Ok(())
}
