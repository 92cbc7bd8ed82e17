//! `runs report`: what turned out about a run later.

use learnkit::record::RunId;
use serde_json::json;

use super::EXISTING;
use crate::args::ReportedOutcome;
use crate::failure::{Ending, Outcome};
use crate::{Context, memory};

pub(super) async fn run(outcome: ReportedOutcome, id: &RunId, context: &mut Context<'_>) -> Outcome {
    let memory = memory::open(context, None, EXISTING).await?;
    let (word, changes) = match outcome {
        ReportedOutcome::Success => ("success", memory.report_success(id).await?),
        ReportedOutcome::Failure => ("failure", memory.report_failure(id).await?),
    };
    let out = &mut context.out;
    if out.is_json() {
        out.json(&json!({ "run_id": id, "reported": word, "changes": changes }))?;
        return Ok(Ending::Good);
    }
    let count = super::counted(super::as_count(changes.len()), "record", "records");
    out.line(format_args!("reported {word} of {id}; {count} changed"))?;
    for change in &changes {
        out.line(format_args!("  {}  {}", change.id, crate::text::line(&change.change)))?;
    }
    Ok(Ending::Good)
}
