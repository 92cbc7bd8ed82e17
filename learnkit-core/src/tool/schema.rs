//! The input schema of a tool, kept to the digit.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::{Error, Result};

/// A JSON Schema as text in one stable form: keys sorted, no spaces, numbers as written.
///
/// Two schemas that differ only in the order of keys or in whitespace are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schema(String);

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// `InvalidInput` when the text is no JSON, or neither an object nor `true` or `false`.
    pub fn parse(text: &str) -> Result<Self> {
        Self::of_json(&Json::parse(text)?)
    }

    /// Takes a schema from a value, such as `json!({"type": "object"})`.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn of(value: &impl Serialize) -> Result<Self> {
        let text = serde_json::to_string(value)
            .map_err(|error| Error::invalid("an input schema cannot be written as JSON").with_source(error))?;
        Self::parse(&text)
    }

    /// Takes a schema from a value that was read.
    ///
    /// # Errors
    /// `InvalidInput` when it is neither an object nor `true` or `false`.
    pub fn of_json(json: &Json) -> Result<Self> {
        match json {
            Json::Object(_) | Json::Bool(_) => Ok(Self(json.to_text())),
            other => {
                let message = format!("an input schema is a JSON object, and this is a {}", other.kind());
                Err(Error::invalid(message))
            }
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The schema as JSON; `null` where a stored one was broken.
    pub fn json(&self) -> Json {
        Json::parse(&self.0).unwrap_or(Json::Null)
    }

    /// Whether a call without arguments is allowed by it: an object none of whose fields is required.
    pub fn requires_nothing(&self) -> bool {
        let json = self.json();
        let is_object = json.get("type").is_none_or(|kind| *kind == Json::Text("object".to_owned()));
        let is_plain = matches!(&json, Json::Object(fields) if !fields.keys().any(|key| may_require(key)));
        let names = json.get("required").is_some_and(|required| *required != Json::List(Vec::new()));
        is_plain && is_object && !names
    }
}

/// Keywords through which a schema may require a field without saying so in `required`.
fn may_require(keyword: &str) -> bool {
    matches!(
        keyword,
        "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "if"
            | "then"
            | "else"
            | "$ref"
            | "$dynamicRef"
            | "minProperties"
            | "const"
            | "enum"
    )
}

impl std::fmt::Display for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn key_order_and_spaces_are_no_difference_and_digits_stay() {
        let one = Schema::parse(r#"{"type": "object", "maximum": 12345678901234567890123}"#).unwrap();
        let two = Schema::parse(r#"{"maximum":12345678901234567890123,"type":"object"}"#).unwrap();
        assert_eq!(one, two);
        assert!(one.as_str().contains("12345678901234567890123"));
        assert_eq!(Schema::parse("[1]").unwrap_err().kind(), crate::ErrorKind::InvalidInput);
    }

    #[test]
    fn f86_only_a_schema_without_a_required_field_allows_no_arguments() {
        let allows = |schema| Schema::of(&schema).unwrap().requires_nothing();
        for free in [
            json!({}),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"limit": {"type": "integer"}}, "required": []}),
        ] {
            assert!(allows(free.clone()), "{free}");
        }
        for bound in [
            json!({"type": "object", "properties": {"id": {}}, "required": ["id"]}),
            json!({"type": "string"}),
            json!({"$ref": "#/$defs/order"}),
            json!({"anyOf": [{"required": ["id"]}, {"required": ["name"]}]}),
            json!({"type": "object", "minProperties": 1}),
            json!(false),
        ] {
            assert!(!allows(bound.clone()), "{bound}");
        }
    }
}
