//! A schema without secrets: values that stand in it are masked, what it says about fields stays.

use crate::hash::sha256;
use crate::json::Json;
use crate::secret::{MASK, is_secret_key, mask_text, mask_value};
use crate::tool::Schema;

/// Of a longer schema only the hash is kept, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// Keywords whose value is a map of names to schemas.
const MAPS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords that hold values of the field itself.
const VALUES: [&str; 5] = ["default", "example", "examples", "const", "enum"];

/// The schema as it may be stored. What is masked counts as equal afterwards; what is too long to store
/// equals only itself.
pub(super) fn masked(schema: &Schema) -> Schema {
    let mut json = schema.json();
    mask(&mut json, false);
    let text = json.to_text();
    if text.len() > MAX_BYTES {
        let hash = Json::Text(format!("longer than {MAX_BYTES} bytes: {}", sha256(text.as_bytes())));
        json = Json::Object([("$comment".to_owned(), hash)].into());
    }
    Schema::of_json(&json).unwrap_or_else(|_| schema.clone())
}

/// Masks the values in a schema; under a field with a telling name every one of them. A schema for a field
/// `password` is no secret, its default is.
fn mask(json: &mut Json, is_secret: bool) {
    match json {
        Json::Text(text) => *text = mask_text(text).text,
        Json::List(items) => items.iter_mut().for_each(|item| mask(item, is_secret)),
        Json::Object(fields) => fields.iter_mut().for_each(|(keyword, value)| mask_keyword(keyword, value, is_secret)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn mask_keyword(keyword: &str, value: &mut Json, is_secret: bool) {
    match value {
        Json::Object(fields) if MAPS.contains(&keyword) => {
            fields.iter_mut().for_each(|(name, schema)| mask(schema, is_secret || is_secret_key(name)));
        }
        // An enum may be compared value by value, so that each is masked on its own.
        value if VALUES.contains(&keyword) && is_secret => mask_all(value),
        value if VALUES.contains(&keyword) => drop(mask_value(value)),
        value => mask(value, is_secret),
    }
}

fn mask_all(value: &mut Json) {
    match value {
        Json::List(items) => items.iter_mut().for_each(mask_all),
        Json::Object(fields) => fields.values_mut().for_each(mask_all),
        Json::Null | Json::Bool(_) => {}
        Json::Text(_) | Json::Number(_) => *value = Json::Text(MASK.to_owned()),
    }
}
