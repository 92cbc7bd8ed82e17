//! The target `replay`: a checked replay in a changed world never panics, and sends no opaque value but what the
//! task says now, a result gives now, or the recorded run made of nothing that changed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Span;
use jiff::civil::Date;
use learnkit_core::procedure::{Distilled, Procedure, is_opaque};
use learnkit_core::run::{Arguments, ToolOutput};
use learnkit_core::testing::{AskedAgain, checked_replay, follows};
use learnkit_core::{Json, Task};

use super::Script;

/// Replays what a script teaches while the calls give what its `now` lines say; also the procedure that
/// the first line is, where it is one, because a store may hold any.
pub fn replay(text: &str) {
    if let Some(procedure) = text.lines().next().and_then(|line| serde_json::from_str::<Procedure>(line).ok()) {
        replay_any(procedure, text);
    }
    let script = Script::parse(text);
    let (Distilled::Procedure(procedure), Some(task)) = (script.distil(), script.task_again()) else { return };
    if procedure.may_replay() && follows(&procedure, &task).is_ok() {
        check(&script, &task, *procedure);
    }
}

fn replay_any(procedure: Procedure, text: &str) {
    let now: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("now ")).collect();
    let steps = procedure.steps.len();
    let mut made = BTreeSet::new();
    let asked = AskedAgain { parameters: procedure.parameters.clone(), today: Script::day_again() };
    checked_replay(procedure, asked, |call| {
        assert!(call.step < steps && made.insert(call.step), "step {} is planned twice or is none", call.step);
        ToolOutput::text(*now.get(made.len() - 1).unwrap_or(&""))
    });
}

/// The values of a result: every leaf, and every key, because ids may be keys.
fn values(result: &str) -> Vec<Json> {
    let json = Json::of_result(result);
    json.leaves().into_iter().map(|leaf| leaf.value).collect()
}

/// Replays a procedure for a task, and looks at every value that is sent.
pub(crate) fn check(script: &Script, task: &Task, procedure: Procedure) {
    let kept: Vec<usize> =
        (0..script.calls.len()).filter(|at| procedure.dropped.iter().all(|dropped| dropped.call != *at)).collect();
    let then: Vec<&str> = kept.iter().map(|at| script.calls[*at].output.as_text()).collect();
    let groups: Vec<Option<u32>> = procedure.steps.iter().map(|step| step.group).collect();
    let recorded: Vec<BTreeMap<String, Json>> = kept.iter().map(|at| arguments(&script.calls[*at].arguments)).collect();
    let stale = stale_parameters(&procedure, task);
    let asked = AskedAgain { parameters: task.parameters().clone(), today: Script::day_again() };
    let mut now: Vec<Option<&str>> = vec![None; then.len()];
    let mut made = 0;
    checked_replay(procedure, asked, |call| {
        let earlier = |at: &usize| *at < call.step && (call.group.is_none() || groups[*at] != call.group);
        for (pointer, value) in arguments(&call.arguments) {
            let was_given = (0..call.step).filter(earlier).any(|at| values(then[at]).contains(&value));
            let is_given_now = || says(task.text(), &value) || now.iter().flatten().any(|result| says(result, &value));
            if !is_opaque(&value) || is_given_now() {
                continue;
            }
            let (tool, shown) = (&call.tool, value.to_text());
            assert!(!was_given, "`{tool}` is sent `{shown}`, which no result gives now");
            let old = value.scalar_text().is_some_and(|text| stale.contains(text));
            assert!(!old, "`{tool}` is sent `{shown}`, the value that a parameter had");
            let of_the_run = recorded[call.step].get(&pointer);
            let is_explained = of_the_run.is_some_and(|recorded| {
                *recorded == value || is_later(recorded, &value) || is_refilled(recorded, &value, script, task)
            });
            assert!(is_explained, "`{tool}` is sent `{shown}`, which neither the run nor the task nor a result gives");
        }
        let result = script.now.get(made).map_or(then[call.step], String::as_str);
        now[call.step] = Some(result);
        made += 1;
        ToolOutput::text(result)
    });
}

/// The leaves of arguments by their pointers.
fn arguments(arguments: &Arguments) -> BTreeMap<String, Json> {
    let leaves = arguments.json().map(|json| json.leaves()).unwrap_or_default();
    leaves.into_iter().map(|leaf| (leaf.pointer, leaf.value)).collect()
}

/// The values of parameters that are others now, apart from those that the words of the task say anyway.
fn stale_parameters(procedure: &Procedure, task: &Task) -> BTreeSet<String> {
    let is_other = |(name, value): &(&String, &String)| task.parameters().get(*name) != Some(*value);
    procedure.parameters.iter().filter(is_other).map(|(_, value)| value.clone()).collect()
}

/// Whether a text is a recorded one with the date of the replay.
fn is_later(recorded: &Json, value: &Json) -> bool {
    let date = |json: &Json| {
        let (date, time) = json.scalar_text()?.split_at_checked(10)?;
        Some((date.parse::<Date>().ok()?, time.to_owned()))
    };
    let (Some((then, time)), Some((now, same))) = (date(recorded), date(value)) else { return false };
    time == same && then.checked_add(Span::new().days(Script::DAYS_LATER)).is_ok_and(|day| day == now)
}

/// Whether a text is a recorded one with other values of parameters; lenient, because it only excuses.
fn is_refilled(recorded: &Json, value: &Json, script: &Script, task: &Task) -> bool {
    let without = |json: &Json, parameters: &BTreeMap<String, String>| {
        let text = json.scalar_text().unwrap_or_default().to_owned();
        parameters.values().filter(|value| !value.is_empty()).fold(text, |text, value| text.replace(value.as_str(), ""))
    };
    without(recorded, &script.parameters) == without(value, task.parameters())
}

/// Whether a text says a value in any spelling; lenient, because it only excuses.
fn says(text: &str, value: &Json) -> bool {
    let Some(value) = value.scalar_text() else { return true };
    let has = |text: &str| letters(text).contains(&letters(value));
    let is_number = |own: &Json| {
        let number = |json: &str| json.parse::<f64>().ok();
        own.scalar_text().and_then(number).is_some_and(|own| number(value).is_some_and(|value| own == value))
    };
    has(text) || values(text).iter().any(|own| own.scalar_text().is_some_and(has) || is_number(own))
}

/// Letters and digits only, lowercase, without the zeros that end a fraction.
fn letters(text: &str) -> String {
    let text = if text.parse::<f64>().is_ok() && text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    };
    text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
