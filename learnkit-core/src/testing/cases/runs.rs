//! Finished runs.

use super::put_all;
use crate::backend::{Batch, Committed, Put, PutMode, RunFilter, Store};
use crate::record::{AgentName, RunId, Tenant};
use crate::run::{StoredRun, Verdict};
use crate::testing::fixtures;
use crate::{ErrorKind, Result};

/// Follows the cursor to the end and returns the ids.
async fn listed(store: &Store, mut filter: RunFilter) -> Result<Vec<String>> {
    let mut ids: Vec<String> = Vec::new();
    loop {
        let page = store.runs.list_runs(&filter).await?;
        assert!(page.items.len() <= filter.limit, "the limit holds");
        assert_eq!(page.skipped, [], "every row can be read");
        ids.extend(page.items.iter().map(|run| run.id.to_string()));
        if page.next.is_none() {
            return Ok(ids);
        }
        assert!(ids.len() < 100, "the cursor moves");
        filter.after = page.next;
    }
}

fn newest(limit: usize) -> RunFilter {
    RunFilter::newest(fixtures::tenant(), limit)
}

/// A run reads back equal, big integers and cut results included.
pub async fn d21_a_run_reads_back_with_all_fields(store: Store) -> Result<()> {
    let run = fixtures::run("run_1", "удали заказ 5")?;
    assert!(store.runs.finish_run(&run).await?);
    assert_eq!(store.runs.get_run(&run.tenant, &run.id).await?, Some(run));
    assert_eq!(store.runs.get_run(&fixtures::tenant(), &RunId::new("run_2")?).await?, None);
    Ok(())
}

/// The second finish of an id changes nothing and says so.
pub async fn f23_a_run_is_stored_once(store: Store) -> Result<()> {
    let first = fixtures::run("run_1", "first")?;
    assert!(store.runs.finish_run(&first).await?);
    assert!(!store.runs.finish_run(&fixtures::run("run_1", "second")?).await?);
    assert_eq!(store.runs.get_run(&first.tenant, &first.id).await?, Some(first));
    Ok(())
}

/// A retried commit of a run that is stored changes no record.
pub async fn f23_a_second_commit_of_a_run_writes_nothing(store: Store) -> Result<()> {
    let batch = |text: &str| -> Result<Batch> {
        let puts = vec![Put { record: fixtures::fact("fct_1", text)?, mode: PutMode::Upsert }];
        Ok(Batch { puts, run: Some(fixtures::run("run_1", text)?) })
    };
    assert!(matches!(store.commit(batch("first")?).await?, Committed::Stored(revisions) if revisions.len() == 1));
    assert_eq!(store.commit(batch("second")?).await?, Committed::RunExists);
    let id = crate::record::RecordId::new("fct_1")?;
    let read = store.records.get(&fixtures::tenant(), &id).await?;
    assert_eq!(read.map(|read| (read.headline(), read.revision.0)), Some(("first".to_owned(), 1)));
    let run = store.runs.get_run(&fixtures::tenant(), &RunId::new("run_1")?).await?;
    assert_eq!(run.map(|run| run.text), Some("first".to_owned()));
    Ok(())
}

/// A conflict among the records leaves the run unstored, so that it can be retried.
pub async fn d6_a_batch_that_conflicts_stores_no_run(store: Store) -> Result<()> {
    let record = fixtures::fact("fct_1", "taken")?;
    put_all(&store, [record.clone()]).await?;
    let run = fixtures::run("run_1", "do it")?;
    let batch = Batch { puts: vec![Put { record, mode: PutMode::Create }], run: Some(run.clone()) };
    assert_eq!(store.commit(batch).await.map_err(|error| error.kind()), Err(ErrorKind::Conflict));
    assert_eq!(store.runs.get_run(&run.tenant, &run.id).await?, None);
    Ok(())
}

/// A later report is added to a stored run; an unknown run is not made by it.
pub async fn update_replaces_a_stored_run_only(store: Store) -> Result<()> {
    let mut run = fixtures::run("run_1", "do it")?;
    assert!(!store.runs.update_run(&run).await?);
    assert_eq!(store.runs.get_run(&run.tenant, &run.id).await?, None);
    store.runs.finish_run(&run).await?;
    run.reports.push(Verdict::Failure);
    run.finished = fixtures::after(9);
    assert!(store.runs.update_run(&run).await?);
    assert_eq!(store.runs.get_run(&run.tenant, &run.id).await?, Some(run));
    Ok(())
}

async fn finish_four(store: &Store) -> Result<()> {
    for (id, seconds) in [("run_b", 5), ("run_a", 5), ("run_old", 1), ("run_new", 9)] {
        let mut run = fixtures::run(id, &format!("task of {id}"))?;
        run.finished = fixtures::after(seconds);
        store.runs.finish_run(&run).await?;
    }
    Ok(())
}

/// Newest first by the time of finishing, then the greater id first; pages neither repeat nor skip.
pub async fn runs_are_listed_newest_first_in_pages(store: Store) -> Result<()> {
    assert_eq!(listed(&store, newest(3)).await?, [""; 0]);
    finish_four(&store).await?;
    for limit in [1, 2, 3, 4, 5] {
        assert_eq!(listed(&store, newest(limit)).await?, ["run_new", "run_b", "run_a", "run_old"], "{limit}");
    }
    let first = store.runs.list_runs(&newest(2)).await?;
    store.runs.delete_run(&fixtures::tenant(), &RunId::new("run_b")?).await?;
    let rest = RunFilter { after: first.next, ..newest(2) };
    assert_eq!(listed(&store, rest).await?, ["run_a", "run_old"], "the cursor outlives its run");
    Ok(())
}

/// Only the runs of one task, or of one agent.
pub async fn runs_are_filtered_by_task_and_agent(store: Store) -> Result<()> {
    finish_four(&store).await?;
    let agent = AgentName::new("sales_1")?;
    let sold = StoredRun { agent: agent.clone(), ..fixtures::run("run_sales", "sell")? };
    store.runs.finish_run(&sold).await?;
    let by_task = RunFilter { key: Some(fixtures::link("task of run_a").key), ..newest(1) };
    assert_eq!(listed(&store, by_task).await?, ["run_a"]);
    let by_agent = RunFilter { agent: Some(agent), ..newest(1) };
    assert_eq!(listed(&store, by_agent.clone()).await?, ["run_sales"]);
    let neither = RunFilter { key: Some(fixtures::link("task of run_a").key), ..by_agent };
    assert_eq!(listed(&store, neither).await?, [""; 0]);
    Ok(())
}

/// A cursor that no page gave is the caller's mistake.
pub async fn an_unknown_cursor_is_refused(store: Store) -> Result<()> {
    for cursor in ["", "nonsense", "' OR 1=1"] {
        let filter = RunFilter { after: Some(cursor.to_owned()), ..newest(3) };
        let outcome = store.runs.list_runs(&filter).await;
        assert_eq!(outcome.map_err(|error| error.kind()), Err(ErrorKind::InvalidInput), "{cursor}");
    }
    Ok(())
}

/// A deleted run is gone from every door, and its id is free.
pub async fn a_deleted_run_is_gone(store: Store) -> Result<()> {
    let run = fixtures::run("run_1", "do it")?;
    store.runs.finish_run(&run).await?;
    assert!(store.runs.delete_run(&run.tenant, &run.id).await?);
    assert!(!store.runs.delete_run(&run.tenant, &run.id).await?);
    assert_eq!(store.runs.get_run(&run.tenant, &run.id).await?, None);
    assert_eq!(listed(&store, newest(9)).await?, [""; 0]);
    assert!(store.runs.finish_run(&run).await?);
    Ok(())
}

/// One id in two tenants is two runs.
pub async fn f70_runs_never_meet_another_tenant(store: Store) -> Result<()> {
    let own = fixtures::run("run_1", "own")?;
    let other = StoredRun { tenant: Tenant::new("team-a/b")?, text: "other".to_owned(), ..own.clone() };
    assert!(store.runs.finish_run(&own).await?);
    assert!(store.runs.finish_run(&other).await?);
    assert_eq!(listed(&store, newest(9)).await?, ["run_1"]);
    assert!(store.runs.delete_run(&own.tenant, &own.id).await?);
    assert_eq!(store.runs.get_run(&other.tenant, &other.id).await?, Some(other));
    Ok(())
}

/// A run that finished at the time itself is not before it.
pub async fn runs_are_filtered_by_the_time_they_finished(store: Store) -> Result<()> {
    for (id, second) in [("run_a", 10), ("run_b", 20), ("run_c", 30)] {
        store.runs.finish_run(&StoredRun { finished: fixtures::after(second), ..fixtures::run(id, "do it")? }).await?;
    }
    for (second, expected) in [(31, 3), (30, 2), (11, 1), (10, 0)] {
        let filter = RunFilter { finished_before: Some(fixtures::after(second)), ..newest(9) };
        assert_eq!(store.runs.list_runs(&filter).await?.items.len(), expected, "before second {second}");
    }
    Ok(())
}

/// Many runs are deleted, and what is not there is not counted.
pub async fn many_runs_are_deleted_at_once(store: Store) -> Result<()> {
    for id in ["run_a", "run_b", "run_c"] {
        store.runs.finish_run(&fixtures::run(id, "do it")?).await?;
    }
    let ids = ["run_a", "run_c", "run_none"].map(RunId::new).into_iter().collect::<Result<Vec<_>>>()?;
    assert_eq!(store.runs.delete_runs(&crate::record::Tenant::new("other")?, &ids).await?, 0);
    assert_eq!(store.runs.delete_runs(&fixtures::tenant(), &ids).await?, 2);
    let left = store.runs.list_runs(&newest(9)).await?.items;
    assert_eq!(left.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["run_b"]);
    Ok(())
}
