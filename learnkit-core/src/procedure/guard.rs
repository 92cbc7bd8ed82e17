//! Guards: an argument that came from an earlier result is sent again only while that result still
//! says so. Neither a stale value nor a guess is ever sent.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::bind::Taken;
use super::look::Look;
use super::said::{Index, Said, Sought};
use super::slot::Candidate;
use super::value::{atoms, is_date_or_time, is_numeric_atom, is_opaque, mentions, same_text, without_clock};
use crate::hash::Fingerprint;
use crate::json::Json;
use crate::run::Arguments;

/// So many places of a value in a long result are guarded. A plain word needs only one of them; an opaque
/// value that stands in more makes the procedure guide-only.
pub(super) const MAX_LONG_PLACES: usize = 64;

/// What must still hold for one argument value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The argument, a JSON pointer into the arguments; empty where the step waits for a state.
    pub argument: String,
    /// The value as the earlier result said it.
    pub value: String,
    /// How many of the places must hold.
    pub check: Check,
    /// Where the value was seen.
    pub places: Vec<Place>,
}

impl Guard {
    /// Visits the value as what the argument's field holds, so that it is judged by the name of the field, too.
    pub(super) fn each_text(&mut self, visit: &impl Fn(&mut String)) {
        let key = self.argument.rsplit('/').next().unwrap_or_default().to_owned();
        let field = Json::Object([(key, Json::Text(self.value.clone()))].into());
        let mut text = field.to_text();
        visit(&mut text);
        let visited = Json::parse(&text).ok();
        match visited
            .as_ref()
            .and_then(|json| json.leaves().pop())
            .and_then(|leaf| leaf.value.scalar_text().map(str::to_owned))
        {
            Some(value) => self.value = value,
            None => visit(&mut self.value),
        }
    }
}

/// How many places must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// One is enough: a plain word or small number. Where some places name one value, one of these.
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

impl Place {
    /// Whether it is one of several in a list.
    pub(super) fn is_in_list(&self) -> bool {
        self.path.split('/').any(|part| part == "*")
    }

    /// Whether there was more than the value to choose from.
    pub(super) fn is_choice(&self) -> bool {
        !self.is_definite()
    }

    /// Whether one value stands there, and nothing to choose from.
    fn is_definite(&self) -> bool {
        self.holds == Holds::Equal && !self.is_in_list()
    }
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

/// The results of earlier steps.
#[derive(Debug, Default)]
pub(crate) struct Results {
    steps: Vec<Said>,
    /// What the short ones say.
    index: Index,
}

impl Results {
    /// Adds the result of the next step and indexes it, to make guards.
    pub(crate) fn push(&mut self, said: Said) {
        if let Said::Short(flat) = &said {
            self.index.add_all(self.steps.len(), flat);
        }
        self.steps.push(said);
    }

    /// Puts the result of a step in its place, to check guards; parallel steps may finish in any order.
    pub(crate) fn set(&mut self, step: usize, said: Said) {
        while self.steps.len() <= step {
            self.steps.push(Said::default());
        }
        if let Some(place) = self.steps.get_mut(step) {
            *place = said;
        }
    }

    /// What a call's arguments took from the results of the `usable` steps; `given` says what the task
    /// itself gives.
    pub(crate) fn taken(&self, arguments: &Arguments, given: &Given, usable: &dyn Fn(usize) -> bool) -> Taken {
        let Ok(json) = arguments.json() else { return Taken::default() };
        let leaves = json.leaves();
        let texts = leaves.iter().filter_map(|leaf| Some((leaf.pointer.clone(), leaf.value.scalar_text()?.to_owned())));
        // Keys of arguments are mostly the tool's own words; an id as a key is data.
        let keys = json.keys().into_iter().flat_map(|(path, keys)| {
            let opaque = keys.into_iter().filter(|key| is_opaque_text(key));
            opaque.map(move |key| (format!("{path}/{key}"), key))
        });
        let values = texts.clone().count();
        let is_open = |text: &str| !text.trim().is_empty() && !given.gives(text);
        let texts: Vec<(bool, String, String)> = texts
            .chain(keys)
            .enumerate()
            .map(|(at, (pointer, text))| (at < values, pointer, text))
            .filter(|(_, _, text)| is_open(text))
            .collect();
        let long = self.look_through(texts.iter().map(|(_, _, text)| text.as_str()));
        let look = Look { results: self, short: &self.index, long };
        let mut taken = Taken::default();
        for (is_value, pointer, text) in &texts {
            match look.slot(pointer, text, usable).filter(|_| *is_value) {
                Some(slot) => taken.slots.push(slot),
                None => look.guard_text(pointer, text, given, &mut taken.guards),
            }
        }
        for guard in &mut taken.guards {
            guard.places.retain(|place| usable(place.step));
        }
        taken.guards.retain(|guard| !guard.places.is_empty());
        taken
    }

    /// What the long results say of some texts.
    fn look_through<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Index {
        let mut index = Index::default();
        let mut long =
            self.steps.iter().enumerate().filter_map(|(step, said)| Some((step, said.as_long()?))).peekable();
        if long.peek().is_some() {
            let sought = Sought::of(texts);
            long.for_each(|(step, result)| index.add_sought(step, result, &sought));
        }
        index
    }

    /// The numbers of the short results, by their places.
    pub(super) fn numbers(&self) -> BTreeMap<(usize, String), Vec<f64>> {
        let mut columns: BTreeMap<(usize, String), Vec<f64>> = BTreeMap::new();
        let leaves = self
            .steps
            .iter()
            .enumerate()
            .flat_map(|(step, said)| said.short_leaves().iter().map(move |leaf| (step, leaf)));
        for (step, leaf) in leaves {
            if let Json::Number(text) = &leaf.value
                && let Ok(number) = text.parse()
            {
                columns.entry((step, leaf.pattern.clone())).or_default().push(number);
            }
        }
        columns
    }

    /// What the result of a step says.
    pub(super) fn said(&self, step: usize) -> Option<&Said> {
        self.steps.get(step)
    }

    /// Whether a guard of an opaque value would have to look at too many places of a long result.
    pub(crate) fn is_scattered(&self, guard: &Guard) -> bool {
        let in_long = |place: &&Place| self.steps.get(place.step).is_some_and(|said| said.as_long().is_some());
        guard.check == Check::All && guard.places.iter().filter(in_long).count() > MAX_LONG_PLACES
    }

    /// Whether opaque values of these results stand in a call's arguments and nothing that was taken from
    /// other results covers them.
    pub(crate) fn has_uncovered(&self, arguments: &Arguments, given: &Given, taken: &Taken) -> bool {
        let own = self.taken(arguments, given, &|_| true);
        let is_slot = |argument: &str| taken.slots.iter().any(|slot| slot.argument == argument);
        own.slots
            .iter()
            .any(|slot| !is_slot(&slot.argument) && !taken.guards.iter().any(|guard| guard.argument == slot.argument))
            || own.guards.iter().filter(|own| !is_slot(&own.argument)).any(|own| {
                let parts = atoms(&own.value);
                let mut same = taken.guards.iter().filter(|guard| guard.argument == own.argument);
                is_opaque_text(&own.value) && !same.any(|guard| parts.is_subset(&atoms(&guard.value)))
            })
    }

    /// The value at a candidate of an argument.
    ///
    /// # Errors
    /// The reason in words why there is none, or no certain one.
    pub(crate) fn read(&self, argument: &str, candidate: &Candidate) -> Result<String, String> {
        let mut values = BTreeSet::new();
        if let Some(said) = self.steps.get(candidate.step) {
            said.leaves_at(&candidate.path, |pointer, leaf| {
                if candidate.position.as_ref().is_none_or(|position| position == pointer) {
                    values.extend(leaf.scalar_text().filter(|text| !text.trim().is_empty()).map(str::to_owned));
                }
            });
        }
        let mut values = values.into_iter();
        let place = format!("step {} at `{}`", candidate.step + 1, candidate.path);
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            (None, _) => Err(format!("argument `{argument}` came from {place}, where nothing stands now")),
            _ => Err(format!("argument `{argument}` came from {place}, where several values stand now")),
        }
    }

    /// Why a guard does not hold any more, or nothing when it does.
    pub(crate) fn broken(&self, guard: &Guard) -> Option<String> {
        let holds = |place: &&Place| self.holds(place, &guard.value);
        let fine = match guard.check {
            // A list that names every possible word says nothing of which one it is.
            Check::Any if guard.places.iter().any(Place::is_definite) => {
                guard.places.iter().any(|place| place.is_definite() && holds(&place))
            }
            Check::Any => guard.places.iter().any(|place| holds(&place)),
            Check::All => guard.places.iter().all(|place| holds(&place)),
        };
        if fine {
            return None;
        }
        let broken = guard.places.iter().find(|place| !holds(place))?;
        let (step, path) = (broken.step + 1, if broken.path.is_empty() { "/" } else { &broken.path });
        Some(if guard.argument.is_empty() {
            format!("step {step} was waited for, and does not say `{}` at `{path}` now", guard.value)
        } else {
            format!("argument `{}` came from step {step} at `{path}`, which says something else now", guard.argument)
        })
    }

    fn holds(&self, place: &Place, value: &str) -> bool {
        let Some(said) = self.steps.get(place.step) else { return false };
        let any = |fits: &dyn Fn(&str) -> bool| {
            let mut found = false;
            said.leaves_at(&place.path, |_, leaf| found |= !found && leaf.scalar_text().is_some_and(fits));
            found
        };
        let is_flag = || {
            let mut found = false;
            said.leaves_at(&place.path, |_, leaf| found |= matches!(leaf, Json::Bool(_)) && leaf.to_text() == value);
            found
        };
        match &place.holds {
            Holds::Equal => any(&|text| same_text(text, value)) || is_flag(),
            Holds::Mentioned => any(&|text| mentions(text, value) || atoms(text).contains(value)),
            Holds::Key => said.keys_at(&place.path).contains(value),
            Holds::ChosenFrom { all } => {
                [false, true].iter().any(|keys| *all == self.all_at(place.step, &place.path, *keys, value))
            }
        }
    }

    /// The hash of everything that stands at a path: the values of its leaves in order, or the keys.
    /// When the value itself is no moment, times of day beside it do not count.
    pub(super) fn all_at(&self, step: usize, path: &str, keys: bool, value: &str) -> String {
        let hash = Fingerprint::new(if keys { "keys" } else { "leaves" });
        let Some(said) = self.steps.get(step) else { return hash.short() };
        if keys {
            return said.keys_at(path).iter().fold(hash, |hash, key| hash.part(key)).short();
        }
        let is_moment = is_date_or_time(value);
        let mut hash = Some(hash);
        said.leaves_at(path, |_, leaf| {
            let text = leaf.to_text();
            let text = if is_moment { Cow::Borrowed(text.as_str()) } else { without_clock(&text) };
            hash = hash.take().map(|hash| hash.part(&text));
        });
        hash.map(Fingerprint::short).unwrap_or_default()
    }
}

/// What the task itself gives: its words and the values of its parameters.
#[derive(Debug)]
pub(crate) struct Given {
    texts: Vec<String>,
    pub(super) atoms: BTreeSet<String>,
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
pub(super) fn is_opaque_text(value: &str) -> bool {
    let is_number = value.parse::<f64>().is_ok();
    is_opaque(&if is_number { Json::Number(value.to_owned()) } else { Json::Text(value.to_owned()) })
}

/// Whether a value says enough to be recognised inside a longer text.
pub(super) fn is_telling(value: &str) -> bool {
    value.chars().count() >= 3 || is_numeric_atom(value)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn results(texts: &[&str]) -> Results {
        let mut results = Results::default();
        texts.iter().for_each(|text| results.push(Said::of(&Arc::new(Json::of_result(text)), text.len())));
        results
    }

    fn taken(then: &[&str], arguments: &str, task: &str) -> Taken {
        results(then).taken(&Arguments::from_raw(arguments), &Given::of([task]), &|_| true)
    }

    fn guards(then: &[&str], arguments: &str, task: &str) -> Vec<Guard> {
        taken(then, arguments, task).guards
    }

    /// Whether the recorded argument is not sent again: it is taken anew, or the replay stops.
    fn breaks(then: &str, now: &str, arguments: &str) -> bool {
        let Taken { guards, slots } = taken(&[then], arguments, "refund the latest order");
        assert!(!guards.is_empty() || !slots.is_empty(), "nothing was made for {arguments} from {then}");
        let (then, now) = (results(&[then]), results(&[now]));
        assert!(guards.iter().all(|guard| then.broken(guard).is_none()), "the same world must hold");
        let mut candidates = slots.iter().flat_map(super::super::slot::Slot::candidates);
        guards.iter().any(|guard| now.broken(guard).is_some())
            || candidates.any(|candidate| now.read("x", candidate).ok() != then.read("x", candidate).ok())
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
    fn a_long_result_is_guarded_and_checked_as_a_short_one() {
        let then = r#"[{"id": "order_1001", "who": "Bob", "at": "10:03"}, {"id": "order_2002", "who": "Ann, B.", "at": "10:04"}]"#;
        let later = then.replace("10:03", "11:44");
        let fewer = r#"[{"id": "order_1001", "who": "Bob", "at": "10:03"}]"#;
        let forms = |text: &str| {
            let json = Arc::new(Json::of_result(text));
            [Said::of(&json, 0), Said::of(&json, usize::MAX)].map(|said| {
                let mut results = Results::default();
                results.push(said);
                results
            })
        };
        let given = Given::of(["refund the order"]);
        for arguments in [
            r#"{"order": "order_1001"}"#,
            r#"{"order": "ORDER_1001", "note": "for Bob at 10:03"}"#,
            r#"{"who": "bob"}"#,
            r#"{"who": "Ann, B."}"#,
            r#"{"order_2002": {"id": 2002, "who": "who"}}"#,
            r#"{"mode": "fast"}"#,
        ] {
            let arguments = Arguments::from_raw(arguments);
            let [short, long] = forms(then).map(|results| results.taken(&arguments, &given, &|_| true));
            assert_eq!(long, short, "{arguments}");
            let short = short.guards;
            for now in [then, &later, fewer, "[]", "Bob"] {
                let [was_short, is_long] = forms(now).map(|now| short.iter().map(|guard| now.broken(guard)).collect());
                let both: [Vec<Option<String>>; 2] = [was_short, is_long];
                assert_eq!(both[0], both[1], "{arguments} against {now}");
            }
        }
    }

    #[test]
    fn an_opaque_value_all_over_a_long_result_is_too_much_to_guard() {
        let fields: Vec<String> = (0..200).map(|row| format!(r#""k{row}": ["order_1001", "word"]"#)).collect();
        let json = Arc::new(Json::of_result(&format!("{{{}}}", fields.join(","))));
        let given = Given::of(["refund"]);
        for (bytes, argument, scattered) in
            [(usize::MAX, "order_1001", true), (0, "order_1001", false), (usize::MAX, "word", false)]
        {
            let mut results = Results::default();
            results.push(Said::of(&json, bytes));
            let arguments = Arguments::from_raw(format!(r#"{{"value": "{argument}"}}"#));
            let guards = results.taken(&arguments, &given, &|_| true).guards;
            assert!(!guards.is_empty());
            assert_eq!(guards.iter().any(|guard| results.is_scattered(guard)), scattered, "{argument} of {bytes}");
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
