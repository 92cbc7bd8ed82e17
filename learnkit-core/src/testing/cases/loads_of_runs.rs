//! Loading records and runs together.

use crate::backend::{OnExisting, RunFilter, Store};
use crate::run::{StoredRun, Verdict};
use crate::testing::fixtures;
use crate::{Error, ErrorKind, Result};

/// A broken item after records and runs leaves neither.
pub async fn d6_a_load_of_records_and_runs_is_all_or_nothing(store: Store) -> Result<()> {
    let (record, run) = (fixtures::fact("fct_1", "new")?, fixtures::run("run_1", "do it")?);
    let whole = || [Ok(record.clone().into()), Ok(run.clone().into())].into_iter();
    let broken = whole().chain([Err(Error::invalid("line 4 is broken"))]);
    let outcome = store.records.load(Box::new(broken), OnExisting::Keep).await;
    assert_eq!(outcome.map_err(|error| error.kind()), Err(ErrorKind::InvalidInput));
    assert_eq!(store.records.get(&record.tenant, &record.id).await?, None);
    assert_eq!(store.runs.get_run(&run.tenant, &run.id).await?, None);
    let loaded = store.records.load(Box::new(whole()), OnExisting::Keep).await?;
    assert_eq!((loaded.records.added, loaded.runs.added), (1, 1));
    assert!(store.records.get(&record.tenant, &record.id).await?.is_some());
    assert_eq!(store.runs.get_run(&run.tenant, &run.id).await?, Some(run));
    Ok(())
}

/// An equal run is unchanged, another content under its id is kept or replaced, of one tenant only.
pub async fn a_loaded_run_is_kept_or_replaced(store: Store) -> Result<()> {
    let run = fixtures::run("run_1", "do it")?;
    let other = StoredRun { tenant: crate::record::Tenant::new("team-a/b")?, ..run.clone() };
    store.runs.finish_run(&run).await?;
    store.runs.finish_run(&other).await?;
    let mut reported = run.clone();
    reported.reports.push(Verdict::Failure);
    reported.finished = fixtures::after(9);
    let load = |run: &StoredRun| Box::new([Ok(run.clone().into())].into_iter());
    let same = store.records.load(load(&run), OnExisting::Replace).await?.runs;
    assert_eq!((same.unchanged, same.total()), (1, 1));
    let kept = store.records.load(load(&reported), OnExisting::Keep).await?.runs;
    assert_eq!(kept.kept, ["run_1"]);
    assert_eq!(store.runs.get_run(&run.tenant, &run.id).await?, Some(run.clone()));
    let replaced = store.records.load(load(&reported), OnExisting::Replace).await?.runs;
    assert_eq!((replaced.replaced, replaced.total()), (1, 1));
    assert_eq!(store.runs.get_run(&run.tenant, &run.id).await?, Some(reported.clone()));
    let listed = store.runs.list_runs(&RunFilter::newest(run.tenant, 9)).await?;
    assert_eq!(listed.items, [reported]);
    assert_eq!(store.runs.get_run(&other.tenant, &other.id).await?, Some(other));
    Ok(())
}
