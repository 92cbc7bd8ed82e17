//! The secrets of one run, so that they are found again where neither a name nor a shape gives them away.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use super::{MASK, Sensitive, Under, values};
use crate::json::Json;

/// The secrets that were found in the calls of one run, and those that a replay was supplied with.
#[derive(Clone, Default)]
pub(crate) struct Secrets(BTreeSet<String>);

/// Shorter values are masked where they stand, but not looked for elsewhere: `5` is everywhere.
const MIN_SECRET_CHARS: usize = 6;

/// The same of values that are certain to be secret.
const MIN_SUPPLIED_CHARS: usize = 4;

impl Secrets {
    /// Adds everything that masking finds in a text.
    pub(crate) fn collect(&mut self, text: &str) {
        let mut found = Vec::new();
        match Json::parse(text) {
            Ok(json) => values(&json, Under::NOTHING, &mut found),
            Err(_) => values(&Json::Text(text.to_owned()), Under::NOTHING, &mut found),
        }
        self.add_found(found);
    }

    /// Adds everything that masking finds in a value.
    pub(crate) fn collect_in(&mut self, json: &Json) {
        let mut found = Vec::new();
        values(json, Under::NOTHING, &mut found);
        self.add_found(found);
    }

    /// Adds values that are known to be secret.
    pub(crate) fn add<'s>(&mut self, supplied: impl Iterator<Item = &'s Sensitive>) {
        let supplied = supplied.map(Sensitive::expose).filter(|value| value.chars().count() >= MIN_SUPPLIED_CHARS);
        self.0.extend(supplied.map(str::to_owned));
    }

    /// Adds the secrets of others.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    fn add_found(&mut self, found: Vec<String>) {
        self.0.extend(found.into_iter().filter(|value| is_distinctive(value)));
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a text holds a secret, by key name, by shape, or one that was found elsewhere.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        super::mask_text(text).found > 0 || self.0.iter().any(|secret| text.contains(secret))
    }

    /// Replaces every found secret in a text, as it stands and as JSON text would write it. Longer
    /// secrets first, so that none leaves a rest.
    pub(crate) fn scrub(&self, text: &mut String) {
        let windows = (self.0.len() > MANY_SECRETS).then(|| Windows::of(text));
        let may_be_in = |secret: &&String| windows.as_ref().is_none_or(|windows| windows.may_hold(secret));
        let mut secrets: Vec<&String> = self.0.iter().filter(may_be_in).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        for secret in secrets {
            let quoted = serde_json::Value::from(secret.as_str()).to_string();
            let quoted = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted);
            for form in [secret.as_str(), quoted] {
                if text.contains(form) {
                    *text = text.replace(form, MASK);
                }
            }
        }
    }
}

/// More secrets than these are not searched one by one in each text.
const MANY_SECRETS: usize = 32;

/// The starts of everything in a text: a quick look whether one of many secrets may stand there.
struct Windows(HashSet<Vec<u8>>);

impl Windows {
    /// No secret is shorter, in bytes.
    const BYTES: usize = MIN_SECRET_CHARS;

    fn of(text: &str) -> Self {
        Self(text.as_bytes().windows(Self::BYTES).map(<[u8]>::to_vec).collect())
    }

    /// A secret that JSON writes in another way is always looked for.
    fn may_hold(&self, secret: &str) -> bool {
        let is_plain = secret.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
        !is_plain || secret.as_bytes().get(..Self::BYTES).is_none_or(|start| self.0.contains(start))
    }
}

/// Whether a secret may be looked for elsewhere: a plain word such as `default` is everywhere.
fn is_distinctive(value: &str) -> bool {
    let chars = value.chars().count();
    chars >= 12 || (chars >= MIN_SECRET_CHARS && value.chars().any(|char| char.is_ascii_digit()))
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_secrets_is_scrubbed_wherever_it_stands() {
        let mut secrets = Secrets::default();
        let object = |number: usize| format!(r#"{{"password":"geheim-{number}\\\"ü"}}"#);
        (0..200).for_each(|number| secrets.collect(&object(number)));
        secrets.collect(r#"{"password":"plain-77-secret"}"#);
        assert!(secrets.0.len() > MANY_SECRETS);
        let mut text = "with geheim-7\\\"ü, geheim-8\\\\\\\"ü and plain-77-secret".to_owned();
        secrets.scrub(&mut text);
        assert_eq!(text, "with [secret], [secret] and [secret]");
    }
}
