//! A skill in words: what every format says of it, and what an import keeps of it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::plain::{code, cut, json_line, plain, plain_lines, span};
use crate::procedure::{DaysOn, Origin, OriginSource, Step};
use crate::record::Skill;
use crate::secret::{mask_json, mask_text};

/// Longer arguments are named in words only with their beginning, in characters.
const ARGUMENT_CHARS: usize = 2_000;

/// A skill in words, without anything that could be carried out by a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillWords {
    /// What it is for: the task it solved, or what its author says.
    pub task: String,
    /// What to do, in order; Markdown.
    #[serde(default)]
    pub steps: Vec<String>,
    /// What to keep to.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// What went wrong before.
    #[serde(default)]
    pub pitfalls: Vec<String>,
}

impl SkillWords {
    /// The words of a skill, secrets masked once more. Results and answers are not among them: tools
    /// wrote those.
    pub(crate) fn of(skill: &Skill) -> Self {
        let each = |texts: &[String]| texts.iter().map(|text| shown(text)).filter(|text| !text.is_empty()).collect();
        let steps = match &skill.procedure {
            Some(procedure) => procedure.steps.iter().map(call_in_words).collect(),
            None => each(&skill.steps),
        };
        Self {
            task: plain(&mask_text(&skill.trigger).text),
            steps,
            constraints: each(&skill.constraints),
            pitfalls: each(&skill.pitfalls),
        }
    }
}

impl From<SkillWords> for Skill {
    /// A prose skill: it guides, and there is nothing in it to replay.
    fn from(words: SkillWords) -> Self {
        let SkillWords { task, steps, constraints, pitfalls } = words;
        Self { trigger: task, procedure: None, steps, constraints, pitfalls }
    }
}

/// Text that a person wrote, line by line.
fn shown(text: &str) -> String {
    plain_lines(mask_text(text).text.trim()).join("\n")
}

/// A call as a sentence; where an argument came from an earlier result, that is said instead of trusted.
fn call_in_words(step: &Step) -> String {
    let arguments = mask_json(step.arguments.raw()).text;
    let arguments = json_line(&arguments).unwrap_or_else(|| plain(&arguments));
    let shown = cut(&arguments, ARGUMENT_CHARS);
    let mut sentence = format!("Call {} with {}", code(&step.tool), span(&shown));
    if shown != arguments {
        sentence.push_str("; the arguments are cut here");
    }
    for Origin { argument, source } in step.origins() {
        let argument = code(argument);
        // A String takes every write.
        let _ = match source {
            OriginSource::Parameter(name) => write!(sentence, "; take {argument} anew from the task's {}", code(name)),
            OriginSource::Secret(name) => write!(sentence, "; take {argument} from the secret {}", code(name)),
            OriginSource::Clock { days } => write!(sentence, "; take the date of {argument} anew: {}", DaysOn(days)),
            OriginSource::Result { step, path } => {
                let path = code(if path.is_empty() { "/" } else { path });
                write!(sentence, "; take {argument} anew from the result of step {} at {path}", step + 1)
            }
        };
    }
    if step.requires_approval {
        sentence.push_str("; a person has to approve this call");
    }
    sentence + "."
}
