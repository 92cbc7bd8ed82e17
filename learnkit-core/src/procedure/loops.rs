//! Loops: a stretch of calls that is one call for each element of a list of an earlier result.
//!
//! One run never proves a loop: the planner may have chosen these elements. Runs of three different lengths
//! do, as long as no run of the task did otherwise. Not here: finding loops in a run (`stretch`),
//! making the calls ([`crate::replay`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::slot::{Slot, of_kind};
use super::{Procedure, Step};
use crate::json::{Json, Seen};
use crate::run::Arguments;

/// Runs of so many different lengths prove a loop.
const PROVING_LENGTHS: usize = 3;
/// A list of more elements is left to the planner.
const MAX_ELEMENTS: usize = 100;

/// Steps that make one call for each element of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    /// The index of the first step, from 0.
    pub first: usize,
    /// How many steps there are in the newest run.
    pub count: usize,
    /// The one argument that differs, a JSON pointer into the arguments.
    pub argument: String,
    /// Where the elements stand, in their order: every column has to give the same ones.
    pub over: Vec<Column>,
    /// The different lengths that were seen.
    pub lengths: BTreeSet<usize>,
    /// Why it will never be proven, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted: Option<String>,
}

/// The leaves at one place of an earlier result, one for each element of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The index of the earlier step, from 0.
    pub step: usize,
    /// The leaves, with `*` for list positions.
    pub path: String,
}

impl Loop {
    /// Whether a run made more than one of its calls; before that it is an ordinary step.
    pub fn is_candidate(&self) -> bool {
        self.count > 1 || self.lengths.iter().any(|length| *length > 1)
    }

    /// Whether other elements than the recorded ones may be taken.
    pub fn is_proven(&self) -> bool {
        self.contradicted.is_none() && self.lengths.len() >= PROVING_LENGTHS
    }

    fn steps(&self) -> std::ops::Range<usize> {
        self.first..self.first.saturating_add(self.count)
    }

    fn contradict(&mut self, reason: impl Into<String>) {
        self.contradicted.get_or_insert_with(|| reason.into());
    }

    /// Takes over what runs with other calls beside the same loop showed.
    fn share(&mut self, other: &Self) {
        self.lengths.extend(&other.lengths);
        if let Some(reason) = &other.contradicted {
            self.contradict(reason);
        }
    }

    /// Takes over what an older example of the same loop showed.
    fn join(&mut self, older: &Self) {
        self.share(older);
        if self.over.iter().any(|column| older.over.contains(column)) {
            self.over.retain(|column| older.over.contains(column));
        } else {
            self.contradict("two runs took its elements from different lists");
        }
    }

    fn renumbered(mut self, numbers: &BTreeMap<usize, usize>) -> Self {
        let number = |step: usize| numbers.get(&step).copied().unwrap_or(step);
        self.first = number(self.first);
        self.over.iter_mut().for_each(|column| column.step = number(column.step));
        self
    }

    /// The elements as the results give them now.
    ///
    /// # Errors
    /// The reason in words why they are not certain.
    pub(crate) fn elements<'r>(&self, result: impl Fn(usize) -> Option<&'r Json>) -> Result<Vec<String>, String> {
        let columns = self.over.iter().map(|column| {
            let elements = result(column.step).and_then(|json| elements(json, &column.path));
            elements.ok_or_else(|| {
                format!("`{}` of step {} does not stand once in each element now", column.path, column.step + 1)
            })
        });
        let columns: Vec<Vec<String>> = columns.collect::<Result<_, _>>()?;
        let [first, rest @ ..] = columns.as_slice() else { return Err("no list to go through is known".to_owned()) };
        if rest.iter().any(|other| other != first) {
            return Err(format!("the lists that argument `{}` goes through differ now", self.argument));
        }
        if first.iter().collect::<BTreeSet<_>>().len() < first.len() {
            return Err(format!("the list that argument `{}` goes through names one element twice now", self.argument));
        }
        Ok(first.clone())
    }
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = self.over.iter().map(|column| format!("result {} at `{}`", column.step + 1, column.path));
        let lengths: Vec<String> = self.lengths.iter().map(ToString::to_string).collect();
        write!(f, "`{}` is each of {} in turn: ", self.argument, lists.collect::<Vec<_>>().join(" and "))?;
        match &self.contradicted {
            Some(reason) => write!(f, "never proven, because {reason}"),
            None if self.is_proven() => write!(f, "proven by runs of {} calls", lengths.join(", ")),
            None => {
                write!(f, "not proven by runs of {} calls, {PROVING_LENGTHS} lengths are needed", lengths.join(", "))
            }
        }
    }
}

/// The list that a column goes through: the path before its last list position.
pub(crate) fn list_of(path: &str) -> Option<&str> {
    path.rfind("/*").and_then(|at| path.get(..at))
}

/// The leaves of a column as texts; absent where there is no such list, or where not each of its elements has
/// one text or number there.
pub(crate) fn elements(json: &Json, path: &str) -> Option<Vec<String>> {
    let (mut is_list, mut items) = (false, 0);
    json.walk_at(list_of(path)?, |_, seen| {
        if let Seen::List(list) = seen {
            is_list = true;
            items += list.len();
        }
    });
    let mut texts = Vec::new();
    json.walk_at(path, |_, seen| {
        if let Seen::Leaf(value) = seen {
            texts.extend(value.scalar_text().filter(|text| !text.trim().is_empty()).map(str::to_owned));
        }
    });
    (is_list && texts.len() == items).then_some(texts)
}

/// The text of an argument.
pub(super) fn value(arguments: &Arguments, pointer: &str) -> Option<String> {
    let leaves = arguments.json().ok()?.leaves();
    leaves.iter().find(|leaf| leaf.pointer == pointer)?.value.scalar_text().map(str::to_owned)
}

/// What a run of the same task says of a loop of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bearing {
    /// It goes through the same loop, its own one with this index.
    Same(usize),
    /// The list was empty and it made no call.
    Empty,
    /// It neither reads the list nor calls the tool.
    Silent,
    /// It did otherwise.
    Otherwise,
}

impl Procedure {
    /// The loops that fold several steps to one.
    fn stretches(&self) -> impl Iterator<Item = &Loop> {
        self.loops.iter().filter(|each| each.count > 1 && each.steps().end <= self.steps.len())
    }

    /// Whether a loop of it may be one.
    pub(crate) fn has_loops(&self) -> bool {
        self.loops.iter().any(Loop::is_candidate)
    }

    /// The steps of which every loop is only its first, with their indexes.
    pub(super) fn folded(&self) -> Vec<(usize, &Step)> {
        let is_more = |at: usize| self.stretches().any(|each| each.steps().skip(1).any(|step| step == at));
        self.steps.iter().enumerate().filter(|(at, _)| !is_more(*at)).collect()
    }

    /// The argument with which a step begins a loop.
    pub(super) fn loop_argument(&self, step: usize) -> Option<&str> {
        self.stretches().find(|each| each.first == step).map(|each| each.argument.as_str())
    }

    /// The steps of the loop that a step begins; none where it begins none.
    pub(super) fn stretch_of(&self, step: usize) -> std::ops::Range<usize> {
        self.stretches().find(|each| each.first == step).map_or(step..step, Loop::steps)
    }

    /// The steps of another example of the same calls as numbers of the own ones.
    pub(super) fn numbers_of(&self, other: &Self) -> BTreeMap<usize, usize> {
        other.folded().iter().zip(self.folded()).map(|((theirs, _), (own, _))| (*theirs, own)).collect()
    }

    /// A step of a folded procedure with what all steps of its loop showed. Arguments that its own or the
    /// `other` loop takes from the list are no slots.
    pub(super) fn template(&self, step: usize, other: Option<&str>) -> Option<Step> {
        let mut template = self.steps.get(step)?.clone();
        self.loop_argument(step).into_iter().chain(other).for_each(|argument| template.forget(argument));
        for more in self.steps.get(self.stretch_of(step)).unwrap_or_default() {
            template.shape.also_allow(&more.shape);
        }
        Some(template)
    }

    /// The template of a step of another example of the same calls, with the own numbers.
    pub(super) fn template_of(&self, other: &Self, theirs: usize, numbers: &BTreeMap<usize, usize>) -> Option<Step> {
        let argument = numbers.get(&theirs).and_then(|own| self.loop_argument(*own));
        let mut template = other.template(theirs, argument)?;
        template.renumber(numbers);
        Some(template)
    }

    /// Whether each loop of several calls is one of another example of the same calls, too.
    pub(super) fn shares_loops(&self, other: &Self, numbers: &BTreeMap<usize, usize>) -> bool {
        let theirs: Vec<Loop> = other.loops.iter().map(|each| each.clone().renumbered(numbers)).collect();
        self.stretches().all(|own| {
            let mut same = theirs.iter().filter(|each| each.first == own.first && each.argument == own.argument);
            same.any(|each| each.over.iter().any(|column| own.over.contains(column)))
        })
    }

    /// Takes over the loops of an older example of the same calls.
    pub(super) fn join_loops(&mut self, older: &Self, numbers: &BTreeMap<usize, usize>) {
        let known: Vec<Loop> = older.loops.iter().map(|each| each.clone().renumbered(numbers)).collect();
        let is_known = |own: &Loop, known: &Loop| known.first == own.first && known.argument == own.argument;
        for own in &mut self.loops {
            match known.iter().find(|known| is_known(own, known)) {
                Some(known) => own.join(known),
                None => own.contradict("a run of the same calls did not take all of the list"),
            }
        }
        // A single call says something of the argument that the longer runs show, and of no other.
        self.loops.retain(|own| {
            let is_open = |known: &&Loop| known.is_candidate() && known.first == own.first;
            own.is_candidate() || !known.iter().any(|known| is_open(&known))
        });
        for known in known.into_iter().filter(Loop::is_candidate) {
            if !self.loops.iter().any(|own| is_known(own, &known)) {
                let mut lost = Loop { count: 1, ..known };
                lost.contradict("a run of the same calls did not take all of the list");
                self.loops.push(lost);
            }
        }
    }

    /// Compares two procedures that solved one task: what both go through shares its lengths, and loops of either
    /// that the other did not follow end. Where one found nothing in the list of the other's loop, its calls are only right for that.
    pub(crate) fn compare_loops(&mut self, other: &mut Self) -> bool {
        let before = (self.loops.clone(), other.loops.clone(), self.guide_only.len() + other.guide_only.len());
        self.weigh(other);
        other.weigh(self);
        before != (self.loops.clone(), other.loops.clone(), self.guide_only.len() + other.guide_only.len())
    }

    fn weigh(&mut self, other: &mut Self) {
        let bearings: Vec<Bearing> = self.loops.iter().map(|each| self.bearing(each, other)).collect();
        for (each, bearing) in self.loops.iter_mut().zip(bearings).filter(|(each, _)| each.is_candidate()) {
            match bearing {
                Bearing::Same(theirs) => other.loops.get_mut(theirs).into_iter().for_each(|own| own.share(each)),
                Bearing::Silent => {}
                Bearing::Otherwise => each.contradict("a run of this task did not make one call for each element"),
                Bearing::Empty => other.only_for_an_empty_list(),
            }
        }
    }

    fn only_for_an_empty_list(&mut self) {
        let reason = "it found an empty list where other runs of this task made a call for each element";
        if !self.guide_only.iter().any(|known| known == reason) {
            self.guide_only.push(reason.to_owned());
        }
    }

    fn bearing(&self, each: &Loop, other: &Self) -> Bearing {
        let call = self.steps.get(each.first).map(|step| step.signature(Some(&each.argument)));
        let read = |own: &Self, column: &Column| own.steps.get(column.step).map(|step| step.signature(None));
        let lists: Vec<(Option<String>, &str)> =
            each.over.iter().map(|column| (read(self, column), column.path.as_str())).collect();
        let is_same = |their: &Loop| {
            let same_call = other.steps.get(their.first).map(|step| step.signature(Some(&their.argument))) == call;
            let mut over = their.over.iter().map(|column| (read(other, column), column.path.as_str()));
            their.argument == each.argument && same_call && over.any(|list| lists.contains(&list))
        };
        if let Some(theirs) = other.loops.iter().position(is_same) {
            return Bearing::Same(theirs);
        }
        let tool = self.steps.get(each.first).map(|step| &step.tool);
        if other.steps.iter().any(|step| Some(&step.tool) == tool) {
            return Bearing::Otherwise;
        }
        let reads = |step: &&Step| lists.iter().any(|(read, _)| read.as_ref() == Some(&step.signature(None)));
        let mut reads = other.steps.iter().filter(reads).peekable();
        if reads.peek().is_none() {
            return Bearing::Silent;
        }
        let found_nothing = |step: &Step| {
            let result = Json::of_result(&step.result.text);
            !step.result.truncated
                && lists.iter().all(|(_, path)| elements(&result, path).is_some_and(|all| all.is_empty()))
        };
        if reads.all(found_nothing) { Bearing::Empty } else { Bearing::Otherwise }
    }

    /// Whether a result of it holds a list, so that other runs of the task may have gone through one.
    pub(crate) fn sees_a_list(&self) -> bool {
        self.steps.iter().any(|step| step.shape.has_list())
    }

    /// The argument of a step that a list gives in turn, whatever its length.
    pub(crate) fn proven_argument(&self, step: usize) -> Option<String> {
        let mut proven = self.loops.iter().filter(|each| each.is_proven());
        proven.find(|each| each.steps().contains(&step)).map(|each| each.argument.clone())
    }

    /// The values that a loop was recorded with.
    pub(crate) fn recorded_elements(&self, each: &Loop) -> Vec<String> {
        let steps = self.steps.get(each.steps()).unwrap_or_default();
        steps.iter().filter_map(|step| value(&step.arguments, &each.argument)).collect()
    }

    /// The loop that begins with a step.
    pub(crate) fn loop_at(&self, step: usize) -> Option<&Loop> {
        let is_sound = |each: &&Loop| {
            each.count > 0 && each.steps().end <= self.steps.len() && each.over.iter().all(|column| column.step < step)
        };
        self.loops.iter().filter(is_sound).find(|each| each.first == step && each.is_candidate())
    }

    /// The procedure with one call for each of these elements in place of a loop.
    ///
    /// # Errors
    /// The reason in words why there is no such call, or that there are too many.
    pub(crate) fn expanded(&self, each: &Loop, elements: &[String]) -> Result<Self, String> {
        let (count, argument) = (elements.len(), &each.argument);
        if count > MAX_ELEMENTS && elements != self.recorded_elements(each) {
            return Err(format!("argument `{argument}` would go through {count} elements, more than {MAX_ELEMENTS}"));
        }
        let (start, end) = (each.first, each.steps().end);
        let recorded = self.steps.get(each.steps()).unwrap_or_default();
        let mut template = self.template(start, None).ok_or("the procedure has no such step")?;
        template.forget(&each.argument);
        let number = |step: usize| if step >= end { step - each.count + elements.len() } else { step };
        let numbers: BTreeMap<usize, usize> = (0..self.steps.len()).map(|step| (step, number(step))).collect();
        let made = elements.iter().enumerate().map(|(at, element)| {
            let own = recorded.get(at).or(recorded.last());
            let result = own.map_or_else(|| template.result.clone(), |step| step.result.clone());
            Ok(Step { arguments: template.with_element(&each.argument, element)?, result, ..template.clone() })
        });
        let made: Vec<Step> = made.collect::<Result<_, String>>()?;
        let mut after: Vec<Step> = self.steps.get(end..).unwrap_or_default().to_vec();
        after.iter_mut().for_each(|step| step.renumber(&numbers));
        let before = self.steps.get(..start).unwrap_or_default().to_vec();
        let others = self.loops.iter().filter(|other| *other != each);
        Ok(Self {
            steps: [before, made, after].concat(),
            loops: others.map(|other| other.clone().renumbered(&numbers)).collect(),
            ..self.clone()
        })
    }
}

impl Step {
    /// Takes neither guards nor slots for an argument.
    fn forget(&mut self, argument: &str) {
        self.guards.retain(|guard| guard.argument != argument);
        self.slots.retain(|slot| slot.argument != argument);
    }

    /// Gives the earlier steps other numbers.
    fn renumber(&mut self, numbers: &BTreeMap<usize, usize>) {
        let guarded = self.guards.iter_mut().flat_map(|guard| &mut guard.places).map(|place| &mut place.step);
        let read = self.slots.iter_mut().flat_map(Slot::candidates_mut).map(|candidate| &mut candidate.step);
        for step in guarded.chain(read) {
            *step = numbers.get(step).copied().unwrap_or(*step);
        }
    }

    fn with_element(&self, argument: &str, element: &str) -> Result<Arguments, String> {
        let json = self.arguments.json().map_err(|error| error.to_string())?;
        let leaf = json.leaves().into_iter().find(|leaf| leaf.pointer == argument);
        let leaf = leaf.ok_or_else(|| format!("there is no argument `{argument}` to fill"))?;
        let value = of_kind(&leaf.value, element.to_owned())
            .ok_or_else(|| format!("argument `{argument}` is a {}, and an element is none", leaf.value.kind()))?;
        let is_same = value == leaf.value;
        let changed =
            || Arguments::from_raw(json.with_leaves(&BTreeMap::from([(argument.to_owned(), value)])).to_text());
        Ok(if is_same { self.arguments.clone() } else { changed() })
    }
}
