//! The key of a task: a hash over everything that makes it this task.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Task;
use crate::hash::Fingerprint;
use crate::record::{AgentName, Scope, Tenant};
use crate::{Error, Result};

/// The version of the key's make-up; keys of two versions never meet.
const KEY_FORMAT: &str = "lk1";

/// The exact identity of a task for one tenant, scope and agent: `lk1:` and 64 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskKey(String);

/// Who asks: the parts of the key that do not come from the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The isolation boundary.
    pub tenant: Tenant,
    /// The scope with its owner.
    pub scope: Scope,
    /// The declared agent.
    pub agent: AgentName,
}

impl TaskKey {
    /// The key of a task for one identity.
    ///
    /// Of a template the literal text and the *names* of its parameters count, not the values.
    pub fn of(task: &Task, identity: &Identity) -> Self {
        Self::of_canonical(task, &task.canonical(), identity)
    }

    /// The key of a task whose canonical text is at hand, for several identities in a row.
    pub(crate) fn of_canonical(task: &Task, canonical: &str, identity: &Identity) -> Self {
        let mut hash = Fingerprint::new(KEY_FORMAT)
            .part(identity.tenant.as_str())
            .part(&identity.scope.to_string())
            .part(identity.agent.as_str())
            .part(if task.template.is_some() { "template" } else { "text" })
            .part(canonical);
        for name in task.parameters.keys() {
            hash = hash.part(name);
        }
        let hash = hash
            .optional(task.history.as_deref())
            .optional(task.format.as_deref())
            .optional(task.environment.as_deref());
        Self(format!("{KEY_FORMAT}:{}", hash.hex()))
    }

    /// The key as stored and shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The hash of the earlier turns as `(role, text)`; absent when there are none.
pub(super) fn history_hash<'a>(turns: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let mut turns = turns.into_iter().peekable();
    turns.peek()?;
    let hash = turns.fold(Fingerprint::new("turns"), |hash, (role, text)| hash.part(role).part(text));
    Some(hash.hex())
}

impl fmt::Display for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TaskKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = text.strip_prefix("lk1:").unwrap_or_default();
        let whole = digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if whole { Ok(Self(text.to_owned())) } else { Err(Error::invalid("a task key is `lk1:` and 64 hex digits")) }
    }
}

impl TryFrom<String> for TaskKey {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<TaskKey> for String {
    fn from(key: TaskKey) -> Self {
        key.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity { tenant: Tenant::default(), scope: Scope::default(), agent: AgentName::default() }
    }

    fn key(task: &Task) -> TaskKey {
        TaskKey::of(task, &identity())
    }

    #[test]
    fn every_part_of_the_identity_counts() {
        let base = Task::new("do it");
        let plain = key(&base);
        assert_ne!(plain, key(&base.clone().with_format("json")));
        assert_ne!(plain, key(&base.clone().with_environment("e1")));
        assert_ne!(plain, key(&base.clone().with_earlier_turns([("user", "hi")])));
        assert_eq!(plain, key(&base.clone().with_earlier_turns([])));
        let other = |change: fn(&mut Identity)| {
            let mut identity = identity();
            change(&mut identity);
            TaskKey::of(&base, &identity)
        };
        assert_ne!(plain, other(|id| id.tenant = Tenant::new("b").unwrap()));
        assert_ne!(plain, other(|id| id.scope = Scope::Public));
        assert_ne!(plain, other(|id| id.agent = AgentName::new("b").unwrap()));
    }

    #[test]
    fn a_template_is_keyed_by_its_words_and_names_not_its_values() {
        let build = |template: &str, value: &str| Task::template(template).with("t", value).build().unwrap();
        assert_eq!(key(&build("Report {t}", "users")), key(&build("Report {t}", "orders")));
        assert_ne!(key(&build("Report {t}", "users")), key(&Task::new("Report users")));
        assert_ne!(key(&build("Report {t}", "users")), key(&Task::new("Report {t}")));
    }

    #[test]
    fn a_key_reads_back_from_text() {
        let key = key(&Task::new("x"));
        assert_eq!(key.as_str().parse::<TaskKey>().unwrap(), key);
        assert!("lk1:zz".parse::<TaskKey>().is_err());
    }
}
