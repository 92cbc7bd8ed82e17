//! Arguments that were good for one run only: approvals, values made for that run, ids without a source;
//! and calls that say nothing clear.

use std::collections::HashSet;
use std::sync::LazyLock;

use jiff::SignedDuration;
use regex::Regex;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::super::guard::is_opaque_text;
use super::argument::{Argument, verb};
use super::source::{Origin, Sources};
use super::target;
use crate::json::Json;
use crate::record::RunId;
use crate::run::ToolCall;
use crate::tool::EffectClass;

/// Words of arguments with which a person approves.
const APPROVALS: [&str; 18] = [
    "accept",
    "accepted",
    "acknowledge",
    "acknowledged",
    "agree",
    "agreed",
    "approval",
    "approve",
    "approved",
    "authorize",
    "authorized",
    "confirm",
    "confirmation",
    "confirmed",
    "consent",
    "force",
    "override",
    "yes",
];
/// With one of these words an argument asks for an approval instead.
const ASKS: [&str; 6] = ["ask", "needs", "request", "require", "required", "requires"];
/// Texts that approve.
const AFFIRMATIVE: [&str; 12] =
    ["1", "accept", "approve", "approved", "confirm", "confirmed", "force", "i agree", "ok", "true", "y", "yes"];
/// Random tokens are so long, in bytes; what is longer is content.
const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 16..=128;
/// In random tokens letters and digits take turns so often at least.
const MIN_TURNS: usize = 5;
/// A timestamp that close to the call was made for it.
const CLOSE: SignedDuration = SignedDuration::from_hours(24 * 366);

/// What is wrong with a call by itself, whatever came before it.
pub(super) fn own_faults(call: &ToolCall, title: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if call.tool.trim().is_empty() {
        faults.push(format!("{title} has no tool name"));
    }
    let mut keys = Keys::default();
    // Broken JSON is refused elsewhere.
    let _ = keys.read(call.arguments.raw());
    if keys.has_blank {
        faults.push(format!("the arguments of {title} have one without a name"));
    }
    if let Some(key) = keys.twice {
        faults.push(format!("the arguments of {title} name `{key}` twice"));
    }
    if call.annotations.effect() != EffectClass::ReadOnly {
        let approvals = approvals(call).into_iter();
        faults.extend(approvals.map(|pointer| {
            format!("argument `{pointer}` of {title} is an approval, which is given once and not replayed")
        }));
    }
    faults
}

/// The arguments of a call that nothing recorded gave and that may be good for one run only.
pub(super) fn faults(
    call: &ToolCall,
    arguments: &[Argument],
    run: &RunId,
    sources: &Sources<'_>,
) -> Vec<(String, &'static str)> {
    // A tool that looks by its name may be asked for an id that the planner knows.
    let has_effect = call.annotations.effect() != EffectClass::ReadOnly && verb(&call.tool).is_some();
    let fault = |argument: &Argument| {
        if argument.text.contains(&run.as_str().to_lowercase()) {
            return Some("is the id of the run");
        }
        let made = argument.volatile.iter().find(|text| sources.origin(text) == Origin::Nowhere);
        if made.is_some_and(|text| !is_digits(text) || is_close(text, call)) {
            return Some("was made for one run: a UUID, random token or timestamp that nothing recorded gave");
        }
        let is_unknown_id = has_effect && is_id(&argument.pattern) && is_opaque_text(&argument.text);
        (is_unknown_id && sources.origin(&argument.text) == Origin::Nowhere).then_some(
            "is an id that nothing recorded gave; the call that did may have been made before recording began",
        )
    };
    arguments.iter().filter_map(|argument| Some((argument.pointer.clone(), fault(argument)?))).collect()
}

/// The parts of a value in lowercase that look made for one run.
pub(super) fn volatile(text: &str) -> Vec<String> {
    static UUID: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b").ok());
    let uuids = UUID.as_ref().into_iter().flat_map(|uuid| uuid.find_iter(text));
    let mut parts: Vec<String> = uuids.map(|uuid| uuid.as_str().to_owned()).collect();
    if parts.is_empty() && (is_random(text) || (is_digits(text) && matches!(text.len(), 10 | 13))) {
        parts.push(text.to_owned());
    }
    parts
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value is one word in which letters and digits take turns as in a hash or key.
fn is_random(text: &str) -> bool {
    let is_token = |run: &str| {
        let turns =
            run.as_bytes().windows(2).filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()));
        TOKEN_BYTES.contains(&run.len()) && turns.count() >= MIN_TURNS
    };
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    is_word && TOKEN_BYTES.contains(&text.len()) && text.split(['-', '_']).any(is_token)
}

/// Whether a Unix time in seconds or milliseconds is close to a call.
fn is_close(text: &str, call: &ToolCall) -> bool {
    let Ok(number) = text.parse::<i64>() else { return false };
    let seconds = if text.len() == 13 { number / 1_000 } else { number };
    let distance = (seconds - call.started.as_second()).abs();
    distance <= CLOSE.as_secs()
}

fn is_id(pattern: &str) -> bool {
    let name = pattern.rsplit('/').find(|key| !matches!(*key, "" | "*" | "#")).unwrap_or_default();
    target::name_words(name).last().is_some_and(|word| matches!(word.as_str(), "id" | "ids" | "uuid" | "guid"))
}

/// The pointers of arguments that approve.
fn approvals(call: &ToolCall) -> Vec<String> {
    let Ok(json) = call.arguments.json() else { return Vec::new() };
    let approves = |value: &Json| match value {
        Json::Bool(value) => *value,
        other => other.scalar_text().is_some_and(|text| AFFIRMATIVE.contains(&text.trim().to_lowercase().as_str())),
    };
    let leaves = json.leaves().into_iter().filter(|leaf| approves(&leaf.value) && is_approval(&leaf.pattern));
    leaves.map(|leaf| leaf.pointer).collect()
}

fn is_approval(pattern: &str) -> bool {
    let name = pattern.rsplit('/').find(|key| !matches!(*key, "" | "*" | "#")).unwrap_or_default();
    let words = target::name_words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    has(&APPROVALS) && !has(&ASKS)
}

/// The keys of a JSON text at any depth, as far as one cannot tell which is meant.
#[derive(Default)]
struct Keys {
    twice: Option<String>,
    has_blank: bool,
}

impl Keys {
    fn read(&mut self, json: &str) -> Result<(), serde_json::Error> {
        KeysOf(self).deserialize(&mut serde_json::Deserializer::from_str(json))
    }
}

struct KeysOf<'k>(&'k mut Keys);

impl<'de> DeserializeSeed<'de> for KeysOf<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeysOf<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut known = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            self.0.has_blank |= key.trim().is_empty();
            if let Some(key) = known.replace(key) {
                self.0.twice = Some(key);
            }
            map.next_value_seed(KeysOf(self.0))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(KeysOf(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_for_one_run_is_told_by_its_shape() {
        for text in [
            "550e8400-e29b-41d4-a716-446655440000",
            "/tmp/550e8400-e29b-41d4-a716-446655440000.csv",
            "9f86d081884c7d659a2feaa0c55ad015",
            "req_01hf8z7k2m9q4xw6y",
            "1767600000",
            "1767600000123",
        ] {
            assert!(!volatile(text).is_empty(), "{text}");
        }
        for text in ["monthly_report_2026_final_v2", "report.csv", "order_1001", "us-east-1", "20260105", "a note", ""]
        {
            assert_eq!(volatile(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn an_approval_is_told_by_a_word_of_its_name() {
        for pattern in ["/confirm", "/user_confirmed", "/forcePush", "/options/yes", "/skip_confirmation"] {
            assert!(is_approval(pattern), "{pattern}");
        }
        for pattern in ["/require_confirmation", "/approval_required", "/enforce", "/recursive", "/confirm/text"] {
            assert!(!is_approval(pattern), "{pattern}");
        }
    }

    #[test]
    fn keys_that_stand_twice_are_found_at_any_depth() {
        for (json, twice) in [
            (r#"{"a": 1, "b": {"a": 2}}"#, None),
            (r#"{"a": [{"b": 1, "b": "x"}], "n": -1.5, "t": true, "z": null}"#, Some("b")),
            (r#"{"a": 1, "a": 1}"#, Some("a")),
        ] {
            let mut keys = Keys::default();
            keys.read(json).unwrap();
            assert_eq!(keys.twice.as_deref(), twice, "{json}");
        }
    }
}
