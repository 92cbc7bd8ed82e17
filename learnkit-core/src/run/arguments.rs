//! The arguments of a call, kept as the text that was written.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::Json;
use crate::secret::mask_json;
use crate::{Error, Result};

/// Raw JSON text of a call's arguments; big integers and decimals stay exact.
///
/// Anything is accepted (`null`, `""`, broken JSON); only a JSON object can be replayed. `Debug` shows them as
/// [`Self::masked`] gives them, `Display` and [`Self::raw`] to the letter. Where a replay filled in secrets, they
/// are written as JSON without them.
#[derive(Clone)]
pub struct Arguments {
    raw: String,
    /// How they read without the secrets that a replay filled in; absent where it filled in none.
    shown: Option<Box<str>>,
}

impl Arguments {
    /// Keeps the text as it is.
    pub fn from_raw(raw: impl Into<String>) -> Self {
        Self { raw: raw.into(), shown: None }
    }

    /// The same, for which this is shown and stored.
    pub(crate) fn shown_as(self, shown: String) -> Self {
        Self { shown: Some(shown.into()), ..self }
    }

    /// The arguments as they are stored, shown and compared: every secret masked, also one that nothing but a
    /// replay knows to be one. The same arguments give the same text.
    pub fn masked(&self) -> String {
        mask_json(self.shown.as_deref().unwrap_or(&self.raw)).text
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// `InvalidInput` when the value cannot be written as JSON (a map with keys that are not text).
    pub fn of(value: &impl Serialize) -> Result<Self> {
        serde_json::to_string(value)
            .map(Self::from_raw)
            .map_err(|error| Error::invalid("arguments cannot be written as JSON").with_source(error))
    }

    /// The text.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The arguments as JSON, numbers exact.
    ///
    /// # Errors
    /// `InvalidInput` when the text is not one JSON value.
    pub fn json(&self) -> Result<Json> {
        Json::parse(&self.raw)
    }

    /// Reads the arguments into the caller's type.
    ///
    /// # Errors
    /// `InvalidInput` when they do not fit, with serde's reason as the source.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.raw)
            .map_err(|error| Error::invalid("arguments do not fit what the tool takes").with_source(error))
    }

    /// Whether the arguments are a JSON object, the only form that can be replayed.
    pub fn is_object(&self) -> bool {
        matches!(self.json(), Ok(Json::Object(_)))
    }

    /// The object without fields.
    pub(crate) fn none() -> Self {
        Self::from_raw("{}")
    }

    /// Whether nothing was given: no text, or the empty JSON string, as some models write it for a tool
    /// without parameters.
    pub(crate) fn is_blank(&self) -> bool {
        matches!(self.raw.trim(), "" | "\"\"")
    }

    /// Visits the text.
    pub(crate) fn each_text(&mut self, visit: &impl Fn(&mut String)) {
        self.shown = None;
        visit(&mut self.raw);
    }

    /// Whether two texts mean the same arguments: equal, or equal JSON in another key order.
    pub fn same_as(&self, other: &Self) -> bool {
        self.raw == other.raw
            || self.may_be_same(other) && matches!((self.json(), other.json()), (Ok(a), Ok(b)) if a == b)
    }

    /// Whether reading both could show them to be equal. The same values in another order are made of the same bytes,
    /// apart from spaces, unless one of them is written with escapes or gives a key twice.
    fn may_be_same(&self, other: &Self) -> bool {
        let is_escaped = |text: &str| text.contains('\\');
        is_escaped(&self.raw) || is_escaped(&other.raw) || weight(&self.raw) == weight(&other.raw)
    }

    /// The text in a stable form: keys sorted, no spaces, numbers as written.
    pub(crate) fn stable(&self) -> String {
        self.json().map_or_else(|_| self.raw.clone(), |json| json.to_text())
    }
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Arguments {}

impl std::hash::Hash for Arguments {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.shown.as_deref().unwrap_or(&self.raw))
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from_raw)
    }
}

impl std::fmt::Debug for Arguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Arguments").field(&self.masked()).finish()
    }
}

/// A sum that does not depend on the order of what stands in a text, nor on its spaces.
fn weight(text: &str) -> u64 {
    text.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(|byte| u64::from(byte) * u64::from(byte)).sum()
}

impl From<serde_json::Value> for Arguments {
    fn from(value: serde_json::Value) -> Self {
        Self::from_raw(value.to_string())
    }
}

impl std::fmt::Display for Arguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f63_f88_anything_is_kept_and_only_objects_replay() {
        for raw in ["null", "\"\"", "", "[1,2]", "\"x\"", "7", "{bad"] {
            let arguments = Arguments::from_raw(raw);
            assert_eq!(arguments.raw(), raw);
            assert!(!arguments.is_object(), "{raw}");
        }
        assert!(Arguments::from_raw("{}").is_object());
    }

    #[test]
    fn the_same_arguments_are_known_in_any_order_spacing_and_spelling() {
        let same = |one: &str, other: &str| Arguments::from_raw(one).same_as(&Arguments::from_raw(other));
        assert!(same(r#"{"a":1,"b":[2,"x y"]}"#, r#"{ "b": [2, "x y"], "a": 1 }"#));
        assert!(same(r#"{"a":"\u0041"}"#, r#"{"a":"A"}"#));
        assert!(!same(r#"{"a":12}"#, r#"{"a":21}"#) && !same(r#"{"a":1}"#, r#"{"a":2}"#));
        assert!(!same("{bad", "bad{") && same("{bad", "{bad"));
    }

    #[test]
    fn f64_a_big_integer_reaches_the_tool_exactly() {
        #[derive(serde::Deserialize)]
        struct Take {
            id: u128,
        }
        let arguments = Arguments::from_raw(r#"{"id": 90071992547409930000000001}"#);
        assert_eq!(arguments.parse::<Take>().unwrap().id, 90_071_992_547_409_930_000_000_001);
        assert_eq!(arguments.stable(), r#"{"id":90071992547409930000000001}"#);
    }
}
