//! A value with other leaves at some places.

use std::collections::BTreeMap;

use super::walk::Place;
use super::{Json, MAX_DEPTH};

/// The value with the leaves at these pointers replaced; JSON inside strings is opened and closed again.
pub(super) fn with_leaves(json: &Json, leaves: &BTreeMap<String, Json>) -> Json {
    Writer { place: Place::default(), leaves }.value(json, 0)
}

struct Writer<'w> {
    place: Place,
    leaves: &'w BTreeMap<String, Json>,
}

impl Writer<'_> {
    fn value(&mut self, json: &Json, depth: usize) -> Json {
        if depth > MAX_DEPTH {
            return json.clone();
        }
        match json {
            Json::List(items) if !items.is_empty() => {
                let items = items.iter().enumerate();
                Json::List(items.map(|(at, item)| self.inner(item, depth, |place| place.item(at))).collect())
            }
            Json::Object(fields) if !fields.is_empty() => {
                let fields = fields.iter();
                let written =
                    fields.map(|(key, value)| (key.clone(), self.inner(value, depth, |place| place.key(key))));
                Json::Object(written.collect())
            }
            Json::Text(text) => match Json::opened(text) {
                Some(opened) => {
                    let written = self.inner(&opened, depth, |place| place.step("#"));
                    // Text in which nothing changes stays to the byte.
                    if written == opened { json.clone() } else { Json::Text(written.to_text()) }
                }
                None => self.leaf(json),
            },
            _ => self.leaf(json),
        }
    }

    fn leaf(&self, json: &Json) -> Json {
        self.leaves.get(self.place.pointer()).unwrap_or(json).clone()
    }

    fn inner(&mut self, json: &Json, depth: usize, step: impl FnOnce(&mut Place)) -> Json {
        let before = self.place.lengths();
        step(&mut self.place);
        let written = self.value(json, depth + 1);
        self.place.truncate(before);
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leaf_can_be_replaced_by_its_own_pointer() {
        let json =
            Json::parse(r#"{"b": [1, "x", [], {"c/d": null, "*": true}], "a": "[{\"id\": 7}, \"y\"]"}"#).unwrap();
        for leaf in json.leaves() {
            let new = BTreeMap::from([(leaf.pointer.clone(), Json::Text("new".into()))]);
            let leaves = with_leaves(&json, &new).leaves();
            let changed: Vec<_> = leaves.iter().filter(|leaf| leaf.value == Json::Text("new".into())).collect();
            assert_eq!(changed.len(), 1, "{}", leaf.pointer);
            assert_eq!(changed[0].pointer, leaf.pointer);
        }
        assert_eq!(with_leaves(&json, &BTreeMap::new()), json);
    }
}
