//! Credentials that a text names: `api_key=…`, `Authorization: Bearer …`, `Basic …`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::base64;
use super::entropy::is_random;
use super::key::is_secret_key;

/// The last word of a secret name and what parts it from its value, or a scheme of credentials.
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i-u:(?P<name>password|passwd|pwd|passphrase|passcode|secret|token|key|authorization|cookie|credentials?|jwt|bearer)",
        r#"(?P<between>(?:\\*["'])?[ \t]{0,4}[=:][ \t]{0,4}(?:\\*["'])?)"#,
        r"|(?-u:\b)(?P<scheme>bearer|basic)[ \t]{1,4})"
    ))
    .ok()
});

/// Without quotes a shorter value is no credential, in bytes.
const MIN_BARE: usize = 6;
/// Nor is a number that is shorter.
const MIN_DIGITS: usize = 8;
/// After `Bearer` or `Basic` alone.
const MIN_CREDENTIAL: usize = 12;
/// Without digits a random one has a few letters more.
const MIN_LETTERS: usize = 10;
/// A longer name is none, in bytes.
const MAX_NAME: usize = 64;

/// A longer value is looked at no further, in bytes.
const MAX_VALUE: usize = 4 * 1024;

/// Where the values of secret names and schemes stand.
pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    let Some(names) = NAMES.as_ref() else { return };
    // A name inside a value that was looked at gives nothing new; looking again could take for ever.
    let mut seen = 0;
    for captures in names.captures_iter(text) {
        let all = captures.get(0).map_or(0..0, |all| all.range());
        if all.start < seen {
            continue;
        }
        let rest = text.get(all.end..).unwrap_or_default();
        let rest = rest.get(..rest.floor_char_boundary(MAX_VALUE)).unwrap_or_default();
        let value = match (captures.name("name"), captures.name("between")) {
            (Some(name), Some(between)) if is_secret_name(text, name.range()) => {
                let is_line = name.as_str().eq_ignore_ascii_case("cookie");
                value_of(rest, between.as_str(), is_line)
            }
            (None, None) => credential(rest),
            _ => continue,
        };
        seen = all.end + value.range.end;
        if value.is_secret {
            found.push(all.end + value.range.start..seen);
        }
    }
}

/// What stands after a name.
struct Value {
    range: Range<usize>,
    is_secret: bool,
}

/// Whether the whole name that ends here is that of a secret.
fn is_secret_name(text: &str, end: Range<usize>) -> bool {
    let before = text.get(..end.start).unwrap_or_default();
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let start = before.bytes().rev().take(MAX_NAME).take_while(in_name).count();
    text.get(end.start - start..end.end).is_some_and(is_secret_key)
}

/// The value after a secret name.
fn value_of(rest: &str, between: &str, is_line: bool) -> Value {
    if let Some(quote) = between.chars().next_back().filter(|last| matches!(last, '"' | '\'')) {
        let value = rest.split([quote, '\n', '\\']).next().unwrap_or_default();
        return Value { range: past_scheme(value), is_secret: !value.is_empty() && value != super::MASK };
    }
    let line = rest.split(['\n', '\r', '"', '\'']).next().unwrap_or_default();
    if is_line && line.split_whitespace().next().is_some_and(|first| first.contains('=')) {
        return Value { range: 0..line.len(), is_secret: true };
    }
    let scheme = past_scheme(line).start;
    let value = line.get(scheme..).unwrap_or_default();
    let ends = |char: char| char.is_whitespace() || "<>&,;(){}[]|\\`".contains(char) || !char.is_ascii();
    let value = value.split(ends).next().unwrap_or_default().trim_end_matches(['.', ':', '!', '?']);
    Value { range: scheme..scheme + value.len(), is_secret: is_bare_secret(value) }
}

/// Whether a value without quotes is a credential rather than a word, a place or a placeholder.
fn is_bare_secret(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_place = value.starts_with(['/', '.', '~', '$', '%', '#']) || value.contains("://");
    let is_long = value.len() >= if has_letter { MIN_BARE } else { MIN_DIGITS };
    is_long && !is_place && (has_digit || is_random(value, MIN_LETTERS))
}

/// The value without `Bearer` or the like before it.
pub(super) fn past_scheme(value: &str) -> Range<usize> {
    let Some((scheme, rest)) = value.split_once([' ', '\t']) else { return 0..value.len() };
    let is_scheme =
        ["bearer", "basic", "token", "apikey", "negotiate"].iter().any(|own| scheme.eq_ignore_ascii_case(own));
    let start = value.len() - rest.trim_start().len();
    if is_scheme && start < value.len() { start..value.len() } else { 0..value.len() }
}

/// What stands after `Bearer` or `Basic`.
fn credential(rest: &str) -> Value {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/_~.=-".contains(byte);
    let value = rest.get(..rest.bytes().take_while(is_part).count()).unwrap_or_default();
    let value = value.trim_end_matches('.');
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_long = value.len() >= MIN_CREDENTIAL && (has_digit || is_random(value, MIN_LETTERS));
    let is_pair = || base64::text_of(value).is_some_and(|pair| pair.contains(':'));
    Value { range: 0..value.len(), is_secret: is_long || is_pair() }
}
