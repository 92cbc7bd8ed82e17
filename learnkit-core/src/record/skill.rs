//! A skill: a procedure that solved a task, or a prose skill that a person wrote.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::procedure::Procedure;

/// What solved a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skill {
    /// The task it solved, in words.
    pub trigger: String,
    /// The calls that solved it; absent for a skill written by a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedure: Option<Procedure>,
    /// Steps in words, for a skill without a procedure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What to keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// What went wrong before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pitfalls: Vec<String>,
}

impl Skill {
    /// A skill made of a procedure.
    pub fn of_procedure(procedure: Procedure) -> Self {
        Self {
            trigger: procedure.trigger.clone(),
            procedure: Some(procedure),
            steps: Vec::new(),
            constraints: Vec::new(),
            pitfalls: Vec::new(),
        }
    }

    /// The skill as a planner or another agent may read it: without what free text in a result gave.
    pub(crate) fn for_planners(&self) -> Cow<'_, Self> {
        match self.procedure.as_ref().map(Procedure::for_planners) {
            Some(Cow::Owned(procedure)) => Cow::Owned(Self { procedure: Some(procedure), ..self.clone() }),
            _ => Cow::Borrowed(self),
        }
    }
}
