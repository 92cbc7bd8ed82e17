//! Distilling: the calls of a run become a procedure. Deterministic, no model.
//!
//! It drops only failed calls, exact repeats that change nothing, and declared exploration that feeds
//! nothing; guessing that a read was useless broke 110 of 1,906 real procedures.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::bind::Taken;
use super::guard::{Given, Results};
use super::loops::Loop;
use super::poison::{self, Observed};
use super::poll::readiness;
use super::said::Said;
use super::secrets::{Hidden, Hiding};
use super::stretch::{self, Made};
use super::today::Asked;
use super::value::{is_date_or_time, is_opaque, mentions};
use super::when::{Named, names_date};
use super::{Dropped, Guard, Procedure, Shape, Slot, Step, Today, Withheld};
use crate::Task;
use crate::json::{Json, Seen};
use crate::record::RunId;
use crate::run::{Reading, ToolCall};
use crate::secret::{Secrets, mask_text};
use crate::tool::EffectClass;

/// Longer arguments make a procedure guide-only, in bytes.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;
/// More steps make a procedure guide-only.
const MAX_STEPS: usize = 256;
/// A step that takes more than so many values from earlier results makes a procedure guide-only.
const MAX_GUARDS: usize = 256;

/// The run that a procedure is made of.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The task.
    pub task: &'a Task,
    /// The calls; those after the first user turn belong to other tasks.
    pub calls: &'a [ToolCall],
    /// The answer.
    pub answer: Option<&'a str>,
    /// The run.
    pub run: &'a RunId,
    /// How much of a result is stored, in bytes.
    pub stored_result_bytes: usize,
    /// The day on which the task was asked; absent where that is not certain, and then no date is counted from it.
    pub today: Option<&'a Today>,
}

/// What distilling made.
#[derive(Debug, Clone, PartialEq)]
pub enum Distilled {
    /// A procedure.
    Procedure(Box<Procedure>),
    /// No call is left; every call with the reason why it was dropped.
    Nothing(Vec<Dropped>),
}

/// Makes a procedure of a run.
pub fn distil(source: &Source<'_>) -> Distilled {
    let (readings, secrets) = Reading::of_calls(source.calls, source.stored_result_bytes);
    distil_read(source, &readings, &secrets)
}

/// Makes a procedure of a run whose calls were read already.
pub(crate) fn distil_read(source: &Source<'_>, readings: &[Reading], secrets: &Secrets) -> Distilled {
    let mut draft = Draft::of(source, readings, secrets);
    draft.drop_idle_exploration();
    if draft.kept.is_empty() {
        return Distilled::Nothing(draft.dropped);
    }
    draft.refuse_poison(readings);
    Distilled::Procedure(Box::new(draft.procedure()))
}

struct Draft<'a> {
    source: &'a Source<'a>,
    secrets: &'a Secrets,
    given: Given,
    named: Named,
    answer_words: Words,
    kept: Vec<Kept<'a>>,
    dropped: Vec<Dropped>,
    guide_only: Vec<String>,
    unsettled: Vec<String>,
    withheld: Vec<Withheld>,
}

/// A call that becomes a step.
struct Kept<'a> {
    /// The index in the run.
    index: usize,
    call: &'a ToolCall,
    reading: &'a Reading,
    /// What its arguments took from the results of kept calls before it, and from parameters.
    taken: Taken,
    /// What became of the secrets in its arguments; absent where there are none.
    secret: Option<Hidden>,
    /// The leaves of its result that the answer names.
    answered: BTreeSet<String>,
}

impl<'a> Kept<'a> {
    fn new(index: usize, call: &'a ToolCall, reading: &'a Reading) -> Self {
        Self { index, call, reading, taken: Taken::default(), secret: None, answered: BTreeSet::new() }
    }

    /// The places of earlier results that its arguments rest on.
    fn places(&self) -> impl Iterator<Item = (usize, &str)> {
        let guarded = self.taken.guards.iter().flat_map(|guard| &guard.places);
        let read = self.taken.slots.iter().flat_map(Slot::candidates);
        guarded
            .map(|place| (place.step, place.path.as_str()))
            .chain(read.map(|place| (place.step, place.path.as_str())))
    }
}

fn said(call: &ToolCall, reading: &Reading) -> Said {
    Said::of(&reading.result, call.output.as_text().len())
}

/// The words of an answer: a quick look whether it may name a text, before the whole of it is searched.
struct Words(HashSet<String>);

impl Words {
    fn of(answer: &str) -> Self {
        Self(runs(answer).map(str::to_owned).collect())
    }

    /// Whether every word of a text is a word of the answer, as it is where the answer mentions the text.
    fn may_name(&self, text: &str) -> bool {
        runs(text).all(|word| self.0.contains(word))
    }
}

/// The longest runs of letters and digits.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric()).filter(|run| !run.is_empty())
}

impl<'a> Draft<'a> {
    fn of(source: &'a Source<'a>, readings: &'a [Reading], secrets: &'a Secrets) -> Self {
        let parameters = source.task.parameters().values().map(String::as_str);
        let given = Given::of(std::iter::once(source.task.text()).chain(parameters));
        let (kept, dropped, guide_only) = (Vec::new(), Vec::new(), Vec::new());
        let answer_words = Words::of(source.answer.unwrap_or_default());
        let (unsettled, withheld) = (Vec::new(), Vec::new());
        let named = Named::of(source.task.text());
        let mut draft =
            Self { source, secrets, given, named, answer_words, kept, dropped, guide_only, unsettled, withheld };
        let mut results = Results::default();
        let mut left_out = Results::default();
        for (index, (call, reading)) in source.calls.iter().zip(readings).enumerate() {
            match draft.reason_to_drop(call) {
                Some(reason) => {
                    draft.drop_call(index, call, reason);
                    left_out.push(said(call, reading));
                }
                None => draft.keep(Kept::new(index, call, reading), &mut results, &left_out),
            }
            if !call.status.is_ok() && call.annotations.effect() == EffectClass::Destructive {
                draft.guide_only.push(format!("a call of the destructive tool `{}` failed", call.tool));
            }
        }
        draft
    }

    /// Whether a later call took the place of a failed one with another value that the task gives, too: whether
    /// the first would fail again nobody knows.
    fn refuse_fallbacks(&mut self) {
        let failed = self.source.calls.iter().filter(|call| {
            !call.status.is_ok() && call.turn == 0 && call.annotations.effect() != EffectClass::ReadOnly
        });
        let tools: BTreeSet<&str> =
            failed.filter(|call| self.is_replaced(call)).map(|call| call.tool.as_str()).collect();
        let reasons = tools.into_iter().map(|tool| {
            format!("`{tool}` failed with a value of the task, and another one of the task was taken instead")
        });
        self.guide_only.extend(reasons.collect::<Vec<_>>());
    }

    fn is_replaced(&self, failed: &ToolCall) -> bool {
        let leaves = |call: &ToolCall| call.arguments.json().map(|json| json.leaves()).unwrap_or_default();
        let gives = |value: &Json| value.scalar_text().is_some_and(|text| self.given.gives(text));
        let same_tool: Vec<_> = self.kept.iter().filter(|kept| kept.call.tool == failed.tool).collect();
        let is_sent = |own: &crate::json::Leaf| {
            self.kept.iter().flat_map(|kept| leaves(kept.call)).any(|leaf| leaf.value == own.value)
        };
        let is_other = |own: &crate::json::Leaf| {
            let mut others = same_tool.iter().flat_map(|kept| leaves(kept.call));
            others.any(|leaf| leaf.pointer == own.pointer && gives(&leaf.value))
        };
        leaves(failed).iter().any(|own| gives(&own.value) && !is_sent(own) && is_other(own))
    }

    fn reason_to_drop(&self, call: &ToolCall) -> Option<&'static str> {
        if call.turn > 0 {
            return Some("belongs to a later user turn");
        }
        if call.parent.is_some() {
            return Some("made from inside another call");
        }
        if !call.status.is_ok() {
            return Some("failed");
        }
        let last = self.kept.last()?.call;
        let repeats = last.tool == call.tool && last.arguments.same_as(&call.arguments) && last.output == call.output;
        // Doing it twice may be what the task asked for, unless the tool says that it changes nothing.
        (repeats && call.annotations.may_repeat()).then_some("repeats the call before it")
    }

    fn drop_call(&mut self, index: usize, call: &ToolCall, reason: &str) {
        self.dropped.push(Dropped { call: index, tool: call.tool.clone(), reason: reason.to_owned() });
    }

    fn keep(&mut self, mut kept: Kept<'a>, results: &mut Results, left_out: &Results) {
        let Kept { call, reading, .. } = kept;
        let is_small = call.arguments.raw().len() <= MAX_ARGUMENT_BYTES && self.kept.len() < MAX_STEPS;
        // Steps that ran side by side cannot feed each other.
        let group = |step: usize| self.kept.get(step).and_then(|kept| kept.call.group);
        let usable = |step: usize| call.group.is_none() || group(step) != call.group;
        let mut taken = if is_small { results.taken(&call.arguments, &self.given, &usable) } else { Taken::default() };
        if is_small && left_out.has_uncovered(&call.arguments, &self.given, &taken) {
            self.guide_only.push(format!("an argument of `{}` came from a call that was left out", call.tool));
        }
        if taken.guards.iter().any(|guard| results.is_scattered(guard)) {
            self.guide_only.push(format!("an argument of `{}` stands in too many places of a long result", call.tool));
        }
        if is_small {
            taken.add_parameters(&call.arguments, self.source.task);
            taken.add_dates(self.dates(call));
            if call.annotations.effect() != EffectClass::ReadOnly {
                let computed = results.computed(&call.arguments, &self.given, &taken);
                let computed = computed.into_iter().filter(|guard| guard.places.iter().all(|place| usable(place.step)));
                taken.guards.extend(computed.collect::<Vec<_>>());
            }
        }
        let secrets = self.secrets;
        let hiding = Hiding {
            call,
            stored: &reading.stored,
            secrets,
            task: self.source.task,
            given: &self.given,
            results,
            usable: &usable,
        };
        kept.secret = hiding.hide(&mut taken);
        taken.guards.extend(self.polled(call));
        kept.taken = taken;
        kept.answered = self.answered_patterns(&reading.result);
        results.push(said(call, reading));
        self.kept.push(kept);
    }

    /// The arguments of a call that are the day that the task names by its distance from today.
    fn dates(&self, call: &ToolCall) -> Vec<Slot> {
        let Some(today) = self.source.today else { return Vec::new() };
        let asked = Asked { today, named: &self.named, task: self.source.task.text() };
        asked.slots(&call.arguments, |text| self.given.gives(text))
    }

    /// What the last of several equal calls was made for.
    fn polled(&self, next: &ToolCall) -> Vec<Guard> {
        let [earlier @ .., last] = self.kept.as_slice() else { return Vec::new() };
        let is_same =
            |one: &ToolCall, other: &ToolCall| one.tool == other.tool && one.arguments.same_as(&other.arguments);
        // There may be a wait between the two.
        let Some(before) = earlier.iter().rfind(|kept| is_same(kept.call, last.call)) else { return Vec::new() };
        let in_turn = before.call.group.is_none() && last.call.group.is_none();
        if !in_turn || is_same(last.call, next) {
            return Vec::new();
        }
        readiness(self.kept.len() - 1, &before.reading.result, &last.reading.result)
    }

    /// The leaves that the answer names and the task does not.
    fn answered_patterns(&self, result: &Json) -> BTreeSet<String> {
        let Some(answer) = self.source.answer else { return BTreeSet::new() };
        let named = |value: &Json| {
            let Some(text) = value.scalar_text() else { return false };
            let telling = text.chars().count() >= 3 || is_opaque(value) || matches!(value, Json::Number(_));
            telling && self.answer_words.may_name(text) && mentions(answer, text) && !self.given.gives(text)
        };
        let mut patterns: BTreeSet<String> = BTreeSet::new();
        // "There are two tables" rests on the list of tables, though it names none of them.
        let mut counts: BTreeMap<usize, bool> = BTreeMap::new();
        let lower = answer.to_lowercase();
        let mut is_counted = |len| *counts.entry(len).or_insert_with(|| mentions_count(&lower, len));
        result.walk(|place, seen| {
            let is_named = match seen {
                Seen::Leaf(value) => named(value),
                Seen::List(items) => !place.is_in_string() && is_counted(items.len()),
                Seen::Object(_) => false,
            };
            if is_named && !patterns.contains(place.pattern()) {
                patterns.insert(place.pattern().to_owned());
            }
        });
        patterns
    }

    /// Drops declared exploration whose results feed neither a later step nor the answer: one pass
    /// from the end, because only steps that stay keep what they were fed by.
    fn drop_idle_exploration(&mut self) {
        let mut feeding: BTreeSet<usize> = BTreeSet::new();
        let mut stays = vec![true; self.kept.len()];
        for (step, kept) in self.kept.iter().enumerate().rev() {
            let idle = kept.call.annotations.exploration && kept.answered.is_empty() && !feeding.contains(&step);
            if let Some(stay) = stays.get_mut(step) {
                *stay = !idle;
            }
            if !idle {
                feeding.extend(kept.places().map(|(step, _)| step));
            }
        }
        let mut renumbered = BTreeMap::new();
        for (step, kept) in std::mem::take(&mut self.kept).into_iter().enumerate() {
            if stays.get(step) == Some(&true) {
                renumbered.insert(step, self.kept.len());
                self.kept.push(kept);
            } else {
                self.drop_call(kept.index, kept.call, "exploration that feeds nothing");
            }
        }
        for kept in &mut self.kept {
            kept.taken.renumber(&renumbered);
        }
    }

    fn procedure(mut self) -> Procedure {
        self.refuse_what_cannot_replay();
        self.refuse_fallbacks();
        let mut used: Vec<BTreeSet<String>> = self.kept.iter().map(|kept| kept.answered.clone()).collect();
        for (step, path) in self.kept.iter().flat_map(Kept::places) {
            if let Some(used) = used.get_mut(step) {
                used.insert(path.to_owned());
            }
        }
        let steps = self.kept.iter().zip(&used).map(|(kept, used)| step(kept, used)).collect();
        let loops = self.loops();
        let answer = self.answer();
        self.dropped.sort_by_key(|dropped| dropped.call);
        Procedure {
            trigger: mask_text(self.source.task.text()).text,
            steps,
            loops,
            parameters: self.source.task.parameters().clone(),
            varied: BTreeSet::new(),
            contracts: BTreeMap::new(),
            answer,
            dropped: self.dropped,
            guide_only: self.guide_only,
            unsettled: self.unsettled,
            withheld: self.withheld,
            template: None,
            source_run: self.source.run.clone(),
            version: 1,
        }
    }

    fn loops(&self) -> Vec<Loop> {
        let made = self.kept.iter().map(|kept| Made {
            tool: &kept.call.tool,
            arguments: &kept.call.arguments,
            group: kept.call.group,
            result: &kept.reading.result,
            taken: &kept.taken,
        });
        stretch::find(&made.collect::<Vec<_>>(), &self.given)
    }

    /// The answer to record. A masked or shortened answer is not the answer, a placeholder is never returned,
    /// and the answer of a later turn answers another question.
    fn answer(&self) -> Option<String> {
        let answer = self.source.answer.filter(|answer| !answer.trim().is_empty())?;
        let is_first_turn = self.source.calls.iter().all(|call| call.turn == 0);
        let is_short = answer.len() <= self.source.stored_result_bytes;
        let is_sure = self.answers_any_moment() && !self.rests_on_dropped(answer);
        (is_first_turn && is_short && is_sure && !self.secrets.are_in(answer)).then(|| answer.to_owned())
    }

    /// Whether the answer holds whenever the calls do: of a task that names the day of which it is asked, the calls
    /// have to take that day.
    fn answers_any_moment(&self) -> bool {
        let takes_day = || self.kept.iter().any(|kept| kept.taken.slots.iter().any(|slot| slot.days().is_some()));
        !self.named.is_relative() || (self.named.only_day().is_some() && !self.named.is_now() && takes_day())
    }

    /// Whether an answer may rest on a call that no replay makes: a flag that exploration found, or a value with
    /// which a call failed.
    fn rests_on_dropped(&self, answer: &str) -> bool {
        let kept: BTreeSet<usize> = self.kept.iter().map(|kept| kept.index).collect();
        let dropped = self.source.calls.iter().enumerate().filter(|(at, call)| call.turn == 0 && !kept.contains(at));
        let sent = |text: &str| self.kept.iter().any(|kept| mentions(kept.call.arguments.raw(), text));
        let names = |leaf: &crate::json::Leaf| {
            let text = leaf.value.scalar_text().filter(|text| text.chars().count() >= 2);
            text.is_some_and(|text| mentions(answer, text) && !sent(text))
        };
        let mut dropped = dropped.map(|(_, call)| call);
        dropped.any(|call| {
            if call.status.is_ok() {
                return call.annotations.exploration
                    && call.output.to_json().leaves().iter().any(|leaf| matches!(leaf.value, Json::Bool(_)));
            }
            call.arguments.json().is_ok_and(|json| json.leaves().iter().any(names))
        })
    }

    fn refuse_poison(&mut self, readings: &[Reading]) {
        let Source { calls, run, task, .. } = *self.source;
        let earlier_turns = task.has_earlier_turns();
        let observed = Observed { given: &self.given, run, calls, readings, dropped: &self.dropped, earlier_turns };
        let found = poison::examine(&observed);
        self.guide_only.extend(found.reasons);
        self.unsettled = found.unsettled;
        self.withheld = found.withheld;
    }

    fn refuse_what_cannot_replay(&mut self) {
        let relative = self.named.is_relative();
        let is_undated = !relative && !names_date(self.source.task.text());
        for (step, kept) in self.kept.iter().enumerate() {
            let raw = kept.call.arguments.raw();
            let secret = kept.secret.as_ref().and_then(|hidden| hidden.fault);
            let fault = if !kept.call.arguments.is_object() {
                "are not a JSON object"
            } else if raw.len() > MAX_ARGUMENT_BYTES {
                "are longer than 64 KiB"
            } else if let Some(fault) = secret {
                fault
            } else if kept.taken.guards.len() + kept.taken.slots.len() > MAX_GUARDS {
                "take too much from earlier results to check it all"
            } else if (relative && self.holds_own_date(kept, |_| true))
                || (is_undated && self.holds_own_date(kept, |text| self.is_near(text)))
            {
                "hold a date or time that depends on when the task was asked"
            } else if relative && self.chooses_by_date(kept) {
                "were chosen among dates, which depends on when the task was asked"
            } else {
                continue;
            };
            self.guide_only.push(format!("the arguments of step {} (`{}`) {fault}", step + 1, kept.call.tool));
        }
        if self.kept.len() > MAX_STEPS {
            self.guide_only.push(format!("it has more than {MAX_STEPS} steps"));
        }
    }

    /// Whether an argument was chosen from a result that has dates, none of which the call that gave it asked for.
    fn chooses_by_date(&self, kept: &Kept<'_>) -> bool {
        let takes_day = |kept: &Kept<'_>| kept.taken.slots.iter().any(|slot| slot.days().is_some());
        let has_dates = |source: &Kept<'_>| {
            let leaves = source.reading.result.leaves();
            leaves.iter().any(|leaf| leaf.value.scalar_text().is_some_and(is_date_or_time))
        };
        let chosen = kept.taken.guards.iter().flat_map(|guard| &guard.places).filter(|place| place.is_choice());
        let mut sources = chosen.filter_map(|place| self.kept.get(place.step));
        !takes_day(kept) && sources.any(|source| !takes_day(source) && has_dates(source))
    }

    /// Whether a text has a date close to the day on which the task was asked.
    fn is_near(&self, text: &str) -> bool {
        self.source.today.is_some_and(|today| today.is_near(text))
    }

    /// Whether an argument is such a date or time that neither the task nor an earlier result gave.
    fn holds_own_date(&self, kept: &Kept<'_>, counts: impl Fn(&str) -> bool) -> bool {
        let leaves = kept.call.arguments.json().map(|json| json.leaves()).unwrap_or_default();
        leaves.iter().any(|leaf| {
            let Some(text) = leaf.value.scalar_text() else { return false };
            let is_guarded = kept.taken.holds(&leaf.pointer);
            is_date_or_time(text) && counts(text) && !is_guarded && !self.given.gives(text)
        })
    }
}

/// Whether an answer in lowercase names a count, as digits or as an English word.
fn mentions_count(answer: &str, count: usize) -> bool {
    const WORDS: [&str; 13] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    mentions(answer, &count.to_string()) || WORDS.get(count).is_some_and(|word| mentions(answer, word))
}

fn step(kept: &Kept<'_>, used: &BTreeSet<String>) -> Step {
    let call = kept.call;
    let stored = kept.reading.stored.clone();
    // Without a secret in the arguments none is in what they have in common with results.
    let masked = |guard: &Guard| match &kept.secret {
        Some(_) => Guard { value: mask_text(&guard.value).text, ..guard.clone() },
        None => guard.clone(),
    };
    Step {
        tool: call.tool.clone(),
        arguments: kept.secret.as_ref().map_or(stored.arguments, |hidden| hidden.arguments.clone()),
        effect: call.annotations.effect(),
        requires_approval: call.annotations.requires_approval,
        group: call.group,
        slots: kept.taken.slots.iter().take(MAX_GUARDS).cloned().collect(),
        guards: kept.taken.guards.iter().take(MAX_GUARDS).map(masked).collect(),
        shape: Shape::of(&kept.reading.result, used),
        result: stored.result,
    }
}
