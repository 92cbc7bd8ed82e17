//! Deleting by id, of records and of runs: what is there goes, and what is not is named.

use std::fmt::Display;

use learnkit::backend::ScanRequest;
use learnkit::engine::Forgotten;
use learnkit::record::{Content, Kind, RecordId, RunId};
use learnkit::{Error, ErrorKind, LearnKit};
use serde::Serialize;
use serde_json::json;

use super::{as_count, counted};
use crate::failure::{Ending, Outcome};
use crate::output::{Output, with_error};

/// Traces are looked through in pages of this size.
const PAGE: usize = 500;

/// Deletes each id and says what went with it.
pub(super) async fn each<Id: Display + Serialize>(
    ids: &[Id],
    out: &mut Output<'_>,
    forget: impl AsyncFn(&Id) -> Result<Forgotten, Error>,
) -> Outcome {
    let mut deleted = Vec::new();
    let mut failed: Option<Error> = None;
    for id in ids {
        match forget(id).await {
            Ok(forgotten) => {
                let (records, runs) = (as_count(forgotten.records), as_count(forgotten.runs));
                if !out.is_json() {
                    let (records, runs) = (counted(records, "record", "records"), counted(runs, "run", "runs"));
                    out.line(format_args!("deleted {id}: {records}, {runs}"))?;
                }
                deleted.push(json!({ "id": id, "records": records, "runs": runs }));
            }
            Err(error) => {
                out.error(&error.chain());
                failed.get_or_insert(error);
            }
        }
    }
    if out.is_json() {
        let mut result = json!({ "deleted": deleted });
        if let Some(error) = &failed {
            with_error(&mut result, error);
        }
        out.json(&result)?;
    }
    Ok(if failed.is_some() { Ending::Bad } else { Ending::Good })
}

/// Deletes a run with its trace, whether or not the run can be read.
pub(super) async fn run_with_trace(memory: &LearnKit, id: &RunId) -> Result<Forgotten, Error> {
    // A trace takes its run along.
    let mut forgotten = match trace_of(memory, id).await? {
        Some(trace) => memory.forget(&trace).await?,
        None => Forgotten::default(),
    };
    forgotten.runs += usize::from(memory.store().runs.delete_run(memory.tenant(), id).await?);
    if forgotten == Forgotten::default() {
        let message = format!("no run `{id}` in this tenant; list them with `learnkit runs list`");
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    Ok(forgotten)
}

async fn trace_of(memory: &LearnKit, id: &RunId) -> Result<Option<RecordId>, Error> {
    let mut filter = memory.every_record();
    filter.kinds = vec![Kind::Trace];
    let mut after = None;
    loop {
        let page = memory.scan(&ScanRequest { filter: filter.clone(), after, limit: PAGE }).await?;
        let is_its = |content: &Content| matches!(content, Content::Trace(trace) if trace.run == *id);
        if let Some(trace) = page.items.into_iter().find(|record| is_its(&record.content)) {
            return Ok(Some(trace.id));
        }
        let Some(next) = page.next else { return Ok(None) };
        after = Some(RecordId::new(next)?);
    }
}
