//! JSON that keeps numbers exactly as written, and the leaves of a value with their places.
//!
//! `serde_json::Value` turns a 20-digit integer into a float; arguments and results must survive
//! to the digit, so numbers stay text here.

mod read;
mod walk;
mod write;

use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
pub(crate) use read::work;
pub(crate) use walk::{Place, Seen};

use crate::Result;

/// How deep values may nest, as in `serde_json`.
const MAX_DEPTH: usize = 128;

/// A JSON value whose numbers are the text that was written.
#[derive(Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as written, such as `9007199254740993` or `1.50`.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object; of equal keys the last one wins.
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Reads one JSON value.
    ///
    /// # Errors
    /// `InvalidInput` for anything that is not exactly one JSON value: `NaN`, a lone surrogate
    /// escape, trailing text, or more than 128 levels.
    pub fn parse(text: &str) -> Result<Self> {
        read::read(text)
    }

    /// Reads a tool's result: JSON where it is JSON, else one text.
    ///
    /// A string that holds a JSON object or array is opened, because many hosts wrap results so.
    pub fn of_result(text: &str) -> Self {
        match Self::parse(text) {
            Ok(Self::Text(inner)) => Self::opened(&inner).unwrap_or(Self::Text(inner)),
            Ok(value) => value,
            Err(_) => Self::Text(text.to_owned()),
        }
    }

    /// The object or array inside a string, if it holds one.
    pub(crate) fn opened(text: &str) -> Option<Self> {
        let looks = text.trim_start().starts_with(['{', '[']);
        looks.then(|| Self::parse(text).ok()).flatten()
    }

    /// The kind of the value, the first thing that a shape compares.
    pub fn kind(&self) -> JsonKind {
        match self {
            Self::Null => JsonKind::Null,
            Self::Bool(_) => JsonKind::Bool,
            Self::Number(_) => JsonKind::Number,
            Self::Text(_) => JsonKind::Text,
            Self::List(_) => JsonKind::List,
            Self::Object(_) => JsonKind::Object,
        }
    }

    /// The value as JSON text: keys sorted, no spaces, numbers as written.
    pub fn to_text(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) => text.clone(),
            Self::Text(text) => quoted(text),
            Self::List(items) => format!("[{}]", items.iter().map(Self::to_text).collect::<Vec<_>>().join(",")),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| format!("{}:{}", quoted(key), value.to_text()));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// A field of an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.get(key),
            _ => None,
        }
    }

    /// Whether the value says nothing: null, false, zero, or empty text, list or object.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Number(text) => text.parse::<f64>().is_ok_and(|number| number == 0.0),
            Self::Text(text) => text.trim().is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Object(fields) => fields.is_empty(),
        }
    }

    /// The value as the text an argument or answer would show, for scalars only.
    pub fn scalar_text(&self) -> Option<&str> {
        match self {
            Self::Number(text) | Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Every scalar of the value, and every empty list or object, with its place.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.walk(|place, seen| {
            if let Seen::Leaf(value) = seen {
                leaves.push(Leaf::new(place, value));
            }
        });
        leaves
    }

    /// Visits the text of every scalar in the order of [`Self::leaves`], without working out places.
    pub(crate) fn each_scalar(&self, visit: &mut impl FnMut(&str)) {
        match self {
            Self::List(items) => items.iter().for_each(|item| item.each_scalar(visit)),
            Self::Object(fields) => fields.values().for_each(|value| value.each_scalar(visit)),
            Self::Number(text) => visit(text),
            Self::Text(text) => match Self::opened(text) {
                Some(inner) => inner.each_scalar(visit),
                None => visit(text),
            },
            Self::Null | Self::Bool(_) => {}
        }
    }

    /// The keys of every object, by the path of the object with `*` for list positions.
    pub(crate) fn keys(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        self.walk(|place, seen| {
            if let Seen::Object(fields) = seen
                && !fields.is_empty()
            {
                keys.entry(place.pattern().to_owned()).or_default().extend(fields.keys().cloned());
            }
        });
        keys
    }

    /// Visits every leaf, object and list; JSON inside strings is opened.
    pub(crate) fn walk(&self, mut visit: impl FnMut(&Place, Seen<'_>)) {
        walk::walk(self, None, &mut visit);
    }

    /// Visits what stands at one pattern.
    pub(crate) fn walk_at(&self, pattern: &str, mut visit: impl FnMut(&Place, Seen<'_>)) {
        let mut here = |place: &Place, seen: Seen<'_>| {
            if place.pattern() == pattern {
                visit(place, seen);
            }
        };
        walk::walk(self, Some(pattern), &mut here);
    }

    /// The value with the leaves at these pointers replaced.
    pub(crate) fn with_leaves(&self, leaves: &BTreeMap<String, Self>) -> Self {
        write::with_leaves(self, leaves)
    }
}

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonKind {
    /// `null`
    Null,
    /// A boolean.
    Bool,
    /// A number.
    Number,
    /// A string, or a result that is not JSON.
    Text,
    /// An array.
    List,
    /// An object.
    Object,
}

impl std::fmt::Display for JsonKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Number => "number",
            Self::Text => "text",
            Self::List => "list",
            Self::Object => "object",
        })
    }
}

/// One scalar (or empty container) of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The place with list positions, a JSON pointer such as `/orders/0/id`.
    pub pointer: String,
    /// The place with `*` for every list position, such as `/orders/*/id`.
    pub pattern: String,
    /// The value.
    pub value: Json,
}

impl Leaf {
    /// A copy of what a walk comes to.
    pub(crate) fn new(place: &Place, value: &Json) -> Self {
        Self { pointer: place.pointer().to_owned(), pattern: place.pattern().to_owned(), value: value.clone() }
    }

    /// Whether the leaf sits in a list.
    pub fn is_in_list(&self) -> bool {
        self.pointer != self.pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f64_big_integers_keep_every_digit() {
        let value = Json::parse(r#"{"id": 123456789012345678901234567890}"#).unwrap();
        assert_eq!(value.get("id"), Some(&Json::Number("123456789012345678901234567890".into())));
    }

    #[test]
    fn f65_nan_is_text_in_a_result_and_refused_as_json() {
        assert!(Json::parse(r#"{"ratio": NaN}"#).is_err());
        assert_eq!(Json::of_result(r#"{"ratio": NaN}"#).kind(), JsonKind::Text);
    }

    #[test]
    fn f46_a_lone_surrogate_escape_is_refused() {
        assert!(Json::parse(r#""\ud83d""#).is_err());
    }

    #[test]
    fn scalars_come_in_the_order_of_leaves() {
        let json = r#"{"b": [1, "x", [], {"c": null, "a": true}], "a": "[{\"id\": 7}, \"y\"]", "": "{no json"}"#;
        let json = Json::parse(json).unwrap();
        let mut scalars = Vec::new();
        json.each_scalar(&mut |text| scalars.push(text.to_owned()));
        let leaves = json.leaves();
        assert_eq!(scalars, leaves.iter().filter_map(|leaf| leaf.value.scalar_text()).collect::<Vec<_>>());
        assert_eq!(scalars, ["{no json", "7", "y", "1", "x"]);
    }

    #[test]
    fn json_inside_a_string_is_opened_with_its_own_step() {
        let leaves = Json::parse(r#"{"result": "[{\"id\": 7}]"}"#).unwrap().leaves();
        assert_eq!(leaves[0].pointer, "/result/#/0/id");
        assert_eq!(leaves[0].pattern, "/result/#/*/id");
    }

    #[test]
    fn deep_nesting_is_refused_without_a_crash() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(Json::parse(&deep).is_err());
    }
}
