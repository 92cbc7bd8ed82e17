//! An exported skill: its fields, and the files made of it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::MAX_DESCRIPTION_CHARS;
use super::front::front_matter;
use super::markdown;
use super::plain::{cut, inert_json, json_line, plain};
use super::words::SkillWords;
use crate::procedure::{Origin, OriginSource, Step};
use crate::record::{AgentName, Record, RecordId, Scope, Skill, Status, Trust};
use crate::secret::mask_json;
use crate::tool::EffectClass;
use crate::{Error, ErrorKind, Result};

/// A description names so much of the task and of the tools, in characters.
const DESCRIBED_TASK: usize = 600;
const DESCRIBED_TOOLS: usize = 200;

/// A skill as it leaves a store. It holds no result of a tool, no answer and no secret that masking
/// finds, and nothing of it replays.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedSkill {
    /// The name, which is the name of its folder too.
    pub name: String,
    /// What it does and when to use it, on one line.
    pub description: String,
    /// The record it was made of.
    pub record: RecordId,
    /// Who owns that record.
    pub scope: Scope,
    /// The agent it was learned by.
    pub agent: AgentName,
    /// Active, or on probation.
    pub status: Status,
    /// How sure the gate was.
    pub trust: Trust,
    /// How far it is expected to help, 0 to 1.
    pub confidence: f64,
    /// Times it was used.
    pub reuse_count: u64,
    /// What it says.
    pub words: SkillWords,
    /// The calls of a procedure, for programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ExportedCall>,
}

/// A call of an exported procedure.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedCall {
    /// The tool.
    pub tool: String,
    /// The arguments on one line, their values to the letter; a text where they were no JSON.
    pub arguments: Box<RawValue>,
    /// What the call may do to the world.
    pub effect: EffectClass,
    /// Whether a person has to approve it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_approval: bool,
    /// Calls with one number ran side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Arguments that came from earlier results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_from: Vec<TakenFrom>,
}

/// Where an argument came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakenFrom {
    /// The argument, a JSON pointer into the arguments.
    pub argument: String,
    /// The number of the earlier step, from 1.
    pub step: usize,
    /// The leaf of its result, with `*` for list positions.
    pub path: String,
}

impl ExportedSkill {
    pub(crate) fn of(record: &Record, skill: &Skill, name: String) -> Result<Self> {
        let skill = skill.for_planners();
        let words = SkillWords::of(&skill);
        let steps = skill.procedure.as_ref().map(|procedure| procedure.steps.as_slice()).unwrap_or_default();
        let tools: Vec<&str> = steps.iter().map(|step| step.tool.as_str()).collect();
        Ok(Self {
            name,
            description: describe(&words, &tools, record.status),
            record: record.id.clone(),
            scope: record.scope.clone(),
            agent: record.agent.clone(),
            status: record.status,
            trust: record.trust,
            confidence: record.confidence.get(),
            reuse_count: record.usage.reuse_count,
            words,
            calls: steps.iter().map(ExportedCall::of).collect::<Result<_>>()?,
        })
    }

    /// `SKILL.md`: front matter of the Agent Skills format, and a body within its limits.
    pub fn skill_md(&self) -> String {
        format!("{}\n{}", front_matter(self), markdown::body(self))
    }

    /// `references/skill.json`: the whole skill for programs.
    ///
    /// # Errors
    /// `Internal` when it cannot be written as JSON.
    pub fn reference(&self) -> Result<String> {
        let json = serde_json::to_string_pretty(self).map_err(unwritable)?;
        Ok(inert_json(&json) + "\n")
    }

    /// Reads what [`Self::reference`] wrote.
    ///
    /// # Errors
    /// `InvalidInput` when it is something else.
    pub fn parse(json: &str) -> Result<Self> {
        let message = "it is no exported skill; `learnkit skills export` writes one";
        serde_json::from_str(json).map_err(|error| Error::invalid(message).with_source(error))
    }

    /// The tools in the order of the calls, each once.
    pub(super) fn tools(&self) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        for call in &self.calls {
            if !tools.contains(&call.tool) {
                tools.push(call.tool.clone());
            }
        }
        tools
    }

    /// Why a tool does not stand in `allowed-tools`: that list grants its tools, and it is split at spaces.
    pub(super) fn objection(&self, tool: &str) -> Option<&'static str> {
        let mut calls = self.calls.iter().filter(|call| call.tool == tool);
        // Brackets and stars are patterns there: a tool of that name would grant others.
        let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | ':' | '/');
        if tool.is_empty() || !tool.chars().all(is_name) {
            return Some("its name cannot stand in `allowed-tools`");
        }
        if calls.any(|call| call.requires_approval || call.effect == EffectClass::Destructive) {
            return Some("a person has to approve it");
        }
        let may_change = |call: &ExportedCall| call.tool == tool && call.effect == EffectClass::Unknown;
        if self.status == Status::Probation && self.calls.iter().any(may_change) {
            return Some("it may change something, and the skill is unproven");
        }
        None
    }
}

impl ExportedCall {
    fn of(step: &Step) -> Result<Self> {
        let masked = mask_json(step.arguments.raw()).text;
        let arguments = match json_line(&masked).map(RawValue::from_string) {
            Some(Ok(value)) => value,
            _ => serde_json::value::to_raw_value(&masked).map_err(unwritable)?,
        };
        let taken_from = step.origins().into_iter().filter_map(|Origin { argument, source }| match source {
            OriginSource::Parameter(_) | OriginSource::Secret(_) | OriginSource::Clock { .. } => None,
            OriginSource::Result { step, path } => {
                Some(TakenFrom { argument: argument.to_owned(), step: step + 1, path: path.to_owned() })
            }
        });
        Ok(Self {
            tool: step.tool.clone(),
            arguments,
            effect: step.effect,
            requires_approval: step.requires_approval,
            group: step.group,
            taken_from: taken_from.collect(),
        })
    }
}

pub(super) fn unwritable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Internal, "the skill cannot be written as JSON; report this").with_source(error)
}

/// What hosts show a model of every skill, so recorded text in it is quoted, short and on one line.
fn describe(words: &SkillWords, tools: &[&str], status: Status) -> String {
    if tools.is_empty() {
        let task = cut(&words.task, MAX_DESCRIPTION_CHARS);
        return if task.is_empty() { "A skill without a description.".to_owned() } else { task };
    }
    let task = cut(&words.task, DESCRIBED_TASK).replace('"', "'");
    let tools = cut(&plain(&tools.join(", ")), DESCRIBED_TOOLS);
    let proof = if status == Status::Probation { " Unproven: check each step." } else { "" };
    let count = if tools.contains(',') { "calls" } else { "call" };
    let text =
        format!("Tool {count} that solved the task \"{task}\": {tools}. Use it for this task or one like it.{proof}");
    cut(&text, MAX_DESCRIPTION_CHARS)
}
