//! Polling: a call that was made again until its result said something else. What it said then is the
//! condition of the step after it, so that a replay which is faster than the world stops there.

use std::collections::BTreeMap;

use super::guard::{Check, Guard, Holds, Place};
use super::value::is_opaque;
use crate::json::{Json, Seen};

/// A longer text is no state.
pub(super) const MAX_STATE_CHARS: usize = 64;

/// What the last of several equal calls in a row must say before the next step: the words and flags that it
/// had not said the time before, or that it is done by 100 %. Ids, other numbers and what stands in a list say
/// nothing of a state.
pub(super) fn readiness(step: usize, before: &Json, last: &Json) -> Vec<Guard> {
    let before = states(before);
    let reached = states(last).into_iter().filter(|(path, value)| before.get(path) != Some(value));
    let guard = |(path, value)| Guard {
        argument: String::new(),
        value,
        check: Check::All,
        places: vec![Place { step, path, holds: Holds::Equal }],
    };
    reached.map(guard).collect()
}

/// The words and flags of a result, by their paths.
fn states(result: &Json) -> BTreeMap<String, String> {
    let mut states = BTreeMap::new();
    result.walk(|place, seen| {
        let Seen::Leaf(value) = seen else { return };
        let state = match value {
            Json::Text(text) if !is_opaque(value) && text.chars().count() <= MAX_STATE_CHARS => text.clone(),
            Json::Bool(_) => value.to_text(),
            // Per cent of what was waited for.
            Json::Number(number) if number == "100" => number.clone(),
            _ => return,
        };
        let pattern = place.pattern();
        if !pattern.split('/').any(|part| part == "*") {
            states.insert(pattern.to_owned(), state);
        }
    });
    states
}
