//! Procedures: the cleaned calls that solved a task, with what must still hold to make them again.
//!
//! Not here: carrying one out ([`crate::replay`]).

mod distil;
mod effects;
mod guard;
mod look;
mod said;
mod shape;
mod value;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use distil::distil_read;
pub use distil::{Distilled, Source, distil};
pub(crate) use guard::Results;
pub use guard::{Check, Guard, Holds, Place};
pub(crate) use said::Said;
pub use shape::{LeafShape, Shape};
pub use value::is_opaque;
pub(crate) use value::{is_date_or_time, mentions, same_scalar};

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
    /// The declared parameters it was captured with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The answer that was given, for replays whose results equal the recorded ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Calls that were left out, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
    /// Why it may only guide; empty when it may replay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guide_only: Vec<String>,
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
    /// The arguments, to the letter.
    pub arguments: Arguments,
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

    /// Whether it may replay as far as the procedure itself goes.
    pub fn may_replay(&self) -> bool {
        self.guide_only.is_empty()
    }

    /// The steps as they decide identity: tool and arguments, nothing else.
    pub(crate) fn signature(&self) -> String {
        let steps = self.steps.iter().map(|step| format!("{}\u{1f}{}", step.tool, step.arguments.stable()));
        steps.collect::<Vec<_>>().join("\u{1e}")
    }

    /// Visits every free text of it.
    pub(crate) fn each_text(&mut self, visit: &impl Fn(&mut String)) {
        visit(&mut self.trigger);
        self.answer.iter_mut().for_each(visit);
        self.guide_only.iter_mut().for_each(visit);
        for step in &mut self.steps {
            step.arguments.each_text(visit);
            visit(&mut step.result.text);
            step.guards.iter_mut().for_each(|guard| visit(&mut guard.value));
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
