//! JSON that keeps numbers exactly as written, and the leaves of a value with their places.
//!
//! `serde_json::Value` turns a 20-digit integer into a float; arguments and results must survive
//! to the digit, so numbers stay text here.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::{Error, Result};

/// How deep values may nest, as in `serde_json`.
const MAX_DEPTH: usize = 128;

/// A JSON value whose numbers are the text that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let raw: &RawValue = serde_json::from_str(text)
            .map_err(|error| Error::invalid("text is not one JSON value").with_source(error))?;
        Self::from_raw(raw, 0)
    }

    fn from_raw(raw: &RawValue, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid("JSON nests deeper than 128 levels"));
        }
        let text = raw.get();
        let read = |error: serde_json::Error| Error::invalid("text is not one JSON value").with_source(error);
        Ok(match text.as_bytes().first() {
            Some(b'{') => {
                let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(read)?;
                let fields = fields.into_iter().map(|(key, raw)| Ok((key, Self::from_raw(raw, depth + 1)?)));
                Self::Object(fields.collect::<Result<_>>()?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(read)?;
                Self::List(items.into_iter().map(|raw| Self::from_raw(raw, depth + 1)).collect::<Result<_>>()?)
            }
            Some(b'"') => Self::Text(serde_json::from_str(text).map_err(read)?),
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'n') => Self::Null,
            _ => Self::Number(text.to_owned()),
        })
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
    fn opened(text: &str) -> Option<Self> {
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
        self.collect(&Place::default(), &mut leaves, 0);
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

    /// The length of every list, by its path with `*` for list positions.
    pub(crate) fn list_lengths(&self) -> Vec<(String, usize)> {
        let mut lengths = Vec::new();
        self.collect_lengths(&Place::default(), &mut lengths, 0);
        lengths
    }

    fn collect_lengths(&self, place: &Place, lengths: &mut Vec<(String, usize)>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match self {
            Self::List(items) => {
                lengths.push((place.pattern.clone(), items.len()));
                items.iter().for_each(|item| item.collect_lengths(&place.item(0), lengths, depth + 1));
            }
            Self::Object(fields) => {
                fields.iter().for_each(|(key, value)| value.collect_lengths(&place.key(key), lengths, depth + 1));
            }
            _ => {}
        }
    }

    /// The keys of every object, by the path of the object with `*` for list positions.
    pub(crate) fn keys(&self) -> BTreeMap<String, std::collections::BTreeSet<String>> {
        let mut keys = BTreeMap::new();
        self.collect_keys(&Place::default(), &mut keys, 0);
        keys
    }

    fn collect_keys(
        &self,
        place: &Place,
        keys: &mut BTreeMap<String, std::collections::BTreeSet<String>>,
        depth: usize,
    ) {
        if depth > MAX_DEPTH {
            return;
        }
        match self {
            Self::List(items) => items.iter().for_each(|item| item.collect_keys(&place.item(0), keys, depth + 1)),
            Self::Object(fields) => {
                for (key, value) in fields {
                    keys.entry(place.pattern.clone()).or_default().insert(key.clone());
                    value.collect_keys(&place.key(key), keys, depth + 1);
                }
            }
            Self::Text(text) => {
                if let Some(inner) = Self::opened(text) {
                    inner.collect_keys(&place.inside(), keys, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn collect(&self, place: &Place, leaves: &mut Vec<Leaf>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match self {
            Self::List(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    item.collect(&place.item(index), leaves, depth + 1);
                }
            }
            Self::Object(fields) if !fields.is_empty() => {
                for (key, value) in fields {
                    value.collect(&place.key(key), leaves, depth + 1);
                }
            }
            Self::Text(text) => match Self::opened(text) {
                Some(inner) => inner.collect(&place.inside(), leaves, depth + 1),
                None => leaves.push(Leaf::new(place, self)),
            },
            _ => leaves.push(Leaf::new(place, self)),
        }
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
    fn new(place: &Place, value: &Json) -> Self {
        Self { pointer: place.pointer.clone(), pattern: place.pattern.clone(), value: value.clone() }
    }

    /// Whether the leaf sits in a list.
    pub fn is_in_list(&self) -> bool {
        self.pointer != self.pattern
    }
}

/// A JSON pointer (RFC 6901) in both forms. `#` steps into JSON inside a string; keys that read
/// like `*` or `#` are escaped as `~2` and `~3`.
#[derive(Debug, Clone, Default)]
struct Place {
    pointer: String,
    pattern: String,
}

impl Place {
    fn key(&self, key: &str) -> Self {
        let mut escaped = key.replace('~', "~0").replace('/', "~1");
        match key {
            "*" => "~2".clone_into(&mut escaped),
            "#" => "~3".clone_into(&mut escaped),
            _ => {}
        }
        Self { pointer: format!("{}/{escaped}", self.pointer), pattern: format!("{}/{escaped}", self.pattern) }
    }

    fn item(&self, index: usize) -> Self {
        Self { pointer: format!("{}/{index}", self.pointer), pattern: format!("{}/*", self.pattern) }
    }

    fn inside(&self) -> Self {
        Self { pointer: format!("{}/#", self.pointer), pattern: format!("{}/#", self.pattern) }
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
