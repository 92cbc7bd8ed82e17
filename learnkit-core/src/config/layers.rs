//! Settings of several places, one over the other, and where each value came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::{Config, RetrievalBudget, Setting, Settings};
use crate::Result;
use crate::lifecycle::MaintenancePlan;

/// The file that is read when none is named.
pub const CONFIG_FILE: &str = "learnkit.toml";
/// The variable that names another file.
pub const CONFIG_VARIABLE: &str = "LEARNKIT_CONFIG";
/// The store that is used when none is named.
pub const DEFAULT_BACKEND: &str = "sqlite:learnkit.db";

/// Where a value came from, the weakest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Layer {
    /// Built in.
    Default,
    /// A file.
    File(PathBuf),
    /// An environment variable.
    Variable(&'static str),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Which file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigFile<'a> {
    /// This one; it has to be there.
    Named(&'a Path),
    /// What `LEARNKIT_CONFIG` names, else [`CONFIG_FILE`] of this folder if it is there.
    InFolder(&'a Path),
}

/// Settings with the layer each came from: flags over `LEARNKIT_*` over the file over the defaults.
///
/// Library users pass [`Self::values`] to [`Builder::config`](crate::engine::Builder::config); what they set
/// on the builder itself stands above all of it.
#[derive(Debug, Clone)]
pub struct Layers {
    values: Config,
    origins: BTreeMap<&'static str, Layer>,
    file: Option<PathBuf>,
}

impl Layers {
    /// The defaults, under a file, under the `LEARNKIT_*` variables; a blank variable is not set.
    ///
    /// # Errors
    /// As for [`Config::load`], and `Config` for a variable that cannot be read or is out of range.
    pub fn load(file: ConfigFile<'_>, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut layers = Self::default();
        if let Some(path) = path(file, set(CONFIG_VARIABLE)) {
            layers.put(&Config::load(&path)?, |_| Layer::File(path.clone()));
            layers.file = Some(path);
        }
        let mut environment = Config::default();
        for setting in Setting::ALL {
            let Some(text) = set(setting.variable) else { continue };
            setting.read(&mut environment, &text)?;
            environment.check().map_err(|error| error.with_context("variable", setting.variable))?;
        }
        layers.put(&environment, |setting| Layer::Variable(setting.variable));
        Ok(layers)
    }

    /// Puts the values of flags over the others.
    pub fn put_flags(&mut self, flags: &Config) {
        self.put(flags, |setting| Layer::Flag(setting.flag));
    }

    /// Replaces a default of the engine by one of the program; what is set anywhere stays.
    pub fn put_default(&mut self, defaults: &Config) {
        for setting in Setting::ALL {
            if self.origin(setting) == Layer::Default {
                setting.copy(&mut self.values, defaults);
            }
        }
    }

    /// The values that hold.
    pub fn values(&self) -> &Config {
        &self.values
    }

    /// Where the value of a setting came from.
    pub fn origin(&self, setting: &Setting) -> Layer {
        self.origins.get(setting.key).cloned().unwrap_or(Layer::Default)
    }

    /// The file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The value that holds for what an environment variable sets, as that variable would say it.
    pub fn as_variable(&self, name: &str) -> Option<String> {
        Setting::ALL.iter().find(|setting| setting.variable == name).and_then(|setting| setting.show(&self.values))
    }

    fn put(&mut self, layer: &Config, origin: impl Fn(&Setting) -> Layer) {
        for setting in Setting::ALL {
            if setting.copy(&mut self.values, layer) {
                self.origins.insert(setting.key, origin(setting));
            }
        }
    }
}

impl Default for Layers {
    /// Nothing but the defaults.
    fn default() -> Self {
        Self { values: defaults(), origins: BTreeMap::new(), file: None }
    }
}

fn path(file: ConfigFile<'_>, variable: Option<String>) -> Option<PathBuf> {
    match (file, variable) {
        (ConfigFile::Named(path), _) => Some(path.to_owned()),
        (ConfigFile::InFolder(_), Some(path)) => Some(path.into()),
        (ConfigFile::InFolder(folder), None) => {
            let path = folder.join(CONFIG_FILE);
            // What cannot be looked at is read, so that reading says why.
            path.try_exists().unwrap_or(true).then_some(path)
        }
    }
}

/// What holds where nothing is set; models and `offline` have no default.
fn defaults() -> Config {
    let Settings {
        quality_threshold,
        replay_trust,
        replay_policy,
        template_replay,
        budget,
        stored_result_bytes,
        memory_deadline,
        hook_deadline,
        approval_deadline,
        run_lease,
        holdout_rate,
        time_zone,
    } = Settings::default();
    let RetrievalBudget { records, tokens } = budget;
    let plan = MaintenancePlan::default();
    let mut config = Config {
        backend: DEFAULT_BACKEND.parse().ok(),
        tenant: Some(crate::record::Tenant::default()),
        scope: Some(crate::record::Scope::default()),
        team: Some(crate::record::Owner::default()),
        agent: Some(crate::record::AgentName::default()),
        replay_trust: Some(replay_trust),
        replay_policy: Some(replay_policy),
        template_replay: Some(template_replay),
        quality_threshold: Some(quality_threshold),
        stored_result_bytes: Some(stored_result_bytes),
        memory_deadline_ms: u64::try_from(memory_deadline.as_millis()).ok(),
        hook_deadline_ms: u64::try_from(hook_deadline.as_millis()).ok(),
        approval_deadline_ms: u64::try_from(approval_deadline.as_millis()).ok(),
        run_lease_ms: u64::try_from(run_lease.as_millis()).ok(),
        holdout_rate: Some(holdout_rate),
        time_zone: Some(time_zone),
        ..Config::default()
    };
    (config.budget.records, config.budget.tokens) = (Some(records), Some(tokens));
    config.maintain.weeks = Some(plan.weeks());
    config.maintain.decay_rate = Some(plan.decay_rate());
    config.maintain.quarantine_hours = Some(plan.quarantine_hours());
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn with<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn nowhere() -> ConfigFile<'static> {
        ConfigFile::InFolder(Path::new("no such folder"))
    }

    #[test]
    fn every_setting_has_a_variable_that_is_honoured() {
        let values = [
            ("backend", "memory:"),
            ("tenant", "acme"),
            ("scope", "user:ann"),
            ("team", "ops"),
            ("agent", "clerk"),
            ("offline", "true"),
            ("classifier_model", "m"),
            ("distiller_model", "n"),
            ("replay_trust", "verified"),
            ("replay_policy", "ask"),
            ("template_replay", "confirmed:4"),
            ("quality_threshold", "4.25"),
            ("stored_result_bytes", "11"),
            ("memory_deadline_ms", "12"),
            ("hook_deadline_ms", "13"),
            ("approval_deadline_ms", "14"),
            ("run_lease_ms", "15"),
            ("holdout_rate", "0.25"),
            ("time_zone", "+02:00"),
            ("budget.records", "2"),
            ("budget.tokens", "300"),
            ("maintain.weeks", "3"),
            ("maintain.decay_rate", "0.5"),
            ("maintain.quarantine_hours", "1.5"),
        ];
        assert_eq!(values.len(), Setting::ALL.len());
        for (setting, (key, value)) in Setting::ALL.iter().zip(values) {
            assert_eq!(setting.key, key);
            assert_eq!(setting.variable, format!("LEARNKIT_{}", key.replace('.', "_").to_uppercase()));
            let layers = Layers::load(nowhere(), with(&[(setting.variable, value)])).unwrap();
            assert_eq!(setting.show(layers.values()).as_deref(), Some(value), "{key}");
            assert_eq!(layers.origin(setting), Layer::Variable(setting.variable));
        }
    }

    #[test]
    fn a_blank_variable_is_not_set_and_a_wrong_one_is_named() {
        let layers = Layers::load(nowhere(), with(&[("LEARNKIT_BACKEND", " "), ("LEARNKIT_WEEKS", "x")])).unwrap();
        assert_eq!(layers.as_variable("LEARNKIT_BACKEND").as_deref(), Some(DEFAULT_BACKEND));
        for (variable, value) in [
            ("LEARNKIT_BACKEND", "learnkit.db"),
            ("LEARNKIT_SCOPE", "everyone"),
            ("LEARNKIT_OFFLINE", "maybe"),
            ("LEARNKIT_TIME_ZONE", "Berlin time"),
            ("LEARNKIT_QUALITY_THRESHOLD", "9"),
            ("LEARNKIT_BUDGET_TOKENS", "-1"),
            ("LEARNKIT_MAINTAIN_WEEKS", "-5"),
            ("LEARNKIT_HOLDOUT_RATE", "NaN"),
        ] {
            let error = Layers::load(nowhere(), with(&[(variable, value)])).unwrap_err();
            assert!(error.chain().contains(variable), "{error}");
            assert!(matches!(error.kind(), ErrorKind::Config | ErrorKind::InvalidInput), "{error:?}");
        }
    }

    #[test]
    fn a_named_file_has_to_be_there_and_the_usual_one_has_not() {
        assert!(Layers::load(nowhere(), with(&[])).unwrap().file().is_none());
        let named = Layers::load(ConfigFile::Named(Path::new("no such file")), with(&[])).unwrap_err();
        assert_eq!(named.kind(), ErrorKind::NotFound);
        let variable = Layers::load(nowhere(), with(&[(CONFIG_VARIABLE, "no such file")])).unwrap_err();
        assert!(variable.kind() == ErrorKind::NotFound && variable.chain().contains("no such file"), "{variable}");
    }

    #[test]
    fn flags_stand_over_variables_and_a_default_of_the_program_under_all() {
        let mut layers = Layers::load(nowhere(), with(&[("LEARNKIT_TENANT", "a"), ("LEARNKIT_AGENT", "b")])).unwrap();
        layers.put_flags(&Config { tenant: "c".parse().ok(), ..Config::default() });
        let own = Config { agent: "d".parse().ok(), memory_deadline_ms: Some(7), ..Config::default() };
        layers.put_default(&own);
        let shown = |key: &str| {
            let setting = Setting::ALL.iter().find(|setting| setting.key == key).unwrap();
            (setting.show(layers.values()).unwrap(), layers.origin(setting).to_string())
        };
        assert_eq!(shown("tenant"), ("c".to_owned(), "--tenant".to_owned()));
        assert_eq!(shown("agent"), ("b".to_owned(), "LEARNKIT_AGENT".to_owned()));
        assert_eq!(shown("memory_deadline_ms"), ("7".to_owned(), "default".to_owned()));
    }
}
