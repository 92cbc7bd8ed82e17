//! Secrets are masked before anything is written: by key name and by known token shapes.
//!
//! Entropy, URLs and named secret slots come with the full finder; what this module does not find
//! is listed in the README's status table.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::json::Json;

/// What stands in place of a secret.
pub(crate) const MASK: &str = "[secret]";

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// The text with every found secret replaced by `[secret]`.
    pub text: String,
    /// How many were replaced.
    pub found: usize,
}

/// Key names whose values are secret, without `_`, `-` and case.
const SECRET_KEYS: [&str; 22] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "clientsecret",
    "secretkey",
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "authtoken",
    "bearertoken",
    "apitoken",
    "sessiontoken",
    "authorization",
    "apikey",
    "xapikey",
    "accesskey",
    "privatekey",
    "cookie",
    "setcookie",
];

/// The longest of them, in characters.
const LONGEST_KEY: usize = 13;

/// No shape and no credential is shorter, in bytes: `xoxb-` with ten more.
const SHORTEST_SHAPE: usize = 15;

/// Shapes of tokens that providers document.
///
/// Word boundaries are those of ASCII: Unicode's cost ten times as much in a text that is not English.
static TOKEN_SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:",
        r"(?-u:\b)sk-[A-Za-z0-9_-]{16,}",
        r"|(?-u:\b)(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|(?-u:\b)github_pat_[A-Za-z0-9_]{22,}",
        r"|(?-u:\b)glpat-[A-Za-z0-9_-]{20,}",
        r"|(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"|(?-u:\b)(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)",
        r"|(?-u:\b)AIza[0-9A-Za-z_-]{35}",
        r"|(?-u:\b)hf_[A-Za-z0-9]{30,}",
        r"|(?-u:\b)(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}",
        r"|(?-u:\b)npm_[A-Za-z0-9]{36}(?-u:\b)|(?-u:\b)pypi-[A-Za-z0-9_-]{16,}",
        r"|(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r")"
    ))
    .ok()
});

/// `Bearer …` and `Basic …` credentials, and `key=value` or `key: value` with a secret key name.
static CREDENTIALS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?P<keep>(?-u:\b)[Bb]earer\s+|(?-u:\b)[Bb]asic\s+|",
        r"(?i:(?-u:\b)(?:password|passwd|pwd|secret|client_secret|api[_-]?key|access[_-]?token|refresh[_-]?token|auth[_-]?token|token)",
        r#"["']?\s*[=:]\s*["']?))(?P<drop>[A-Za-z0-9+/_~.=-]{12,})"#
    ))
    .ok()
});

/// The secrets that were found in the calls of one run, so that they are found again where neither a
/// key name nor a shape gives them away.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(BTreeSet<String>);

/// Shorter values are masked where they stand, but not looked for elsewhere: `5` is everywhere.
const MIN_SECRET_CHARS: usize = 6;

impl Secrets {
    /// Adds everything that masking finds in a text.
    pub(crate) fn collect(&mut self, text: &str) {
        let mut found = Vec::new();
        match Json::parse(text) {
            Ok(json) => secret_values(&json, false, &mut found),
            Err(_) => shaped_secrets(text, &mut found),
        }
        self.extend(found);
    }

    /// Adds everything that masking finds in a value.
    pub(crate) fn collect_in(&mut self, json: &Json) {
        let mut found = Vec::new();
        secret_values(json, false, &mut found);
        self.extend(found);
    }

    fn extend(&mut self, found: Vec<String>) {
        self.0.extend(found.into_iter().filter(|value| is_distinctive(value)));
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a text holds a secret, by key name, by shape, or one that was found elsewhere.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        mask_text(text).found > 0 || self.0.iter().any(|secret| text.contains(secret))
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
            for form in [secret.as_str(), quoted.trim_matches('"')] {
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

/// Secrets that their shape gives away.
fn shaped_secrets(text: &str, found: &mut Vec<String>) {
    if text.len() < SHORTEST_SHAPE {
        return;
    }
    if let Some(shapes) = TOKEN_SHAPES.as_ref() {
        found.extend(shapes.find_iter(text).map(|shape| shape.as_str().to_owned()));
    }
    if let Some(credentials) = CREDENTIALS.as_ref() {
        found.extend(
            credentials.captures_iter(text).filter_map(|found| found.name("drop").map(|drop| drop.as_str().to_owned())),
        );
    }
}

/// The texts under secret key names, at any depth.
fn secret_values(json: &Json, secret: bool, found: &mut Vec<String>) {
    match json {
        Json::Object(fields) => {
            fields.iter().for_each(|(key, value)| secret_values(value, secret || is_secret_key(key), found));
        }
        Json::List(items) => items.iter().for_each(|item| secret_values(item, secret, found)),
        Json::Text(text) | Json::Number(text) if secret => found.push(text.clone()),
        Json::Text(text) => match Json::opened(text) {
            Some(inner) => secret_values(&inner, false, found),
            None => shaped_secrets(text, found),
        },
        _ => {}
    }
}

/// Masks secrets in free text; JSON text is masked by key name too.
pub fn mask_text(text: &str) -> Masked {
    match quoted_or_nested(text) {
        Some(json) => mask_parsed(json, text),
        None => mask_shapes(text),
    }
}

/// The object, list or string that a text is.
fn quoted_or_nested(text: &str) -> Option<Json> {
    let looks = text.trim_start().starts_with(['{', '[', '"']);
    looks.then(|| Json::parse(text).ok()).flatten()
}

/// Masks secrets in JSON text at any depth; text that is not JSON is masked as free text.
///
/// JSON without a secret comes back byte for byte.
pub fn mask_json(text: &str) -> Masked {
    match Json::parse(text) {
        Ok(json) => mask_parsed(json, text),
        Err(_) => mask_shapes(text),
    }
}

fn mask_parsed(mut json: Json, text: &str) -> Masked {
    if !holds_secret(&json, false) {
        return Masked { text: text.to_owned(), found: 0 };
    }
    let found = mask_value(&mut json, false);
    Masked { text: json.to_text(), found }
}

/// Whether masking would change anything in a value; it looks as [`mask_value`] does, and copies nothing.
pub(crate) fn holds_secret(json: &Json, secret: bool) -> bool {
    match json {
        Json::Object(fields) => fields.iter().any(|(key, value)| holds_secret(value, secret || is_secret_key(key))),
        Json::List(items) => items.iter().any(|item| holds_secret(item, secret)),
        Json::Text(text) if secret && !text.is_empty() => true,
        Json::Number(_) => secret,
        Json::Text(text) => match quoted_or_nested(text) {
            Some(inner) => holds_secret(&inner, false),
            None => holds_shape(text),
        },
        _ => false,
    }
}

fn holds_shape(text: &str) -> bool {
    let has_digit = |found: regex::Captures<'_>| {
        found.name("drop").is_some_and(|drop| drop.as_str().bytes().any(|byte| byte.is_ascii_digit()))
    };
    text.len() >= SHORTEST_SHAPE
        && (TOKEN_SHAPES.as_ref().is_some_and(|shapes| shapes.is_match(text))
            || CREDENTIALS.as_ref().is_some_and(|credentials| credentials.captures_iter(text).any(has_digit)))
}

pub(crate) fn mask_value(json: &mut Json, secret: bool) -> usize {
    match json {
        Json::Object(fields) => {
            let fields = fields.iter_mut();
            fields.map(|(key, value)| mask_value(value, secret || is_secret_key(key))).sum()
        }
        Json::List(items) => items.iter_mut().map(|item| mask_value(item, secret)).sum(),
        Json::Text(text) if secret && !text.is_empty() => {
            MASK.clone_into(text);
            1
        }
        Json::Number(_) if secret => {
            *json = Json::Text(MASK.to_owned());
            1
        }
        Json::Text(text) => {
            let masked = mask_text(text);
            *text = masked.text;
            masked.found
        }
        _ => 0,
    }
}

/// Whether a key's value is secret. Numbers under such keys count too, so counters are named apart.
pub(crate) fn is_secret_key(key: &str) -> bool {
    let plain: String =
        key.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).take(LONGEST_KEY + 1).collect();
    SECRET_KEYS.contains(&plain.as_str())
}

fn mask_shapes(text: &str) -> Masked {
    let mut found = 0;
    let mut text = std::borrow::Cow::Borrowed(text);
    if let Some(shapes) = TOKEN_SHAPES.as_ref() {
        let masked = shapes.replace_all(&text, |_: &regex::Captures<'_>| {
            found += 1;
            MASK
        });
        text = std::borrow::Cow::Owned(masked.into_owned());
    }
    if let Some(credentials) = CREDENTIALS.as_ref() {
        let masked = credentials.replace_all(&text, |captures: &regex::Captures<'_>| {
            let part = |name| captures.name(name).map_or("", |part| part.as_str());
            if part("drop").bytes().any(|byte| byte.is_ascii_digit()) {
                found += 1;
                format!("{}{MASK}", part("keep"))
            } else {
                part("keep").to_owned() + part("drop")
            }
        });
        text = std::borrow::Cow::Owned(masked.into_owned());
    }
    Masked { text: text.into_owned(), found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a21_secret_keys_are_masked_at_any_depth() {
        let masked = mask_json(r#"{"user":"ann","auth":{"API_Key":"k1","nested":[{"password":"p"}]}}"#);
        assert_eq!(masked.found, 2);
        assert!(!masked.text.contains("k1") && !masked.text.contains("\"p\""));
        assert!(masked.text.contains("ann"));
    }

    #[test]
    fn d17_known_token_shapes_are_masked_in_text() {
        for secret in [
            "sk-ant-api03-AbCdEfGh1234567890abcd",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "AKIAABCDEFGHIJKLMNOP",
            "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2Q",
        ] {
            let masked = mask_text(&format!("use {secret} now"));
            assert_eq!(masked.text, "use [secret] now");
        }
        assert_eq!(mask_text("Authorization: Bearer abc123def456ghi789").text, "Authorization: Bearer [secret]");
    }

    #[test]
    fn the_bounds_that_save_looking_fit_what_is_looked_for() {
        assert_eq!(SECRET_KEYS.iter().map(|key| key.len()).max(), Some(LONGEST_KEY));
        assert!(is_secret_key("Author_iza-TION") && !is_secret_key("authorizations") && !is_secret_key("tokens"));
        for shortest in ["xoxb-0123456789", "pwd=0123456789ab", "sk_live_0123456789", "-----BEGIN PRIVATE KEY-----"] {
            assert!(shortest.len() >= SHORTEST_SHAPE && mask_text(shortest).found == 1, "{shortest}");
            let shorter = &shortest[..shortest.len() - 1];
            assert_eq!(mask_shapes(shorter).found, 0, "{shorter}");
        }
    }

    #[test]
    fn a_token_beside_letters_of_another_script_is_masked() {
        assert_eq!(mask_text("用ghp_abcdefghijklmnopqrstuvwxyz0123456789做").text, "用[secret]做");
        assert_eq!(mask_text("ключAKIAABCDEFGHIJKLMNOPключ").text, "ключ[secret]ключ");
    }

    #[test]
    fn looking_for_secrets_and_masking_them_agree() {
        let object = r#"{"a":[1,{"password":"hunter22"}]}"#;
        let quoted = serde_json::Value::from(object).to_string();
        let twice = serde_json::Value::from(quoted.as_str()).to_string();
        let wrapped = format!(r#"{{"text":{quoted}}}"#);
        for text in [
            object,
            &quoted,
            &twice,
            &wrapped,
            r#"{"pwd":0,"b":1}"#,
            r#"["Basic abcdefghijkl1"]"#,
            r#"["sk-ant-api03-AbCdEfGh1234567890abcd"]"#,
            r#"{"password":"","token":null,"tokens":7}"#,
            r#"["Basic instructions", "secret: santaclausiscoming"]"#,
            "[]",
            "7",
        ] {
            let json = Json::parse(text).unwrap();
            assert_eq!(holds_secret(&json, false), mask_value(&mut json.clone(), false) > 0, "{text}");
        }
    }

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

    #[test]
    fn harmless_text_comes_back_byte_for_byte() {
        for text in
            ["{\"table\": \"users\",  \"limit\": 10}", "the secret santa list", "max_tokens=512", "Bearer of bad news"]
        {
            assert_eq!(mask_text(text), Masked { text: text.to_owned(), found: 0 });
        }
    }
}
