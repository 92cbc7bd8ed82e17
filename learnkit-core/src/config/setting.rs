//! Every setting with its key, its environment variable and its place in a [`Config`].

use std::fmt::Display;
use std::str::FromStr;

use super::Config;
use crate::{Error, ErrorKind, Result};

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key in `learnkit.toml`, its section before a dot.
    pub key: &'static str,
    /// The environment variable.
    pub variable: &'static str,
    /// The flag of the commands that take it.
    pub flag: &'static str,
    read: fn(&mut Config, &str) -> Result<()>,
    show: fn(&Config) -> Option<String>,
    copy: fn(&mut Config, &Config) -> bool,
}

impl Setting {
    /// Every setting, in the order in which they are shown.
    pub const ALL: &'static [Self] = SETTINGS;

    /// Reads the value of the environment variable into its place.
    ///
    /// # Errors
    /// `Config`, naming the variable; never with a value that may be a secret.
    pub(super) fn read(&self, config: &mut Config, text: &str) -> Result<()> {
        (self.read)(config, text).map_err(|error| {
            let reason = if error.message().is_empty() { "it cannot be read".to_owned() } else { error.chain() };
            Error::new(ErrorKind::Config, format!("{}: {reason}", self.variable))
        })
    }

    /// The value, secrets left out; absent when it is not set.
    pub fn show(&self, config: &Config) -> Option<String> {
        (self.show)(config)
    }

    /// Copies the value where it is set, and says whether it was.
    pub(super) fn copy(&self, into: &mut Config, from: &Config) -> bool {
        (self.copy)(into, from)
    }
}

fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<Option<T>> {
    text.trim().parse().map(Some).map_err(|error: T::Err| Error::invalid(error.to_string()))
}

fn copied<T: Clone>(into: &mut Option<T>, from: Option<&T>) -> bool {
    if let Some(value) = from {
        *into = Some(value.clone());
    }
    from.is_some()
}

// A table by macro: twenty settings with three functions each that differ in one path.
macro_rules! settings {
    ($($($field:ident).+ => $key:literal, $variable:literal, $flag:literal;)+) => {
        const SETTINGS: &[Setting] = &[$(Setting {
            key: $key,
            variable: $variable,
            flag: $flag,
            read: |config, text| {
                config.$($field).+ = parsed(text)?;
                Ok(())
            },
            show: |config| config.$($field).+.as_ref().map(ToString::to_string),
            copy: |into, from| copied(&mut into.$($field).+, from.$($field).+.as_ref()),
        }),+];
    };
}

settings! {
    backend => "backend", "LEARNKIT_BACKEND", "--backend";
    tenant => "tenant", "LEARNKIT_TENANT", "--tenant";
    scope => "scope", "LEARNKIT_SCOPE", "--scope";
    team => "team", "LEARNKIT_TEAM", "--team";
    agent => "agent", "LEARNKIT_AGENT", "--agent";
    offline => "offline", "LEARNKIT_OFFLINE", "";
    classifier_model => "classifier_model", "LEARNKIT_CLASSIFIER_MODEL", "";
    distiller_model => "distiller_model", "LEARNKIT_DISTILLER_MODEL", "";
    replay_trust => "replay_trust", "LEARNKIT_REPLAY_TRUST", "";
    replay_policy => "replay_policy", "LEARNKIT_REPLAY_POLICY", "";
    template_replay => "template_replay", "LEARNKIT_TEMPLATE_REPLAY", "";
    quality_threshold => "quality_threshold", "LEARNKIT_QUALITY_THRESHOLD", "";
    stored_result_bytes => "stored_result_bytes", "LEARNKIT_STORED_RESULT_BYTES", "";
    memory_deadline_ms => "memory_deadline_ms", "LEARNKIT_MEMORY_DEADLINE_MS", "";
    hook_deadline_ms => "hook_deadline_ms", "LEARNKIT_HOOK_DEADLINE_MS", "";
    approval_deadline_ms => "approval_deadline_ms", "LEARNKIT_APPROVAL_DEADLINE_MS", "";
    run_lease_ms => "run_lease_ms", "LEARNKIT_RUN_LEASE_MS", "";
    holdout_rate => "holdout_rate", "LEARNKIT_HOLDOUT_RATE", "";
    time_zone => "time_zone", "LEARNKIT_TIME_ZONE", "";
    budget.records => "budget.records", "LEARNKIT_BUDGET_RECORDS", "";
    budget.tokens => "budget.tokens", "LEARNKIT_BUDGET_TOKENS", "";
    maintain.weeks => "maintain.weeks", "LEARNKIT_MAINTAIN_WEEKS", "--weeks";
    maintain.decay_rate => "maintain.decay_rate", "LEARNKIT_MAINTAIN_DECAY_RATE", "--decay-rate";
    maintain.quarantine_hours => "maintain.quarantine_hours", "LEARNKIT_MAINTAIN_QUARANTINE_HOURS", "--quarantine-hours";
}
