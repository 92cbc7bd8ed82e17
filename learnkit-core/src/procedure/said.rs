//! What results say, for guards: short ones are indexed once, long ones are looked through for each call.
//!
//! An index of a result of megabytes costs seconds and is hardly ever asked. Both ways find the same.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use regex::Regex;

use super::value::{atoms, is_numeric_atom};
use crate::json::{Json, Leaf, Seen};

/// From this size on a result is long, in bytes.
const LONG_RESULT_BYTES: usize = 256 * 1024;

/// One result.
#[derive(Debug)]
pub(crate) enum Said {
    /// A short one, flattened.
    Short(Flat),
    /// A long one, as it is.
    Long(Arc<Json>),
}

/// The leaves of a result, and its object keys by the path of the object.
#[derive(Debug, Default)]
pub(crate) struct Flat {
    leaves: Vec<Leaf>,
    keys: BTreeMap<String, BTreeSet<String>>,
}

impl Default for Said {
    fn default() -> Self {
        Self::Short(Flat::default())
    }
}

impl Said {
    /// What a result of so many bytes says.
    pub(crate) fn of(result: &Arc<Json>, bytes: usize) -> Self {
        if bytes >= LONG_RESULT_BYTES { Self::Long(Arc::clone(result)) } else { Self::short(result) }
    }

    fn short(result: &Json) -> Self {
        Self::Short(Flat { leaves: result.leaves(), keys: result.keys() })
    }

    /// The result, if it is long.
    pub(super) fn as_long(&self) -> Option<&Json> {
        match self {
            Self::Short(_) => None,
            Self::Long(result) => Some(result),
        }
    }

    /// The leaves of a short result.
    pub(super) fn short_leaves(&self) -> &[Leaf] {
        match self {
            Self::Short(flat) => &flat.leaves,
            Self::Long(_) => &[],
        }
    }

    /// Visits the leaves at a pattern with their pointers, in order.
    pub(super) fn leaves_at(&self, pattern: &str, mut visit: impl FnMut(&str, &Json)) {
        match self {
            Self::Short(flat) => {
                let here = flat.leaves.iter().filter(|leaf| leaf.pattern == pattern);
                here.for_each(|leaf| visit(&leaf.pointer, &leaf.value));
            }
            Self::Long(result) => result.walk_at(pattern, |place, seen| {
                if let Seen::Leaf(value) = seen {
                    visit(place.pointer(), value);
                }
            }),
        }
    }

    /// The keys of the objects at a pattern.
    pub(super) fn keys_at(&self, pattern: &str) -> BTreeSet<String> {
        match self {
            Self::Short(flat) => flat.keys.get(pattern).cloned().unwrap_or_default(),
            Self::Long(result) => {
                let mut keys = BTreeSet::new();
                result.walk_at(pattern, |_, seen| {
                    if let Seen::Object(fields) = seen {
                        keys.extend(fields.keys().cloned());
                    }
                });
                keys
            }
        }
    }
}

/// A place where a value stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Found {
    pub(super) step: usize,
    pub(super) path: String,
    pub(super) in_list: bool,
    pub(super) is_key: bool,
}

/// The places of one value, each once, in the order they were found.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) found: Vec<Found>,
    known: HashSet<Found>,
}

impl Places {
    fn add(&mut self, found: Found) {
        // Most values stand in one place.
        if self.found.first() != Some(&found) && (self.found.is_empty() || self.known.insert(found.clone())) {
            self.found.push(found);
        }
    }
}

/// Values of results and where they stand.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Values of leaves and keys by their most telling atom.
    pub(super) by_atom: HashMap<String, BTreeSet<String>>,
    /// Where each value stands.
    pub(super) by_value: HashMap<String, Places>,
    /// Leaves by each of their atoms: (step, leaf).
    pub(super) leaves: HashMap<String, BTreeSet<(usize, usize)>>,
    /// Those leaves.
    pub(super) texts: HashMap<(usize, usize), Leaf>,
}

impl Index {
    /// Indexes all of a result.
    pub(super) fn add_all(&mut self, step: usize, flat: &Flat) {
        for (at, leaf) in flat.leaves.iter().enumerate() {
            if let Some(text) = leaf.value.scalar_text() {
                self.add_leaf((step, at), leaf.clone(), atoms(text));
            }
        }
        for (path, keys) in &flat.keys {
            for key in keys {
                self.add_key(step, path, key, &atoms(key));
            }
        }
    }

    /// Indexes what shares an atom with what is sought.
    pub(super) fn add_sought(&mut self, step: usize, result: &Json, sought: &Sought) {
        let (mut at, mut keys) = (0, BTreeMap::<String, BTreeSet<String>>::new());
        result.walk(|place, seen| match seen {
            Seen::Leaf(value) => {
                at += 1;
                if let Some(all) = value.scalar_text().and_then(|text| sought.shared_with(text)) {
                    self.add_leaf((step, at), Leaf::new(place, value), all);
                }
            }
            Seen::Object(fields) => {
                for key in fields.keys().filter(|key| sought.shared_with(key).is_some()) {
                    keys.entry(place.pattern().to_owned()).or_default().insert(key.clone());
                }
            }
            Seen::List(_) => {}
        });
        for (path, keys) in &keys {
            for key in keys {
                self.add_key(step, path, key, &atoms(key));
            }
        }
    }

    fn add_leaf(&mut self, place: (usize, usize), leaf: Leaf, atoms: BTreeSet<String>) {
        let Some(text) = leaf.value.scalar_text() else { return };
        let (path, in_list) = (leaf.pattern.clone(), leaf.is_in_list());
        self.add(text, &atoms, Found { step: place.0, path, in_list, is_key: false });
        for atom in atoms {
            self.leaves.entry(atom).or_default().insert(place);
        }
        self.texts.insert(place, leaf);
    }

    fn add_key(&mut self, step: usize, path: &str, key: &str, atoms: &BTreeSet<String>) {
        self.add(key, atoms, Found { step, path: path.to_owned(), in_list: false, is_key: true });
    }

    fn add(&mut self, value: &str, atoms: &BTreeSet<String>, found: Found) {
        // The atom that fewest other values share: one with digits, else the longest.
        let Some(atom) = atoms.iter().max_by_key(|atom| (is_numeric_atom(atom), atom.len())) else { return };
        self.by_atom.entry(atom.clone()).or_default().insert(value.to_owned());
        self.by_value.entry(value.to_owned()).or_default().add(found);
    }
}

/// What is looked for in long results. Most of their leaves are passed over without a look at their atoms.
#[derive(Debug)]
pub(super) struct Sought {
    atoms: BTreeSet<String>,
    numeric: Needles,
    plain: Needles,
    /// The texts as a whole, for phrases.
    whole: Needles,
}

impl Sought {
    /// The atoms of some texts.
    pub(super) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let (mut all, mut whole) = (BTreeSet::new(), BTreeSet::new());
        for text in texts {
            let own = atoms(text);
            whole.insert(own.first().filter(|_| own.len() == 1).map_or_else(|| folded(text), |atom| folded(atom)));
            all.extend(own);
        }
        let (numeric, plain): (Vec<String>, Vec<String>) = all.iter().cloned().partition(|atom| is_numeric_atom(atom));
        let needles = |atoms: Vec<String>| Needles::of(&atoms.iter().map(|atom| folded(atom)).collect::<Vec<_>>());
        let whole = Needles::of(&whole.into_iter().collect::<Vec<_>>());
        Self { numeric: needles(numeric), plain: needles(plain), whole, atoms: all }
    }

    /// All atoms of a text that a guard of what is sought may name.
    ///
    /// A shared word counts where it is the most telling atom of the text, or where the text mentions
    /// what is sought as a whole: the `order` of `order_1001` says nothing of `order_2002`.
    fn shared_with(&self, text: &str) -> Option<BTreeSet<String>> {
        let folded = folded(text);
        let may = self.numeric.is_in(&folded)
            || (self.plain.is_in(&folded) && (!surely_has_number(text) || self.whole.is_in(&folded)));
        may.then(|| atoms(text)).filter(|all| !all.is_disjoint(&self.atoms))
    }
}

/// Some folded texts to be found in another.
#[derive(Debug)]
enum Needles {
    None,
    /// Finds any of them.
    Some(Regex),
    /// Too many for that.
    Unknown,
}

impl Needles {
    fn of(texts: &[String]) -> Self {
        let any: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
        if any.is_empty() { Self::None } else { Regex::new(&any.join("|")).map_or(Self::Unknown, Self::Some) }
    }

    fn is_in(&self, text: &str) -> bool {
        match self {
            Self::None => false,
            Self::Some(any) => any.is_match(text),
            Self::Unknown => true,
        }
    }
}

/// Whether a text has a numeric atom for sure: two digits side by side that are no zeros of a fraction.
fn surely_has_number(text: &str) -> bool {
    let pairs = text.as_bytes().windows(2);
    !text.contains(".00") && pairs.into_iter().any(|pair| pair.iter().all(u8::is_ascii_digit))
}

/// A text in which each of its own atoms, folded too, stands as it is: in lowercase, with one form of sigma
/// and of the minus, and without the commas that part thousands.
fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.chars().filter(|char| *char != ',').map(|char| char.to_ascii_lowercase()).collect();
    }
    let plain = text.chars().filter(|char| *char != ',').flat_map(char::to_lowercase);
    plain
        .map(|char| {
            if char == 'ς' {
                'σ'
            } else if char == '−' {
                '-'
            } else {
                char
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(index: &Index, own: &BTreeSet<String>) -> Vec<String> {
        let values = own.iter().filter_map(|atom| index.by_atom.get(atom)).flatten();
        let places = values.flat_map(|value| index.by_value[value].found.iter().map(move |found| (value, found)));
        let mut all: Vec<String> = places.map(|(value, found)| format!("{value} {found:?}")).collect();
        let numeric = own.iter().filter(|atom| is_numeric_atom(atom) || own.len() == 1);
        let leaves = numeric.flat_map(|atom| index.leaves.get(atom).into_iter().flatten().map(move |at| (atom, at)));
        all.extend(leaves.map(|(atom, at)| format!("{atom} {} {:?}", index.texts[at].pointer, index.texts[at].value)));
        all.sort();
        all
    }

    #[test]
    fn a_look_through_a_result_finds_what_its_index_finds() {
        let result = Json::of_result(
            r#"{"orders": [{"id": "order_1001", "total": "1,500.00 EUR", "note": "5.00"}, {"id": "order_2002", "seat": "A12"}],
                "people": {"bob": {"name": "Bob", "since": "2026-05-01T10:00:00Z"}, "ann_77": {"name": "Ann B."}},
                "inner": "{\"ticket\": 10012, \"words\": [\"bob\", \"the order of bob\"]}", "n": -15, "price": 152.0}"#,
        );
        let mut whole = Index::default();
        whole.add_all(3, &Flat { leaves: result.leaves(), keys: result.keys() });
        for text in [
            "order_1001",
            "order_3003",
            "order",
            "bob",
            "Bob",
            "Seat A12 for Bob",
            "1500",
            "pay 1500 and 5",
            "5",
            "2026-05-01",
            "at 10:00",
            "ann_77",
            "/people/ann_77/10012",
            "-15",
            "152",
            "ticket",
            "the order of bob",
            "none",
        ] {
            let mut sought = Index::default();
            sought.add_sought(3, &result, &Sought::of(std::iter::once(text)));
            assert_eq!(found(&sought, &atoms(text)), found(&whole, &atoms(text)), "{text}");
        }
    }

    #[test]
    fn a_folded_text_holds_each_of_its_atoms() {
        for text in
            ["-1,500.50 EUR", "(+15)", "−152.0", "ΟΔΟΣ, ΣΑΣ'Α", "Order_1001-B, T1001", "2026-05-01T10:00:00Z", "İ9ẞ"]
        {
            let (all, text) = (atoms(text), folded(text));
            assert!(!all.is_empty() && all.iter().all(|atom| text.contains(&folded(atom))), "{text}: {all:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]
        #[test]
        fn a_folded_text_holds_each_of_its_atoms_whatever_it_says(text in r"[\PC0-9,.:+\-−_ΣσςAZİ]{0,24}") {
            let folded_text = folded(&text);
            let all = atoms(&text);
            prop_assert!(!surely_has_number(&text) || all.iter().any(|atom| is_numeric_atom(atom)), "{:?}", all);
            for atom in all {
                prop_assert!(folded_text.contains(&folded(&atom)), "{} in {}", atom, folded_text);
            }
        }
    }
}
