//! `report`: what memory saved and cost, and which records do good.

mod plot;

use std::io::Write as _;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use learnkit::engine::LedgerRequest;
use learnkit::ledger::{Arms, Effect, Interval, Ledger, RecordAccount, Saving};
use learnkit::{Error, ErrorKind, LearnKit};

use super::{EXISTING, counted, note_skipped};
use crate::args::ReportArgs;
use crate::failure::{Ending, Outcome};
use crate::output::Output;
use crate::target::Target;
use crate::{Context, memory, text};

pub(super) async fn run(args: &ReportArgs, context: &mut Context<'_>) -> Outcome {
    let memory = memory::open(context, None, EXISTING).await?;
    let since = args.since.map(|age| Timestamp::now().checked_sub(age.0).unwrap_or(Timestamp::MIN));
    let request = LedgerRequest { since, agent: args.agent.clone(), scope: args.scope.clone() };
    let out = &mut context.out;
    let ledger = read(&memory, &request, out).await?;
    note_skipped(&ledger.skipped, out);
    if let Some(path) = &args.plot {
        write_plot(&ledger, path, args.force)?;
    }
    if out.is_json() {
        out.json(&ledger)?;
    } else {
        show(&ledger, args, out)?;
    }
    Ok(Ending::Good)
}

/// Reads the runs with a count of them on a terminal.
async fn read(memory: &LearnKit, request: &LedgerRequest, out: &Output<'_>) -> Outcome<Ledger> {
    let target = if out.shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{spinner} {pos} runs read");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let progress = ProgressBar::with_draw_target(None, target).with_style(style);
    let ledger = memory.ledger(request, |read| progress.set_position(read)).await;
    progress.finish_and_clear();
    Ok(ledger?)
}

fn write_plot(ledger: &Ledger, path: &Path, replaces: bool) -> Outcome<()> {
    let mut target = Target::begin(path, replaces)?;
    target.write_all(plot::svg(ledger).as_bytes()).map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the picture cannot be written; check the disk it goes to")
            .with_source(error)
    })?;
    Ok(target.finish()?)
}

fn show(ledger: &Ledger, args: &ReportArgs, out: &mut Output<'_>) -> Outcome<()> {
    if ledger.runs.total == 0 {
        out.line("no runs")?;
        return Ok(());
    }
    out.pairs(&head(ledger))?;
    if !ledger.records.is_empty() {
        out.heading("records")?;
        let header = ["ID", "USES", "HELP", "HARM", "HELP RATE", "BASE RATE", "CALLS SAVED", "EFFECT", "CLASS", "TASK"];
        out.table(header, ledger.records.iter().take(args.limit).map(row).collect())?;
    }
    match &ledger.arms {
        Some(arms) => show_arms(arms, out)?,
        None if !ledger.records.is_empty() => {
            out.note("no run was held out, so nothing says what a record is good for; see the setting holdout_rate");
        }
        None => {}
    }
    if let Some(path) = &args.plot {
        out.line(format_args!("\npicture: {}", text::line(&path.display().to_string())))?;
    }
    let more = ledger.records.len().saturating_sub(args.limit);
    if more > 0 {
        out.note(format_args!("{more} more records; show them with --limit {}", ledger.records.len()));
    }
    Ok(())
}

fn head(ledger: &Ledger) -> Vec<(&'static str, String)> {
    let runs = ledger.runs;
    let mut head = vec![(
        "runs",
        format!(
            "{}: {} replayed, {} stopped on the way, {} guided, {} cold, {} held out",
            runs.total, runs.replayed, runs.stopped, runs.guided, runs.cold, runs.held_out
        ),
    )];
    head.extend(ledger.period.map(|[first, last]| ("finished", format!("{first} to {last}"))));
    head.push(("planner calls", saved(&ledger.planner_calls)));
    head.push(("tokens", saved(&ledger.tokens)));
    let failed = ledger.failed_replays;
    head.push((
        "failed replays",
        format!(
            "{} stopped, {} of them by a fault of the procedure; {} to the end without solving the task; {} and {} ms \
             in vain",
            failed.stopped,
            failed.at_fault,
            failed.unsolved,
            counted(failed.tool_calls, "tool call", "tool calls"),
            failed.milliseconds
        ),
    ));
    head.push(("synthesis calls", ledger.synthesis_calls.to_string()));
    head.push(("playbooks", format!("about {} tokens", ledger.playbook_tokens)));
    head
}

/// A saving in words; what is not known is said.
fn saved(saving: &Saving) -> String {
    let unknown = if saving.unknown == 0 { String::new() } else { format!(", not known of {}", saving.unknown) };
    match saving.saved {
        Some(saved) => format!("{saved:.1} saved by {}{unknown}", counted(saving.known, "run", "runs")),
        None if saving.unknown == 0 => "memory had no part in any run".to_owned(),
        None => format!("not known of {}", counted(saving.unknown, "run", "runs")),
    }
}

fn row(record: &RecordAccount) -> [String; 10] {
    [
        record.id.to_string(),
        record.uses().to_string(),
        record.help.to_string(),
        record.harm.to_string(),
        percent(record.help_rate),
        percent(record.base_rate),
        record.planner_calls.saved.map_or_else(|| "-".to_owned(), |saved| format!("{saved:.1}")),
        points(&record.effect),
        record.effect.class.to_string(),
        text::short(&record.task),
    ]
}

/// `80 % (62–92)`.
fn percent(rate: Option<Interval>) -> String {
    let shown = |rate: Interval| {
        let [estimate, low, high] = [rate.estimate, rate.low, rate.high].map(|share| 100.0 * share);
        format!("{estimate:.0} % ({low:.0} to {high:.0})")
    };
    rate.map_or_else(|| "-".to_owned(), shown)
}

fn points(effect: &Effect) -> String {
    let shown = |points: Interval| format!("{:+.1} ({:+.1} to {:+.1})", points.estimate, points.low, points.high);
    effect.points.map_or_else(|| "-".to_owned(), shown)
}

fn show_arms(arms: &Arms, out: &mut Output<'_>) -> Outcome<()> {
    out.heading("arms")?;
    let row = |name: &str, arm: &learnkit::ledger::ArmAccount| {
        let calls = arm.planner_calls.map_or_else(|| "-".to_owned(), |calls| format!("{calls:.2}"));
        [name.to_owned(), arm.runs.to_string(), arm.solved.to_string(), percent(arm.success), calls]
    };
    let rows = vec![row("memory", &arms.memory), row("hold-out", &arms.hold_out)];
    out.table(["ARM", "RUNS", "SOLVED", "SUCCESS", "CALLS PER RUN"], rows)?;
    if let Some(success) = arms.success {
        let [estimate, low, high] = [success.estimate, success.low, success.high].map(|share| 100.0 * share);
        out.line(format_args!("success with memory: {estimate:+.1} % ({low:+.1} to {high:+.1})"))?;
    }
    out.line(format_args!("memory is {}: {}", arms.effect.class, arms.effect.reason))?;
    Ok(())
}
