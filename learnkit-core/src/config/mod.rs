//! Settings of the engine, where they come from, and backend URIs.

mod file;
mod layers;
mod load;
mod replay_policy;
mod setting;
mod template_replay;
mod uri;
mod zone;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use file::{BudgetConfig, Config, MaintainConfig, Switch};
pub use layers::{CONFIG_FILE, CONFIG_VARIABLE, ConfigFile, DEFAULT_BACKEND, Layer, Layers};
pub use replay_policy::ReplayPolicy;
pub use setting::Setting;
pub use template_replay::TemplateReplay;
pub use uri::BackendUri;
pub use zone::TimeZone;

use crate::run::{QUALITY_THRESHOLD, STORED_RESULT_BYTES};
use crate::{Error, ErrorKind, Result};

/// Which trust a record needs to replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReplayTrust {
    /// A passing gate on tool outcomes is enough; with a step of a tool annotated destructive it has to be
    /// confirmed.
    #[default]
    ToolOutcome,
    /// What is unverified replays only where every step is read-only; what has effects has to be confirmed, and
    /// is refused while it is [unchecked](crate::lifecycle::WorldCheck::Unchecked).
    Careful,
    /// Only what the caller reported, or a verifier found, as a success.
    Verified,
}

impl ReplayTrust {
    /// The name in snake case, as settings write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolOutcome => "tool_outcome",
            Self::Careful => "careful",
            Self::Verified => "verified",
        }
    }
}

impl std::fmt::Display for ReplayTrust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for ReplayTrust {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = [Self::ToolOutcome, Self::Careful, Self::Verified].into_iter().find(|trust| trust.as_str() == text);
        known.ok_or_else(|| Error::invalid("unknown replay trust; use `tool_outcome`, `careful` or `verified`"))
    }
}

/// How much a playbook may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetrievalBudget {
    /// At most so many records.
    pub records: usize,
    /// At most so many tokens for the whole block, fence included.
    pub tokens: usize,
}

impl Default for RetrievalBudget {
    fn default() -> Self {
        Self { records: 8, tokens: 1200 }
    }
}

/// Settings of the engine; the defaults are those of `semantics.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// A gate score from here on passes, 0 to 5.
    pub quality_threshold: f64,
    /// Which trust a record needs to replay.
    pub replay_trust: ReplayTrust,
    /// What a replay may do on its own.
    pub replay_policy: ReplayPolicy,
    /// Whether templates that runs confirmed replay for texts that nobody asked before.
    pub template_replay: TemplateReplay,
    /// How much a playbook may take.
    pub budget: RetrievalBudget,
    /// Longer results are stored as a prefix, in bytes.
    pub stored_result_bytes: usize,
    /// The longest that memory may hold up a run for one call to the store.
    pub memory_deadline: Duration,
    /// The longest that a verifier, precheck or secret provider of the host may take; it may ask another system.
    pub hook_deadline: Duration,
    /// The longest that a replay waits for one approval; a person may have to be found.
    pub approval_deadline: Duration,
    /// How long a run stays with its process after the last word of it; then a retry by its id may take it.
    pub run_lease: Duration,
    /// The share of runs that skip memory, 0 to 1, so that arms can be compared.
    pub holdout_rate: f64,
    /// The time zone in which a task means "today".
    pub time_zone: TimeZone,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quality_threshold: QUALITY_THRESHOLD,
            replay_trust: ReplayTrust::default(),
            replay_policy: ReplayPolicy::default(),
            template_replay: TemplateReplay::default(),
            budget: RetrievalBudget::default(),
            stored_result_bytes: STORED_RESULT_BYTES,
            memory_deadline: Duration::from_secs(5),
            hook_deadline: Duration::from_secs(30),
            approval_deadline: Duration::from_mins(10),
            run_lease: Duration::from_secs(30),
            holdout_rate: 0.0,
            time_zone: TimeZone::default(),
        }
    }
}

impl Settings {
    /// Whether every number is in its range.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::new(ErrorKind::Config, what));
        if !(0.0..=5.0).contains(&self.quality_threshold) {
            return wrong("`quality_threshold` must be from 0 to 5");
        }
        self.template_replay.check()?;
        if !(0.0..=1.0).contains(&self.holdout_rate) {
            return wrong("`holdout_rate` must be from 0 to 1");
        }
        if self.memory_deadline.is_zero() {
            return wrong("`memory_deadline` must be longer than 0");
        }
        if self.hook_deadline.is_zero() {
            return wrong("`hook_deadline` must be longer than 0");
        }
        if self.approval_deadline.is_zero() {
            return wrong("`approval_deadline` must be longer than 0");
        }
        if self.run_lease.is_zero() {
            return wrong("`run_lease` must be longer than 0");
        }
        Ok(())
    }
}

/// Provider keys whose presence makes the LLM-backed parts possible.
const PROVIDER_KEYS: [&str; 10] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "TOGETHERAI_API_KEY",
    "COHERE_API_KEY",
];

/// Whether LearnKit works without any network (semantics §11): `LEARNKIT_OFFLINE` says so, or there
/// is neither a provider key nor a `LEARNKIT_CLASSIFIER_MODEL` or `LEARNKIT_DISTILLER_MODEL`.
pub fn is_offline(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).is_some_and(|value| !value.trim().is_empty());
    match variable("LEARNKIT_OFFLINE").unwrap_or_default().trim().to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => true,
        "0" | "false" | "no" | "off" => false,
        _ => {
            !PROVIDER_KEYS.iter().any(|key| set(key))
                && !set("LEARNKIT_CLASSIFIER_MODEL")
                && !set("LEARNKIT_DISTILLER_MODEL")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offline_is_the_default_and_can_be_forced() {
        let with = |pairs: &'static [(&str, &str)]| {
            is_offline(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(with(&[]));
        assert!(!with(&[("OPENAI_API_KEY", "k")]));
        assert!(with(&[("OPENAI_API_KEY", "k"), ("LEARNKIT_OFFLINE", "1")]));
        assert!(!with(&[("LEARNKIT_CLASSIFIER_MODEL", "m")]));
        assert!(with(&[("OPENAI_API_KEY", " ")]));
    }
}
