//! Procedures: the cleaned calls that solved a task, with what must still hold to make them again.
//!
//! Not here: carrying one out ([`crate::replay`]).

mod bind;
mod computed;
mod contract;
mod distil;
mod effects;
mod follow;
mod guard;
mod look;
mod loops;
mod origin;
mod poison;
mod poll;
mod said;
mod secrets;
mod shape;
mod slot;
mod stretch;
mod template;
mod today;
mod value;
mod when;
mod withheld;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use contract::{ChangeKind, Contract, ContractChange};
pub(crate) use distil::distil_read;
pub use distil::{Distilled, Source, distil};
pub(crate) use follow::values_decide;
pub use guard::{Check, Guard, Holds, Place};
pub(crate) use guard::{Given, Results};
pub use loops::{Column, Loop};
pub(crate) use loops::{elements, list_of};
pub use origin::{Origin, OriginSource};
pub(crate) use said::Said;
pub use shape::{LeafShape, Shape};
pub use slot::{Candidate, Part, Slot};
pub(crate) use slot::{DaysOn, Sources, Supplied};
pub use template::{Example, Template};
pub(crate) use template::{Sample, aligned};
pub use today::Today;
pub use value::is_opaque;
pub(crate) use value::{is_date_or_time, mentions, same_scalar};
pub use withheld::Withheld;

use crate::config::TimeZone;
use crate::record::RunId;
use crate::run::{Arguments, StoredOutput};
use crate::tool::EffectClass;

/// Longer values are no words.
const MAX_WORD_BYTES: usize = 64;

/// A path through decision points: the calls that solved a task, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Procedure {
    /// The task it solved, in words, secrets masked.
    pub trigger: String,
    /// The calls.
    pub steps: Vec<Step>,
    /// Those of them that may be one call for each element of a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<Loop>,
    /// The declared parameters it was captured with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Those of them that had several values in runs of these calls.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub varied: BTreeSet<String>,
    /// What its tools said about themselves, by their names; a tool that is not here was not seen, and of
    /// it only the name is checked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contracts: BTreeMap<String, Contract>,
    /// The answer that was given, for replays whose results equal the recorded ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Calls that were left out, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
    /// Why it may only guide; empty when it may replay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guide_only: Vec<String>,
    /// Why it only guides until another planned run has made the same calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsettled: Vec<String>,
    /// What only free text in a result gave: no planner is shown it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// What makes it a learned template; absent for the procedure of an exact task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Box<Template>>,
    /// The run it was made from.
    pub source_run: RunId,
    /// Rises when the same calls are distilled anew.
    pub version: u32,
}

/// One call of a procedure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The tool.
    pub tool: String,
    /// The arguments as they were made, to the letter.
    pub arguments: Arguments,
    /// Those of them that each replay takes anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
    /// What the call may do to the world.
    pub effect: EffectClass,
    /// Whether a person has to approve the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_approval: bool,
    /// Steps with one number run side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// What earlier results must still say before this step is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<Guard>,
    /// What the result must look like.
    pub shape: Shape,
    /// The result that was seen, shortened, secrets masked.
    pub result: StoredOutput,
}

/// A call that was left out of a procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    /// The index of the call in the run.
    pub call: usize,
    /// The tool.
    pub tool: String,
    /// Why.
    pub reason: String,
}

impl Procedure {
    /// The tools in the order of the steps.
    pub fn tools(&self) -> Vec<&str> {
        self.steps.iter().map(|step| step.tool.as_str()).collect()
    }

    /// The arguments of every call of a tool.
    pub(crate) fn arguments_of<'p>(&'p self, tool: &'p str) -> impl Iterator<Item = &'p Arguments> {
        self.steps.iter().filter(move |step| step.tool == tool).map(|step| &step.arguments)
    }

    /// Whether it may replay as far as the procedure itself goes.
    pub fn may_replay(&self) -> bool {
        self.guide_only.is_empty() && self.unsettled.is_empty()
    }

    /// Whether the dates that it counts from today are counted in this time zone.
    ///
    /// # Errors
    /// The reason in words.
    pub(crate) fn fits_zone(&self, zone: &TimeZone) -> Result<(), String> {
        let other =
            self.steps.iter().flat_map(|step| &step.slots).filter_map(Slot::zone).find(|own| *own != zone.name());
        other.map_or(Ok(()), |own| Err(today::other_zone(own, zone)))
    }

    /// Whether it sends dates that are counted from today.
    pub(crate) fn has_dates(&self) -> bool {
        self.steps.iter().flat_map(|step| &step.slots).any(|slot| slot.zone().is_some())
    }

    /// Whether every step takes the same values anew from the same places, under the same guards.
    pub(crate) fn takes_as(&self, other: &Self) -> bool {
        let takes_alike = |own: &Step, other: &Step| {
            let mut slots = own.slots.iter().zip(&other.slots);
            own.slots.len() == other.slots.len() && slots.all(|(a, b)| a.argument == b.argument && a.parts == b.parts)
        };
        let mut steps = self.steps.iter().zip(&other.steps);
        self.steps.len() == other.steps.len() && steps.all(|(a, b)| takes_alike(a, b) && a.guards == b.guards)
    }

    /// The secrets that it takes: name, tool and argument.
    pub(crate) fn secrets(&self) -> BTreeMap<&str, (&str, &str)> {
        let slots = self.steps.iter().flat_map(|step| step.slots.iter().map(|slot| (step.tool.as_str(), slot)));
        slots.flat_map(|(tool, slot)| slot.secrets().map(move |name| (name, (tool, slot.argument.as_str())))).collect()
    }

    /// The steps as they decide identity: tools and arguments, with slots for what is taken anew. A call for
    /// each element of a list counts once, however long the list was.
    pub(crate) fn signature(&self) -> String {
        let steps = self.folded().into_iter().map(|(at, step)| step.signature(self.loop_argument(at)));
        steps.collect::<Vec<_>>().join("\u{1e}")
    }

    /// Takes over what an older example of the same procedure showed. Where the two contradict each other it
    /// only guides, until it is learned anew.
    pub(crate) fn confirm(&mut self, older: &Self) {
        self.version = older.version + 1;
        let has_same_calls = self.signature() == older.signature();
        // What two runs sent was not made for one of them.
        if self.source_run != older.source_run && has_same_calls {
            self.unsettled.clear();
        }
        if has_same_calls {
            let other = self.parameters.iter().filter(|(name, value)| older.parameters.get(*name) != Some(*value));
            self.varied.extend(other.map(|(name, _)| name).chain(&older.varied).cloned());
        }
        // A run that did not see its tools says nothing about them, so what was seen before counts on.
        for (tool, contract) in &older.contracts {
            self.contracts.entry(tool.clone()).or_insert_with(|| contract.clone());
        }
        let numbers = self.numbers_of(older);
        for (theirs, own) in &numbers {
            let Some(older) = self.template_of(older, *theirs, &numbers) else { continue };
            let stretch = self.stretch_of(*own);
            let Some(step) = self.steps.get_mut(*own).filter(|step| step.tool == older.tool) else { continue };
            if let Err(reason) = step.confirm(&older) {
                self.guide_only.push(reason);
            }
            for step in self.steps.get_mut(stretch).into_iter().flatten() {
                step.shape.also_allow(&older.shape);
            }
        }
        if has_same_calls {
            self.join_loops(older, &numbers);
        }
    }

    /// Visits every free text of it.
    pub(crate) fn each_text(&mut self, visit: &impl Fn(&mut String)) {
        visit(&mut self.trigger);
        self.answer.iter_mut().for_each(visit);
        self.guide_only.iter_mut().chain(&mut self.unsettled).for_each(visit);
        self.template.iter_mut().filter_map(|template| template.contradicted.as_mut()).for_each(visit);
        self.contracts.values_mut().for_each(|contract| contract.each_text(visit));
        for step in &mut self.steps {
            step.arguments.each_text(visit);
            visit(&mut step.result.text);
            step.guards.iter_mut().for_each(|guard| guard.each_text(visit));
            step.slots.iter_mut().for_each(|slot| slot.each_text(visit));
        }
    }

    /// The argument values that are words, for search.
    pub(crate) fn argument_words(&self) -> String {
        let mut words = String::new();
        for json in self.steps.iter().filter_map(|step| step.arguments.json().ok()) {
            json.each_scalar(&mut |text| {
                if text.len() <= MAX_WORD_BYTES {
                    words.push_str(text);
                    words.push(' ');
                }
            });
        }
        words.truncate(words.trim_end_matches(' ').len());
        words
    }
}
