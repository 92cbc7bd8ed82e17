//! Learned templates: procedures of several texts that are one procedure with other values.
//!
//! Pure. Who looks for the texts, and when a template replays, is the engine's affair
//! ([`crate::engine`]); which texts share a skeleton is told by [`Skeleton`].

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Procedure;
use super::bind::Taken;
use crate::Task;
use crate::json::Json;
use crate::record::{RecordId, RunId};
use crate::task::{Skeleton, TaskKey};

/// So many examples are kept by name; later ones only count.
const MAX_EXAMPLES: usize = 16;
/// A slot that had fewer values in the examples is not known to be one.
const MIN_VALUES: usize = 2;

/// What makes a procedure a learned template: the words that its tasks share, and who showed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The words that the tasks share; their differences are the parameters `p1`, `p2` and so on.
    pub skeleton: Skeleton,
    /// What else makes a task one of these: tenant, scope, agent, earlier turns, format, environment.
    pub key: TaskKey,
    /// The runs that showed it, the oldest first.
    pub examples: Vec<Example>,
    /// Why it never replays again; absent while nothing contradicted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted: Option<String>,
}

/// A run that showed a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The run.
    pub run: RunId,
    /// The procedure that it taught under its own exact task.
    pub record: RecordId,
    /// The hash of the text.
    pub text: String,
}

impl Template {
    /// Adds an example whose text is new.
    pub(crate) fn add(&mut self, example: &Example) {
        let is_new = self.examples.iter().all(|known| known.text != example.text);
        if is_new && self.examples.len() < MAX_EXAMPLES {
            self.examples.push(example.clone());
        }
    }
}

/// A text and the calls that solved it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    /// Canonical.
    pub(crate) text: &'a str,
    pub(crate) procedure: &'a Procedure,
}

/// The one procedure that these are with other values, the oldest first: with the same calls once each is
/// read with its slot values as parameters, every slot taken by an argument, and each with several values.
pub(crate) fn aligned(skeleton: &Skeleton, samples: &[Sample<'_>]) -> Option<Procedure> {
    let read: Vec<Procedure> = samples.iter().map(|sample| sample.read_by(skeleton)).collect::<Option<_>>()?;
    let (first, rest) = read.split_first()?;
    let mut one = first.clone();
    for next in rest {
        let mut next = next.clone();
        if !next.is_same_plan(&one) {
            return None;
        }
        next.confirm(&one);
        next.keep_guards_of(&one);
        one = next;
    }
    one.count_values(&read);
    let proven = one.may_replay() && one.parameters.keys().all(|name| one.is_proven_slot(name, &read));
    one.answer = None;
    proven.then_some(one)
}

impl Sample<'_> {
    fn read_by(&self, skeleton: &Skeleton) -> Option<Procedure> {
        let task = Task::new(self.text).read_by(skeleton)?;
        let is_plain = self.procedure.parameters.is_empty() && self.procedure.template.is_none();
        (is_plain && self.procedure.may_replay()).then(|| self.procedure.read_as(&task))
    }
}

impl Procedure {
    /// The same calls with what a task of declared parameters gives taken from there.
    pub(crate) fn read_as(&self, task: &Task) -> Self {
        let mut read = Self { trigger: task.canonical(), parameters: task.parameters().clone(), ..self.clone() };
        for step in &mut read.steps {
            let mut taken = Taken { guards: Vec::new(), slots: std::mem::take(&mut step.slots) };
            taken.add_parameters(&step.arguments, task);
            step.slots = taken.slots;
        }
        read
    }

    fn is_same_plan(&self, other: &Self) -> bool {
        let same_effects = self.steps.iter().zip(&other.steps).all(|(own, other)| own.effect == other.effect);
        same_effects && self.signature() == other.signature()
    }

    /// What any example had to check is checked.
    pub(crate) fn keep_guards_of(&mut self, older: &Self) {
        let numbers = self.numbers_of(older);
        for (theirs, own) in &numbers {
            let Some(older) = self.template_of(older, *theirs, &numbers) else { continue };
            let end = self.stretch_of(*own).end.max(own + 1);
            for step in self.steps.get_mut(*own..end).unwrap_or_default() {
                let held: BTreeSet<String> = step.guards.iter().map(|guard| guard.argument.clone()).collect();
                step.guards.extend(older.guards.iter().filter(|guard| !held.contains(&guard.argument)).cloned());
            }
        }
    }

    fn count_values(&mut self, examples: &[Self]) {
        for (at, step) in self.steps.iter_mut().enumerate() {
            for slot in &mut step.slots {
                let values: BTreeSet<String> =
                    examples.iter().filter_map(|example| example.argument(at, &slot.argument)).collect();
                slot.examples = u32::try_from(values.len()).unwrap_or(u32::MAX);
            }
        }
    }

    fn argument(&self, step: usize, pointer: &str) -> Option<String> {
        let leaves = self.steps.get(step)?.arguments.json().ok()?.leaves();
        leaves.into_iter().find(|leaf| leaf.pointer == pointer).map(|leaf| leaf.value).as_ref().map(Json::to_text)
    }

    fn is_proven_slot(&self, name: &str, examples: &[Self]) -> bool {
        let values: BTreeSet<&String> = examples.iter().filter_map(|example| example.parameters.get(name)).collect();
        let is_taken = self.steps.iter().flat_map(|step| &step.slots).any(|slot| slot.takes_parameter(name));
        is_taken && values.len() >= MIN_VALUES
    }
}
