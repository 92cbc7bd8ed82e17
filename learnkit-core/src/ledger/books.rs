//! The pages of the ledger: every run is looked at once for what tasks need, and once for what it adds.

use std::collections::{BTreeMap, HashMap};

use jiff::civil::Date;

use super::effect::{Effect, Observation};
use super::entry::{Begun, Entry, How};
use super::rate::{self, Interval};
use super::saving::{Need, Saving, calls_needed, tokens_needed};
use super::{Account, AgentAccount, ArmAccount, Arms, Day, FailedReplays, Ledger, RecordAccount, Runs};
use crate::record::AgentName;
use crate::run::Arm;

/// What is known of all runs before each is looked at.
pub(super) struct Books<'a> {
    account: &'a Account,
    calls: Vec<Need>,
    tokens: Vec<Need>,
    /// Solved and unsolved runs of each agent without memory, first those that were held out.
    base: Vec<[[u64; 2]; 2]>,
}

impl<'a> Books<'a> {
    pub(super) fn of(account: &'a Account) -> Self {
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

    pub(super) fn ledger(&self) -> Ledger {
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
