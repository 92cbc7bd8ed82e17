//! The ledger: what memory saved, what it cost, and which records are to thank or to blame. A pure
//! computation over stored runs.
//!
//! Not here: which runs are looked at and how they are read ([`crate::engine`]), and what a use of a record
//! does to its standing ([`crate::lifecycle`]).

mod bet;
mod books;
mod effect;
mod entry;
mod rate;
mod saving;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

pub use effect::{Class, EFFECT_POINTS, Effect};
pub use rate::Interval;
pub use saving::Saving;

use crate::backend::SkippedRow;
use crate::record::{AgentName, RecordId};
use crate::run::StoredRun;
use crate::task::TaskKey;
use books::Books;
use entry::{Entry, Names, Place};

/// What memory did over some runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// When the first and the last of the runs finished; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<[Timestamp; 2]>,
    /// How the runs were planned.
    pub runs: Runs,
    /// Calls of the planner that were saved: planning calls and, on the other side, synthesis calls.
    pub planner_calls: Saving,
    /// Tokens of the planner that were saved; its playbooks are among what it needed.
    pub tokens: Saving,
    /// Synthesis calls.
    pub synthesis_calls: u64,
    /// The estimated size of all playbooks in tokens, each counted once for its run.
    pub playbook_tokens: u64,
    /// What replays cost that were in vain.
    pub failed_replays: FailedReplays,
    /// Each agent with its base rate.
    pub agents: Vec<AgentAccount>,
    /// Each record that was on offer or used; the most used first.
    pub records: Vec<RecordAccount>,
    /// Runs that got what memory had beside runs that were held out; absent where nothing was held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<Arms>,
    /// Each day on which a run finished, in UTC, oldest first.
    pub days: Vec<Day>,
    /// Runs that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedRow>,
}

/// How runs were planned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// All of them.
    pub total: u64,
    /// A whole procedure was replayed.
    pub replayed: u64,
    /// A replay was begun and not brought to its end.
    pub stopped: u64,
    /// Planned with a playbook.
    pub guided: u64,
    /// Planned without.
    pub cold: u64,
    /// Planned without, because they were held out.
    pub held_out: u64,
}

/// What replays cost that were in vain. The calls of the planner that went on from them are charged in
/// [`Ledger::planner_calls`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedReplays {
    /// Replays that were not brought to their end.
    pub stopped: u64,
    /// Those of them in which the procedure itself failed, rather than the world had changed.
    pub at_fault: u64,
    /// Replays to the end of runs that did not solve their task.
    pub unsolved: u64,
    /// Tool calls that both made.
    pub tool_calls: u64,
    /// How long these calls took, in milliseconds.
    pub milliseconds: u64,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentAccount {
    /// Its name.
    pub agent: AgentName,
    /// Its runs.
    pub runs: u64,
    /// The share of its runs without memory that solved their task; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_rate: Option<Interval>,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordAccount {
    /// The record; it may be gone by now.
    pub id: RecordId,
    /// Whose runs it was for.
    pub agent: AgentName,
    /// The first task it was for, in words.
    pub task: String,
    /// Runs that had it on offer, those that were held out among them.
    pub offered: u64,
    /// Replays of it to the end.
    pub replayed: u64,
    /// Replays of it that were not brought to their end.
    pub stopped: u64,
    /// Guided runs that followed it.
    pub followed: u64,
    /// Uses that solved the task.
    pub help: u64,
    /// Uses that did not, and replays in which it failed.
    pub harm: u64,
    /// The share of help; absent without a use that tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help_rate: Option<Interval>,
    /// The share of the agent's runs without memory that solved their task, for comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_rate: Option<Interval>,
    /// Calls of the planner that its uses saved; of a guided run each followed record has an equal part.
    pub planner_calls: Saving,
    /// Tokens of the planner, likewise.
    pub tokens: Saving,
    /// Whether it does good.
    pub effect: Effect,
}

/// The arms of a comparison: only runs for which memory had something, drawn by `holdout_rate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arms {
    /// Runs that got it.
    pub memory: ArmAccount,
    /// Runs that were held out.
    pub hold_out: ArmAccount,
    /// The difference of their shares of success with its 95 % range (Newcombe), for one look at a number of
    /// runs that was fixed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<Interval>,
    /// The effect on the outcome, for any number of looks.
    pub effect: Effect,
}

/// One arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmAccount {
    /// Its runs.
    pub runs: u64,
    /// Those that solved their task.
    pub solved: u64,
    /// Those that did not.
    pub unsolved: u64,
    /// The share that solved its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<Interval>,
    /// Calls of the planner for each run on average; absent where nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner_calls: Option<f64>,
}

/// One day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Day {
    /// The day, in UTC.
    pub date: Date,
    /// Its runs.
    pub runs: u64,
    /// Calls of the planner that they saved.
    pub planner_calls: Saving,
}

/// Collects runs, in any order, and draws up the ledger.
#[derive(Debug)]
pub struct Account {
    threshold: f64,
    entries: Vec<Entry>,
    task_names: Names<TaskKey>,
    words_names: Names<(usize, String)>,
    agent_names: Names<AgentName>,
    record_names: Names<RecordId>,
    agents: Vec<AgentName>,
    records: Vec<RecordId>,
    words: Vec<String>,
    tasks: usize,
}

impl Account {
    /// An empty account; `quality_threshold` is the score from which a run solved its task.
    pub fn new(quality_threshold: f64) -> Self {
        Self {
            threshold: quality_threshold,
            entries: Vec::new(),
            task_names: Names::new(),
            words_names: Names::new(),
            agent_names: Names::new(),
            record_names: Names::new(),
            agents: Vec::new(),
            records: Vec::new(),
            words: Vec::new(),
            tasks: 0,
        }
    }

    /// Adds a run. One that is added twice counts twice.
    pub fn add(&mut self, run: &StoredRun) {
        let (agent, is_new) = self.agent_names.number(run.agent.clone());
        self.agents.extend(is_new.then(|| run.agent.clone()));
        let (task, is_new) = self.task_names.number(run.task.key.clone());
        self.tasks += usize::from(is_new);
        let (words, is_new) = self.words_names.number((agent, run.task.canonical.clone()));
        self.words.extend(is_new.then(|| run.text.clone()));
        let place = Place { task, words, agent };
        let (names, records) = (&mut self.record_names, &mut self.records);
        let number = |id: &RecordId| {
            let (number, is_new) = names.number(id.clone());
            records.extend(is_new.then(|| id.clone()));
            number
        };
        self.entries.push(Entry::of(run, &place, self.threshold, number));
    }

    /// The ledger of the runs so far.
    pub fn ledger(mut self) -> Ledger {
        self.entries.sort_by(|a, b| (a.finished, &a.id).cmp(&(b.finished, &b.id)));
        Books::of(&self).ledger()
    }
}

impl RecordAccount {
    /// How often it was used.
    pub fn uses(&self) -> u64 {
        self.replayed + self.stopped + self.followed
    }
}
