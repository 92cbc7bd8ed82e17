//! Guards: an argument that came from an earlier result is sent again only while that result still
//! says so. Neither a stale value nor a guess is ever sent.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::value::{atoms, is_date_or_time, is_numeric_atom, is_opaque, mentions, same_text, without_clock};
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
    /// The text there still has the value as a word, number, date or time.
    Mentioned,
    /// The object there still has the value as a key.
    Key,
    /// An opaque value was chosen from a list, a text or the keys of an object: all that stood there
    /// to choose from is as it was, times of day apart, else the choice has to be made again.
    ChosenFrom {
        /// The hash of everything at this path.
        all: String,
    },
}

/// The results of earlier steps, flattened once and indexed.
#[derive(Debug, Default)]
pub(crate) struct Results {
    steps: Vec<Flat>,
    /// Values of leaves and keys by their most telling atom.
    by_atom: HashMap<String, BTreeSet<String>>,
    /// Where each value stands.
    by_value: HashMap<String, Vec<Found>>,
    /// Leaves by each of their atoms: (step, leaf).
    leaves: HashMap<String, BTreeSet<(usize, usize)>>,
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
            let all = atoms(text);
            let (path, in_list) = (leaf.pattern.clone(), leaf.is_in_list());
            self.add(text, &all, Found { step, path, in_list, is_key: false });
            for atom in all {
                self.leaves.entry(atom).or_default().insert((step, at));
            }
        }
        for (path, keys) in &flat.keys {
            for key in keys {
                self.add(key, &atoms(key), Found { step, path: path.clone(), in_list: false, is_key: true });
            }
        }
    }

    fn add(&mut self, value: &str, atoms: &BTreeSet<String>, found: Found) {
        // The atom that fewest other values share: one with digits, else the longest.
        let Some(atom) = atoms.iter().max_by_key(|atom| (is_numeric_atom(atom), atom.len())) else { return };
        self.by_atom.entry(atom.clone()).or_default().insert(value.to_owned());
        let places = self.by_value.entry(value.to_owned()).or_default();
        if !places.contains(&found) {
            places.push(found);
        }
    }

    /// The guards of a call's arguments; `given` says what the task itself gives.
    pub(crate) fn guards(&self, arguments: &Arguments, given: &Given) -> Vec<Guard> {
        let Ok(json) = arguments.json() else { return Vec::new() };
        let mut guards = Vec::new();
        for leaf in json.leaves() {
            if let Some(text) = leaf.value.scalar_text() {
                self.guard_text(&leaf.pointer, text, given, &mut guards);
            }
        }
        // Keys of arguments are mostly the tool's own words; an id as a key is data.
        for (path, keys) in json.keys() {
            for key in keys.iter().filter(|key| is_opaque_text(key)) {
                self.guard_text(&format!("{path}/{key}"), key, given, &mut guards);
            }
        }
        guards
    }

    /// Guards every value of earlier results that stands in one argument text.
    fn guard_text(&self, pointer: &str, text: &str, given: &Given, guards: &mut Vec<Guard>) {
        if text.trim().is_empty() || given.gives(text) {
            return;
        }
        let own = atoms(text);
        let folded = text.to_lowercase();
        let before = guards.len();
        let mut covered: BTreeSet<String> = BTreeSet::new();
        let candidates: BTreeSet<&String> = own.iter().filter_map(|atom| self.by_atom.get(atom)).flatten().collect();
        for value in candidates {
            let lower = value.to_lowercase();
            let whole = same_text(&folded, &lower);
            if (whole || (is_telling(value) && mentions(&folded, &lower))) && !given.gives(value) {
                let guard = self.guard(pointer, value, whole);
                covered.extend(guard.iter().flat_map(|_| atoms(value)));
                guards.extend(guard);
            }
        }
        // Numbers, dates and ids that stand in longer results; whole ids before their parts.
        let telling = own.iter().filter(|atom| is_numeric_atom(atom) && !given.atoms.contains(*atom));
        let mut telling: Vec<&String> = telling.collect();
        telling.sort_by_key(|atom| std::cmp::Reverse(atom.len()));
        for atom in telling {
            if covered.contains(atom) {
                continue;
            }
            if let Some(guard) = self.guard_mentioned(pointer, atom) {
                covered.extend(atoms(atom));
                guards.push(guard);
            }
        }
        if guards.len() == before && own.len() == 1 {
            guards.extend(own.iter().filter_map(|atom| self.guard_mentioned(pointer, atom)));
        } else if guards.len() == before {
            guards.extend(self.guard_phrase(pointer, text, &own));
        }
    }

    /// The guard of several words that stand together in earlier results.
    fn guard_phrase(&self, pointer: &str, text: &str, own: &BTreeSet<String>) -> Option<Guard> {
        let rarest = own.iter().filter_map(|atom| self.leaves.get(atom)).min_by_key(|leaves| leaves.len())?;
        let mut places: Vec<Place> = Vec::new();
        for &(step, at) in rarest {
            let Some(leaf) = self.steps.get(step).and_then(|flat| flat.leaves.get(at)) else { continue };
            if leaf.value.scalar_text().is_some_and(|said| mentions(said, text)) {
                let place = Place { step, path: leaf.pattern.clone(), holds: Holds::Mentioned };
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        (!places.is_empty()).then(|| Guard {
            argument: pointer.to_owned(),
            value: text.to_owned(),
            check: Check::Any,
            places,
        })
    }

    /// Opaque values of these results that stand in a call's arguments and that no guard of `guards` covers.
    pub(crate) fn has_uncovered(&self, arguments: &Arguments, given: &Given, guards: &[Guard]) -> bool {
        self.guards(arguments, given).iter().any(|own| {
            let parts = atoms(&own.value);
            let mut same = guards.iter().filter(|guard| guard.argument == own.argument);
            is_opaque_text(&own.value) && !same.any(|guard| parts.is_subset(&atoms(&guard.value)))
        })
    }

    /// The guard of a value that is a leaf or key of earlier results.
    fn guard(&self, pointer: &str, value: &str, whole: bool) -> Option<Guard> {
        let opaque = is_opaque_text(value);
        let found = self.by_value.get(value)?;
        let places = found.iter().filter(|found| {
            // A plain key inside a longer text is a coincidence; a whole one names what the result listed.
            !found.is_key || whole || opaque
        });
        let places: Vec<Place> = places.map(|found| self.place(found, value)).collect();
        let check = if opaque { Check::All } else { Check::Any };
        (!places.is_empty()).then(|| Guard { argument: pointer.to_owned(), value: value.to_owned(), check, places })
    }

    fn place(&self, found: &Found, value: &str) -> Place {
        let opaque = is_opaque_text(value);
        let holds = match (opaque, found.is_key, found.in_list) {
            (true, true, _) | (true, _, true) => {
                Holds::ChosenFrom { all: self.all_at(found.step, &found.path, found.is_key, value) }
            }
            (false, true, _) => Holds::Key,
            _ => Holds::Equal,
        };
        Place { step: found.step, path: found.path.clone(), holds }
    }

    /// The guard of an atom that stands in earlier results.
    fn guard_mentioned(&self, pointer: &str, atom: &str) -> Option<Guard> {
        let opaque = is_opaque_text(atom);
        let mut places: Vec<Place> = Vec::new();
        for &(step, at) in self.leaves.get(atom)? {
            let Some(leaf) = self.steps.get(step).and_then(|flat| flat.leaves.get(at)) else { continue };
            let holds = if opaque {
                Holds::ChosenFrom { all: self.all_at(step, &leaf.pattern, false, atom) }
            } else {
                Holds::Mentioned
            };
            let place = Place { step, path: leaf.pattern.clone(), holds };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let check = if opaque { Check::All } else { Check::Any };
        (!places.is_empty()).then(|| Guard { argument: pointer.to_owned(), value: atom.to_owned(), check, places })
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
            Holds::Mentioned => texts.any(|text| mentions(text, value) || atoms(text).contains(value)),
            Holds::Key => flat.keys.get(&place.path).is_some_and(|keys| keys.contains(value)),
            Holds::ChosenFrom { all } => {
                [false, true].iter().any(|keys| *all == self.all_at(place.step, &place.path, *keys, value))
            }
        }
    }

    /// The hash of everything that stands at a path: the values of its leaves in order, or the keys.
    /// When the value itself is no moment, times of day beside it do not count.
    fn all_at(&self, step: usize, path: &str, keys: bool, value: &str) -> String {
        let hash = Fingerprint::new(if keys { "keys" } else { "leaves" });
        let Some(flat) = self.steps.get(step) else { return hash.short() };
        if keys {
            return flat.keys.get(path).into_iter().flatten().fold(hash, |hash, key| hash.part(key)).short();
        }
        let is_moment = is_date_or_time(value);
        let leaves = flat.leaves.iter().filter(|leaf| leaf.pattern == path).map(|leaf| leaf.value.to_text());
        let said = leaves.map(|text| if is_moment { text } else { without_clock(&text).into_owned() });
        said.fold(hash, |hash, text| hash.part(&text)).short()
    }
}

/// What the task itself gives: its words and the values of its parameters.
#[derive(Debug)]
pub(crate) struct Given {
    texts: Vec<String>,
    atoms: BTreeSet<String>,
}

impl Given {
    /// What a task text and parameter values give.
    pub(crate) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let texts: Vec<String> = texts.into_iter().map(str::to_lowercase).collect();
        let atoms = texts.iter().flat_map(|text| atoms(text)).collect();
        Self { texts, atoms }
    }

    /// Whether the task gives a value: as it stands, or as a number in another spelling.
    pub(crate) fn gives(&self, value: &str) -> bool {
        let own = atoms(value);
        let is_atom = own.len() == 1 && own.is_subset(&self.atoms);
        is_atom || self.texts.iter().any(|text| mentions(text, &value.to_lowercase()))
    }
}

/// Whether a value is opaque, however it is written: a quoted number counts as the number.
fn is_opaque_text(value: &str) -> bool {
    let is_number = value.parse::<f64>().is_ok();
    is_opaque(&if is_number { Json::Number(value.to_owned()) } else { Json::Text(value.to_owned()) })
}

/// Whether a value says enough to be recognised inside a longer text.
fn is_telling(value: &str) -> bool {
    value.chars().count() >= 3 || is_numeric_atom(value)
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
        results(then).guards(&Arguments::from_raw(arguments), &Given::of([task]))
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
            (r#"{"price": "$152"}"#, r#"{"price": "$153"}"#, r#"{"amount": 152}"#),
            (r#"{"ticket": "T1001"}"#, r#"{"ticket": "T2002"}"#, r#"{"id": 1001}"#),
            ("created ticket T1001 for you", "created ticket T2002 for you", r#"{"id": 1001}"#),
            (r#"{"price": "1,500 EUR"}"#, r#"{"price": "1,900 EUR"}"#, r#"{"amount": 1500}"#),
            (r#"{"id": "A12"}"#, r#"{"id": "B14"}"#, r#"{"note": "seat a12"}"#),
            (r#"{"tier": "Gold"}"#, r#"{"tier": "Silver"}"#, r#"{"tier": "gold"}"#),
            ("Seat A12 is free", "Seat B14 is free", r#"{"note": "Assign seat A12"}"#),
            (r#"{"now": "2026-05-01T10:00:00Z"}"#, r#"{"now": "2026-05-02T10:00:00Z"}"#, r#"{"date": "2026-05-01"}"#),
            (r#"{"due": "2026-05-01"}"#, r#"{"due": "2026-05-02"}"#, r#"{"start": "2026-05-01T09:00:00"}"#),
            (
                r#"{"name": "Bob", "note": "The fee is 500"}"#,
                r#"{"name": "Bob", "note": "The fee is 900"}"#,
                r#"{"text": "Bob owes 500"}"#,
            ),
            (
                r#"{"name": "alice", "note": "created ticket 10012"}"#,
                r#"{"name": "alice", "note": "created ticket 20022"}"#,
                r#"{"path": "/people/alice/10012"}"#,
            ),
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
    fn a_clock_beside_the_value_stops_nothing() {
        for (then, now) in [
            ("As of 10:03:22 there is order_1001", "As of 11:44:01 there is order_1001"),
            (r#"[{"v": "order_1001"}, {"v": "10:03:22"}]"#, r#"[{"v": "order_1001"}, {"v": "11:44:01"}]"#),
        ] {
            assert!(!breaks(then, now, r#"{"order": "order_1001"}"#), "{then}");
        }
        let took = guards(&[r#"{"took_ms": 5}"#], r#"{"sql": "SELECT 1 LIMIT 5"}"#, "look");
        assert_eq!(took, [], "one digit inside a longer text is a coincidence");
    }

    #[test]
    fn what_the_task_says_needs_no_guard() {
        assert_eq!(guards(&["Order W75946 (at 10:03)"], r#"{"note": "Refunded W75946"}"#, "refund W75946"), []);
        assert_eq!(guards(&[r#"{"amount": 1500}"#], r#"{"amount": 1500}"#, "pay $1,500"), []);
        assert_eq!(guards(&[r#"{"id": "order_1001"}"#], r#"{"order": "order_1001"}"#, "refund order_1001"), []);
        assert_eq!(guards(&[r#"{"id": "order_1001"}"#], r#"{"mode": "fast"}"#, "refund"), []);
        // A number of the task is given only whole.
        assert_eq!(guards(&[r#"{"seat": 12}"#], r#"{"seat": 12}"#, "pay 12.50 for a seat").len(), 1);
    }
}
