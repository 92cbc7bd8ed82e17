//! What using a record, or memory at all, did to the outcome: runs that got it beside runs of the same kind
//! that chance held out.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::bet::mean_range;
use super::rate::{Interval, as_f64};

/// A difference of so many points of the gate, of 100, matters; less either way is neutral.
pub const EFFECT_POINTS: f64 = 10.0;
/// A class is wrong with at most this probability, over all looks at it.
const ERROR: f64 = 0.05;

/// What is known of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Runs that got it do better.
    Helpful,
    /// Runs that got it do worse.
    Harmful,
    /// It makes no difference of [`EFFECT_POINTS`].
    Neutral,
    /// The runs cannot tell yet.
    NotYet,
}

impl Class {
    /// The class in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Helpful => "helpful",
            Self::Harmful => "harmful",
            Self::Neutral => "neutral",
            Self::NotYet => "not yet",
        }
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The effect of a record, or of memory at all, on the outcome of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// What is known of it.
    pub class: Class,
    /// Why.
    pub reason: String,
    /// Runs that had it on offer and got it.
    pub with: u64,
    /// Runs that had it on offer and were held out.
    pub without: u64,
    /// The difference in points of the gate, 100 for a score of 5; its range holds however often somebody
    /// looks. Absent where nothing can be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Interval>,
}

/// The outcome of one run of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observation {
    /// The task in words: equal tasks are compared with each other.
    pub(super) words: usize,
    /// Whether it was held out.
    pub(super) is_held_out: bool,
    /// The score of the gate, from 0 to 1.
    pub(super) score: f64,
}

impl Effect {
    /// Nothing can be said, and why.
    pub(super) fn unknown(observed: &[Observation], reason: String) -> Self {
        let [with, without] = counts(observed);
        Self { class: Class::NotYet, reason, with, without, points: None }
    }

    /// The effect that these runs show, oldest first.
    pub(super) fn of(observed: &[Observation]) -> Self {
        let [with, without] = counts(observed);
        if without == 0 {
            let reason = "no run was held out from it; `holdout_rate` has a share of runs skip memory";
            return Self::unknown(observed, reason.to_owned());
        }
        if with == 0 {
            return Self::unknown(observed, "no run got it yet".to_owned());
        }
        let same_task = pairs(observed, |observation| observation.words);
        let any_task = pairs(observed, |_| 0);
        // Both ranges hold at half of the error, so what is in both holds at the whole of it.
        let ranges = [&same_task, &any_task].map(|pairs| mean_range(pairs, ERROR / 2.0));
        let [[a, b], [c, d]] = ranges;
        let (low, high) = (100.0 * a.max(c), 100.0 * b.min(d));
        let is_paired = b - a <= d - c;
        let estimate = 100.0 * mean(if is_paired { &same_task } else { &any_task });
        let class = classified(low, high);
        Self { class, reason: words(class, low, high), with, without, points: Some(Interval { estimate, low, high }) }
    }
}

fn classified(low: f64, high: f64) -> Class {
    if low > high {
        return Class::NotYet;
    }
    if low > 0.0 {
        return Class::Helpful;
    }
    if high < 0.0 {
        return Class::Harmful;
    }
    if -EFFECT_POINTS < low && high < EFFECT_POINTS { Class::Neutral } else { Class::NotYet }
}

fn words(class: Class, low: f64, high: f64) -> String {
    match class {
        Class::Helpful => format!("runs that got it do {low:.1} to {high:.1} points better"),
        Class::Harmful => format!("runs that got it do {:.1} to {:.1} points worse", -high, -low),
        Class::Neutral => format!("the difference is from {low:.1} to {high:.1} points"),
        Class::NotYet if low > high => "runs of equal tasks and all runs disagree; more runs will tell".to_owned(),
        Class::NotYet => format!("the difference may be from {low:.1} to {high:.1} points; more runs will tell"),
    }
}

fn counts(observed: &[Observation]) -> [u64; 2] {
    let without = observed.iter().filter(|observation| observation.is_held_out).count();
    [observed.len() - without, without].map(|count| u64::try_from(count).unwrap_or(u64::MAX))
}

fn mean(values: &[f64]) -> f64 {
    let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
    if count == 0 { 0.0 } else { values.iter().sum::<f64>() / as_f64(count) }
}

/// Runs that wait for one of the other arm.
#[derive(Debug, Default)]
struct Waiting {
    with: VecDeque<f64>,
    without: VecDeque<f64>,
}

/// The differences between runs that got it and runs that were held out, pair by pair as they came, within
/// groups. Who is compared with whom never depends on an outcome.
fn pairs(observed: &[Observation], group: impl Fn(&Observation) -> usize) -> Vec<f64> {
    let mut waiting: BTreeMap<usize, Waiting> = BTreeMap::new();
    let mut differences = Vec::new();
    for observation in observed {
        let group = waiting.entry(group(observation)).or_default();
        if observation.is_held_out { &mut group.without } else { &mut group.with }.push_back(observation.score);
        if !group.with.is_empty() && !group.without.is_empty() {
            differences.push(taken(&mut group.with) - taken(&mut group.without));
        }
    }
    differences
}

/// The mean of the oldest third: where one arm has far more runs, several stand beside one of the other.
fn taken(waiting: &mut VecDeque<f64>) -> f64 {
    let count = (waiting.len() / 3).max(1);
    mean(&waiting.drain(..count).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that take turns; each gives its score.
    fn turns(count: usize, score: impl Fn(usize, bool) -> f64) -> Vec<Observation> {
        let run = |n: usize| Observation { words: n / 2 % 5, is_held_out: n % 2 == 1, score: score(n, n % 2 == 1) };
        (0..count).map(run).collect()
    }

    #[test]
    fn runs_that_do_better_worse_or_the_same_are_told_apart_once_there_are_enough() {
        let spread = |n: usize| [0.9, 1.0, 0.8, 0.9][n / 2 % 4];
        for (effect, class) in [(0.1, Class::Helpful), (-0.1, Class::Harmful), (0.0, Class::Neutral)] {
            let score = |n: usize, held: bool| spread(n) - 0.2 + if held { 0.0 } else { effect };
            let few = Effect::of(&turns(30, score));
            assert_eq!(few.class, Class::NotYet, "{few:?}");
            let many = Effect::of(&turns(200, score));
            assert_eq!((many.class, many.with, many.without), (class, 100, 100), "{many:?}");
            let points = many.points.unwrap();
            assert!((points.estimate - 100.0 * effect).abs() < 1.0, "{points:?}");
        }
    }

    #[test]
    fn equal_tasks_are_compared_with_each_other() {
        // Tasks differ by up to 80 points, memory adds 10 to each.
        let score = |n: usize, held: bool| [0.0, 0.2, 0.4, 0.6, 0.8][n / 2 % 5] + if held { 0.0 } else { 0.1 };
        let effect = Effect::of(&turns(200, score));
        assert_eq!(effect.class, Class::Helpful, "{effect:?}");
    }

    #[test]
    fn many_runs_stand_beside_the_few_that_were_held_out() {
        let all: Vec<Observation> = (0..400)
            .map(|n| Observation { words: 0, is_held_out: n % 8 == 7, score: if n % 8 == 7 { 0.7 } else { 0.9 } })
            .collect();
        let effect = Effect::of(&all);
        assert_eq!((effect.class, effect.with, effect.without), (Class::Helpful, 350, 50), "{effect:?}");
    }

    #[test]
    fn without_a_run_that_was_held_out_nothing_is_claimed() {
        let runs = vec![Observation { words: 0, is_held_out: false, score: 1.0 }; 500];
        let effect = Effect::of(&runs);
        assert_eq!((effect.class, effect.points), (Class::NotYet, None));
        assert!(effect.reason.contains("holdout_rate"), "{}", effect.reason);
    }
}
