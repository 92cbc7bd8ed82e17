//! Which argument values become slots: opaque values of earlier results, and declared parameters.

use std::collections::{BTreeMap, BTreeSet};

use super::guard::{Guard, MAX_LONG_PLACES, is_opaque_text};
use super::look::Look;
use super::slot::{Candidate, Part, Slot};
use super::value::{mentions, whole_mentions};
use crate::Task;
use crate::json::Json;
use crate::run::Arguments;

/// A text of so many words is prose; a date with a time of day and a zone has three.
const PROSE_WORDS: usize = 4;

/// What the arguments of a call took from earlier results.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// What has to be as it was.
    pub(crate) guards: Vec<Guard>,
    /// What is taken anew.
    pub(crate) slots: Vec<Slot>,
}

impl Taken {
    /// Adds the slots that take declared parameters.
    pub(super) fn add_parameters(&mut self, arguments: &Arguments, task: &Task) {
        let mut own = parameter_slots(arguments, task.parameters(), &task.literal());
        own.retain(|slot| !self.slots.iter().any(|taken| taken.argument == slot.argument));
        self.slots.append(&mut own);
    }

    /// Adds the slots that are counted from the day of the run. Where a result gives the same value, both have
    /// to give it again.
    pub(super) fn add_dates(&mut self, dates: Vec<Slot>) {
        let takes_parameter = |slot: &Slot| slot.parts.iter().any(|part| matches!(part, Part::Parameter { .. }));
        let known = |date: &Slot| self.slots.iter().any(|own| own.argument == date.argument && takes_parameter(own));
        let mut dates: Vec<Slot> = dates.into_iter().filter(|date| !known(date)).collect();
        self.slots.append(&mut dates);
    }

    /// Whether an argument is guarded or taken anew.
    pub(super) fn holds(&self, argument: &str) -> bool {
        self.guards.iter().any(|guard| guard.argument == argument)
            || self.slots.iter().any(|slot| slot.argument == argument)
    }

    /// Gives the earlier steps other numbers.
    pub(super) fn renumber(&mut self, numbers: &BTreeMap<usize, usize>) {
        let guarded = self.guards.iter_mut().flat_map(|guard| &mut guard.places).map(|place| &mut place.step);
        let read = self.slots.iter_mut().flat_map(Slot::candidates_mut).map(|candidate| &mut candidate.step);
        for step in guarded.chain(read) {
            *step = numbers.get(step).copied().unwrap_or(*step);
        }
    }
}

impl Look<'_> {
    /// The slot of an argument that is, to the letter, an opaque value of earlier results. None where the
    /// value was chosen from several, or is spelt in another way: such an argument is guarded.
    pub(super) fn slot(&self, pointer: &str, text: &str, usable: &dyn Fn(usize) -> bool) -> Option<Slot> {
        if !is_opaque_text(text) || is_prose(text) {
            return None;
        }
        let found: Vec<_> = self.found(text).into_iter().filter(|found| usable(found.step)).collect();
        // A key, or a path through an opaque key, was chosen from the keys beside it.
        let is_choice = |path: &str| path.split('/').any(is_opaque_text);
        if found.is_empty() || found.len() > MAX_LONG_PLACES {
            return None;
        }
        if found.iter().any(|found| found.is_key || is_choice(&found.path)) {
            return None;
        }
        let candidates: Vec<Candidate> =
            found.iter().flat_map(|found| self.candidates(found.step, &found.path, text)).collect();
        candidates.iter().any(Candidate::is_definite).then(|| Slot {
            argument: pointer.to_owned(),
            parts: vec![Part::Result { candidates }],
            examples: 1,
        })
    }

    /// A value at a path: the only one there, or by each of its positions among others.
    fn candidates(&self, step: usize, path: &str, text: &str) -> Vec<Candidate> {
        let (mut values, mut positions) = (BTreeSet::new(), Vec::new());
        if let Some(said) = self.results.said(step) {
            said.leaves_at(path, |pointer, leaf| {
                let own = leaf.scalar_text();
                if own == Some(text) && positions.len() <= MAX_LONG_PLACES {
                    positions.push(pointer.to_owned());
                }
                values.insert(own.map(str::to_owned));
            });
        }
        let candidate = |position| Candidate { step, path: path.to_owned(), position };
        if values.len() > 1 {
            positions.into_iter().map(|at| candidate(Some(at))).collect()
        } else {
            vec![candidate(None)]
        }
    }
}

/// Whether a text is written for people: what else it says next time, nobody has agreed to send.
fn is_prose(text: &str) -> bool {
    text.split_whitespace().count() >= PROSE_WORDS
}

/// The slots of a call's arguments that take declared parameters, and are made of nothing else.
///
/// `literal` is the text of the task without its parameters: a value that stands there, too, may come
/// from there, and one that two parameters share may come from either.
fn parameter_slots(arguments: &Arguments, parameters: &BTreeMap<String, String>, literal: &str) -> Vec<Slot> {
    let shared = |value: &str| parameters.values().filter(|other| *other == value).count() > 1;
    let mut certain: Vec<(&String, &String)> = parameters
        .iter()
        .filter(|(_, value)| !value.trim().is_empty() && !shared(value) && !mentions(literal, value))
        .collect();
    // Of values within values the longest counts.
    certain.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    if certain.is_empty() {
        return Vec::new();
    }
    let leaves = arguments.json().map(|json| json.leaves()).unwrap_or_default();
    let slots = leaves.iter().filter_map(|leaf| {
        let parts = match &leaf.value {
            Json::Text(text) => parts(text, &certain),
            Json::Number(text) => {
                let (name, _) = certain.iter().find(|(_, value)| *value == text)?;
                vec![Part::Parameter { name: (*name).clone() }]
            }
            _ => return None,
        };
        let takes = parts.iter().any(|part| matches!(part, Part::Parameter { .. }));
        takes.then(|| Slot { argument: leaf.pointer.clone(), parts, examples: 1 })
    });
    slots.collect()
}

/// A text as parameters with text between them.
fn parts(text: &str, parameters: &[(&String, &String)]) -> Vec<Part> {
    let next = parameters.iter().find_map(|(name, value)| Some((whole_mentions(text, value).next()?, *name, *value)));
    let Some((at, name, value)) = next else {
        return if text.is_empty() { Vec::new() } else { vec![Part::Text { text: text.to_owned() }] };
    };
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + value.len()..).unwrap_or_default());
    let mut all = parts(before, parameters);
    all.push(Part::Parameter { name: name.clone() });
    all.extend(parts(after, parameters));
    all
}
