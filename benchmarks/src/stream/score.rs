//! The arithmetic of a stream: what one order counts, and what many orders say together.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::rows::Recorded;
use super::world::Truth;

/// What one order counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) runs: u32,
    pub(crate) successes: u32,
    /// Planning calls of the same runs without memory.
    pub(crate) recorded_calls: u32,
    pub(crate) planning_calls: u32,
    pub(crate) synthesis_calls: u32,
    /// Replays to the end.
    pub(crate) replays: u32,
    /// Replays to the end that left a wrong world.
    pub(crate) wrong_replays: u32,
    /// Those of them that no recorded run can judge.
    pub(crate) unknown_replays: u32,
    /// Replays to the end that changed nothing.
    pub(crate) replays_without_effect: u32,
    pub(crate) hand_overs: u32,
    /// Hand-overs after the replay had changed the world.
    pub(crate) hand_overs_after_effect: u32,
    /// Those of them after effects that no right run begins with.
    pub(crate) wrong_hand_overs: u32,
    /// Calls of replays that were handed over.
    pub(crate) calls_in_vain: u32,
    /// Planned calls that nobody recorded there.
    pub(crate) unrecorded_calls: u32,
    /// How often a replay of a task did the wrong thing.
    pub(crate) wrong_of_task: BTreeMap<String, u32>,
    /// Why a task was planned although a true success with a call was learned before.
    pub(crate) refusals: BTreeMap<String, Refusal>,
}

/// A reason not to replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) count: u32,
    /// The first run it was given for.
    pub(crate) example: String,
}

impl Tally {
    /// Counts a run that was planned as recorded; `spoilt` when a replay before it did harm.
    pub(crate) fn planned(&mut self, run: &Recorded, spoilt: bool) {
        self.runs += 1;
        self.recorded_calls += run.planning_calls;
        self.planning_calls += run.planning_calls;
        self.successes += u32::from(run.verdict && !spoilt);
        if spoilt {
            self.wrong_hand_overs += 1;
            self.blame(run);
        }
    }

    /// Counts a replay to the end in place of a recorded run.
    pub(crate) fn replayed(&mut self, run: &Recorded, truth: Truth, has_effect: bool) {
        self.runs += 1;
        self.recorded_calls += run.planning_calls;
        self.replays += 1;
        self.successes += u32::from(truth == Truth::Right);
        self.wrong_replays += u32::from(truth != Truth::Right);
        self.unknown_replays += u32::from(truth == Truth::Unknown);
        self.replays_without_effect += u32::from(!has_effect);
        if truth != Truth::Right {
            self.blame(run);
        }
    }

    fn blame(&mut self, run: &Recorded) {
        *self.wrong_of_task.entry(run.task.clone()).or_default() += 1;
    }

    /// Counts a reason not to replay.
    pub(crate) fn refused(&mut self, reason: String, example: &str) {
        let fresh = Refusal { count: 0, example: example.to_owned() };
        self.refusals.entry(reason).or_insert(fresh).count += 1;
    }

    /// Replays that did the wrong thing, whether to the end or not.
    pub(crate) fn wrong(&self) -> u32 {
        self.wrong_replays + self.wrong_hand_overs
    }

    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.successes += other.successes;
        self.recorded_calls += other.recorded_calls;
        self.planning_calls += other.planning_calls;
        self.synthesis_calls += other.synthesis_calls;
        self.replays += other.replays;
        self.wrong_replays += other.wrong_replays;
        self.unknown_replays += other.unknown_replays;
        self.replays_without_effect += other.replays_without_effect;
        self.hand_overs += other.hand_overs;
        self.hand_overs_after_effect += other.hand_overs_after_effect;
        self.wrong_hand_overs += other.wrong_hand_overs;
        self.calls_in_vain += other.calls_in_vain;
        self.unrecorded_calls += other.unrecorded_calls;
        for (task, count) in &other.wrong_of_task {
            *self.wrong_of_task.entry(task.clone()).or_default() += count;
        }
        for (reason, refusal) in &other.refusals {
            self.refusals.entry(reason.clone()).or_insert(Refusal { count: 0, ..refusal.clone() }).count +=
                refusal.count;
        }
    }

    fn share(part: u32, whole: u32) -> f64 {
        f64::from(part) / f64::from(whole.max(1))
    }

    pub(crate) fn success(&self) -> f64 {
        Self::share(self.successes, self.runs)
    }

    pub(crate) fn calls_saved_pct(&self) -> f64 {
        100.0 * (1.0 - Self::share(self.planning_calls, self.recorded_calls))
    }

    pub(crate) fn wrong_per_100(&self) -> f64 {
        100.0 * Self::share(self.wrong(), self.runs)
    }
}

/// A figure over many orders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    pub(crate) mean: f64,
    /// Of the orders, 95 % lie between these two.
    pub(crate) range95: [f64; 2],
}

impl Figure {
    /// The figure of these orders.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let count = f64::from(u32::try_from(values.len()).unwrap_or(u32::MAX));
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        Self { mean, range95: [0.025, 0.975].map(|share| quantile(&values, share)) }
    }
}

/// A quantile of sorted values, linear between two of them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place in a short list"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or_default();
    let (below, above) = (at(place.floor()), at(place.ceil()));
    below + (above - below) * place.fract()
}

/// What many orders say together.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    pub(crate) success: Figure,
    pub(crate) calls_saved_pct: Figure,
    pub(crate) wrong_per_100: Figure,
    /// Sums over the orders.
    pub(crate) sum: Tally,
}

impl Summary {
    /// Of one tally for each order.
    pub(crate) fn of(tallies: &[Tally]) -> Self {
        let mut sum = Tally::default();
        for tally in tallies {
            sum.add(tally);
        }
        Self {
            success: Figure::of(tallies.iter().map(Tally::success)),
            calls_saved_pct: Figure::of(tallies.iter().map(Tally::calls_saved_pct)),
            wrong_per_100: Figure::of(tallies.iter().map(Tally::wrong_per_100)),
            sum,
        }
    }

    /// The object for programs; counts are sums over the orders.
    pub(crate) fn as_json(&self) -> Value {
        let sum = &self.sum;
        json!({
            "success": self.success.mean, "success_range95": self.success.range95,
            "calls_saved_pct": self.calls_saved_pct.mean, "calls_saved_pct_range95": self.calls_saved_pct.range95,
            "wrong_per_100": self.wrong_per_100.mean, "wrong_per_100_range95": self.wrong_per_100.range95,
            "runs": sum.runs, "replays": sum.replays, "replays_wrong": sum.wrong_replays,
            "replays_unknown": sum.unknown_replays, "replays_without_effect": sum.replays_without_effect,
            "hand_overs": sum.hand_overs, "hand_overs_after_effect": sum.hand_overs_after_effect,
            "hand_overs_wrong": sum.wrong_hand_overs, "calls_in_vain": sum.calls_in_vain,
            "unrecorded_calls": sum.unrecorded_calls, "planning_calls": sum.planning_calls,
            "recorded_planning_calls": sum.recorded_calls, "synthesis_calls": sum.synthesis_calls,
            "wrong_of_task": sum.wrong_of_task,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_holds_95_of_100_orders() {
        let figure = Figure::of((0..=100).map(f64::from));
        assert_eq!(format!("{figure:?}"), "Figure { mean: 50.0, range95: [2.5, 97.5] }");
        assert_eq!(format!("{:?}", Figure::of([7.0].into_iter()).range95), "[7.0, 7.0]");
    }
}
