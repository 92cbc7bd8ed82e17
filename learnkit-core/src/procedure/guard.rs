//! Guards: an argument that came from an earlier result is sent again only while that result still
//! says so. Neither a stale value nor a guess is ever sent.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::value::{is_opaque, mentions, same_text, words};
use crate::hash::Fingerprint;
use crate::json::{Json, Leaf};
use crate::run::Arguments;

/// What must still hold for one argument value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The argument, a JSON pointer into the arguments.
    pub argument: String,
    /// The value as the earlier result said it.
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
    /// The object there still has the value as a key.
    Key,
    /// An opaque value was chosen from a list, a text or the keys of an object: all that stood there
    /// to choose from is as it was, else the choice has to be made again.
    ChosenFrom {
        /// The hash of everything at this path.
        all: String,
    },
}

/// The results of earlier steps, flattened once and indexed by the first word of each value.
#[derive(Debug, Default)]
pub(crate) struct Results {
    steps: Vec<Flat>,
    /// Values by their first word, for values that stand in arguments.
    by_word: HashMap<String, BTreeSet<String>>,
    /// Where each value stands.
    by_value: HashMap<String, Vec<Found>>,
    /// Long texts by each of their words, for arguments that stand in texts: (step, leaf).
    texts: HashMap<String, BTreeSet<(usize, usize)>>,
}

/// One result: its leaves, and its object keys by the path of the object.
#[derive(Debug, Default)]
struct Flat {
    leaves: Vec<Leaf>,
    keys: BTreeMap<String, BTreeSet<String>>,
}

impl Flat {
    fn of(result: &Json) -> Self {
        Self { leaves: result.leaves(), keys: result.keys() }
    }
}

/// A place where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    step: usize,
    path: String,
    in_list: bool,
    is_key: bool,
}

impl Results {
    /// Adds the result of the next step and indexes it, to make guards.
    pub(crate) fn push(&mut self, result: &Json) {
        let flat = Flat::of(result);
        self.index(self.steps.len(), &flat);
        self.steps.push(flat);
    }

    /// Puts the result of a step in its place, to check guards; parallel steps may finish in any order.
    pub(crate) fn set(&mut self, step: usize, result: &Json) {
        while self.steps.len() <= step {
            self.steps.push(Flat::default());
        }
        if let Some(place) = self.steps.get_mut(step) {
            *place = Flat::of(result);
        }
    }

    fn index(&mut self, step: usize, flat: &Flat) {
        for (at, leaf) in flat.leaves.iter().enumerate() {
            let Some(text) = leaf.value.scalar_text() else { continue };
            let (path, in_list) = (leaf.pattern.clone(), leaf.is_in_list());
            self.add(text, Found { step, path, in_list, is_key: false });
            let mut all = words(text).peekable();
            all.next();
            if all.peek().is_some() {
                for word in words(text) {
                    self.texts.entry(word).or_default().insert((step, at));
                }
            }
        }
        for (path, keys) in &flat.keys {
            for key in keys {
                self.add(key, Found { step, path: path.clone(), in_list: false, is_key: true });
            }
        }
    }

    fn add(&mut self, value: &str, found: Found) {
        let Some(word) = words(value).next() else { return };
        self.by_word.entry(word).or_default().insert(value.to_owned());
        let places = self.by_value.entry(value.to_owned()).or_default();
        if !places.contains(&found) {
            places.push(found);
        }
    }

    /// The guards of a call's arguments; `given` says whether the task itself gives a value.
    pub(crate) fn guards(&self, arguments: &Arguments, given: impl Fn(&str) -> bool) -> Vec<Guard> {
        let Ok(json) = arguments.json() else { return Vec::new() };
        let mut guards = Vec::new();
        for leaf in json.leaves() {
            if let Some(text) = leaf.value.scalar_text() {
                self.guard_text(&leaf.pointer, text, &given, &mut guards);
            }
        }
        // Keys of arguments are mostly the tool's own words; an id as a key is data.
        for (path, keys) in json.keys() {
            for key in keys.iter().filter(|key| is_opaque_text(key)) {
                self.guard_text(&format!("{path}/{key}"), key, &given, &mut guards);
            }
        }
        guards
    }

    /// The opaque values of these results that stand in a call's arguments and the task does not give.
    pub(crate) fn opaque_in(&self, arguments: &Arguments, given: impl Fn(&str) -> bool) -> Option<String> {
        let guards = self.guards(arguments, given);
        guards.into_iter().map(|guard| guard.value).find(|value| is_opaque_text(value))
    }

    /// Guards every value of earlier results that stands in one argument text.
    fn guard_text(&self, pointer: &str, text: &str, given: &impl Fn(&str) -> bool, guards: &mut Vec<Guard>) {
        if text.trim().is_empty() || given(text) {
            return;
        }
        let before = guards.len();
        let parts = words(text).chain(digit_runs(text).map(str::to_owned));
        let candidates: BTreeSet<&String> = parts.filter_map(|part| self.by_word.get(&part)).flatten().collect();
        for value in candidates {
            let whole = same_text(text, value);
            let opaque = is_opaque_text(value);
            let stands = whole || (is_telling(value) && stands_in(text, value, opaque));
            if stands && !given(value) {
                guards.extend(self.guard(pointer, value, whole));
            }
        }
        if guards.len() == before {
            guards.extend(self.guard_mentioned(pointer, text));
            // An identifier or number inside the argument may stand in the text of a result.
            let parts = words(text)
                .filter(|part| part.chars().any(|char| char.is_ascii_digit()) && part != text && !given(part));
            let parts: BTreeSet<String> = parts.collect();
            guards.extend(parts.iter().filter_map(|part| self.guard_mentioned(pointer, part)));
        }
    }

    /// The guard of a value that is a leaf or key of earlier results.
    fn guard(&self, pointer: &str, value: &str, whole: bool) -> Option<Guard> {
        let opaque = is_opaque_text(value);
        let found = self.by_value.get(value)?;
        let places = found.iter().filter(|found| {
            // A plain key inside a longer text is a coincidence; a whole one names what the result listed.
            !found.is_key || whole || opaque
        });
        let places: Vec<Place> = places.map(|found| self.place(found, opaque)).collect();
        let check = if opaque { Check::All } else { Check::Any };
        (!places.is_empty()).then(|| Guard { argument: pointer.to_owned(), value: value.to_owned(), check, places })
    }

    fn place(&self, found: &Found, opaque: bool) -> Place {
        let holds = match (opaque, found.is_key, found.in_list) {
            (true, true, _) | (true, _, true) => {
                Holds::ChosenFrom { all: self.all_at(found.step, &found.path, found.is_key) }
            }
            (false, true, _) => Holds::Key,
            _ => Holds::Equal,
        };
        Place { step: found.step, path: found.path.clone(), holds }
    }

    /// The guard of an argument that stands in the text of earlier results.
    fn guard_mentioned(&self, pointer: &str, value: &str) -> Option<Guard> {
        let opaque = is_opaque_text(value);
        let word = words(value).next()?;
        let mut places: Vec<Place> = Vec::new();
        for &(step, at) in self.texts.get(&word)? {
            let Some(leaf) = self.steps.get(step).and_then(|flat| flat.leaves.get(at)) else { continue };
            let Some(text) = leaf.value.scalar_text() else { continue };
            if !stands_in(text, value, opaque) {
                continue;
            }
            let holds = if opaque {
                Holds::ChosenFrom { all: self.all_at(step, &leaf.pattern, false) }
            } else {
                Holds::Mentioned
            };
            let place = Place { step, path: leaf.pattern.clone(), holds };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let check = if opaque { Check::All } else { Check::Any };
        (!places.is_empty()).then(|| Guard { argument: pointer.to_owned(), value: value.to_owned(), check, places })
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
        let Some(flat) = self.steps.get(place.step) else { return false };
        let mut texts =
            flat.leaves.iter().filter(|leaf| leaf.pattern == place.path).filter_map(|leaf| leaf.value.scalar_text());
        match &place.holds {
            Holds::Equal => texts.any(|text| same_text(text, value)),
            Holds::Mentioned => texts.any(|text| mentions(text, value)),
            Holds::Key => flat.keys.get(&place.path).is_some_and(|keys| keys.contains(value)),
            Holds::ChosenFrom { all } => {
                *all == self.all_at(place.step, &place.path, false)
                    || *all == self.all_at(place.step, &place.path, true)
            }
        }
    }

    /// The hash of everything that stands at a path: the values of its leaves in order, or the keys.
    fn all_at(&self, step: usize, path: &str, keys: bool) -> String {
        let hash = Fingerprint::new(if keys { "keys" } else { "leaves" });
        let Some(flat) = self.steps.get(step) else { return hash.short() };
        if keys {
            return flat.keys.get(path).into_iter().flatten().fold(hash, |hash, key| hash.part(key)).short();
        }
        let leaves = flat.leaves.iter().filter(|leaf| leaf.pattern == path);
        leaves.fold(hash, |hash, leaf| hash.part(&leaf.value.to_text())).short()
    }
}

/// Whether a value is opaque, however it is written: a quoted number counts as the number.
fn is_opaque_text(value: &str) -> bool {
    let is_number = value.parse::<f64>().is_ok();
    is_opaque(&if is_number { Json::Number(value.to_owned()) } else { Json::Text(value.to_owned()) })
}

/// Whether a text mentions a value; an opaque one in any case, a number also glued to letters (`T1001`).
fn stands_in(text: &str, value: &str, opaque: bool) -> bool {
    mentions(text, value)
        || (opaque && mentions(&text.to_lowercase(), &value.to_lowercase()))
        || digit_runs(text).any(|run| run == value)
}

/// Maximal runs of at least three digits.
fn digit_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_ascii_digit()).filter(|run| run.len() >= 3)
}

/// Whether a value says enough to be recognised inside a longer text.
fn is_telling(value: &str) -> bool {
    value.chars().count() >= 3 || value.chars().any(|char| char.is_ascii_digit())
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
        assert!(!guards.is_empty(), "no guard was made for {arguments} from {then}");
        assert!(guards.iter().all(|guard| results(&[then]).broken(guard).is_none()), "the same world must hold");
        let now = results(&[now]);
        guards.iter().any(|guard| now.broken(guard).is_some())
    }

    #[test]
    fn a4_a_value_from_an_earlier_result_is_not_sent_once_it_changed() {
        for (then, now, arguments) in [
            (r#"{"id": "order_1001"}"#, r#"{"id": "order_2002"}"#, r#"{"order": "order_1001"}"#),
            ("latest: order_1001", "latest: order_2002", r#"{"order": "order_1001"}"#),
            ("order_1001 (latest), order_0900", "order_2002 (latest), order_1001", r#"{"order": "order_1001"}"#),
            ("latest: bob", "latest: alice", r#"{"to": "bob"}"#),
            (r#"{"price": 152}"#, r#"{"price": 153}"#, r#"{"sum": "152 + 7"}"#),
            (r#"{"id": 41}"#, r#"{"id": 14}"#, r#"{"id": "41"}"#),
            (r#"{"result": "{\"id\": 7}"}"#, r#"{"result": "{\"id\": 8}"}"#, r#"{"id": 7}"#),
            (r#"{"order_1001": {}}"#, r#"{"order_2002": {}}"#, r#"{"order": "order_1001"}"#),
            (r#"{"id": "order_1001"}"#, r#"{"id": "order_2002"}"#, r#"{"orders": {"order_1001": true}}"#),
            (r#"{"id": "order_1001"}"#, r#"{"id": "order_2002"}"#, r#"{"path": "/exports/order_1001.json"}"#),
            (r#"{"number": 1001}"#, r#"{"number": 2002}"#, r##"{"ref": "#1001"}"##),
            (r#"{"number": 10012}"#, r#"{"number": 20022}"#, r#"{"ref": "ticket-10012"}"#),
            (r#"{"user": "alice"}"#, r#"{"user": "bob"}"#, r#"{"path": "/people/alice"}"#),
            (r#"{"first": "Bob", "last": "Smith"}"#, r#"{"first": "Ann", "last": "Jones"}"#, r#"{"to": "Bob Smith"}"#),
            (r#""152""#, r#""153""#, r#"{"sum": 152.0}"#),
            (r#"{"id": "order_1001"}"#, r#"{"id": "order_2002"}"#, r#"{"order": "ORDER_1001"}"#),
            ("The fee is 15", "The fee is 15.99", r#"{"pay": 15}"#),
            ("The fee is 15", "The fee is -15", r#"{"pay": 15}"#),
            ("The fee is 500", "The fee is 1,500", r#"{"pay": 500}"#),
            ("created ticket 10012 for you", "created ticket 20022 for you", r#"{"ref": "ticket-10012"}"#),
        ] {
            assert!(breaks(then, now, arguments), "{then} -> {now} sent {arguments}");
        }
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
        // A number of the task is given only whole.
        assert_eq!(guards(&[r#"{"seat": 12}"#], r#"{"seat": 12}"#, "pay 12.50 for a seat").len(), 1);
    }
}
