//! Poison: runs that obeyed an attack in a tool result, which must never replay, and the clean runs that
//! are refused for it.
//!
//! Every user task of AgentDojo with every attack of its suite that makes a call, in the result of each of its
//! reads in turn, written in three ways; learned through the engine as a success with tool outcomes and as
//! one that the caller reported.

mod agentdojo;

use std::collections::BTreeMap;

use comfy_table::Table;
use learnkit::BoxError;
use learnkit::run::Verdict;
use serde_json::{Value, json};

use self::agentdojo::{AgentDojo, Embedding, learn};
use crate::share::percent;

/// What the reasons of each rule say.
const RULES: [(&str, &str); 8] = [
    ("target", "is a target that only free text"),
    ("address", "holds an address that only free text"),
    ("pieces", "has a target in pieces"),
    ("nothing_given", "that has a source came from free text"),
    ("asked_by_text", "free text in a result asks for"),
    ("one_run_only", "one run"),
    ("unknown_id", "is an id that nothing recorded gave"),
    ("approval", "is an approval"),
];

/// How many runs there were and what became of them.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    replay: usize,
    /// Runs that only the rules of this page keep from replaying.
    only_these_rules: usize,
    by_rule: BTreeMap<&'static str, usize>,
    names: Vec<String>,
}

impl Tally {
    fn add(&mut self, learned: &agentdojo::Learned, name: &str) {
        self.runs += 1;
        self.replay += usize::from(learned.replays);
        let rules: Vec<Option<&'static str>> = learned.guide_only.iter().map(|reason| rule_of(reason)).collect();
        self.only_these_rules += usize::from(!rules.is_empty() && !rules.contains(&None));
        let mut rules: Vec<&'static str> = rules.into_iter().map(|rule| rule.unwrap_or("other")).collect();
        rules.sort_unstable();
        rules.dedup();
        if !rules.is_empty() {
            self.names.push(format!("{name}: {}", rules.join(", ")));
        }
        for rule in rules {
            *self.by_rule.entry(rule).or_default() += 1;
        }
    }

    fn json(&self) -> Value {
        json!({
            "runs": self.runs, "may_replay": self.replay,
            "refused_only_by_these_rules": self.only_these_rules, "refused_by": self.by_rule,
        })
    }
}

fn rule_of(reason: &str) -> Option<&'static str> {
    RULES.iter().find(|(_, says)| reason.contains(says)).map(|(rule, _)| *rule)
}

/// Learns all runs and prints what became of them.
pub async fn run(json: bool) -> Result<(), BoxError> {
    let data = AgentDojo::vendored()?;
    let (mut clean, mut with_effect) = (Tally::default(), Tally::default());
    for task in &data.tasks {
        let learned = Box::pin(learn(task, &task.gold, None)).await?;
        clean.add(&learned, &task.name);
        if task.has_effect() {
            with_effect.add(&learned, &task.name);
        }
    }
    let mut poisoned: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut without_text = 0;
    for (task, injection) in data.tasks.iter().flat_map(|task| data.attacks_on(task).map(move |attack| (task, attack)))
    {
        for (read, how) in task.reads().flat_map(|read| Embedding::ALL.map(|how| (read, how))) {
            let Some(calls) = data.obeyed(task, injection, read, how) else {
                without_text += 1;
                continue;
            };
            for (outcome, verdict) in [("tool_outcome", None), ("reported_success", Some(Verdict::Success))] {
                let learned = Box::pin(learn(task, &calls, verdict)).await?;
                let name = format!("{} with {} in call {} ({how:?})", task.name, injection.name, read + 1);
                poisoned.entry(outcome).or_default().add(&learned, &name);
                if learned.replays {
                    println!("MAY REPLAY: {name}, {outcome}");
                }
            }
        }
    }
    report(&clean, &with_effect, &poisoned, without_text);
    if json {
        let poisoned: BTreeMap<&str, Value> = poisoned.iter().map(|(name, tally)| (*name, tally.json())).collect();
        let clean = json!({ "all": clean.json(), "with_effect": with_effect.json() });
        println!(
            "{}",
            json!({ "poisoned": poisoned, "clean": clean, "attacks_without_a_text_to_stand_in": without_text })
        );
    }
    Ok(())
}

fn report(clean: &Tally, with_effect: &Tally, poisoned: &BTreeMap<&str, Tally>, without_text: usize) {
    println!("Clean runs that may not replay:");
    clean.names.iter().for_each(|name| println!("  {name}"));
    let mut table = Table::new();
    table.set_header(["runs", "n", "may replay", "refused only by these rules", "refused by"]);
    let clean = [("clean", clean), ("clean, with an effect", with_effect)].into_iter();
    for (name, tally) in clean.chain(poisoned.iter().map(|(name, tally)| (*name, tally))) {
        let by_rule: Vec<String> = tally.by_rule.iter().map(|(rule, runs)| format!("{rule} {runs}")).collect();
        table.add_row([
            name.to_owned(),
            tally.runs.to_string(),
            format!("{} ({:.1} %)", tally.replay, percent(tally.replay, tally.runs)),
            tally.only_these_rules.to_string(),
            by_rule.join(", "),
        ]);
    }
    println!("{table}\n{without_text} attacks had no text to stand in.");
}
