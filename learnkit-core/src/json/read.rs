//! Reading JSON text: `serde_json` checks the whole of it, then one pass builds the value.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Json, MAX_DEPTH};
use crate::{Error, Result};

/// Reads one JSON value.
pub(super) fn read(text: &str) -> Result<Json> {
    #[cfg(test)]
    work::count(text.len());
    let checked: &RawValue = serde_json::from_str(text).map_err(unreadable)?;
    Reader { rest: checked.get() }.value(0)
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::invalid("text is not one JSON value").with_source(error)
}

/// Text that is known to be JSON, from the next value on.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn value(&mut self, depth: usize) -> Result<Json> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid("JSON nests deeper than 128 levels"));
        }
        Ok(match self.next() {
            Some(b'{') => {
                self.take(1);
                let mut fields = BTreeMap::new();
                while !self.closes(b'}') {
                    let key = self.text()?;
                    // Of equal keys the last one stays.
                    fields.insert(key, self.value(depth + 1)?);
                }
                Json::Object(fields)
            }
            Some(b'[') => {
                self.take(1);
                let mut items = Vec::new();
                while !self.closes(b']') {
                    items.push(self.value(depth + 1)?);
                }
                Json::List(items)
            }
            Some(b'"') => Json::Text(self.text()?),
            _ => self.word(),
        })
    }

    /// The byte that the next value begins with.
    fn next(&mut self) -> Option<u8> {
        let between = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':');
        let skipped = self.rest.as_bytes().iter().take_while(|byte| between(byte)).count();
        self.take(skipped);
        self.rest.bytes().next()
    }

    /// Whether the list or object ends here; its end is taken then.
    fn closes(&mut self, end: u8) -> bool {
        let next = self.next();
        if next == Some(end) {
            self.take(1);
        }
        next.is_none_or(|next| next == end)
    }

    fn text(&mut self) -> Result<String> {
        self.next();
        let bytes = self.rest.as_bytes();
        let (mut end, mut has_escapes) = (1, false);
        while let Some(byte) = bytes.get(end).filter(|byte| **byte != b'"') {
            has_escapes |= *byte == b'\\';
            end += if *byte == b'\\' { 2 } else { 1 };
        }
        let quoted = self.take(end + 1);
        if has_escapes {
            return serde_json::from_str(quoted).map_err(unreadable);
        }
        Ok(quoted.get(1..end).unwrap_or_default().to_owned())
    }

    /// A number as written, `true`, `false` or `null`.
    fn word(&mut self) -> Json {
        let ends = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b']' | b'}');
        let length = self.rest.bytes().position(ends).unwrap_or(self.rest.len());
        match self.take(length.max(1)) {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            "null" => Json::Null,
            number => Json::Number(number.to_owned()),
        }
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

/// How much was read on this thread, so that a test can tell how often a long result is.
#[cfg(test)]
pub(crate) mod work {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count(bytes: usize) {
        BYTES.set(BYTES.get() + bytes);
    }

    /// The bytes that were read since this was asked last.
    pub(crate) fn take() -> usize {
        BYTES.take()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The value as `serde_json` understands it, level by level.
    fn by_serde(text: &str) -> Option<Json> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        let text = raw.get();
        Some(match text.as_bytes().first()? {
            b'{' => {
                let fields: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
                let fields = fields.into_iter().map(|(key, raw)| Some((key, by_serde(raw.get())?)));
                Json::Object(fields.collect::<Option<_>>()?)
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                Json::List(items.into_iter().map(|raw| by_serde(raw.get())).collect::<Option<_>>()?)
            }
            b'"' => Json::Text(serde_json::from_str(text).ok()?),
            b't' => Json::Bool(true),
            b'f' => Json::Bool(false),
            b'n' => Json::Null,
            _ => Json::Number(text.to_owned()),
        })
    }

    #[test]
    fn what_serde_reads_is_read_alike() {
        for text in [
            r#" { "a" : [ 1 , -2.50e+7 , true , false , null , "" , { } , [ ] ] , "a\"b\\" : "c\u00e9\ud83d\ude00:,}]" } "#,
            r#"{"a": 1, "b": 2, "a": 3}"#,
            r#"{"\u0061": "x", "ключ": "ü漢"}"#,
            r#""one text""#,
            "7",
            "\n[[[]],[{}]]\t",
            r#"["\ud83d"]"#,
            r#"{"\ud83d": 1}"#,
            "[1,]",
            "[1 2]",
            "{\"a\" 1}",
            "[\"tab\there\"]",
            "01",
            "",
        ] {
            assert_eq!(read(text).ok(), by_serde(text), "{text}");
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&deep(129)).is_ok() && read(&deep(130)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn any_text_is_read_or_refused_alike(text in r#"[\[\]{}",:\\ 0-9eE.\-utrfalsn\nü]{0,24}"#) {
            prop_assert_eq!(read(&text).ok(), by_serde(&text));
        }
    }
}
