//! What a procedure does to the world, and what it reads of it before.

use super::{Procedure, Step};
use crate::tool::EffectClass;

impl Procedure {
    /// The index of the first step that may change something; absent where every step is stated to only read.
    pub fn first_effect(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.effect != EffectClass::ReadOnly)
    }

    /// Whether a step that is stated to only read is over before the first effect begins.
    pub fn reads_before_effects(&self) -> bool {
        let Some(effect) = self.first_effect().and_then(|first| self.steps.get(first)) else { return true };
        let mut reads = self.steps.iter().take_while(|step| step.effect == EffectClass::ReadOnly);
        // A read that runs side by side with the effect comes too late.
        reads.any(|read| read.group.is_none() || read.group != effect.group)
    }

    /// Whether the effect class of every step is stated and one of them is an effect.
    pub(crate) fn has_known_effects(&self) -> bool {
        self.first_effect().is_some() && self.steps.iter().all(|step| step.effect != EffectClass::Unknown)
    }

    /// Whether both make the same calls of one task: what they take anew comes from a place that they share,
    /// and of parameters that differ every one is taken.
    pub(crate) fn has_calls_of(&self, other: &Self) -> bool {
        let differs = |(name, value): (&String, &String)| other.parameters.get(name) != Some(value);
        let mut differing = self.parameters.iter().filter(|pair| differs(*pair)).map(|(name, _)| name);
        let takes =
            |name: &String| self.steps.iter().flat_map(|step| &step.slots).any(|slot| slot.takes_parameter(name));
        self.parameters.keys().eq(other.parameters.keys())
            && self.signature() == other.signature()
            && self.shares_places(other)
            && differing.all(takes)
    }

    /// Whether every step takes what it takes anew from a place that both read.
    fn shares_places(&self, other: &Self) -> bool {
        let numbers = self.numbers_of(other);
        let share = |theirs: usize, own: usize| {
            let pair = self.template(own, other.loop_argument(theirs)).zip(self.template_of(other, theirs, &numbers));
            pair.is_some_and(|(own, other)| own.shares_places(&other))
        };
        let back = other.numbers_of(self);
        numbers.iter().all(|(theirs, own)| share(*theirs, *own))
            && self.shares_loops(other, &numbers)
            && other.shares_loops(self, &back)
    }

    /// Whether both are known to change the world alike: their effects are stated, and equal in tool,
    /// arguments and order, whatever they read in between.
    pub(crate) fn has_effects_of(&self, other: &Self) -> bool {
        let is_known = self.has_known_effects() && other.has_known_effects();
        is_known && self.parameters == other.parameters && effects(self).eq(effects(other))
    }

    /// Whether the two may change the world in different ways: steps that are not stated to only read are
    /// not the same ones. What they take anew does not count.
    pub(crate) fn changes_otherwise_than(&self, other: &Self) -> bool {
        let effects = |own: &Self| -> Vec<String> {
            let effects = own.steps.iter().filter(|step| step.effect != EffectClass::ReadOnly);
            effects.map(|step| step.signature(None)).collect()
        };
        self.is_for_values_of(other) && effects(self) != effects(other) && !self.has_effects_of(other)
    }

    /// Whether both solved the same task: where the values of a parameter differ, one of them had several.
    fn is_for_values_of(&self, other: &Self) -> bool {
        let is_same = |name: &String| {
            self.parameters.get(name) == other.parameters.get(name)
                || self.varied.contains(name)
                || other.varied.contains(name)
        };
        self.parameters.keys().eq(other.parameters.keys()) && self.parameters.keys().all(is_same)
    }
}

fn effects(procedure: &Procedure) -> impl Iterator<Item = (&str, String)> {
    let effects = procedure.steps.iter().filter(|step| step.effect != EffectClass::ReadOnly);
    effects.map(|step: &Step| (step.tool.as_str(), step.arguments.stable()))
}
