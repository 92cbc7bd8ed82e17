//! Distilling: the calls of a run become a procedure. Deterministic, no model.
//!
//! It drops only failed calls, consecutive exact repeats and declared exploration that feeds
//! nothing; guessing that a read was useless broke 110 of 1,906 real procedures.

use std::collections::{BTreeMap, BTreeSet};

use super::guard::Results;
use super::value::{is_opaque, mentions};
use super::{Dropped, Guard, Procedure, Shape, Step};
use crate::json::Json;
use crate::record::RunId;
use crate::run::ToolCall;
use crate::secret::{mask_json, mask_text};
use crate::tool::EffectClass;

/// Longer arguments make a procedure guide-only, in bytes.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// More steps make a procedure guide-only.
const MAX_STEPS: usize = 256;

/// The run that a procedure is made of.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The task in words, parameters filled in.
    pub task: &'a str,
    /// The declared parameters.
    pub parameters: &'a BTreeMap<String, String>,
    /// The calls.
    pub calls: &'a [ToolCall],
    /// The answer.
    pub answer: Option<&'a str>,
    /// The run.
    pub run: &'a RunId,
    /// How much of a result is stored, in bytes.
    pub stored_result_bytes: usize,
}

/// What distilling made.
#[derive(Debug, Clone, PartialEq)]
pub enum Distilled {
    /// A procedure.
    Procedure(Box<Procedure>),
    /// No call is left; every call with the reason why it was dropped.
    Nothing(Vec<Dropped>),
}

/// Makes a procedure of a run.
pub fn distil(source: &Source<'_>) -> Distilled {
    let mut draft = Draft::of(source);
    draft.drop_idle_exploration();
    if draft.kept.is_empty() {
        return Distilled::Nothing(draft.dropped);
    }
    Distilled::Procedure(Box::new(draft.procedure()))
}

struct Draft<'a> {
    source: &'a Source<'a>,
    /// Index in the run and call.
    kept: Vec<(usize, &'a ToolCall)>,
    dropped: Vec<Dropped>,
    guide_only: Vec<String>,
}

impl<'a> Draft<'a> {
    fn of(source: &'a Source<'a>) -> Self {
        let mut draft = Self { source, kept: Vec::new(), dropped: Vec::new(), guide_only: Vec::new() };
        for (index, call) in source.calls.iter().enumerate() {
            match draft.reason_to_drop(call) {
                Some(reason) => draft.drop_call(index, call, reason),
                None => draft.kept.push((index, call)),
            }
            if !call.status.is_ok() && call.annotations.effect() == EffectClass::Destructive {
                draft.guide_only.push(format!("a call of the destructive tool `{}` failed", call.tool));
            }
        }
        draft
    }

    fn reason_to_drop(&self, call: &ToolCall) -> Option<&'static str> {
        if call.parent.is_some() {
            return Some("made from inside another call");
        }
        if !call.status.is_ok() {
            return Some("failed");
        }
        let (_, last) = self.kept.last()?;
        let repeats = last.tool == call.tool && last.arguments.same_as(&call.arguments) && last.output == call.output;
        repeats.then_some("repeats the call before it")
    }

    fn drop_call(&mut self, index: usize, call: &ToolCall, reason: &str) {
        self.dropped.push(Dropped { call: index, tool: call.tool.clone(), reason: reason.to_owned() });
    }

    /// Drops declared exploration whose results feed neither a later step nor the answer.
    fn drop_idle_exploration(&mut self) {
        loop {
            let feeding = self.feeding();
            let idle = self.kept.iter().enumerate().position(|(step, (_, call))| {
                call.annotations.exploration && !feeding.contains(&step) && !self.feeds_answer(call)
            });
            let Some(step) = idle else { return };
            let (index, call) = self.kept.remove(step);
            self.drop_call(index, call, "exploration that feeds nothing");
        }
    }

    /// The kept steps whose results later arguments came from.
    fn feeding(&self) -> BTreeSet<usize> {
        self.guards().iter().flatten().flat_map(|guard| guard.places.iter().map(|place| place.step)).collect()
    }

    fn guards(&self) -> Vec<Vec<Guard>> {
        let mut results = Results::default();
        let mut all = Vec::new();
        for (_, call) in &self.kept {
            all.push(results.guards(&call.arguments, |value| self.is_given(value)));
            results.push(&call.output.to_json());
        }
        // Steps that ran side by side cannot feed each other.
        for (step, guards) in all.iter_mut().enumerate() {
            for guard in guards.iter_mut() {
                guard.places.retain(|place| !self.side_by_side(place.step, step));
            }
            guards.retain(|guard| !guard.places.is_empty());
        }
        all
    }

    fn side_by_side(&self, a: usize, b: usize) -> bool {
        let group = |step: usize| self.kept.get(step).and_then(|(_, call)| call.group);
        group(a).is_some() && group(a) == group(b)
    }

    /// Whether the task text or a parameter gives a value.
    fn is_given(&self, value: &str) -> bool {
        mentions(self.source.task, value) || self.source.parameters.values().any(|given| given == value)
    }

    fn feeds_answer(&self, call: &ToolCall) -> bool {
        !self.answered_patterns(&call.output.to_json()).is_empty()
    }

    /// The leaves that the answer names and the task does not.
    fn answered_patterns(&self, result: &Json) -> BTreeSet<String> {
        let Some(answer) = self.source.answer else { return BTreeSet::new() };
        let named = |value: &Json| {
            let Some(text) = value.scalar_text() else { return false };
            let telling = text.chars().count() >= 3 || is_opaque(value) || matches!(value, Json::Number(_));
            telling && mentions(answer, text) && !self.is_given(text)
        };
        result.leaves().into_iter().filter(|leaf| named(&leaf.value)).map(|leaf| leaf.pattern).collect()
    }

    fn procedure(mut self) -> Procedure {
        let guards = self.guards();
        let mut used: Vec<BTreeSet<String>> =
            self.kept.iter().map(|(_, call)| self.answered_patterns(&call.output.to_json())).collect();
        for place in guards.iter().flatten().flat_map(|guard| &guard.places) {
            if let Some(used) = used.get_mut(place.step) {
                used.insert(place.path.clone());
            }
        }
        self.refuse_what_cannot_replay();
        let limit = self.source.stored_result_bytes;
        let kept = self.kept.iter().zip(guards).zip(&used);
        let steps = kept.map(|(((_, call), guards), used)| step(call, guards, used, limit)).collect();
        let answer = self.source.answer.map(mask_text);
        self.dropped.sort_by_key(|dropped| dropped.call);
        Procedure {
            trigger: mask_text(self.source.task).text,
            steps,
            parameters: masked_parameters(self.source.parameters),
            // A masked answer is not the answer, and a placeholder is never returned.
            answer: answer
                .filter(|masked| masked.found == 0 && !masked.text.trim().is_empty())
                .map(|masked| masked.text),
            dropped: self.dropped,
            guide_only: self.guide_only,
            source_run: self.source.run.clone(),
            version: 1,
        }
    }

    fn refuse_what_cannot_replay(&mut self) {
        for (step, (_, call)) in self.kept.iter().enumerate() {
            let raw = call.arguments.raw();
            let fault = if !call.arguments.is_object() {
                "are not a JSON object"
            } else if raw.len() > MAX_ARGUMENT_BYTES {
                "are longer than 64 KiB"
            } else if mask_json(raw).found > 0 {
                "hold a secret"
            } else {
                continue;
            };
            self.guide_only.push(format!("the arguments of step {} (`{}`) {fault}", step + 1, call.tool));
        }
        if self.kept.len() > MAX_STEPS {
            self.guide_only.push(format!("it has more than {MAX_STEPS} steps"));
        }
    }
}

fn masked_parameters(parameters: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    parameters.iter().map(|(name, value)| (name.clone(), mask_text(value).text)).collect()
}

fn step(call: &ToolCall, guards: Vec<Guard>, used: &BTreeSet<String>, limit: usize) -> Step {
    let stored = call.stored(limit);
    let guards = guards.into_iter().map(|guard| Guard { value: mask_text(&guard.value).text, ..guard }).collect();
    Step {
        tool: call.tool.clone(),
        arguments: stored.arguments,
        effect: call.annotations.effect(),
        requires_approval: call.annotations.requires_approval,
        group: call.group,
        guards,
        shape: Shape::of(&call.output.to_json(), used),
        result: stored.result,
    }
}
