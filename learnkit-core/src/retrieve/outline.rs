//! The outline of a procedure for a planner: the calls, and where each argument comes from. Of several like
//! procedures it says what they share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::json::Json;
use crate::procedure::{DaysOn, Given, Guard, Part, Procedure, Step, is_opaque};
use crate::secret::mask_text;

/// A longer value is shown by its beginning, in characters.
const SHOWN_VALUE: usize = 32;
/// So many values of one step are shown.
const SHOWN_VALUES: usize = 8;
/// Arguments that read the same as those of an earlier step and are longer refer to it.
const REPEATED_BYTES: usize = 24;

/// Whether the values that nobody gave are told as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// For the very task that the procedure solved.
    Shown,
    /// For another one, which may need others.
    Hidden,
}

/// The steps that like procedures share.
#[derive(Debug)]
pub(super) struct Outline {
    steps: Vec<(String, BTreeMap<String, Argument>)>,
    examples: usize,
}

/// The arguments of one step by their sources.
#[derive(Debug, Default)]
struct Said<'a> {
    /// By step, then by path.
    results: BTreeMap<usize, BTreeMap<&'a str, Vec<&'a str>>>,
    task: Vec<&'a str>,
    secrets: Vec<String>,
    dates: Vec<String>,
    constants: Vec<String>,
    chosen: Vec<String>,
    /// Whether there are arguments that nothing is said of.
    is_silent: bool,
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups: Vec<String> = Vec::new();
        for (step, paths) in &self.results {
            let names: Vec<String> = paths.values().map(|names| names.join(" & ")).collect();
            let paths: Vec<&str> = paths.keys().copied().collect();
            groups.push(format!("{} = step {} → {}", names.join(", "), step + 1, paths.join(", ")));
        }
        let mut push = |words: &[String], before: &str, after: &str| {
            if !words.is_empty() {
                groups.push(format!("{before}{}{after}", words.join(", ")));
            }
        };
        push(&self.task.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), "", " from the task");
        push(&self.secrets, "", "");
        push(&self.dates, "", "");
        push(self.constants.get(..self.constants.len().min(SHOWN_VALUES)).unwrap_or_default(), "always ", "");
        push(&self.chosen, "yours to choose: ", "");
        if groups.is_empty() && self.is_silent {
            return f.write_str("…");
        }
        f.write_str(&groups.join("; "))
    }
}

/// An argument over all examples.
#[derive(Debug)]
struct Argument {
    /// Where it may have come from in every example, the best first; empty where it is the planner's choice.
    sources: BTreeSet<Source>,
    /// The value, while it is the same in every example.
    value: Option<String>,
    /// Whether it is an id or token that neither the task nor a result gave.
    is_opaque: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// A secret of this name.
    Secret(String),
    /// The day of the run, so many days on.
    Clock(i64),
    /// An earlier result; one that names the value comes before one that chose it from several.
    Result {
        chosen: bool,
        step: usize,
        path: String,
    },
    Task,
}

impl Outline {
    pub(super) fn of(procedure: &Procedure) -> Self {
        let given = Given::of([procedure.trigger.as_str()]);
        let is_made_once = !procedure.unsettled.is_empty();
        let steps = procedure.steps.iter().map(|step| {
            let mut arguments = arguments(step, &given);
            // A planner that copies such a value would seem to know it.
            arguments.values_mut().filter(|own| is_made_once && own.is_opaque).for_each(|own| own.value = None);
            (step.tool.clone(), arguments)
        });
        Self { steps: steps.collect(), examples: 1 }
    }

    /// Keeps what another procedure of the same tools shares.
    pub(super) fn share(&mut self, other: &Self) {
        self.examples += other.examples;
        for ((_, own), (_, others)) in self.steps.iter_mut().zip(&other.steps) {
            for (name, argument) in own {
                match others.get(name) {
                    Some(same) => argument.share(same),
                    None => argument.sources.clear(),
                }
            }
        }
    }

    /// Numbered lines, one for each step.
    pub(super) fn lines(&self, values: Values) -> Vec<String> {
        let said: Vec<String> = self.steps.iter().map(|(_, arguments)| self.arguments(arguments, values)).collect();
        let calls = self.steps.iter().zip(&said).enumerate().map(|(at, ((tool, _), arguments))| {
            let earlier = said.iter().position(|earlier| earlier == arguments);
            match earlier.filter(|step| *step < at && arguments.len() > REPEATED_BYTES) {
                Some(step) => format!("{tool}(as in step {})", step + 1),
                None => format!("{tool}({arguments})"),
            }
        });
        let calls: Vec<String> = calls.collect();
        // Equal steps that follow one another share a line.
        let (mut lines, mut at) = (Vec::new(), 1);
        for equal in calls.chunk_by(|a, b| a == b) {
            let numbers: Vec<String> = (at..at + equal.len()).map(|number| number.to_string()).collect();
            lines.extend(equal.first().map(|call| format!("{}. {call}", numbers.join(", "))));
            at += equal.len();
        }
        if values == Values::Hidden && self.has_choices() {
            lines.push("What is not named is yours to choose.".to_owned());
        }
        if self.examples > 1 {
            lines.push(format!("(what {} such tasks had in common)", self.examples));
        }
        lines
    }

    /// The arguments by their sources: `a, b = step 1 → id, name; c from the task; yours to choose: d`.
    fn arguments(&self, arguments: &BTreeMap<String, Argument>, values: Values) -> String {
        let mut said = Said::default();
        for (name, argument) in arguments {
            match (argument.sources.first(), &argument.value) {
                (Some(Source::Result { step, path, .. }), _) => {
                    said.results.entry(*step).or_default().entry(path).or_default().push(name);
                }
                (Some(Source::Secret(secret)), _) => said.secrets.push(format!("{name} from the secret `{secret}`")),
                (Some(Source::Clock(days)), _) => said.dates.push(format!("{name} = {}", DaysOn(*days))),
                (Some(Source::Task), _) => said.task.push(name),
                (None, Some(value)) if self.examples > 1 => said.constants.push(format!("{name} = {value}")),
                (None, Some(value)) if said.chosen.len() < SHOWN_VALUES => {
                    said.chosen.push(format!("{name} (was {value})"));
                }
                (None, _) => said.chosen.push(name.clone()),
            }
        }
        // Of another task the planner knows itself what its tools take.
        if values == Values::Hidden {
            said.is_silent = !said.chosen.is_empty();
            said.chosen.clear();
        }
        said.to_string()
    }

    fn has_choices(&self) -> bool {
        let is_choice = |argument: &Argument| argument.sources.is_empty();
        self.steps.iter().any(|(_, arguments)| arguments.values().any(is_choice))
    }
}

impl Argument {
    fn share(&mut self, other: &Self) {
        self.sources.retain(|source| other.sources.contains(source));
        if self.value != other.value {
            self.value = None;
        }
    }
}

fn arguments(step: &Step, given: &Given) -> BTreeMap<String, Argument> {
    let mut arguments: BTreeMap<String, Argument> = BTreeMap::new();
    for leaf in step.arguments.json().map(|json| json.leaves()).unwrap_or_default() {
        let sources = sources(step, &leaf.pointer, &leaf.value, given);
        let is_opaque = is_opaque(&leaf.value) && sources.is_empty();
        let own = Argument { sources, value: Some(shown(&leaf.value)), is_opaque };
        match arguments.get_mut(&dotted(&leaf.pattern)) {
            // The elements of a list count as one.
            Some(known) => known.share(&own),
            None => drop(arguments.insert(dotted(&leaf.pattern), own)),
        }
    }
    arguments
}

fn sources(step: &Step, pointer: &str, value: &Json, given: &Given) -> BTreeSet<Source> {
    let mut sources = BTreeSet::new();
    for part in step.slots.iter().filter(|slot| slot.argument == pointer).flat_map(|slot| &slot.parts) {
        match part {
            Part::Text { .. } => {}
            Part::Parameter { .. } => drop(sources.insert(Source::Task)),
            Part::Secret { name } => drop(sources.insert(Source::Secret(name.clone()))),
            Part::Date { days, .. } => drop(sources.insert(Source::Clock(*days))),
            Part::Result { candidates } => sources.extend(candidates.iter().map(|candidate| Source::Result {
                chosen: !candidate.is_definite(),
                step: candidate.step,
                path: path(&candidate.path),
            })),
        }
    }
    // A guard of a part of the argument does not say where the argument comes from.
    let is_whole = |guard: &&Guard| guard.argument == pointer && value.scalar_text() == Some(&guard.value);
    let guards = step.guards.iter().filter(is_whole);
    let guarded = guards.flat_map(|guard| &guard.places);
    sources.extend(guarded.map(|place| Source::Result { chosen: true, step: place.step, path: path(&place.path) }));
    if sources.is_empty() && value.scalar_text().is_some_and(|text| !text.trim().is_empty() && given.gives(text)) {
        sources.insert(Source::Task);
    }
    sources
}

/// A value as it was: short, and with its secrets masked.
fn shown(value: &Json) -> String {
    let text = mask_text(&value.to_text()).text;
    let cut: String = text.chars().take(SHOWN_VALUE).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// The path of a result; that it is a list needs no saying.
fn path(pattern: &str) -> String {
    let dotted = dotted(pattern);
    let path = dotted.trim_start_matches("[].");
    if path.is_empty() { "its result".to_owned() } else { path.to_owned() }
}

/// A JSON pointer as people write it: `/flights/*/number` is `flights[].number`.
fn dotted(pattern: &str) -> String {
    let mut dotted = String::new();
    for step in pattern.split('/').skip(1) {
        match step {
            "*" => dotted.push_str("[]"),
            "#" => {}
            key => {
                if !dotted.is_empty() {
                    dotted.push('.');
                }
                dotted.push_str(&key.replace("~1", "/").replace("~2", "*").replace("~3", "#").replace("~0", "~"));
            }
        }
    }
    dotted
}
