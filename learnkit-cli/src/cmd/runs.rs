//! `runs`: finished runs, every decision of one, and what turned out later.

use std::fmt::Write as _;

use learnkit::backend::RunFilter;
use learnkit::engine::RunRetention;
use learnkit::record::AgentName;
use learnkit::run::{Arm, CallStatus, Gate, Offer, ReplayNote, StoredCall, StoredRun};
use serde_json::{Value, json};

use super::{CANDIDATE_HEADER, EXISTING, candidate_rows, forget, note_skipped, recover, report, retention};
use crate::args::{RunsArgs, RunsCommand};
use crate::failure::{Ending, Outcome};
use crate::output::Output;
use crate::{Context, memory, text};

/// Longer results are cut here; `--json` shows all that is stored.
const RESULT_CHARS: usize = 200;

pub(super) async fn run(args: &RunsArgs, context: &mut Context<'_>) -> Outcome {
    match &args.command {
        RunsCommand::List { limit, agent } => list(*limit, agent.clone(), context).await?,
        RunsCommand::Show { id } => {
            let run = memory::open(context, None, EXISTING).await?.run(id).await?;
            if context.out.is_json() { context.out.json(&run)? } else { show(&run, &mut context.out)? }
        }
        RunsCommand::Report { outcome, id } => return report::run(*outcome, id, context).await,
        RunsCommand::Recover(args) => return recover::run(args, context).await,
        RunsCommand::Delete { ids } => {
            let memory = memory::open(context, None, EXISTING).await?;
            return forget::each(ids, &mut context.out, async |id| memory.forget_run(id).await).await;
        }
        RunsCommand::Prune { older_than, keep, dry_run } => {
            let retention = RunRetention { older_than: older_than.0, keep_newest: *keep };
            return retention::prune(retention, retention::pass(*dry_run), context).await;
        }
    }
    Ok(Ending::Good)
}

async fn list(limit: usize, agent: Option<AgentName>, context: &mut Context<'_>) -> Outcome<()> {
    let memory = memory::open(context, None, EXISTING).await?;
    let filter = RunFilter { agent, ..RunFilter::newest(memory.tenant().clone(), limit) };
    let page = memory.runs(&filter).await?;
    let out = &mut context.out;
    note_skipped(&page.skipped, out);
    if out.is_json() {
        let runs: Vec<Value> = page.items.iter().map(summary).collect();
        out.json(&json!({ "runs": runs, "skipped": page.skipped, "more": page.next.is_some() }))?;
        return Ok(());
    }
    if page.items.is_empty() {
        out.line("no runs")?;
        return Ok(());
    }
    let row = |run: &StoredRun| {
        [
            run.id.to_string(),
            run.finished.strftime("%Y-%m-%d %H:%M").to_string(),
            run.agent.to_string(),
            run.mode.to_string(),
            score(&run.gate),
            run.calls.len().to_string(),
            text::short(&run.text),
        ]
    };
    out.table(["ID", "FINISHED", "AGENT", "MODE", "SCORE", "CALLS", "TASK"], page.items.iter().map(row).collect())?;
    if page.next.is_some() {
        out.note(format_args!("there are older runs; show more with --limit {}", limit.saturating_mul(2)));
    }
    Ok(())
}

/// A run in a list; `show` has all of it.
fn summary(run: &StoredRun) -> Value {
    json!({
        "id": run.id, "agent": run.agent, "scope": run.scope, "text": run.text, "mode": run.mode,
        "reason": run.reason, "replayed": run.replayed, "replay": run.replay, "planning_calls": run.planning_calls,
        "tool_calls": run.calls.iter().filter(|call| call.parent.is_none()).count(),
        "gate": run.gate, "reports": run.reports, "started": run.started, "finished": run.finished,
    })
}

fn score(gate: &Gate) -> String {
    gate.score.map_or_else(|| "-".to_owned(), |score| format!("{score:.1}"))
}

fn show(run: &StoredRun, out: &mut Output<'_>) -> Outcome<()> {
    out.pairs(&head(run))?;
    if let Some(answer) = &run.answer {
        out.heading(&format!("answer ({})", run.answer_source.map_or("unknown source", |source| source.as_str())))?;
        out.line(text::lines(answer))?;
    }
    out.heading("decisions")?;
    for decision in &run.decisions {
        let (after, what) = (decision.after_calls, &decision.decision);
        out.line(format_args!("after {after} calls: {what}, because {}", text::line(&decision.reason)))?;
        if !decision.candidates.is_empty() {
            out.table(CANDIDATE_HEADER, candidate_rows(&decision.candidates))?;
        }
    }
    if !run.calls.is_empty() {
        out.heading("calls")?;
        out.table(["#", "TOOL", "ARGUMENTS", "OUTCOME", "RESULT"], call_rows(&run.calls))?;
    }
    if !run.learned.is_empty() {
        out.heading("learned")?;
        let rows = run.learned.iter().map(|note| [note.id.to_string(), note.kind.to_string(), note.change.clone()]);
        out.table(["ID", "KIND", "CHANGE"], rows.collect())?;
    }
    if !run.warnings.is_empty() {
        out.heading("warnings")?;
        for warning in &run.warnings {
            out.line(text::line(warning))?;
        }
    }
    Ok(())
}

fn head(run: &StoredRun) -> Vec<(&'static str, String)> {
    let planning = run.planning_calls.map_or_else(|| "not counted".to_owned(), |calls| calls.to_string());
    let used = run.used.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let reports = run.reports.iter().map(|report| format!("{report:?}").to_lowercase()).collect::<Vec<_>>();
    let mut head = vec![
        ("run", run.id.to_string()),
        ("task", run.text.clone()),
        ("key", run.task.key.to_string()),
        ("agent", run.agent.to_string()),
        ("scope", run.scope.to_string()),
        ("mode", run.mode.to_string()),
        ("reason", run.reason.clone()),
        ("planning calls", planning),
        ("synthesis calls", run.synthesis_calls.to_string()),
        ("gate", format!("{} of 5: {}", score(&run.gate), run.gate.reason)),
    ];
    head.extend(run.replay.as_ref().map(|replay| ("replay", replay_words(replay))));
    head.extend(run.arm.map(|arm| ("arm", arm.to_string())));
    head.extend(run.offer.as_ref().map(|offer| (offered(run), offer_words(offer))));
    head.extend(run.tokens.map(|tokens| ("tokens", format!("{} in, {} out", tokens.input, tokens.output))));
    head.extend(run.trust.map(|trust| ("trust", trust.to_string())));
    head.extend(run.world_check.map(|check| ("world check", check.to_string())));
    head.extend((!used.is_empty()).then_some(("used", used)));
    head.extend((!reports.is_empty()).then(|| ("reported", reports.join(", "))));
    head.push(("started", run.started.to_string()));
    head.push(("finished", run.finished.to_string()));
    head
}

/// What a replay did, and what a stopped one cost.
fn replay_words(replay: &ReplayNote) -> String {
    let ReplayNote { record, planned, made, duration_ms, in_vain, stopped } = replay;
    let mut words = format!("{made} of {planned} calls of {record} in {duration_ms} ms");
    if !in_vain.is_empty() {
        let _ = write!(words, ", {} in vain", in_vain.len());
    }
    if let Some(stopped) = stopped {
        let _ =
            write!(words, "; stopped at step {} ({}): {}", stopped.step + 1, stopped.cause.as_str(), stopped.reason);
    }
    words
}

/// What the record or playbook was to the run.
fn offered(run: &StoredRun) -> &'static str {
    if run.arm == Some(Arm::HoldOut) { "held out from" } else { "began with" }
}

fn offer_words(offer: &Offer) -> String {
    let records = offer.records.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("{} by {records}", offer.mode)
}

fn call_rows(calls: &[StoredCall]) -> Vec<[String; 5]> {
    let row = |(at, call): (usize, &StoredCall)| {
        let outcome = match &call.status {
            CallStatus::Ok => "ok".to_owned(),
            CallStatus::Failed { reason } => format!("failed: {reason}"),
        };
        let place = call.parent.map_or_else(|| (at + 1).to_string(), |parent| format!("{} in {}", at + 1, parent + 1));
        let mut result = text::shortened(&call.result.text, RESULT_CHARS);
        if call.result.truncated {
            result.push_str(&cut(&call.result.text, call.result.bytes));
        }
        let arguments = call.arguments.raw();
        let arguments = match &call.arguments_cut {
            Some(whole) => text::shortened(arguments, RESULT_CHARS) + &cut(arguments, whole.bytes),
            None => arguments.to_owned(),
        };
        [place, call.tool.clone(), arguments, outcome, result]
    };
    calls.iter().enumerate().map(row).collect()
}

/// Says that a text is stored as a prefix.
fn cut(stored: &str, bytes: usize) -> String {
    format!(" [cut: {} of {bytes} bytes are stored]", stored.len())
}
