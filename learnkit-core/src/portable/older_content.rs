//! What the records of the older LearnKit for Python say, in our words.

use std::collections::BTreeMap;

use super::older::{Fields, texts};
use crate::json::Json;
use crate::record::{Content, Fact, Failure, Heuristic, Kind, Preference, RunId, Skill, Strategy, Trace};

/// The arguments of a step are shown up to so many characters, as they were there.
const ARGUMENT_CHARS: usize = 2_048;
/// What marks an argument that the task gave.
const SLOT: &str = "__slot__";

/// The content of a record of a kind.
pub(super) fn content(kind: Kind, record: Fields<'_>, inner: Fields<'_>) -> Result<Content, String> {
    let owned = |key: &str| inner.text(key).map(str::to_owned);
    let needed = |key: &str| owned(key).ok_or_else(|| format!("its content has no `{key}`"));
    Ok(match kind {
        Kind::Skill => Content::Skill(skill(record, inner)?),
        Kind::Fact => {
            Content::Fact(Fact { statement: needed("statement")?, source: owned("source"), superseded: Vec::new() })
        }
        Kind::Failure => Content::Failure(failure(inner)?),
        Kind::Strategy => {
            let phases = texts(inner.get("phases"));
            Content::Strategy(Strategy { goal: needed("goal")?, phases, why: owned("why") })
        }
        Kind::Preference => {
            let value = match inner.get("value") {
                Some(Json::Text(text)) if !text.trim().is_empty() => text.trim().to_owned(),
                Some(other) if !other.is_blank() || matches!(other, Json::Bool(_) | Json::Number(_)) => other.to_text(),
                _ => return Err("its content has no `value`".to_owned()),
            };
            Content::Preference(Preference { key: needed("key")?, value })
        }
        Kind::Trace => Content::Trace(trace(inner)?),
        Kind::Heuristic => Content::Heuristic(Heuristic { rule: needed("rule")?, exception: owned("exception") }),
    })
}

/// A skill in words, also where there were calls: nothing proves for which task they may be made again.
fn skill(record: Fields<'_>, inner: Fields<'_>) -> Result<Skill, String> {
    let mut steps = texts(inner.get("steps"));
    if let Some(Json::List(calls)) = inner.get("procedure") {
        steps.extend(calls.iter().filter_map(call));
    }
    let title = inner.text("trigger").or(inner.text("pattern_name")).or(record.text("task_type"));
    let trigger =
        title.map(str::to_owned).or_else(|| steps.first().cloned()).ok_or("it says neither what for nor how")?;
    Ok(Skill {
        trigger,
        procedure: None,
        steps,
        constraints: [texts(inner.get("constraints")), texts(inner.get("playbook"))].concat(),
        pitfalls: [texts(inner.get("failure_modes")), texts(inner.get("pitfalls"))].concat(),
    })
}

/// A call as a step in words: the tool and its arguments.
fn call(step: &Json) -> Option<String> {
    let Json::Object(step) = step else { return None };
    let step = Fields(step);
    let tool = step.text("tool")?;
    let arguments = match (step.get("arg_template"), step.get("args")) {
        (Some(template), _) => without_slots(template).to_text(),
        // Cut there after 2,048 characters, and then it ends in an ellipsis.
        (None, Some(Json::Text(text))) => text.clone(),
        (None, Some(other)) => other.to_text(),
        (None, None) => String::new(),
    };
    let cut = match arguments.char_indices().nth(ARGUMENT_CHARS) {
        Some((at, _)) => format!("{}…", arguments.get(..at).unwrap_or_default()),
        None => arguments,
    };
    Some(format!("{tool} {cut}").trim_end().to_owned())
}

/// The arguments with each slot saying what it is, so that its old value is not taken for a constant.
fn without_slots(json: &Json) -> Json {
    match json {
        Json::Object(fields) => match fields.get(SLOT) {
            Some(value) => {
                let value = value.scalar_text().map_or_else(|| value.to_text(), str::to_owned);
                Json::Text(format!("<from the task, as {value} was>"))
            }
            None => Json::Object(
                fields.iter().map(|(key, value)| (key.clone(), without_slots(value))).collect::<BTreeMap<_, _>>(),
            ),
        },
        Json::List(items) => Json::List(items.iter().map(without_slots).collect()),
        other => other.clone(),
    }
}

fn failure(inner: Fields<'_>) -> Result<Failure, String> {
    let description = inner.text("description").or(inner.text("trigger_pattern"));
    let description = description.ok_or("its content has no `description`")?;
    let with = |text: &str, label: &str, key: &str| match inner.text(key) {
        Some(more) if text.is_empty() => more.to_owned(),
        Some(more) => format!("{text}; {label}: {more}"),
        None => text.to_owned(),
    };
    let avoid = inner.text("what_to_avoid").unwrap_or_default();
    Ok(Failure {
        description: with(description, "cause", "root_cause"),
        what_to_avoid: with(avoid, "instead", "corrective_strategy"),
        error_message: inner.text("error_message").map(str::to_owned),
        tools: texts(inner.get("tools_used")),
    })
}

fn trace(inner: Fields<'_>) -> Result<Trace, String> {
    let run = inner.text("trajectory_id").ok_or("its content has no `trajectory_id`")?;
    let task = inner.text("task").or(inner.text("summary")).ok_or("its content has no `task`")?;
    let outcome = inner.text("outcome").filter(|outcome| matches!(*outcome, "success" | "failure"));
    let calls = match inner.get("steps") {
        Some(Json::List(steps)) => {
            steps.iter().filter_map(|step| step.get("tool_name")?.scalar_text()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    Ok(Trace {
        run: RunId::new(run).map_err(|error| error.chain())?,
        task: task.to_owned(),
        outcome: outcome.unwrap_or("unknown").to_owned(),
        calls,
    })
}
