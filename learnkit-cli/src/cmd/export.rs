//! `export`: a tenant's memory as a file.

use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use learnkit::portable::{ExportSelection, Exported};
use learnkit::{Error, ErrorKind, LearnKit};
use serde_json::json;

use super::{EXISTING, counted, note_skipped};
use crate::args::ExportMemoryArgs;
use crate::failure::{Ending, Failure, Outcome};
use crate::output::{Output, with_error};
use crate::target::Target;
use crate::{Context, memory};

pub(super) async fn run(args: &ExportMemoryArgs, context: &mut Context<'_>) -> Outcome {
    let to_stdout = args.path.as_os_str() == "-";
    if to_stdout && context.out.is_json() {
        let message = "--json and the export would share the standard output; name a file, or leave --json out";
        return Err(Failure::Usage(message.to_owned()));
    }
    let memory = memory::open(context, None, EXISTING).await?;
    let selection = ExportSelection {
        scopes: args.scopes.clone(),
        agent: args.agent.clone(),
        kinds: args.kinds.clone(),
        without_runs: args.no_runs || !args.kinds.is_empty(),
    };
    let out = &mut context.out;
    if to_stdout {
        let exported = memory.export(out.writer(), &selection).await;
        if out.is_closed() {
            // Who hung up has seen enough.
            return Ok(Ending::Good);
        }
        return report(None, &exported?, out);
    }
    let exported = to_file(&memory, args, &selection, out).await?;
    report(Some(&args.path), &exported, out)
}

async fn to_file(
    memory: &LearnKit,
    args: &ExportMemoryArgs,
    selection: &ExportSelection,
    out: &Output<'_>,
) -> Outcome<Exported> {
    let mut target = Target::begin(&args.path, args.force)?;
    let progress = progress(out);
    let exported = memory.export(progress.wrap_write(&mut target), selection).await;
    progress.finish_and_clear();
    let exported = exported?;
    target.finish()?;
    Ok(exported)
}

/// Says what is in the export and what is not; whatever is not makes it a failure.
fn report(path: Option<&Path>, exported: &Exported, out: &mut Output<'_>) -> Outcome {
    let Exported { tenant, records, runs, skipped_records, skipped_runs } = exported;
    note_skipped(skipped_records, out);
    note_skipped(skipped_runs, out);
    let missing = skipped_records.len() + skipped_runs.len();
    let incomplete = (missing > 0).then(|| {
        let rows = counted(super::as_count(missing), "row", "rows");
        let message = format!("{rows} could not be read and did not come along; `learnkit doctor` says how to go on");
        Error::new(ErrorKind::Corrupt, message)
    });
    let (records_told, runs_told) = (counted(*records, "record", "records"), counted(*runs, "run", "runs"));
    let told = format!("exported {records_told} and {runs_told} of tenant `{tenant}`");
    match path {
        Some(path) if out.is_json() => {
            let mut result = json!({
                "path": path.display().to_string(), "tenant": tenant, "records": records, "runs": runs,
                "skipped": { "records": skipped_records, "runs": skipped_runs },
            });
            if let Some(error) = &incomplete {
                with_error(&mut result, error);
            }
            out.json(&result)?;
        }
        Some(path) => out.line(format_args!("{told} to {}", crate::text::line(&path.display().to_string())))?,
        None => out.note(told),
    }
    let Some(error) = incomplete else { return Ok(Ending::Good) };
    out.error(&error.chain());
    Ok(Ending::Bad)
}

/// Progress by bytes written; drawn only on a terminal.
fn progress(out: &Output<'_>) -> ProgressBar {
    let target = if out.shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{spinner} {bytes} exported");
    ProgressBar::with_draw_target(None, target).with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}
