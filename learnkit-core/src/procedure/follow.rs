//! Whether a procedure follows other values of its declared parameters: proof, or the reason why not.

use std::collections::BTreeSet;

use super::guard::{Given, Holds, Place};
use super::slot::{Part, Slot};
use super::value::mentions;
use super::when::Named;
use super::{Procedure, Step};
use crate::Task;
use crate::json::Json;

/// Shorter values are too often the same as something else.
const MIN_CERTAIN_CHARS: usize = 3;

/// Whether procedures of one template that were captured with different values make different calls: then
/// another value may need either of them, or a third.
pub(crate) fn values_decide(procedures: &[&Procedure]) -> bool {
    let [first, rest @ ..] = procedures else { return false };
    // Signatures are long; procedures without parameters, or with the same values, need none.
    if rest.iter().all(|other| other.parameters == first.parameters) {
        return false;
    }
    let signed: Vec<_> = procedures.iter().map(|own| (&own.parameters, own.signature())).collect();
    signed.iter().enumerate().any(|(at, (parameters, calls))| {
        signed.iter().skip(at + 1).any(|(others, other_calls)| others != parameters && other_calls != calls)
    })
}

impl Procedure {
    /// Whether the steps follow the parameters of a task of the same template.
    ///
    /// Its own values always do. Of another value one example is enough where the value stood alone in its
    /// arguments and every other argument is given by the template or by results; else a second example has
    /// to show what changes with the value and what does not.
    ///
    /// # Errors
    /// The reason in words.
    pub(crate) fn follows(&self, task: &Task) -> Result<(), String> {
        let parameters = task.parameters();
        if self.parameters.keys().ne(parameters.keys()) {
            return Err("it was captured with other parameters".to_owned());
        }
        let changed = self.parameters.iter().filter(|(name, value)| parameters.get(*name) != Some(*value));
        let changed: Vec<(&String, &String)> = changed.collect();
        if changed.is_empty() {
            return Ok(());
        }
        self.counts_days_of(task)?;
        for (name, value) in changed {
            self.follows_parameter(name, value, &task.literal())?;
            self.fits_in(name, value, parameters.get(name).map(String::as_str).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Whether the days that it counts are named by the words of the template, and by nothing else of the task.
    fn counts_days_of(&self, task: &Task) -> Result<(), String> {
        let named = [task.literal().as_str(), task.text()].map(|text| Named::of(text).only_day());
        let mut days = self.steps.iter().flat_map(|step| &step.slots).filter_map(Slot::days);
        if days.any(|days| named != [Some(days); 2]) {
            return Err("it counts a day that the value of a parameter named".to_owned());
        }
        Ok(())
    }

    /// Whether a new value may stand inside longer arguments: a quote or slash that the recorded one had not
    /// could end the text around it.
    fn fits_in(&self, name: &str, recorded: &str, value: &str) -> Result<(), String> {
        let mut slots = self.steps.iter().flat_map(|step| &step.slots).filter(|slot| slot.takes_parameter(name));
        let is_new = |sign: char| !sign.is_alphanumeric() && !matches!(sign, '_' | '-') && !recorded.contains(sign);
        if slots.any(|slot| slot.parts.len() > 1) && value.contains(is_new) {
            return Err(format!("the value of `{name}` is a part of a longer argument and has signs that no run had"));
        }
        Ok(())
    }

    fn follows_parameter(&self, name: &str, value: &str, literal: &str) -> Result<(), String> {
        let slots = || self.steps.iter().flat_map(|step| &step.slots).filter(|slot| slot.takes_parameter(name));
        if slots().next().is_none() {
            return Err(format!(
                "no argument of it takes the parameter `{name}`, so what another value changes is unknown"
            ));
        }
        // What stayed the same for several values is a constant.
        if self.varied.contains(name) {
            return Ok(());
        }
        let needs = |why: String| Err(format!("{why}; a second run with another `{name}` has to show what changes"));
        if value.chars().count() < MIN_CERTAIN_CHARS || slots().any(|slot| slot.parts.len() > 1) {
            return needs(format!("the parameter `{name}` is a short value or a part of a longer argument"));
        }
        let given = Given::of([literal]);
        match self.steps.iter().enumerate().find_map(|(at, step)| Some((at, step.unexplained(name, value, &given)?))) {
            Some((at, argument)) => needs(format!(
                "the argument `{argument}` of step {} (`{}`) comes from nowhere known",
                at + 1,
                self.steps.get(at).map(|step| step.tool.as_str()).unwrap_or_default()
            )),
            None => Ok(()),
        }
    }
}

impl Step {
    /// The first argument that may rest on a parameter without taking it: one that has its value in another
    /// form, or one that neither the words of the template nor an earlier result give.
    fn unexplained(&self, name: &str, value: &str, given: &Given) -> Option<String> {
        let json = self.arguments.json().ok()?;
        let (lower, own) = (value.to_lowercase(), Given::of([value]));
        let is_form = |text: &str| text.to_lowercase().contains(&lower) || own.gives(text);
        if is_form(&self.tool) {
            return Some("the tool itself".to_owned());
        }
        // What was chosen, or found by the value, may have been chosen for the value.
        let is_by_value = |path: &str| path.split('/').any(is_form);
        let is_certain =
            |place: &Place| place.holds == Holds::Equal && !place.is_in_list() && !is_by_value(&place.path);
        let held = self.guards.iter().filter(|guard| guard.places.iter().all(is_certain));
        let held: BTreeSet<&str> = held.map(|guard| guard.argument.as_str()).collect();
        if let Some(slot) = self.slots.iter().find(|slot| slot.candidates().any(|place| is_by_value(&place.path))) {
            return Some(slot.argument.clone());
        }
        let slot_of = |pointer: &str| self.slots.iter().find(|slot| slot.argument == pointer);
        let odd = json.leaves().into_iter().find(|leaf| match (slot_of(&leaf.pointer), &leaf.value) {
            // The time behind a date has to be said by the template, as any constant.
            (Some(slot), _) if slot.zone().is_some() => slot.has_text(|text| is_form(text) || !given.gives(text)),
            (Some(slot), _) => !slot.takes_parameter(name) && slot.has_text(is_form),
            (None, Json::Text(text) | Json::Number(text)) => {
                let is_given = text.trim().is_empty() || held.contains(leaf.pointer.as_str()) || given.gives(text);
                !is_given || is_form(text) || (!given.gives(text) && self.is_chosen(&leaf.pointer, is_certain))
            }
            (None, Json::Bool(flag)) => !given.gives(if *flag { "true" } else { "false" }),
            _ => false,
        });
        let odd_key = || json.keys().into_values().flatten().find(|key| mentions(&key.to_lowercase(), &lower));
        odd.map(|leaf| leaf.pointer).or_else(odd_key)
    }
}

impl Step {
    /// Whether an argument, or a part of it, was taken from places of which one is not certain.
    fn is_chosen(&self, argument: &str, is_certain: impl Fn(&Place) -> bool) -> bool {
        let mut own = self.guards.iter().filter(|guard| guard.argument == argument).flat_map(|guard| &guard.places);
        own.any(|place| !is_certain(place))
    }
}

impl Slot {
    fn has_text(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Text { text } if fits(text)))
    }
}
