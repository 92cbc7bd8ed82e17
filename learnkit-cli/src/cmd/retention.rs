//! `runs prune`, `records purge` and `vacuum`: what goes by age, and the space it leaves.

use std::time::Duration;

use learnkit::LearnKit;
use learnkit::backend::RecordFilter;
use learnkit::engine::{Forgotten, Pass, RunRetention};
use serde_json::json;

use super::{EXISTING, as_count, counted};
use crate::failure::{Ending, Outcome};
use crate::output::Output;
use crate::{Context, memory};

/// What `records purge` looks at.
pub(super) struct Tombstones {
    pub(super) filter: RecordFilter,
    pub(super) older_than: Duration,
    pub(super) pass: Pass,
}

/// Whether `--dry-run` was given.
pub(super) fn pass(dry_run: bool) -> Pass {
    if dry_run { Pass::DryRun } else { Pass::Real }
}

pub(super) async fn prune(retention: RunRetention, pass: Pass, context: &mut Context<'_>) -> Outcome {
    let memory = memory::open(context, None, EXISTING).await?;
    let Forgotten { records, runs } = memory.prune_runs(&retention, pass).await?;
    let (records, runs) = (as_count(records), as_count(runs));
    let out = &mut context.out;
    if out.is_json() {
        out.json(&json!({ "runs": runs, "records": records, "dry_run": pass == Pass::DryRun }))?;
    } else {
        let (runs, traces) = (counted(runs, "run", "runs"), counted(records, "trace", "traces"));
        out.line(format_args!("{} {runs}, {traces}", verb(pass)))?;
    }
    Ok(Ending::Good)
}

pub(super) async fn purge(memory: &LearnKit, tombstones: &Tombstones, out: &mut Output<'_>) -> Outcome {
    let Tombstones { filter, older_than, pass } = tombstones;
    let records = as_count(memory.purge_records(filter, *older_than, *pass).await?);
    if out.is_json() {
        out.json(&json!({ "records": records, "dry_run": *pass == Pass::DryRun }))?;
    } else {
        out.line(format_args!("{} {}", verb(*pass), counted(records, "record", "records")))?;
    }
    Ok(Ending::Good)
}

fn verb(pass: Pass) -> &'static str {
    match pass {
        Pass::DryRun => "would delete",
        Pass::Real => "deleted",
    }
}

pub(super) async fn vacuum(context: &mut Context<'_>) -> Outcome {
    let memory = memory::open(context, None, EXISTING).await?;
    let done = memory.vacuum().await?;
    let out = &mut context.out;
    if out.is_json() {
        out.json(&done)?;
        return Ok(Ending::Good);
    }
    let reindexed = counted(done.reindexed, "record", "records");
    out.line(format_args!(
        "{} bytes before, {} bytes after; {reindexed} reindexed",
        done.bytes_before, done.bytes_after
    ))?;
    Ok(Ending::Good)
}
