//! Which neighbouring calls of a run are one call for each element of a list.

use std::collections::BTreeSet;

use super::bind::Taken;
use super::guard::Given;
use super::loops::{Beside, Column, Loop, elements, list_of, value};
use crate::json::{Json, Leaf};
use crate::run::Arguments;

/// So many places of the first value are looked at for the list that it came from.
const MAX_COLUMNS: usize = 8;

/// A call of a run, as far as loops need it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Made<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Arguments,
    pub(super) group: Option<u32>,
    pub(super) result: &'a Json,
    pub(super) taken: &'a Taken,
}

impl Made<'_> {
    /// The places that an argument was found at.
    fn places<'m>(&'m self, argument: &'m str) -> impl Iterator<Item = Column> + 'm {
        self.taken.places().filter(move |(own, _)| *own == argument).map(|(_, column)| column)
    }

    fn takes_from(&self, steps: &std::ops::Range<usize>) -> bool {
        self.taken.places().any(|(_, column)| steps.contains(&column.step))
    }
}

/// The loops that one run shows; such of one call say something only together with longer ones.
pub(super) fn find(calls: &[Made<'_>], given: &Given) -> Vec<Loop> {
    let mut loops = Vec::new();
    let mut first = 0;
    while let Some(call) = calls.get(first) {
        let count = calls.iter().skip(first).take_while(|other| other.tool == call.tool).count();
        loops.extend(Stretch { calls, first, count }.loops(given));
        first += count;
    }
    loops
}

/// Neighbouring calls of one tool.
struct Stretch<'s, 'a> {
    calls: &'s [Made<'a>],
    first: usize,
    count: usize,
}

impl Stretch<'_, '_> {
    fn own(&self) -> impl Iterator<Item = &Made<'_>> {
        self.calls.iter().skip(self.first).take(self.count)
    }

    fn loops(&self, given: &Given) -> Vec<Loop> {
        let end = self.first + self.count;
        let feeds = self.calls.iter().skip(end).any(|later| later.takes_from(&(self.first..end)));
        if feeds || !self.is_one_group() {
            return Vec::new();
        }
        self.arguments().iter().filter_map(|argument| self.loop_over(argument, given)).collect()
    }

    /// Whether its calls ran one after the other, or all of them and nothing else side by side.
    fn is_one_group(&self) -> bool {
        let group = self.calls.get(self.first).and_then(|call| call.group);
        let is_beside =
            |at: Option<usize>| at.and_then(|at| self.calls.get(at)).is_some_and(|call| call.group == group);
        let has_more = is_beside(self.first.checked_sub(1)) || is_beside(Some(self.first + self.count));
        self.own().all(|call| call.group == group) && (group.is_none() || !has_more)
    }

    /// The arguments that may go through a list: the only one that differs, or each of a single call.
    fn arguments(&self) -> Vec<String> {
        let leaves: Vec<Vec<Leaf>> =
            self.own().map(|call| call.arguments.json().map(|json| json.leaves()).unwrap_or_default()).collect();
        let [first, rest @ ..] = leaves.as_slice() else { return Vec::new() };
        let is_alike = |other: &Vec<Leaf>| {
            other.len() == first.len() && other.iter().zip(first).all(|(a, b)| a.pointer == b.pointer)
        };
        let differs = |at: usize, leaf: &Leaf| {
            rest.iter().any(|other| other.get(at).is_none_or(|other| other.value != leaf.value))
        };
        let open = first.iter().enumerate().filter(|(at, leaf)| rest.is_empty() || differs(*at, leaf));
        let open: Vec<String> = open.map(|(_, leaf)| leaf.pointer.clone()).collect();
        let is_one = rest.is_empty() || open.len() == 1;
        if is_one && rest.iter().all(is_alike) { open } else { Vec::new() }
    }

    fn loop_over(&self, argument: &str, given: &Given) -> Option<Loop> {
        let values: Vec<String> = self.own().map(|call| value(call.arguments, argument)).collect::<Option<_>>()?;
        let own_results = self.first..self.first + self.count;
        let is_own = |call: &Made<'_>| call.places(argument).any(|column| own_results.contains(&column.step));
        if values.iter().any(|value| given.gives(value)) || self.own().any(is_own) {
            return None;
        }
        let places = self.calls.get(self.first)?.places(argument).filter(|column| list_of(&column.path).is_some());
        let is_whole = |column: &Column| {
            let source = self.calls.get(column.step).and_then(|call| elements(call.result, &column.path));
            source.as_ref() == Some(&values)
        };
        let mut over: Vec<Column> = places.take(MAX_COLUMNS).filter(is_whole).collect();
        over.dedup();
        let is_distinct = values.iter().collect::<BTreeSet<_>>().len() == values.len();
        let beside = over.iter().filter_map(|column| {
            let source = self.calls.get(column.step)?;
            Some(Beside::of(column.step, source.result, &column.path))
        });
        let beside: Vec<Beside> = beside.flatten().collect();
        (is_distinct && !over.is_empty()).then(|| Loop {
            first: self.first,
            count: self.count,
            argument: argument.to_owned(),
            over,
            lengths: BTreeSet::from([self.count]),
            beside,
            contradicted: None,
        })
    }
}

impl Taken {
    /// Every place that an argument was found at.
    fn places(&self) -> impl Iterator<Item = (&str, Column)> {
        let guarded = self
            .guards
            .iter()
            .flat_map(|guard| guard.places.iter().map(|place| (guard.argument.as_str(), place.step, &place.path)));
        let read = self.slots.iter().flat_map(|slot| {
            slot.candidates().map(|candidate| (slot.argument.as_str(), candidate.step, &candidate.path))
        });
        guarded.chain(read).map(|(argument, step, path)| (argument, Column { step, path: path.clone() }))
    }
}
