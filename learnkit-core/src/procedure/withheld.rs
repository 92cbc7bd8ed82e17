//! What of a procedure no planner is shown: calls and sentences that came from free text in a result.
//! Shown as a step, the text of a stranger would become an instruction.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Procedure, Step};
use crate::json::Json;
use crate::run::Arguments;

/// Stands for a call that is not shown.
const CALL: &str = "(a call that free text in a result gave or asked for is left out)";
/// Stands for an argument that is not shown.
const ARGUMENT: &str = "(text from a result)";

/// A part of a procedure that is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withheld {
    /// The index of the step, from 0.
    pub step: usize,
    /// The argument, a JSON pointer; absent for the whole call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
}

impl Procedure {
    /// The procedure as a planner or another agent may read it. Steps keep their numbers.
    pub(crate) fn for_planners(&self) -> Cow<'_, Self> {
        if self.withheld.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut shown = self.clone();
        for (index, step) in shown.steps.iter_mut().enumerate() {
            let of_step = self.withheld.iter().filter(|withheld| withheld.step == index);
            let arguments: Vec<Option<&str>> = of_step.map(|withheld| withheld.argument.as_deref()).collect();
            if arguments.contains(&None) {
                step.leave_out();
            } else {
                step.cover(arguments.into_iter().flatten());
            }
        }
        Cow::Owned(shown)
    }
}

impl Step {
    fn leave_out(&mut self) {
        CALL.clone_into(&mut self.tool);
        self.arguments = Arguments::from_raw("{}");
        self.slots.clear();
        self.guards.clear();
    }

    fn cover<'p>(&mut self, pointers: impl Iterator<Item = &'p str>) {
        let covered: BTreeMap<String, Json> =
            pointers.map(|pointer| (pointer.to_owned(), Json::Text(ARGUMENT.to_owned()))).collect();
        if covered.is_empty() {
            return;
        }
        if let Ok(json) = self.arguments.json() {
            self.arguments = Arguments::from_raw(json.with_leaves(&covered).to_text());
        }
    }
}
