//! What the result of a step must look like.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::json::{Json, JsonKind, Seen};

/// The kind of a result, and the kinds of the leaves that something later uses.
///
/// Whole results are not compared: on real data that stopped 41 of 84 right replays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The kind of the whole result.
    pub kind: JsonKind,
    /// Whether it was empty when it was seen; a result that never was empty must not become so.
    pub was_empty: bool,
    /// The leaves that later steps or the answer use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<LeafShape>,
    /// Every other leaf, for warnings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other: BTreeMap<String, BTreeSet<JsonKind>>,
}

/// The kinds of one leaf; the elements of a list count as one merged element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeafShape {
    /// The place, with `*` for list positions.
    pub pattern: String,
    /// The kinds seen there.
    pub kinds: BTreeSet<JsonKind>,
}

/// At most so many unused leaves are remembered for warnings.
const MAX_OTHER_LEAVES: usize = 64;

impl Shape {
    /// The shape of a result of which the leaves at `used` patterns matter.
    pub(crate) fn of(result: &Json, used: &BTreeSet<String>) -> Self {
        let mut seen: Kinds = BTreeMap::new();
        let mut other: Kinds = BTreeMap::new();
        each_leaf(result, |pattern, kind| {
            if used.contains(pattern) {
                note(&mut seen, pattern, kind);
            } else if !pattern.is_empty() {
                // The first ones in the order of their names stay, and no more are ever held.
                let is_full = other.len() == MAX_OTHER_LEAVES;
                if is_full && other.last_key_value().is_some_and(|(last, _)| pattern > last.as_str()) {
                    return;
                }
                note(&mut other, pattern, kind);
                if other.len() > MAX_OTHER_LEAVES {
                    other.pop_last();
                }
            }
        });
        let used = seen.into_iter().map(|(pattern, kinds)| LeafShape { pattern, kinds }).collect();
        Self { kind: result.kind(), was_empty: is_empty(result), used, other }
    }

    /// Allows what another result of the same step showed: kinds of leaves, and being empty.
    pub(crate) fn also_allow(&mut self, seen: &Self) {
        self.was_empty |= seen.was_empty;
        for leaf in &mut self.used {
            let kinds = seen.used.iter().find(|other| other.pattern == leaf.pattern);
            let kinds = kinds.map(|other| &other.kinds).or_else(|| seen.other.get(&leaf.pattern));
            leaf.kinds.extend(kinds.into_iter().flatten());
        }
    }

    /// The shape without the elements of a list, which may be empty.
    pub(crate) fn without_elements_of(&self, list: &str) -> Self {
        let elements = format!("{list}/*");
        let mut shape = Self { was_empty: true, ..self.clone() };
        shape.used.retain(|leaf| !leaf.pattern.starts_with(&elements));
        shape
    }

    /// Whether the result held a list.
    pub(crate) fn has_list(&self) -> bool {
        let is_list =
            |pattern: &str, kinds: &BTreeSet<JsonKind>| pattern.contains("/*") || kinds.contains(&JsonKind::List);
        self.kind == JsonKind::List
            || self.used.iter().any(|leaf| is_list(&leaf.pattern, &leaf.kinds))
            || self.other.iter().any(|(pattern, kinds)| is_list(pattern, kinds))
    }

    /// Why a fresh result diverges, or nothing when it fits.
    pub(crate) fn divergence(&self, fresh: &Json) -> Option<String> {
        if fresh.kind() != self.kind {
            return Some(format!("the result is a {} where a {} was seen", fresh.kind(), self.kind));
        }
        if is_empty(fresh) && !self.was_empty {
            return Some(format!("the {} is empty for the first time", self.kind));
        }
        let merged = kinds_of(fresh, |pattern| self.used.iter().any(|leaf| leaf.pattern == pattern));
        self.used.iter().find_map(|leaf| leaf.divergence(merged.get(&leaf.pattern)))
    }

    /// Differences that nothing uses, for a warning.
    pub(crate) fn drift(&self, fresh: &Json) -> Option<String> {
        let merged = kinds_of(fresh, |pattern| self.other.contains_key(pattern));
        let changed = self.other.iter().find(|(pattern, kinds)| match merged.get(*pattern) {
            Some(fresh) => fresh.iter().any(|kind| *kind != JsonKind::Null && !kinds.contains(kind)),
            None => true,
        });
        changed.map(|(pattern, _)| format!("`{pattern}` changed its shape, which nothing uses"))
    }
}

impl LeafShape {
    fn divergence(&self, fresh: Option<&BTreeSet<JsonKind>>) -> Option<String> {
        let Some(fresh) = fresh else {
            return Some(format!("`{}` is gone from the result", self.pattern));
        };
        let odd = fresh.iter().find(|kind| !self.kinds.contains(kind))?;
        Some(format!("`{}` is a {odd}, which was never seen there", self.pattern))
    }
}

fn is_empty(result: &Json) -> bool {
    match result {
        Json::List(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The kinds of leaves by their patterns.
type Kinds = BTreeMap<String, BTreeSet<JsonKind>>;

fn each_leaf(result: &Json, mut visit: impl FnMut(&str, JsonKind)) {
    result.walk(|place, seen| {
        if let Seen::Leaf(value) = seen {
            visit(place.pattern(), value.kind());
        }
    });
}

/// The kinds of the leaves at the patterns that count.
fn kinds_of(result: &Json, counts: impl Fn(&str) -> bool) -> Kinds {
    let mut kinds = BTreeMap::new();
    each_leaf(result, |pattern, kind| {
        if counts(pattern) {
            note(&mut kinds, pattern, kind);
        }
    });
    kinds
}

fn note(kinds: &mut Kinds, pattern: &str, kind: JsonKind) {
    match kinds.get_mut(pattern) {
        Some(known) => drop(known.insert(kind)),
        None => drop(kinds.insert(pattern.to_owned(), BTreeSet::from([kind]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str, used: &[&str]) -> Shape {
        Shape::of(&Json::of_result(text), &used.iter().map(|&pattern| pattern.to_owned()).collect())
    }

    fn diverges(shape: &Shape, fresh: &str) -> bool {
        shape.divergence(&Json::of_result(fresh)).is_some()
    }

    #[test]
    fn list_elements_compare_as_one_merged_element() {
        let shape = shape(r#"[{"id": 1, "tag": null}, {"id": 2, "tag": "x"}]"#, &["/*/id", "/*/tag"]);
        assert!(!diverges(&shape, r#"[{"id": 9, "tag": null}]"#));
        assert!(diverges(&shape, r#"[{"id": "9", "tag": "x"}]"#));
        assert!(diverges(&shape, r#"[{"tag": "x"}]"#));
        assert!(diverges(&shape, "[]"));
    }

    #[test]
    fn text_where_an_object_was_diverges_and_an_unused_leaf_only_warns() {
        let shape = shape(r#"{"id": "a1", "province": "x"}"#, &["/id"]);
        assert!(diverges(&shape, "no such order"));
        assert!(!diverges(&shape, r#"{"id": "a2", "state": "x"}"#));
        assert!(shape.drift(&Json::of_result(r#"{"id": "a2", "state": "x"}"#)).is_some());
    }
}
