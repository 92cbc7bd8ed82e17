//! The ledger: what memory saved, what it cost, and which records are to thank or to blame. A pure
//! computation over stored runs.
//!
//! Not here: which runs are looked at and how they are read ([`crate::engine`]), and what a use of a record
//! does to its standing ([`crate::lifecycle`]).

mod bet;
mod effect;
mod entry;
mod rate;
mod saving;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

pub use effect::{Class, EFFECT_POINTS, Effect};
pub use rate::Interval;
pub use saving::Saving;

use crate::backend::SkippedRow;
use crate::record::{AgentName, RecordId};
use crate::run::{Arm, StoredRun};
use crate::task::TaskKey;
use effect::Observation;
use entry::{Begun, Entry, How, Names, Place};
use saving::{Need, calls_needed, tokens_needed};

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

/// What is known of all runs before each is looked at.
struct Books<'a> {
    account: &'a Account,
    calls: Vec<Need>,
    tokens: Vec<Need>,
    /// Solved and unsolved runs of each agent without memory, first those that were held out.
    base: Vec<[[u64; 2]; 2]>,
}

impl<'a> Books<'a> {
    fn of(account: &'a Account) -> Self {
        let mut books = Self {
            account,
            calls: vec![Need::default(); account.tasks],
            tokens: vec![Need::default(); account.tasks],
            base: vec![[[0; 2]; 2]; account.agents.len()],
        };
        for entry in &account.entries {
            if let Some(need) = books.calls.get_mut(entry.task) {
                need.learn(entry, calls_needed(entry));
            }
            if let Some(need) = books.tokens.get_mut(entry.task) {
                need.learn(entry, tokens_needed(entry));
            }
            let (Some([held_out, cold]), Some(solved)) = (books.base.get_mut(entry.agent), entry.solved) else {
                continue;
            };
            match entry.how {
                How::HeldOut => count(held_out, solved),
                How::Cold => count(cold, solved),
                How::Replayed | How::Stopped | How::Guided => {}
            }
        }
        books
    }

    fn saved_calls(&self, entry: &Entry) -> Option<f64> {
        self.calls.get(entry.task).and_then(|need| need.saved(entry, calls_needed(entry)))
    }

    fn saved_tokens(&self, entry: &Entry) -> Option<f64> {
        self.tokens.get(entry.task).and_then(|need| need.saved(entry, tokens_needed(entry)))
    }

    /// How often an agent solves its tasks without memory: what chance held out says it better than what
    /// memory had nothing for.
    fn base_rate(&self, agent: usize) -> Option<Interval> {
        let [held_out, cold] = self.base.get(agent)?;
        let [solved, unsolved] = if held_out.iter().sum::<u64>() > 0 { held_out } else { cold };
        rate::rate(*solved, *unsolved)
    }

    fn ledger(&self) -> Ledger {
        let entries = &self.account.entries;
        let mut ledger = Ledger {
            period: entries.first().zip(entries.last()).map(|(first, last)| [first.finished, last.finished]),
            runs: Runs::default(),
            planner_calls: Saving::default(),
            tokens: Saving::default(),
            synthesis_calls: 0,
            playbook_tokens: 0,
            failed_replays: FailedReplays::default(),
            agents: self.agents(),
            records: self.records(),
            arms: self.arms(),
            days: self.days(),
            skipped: Vec::new(),
        };
        for entry in entries {
            ledger.runs.add(entry.how);
            ledger.synthesis_calls += u64::from(entry.synthesis_calls);
            ledger.playbook_tokens = ledger.playbook_tokens.saturating_add(entry.playbook_tokens);
            if has_part(entry) {
                ledger.planner_calls.add(self.saved_calls(entry), 1.0);
                ledger.tokens.add(self.saved_tokens(entry), 1.0);
            }
            if let Some(begun) = &entry.replay {
                ledger.failed_replays.add(entry, begun);
            }
        }
        ledger
    }

    fn agents(&self) -> Vec<AgentAccount> {
        let mut runs = vec![0_u64; self.account.agents.len()];
        for entry in &self.account.entries {
            if let Some(runs) = runs.get_mut(entry.agent) {
                *runs += 1;
            }
        }
        let named = self.account.agents.iter().zip(runs).enumerate();
        let account = |(number, (agent, runs)): (usize, (&AgentName, u64))| AgentAccount {
            agent: agent.clone(),
            runs,
            base_rate: self.base_rate(number),
        };
        let mut agents: Vec<AgentAccount> = named.map(account).collect();
        agents.sort_by(|a, b| a.agent.cmp(&b.agent));
        agents
    }

    fn days(&self) -> Vec<Day> {
        let mut days: BTreeMap<Date, Day> = BTreeMap::new();
        for entry in &self.account.entries {
            let date = jiff::tz::TimeZone::UTC.to_datetime(entry.finished).date();
            let day = days.entry(date).or_insert(Day { date, runs: 0, planner_calls: Saving::default() });
            day.runs += 1;
            if has_part(entry) {
                day.planner_calls.add(self.saved_calls(entry), 1.0);
            }
        }
        days.into_values().collect()
    }

    fn records(&self) -> Vec<RecordAccount> {
        let mut pages: HashMap<usize, Page<'_>> = HashMap::new();
        for entry in &self.account.entries {
            for record in &entry.offered {
                pages.entry(*record).or_insert_with(|| Page::of(entry)).offered.push(entry);
            }
            for record in entry.used() {
                pages.entry(record).or_insert_with(|| Page::of(entry)).used.push(entry);
            }
        }
        let mut records: Vec<RecordAccount> =
            pages.iter().filter_map(|(record, page)| self.record(*record, page)).collect();
        records.sort_by(|a, b| (b.uses(), b.offered, &a.id).cmp(&(a.uses(), a.offered, &b.id)));
        records
    }

    fn record(&self, number: usize, page: &Page<'_>) -> Option<RecordAccount> {
        let id = self.account.records.get(number)?.clone();
        let mut account = RecordAccount {
            id,
            agent: self.account.agents.get(page.first.agent)?.clone(),
            task: self.account.words.get(page.first.words)?.clone(),
            offered: len(&page.offered),
            replayed: 0,
            stopped: 0,
            followed: 0,
            help: 0,
            harm: 0,
            help_rate: None,
            base_rate: self.base_rate(page.first.agent),
            planner_calls: Saving::default(),
            tokens: Saving::default(),
            effect: page.effect(),
        };
        for entry in &page.used {
            match entry.how {
                How::Replayed => account.replayed += 1,
                How::Stopped => account.stopped += 1,
                How::Guided | How::Cold | How::HeldOut => account.followed += 1,
            }
            match entry.helped() {
                Some(true) => account.help += 1,
                Some(false) => account.harm += 1,
                None => {}
            }
            let share = 1.0 / rate::as_f64(u64::try_from(entry.used().count()).unwrap_or(1));
            account.planner_calls.add(self.saved_calls(entry), share);
            account.tokens.add(self.saved_tokens(entry), share);
        }
        account.help_rate = rate::rate(account.help, account.harm);
        Some(account)
    }

    fn arms(&self) -> Option<Arms> {
        let compared: Vec<&Entry> =
            self.account.entries.iter().filter(|entry| entry.arm.is_some() && !entry.offered.is_empty()).collect();
        if compared.is_empty() {
            return None;
        }
        let of = |arm: Arm| ArmAccount::of(compared.iter().copied().filter(|entry| entry.arm == Some(arm)));
        let (memory, hold_out) = (of(Arm::Memory), of(Arm::HoldOut));
        let success = rate::difference([memory.solved, memory.unsolved], [hold_out.solved, hold_out.unsolved]);
        Some(Arms { memory, hold_out, success, effect: Effect::of(&observations(&compared)) })
    }
}

/// What a record was part of.
struct Page<'a> {
    first: &'a Entry,
    offered: Vec<&'a Entry>,
    used: Vec<&'a Entry>,
}

impl<'a> Page<'a> {
    fn of(first: &'a Entry) -> Self {
        Self { first, offered: Vec::new(), used: Vec::new() }
    }

    /// Every run that had it on offer counts, whether or not it used it: who follows a record to its end
    /// does well anyhow. But where most runs left it unused, the effect is that of what else they had.
    fn effect(&self) -> Effect {
        let observed = observations(&self.offered);
        let got: Vec<&&Entry> = self.offered.iter().filter(|entry| entry.arm == Some(Arm::Memory)).collect();
        let used = self.used.iter().filter(|entry| entry.arm == Some(Arm::Memory)).count();
        if used == 0 && self.used.is_empty() {
            return Effect::unknown(&observed, "no run used it".to_owned());
        }
        if 2 * used < got.len() {
            let reason = format!("{used} of the {} runs that got it used it, too few to know its own part", got.len());
            return Effect::unknown(&observed, reason);
        }
        Effect::of(&observed)
    }
}

/// The outcomes of the runs that chance put into an arm.
fn observations(entries: &[&Entry]) -> Vec<Observation> {
    let observed = entries.iter().filter_map(|entry| {
        let (arm, score) = entry.arm.zip(entry.score)?;
        Some(Observation { words: entry.words, is_held_out: arm == Arm::HoldOut, score })
    });
    observed.collect()
}

/// Whether memory had a part in a run.
fn has_part(entry: &Entry) -> bool {
    matches!(entry.how, How::Replayed | How::Stopped | How::Guided)
}

fn count(rates: &mut [u64; 2], solved: bool) {
    let [yes, no] = rates;
    *if solved { yes } else { no } += 1;
}

fn len<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}

impl Runs {
    fn add(&mut self, how: How) {
        self.total += 1;
        *match how {
            How::Replayed => &mut self.replayed,
            How::Stopped => &mut self.stopped,
            How::Guided => &mut self.guided,
            How::Cold => &mut self.cold,
            How::HeldOut => &mut self.held_out,
        } += 1;
    }
}

impl FailedReplays {
    fn add(&mut self, entry: &Entry, begun: &Begun) {
        let is_stopped = entry.how == How::Stopped;
        let is_unsolved = entry.how == How::Replayed && entry.solved == Some(false);
        self.stopped += u64::from(is_stopped);
        self.at_fault += u64::from(is_stopped && begun.at_fault);
        self.unsolved += u64::from(is_unsolved);
        if is_stopped || is_unsolved {
            self.tool_calls += begun.calls;
            self.milliseconds = self.milliseconds.saturating_add(begun.milliseconds);
        }
    }
}

impl RecordAccount {
    /// How often it was used.
    pub fn uses(&self) -> u64 {
        self.replayed + self.stopped + self.followed
    }
}

impl ArmAccount {
    fn of<'e>(entries: impl Iterator<Item = &'e Entry>) -> Self {
        let mut account = Self::default();
        let (mut calls, mut counted) = (0.0, 0);
        for entry in entries {
            account.runs += 1;
            account.solved += u64::from(entry.solved == Some(true));
            account.unsolved += u64::from(entry.solved == Some(false));
            if let Some(needed) = calls_needed(entry) {
                calls += needed;
                counted += 1;
            }
        }
        account.success = rate::rate(account.solved, account.unsolved);
        account.planner_calls = (counted > 0).then(|| calls / rate::as_f64(counted));
        account
    }
}
