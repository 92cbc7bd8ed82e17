//! Credentials in URLs: before the host, in the query and in the fragment.

use std::ops::Range;

use super::key::is_secret_key;
use super::{MASK, find};

/// Query fields that are secret in a URL only.
const QUERY_KEYS: [&str; 3] = ["sig", "signature", "x-amz-signature"];
/// A lone user name of so many characters with a digit is a token.
const MIN_LONE: usize = 12;

/// Adds the credentials of every URL, and where its path stands: what is there is a place, not a key.
pub(super) fn look(text: &str, depth: usize, found: &mut Vec<Range<usize>>, paths: &mut Vec<Range<usize>>) {
    let mut end = 0;
    for (at, mark) in text.match_indices("://") {
        let start = at + mark.len();
        let is_inside = start < end;
        if !is_inside {
            let rest = text.get(start..).unwrap_or_default();
            end = start + rest.find(ends_url).unwrap_or(rest.len());
        }
        let url = text.get(start..end).unwrap_or_default();
        let host = url.find(['/', '?', '#']).unwrap_or(url.len());
        found.extend(user_info(url.get(..host).unwrap_or_default()).map(|part| start + part.start..start + part.end));
        // A URL inside another one is a part of its path or query.
        if !is_inside {
            let path = url.find(['?', '#']).unwrap_or(url.len());
            paths.push(start..start + path);
            fields(url, path, depth, |part| found.push(start + part.start..start + part.end));
        }
    }
}

fn ends_url(char: char) -> bool {
    char.is_whitespace() || matches!(char, '"' | '\'' | '<' | '>' | '`' | '\\')
}

/// The password, or the token that stands alone, before the host.
fn user_info(authority: &str) -> Option<Range<usize>> {
    let at = authority.rfind('@')?;
    let user = authority.get(..at).unwrap_or_default();
    let secret = match user.find(':') {
        Some(colon) => colon + 1..at,
        None if user.len() >= MIN_LONE && user.bytes().any(|byte| byte.is_ascii_digit()) => 0..at,
        None => return None,
    };
    authority.get(secret.clone()).filter(|value| !value.is_empty() && *value != MASK).map(|_| secret)
}

/// Visits the values of query and fragment that are secret by their names, or hold one when decoded.
fn fields(url: &str, from: usize, depth: usize, mut visit: impl FnMut(Range<usize>)) {
    let mut start = from;
    for field in url.get(from..).unwrap_or_default().split_inclusive(['?', '#', '&', ';']) {
        let pair = field.trim_end_matches(['?', '#', '&', ';']);
        if let Some((key, value)) = pair.split_once('=') {
            let key = percent_decoded(key);
            let is_named = is_secret_key(&key) || QUERY_KEYS.iter().any(|own| key.eq_ignore_ascii_case(own));
            let is_secret = !value.is_empty() && value != MASK && (is_named || find::holds_encoded(value, depth));
            if is_secret {
                visit(start + pair.len() - value.len()..start + pair.len());
            }
        }
        start += field.len();
    }
}

/// A text with its `%41` decoded; what is no UTF-8 then is replaced.
pub(super) fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
