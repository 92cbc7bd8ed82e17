//! Making the guards of one call: which values of earlier results stand in its arguments, and where.

use std::collections::{BTreeSet, HashSet};

use super::guard::{Check, Given, Guard, Holds, MAX_LONG_PLACES, Place, Results, is_opaque_text, is_telling};
use super::said::{Found, Index};
use super::value::{atoms, is_numeric_atom, mentions, same_text};
use crate::json::Leaf;

/// A look at earlier results for the sake of one call.
pub(super) struct Look<'r> {
    pub(super) results: &'r Results,
    /// What short results say.
    pub(super) short: &'r Index,
    /// What long results say that the arguments of the call may have come from.
    pub(super) long: Index,
}

impl Look<'_> {
    /// Values of which an atom is the most telling one.
    fn values(&self, atom: &str) -> impl Iterator<Item = &String> {
        self.both().into_iter().filter_map(move |index| index.by_atom.get(atom)).flatten()
    }

    /// Where a value stands, by steps; of long results only the first places.
    pub(super) fn found(&self, value: &str) -> Vec<&Found> {
        let in_long = self.long.by_value.get(value).map(|places| &places.found).into_iter().flatten();
        let in_short = self.short.by_value.get(value).map(|places| &places.found).into_iter().flatten();
        let mut found: Vec<&Found> = in_short.chain(in_long.take(MAX_LONG_PLACES + 1)).collect();
        found.sort_by_key(|found| found.step);
        found
    }

    fn leaf_count(&self, atom: &str) -> usize {
        self.both().into_iter().filter_map(|index| index.leaves.get(atom)).map(BTreeSet::len).sum()
    }

    /// The steps and patterns of the leaves that have an atom, in order; of long results only the first ones.
    fn patterns(&self, atom: &str, counts: impl Fn(&&Leaf) -> bool) -> Vec<(usize, &str)> {
        let mut known = HashSet::new();
        let mut patterns = Vec::new();
        for (index, most) in self.both().into_iter().zip([usize::MAX, MAX_LONG_PLACES + 1]) {
            let places = index.leaves.get(atom).into_iter().flatten();
            let leaves = places.filter_map(|place| Some((place.0, index.texts.get(place)?)));
            let counted = leaves.filter(|(_, leaf)| counts(leaf)).map(|(step, leaf)| (step, leaf.pattern.as_str()));
            patterns.extend(counted.filter(|place| known.insert(*place)).take(most));
        }
        patterns.sort_by_key(|(step, _)| *step);
        patterns
    }

    fn both(&self) -> [&Index; 2] {
        [self.short, &self.long]
    }

    /// Guards every value of earlier results that stands in one argument text.
    pub(super) fn guard_text(&self, pointer: &str, text: &str, given: &Given, guards: &mut Vec<Guard>) {
        let own = atoms(text);
        let folded = text.to_lowercase();
        let before = guards.len();
        let mut covered: BTreeSet<String> = BTreeSet::new();
        let candidates: BTreeSet<&String> = own.iter().flat_map(|atom| self.values(atom)).collect();
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
        let held = own.iter().filter(|atom| self.leaf_count(atom) > 0);
        let rarest = held.min_by_key(|atom| self.leaf_count(atom))?;
        let said = |leaf: &&Leaf| leaf.value.scalar_text().is_some_and(|said| mentions(said, text));
        let places: Vec<Place> = self
            .patterns(rarest, said)
            .into_iter()
            .map(|(step, path)| Place { step, path: path.to_owned(), holds: Holds::Mentioned })
            .collect();
        (!places.is_empty()).then(|| Guard {
            argument: pointer.to_owned(),
            value: text.to_owned(),
            check: Check::Any,
            places,
        })
    }

    /// The guard of a value that is a leaf or key of earlier results.
    fn guard(&self, pointer: &str, value: &str, whole: bool) -> Option<Guard> {
        let opaque = is_opaque_text(value);
        let found = self.found(value);
        let places = found.into_iter().filter(|found| {
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
                Holds::ChosenFrom { all: self.results.all_at(found.step, &found.path, found.is_key, value) }
            }
            (false, true, _) => Holds::Key,
            _ => Holds::Equal,
        };
        Place { step: found.step, path: found.path.clone(), holds }
    }

    /// The guard of an atom that stands in earlier results.
    fn guard_mentioned(&self, pointer: &str, atom: &str) -> Option<Guard> {
        let opaque = is_opaque_text(atom);
        let holds = |step, path: &str| {
            if opaque {
                return Holds::ChosenFrom { all: self.results.all_at(step, path, false, atom) };
            }
            Holds::Mentioned
        };
        let places: Vec<Place> = self
            .patterns(atom, |_| true)
            .into_iter()
            .map(|(step, path)| Place { step, path: path.to_owned(), holds: holds(step, path) })
            .collect();
        let check = if opaque { Check::All } else { Check::Any };
        (!places.is_empty()).then(|| Guard { argument: pointer.to_owned(), value: atom.to_owned(), check, places })
    }
}
