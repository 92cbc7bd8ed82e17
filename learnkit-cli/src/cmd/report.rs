//! `report`: what turned out about a run later.

use serde_json::json;

use super::EXISTING;
use crate::args::{ReportArgs, ReportedOutcome};
use crate::failure::{Ending, Outcome};
use crate::{Context, memory};

pub(super) async fn run(args: &ReportArgs, context: &mut Context<'_>) -> Outcome {
    let memory = memory::open(context, None, EXISTING).await?;
    let (word, changes) = match args.outcome {
        ReportedOutcome::Success => ("success", memory.report_success(&args.run).await?),
        ReportedOutcome::Failure => ("failure", memory.report_failure(&args.run).await?),
    };
    let out = &mut context.out;
    if out.is_json() {
        out.json(&json!({ "run_id": args.run, "reported": word, "changes": changes }))?;
        return Ok(Ending::Good);
    }
    let count = super::counted(super::as_count(changes.len()), "record", "records");
    out.line(format_args!("reported {word} of {}; {count} changed", args.run))?;
    for change in &changes {
        out.line(format_args!("  {}  {}", change.id, crate::text::line(&change.change)))?;
    }
    Ok(Ending::Good)
}
