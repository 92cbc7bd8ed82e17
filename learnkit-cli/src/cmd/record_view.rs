//! One record for people: standing, history, and the procedure with its guards.

use learnkit::lifecycle::WorldCheck;
use learnkit::procedure::{Check, Guard, Holds, Procedure, Step, Template};
use learnkit::record::{Content, History, LastGood, Record, VersionChange};
use learnkit::{Error, ErrorKind};
use serde_json::Value;

use crate::failure::Outcome;
use crate::output::Output;
use crate::text;

pub(super) fn show(record: &Record, out: &mut Output<'_>) -> Outcome<()> {
    if out.is_json() {
        out.json(record)?;
        return Ok(());
    }
    out.pairs(&standing(record))?;
    out.heading(record.kind().as_str())?;
    for field in words(&record.content)? {
        out.line(text::line(&field))?;
    }
    if let Some(procedure) = record.procedure() {
        show_procedure(procedure, out)?;
    }
    record.history.as_ref().map_or(Ok(()), |history| show_history(history, out))
}

fn show_history(history: &History, out: &mut Output<'_>) -> Outcome<()> {
    out.heading("history")?;
    for VersionChange { version, at, run, why } in &history.changes {
        out.line(text::line(&format!("version {version} since {at}, from run {run}: {why}")))?;
    }
    if let Some(good) = &history.last_good {
        let LastGood { procedure, trust, help, harm } = good;
        let (version, run) = (procedure.version, &procedure.source_run);
        let uses = format!("{trust}, helped {help}, harmed {harm}");
        out.heading(&format!("last good version {version}, from run {run}: {uses}"))?;
        let rows = procedure.steps.iter().enumerate().map(|(at, step)| step_row(at + 1, step));
        out.table(["#", "TOOL", "EFFECT", "ARGUMENTS"], rows.collect())?;
    }
    Ok(())
}

fn standing(record: &Record) -> Vec<(&'static str, String)> {
    let usage = &record.usage;
    let mut pairs = vec![
        ("id", record.id.to_string()),
        ("scope", record.scope.to_string()),
        ("agent", record.agent.to_string()),
        ("status", format!("{}: {}", record.status, record.status_reason)),
        ("pinned", if record.pinned { "yes" } else { "no" }.to_owned()),
        ("trust", record.trust.to_string()),
        ("confidence", format!("{:.2}", record.confidence.get())),
        (
            "usage",
            format!(
                "planned {} times, reused {}, helped {}, harmed {}",
                usage.successes, usage.reuse_count, usage.help, usage.harm
            ),
        ),
    ];
    pairs.extend(record.procedure().map(|procedure| ("world check", world_check(procedure))));
    pairs.extend(usage.suspended.clone().map(|reason| ("replay suspended", reason)));
    if let Some(task) = &record.task {
        pairs.push(("task", task.canonical.clone()));
        pairs.push(("key", task.key.to_string()));
    }
    pairs.push(("created", record.created.to_string()));
    pairs.extend(record.expires.map(|time| ("expires", time.to_string())));
    pairs.extend(record.last_reinforced.map(|time| ("reinforced", time.to_string())));
    pairs.extend(record.last_decayed.map(|time| ("decayed", time.to_string())));
    pairs.extend(record.status_since.map(|time| ("status since", time.to_string())));
    pairs.push(("author", record.provenance.author.clone()));
    pairs.extend(record.provenance.run.as_ref().map(|run| ("run", run.to_string())));
    pairs.extend(record.provenance.model.clone().map(|model| ("model", model)));
    pairs.push(("revision", record.revision.0.to_string()));
    pairs
}

/// What the steps themselves check of the world; a task may carry more.
fn world_check(procedure: &Procedure) -> String {
    let own = WorldCheck::of_procedure(procedure);
    match procedure.first_effect().filter(|_| own == WorldCheck::Unchecked) {
        Some(step) => format!("{own}: nothing is read before step {}", step + 1),
        None => own.to_string(),
    }
}

/// The fields of a content other than its procedure.
fn words(content: &Content) -> Outcome<Vec<String>> {
    let value = serde_json::to_value(content).map_err(|error| {
        Error::new(ErrorKind::Internal, "the record cannot be shown; report this").with_source(error)
    })?;
    let fields = value.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| !matches!(name.as_str(), "kind" | "procedure"));
    Ok(fields.map(|(name, value)| format!("{name}: {}", said(value))).collect())
}

fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(said).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn show_procedure(procedure: &Procedure, out: &mut Output<'_>) -> Outcome<()> {
    out.heading(&format!("procedure, version {}, from run {}", procedure.version, procedure.source_run))?;
    for (name, value) in &procedure.parameters {
        out.line(text::line(&format!("parameter {name}: captured with {value}")))?;
    }
    let rows = procedure.steps.iter().enumerate().map(|(at, step)| step_row(at + 1, step));
    out.table(["#", "TOOL", "EFFECT", "ARGUMENTS"], rows.collect())?;
    for (at, step) in procedure.steps.iter().enumerate() {
        for slot in &step.slots {
            let times = if slot.examples > 1 { format!(", seen with {} values", slot.examples) } else { String::new() };
            out.line(text::line(&format!("step {} takes `{}` anew: {slot}{times}", at + 1, slot.argument)))?;
        }
        for guard in &step.guards {
            out.line(text::line(&format!("step {} guard: {}", at + 1, guard_words(guard))))?;
        }
    }
    if let Some(template) = &procedure.template {
        show_template(template, out)?;
    }
    for each in procedure.loops.iter().filter(|each| each.is_candidate()) {
        let (first, last) = (each.first + 1, each.first + each.count);
        let steps = if each.count > 1 { format!("steps {first} to {last}") } else { format!("step {first}") };
        out.line(text::line(&format!("{steps}: {each}")))?;
    }
    for dropped in &procedure.dropped {
        let (call, tool) = (dropped.call + 1, &dropped.tool);
        out.line(text::line(&format!("left out call {call}, {tool}: {}", dropped.reason)))?;
    }
    for reason in &procedure.unsettled {
        out.line(text::line(&format!("may only guide until another run has made the same calls: {reason}")))?;
    }
    for reason in &procedure.guide_only {
        out.line(text::line(&format!("may only guide: {reason}")))?;
    }
    if let Some(answer) = &procedure.answer {
        out.heading("recorded answer")?;
        out.line(text::lines(answer))?;
    }
    Ok(())
}

fn show_template(template: &Template, out: &mut Output<'_>) -> Outcome<()> {
    let kinds = template.skeleton.kinds().enumerate();
    let kinds: Vec<String> = kinds.map(|(at, kind)| format!("p{} {}", at + 1, kind.as_str())).collect();
    out.heading(&format!("template of {} examples", template.examples.len()))?;
    out.line(text::line(&format!("words: {}", template.skeleton.template())))?;
    out.line(text::line(&format!("values: {}", kinds.join(", "))))?;
    for example in &template.examples {
        out.line(text::line(&format!("example: run {}, record {}", example.run, example.record)))?;
    }
    if let Some(reason) = &template.contradicted {
        out.line(text::line(&format!("contradicted, never replays again: {reason}")))?;
    }
    Ok(())
}

fn step_row(number: usize, step: &Step) -> [String; 4] {
    let approval = if step.requires_approval { ", needs approval" } else { "" };
    let side_by_side = step.group.map_or_else(String::new, |group| format!(" (group {group})"));
    [
        format!("{number}{side_by_side}"),
        step.tool.clone(),
        format!("{}{approval}", step.effect),
        step.arguments.to_string(),
    ]
}

fn guard_words(guard: &Guard) -> String {
    if guard.argument.is_empty() {
        let places = guard.places.iter().map(|place| format!("result {} at `{}`", place.step + 1, place.path));
        return format!("waits until {} is {}", places.collect::<Vec<_>>().join(" and "), guard.value);
    }
    let places = guard.places.iter().map(|place| {
        let holds = match &place.holds {
            Holds::Equal => "equals it",
            Holds::Mentioned => "mentions it",
            Holds::Key => "has it as a key",
            Holds::ChosenFrom { .. } => "still says all that it said",
        };
        format!("result {} at `{}` {holds}", place.step + 1, place.path)
    });
    let join = match guard.check {
        Check::Any => " or ",
        Check::All => " and ",
    };
    format!("`{}` = {} only while {}", guard.argument, guard.value, places.collect::<Vec<_>>().join(join))
}
