//! The seven kinds of content behind one type.

use serde::{Deserialize, Serialize};

use super::{Confidence, Fact, Failure, Heuristic, Preference, Skill, Status, Strategy, Trace};
use crate::{Error, Result};

/// Which of the seven kinds a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A procedure or prose skill.
    Skill,
    /// A statement.
    Fact,
    /// A dead end.
    Failure,
    /// An approach.
    Strategy,
    /// A preference.
    Preference,
    /// The account of a run.
    Trace,
    /// A rule of thumb.
    Heuristic,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Skill, Self::Fact, Self::Failure, Self::Strategy, Self::Preference, Self::Trace, Self::Heuristic];

    /// The kinds that may guide: all but traces, which would crowd out the rest.
    pub const GUIDING: [Self; 6] =
        [Self::Skill, Self::Fact, Self::Failure, Self::Strategy, Self::Preference, Self::Heuristic];

    /// The kind in snake case, as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Fact => "fact",
            Self::Failure => "failure",
            Self::Strategy => "strategy",
            Self::Preference => "preference",
            Self::Trace => "trace",
            Self::Heuristic => "heuristic",
        }
    }

    /// Time to live in days (semantics §7).
    pub fn ttl_days(self) -> i64 {
        match self {
            Self::Skill | Self::Strategy => 180,
            Self::Fact | Self::Failure | Self::Heuristic => 90,
            Self::Preference => 365,
            Self::Trace => 30,
        }
    }

    /// The status a new record starts with: failures and traces are active at once.
    pub fn start_status(self) -> Status {
        match self {
            Self::Failure | Self::Trace => Status::Active,
            _ => Status::Probation,
        }
    }

    /// The confidence a new record starts with.
    pub fn start_confidence(self) -> Confidence {
        match self {
            Self::Failure => Confidence::FAILURE,
            _ => Confidence::START,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            Error::invalid(format!(
                "unknown record kind `{text}`; use skill, fact, failure, strategy, preference, trace or heuristic"
            ))
        })
    }
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "most records are skills, and one stands alone in its record")]
pub enum Content {
    /// See [`Skill`].
    Skill(Skill),
    /// See [`Fact`].
    Fact(Fact),
    /// See [`Failure`].
    Failure(Failure),
    /// See [`Strategy`].
    Strategy(Strategy),
    /// See [`Preference`].
    Preference(Preference),
    /// See [`Trace`].
    Trace(Trace),
    /// See [`Heuristic`].
    Heuristic(Heuristic),
}

/// The texts that full-text search looks at; ids, hashes, results and counters are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchText {
    /// The task or statement in words.
    pub title: String,
    /// Tool names.
    pub tools: String,
    /// Everything else that says something: steps, constraints, argument values.
    pub body: String,
}

impl Content {
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Skill(_) => Kind::Skill,
            Self::Fact(_) => Kind::Fact,
            Self::Failure(_) => Kind::Failure,
            Self::Strategy(_) => Kind::Strategy,
            Self::Preference(_) => Kind::Preference,
            Self::Trace(_) => Kind::Trace,
            Self::Heuristic(_) => Kind::Heuristic,
        }
    }

    /// The texts that search looks at.
    pub fn search_text(&self) -> SearchText {
        let mut text = SearchText::default();
        match self {
            Self::Skill(skill) => {
                text.title.clone_from(&skill.trigger);
                text.body = [skill.steps.as_slice(), &skill.constraints, &skill.pitfalls].concat().join("\n");
                if let Some(procedure) = &skill.procedure {
                    text.tools = procedure.tools().join(" ");
                    text.body.push('\n');
                    text.body.push_str(&procedure.argument_words());
                }
            }
            Self::Fact(fact) => text.title.clone_from(&fact.statement),
            Self::Failure(failure) => {
                text.title.clone_from(&failure.description);
                text.tools = failure.tools.join(" ");
                text.body.clone_from(&failure.what_to_avoid);
            }
            Self::Strategy(strategy) => {
                text.title.clone_from(&strategy.goal);
                text.body = strategy.phases.join("\n");
            }
            Self::Preference(preference) => {
                text.title = format!("{} {}", preference.key, preference.value);
            }
            Self::Trace(trace) => {
                text.title.clone_from(&trace.task);
                text.tools = trace.calls.join(" ");
            }
            Self::Heuristic(heuristic) => {
                text.title.clone_from(&heuristic.rule);
                text.body = heuristic.exception.clone().unwrap_or_default();
            }
        }
        text
    }
}
