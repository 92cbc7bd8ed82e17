//! `inspect`: what memory would do for a task.

use learnkit::engine::Inspection;

use super::{CANDIDATE_HEADER, EXISTING, as_count, candidate_rows, counted, score};
use crate::args::InspectArgs;
use crate::failure::{Ending, Failure, Outcome};
use crate::output::Output;
use crate::{Context, memory, text};

pub(super) async fn run(args: &InspectArgs, context: &mut Context<'_>) -> Outcome {
    let parameters = args.identity.parameters().map_err(|error| Failure::usage(&error))?;
    let task = args.world.of(memory::task(&args.task, &parameters)?);
    if task.is_blank() {
        return Err(Failure::Usage("the task is blank; write what the agent is asked to do".to_owned()));
    }
    let memory = memory::open_for_programs(context, &args.identity, EXISTING).await?;
    let inspection = memory.inspect(task).await?;
    let out = &mut context.out;
    if out.is_json() {
        out.json(&inspection)?;
    } else {
        show(&inspection, out)?;
    }
    inspection.warnings.iter().for_each(|warning| out.note(warning));
    Ok(Ending::Good)
}

fn show(inspection: &Inspection, out: &mut Output<'_>) -> Outcome<()> {
    let domains = inspection.domains.iter().map(|(label, weight)| format!("{label} {weight:.2}"));
    let mut pairs = vec![
        ("task", inspection.canonical.clone()),
        ("key", inspection.key.to_string()),
        ("mode", inspection.mode.to_string()),
        ("reason", inspection.reason.clone()),
        ("replay policy", inspection.replay_policy.to_string()),
        ("domains", domains.collect::<Vec<_>>().join(", ")),
    ];
    pairs.extend(inspection.task_type.clone().map(|kind| ("task type", kind)));
    if let (Some(record), Some(trust)) = (&inspection.record, inspection.trust) {
        pairs.push(("record", format!("{record} ({trust})")));
    }
    pairs.extend(inspection.world_check.map(|check| ("world check", check.to_string())));
    out.pairs(&pairs)?;
    show_plan(inspection, out)?;
    if !inspection.candidates.is_empty() {
        out.heading("candidates")?;
        out.table(CANDIDATE_HEADER, candidate_rows(&inspection.candidates))?;
    }
    show_playbook(inspection, out)?;
    if !inspection.near.is_empty() {
        out.heading("near records of other agents, which do not guide this one")?;
        let near = inspection.near.iter();
        let rows = near
            .map(|near| [near.id.to_string(), near.agent.to_string(), score(near.score), text::short(&near.headline)]);
        out.table(["ID", "AGENT", "SCORE", "WHAT"], rows.collect())?;
    }
    Ok(())
}

fn show_plan(inspection: &Inspection, out: &mut Output<'_>) -> Outcome<()> {
    if inspection.plan.is_empty() {
        return Ok(());
    }
    out.heading("plan")?;
    let rows = inspection.plan.iter().enumerate().map(|(at, step)| {
        let approval = if step.approval { ", asks" } else { "" };
        let effect = format!("{}{approval}", step.effect);
        [(at + 1).to_string(), step.tool.clone(), effect, step.guards.to_string(), step.arguments.to_string()]
    });
    out.table(["#", "TOOL", "EFFECT", "GUARDS", "ARGUMENTS"], rows.collect())?;
    for (at, step) in inspection.plan.iter().enumerate().filter(|(_, step)| !step.open.is_empty()) {
        out.line(text::line(&format!("step {} takes anew from earlier results: {}", at + 1, step.open.join(", "))))?;
    }
    if let Some(stops) = &inspection.stops {
        out.line(text::line(&stops.to_string()))?;
    }
    if inspection.plan.iter().any(|step| step.approval) {
        out.note("a program without an approver plans this task instead");
    }
    Ok(())
}

fn show_playbook(inspection: &Inspection, out: &mut Output<'_>) -> Outcome<()> {
    let playbook = &inspection.playbook;
    if playbook.text.is_empty() {
        return Ok(());
    }
    let records = counted(as_count(playbook.records.len()), "record", "records");
    out.heading(&format!("playbook ({records}, about {} tokens)", playbook.tokens))?;
    out.line(text::lines(&playbook.text))?;
    Ok(())
}
