//! The recorded world: what a call gives back, and which lists of calls were right.

use std::collections::{BTreeMap, HashMap};

use learnkit::tool::{ToolAnnotations, ToolManifest};
use serde_json::Value;

use super::rows::{Call, Recorded, key};
use crate::tools::{manifest, reads};

/// How tools that may change something are declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effects {
    /// They may be called.
    Free,
    /// A person has to approve each call, so that only reads replay.
    Approved,
}

/// Whether a list of calls leaves the right world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truth {
    /// A recorded run with these effects did.
    Right,
    /// A recorded run with these effects did not.
    Wrong,
    /// No recorded run made them; counted as wrong, and counted apart.
    Unknown,
}

/// A call that was made in the recorded world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    /// Equal for equal calls.
    pub(crate) key: String,
    /// Whether it worked.
    pub(crate) ok: bool,
    /// Whether it changed the world.
    pub(crate) effect: bool,
}

impl From<&Call> for Made {
    fn from(call: &Call) -> Self {
        Self { key: call.key(), ok: call.ok, effect: call.is_effect() }
    }
}

/// Where a call was made: the task, the effects before it, and the call itself.
type Place<'a> = (&'a str, Vec<String>, String);

/// All that was recorded.
#[derive(Debug)]
pub(crate) struct World<'a> {
    /// The recorded runs.
    pub(crate) runs: &'a [Recorded],
    of_task: HashMap<&'a str, Vec<usize>>,
    results: HashMap<Place<'a>, Vec<(usize, &'a Call)>>,
    tools: BTreeMap<&'a str, bool>,
}

impl<'a> World<'a> {
    /// The world that these runs show.
    pub(crate) fn of(runs: &'a [Recorded]) -> Self {
        let mut world = Self { runs, of_task: HashMap::new(), results: HashMap::new(), tools: BTreeMap::new() };
        for (index, run) in runs.iter().enumerate() {
            world.of_task.entry(&run.task).or_default().push(index);
            world.add(index, run);
        }
        world
    }

    fn add(&mut self, index: usize, run: &'a Recorded) {
        let mut effects: Vec<String> = Vec::new();
        for call in &run.calls {
            let place = (run.task.as_str(), effects.clone(), call.key());
            self.results.entry(place).or_default().push((index, call));
            if call.is_effect() {
                effects.push(call.key());
            }
            *self.tools.entry(&call.tool).or_insert(true) &= call.write == Some(false);
        }
    }

    /// The tools of every task; one reads only when no run shows otherwise.
    pub(crate) fn manifest(&self, effects: Effects) -> ToolManifest {
        manifest(self.tools.iter().map(|(tool, is_read)| {
            let requires_approval = effects == Effects::Approved && !is_read;
            (*tool, ToolAnnotations { requires_approval, ..reads(*is_read) })
        }))
    }

    /// What a call gives back after these calls: as recorded of the same task after the same effects, from the
    /// run of the least rank.
    pub(crate) fn result(&self, at: &Position<'_>, tool: &str, args: &Value) -> Option<&'a Call> {
        let effects = effects(at.made).map(str::to_owned).collect();
        let task = self.runs.get(at.run)?.task.as_str();
        let found = self.results.get(&(task, effects, key(tool, args)))?;
        found.iter().min_by_key(|(run, _)| (at.rank)(*run)).map(|(_, call)| *call)
    }

    /// Whether these calls of a task leave the right world. Effects decide; where no run says what is an
    /// effect, or runs with these effects disagree, the whole list of calls that worked does.
    pub(crate) fn truth(&self, task: &str, made: &[Made]) -> Truth {
        let runs: Vec<&Recorded> = self.of_task(task).collect();
        let says = |run: &&Recorded| run.calls.iter().all(|call| call.write.is_some());
        let same_effects = runs.iter().filter(|run| says(run) && effects(made).eq(effects(&made_by(run))));
        match verdict(same_effects.map(|run| run.state_ok)) {
            Truth::Unknown => {}
            truth => return truth,
        }
        let whole = |made: &[Made]| -> Vec<String> {
            let mut keys: Vec<String> = made.iter().filter(|made| made.ok).map(|made| made.key.clone()).collect();
            keys.dedup();
            keys
        };
        let mine = whole(made);
        verdict(runs.iter().filter(|run| whole(&made_by(run)) == mine).map(|run| run.state_ok))
    }

    /// Whether the effects of these calls are how some right run of the task began.
    pub(crate) fn begins_right(&self, task: &str, made: &[Made]) -> bool {
        let mut right = self.of_task(task).filter(|run| run.state_ok);
        right.any(|run| {
            let own = made_by(run);
            let own: Vec<&str> = effects(&own).collect();
            own.starts_with(&effects(made).collect::<Vec<_>>())
        })
    }

    fn of_task(&self, task: &str) -> impl Iterator<Item = &'a Recorded> {
        let runs = self.runs;
        self.of_task.get(task).into_iter().flatten().filter_map(move |index| runs.get(*index))
    }
}

/// Where in a stream a call is made.
pub(crate) struct Position<'p> {
    /// The recorded run whose place this is.
    pub(crate) run: usize,
    /// The calls before.
    pub(crate) made: &'p [Made],
    /// Which recorded run to ask first.
    pub(crate) rank: &'p dyn Fn(usize) -> usize,
}

/// The calls of a recorded run.
pub(crate) fn made_by(run: &Recorded) -> Vec<Made> {
    run.calls.iter().map(Made::from).collect()
}

/// The calls that changed the world, in order.
pub(crate) fn effects(made: &[Made]) -> impl Iterator<Item = &str> {
    made.iter().filter(|made| made.effect).map(|made| made.key.as_str())
}

fn verdict(mut right: impl Iterator<Item = bool>) -> Truth {
    match right.next() {
        Some(first) if right.all(|other| other == first) => {
            if first {
                Truth::Right
            } else {
                Truth::Wrong
            }
        }
        _ => Truth::Unknown,
    }
}
