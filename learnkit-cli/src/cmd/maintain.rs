//! `maintain`: the passing of time.

use learnkit::config::Config;
use learnkit::engine::MaintenanceReport;

use super::{EXISTING, note_skipped};
use crate::args::MaintainArgs;
use crate::failure::{Ending, Failure, Outcome};
use crate::{Context, memory};

pub(super) async fn run(args: &MaintainArgs, context: &mut Context<'_>) -> Outcome {
    let mut flags = Config::default();
    flags.maintain.weeks = args.weeks;
    flags.maintain.decay_rate = args.decay_rate;
    flags.maintain.quarantine_hours = args.quarantine_hours;
    // Wrong numbers are told before the store is looked for.
    flags.maintenance().map_err(|error| Failure::usage(&error))?;
    let mut layers = memory::layers(context, None)?;
    layers.put_flags(&flags);
    let plan = layers.values().maintenance()?;
    let memory = memory::open(context, None, EXISTING).await?;
    let report = memory.maintain_memory(plan.weeks(), plan.decay_rate(), plan.quarantine_hours()).await?;
    let out = &mut context.out;
    note_skipped(&report.skipped, out);
    if out.is_json() {
        out.json(&report)?;
    } else {
        let MaintenanceReport { decayed, stale, promoted, merged, superseded, .. } = &report;
        out.line(format_args!(
            "{decayed} decayed, {stale} stale, {promoted} promoted, {merged} merged, {superseded} superseded"
        ))?;
    }
    Ok(Ending::Good)
}
