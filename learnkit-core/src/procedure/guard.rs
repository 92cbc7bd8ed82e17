//! Guards: an argument that came from an earlier result is sent again only while that result still
//! says so. Neither a stale value nor a guess is ever sent.

use serde::{Deserialize, Serialize};

use super::value::{is_opaque, mentions, same_scalar};
use crate::hash::Fingerprint;
use crate::json::{Json, Leaf};
use crate::run::Arguments;

/// What must still hold for one argument value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The argument, a JSON pointer into the arguments.
    pub argument: String,
    /// The value that came from an earlier result.
    pub value: String,
    /// How many of the places must hold.
    pub check: Check,
    /// Where the value was seen.
    pub places: Vec<Place>,
}

/// How many places must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// One is enough: a plain word or small number.
    Any,
    /// Every one: an opaque value, which means one certain thing.
    All,
}

/// One place of an earlier result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The index of the earlier step, from 0.
    pub step: usize,
    /// The leaf, with `*` for list positions.
    pub path: String,
    /// What must hold there.
    pub holds: Holds,
}

/// What must hold at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Holds {
    /// The leaf equals the value; in a list, one element does.
    Equal,
    /// The text there still mentions the value as a whole word.
    Mentioned,
    /// An opaque value was chosen from a list: all values of this column are as they were, else the
    /// choice has to be made again.
    ChosenFrom {
        /// The hash of the column.
        column: String,
    },
}

/// The results of earlier steps, flattened once.
#[derive(Debug, Default)]
pub(crate) struct Results(Vec<Vec<Leaf>>);

impl Results {
    /// Adds the result of the next step.
    pub(crate) fn push(&mut self, result: &Json) {
        self.0.push(result.leaves());
    }

    /// Puts the result of a step in its place; parallel steps may finish in any order.
    pub(crate) fn set(&mut self, step: usize, result: &Json) {
        while self.0.len() <= step {
            self.0.push(Vec::new());
        }
        if let Some(place) = self.0.get_mut(step) {
            *place = result.leaves();
        }
    }

    fn at(&self, place: &Place) -> impl Iterator<Item = &Leaf> {
        let leaves = self.0.get(place.step).map(Vec::as_slice).unwrap_or_default();
        leaves.iter().filter(|leaf| leaf.pattern == place.path)
    }

    /// The guards of a call's arguments; `known` says whether the task itself gives a value.
    pub(crate) fn guards(&self, arguments: &Arguments, known: impl Fn(&str) -> bool) -> Vec<Guard> {
        let leaves = arguments.json().map(|json| json.leaves()).unwrap_or_default();
        leaves.iter().flat_map(|leaf| self.guards_of(leaf, &known)).collect()
    }

    fn guards_of(&self, argument: &Leaf, known: &impl Fn(&str) -> bool) -> Vec<Guard> {
        let Some(text) = argument.value.scalar_text() else { return Vec::new() };
        if text.trim().is_empty() || known(text) {
            return Vec::new();
        }
        if let Some(guard) = self.guard(argument, &argument.value) {
            return vec![guard];
        }
        // A value inside a longer argument, such as an id in a URL or a price in a formula.
        let parts = text.split(|char: char| !(char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '@' | '#')));
        let parts = parts
            .map(|part| part.trim_matches(['.', '-']))
            .filter(|part| part.chars().any(|char| char.is_ascii_digit()));
        let mut parts: Vec<&str> = parts.filter(|part| *part != text && !known(part)).collect();
        parts.dedup();
        parts.iter().filter_map(|part| self.guard(argument, &Json::Text((*part).to_owned()))).collect()
    }

    fn guard(&self, argument: &Leaf, value: &Json) -> Option<Guard> {
        let text = value.scalar_text()?;
        // A number may be quoted as an argument or in a result; either way it is the same value.
        let numeric = Json::Number(text.to_owned());
        let is_number = text.parse::<f64>().is_ok();
        let opaque = if is_number { is_opaque(&numeric) } else { is_opaque(value) };
        let mut places = self.places(opaque, |leaf| {
            same_scalar(&leaf.value, value) || (is_number && same_scalar(&leaf.value, &numeric))
        });
        if places.is_empty() {
            places = self.mentions(text);
        }
        let check = if opaque { Check::All } else { Check::Any };
        (!places.is_empty()).then(|| Guard {
            argument: argument.pointer.clone(),
            value: text.to_owned(),
            check,
            places,
        })
    }

    fn places(&self, opaque: bool, equal: impl Fn(&Leaf) -> bool) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for (step, leaves) in self.0.iter().enumerate() {
            for leaf in leaves.iter().filter(|leaf| equal(leaf)) {
                let holds = if opaque && leaf.is_in_list() {
                    Holds::ChosenFrom { column: column(leaves, &leaf.pattern) }
                } else {
                    Holds::Equal
                };
                let place = Place { step, path: leaf.pattern.clone(), holds };
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }

    fn mentions(&self, value: &str) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for (step, leaves) in self.0.iter().enumerate() {
            for leaf in leaves {
                let Json::Text(text) = &leaf.value else { continue };
                let place = Place { step, path: leaf.pattern.clone(), holds: Holds::Mentioned };
                if mentions(text, value) && !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }

    /// Why a guard does not hold any more, or nothing when it does.
    pub(crate) fn broken(&self, guard: &Guard) -> Option<String> {
        let holds = |place: &&Place| self.holds(place, &guard.value);
        let fine = match guard.check {
            Check::Any => guard.places.iter().any(|place| holds(&place)),
            Check::All => guard.places.iter().all(|place| holds(&place)),
        };
        if fine {
            return None;
        }
        let broken = guard.places.iter().find(|place| !holds(place))?;
        Some(format!(
            "argument `{}` came from step {} at `{}`, which says something else now",
            guard.argument,
            broken.step + 1,
            if broken.path.is_empty() { "/" } else { &broken.path },
        ))
    }

    fn holds(&self, place: &Place, value: &str) -> bool {
        let text = Json::Text(value.to_owned());
        let number = Json::Number(value.to_owned());
        match &place.holds {
            Holds::Equal => self.at(place).any(|leaf| {
                same_scalar(&leaf.value, &text) || (value.parse::<f64>().is_ok() && same_scalar(&leaf.value, &number))
            }),
            Holds::Mentioned => {
                self.at(place).any(|leaf| matches!(&leaf.value, Json::Text(text) if mentions(text, value)))
            }
            Holds::ChosenFrom { column: recorded } => {
                self.0.get(place.step).is_some_and(|leaves| column(leaves, &place.path) == *recorded)
            }
        }
    }
}

/// The hash of all values at a pattern, in order.
fn column(leaves: &[Leaf], pattern: &str) -> String {
    let values = leaves.iter().filter(|leaf| leaf.pattern == pattern);
    values.fold(Fingerprint::new("column"), |hash, leaf| hash.part(&leaf.value.to_text())).short()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(texts: &[&str]) -> Results {
        let mut results = Results::default();
        texts.iter().for_each(|text| results.push(&Json::of_result(text)));
        results
    }

    fn guards(then: &[&str], arguments: &str, task: &str) -> Vec<Guard> {
        results(then).guards(&Arguments::from_raw(arguments), |value| mentions(task, value))
    }

    fn breaks(then: &str, now: &str, arguments: &str) -> bool {
        let guards = guards(&[then], arguments, "refund the latest order");
        let now = results(&[now]);
        assert!(!guards.is_empty(), "no guard was made");
        guards.iter().any(|guard| now.broken(guard).is_some())
    }

    #[test]
    fn a4_a_value_from_an_earlier_result_is_not_sent_once_it_changed() {
        assert!(breaks(r#"{"id": "order_1001"}"#, r#"{"id": "order_2002"}"#, r#"{"order": "order_1001"}"#));
        assert!(breaks("latest: order_1001", "latest: order_2002", r#"{"order": "order_1001"}"#));
        assert!(breaks("latest: bob", "latest: alice", r#"{"to": "bob"}"#));
        assert!(breaks(r#"{"price": 152}"#, r#"{"price": 153}"#, r#"{"sum": "152 + 7"}"#));
        assert!(breaks(r#"{"id": 41}"#, r#"{"id": 14}"#, r#"{"id": "41"}"#));
        assert!(breaks(r#"{"result": "{\"id\": 7}"}"#, r#"{"result": "{\"id\": 8}"}"#, r#"{"id": 7}"#));
    }

    #[test]
    fn an_opaque_value_from_a_list_needs_the_same_list_to_choose_from() {
        let then = r#"[{"id": "order_1001"}]"#;
        assert!(breaks(then, r#"[{"id": "order_2002"}, {"id": "order_1001"}]"#, r#"{"order": "order_1001"}"#));
        assert!(!breaks(then, r#"[{"id": "order_1001", "note": "new"}]"#, r#"{"order": "order_1001"}"#));
    }

    #[test]
    fn a_plain_word_needs_one_place_and_only_membership_in_a_list() {
        assert!(!breaks(r#"["users", "orders"]"#, r#"["audit", "users"]"#, r#"{"table": "users"}"#));
        assert!(breaks(r#"["users", "orders"]"#, r#"["audit"]"#, r#"{"table": "users"}"#));
    }

    #[test]
    fn what_the_task_says_needs_no_guard() {
        assert_eq!(guards(&[r#"{"id": "order_1001"}"#], r#"{"order": "order_1001"}"#, "refund order_1001"), []);
        assert_eq!(guards(&[r#"{"id": "order_1001"}"#], r#"{"mode": "fast"}"#, "refund"), []);
    }
}
