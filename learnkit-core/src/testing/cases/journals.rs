//! Journals of runs that have not finished.

use crate::backend::{Batch, JournalWrite, Journaled, Store, TakeFrom, TakeJournal, Taken};
use crate::record::{RunId, Tenant};
use crate::run::{Journal, JournalStep, Lease, StepState};
use crate::testing::fixtures;
use crate::{ErrorKind, Result};

fn step(number: u32) -> JournalStep {
    fixtures::journal_step(number, StepState::Begun)
}

fn lease(owner: &str, until: i64) -> Lease {
    Lease { owner: owner.to_owned(), until: fixtures::after(until) }
}

/// Begins the journal of a run with one step, held until a second.
async fn begin(store: &Store, id: &str, owner: &str, until: i64) -> Result<()> {
    let write = fixtures::journal_write(id, owner, until, vec![step(1)])?;
    assert_eq!(store.runs.write_journal(&write).await?, Journaled::Written);
    Ok(())
}

fn taking(id: &str, owner: &str, now: i64, from: TakeFrom) -> Result<TakeJournal> {
    let lease = lease(owner, now + 30);
    Ok(TakeJournal { tenant: fixtures::tenant(), run: RunId::new(id)?, lease, now: fixtures::after(now), from })
}

async fn read(store: &Store, id: &str) -> Result<Option<Journal>> {
    store.runs.get_journal(&fixtures::tenant(), &RunId::new(id)?).await
}

/// A journal reads back equal, big integers and the lease included.
pub async fn a_journal_reads_back_with_all_fields(store: Store) -> Result<()> {
    let steps = [StepState::Ended, StepState::SaidDone, StepState::SaidNotDone, StepState::Begun];
    let steps: Vec<JournalStep> =
        (1..).zip(steps).map(|(number, state)| fixtures::journal_step(number, state)).collect();
    let write = fixtures::journal_write("run_1", "own", 30, steps.clone())?;
    assert_eq!(store.runs.write_journal(&write).await?, Journaled::Written);
    let run = fixtures::open_run("run_1", "pay the bill")?;
    assert_eq!(read(&store, "run_1").await?, Some(Journal { run, lease: lease("own", 30), steps }));
    assert_eq!(read(&store, "run_2").await?, None);
    Ok(())
}

/// The outcome of a step takes the place of its intent; the header stays as it was begun.
pub async fn a_step_is_replaced_by_its_number_and_steps_keep_their_order(store: Store) -> Result<()> {
    begin(&store, "run_1", "own", 30).await?;
    let steps = vec![step(3), step(2), fixtures::journal_step(1, StepState::Ended)];
    let write = JournalWrite { begin: None, ..fixtures::journal_write("run_1", "own", 60, steps)? };
    assert_eq!(store.runs.write_journal(&write).await?, Journaled::Written);
    let journal = read(&store, "run_1").await?.into_iter().next();
    let states = journal.iter().flat_map(|journal| journal.steps.iter().map(|step| (step.number, step.state)));
    let expected = [(1, StepState::Ended), (2, StepState::Begun), (3, StepState::Begun)];
    assert_eq!(states.collect::<Vec<_>>(), expected);
    assert_eq!(journal.map(|journal| journal.lease), Some(lease("own", 60)), "each write renews the lease");
    Ok(())
}

/// A session that lost its run writes nothing any more, also after the lease of the other one.
pub async fn only_who_holds_a_run_writes_its_journal(store: Store) -> Result<()> {
    begin(&store, "run_1", "own", 30).await?;
    let other = fixtures::journal_write("run_1", "other", 90, vec![step(2)])?;
    assert_eq!(store.runs.write_journal(&other).await?, Journaled::Held(lease("own", 30)));
    let journal = read(&store, "run_1").await?;
    assert_eq!(journal.map(|journal| (journal.lease, journal.steps.len())), Some((lease("own", 30), 1)));
    Ok(())
}

/// A lease is respected while it holds, and gives way afterwards, to its owner, and to who knows better.
pub async fn a_run_is_taken_when_its_lease_has_run_out_or_by_force(store: Store) -> Result<()> {
    begin(&store, "run_1", "own", 30).await?;
    let take = taking("run_1", "other", 29, TakeFrom::Nobody)?;
    assert_eq!(store.runs.take_journal(&take).await?, Taken::Held(lease("own", 30)));
    let late = taking("run_1", "other", 30, TakeFrom::Nobody)?;
    let taken = store.runs.take_journal(&late).await?;
    let stored = read(&store, "run_1").await?;
    assert_eq!(
        stored.as_ref().map(|journal| (journal.lease.clone(), journal.steps.len())),
        Some((lease("other", 60), 1))
    );
    assert_eq!(Some(taken), stored.map(|journal| Taken::Journal(Box::new(journal))));
    let again = taking("run_1", "other", 31, TakeFrom::Nobody)?;
    assert!(matches!(store.runs.take_journal(&again).await?, Taken::Journal(_)), "from itself");
    let force = taking("run_1", "third", 32, TakeFrom::Anybody)?;
    assert!(matches!(store.runs.take_journal(&force).await?, Taken::Journal(_)), "by force");
    let lost = fixtures::journal_write("run_1", "other", 90, vec![step(2)])?;
    assert_eq!(store.runs.write_journal(&lost).await?, Journaled::Held(lease("third", 62)));
    assert_eq!(store.runs.take_journal(&taking("run_2", "own", 0, TakeFrom::Anybody)?).await?, Taken::Missing);
    Ok(())
}

/// Compare and swap: of sixteen sessions that want one run, one gets it.
pub async fn f30_of_many_that_take_a_run_at_once_one_gets_it(store: Store) -> Result<()> {
    begin(&store, "run_1", "own", 30).await?;
    let takers = (0..16).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let take = taking("run_1", &format!("taker {number}"), 40, TakeFrom::Nobody)?;
            store.runs.take_journal(&take).await
        })
    });
    let mut got = 0;
    for taker in takers.collect::<Vec<_>>() {
        let taken = taker.await;
        assert!(matches!(taken, Ok(Ok(_))), "{taken:?}");
        got += u32::from(matches!(taken, Ok(Ok(Taken::Journal(_)))));
    }
    assert_eq!(got, 1);
    Ok(())
}

/// Storing a run removes its journal in the same step, by each way in which a run is stored.
pub async fn a_stored_run_closes_its_journal_and_is_never_begun_again(store: Store) -> Result<()> {
    for (id, by_commit) in [("run_1", true), ("run_2", false)] {
        begin(&store, id, "own", 30).await?;
        let run = fixtures::run(id, "pay the bill")?;
        if by_commit {
            store.commit(Batch { puts: Vec::new(), run: Some(run) }).await?;
        } else {
            assert!(store.runs.finish_run(&run).await?);
        }
        assert_eq!(read(&store, id).await?, None);
        let write = fixtures::journal_write(id, "own", 30, vec![step(2)])?;
        assert_eq!(store.runs.write_journal(&write).await?, Journaled::Finished);
        let take = taking(id, "other", 90, TakeFrom::Anybody)?;
        assert_eq!(store.runs.take_journal(&take).await?, Taken::Finished);
    }
    begin(&store, "run_3", "own", 30).await?;
    let conflict = fixtures::fact("fct_1", "taken")?;
    store.records.put(&conflict, crate::backend::PutMode::Upsert).await?;
    let puts = vec![crate::backend::Put { record: conflict, mode: crate::backend::PutMode::Create }];
    let batch = Batch { puts, run: Some(fixtures::run("run_3", "pay the bill")?) };
    assert_eq!(store.commit(batch).await.map_err(|error| error.kind()), Err(ErrorKind::Conflict));
    assert!(read(&store, "run_3").await?.is_some(), "a run that was not stored stays open");
    Ok(())
}

/// Whoever still writes to a deleted journal is told that it is gone.
pub async fn a_journal_that_was_deleted_is_missing(store: Store) -> Result<()> {
    begin(&store, "run_1", "own", 30).await?;
    let id = RunId::new("run_1")?;
    assert!(store.runs.delete_journal(&fixtures::tenant(), &id).await?);
    assert!(!store.runs.delete_journal(&fixtures::tenant(), &id).await?);
    assert_eq!(read(&store, "run_1").await?, None);
    let write = JournalWrite { begin: None, ..fixtures::journal_write("run_1", "own", 30, vec![step(2)])? };
    assert_eq!(store.runs.write_journal(&write).await?, Journaled::Missing);
    begin(&store, "run_1", "own", 30).await?;
    let journal = read(&store, "run_1").await?;
    assert_eq!(journal.map(|journal| journal.steps.len()), Some(1), "no old step comes back");
    Ok(())
}

/// Pages neither repeat nor skip.
pub async fn journals_are_listed_by_id_in_pages(store: Store) -> Result<()> {
    for id in ["run_b", "run_c", "run_a"] {
        begin(&store, id, "own", 30).await?;
    }
    for limit in 1..5 {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let page = store.runs.list_journals(&fixtures::tenant(), after.as_ref(), limit).await?;
            assert!(page.items.len() <= limit && page.skipped.is_empty() && ids.len() < 9);
            ids.extend(page.items.iter().map(|journal| journal.run.id.to_string()));
            let Some(next) = page.next else { break };
            after = Some(RunId::new(next)?);
        }
        assert_eq!(ids, ["run_a", "run_b", "run_c"], "{limit}");
    }
    Ok(())
}

/// One id in two tenants is two runs.
pub async fn f70_journals_never_meet_another_tenant(store: Store) -> Result<()> {
    begin(&store, "run_1", "own", 30).await?;
    let tenant = Tenant::new("team-a/b")?;
    let own = RunId::new("run_1")?;
    assert_eq!(store.runs.get_journal(&tenant, &own).await?, None);
    assert!(!store.runs.delete_journal(&tenant, &own).await?);
    let take = TakeJournal { tenant: tenant.clone(), ..taking("run_1", "other", 90, TakeFrom::Anybody)? };
    assert_eq!(store.runs.take_journal(&take).await?, Taken::Missing);
    let write = fixtures::journal_write("run_1", "other", 60, vec![step(1), step(2)])?;
    assert_eq!(store.runs.write_journal(&JournalWrite { tenant: tenant.clone(), ..write }).await?, Journaled::Written);
    assert_eq!(store.runs.list_journals(&fixtures::tenant(), None, 9).await?.items.len(), 1);
    assert_eq!(read(&store, "run_1").await?.map(|journal| journal.steps.len()), Some(1));
    assert!(store.runs.delete_journal(&tenant, &own).await?);
    assert!(read(&store, "run_1").await?.is_some());
    Ok(())
}
