//! `maintain`: the passing of time.

use learnkit::lifecycle::MaintenancePlan;

use super::{EXISTING, note_skipped};
use crate::args::MaintainArgs;
use crate::failure::{Ending, Failure, Outcome};
use crate::{Context, memory};

pub(super) async fn run(args: &MaintainArgs, context: &mut Context<'_>) -> Outcome {
    let MaintainArgs { weeks, decay_rate, quarantine_hours } = *args;
    // Wrong numbers are told before the store is looked for.
    MaintenancePlan::new(weeks, decay_rate, quarantine_hours).map_err(|error| Failure::usage(&error))?;
    let memory = memory::open(context, None, EXISTING).await?;
    let report = memory.maintain_memory(weeks, decay_rate, quarantine_hours).await?;
    let out = &mut context.out;
    note_skipped(&report.skipped, out);
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.line(format_args!("{} decayed, {} stale, {} promoted", report.decayed, report.stale, report.promoted))?;
    }
    Ok(Ending::Good)
}
