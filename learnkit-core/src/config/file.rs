//! The settings of one place: what a `learnkit.toml` says, or the environment, or a command line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

use super::{BackendUri, ReplayPolicy, ReplayTrust, RetrievalBudget, Settings, TemplateReplay, TimeZone};
use crate::lifecycle::MaintenancePlan;
use crate::record::{AgentName, Owner, Scope, Tenant};
use crate::{Error, Result};

/// Settings, each of them set or absent. `learnkit.toml` has the same names and sections:
///
/// ```
/// use learnkit_core::config::Config;
/// let config = Config::parse(r#"
///     backend = "sqlite:learnkit.db"
///     scope = "team:ops"
///
///     [budget]
///     tokens = 800
/// "#)?;
/// assert_eq!(config.budget.tokens, Some(800));
/// # Ok::<(), learnkit_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Config {
    /// The store; a relative path in it starts in the working directory.
    pub backend: Option<BackendUri>,
    /// The isolation boundary above every scope.
    pub tenant: Option<Tenant>,
    /// The scope that is written to, and from which reading starts.
    pub scope: Option<Scope>,
    /// The team whose records a user reads.
    pub team: Option<Owner>,
    /// The agent.
    pub agent: Option<AgentName>,
    /// Whether nothing may use a network; absent means that provider keys decide.
    pub offline: Option<Switch>,
    /// The model that classifies tasks.
    pub classifier_model: Option<String>,
    /// The model that distils runs.
    pub distiller_model: Option<String>,
    /// Which trust a record needs to replay.
    pub replay_trust: Option<ReplayTrust>,
    /// What a replay may do on its own: `all`, `read_only` or `ask`.
    pub replay_policy: Option<ReplayPolicy>,
    /// Whether confirmed templates replay: `off`, or `confirmed:` and how many distinct texts it takes.
    pub template_replay: Option<TemplateReplay>,
    /// A gate score from here on passes, 0 to 5.
    pub quality_threshold: Option<f64>,
    /// Longer results are stored as a prefix, in bytes.
    pub stored_result_bytes: Option<usize>,
    /// The longest that memory may hold up a run for one call to the store, in milliseconds.
    pub memory_deadline_ms: Option<u64>,
    /// The longest that a verifier, precheck or secret provider may take, in milliseconds.
    pub hook_deadline_ms: Option<u64>,
    /// The longest that a replay waits for one approval, in milliseconds.
    pub approval_deadline_ms: Option<u64>,
    /// How long a run stays with its process after the last word of it, in milliseconds.
    pub run_lease_ms: Option<u64>,
    /// The share of runs that skip memory, 0 to 1.
    pub holdout_rate: Option<f64>,
    /// The time zone in which a task means "today".
    pub time_zone: Option<TimeZone>,
    /// How much a playbook may take.
    pub budget: BudgetConfig,
    /// The numbers of `maintain_memory`.
    pub maintain: MaintainConfig,
}

/// The section `[budget]`; see [`RetrievalBudget`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct BudgetConfig {
    /// At most so many records.
    pub records: Option<usize>,
    /// At most so many tokens for the whole block.
    pub tokens: Option<usize>,
}

/// The section `[maintain]`; see [`MaintenancePlan`].
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct MaintainConfig {
    /// Decay only what was not reinforced for so many weeks.
    pub weeks: Option<i64>,
    /// How much confidence a week costs, 0 to 1.
    pub decay_rate: Option<f64>,
    /// How long probation takes, in hours.
    pub quarantine_hours: Option<f64>,
}

impl Config {
    /// The settings of the engine, the default where one is absent.
    pub fn settings(&self) -> Settings {
        let default = Settings::default();
        Settings {
            quality_threshold: self.quality_threshold.unwrap_or(default.quality_threshold),
            replay_trust: self.replay_trust.unwrap_or(default.replay_trust),
            replay_policy: self.replay_policy.unwrap_or(default.replay_policy),
            template_replay: self.template_replay.unwrap_or(default.template_replay),
            budget: RetrievalBudget {
                records: self.budget.records.unwrap_or(default.budget.records),
                tokens: self.budget.tokens.unwrap_or(default.budget.tokens),
            },
            stored_result_bytes: self.stored_result_bytes.unwrap_or(default.stored_result_bytes),
            memory_deadline: self.memory_deadline_ms.map_or(default.memory_deadline, Duration::from_millis),
            hook_deadline: self.hook_deadline_ms.map_or(default.hook_deadline, Duration::from_millis),
            approval_deadline: self.approval_deadline_ms.map_or(default.approval_deadline, Duration::from_millis),
            run_lease: self.run_lease_ms.map_or(default.run_lease, Duration::from_millis),
            holdout_rate: self.holdout_rate.unwrap_or(default.holdout_rate),
            time_zone: self.time_zone.clone().unwrap_or(default.time_zone),
        }
    }

    /// The numbers of maintenance, the default where one is absent.
    ///
    /// # Errors
    /// `InvalidInput` for a number out of range.
    pub fn maintenance(&self) -> Result<MaintenancePlan> {
        let MaintainConfig { weeks, decay_rate, quarantine_hours } = &self.maintain;
        let default = MaintenancePlan::default();
        MaintenancePlan::new(
            weeks.unwrap_or(default.weeks()),
            decay_rate.unwrap_or(default.decay_rate()),
            quarantine_hours.unwrap_or(default.quarantine_hours()),
        )
    }

    /// Whether every number is in its range.
    ///
    /// # Errors
    /// `Config` or `InvalidInput`, naming the setting.
    pub fn check(&self) -> Result<()> {
        self.settings().check()?;
        self.maintenance().map(|_| ())
    }
}

/// On or off, in the words that people use for it: `1`, `true`, `yes`, `on` and their contraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Switch(pub bool);

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Switch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim().to_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(Self(true)),
            "0" | "false" | "no" | "off" => Ok(Self(false)),
            _ => Err(Error::invalid("it is neither on nor off; use `1` or `0`")),
        }
    }
}
