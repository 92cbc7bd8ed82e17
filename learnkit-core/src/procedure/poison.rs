//! Poison: an effect that only free text inside a tool result gave its target, or asked for, is never made
//! again by itself (ADR 0019).
//!
//! Whoever writes a mail, a page or a ticket that an agent reads can write "send the money to …" into it.
//! The run that obeyed may look like a success; its procedure only guides.

mod argument;
mod loose;
mod source;
mod target;
mod unfit;

use std::collections::{BTreeSet, HashSet};

use self::argument::Argument;
use self::source::{Origin, Sources};
use super::guard::Given;
use super::value::words;
use super::{Dropped, Withheld};
use crate::record::RunId;
use crate::run::{Reading, ToolCall};
use crate::tool::EffectClass;

/// An argument of so many words that stands in a result is a quotation.
const MIN_QUOTED_WORDS: usize = 4;

/// A run as it was seen.
#[derive(Debug)]
pub(super) struct Observed<'a> {
    pub(super) given: &'a Given,
    pub(super) run: &'a RunId,
    pub(super) calls: &'a [ToolCall],
    pub(super) readings: &'a [Reading],
    pub(super) dropped: &'a [Dropped],
    /// Whether there were turns before this task, in which any value may stand.
    pub(super) earlier_turns: bool,
}

/// What is wrong with a procedure.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Why it may only guide. The reasons name steps, tools and arguments, and never what a tool said.
    pub(super) reasons: Vec<String>,
    /// Why it may only guide until another run has made the same calls.
    pub(super) unsettled: Vec<String>,
    /// What no planner is shown.
    pub(super) withheld: Vec<Withheld>,
}

/// Looks for poison in a run, and for arguments that were good for one run only.
pub(super) fn examine(observed: &Observed<'_>) -> Findings {
    let dropped: HashSet<usize> = observed.dropped.iter().map(|dropped| dropped.call).collect();
    let mut sources = Sources::new(observed.given);
    let mut step = 0;
    let mut calls = Vec::new();
    for (index, call) in observed.calls.iter().enumerate() {
        let is_kept = !dropped.contains(&index);
        step += usize::from(is_kept);
        calls.push(Made { call, step: is_kept.then_some(step), arguments: Argument::of_call(call, &mut sources) });
    }
    let mut judge =
        Judge { observed, sources, named: BTreeSet::new(), done: BTreeSet::new(), found: Findings::default() };
    judge.watch(&calls);
    let kept = calls.iter().filter(|made| made.step.is_some());
    judge.found.reasons.extend(kept.flat_map(|made| unfit::own_faults(made.call, &made.title())));
    if calls.iter().any(|made| judge.may_be_refused(made)) {
        judge.all(&calls);
    }
    judge.found
}

/// A call of the run with its arguments.
struct Made<'a> {
    call: &'a ToolCall,
    /// Its number in the procedure, from 1, where it is kept.
    step: Option<usize>,
    arguments: Vec<Argument>,
}

impl Made<'_> {
    fn has_effect(&self) -> bool {
        self.call.annotations.effect() != EffectClass::ReadOnly
    }

    fn title(&self) -> String {
        format!("step {} (`{}`)", self.step.unwrap_or_default(), self.call.tool)
    }

    /// The arguments that say something: texts and numbers.
    fn values(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| !argument.is_key && !argument.text.is_empty())
    }
}

struct Judge<'a> {
    observed: &'a Observed<'a>,
    sources: Sources<'a>,
    /// Tools with a call whose target the task names.
    named: BTreeSet<String>,
    /// Those calls so far, by tool and targets.
    done: BTreeSet<(String, Vec<String>)>,
    found: Findings,
}

impl Judge<'_> {
    fn watch(&mut self, calls: &[Made<'_>]) {
        for made in calls.iter().filter(|made| made.step.is_some() && made.has_effect()) {
            if let Some(verb) = argument::verb(&made.call.tool) {
                self.sources.watch(&made.call.tool, verb);
            }
            if !self.targets_of_the_task(made).is_empty() {
                self.named.insert(made.call.tool.clone());
            }
        }
    }

    /// Whether results have to be looked at for the sake of a call.
    fn may_be_refused(&self, made: &Made<'_>) -> bool {
        let is_open = |argument: &Argument| self.sources.origin(&argument.text) != Origin::Task;
        let goes_out =
            |argument: &Argument| made.has_effect() || !argument.addresses.is_empty() || !argument.volatile.is_empty();
        let is_open = made.arguments.iter().any(|argument| is_open(argument) && goes_out(argument));
        made.step.is_some() && (is_open || (made.has_effect() && self.sources.asked(&made.call.tool).is_some()))
    }

    fn all(&mut self, calls: &[Made<'_>]) {
        for (made, reading) in calls.iter().zip(self.observed.readings) {
            if made.step.is_some() {
                self.step(made);
            }
            let directed = self.is_directed_by_text(made);
            self.sources.add(made.call, reading, directed);
        }
    }

    fn step(&mut self, made: &Made<'_>) {
        let title = made.title();
        if !self.observed.earlier_turns {
            let faults = unfit::faults(made.call, &made.arguments, self.observed.run, &self.sources);
            let faults = faults.into_iter().map(|(pointer, fault)| format!("argument `{pointer}` of {title} {fault}"));
            self.found.unsettled.extend(faults);
        }
        let poison = self.poison(made, &title);
        let index = made.step.unwrap_or_default().saturating_sub(1);
        if poison.is_empty() {
            let quotes = made.arguments.iter().filter(|argument| self.quotes_a_result(argument));
            let withheld = quotes.map(|argument| Withheld { step: index, argument: Some(argument.pointer.clone()) });
            let withheld: Vec<Withheld> = withheld.collect();
            self.found.withheld.extend(withheld);
        } else {
            self.found.withheld.push(Withheld { step: index, argument: None });
        }
        self.found.reasons.extend(poison);
    }

    fn poison(&mut self, made: &Made<'_>, title: &str) -> Vec<String> {
        let faults =
            made.arguments.iter().filter_map(|argument| Some((&argument.pointer, self.fault(made, argument)?)));
        let mut poison: Vec<String> =
            faults.map(|(pointer, fault)| format!("argument `{pointer}` of {title} {fault}")).collect();
        if !made.has_effect() {
            return poison;
        }
        if argument::is_split(&made.arguments, &self.sources) {
            poison.push(format!("{title} has a target in pieces that only free text in a result gave"));
        }
        if self.is_directed_by_text(made) {
            poison.push(format!("every argument of {title} that has a source came from free text in a result"));
        }
        if self.is_asked_by_text(made) {
            poison.push(format!("free text in a result asks for {title}, and the task does not"));
        }
        poison
    }

    /// Whether an argument is a sentence of a result and not of the task.
    fn quotes_a_result(&self, argument: &Argument) -> bool {
        let is_sentence = words(&argument.text).count() >= MIN_QUOTED_WORDS;
        is_sentence && matches!(self.sources.origin(&argument.text), Origin::Text | Origin::Record)
    }

    /// What is wrong with an argument as a target.
    fn fault(&self, made: &Made<'_>, argument: &Argument) -> Option<&'static str> {
        let is_text = |origin| origin == Origin::Text;
        let is_target = argument.is_named || argument.is_path;
        if made.has_effect() && is_target && is_text(self.sources.origin(&argument.text)) {
            return Some("is a target that only free text in a result gave");
        }
        // A text that the task or a record gives as a whole is not judged by its parts.
        if !matches!(self.sources.origin(&argument.text), Origin::Text | Origin::Nowhere) {
            return None;
        }
        let goes_there = |address: &&String| made.has_effect() || !address.contains('@') || address.contains('/');
        let poisoned = |address: &String| is_text(self.sources.origin_of_address(address));
        argument
            .addresses
            .iter()
            .filter(goes_there)
            .any(poisoned)
            .then_some("holds an address that only free text in a result gave")
    }

    /// Whether free text gave arguments of a call, and neither the task nor a record gave one. A number alone
    /// sends nothing anywhere.
    fn is_directed_by_text(&self, made: &Made<'_>) -> bool {
        let origins = || made.values().map(|argument| (argument, self.sources.origin(&argument.text)));
        let is_given = |origin| matches!(origin, Origin::Task | Origin::Record);
        origins().any(|(argument, origin)| origin == Origin::Text && argument.text.parse::<f64>().is_err())
            && !origins().any(|(_, origin)| is_given(origin))
    }

    /// Whether a sentence in a result speaks of what the call does, and the task did not ask for this call.
    fn is_asked_by_text(&mut self, made: &Made<'_>) -> bool {
        let of_the_task = self.targets_of_the_task(made);
        let is_named = !of_the_task.is_empty();
        let is_repeated = is_named && !self.done.insert((made.call.tool.clone(), of_the_task));
        let Some(asked) = self.sources.asked(&made.call.tool) else { return false };
        let in_task = self.sources.task_asks(asked);
        let mut targets = made.values().filter(|argument| argument.is_target());
        let with_target = targets.any(|target| self.sources.is_asked_with(asked, &target.text));
        if is_named {
            // The task asked for one call with this target; the text may ask for another.
            return with_target && (!in_task || is_repeated);
        }
        with_target || (asked.anywhere && (!in_task || self.named.contains(&made.call.tool)))
    }

    /// The targets of a call that the task names, small numbers apart: they stand in a text by chance.
    fn targets_of_the_task(&self, made: &Made<'_>) -> Vec<String> {
        let telling = |text: &str| text.len() > 4 || !text.bytes().all(|byte| byte.is_ascii_digit());
        let targets = made.values().filter(|argument| argument.is_target() && telling(&argument.text));
        targets
            .filter(|target| self.sources.origin(&target.text) == Origin::Task)
            .map(|target| target.text.clone())
            .collect()
    }
}
