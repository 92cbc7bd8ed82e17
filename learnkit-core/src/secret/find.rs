//! Where secrets stand in a free text. One function finds them for everyone: masking, looking and collecting.

use std::ops::Range;

use super::entropy::{MIN_MIXED, is_random};
use super::key::is_id_key;
use super::{MASK, base64, mask_text, named, shape, url};

/// Texts inside texts are opened so many times.
const MAX_DEPTH: usize = 4;
/// A text whose runs of token characters are all shorter holds no secret, in bytes.
const MIN_RUN: usize = 15;
/// The same of runs with a digit.
const MIN_RUN_WITH_DIGIT: usize = 12;
/// The same of runs with a digit after a colon or an equals sign.
const MIN_RUN_AS_VALUE: usize = 6;
/// Shorter base64 is not opened, in bytes.
const MIN_BASE64: usize = 16;
/// A shorter key needs no more than a word such as `key` before it.
const MIN_INTRODUCED: usize = 12;
/// Lines of so many token characters one after the other are data.
const BLOB_LINE: usize = 57;

/// Where secrets stand, in order and apart from each other. `key` is the field that the text is the value of.
pub(super) fn spans(text: &str, key: &str) -> Vec<Range<usize>> {
    spans_within(text, key, 0)
}

/// Whether a value of a URL holds a secret once it is decoded.
pub(super) fn holds_encoded(value: &str, depth: usize) -> bool {
    depth < MAX_DEPTH && value.contains('%') && holds_opened(&url::percent_decoded(value), depth)
}

fn holds_opened(text: &str, depth: usize) -> bool {
    // What was opened may be JSON, and is opened no deeper than texts in texts are.
    if text.trim_start().starts_with(['{', '[', '"']) {
        mask_text(text).found > 0
    } else {
        !spans_within(text, "", depth + 1).is_empty()
    }
}

fn spans_within(text: &str, key: &str, depth: usize) -> Vec<Range<usize>> {
    if depth > MAX_DEPTH || !may_hold(text) {
        return Vec::new();
    }
    let (mut found, mut paths) = (Vec::new(), Vec::new());
    shape::find(text, &mut found);
    named::find(text, &mut found);
    url::look(text, depth, &mut found, &mut paths);
    Runs { text, key, depth, known: merged(found.clone()), paths }.find(&mut found);
    found.retain(|span| text.get(span.clone()).is_some_and(|secret| !secret.is_empty() && secret != MASK));
    merged(found)
}

/// Spans in order; those that touch or overlap become one.
fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// Whether a byte belongs to a run of token characters.
fn in_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'/' | b'=' | b'~' | b'.' | b'%' | b'-')
}

/// A quick look: whether a text is worth a closer one.
fn may_hold(text: &str) -> bool {
    let (mut run, mut has_digit, mut least) = (0_usize, false, MIN_RUN_WITH_DIGIT);
    let (mut before, mut is_url) = (b' ', false);
    text.bytes().any(|byte| {
        let worth = if in_run(byte) {
            run += 1;
            has_digit |= byte.is_ascii_digit();
            run >= MIN_RUN || (has_digit && run >= least)
        } else {
            (run, has_digit) = (0, false);
            // The password of a URL may be short, and a quoted one a word.
            (byte == b'@' && is_url) || (matches!(byte, b'"' | b'\'') && matches!(before, b':' | b'=' | b'\\'))
        };
        if matches!(byte, b':' | b'=') {
            least = MIN_RUN_AS_VALUE;
        }
        is_url |= byte == b'/' && before == b'/';
        if byte != b' ' {
            before = byte;
        }
        worth
    })
}

/// The runs of token characters of a text.
struct Runs<'t> {
    text: &'t str,
    key: &'t str,
    depth: usize,
    known: Vec<Range<usize>>,
    paths: Vec<Range<usize>>,
}

impl Runs<'_> {
    fn find(&self, found: &mut Vec<Range<usize>>) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        // The last line that looked like data ends here.
        let mut blob_end = usize::MAX;
        while let Some(skip) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| in_run(*byte))) {
            let start = at + skip;
            let rest = bytes.get(start..).unwrap_or_default();
            at = start + rest.iter().position(|byte| !in_run(*byte)).unwrap_or(rest.len());
            let is_line = at - start >= BLOB_LINE && bytes.get(at).is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
            let goes_on = blob_end != usize::MAX && start - blob_end <= 2;
            if at - start >= MIN_INTRODUCED {
                let next_is_line = is_line && self.is_line_after(at);
                self.run(start..at, goes_on || next_is_line, found);
            }
            blob_end = if is_line { at } else { usize::MAX };
        }
    }

    /// Whether the line after a long one goes on in the same way.
    fn is_line_after(&self, at: usize) -> bool {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        let rest = rest.iter().skip_while(|byte| matches!(byte, b'\n' | b'\r'));
        rest.take(MIN_MIXED).filter(|byte| in_run(**byte)).count() == MIN_MIXED
    }

    fn run(&self, run: Range<usize>, is_blob: bool, found: &mut Vec<Range<usize>>) {
        if is_within(&run, &self.known) {
            return;
        }
        let text = self.text.get(run.clone()).unwrap_or_default();
        let (key, value) = match text.split_once('=') {
            Some((key, value)) if !value.trim_matches('=').is_empty() => (key, value),
            _ => (self.key, text),
        };
        let start = run.end - value.len();
        if is_opened(value, self.depth) {
            found.push(start..run.end);
            return;
        }
        let before = self.text.get(..start).unwrap_or_default();
        let is_place = value.starts_with(['/', '.', '~']) || value.contains("//") || is_within(&run, &self.paths);
        if is_blob || is_place || before.ends_with("base64,") || base64::is_data(value) {
            return;
        }
        let mut at = start;
        for part in value.split_inclusive(['.', '~', '%', '=']) {
            let own = part.trim_end_matches(['.', '~', '%', '=']);
            if is_random(own, MIN_INTRODUCED) && Self::is_key(own, key, before) {
                found.push(at..at + own.len());
            }
            at += part.len();
        }
    }

    /// Whether a random text is a key rather than an id, by its length and by what it is called.
    fn is_key(random: &str, key: &str, before: &str) -> bool {
        let least = match introduced(before) {
            Introduced::AsKey => MIN_INTRODUCED,
            Introduced::AsId => return false,
            Introduced::Plainly => MIN_MIXED,
        };
        !is_id_key(key) && is_random(random, least)
    }
}

/// Whether a value is base64 or percent-encoded text with a secret in it.
pub(super) fn is_wrapped(value: &str) -> bool {
    is_opened(value, 0)
}

fn is_opened(value: &str, depth: usize) -> bool {
    if holds_encoded(value, depth) {
        return true;
    }
    let is_base64 = value.len() >= MIN_BASE64 && !value.contains(['.', '~', '%']) && depth < MAX_DEPTH;
    is_base64 && base64::text_of(value).is_some_and(|inner| holds_opened(&inner, depth))
}

/// Whether a span lies in one of others, which are in order and apart from each other.
fn is_within(span: &Range<usize>, others: &[Range<usize>]) -> bool {
    let after = others.partition_point(|other| other.start <= span.start);
    after.checked_sub(1).and_then(|last| others.get(last)).is_some_and(|other| span.end <= other.end)
}

/// What the word before a value says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Introduced {
    AsKey,
    AsId,
    Plainly,
}

/// Words that a key is introduced with.
const KEY_WORDS: [&str; 11] = [
    "key",
    "keys",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "credentials",
    "apikey",
    "pass",
];
/// So much before a value is looked at, in bytes.
const INTRODUCTION: usize = 48;

fn introduced(before: &str) -> Introduced {
    let before = before.get(before.ceil_char_boundary(before.len().saturating_sub(INTRODUCTION))..).unwrap_or_default();
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let mut words = before.rsplit(|char| !is_part(char)).filter(|word| !word.is_empty());
    let mut last = words.next().unwrap_or_default();
    if ["is", "was", "are"].contains(&last) {
        last = words.next().unwrap_or_default();
    }
    if is_id_key(last) {
        return Introduced::AsId;
    }
    let is_key = KEY_WORDS.iter().any(|word| last.eq_ignore_ascii_case(word));
    if is_key { Introduced::AsKey } else { Introduced::Plainly }
}
