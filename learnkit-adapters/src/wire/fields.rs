//! Looking into raw JSON by name, without turning a number into a float.

use std::collections::BTreeMap;

use learnkit_core::run::{Arguments, ToolOutput};
use learnkit_core::{Error, Json, Result};
use serde_json::value::RawValue;

/// The fields of a JSON object; of equal keys the last one counts.
#[derive(Debug)]
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// Reads an object; `what` names it in the error.
    pub(super) fn read(raw: &'a RawValue, what: &str) -> Result<Self> {
        let broken =
            |error: serde_json::Error| Error::invalid(format!("{what} is not a JSON object")).with_source(error);
        serde_json::from_str(raw.get()).map(Self).map_err(broken)
    }

    /// A field as it is, `null` too.
    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied()
    }

    /// A field; `null` is absent.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.raw(name).filter(|raw| raw.get() != "null")
    }

    /// Whether a field is there and not `null`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        self.get(name).map(|raw| text(raw, name)).transpose()
    }

    /// A text that has to be there.
    pub(super) fn required_text(&self, name: &str) -> Result<String> {
        self.text(name)?.ok_or_else(|| Error::invalid(format!("the field `{name}` is missing")))
    }

    /// True or false.
    pub(super) fn bool(&self, name: &str) -> Result<Option<bool>> {
        let read = |raw: &RawValue| match raw.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Error::invalid(format!("the field `{name}` is neither true nor false"))),
        };
        self.get(name).map(read).transpose()
    }

    /// A list.
    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<&'a RawValue>>> {
        self.get(name).map(|raw| list(raw, &format!("the field `{name}`"))).transpose()
    }

    /// An object.
    pub(super) fn object(&self, name: &str) -> Result<Option<Self>> {
        self.get(name).map(|raw| Self::read(raw, &format!("the field `{name}`"))).transpose()
    }

    /// The names, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The items of a list; `what` names it in the error.
pub(super) fn list<'a>(raw: &'a RawValue, what: &str) -> Result<Vec<&'a RawValue>> {
    serde_json::from_str(raw.get()).map_err(|error| Error::invalid(format!("{what} is not a list")).with_source(error))
}

/// A JSON string's text.
pub(super) fn text(raw: &RawValue, name: &str) -> Result<String> {
    serde_json::from_str(raw.get())
        .map_err(|error| Error::invalid(format!("the field `{name}` is not a text")).with_source(error))
}

pub(super) fn is_text(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

pub(super) fn is_list(raw: &RawValue) -> bool {
    raw.get().starts_with('[')
}

pub(super) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// The arguments of a call: a string holds the text the model wrote, anything else is that text.
pub(super) fn arguments(raw: &RawValue) -> Result<Arguments> {
    let raw = if is_text(raw) { text(raw, "arguments")? } else { checked(raw, "arguments")? };
    Ok(Arguments::from_raw(raw))
}

/// The result of a tool: a string is its text, anything else its JSON.
pub(super) fn output(raw: &RawValue) -> Result<ToolOutput> {
    let raw = if is_text(raw) { text(raw, "result")? } else { checked(raw, "result")? };
    Ok(ToolOutput::text(raw))
}

/// A JSON value as compact text, to the digit; refuses what is only JSON at first sight, such as a
/// lone surrogate.
pub(super) fn checked(raw: &RawValue, name: &str) -> Result<String> {
    let broken = |error: Error| Error::invalid(format!("the field `{name}` is not valid JSON")).with_source(error);
    Json::parse(raw.get()).map_err(broken)?;
    Ok(compact(raw.get()))
}

/// JSON text without the spaces between its parts: they belong to the file and not to the value.
fn compact(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let (mut quoted, mut escaped) = (false, false);
    for char in json.chars() {
        if quoted {
            quoted = escaped || char != '"';
            escaped = !escaped && char == '\\';
        } else if char.is_ascii_whitespace() {
            continue;
        } else {
            quoted = char == '"';
        }
        text.push(char);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f64_compact_text_keeps_digits_order_and_strings() {
        let json = "{ \"b\" : 90071992547409930001 ,\n \"a b\": [ 1.50, \"x \\\" { y\" ] }";
        assert_eq!(compact(json), r#"{"b":90071992547409930001,"a b":[1.50,"x \" { y"]}"#);
    }
}
