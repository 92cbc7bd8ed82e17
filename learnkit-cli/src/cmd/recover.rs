//! `runs recover`: runs that did not finish, and what people say about steps that are in doubt.

use jiff::Timestamp;
use learnkit::hook::Settlement;
use learnkit::record::RunId;
use learnkit::run::{CallStatus, Journal, JournalStep, StepState, ToolOutput};
use learnkit::{Error, ErrorKind, LearnKit};
use serde_json::{Value, json};

use super::{EXISTING, as_count, counted, note_skipped};
use crate::args::RecoverArgs;
use crate::failure::{Ending, Outcome};
use crate::output::{Output, with_error};
use crate::{Context, memory, text};

/// Journals are read in pages of this size.
const PAGE: usize = 500;
/// Longer results are cut here; `--json` shows all that is stored.
const RESULT_CHARS: usize = 200;

pub(super) async fn run(args: &RecoverArgs, context: &mut Context<'_>) -> Outcome {
    let memory = memory::open(context, None, EXISTING).await?;
    let out = &mut context.out;
    let Some(id) = &args.id else { return list(&memory, args, out).await };
    if args.take {
        memory.release_run(id).await?;
    }
    if args.abandon {
        return abandon(&memory, id, out).await;
    }
    let journal = match (args.step, said(args)) {
        (Some(step), Some(settlement)) => memory.settle(id, step, settlement).await?,
        _ => memory.open_run(id).await?,
    };
    let doubt = doubt(args, journal.doubtful().count());
    let mut object = journal_object(&journal);
    if out.is_json() {
        if let Some(error) = &doubt {
            with_error(&mut object, error);
        }
        out.json(&object)?;
    } else {
        show(&journal, out)?;
    }
    Ok(ending(doubt, out))
}

fn said(args: &RecoverArgs) -> Option<Settlement> {
    match (args.done, args.not_done) {
        (true, _) => Some(Settlement::Done(args.result.as_deref().map(ToolOutput::from))),
        (_, true) => Some(Settlement::NotDone),
        _ => None,
    }
}

/// What `--exit-code` tells.
fn doubt(args: &RecoverArgs, steps: usize) -> Option<Error> {
    (args.exit_code && steps > 0).then(|| {
        let count = counted(as_count(steps), "step is", "steps are");
        Error::new(ErrorKind::InDoubt, format!("{count} in doubt; say what came of them with `learnkit runs recover`"))
    })
}

fn ending(doubt: Option<Error>, out: &mut Output<'_>) -> Ending {
    match doubt {
        Some(error) => {
            out.error(&error.chain());
            Ending::Bad
        }
        None => Ending::Good,
    }
}

async fn abandon(memory: &LearnKit, id: &RunId, out: &mut Output<'_>) -> Outcome {
    let report = memory.abandon_run(id).await?;
    if out.is_json() {
        out.json(&json!({ "abandoned": report.run_id, "tool_calls": report.tool_calls, "warnings": report.warnings }))?;
    } else {
        out.line(format_args!("closed {id}; `learnkit runs show {id}` has what it did"))?;
        report.warnings.iter().for_each(|warning| out.note(text::line(warning)));
    }
    Ok(Ending::Good)
}

async fn list(memory: &LearnKit, args: &RecoverArgs, out: &mut Output<'_>) -> Outcome {
    let (mut journals, mut skipped, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let page = memory.open_runs(after.as_ref(), PAGE).await?;
        journals.extend(page.items);
        skipped.extend(page.skipped);
        let Some(next) = page.next else { break };
        after = Some(RunId::new(next)?);
    }
    note_skipped(&skipped, out);
    let doubt = doubt(args, journals.iter().map(|journal| journal.doubtful().count()).sum());
    if out.is_json() {
        let runs: Vec<Value> = journals.iter().map(journal_object).collect();
        let mut object = json!({ "open_runs": runs, "skipped": skipped });
        if let Some(error) = &doubt {
            with_error(&mut object, error);
        }
        out.json(&object)?;
    } else {
        print(&journals, out)?;
    }
    Ok(ending(doubt, out))
}

fn print(journals: &[Journal], out: &mut Output<'_>) -> Outcome<()> {
    if journals.is_empty() {
        out.line("every run has finished")?;
        return Ok(());
    }
    let row = |journal: &Journal| {
        [
            journal.run.id.to_string(),
            journal.run.started.strftime("%Y-%m-%d %H:%M").to_string(),
            journal.run.agent.to_string(),
            lease(journal),
            journal.steps.iter().filter(|step| step.is_done()).count().to_string(),
            journal.doubtful().count().to_string(),
            text::short(&journal.run.text),
        ]
    };
    out.table(["ID", "STARTED", "AGENT", "HELD", "DONE", "IN DOUBT", "TASK"], journals.iter().map(row).collect())?;
    let doubtful: Vec<(&RunId, &JournalStep)> =
        journals.iter().flat_map(|journal| journal.doubtful().map(|step| (&journal.run.id, step))).collect();
    if !doubtful.is_empty() {
        out.heading("in doubt")?;
        let rows = doubtful.iter().map(|(id, step)| {
            let arguments = text::shortened(step.call.arguments.raw(), RESULT_CHARS);
            [id.to_string(), step.number.to_string(), step.call.tool.clone(), arguments, step.idempotency_key.clone()]
        });
        out.table(["ID", "STEP", "TOOL", "ARGUMENTS", "KEY"], rows.collect())?;
    }
    Ok(())
}

/// Until when a process holds a run; some may be dead.
fn lease(journal: &Journal) -> String {
    let until = journal.lease.until;
    if journal.lease.is_held(Timestamp::now()) {
        format!("until {}", until.strftime("%H:%M:%S"))
    } else {
        "free".to_owned()
    }
}

fn show(journal: &Journal, out: &mut Output<'_>) -> Outcome<()> {
    let run = &journal.run;
    let mut head = vec![
        ("run", run.id.to_string()),
        ("task", run.text.clone()),
        ("agent", run.agent.to_string()),
        ("scope", run.scope.to_string()),
    ];
    head.extend(run.replay.as_ref().map(|replay| ("replays", format!("{} version {}", replay.record, replay.version))));
    head.push(("started", run.started.to_string()));
    head.push(("held", lease(journal)));
    out.pairs(&head)?;
    if journal.steps.is_empty() {
        return Ok(());
    }
    out.heading("steps")?;
    let row = |step: &JournalStep| {
        let result = if step.is_done() { text::shortened(&step.call.result.text, RESULT_CHARS) } else { String::new() };
        let arguments = text::shortened(step.call.arguments.raw(), RESULT_CHARS);
        [step.number.to_string(), step.call.tool.clone(), arguments, state(step), result, step.idempotency_key.clone()]
    };
    out.table(["#", "TOOL", "ARGUMENTS", "STATE", "RESULT", "KEY"], journal.steps.iter().map(row).collect())?;
    for step in journal.doubtful() {
        let (id, number) = (&run.id, step.number);
        out.line(format_args!("say: learnkit runs recover {id} --step {number} --done, or --not-done"))?;
    }
    Ok(())
}

fn state(step: &JournalStep) -> String {
    match (step.state, &step.call.status) {
        (StepState::Begun, _) if step.is_doubtful() => "in doubt".to_owned(),
        (StepState::Begun, _) => "begun; made again by a retry".to_owned(),
        (StepState::SaidNotDone, _) => "not done, as was said; made by a retry".to_owned(),
        (StepState::SaidDone, _) => "done, as was said".to_owned(),
        (StepState::Ended, CallStatus::Ok) => "done".to_owned(),
        (StepState::Ended, CallStatus::Failed { reason }) => format!("failed: {reason}"),
    }
}

/// A journal, and which of its steps are in doubt.
fn journal_object(journal: &Journal) -> Value {
    let doubtful: Vec<u32> = journal.doubtful().map(|step| step.number).collect();
    let held = journal.lease.is_held(Timestamp::now());
    json!({ "run": journal.run, "held": held, "until": journal.lease.until, "in_doubt": doubtful, "steps": journal.steps })
}
