//! The target `replay`: a checked replay in a changed world never panics, and never sends an opaque value
//! that an earlier result gave once and none gives now.

use std::collections::BTreeSet;

use learnkit_core::Json;
use learnkit_core::procedure::{Distilled, Procedure, is_opaque};
use learnkit_core::run::ToolOutput;
use learnkit_core::testing::checked_replay;

use super::Script;

/// Replays what a script teaches while the calls give what its `now` lines say; also the procedure that
/// the first line is, where it is one, because a store may hold any.
pub fn replay(text: &str) {
    if let Some(procedure) = text.lines().next().and_then(|line| serde_json::from_str::<Procedure>(line).ok()) {
        replay_any(procedure, text);
    }
    let script = Script::parse(text);
    let Distilled::Procedure(procedure) = script.distil() else { return };
    if procedure.may_replay() {
        check(&script, *procedure);
    }
}

fn replay_any(procedure: Procedure, text: &str) {
    let now: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("now ")).collect();
    let steps = procedure.steps.len();
    let mut made = BTreeSet::new();
    checked_replay(procedure, |call| {
        assert!(call.step < steps && made.insert(call.step), "step {} is planned twice or is none", call.step);
        ToolOutput::text(*now.get(made.len() - 1).unwrap_or(&""))
    });
}

/// The values of a result: every leaf, and every key, because ids may be keys.
fn values(result: &str) -> Vec<Json> {
    let json = Json::of_result(result);
    json.leaves().into_iter().map(|leaf| leaf.value).collect()
}

pub(crate) fn check(script: &Script, procedure: Procedure) {
    let kept: Vec<usize> =
        (0..script.calls.len()).filter(|at| procedure.dropped.iter().all(|dropped| dropped.call != *at)).collect();
    let then: Vec<&str> = kept.iter().map(|at| script.calls[*at].output.as_text()).collect();
    let groups: Vec<Option<u32>> = procedure.steps.iter().map(|step| step.group).collect();
    let mut now: Vec<Option<&str>> = vec![None; then.len()];
    let mut made = 0;
    checked_replay(procedure, |call| {
        let earlier = |at: &usize| *at < call.step && (call.group.is_none() || groups[*at] != call.group);
        for value in call.arguments.json().into_iter().flat_map(|json| json.leaves()).map(|leaf| leaf.value) {
            let was_given = (0..call.step).filter(earlier).any(|at| values(then[at]).contains(&value));
            if was_given && is_opaque(&value) && !says(&script.task, &value) {
                let is_given = now.iter().flatten().any(|result| says(result, &value));
                assert!(is_given, "`{}` is sent `{}`, which no result gives now", call.tool, value.to_text());
            }
        }
        let result = script.now.get(made).map_or(then[call.step], String::as_str);
        now[call.step] = Some(result);
        made += 1;
        ToolOutput::text(result)
    });
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
