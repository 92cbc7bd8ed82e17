//! Secrets are found and masked before anything is written: by key name, by the shapes that providers document, in
//! URLs, and by entropy; at any depth, in JSON inside strings, in base64 and percent-encoded.
//!
//! Not here: what becomes of a masked argument in a procedure ([`crate::procedure`]), and who supplies its value
//! again ([`crate::hook::SecretProvider`]).

mod base64;
mod debug;
mod entropy;
mod find;
mod key;
mod known;
mod named;
mod sensitive;
mod shape;
mod url;

use std::borrow::Cow;
use std::ops::Range;

pub(crate) use key::is_secret_key;
pub(crate) use known::Secrets;
pub use sensitive::Sensitive;
pub(crate) use sensitive::Veiled;

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

/// The field that a value belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Under<'k> {
    key: &'k str,
    is_secret: bool,
}

impl<'k> Under<'k> {
    /// A value that belongs to no field.
    pub(crate) const NOTHING: Self = Self { key: "", is_secret: false };

    /// A value under a key of an object that stands here; what is under a secret key is secret at any depth.
    pub(crate) fn field(self, key: &'k str) -> Self {
        Self { key, is_secret: self.is_secret || is_secret_key(key) }
    }
}

/// Masks secrets in free text; JSON text is masked by key name too. Masking twice changes nothing more.
pub fn mask_text(text: &str) -> Masked {
    mask_under(text, Under::NOTHING)
}

/// Masks secrets in JSON text at any depth; text that is not JSON is masked as free text.
///
/// JSON without a secret comes back byte for byte, and JSON with one stays JSON.
pub fn mask_json(text: &str) -> Masked {
    match Json::parse(text) {
        Ok(json) => mask_parsed(json, text, Under::NOTHING),
        Err(_) => mask_spans(text, ""),
    }
}

/// The object, list or string that a text is.
fn quoted_or_nested(text: &str) -> Option<Json> {
    let looks = text.trim_start().starts_with(['{', '[', '"']);
    looks.then(|| Json::parse(text).ok()).flatten()
}

fn mask_under(text: &str, under: Under<'_>) -> Masked {
    match quoted_or_nested(text) {
        Some(json) => mask_parsed(json, text, under),
        None => mask_spans(text, under.key),
    }
}

fn mask_parsed(mut json: Json, text: &str, under: Under<'_>) -> Masked {
    if !is_any_secret(&json, under) {
        return Masked { text: text.to_owned(), found: 0 };
    }
    let found = mask_field(&mut json, under);
    Masked { text: json.to_text(), found }
}

/// What stands beside a mask may read as a secret only then, so that masking goes on until nothing is found.
const MAX_ROUNDS: usize = 8;

fn mask_spans(text: &str, key: &str) -> Masked {
    let mut masked = Masked { text: text.to_owned(), found: 0 };
    for _ in 0..MAX_ROUNDS {
        let spans = find::spans(&masked.text, key);
        if spans.is_empty() {
            break;
        }
        masked.found += spans.len();
        masked.text = without(&masked.text, &spans);
    }
    masked
}

fn without(text: &str, spans: &[Range<usize>]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        masked.push_str(text.get(from..span.start).unwrap_or_default());
        masked.push_str(MASK);
        from = span.end;
    }
    masked.push_str(text.get(from..).unwrap_or_default());
    masked
}

/// Whether masking would change anything in a value; it looks as [`mask_value`] does, and copies nothing.
pub(crate) fn holds_secret(json: &Json) -> bool {
    is_any_secret(json, Under::NOTHING)
}

fn is_any_secret(json: &Json, under: Under<'_>) -> bool {
    match json {
        Json::Object(fields) => fields.iter().any(|(key, value)| is_any_secret(value, under.field(key))),
        Json::List(items) => items.iter().any(|item| is_any_secret(item, under)),
        Json::Text(text) if under.is_secret => whole_secret(text).is_some(),
        Json::Number(_) => under.is_secret,
        Json::Text(text) => match quoted_or_nested(text) {
            Some(inner) => is_any_secret(&inner, Under { is_secret: false, ..under }),
            None => !find::spans(text, under.key).is_empty(),
        },
        _ => false,
    }
}

/// Masks the secrets of a value; returns how many there were.
pub(crate) fn mask_value(json: &mut Json) -> usize {
    mask_field(json, Under::NOTHING)
}

fn mask_field(json: &mut Json, under: Under<'_>) -> usize {
    match json {
        Json::Object(fields) => fields.iter_mut().map(|(key, value)| mask_field(value, under.field(key))).sum(),
        Json::List(items) => items.iter_mut().map(|item| mask_field(item, under)).sum(),
        Json::Text(text) if under.is_secret => match whole_secret(text) {
            Some(secret) => {
                let scheme = text.len() - secret.len();
                text.truncate(scheme);
                text.push_str(MASK);
                1
            }
            None => 0,
        },
        Json::Number(_) if under.is_secret => {
            *json = Json::Text(MASK.to_owned());
            1
        }
        Json::Text(text) => {
            let masked = mask_under(text, under);
            *text = masked.text;
            masked.found
        }
        _ => 0,
    }
}

/// What is secret of a text under a secret key: all of it but `Bearer` or the like; nothing where it is masked.
fn whole_secret(text: &str) -> Option<&str> {
    let secret = text.get(named::past_scheme(text)).unwrap_or(text);
    (!secret.is_empty() && secret != MASK).then_some(secret)
}

/// Adds the values of all secrets of a value.
fn values(json: &Json, under: Under<'_>, found: &mut Vec<String>) {
    match json {
        Json::Object(fields) => fields.iter().for_each(|(key, value)| values(value, under.field(key), found)),
        Json::List(items) => items.iter().for_each(|item| values(item, under, found)),
        Json::Number(text) if under.is_secret => found.push(text.clone()),
        Json::Text(text) if under.is_secret => found.extend(whole_secret(text).map(str::to_owned)),
        Json::Text(text) => {
            if let Some(inner) = quoted_or_nested(text) {
                return values(&inner, Under { is_secret: false, ..under }, found);
            }
            let spans = find::spans(text, under.key);
            found.extend(spans.into_iter().filter_map(|span| text.get(span).map(str::to_owned)));
        }
        _ => {}
    }
}

/// Whether a value is no secret itself but encoded text that holds one.
pub(crate) fn is_wrapped(value: &str) -> bool {
    find::is_wrapped(value)
}

/// A text as it may be shown: masked where it holds a secret.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match mask_text(text) {
        Masked { found: 0, .. } => Cow::Borrowed(text),
        masked => Cow::Owned(masked.text),
    }
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
            assert_eq!(holds_secret(&json), mask_value(&mut json.clone()) > 0, "{text}");
        }
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
