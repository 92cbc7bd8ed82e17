//! Random orders of the recorded runs. Gates and LearnKit see the same orders and the same draws.

use crate::random::Random;

/// One order.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// Its number, from 0.
    pub(crate) number: usize,
    /// What comes one after the other.
    pub(crate) turns: Vec<Turn>,
}

/// One recorded run at its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// The index of the recorded run.
    pub(crate) run: usize,
    /// Memory is skipped in a stream whose hold-out share is greater.
    pub(crate) holdout: f64,
    /// A failure is reported in a stream whose share of reports is greater.
    pub(crate) report: f64,
}

/// So many orders of so many runs.
pub(crate) fn orders(count: usize, runs: usize, seed: usize) -> Vec<Order> {
    (0..count).map(|number| order(number, runs, seed)).collect()
}

fn order(number: usize, runs: usize, seed: usize) -> Order {
    let mut random = Random::of(&format!("order {number}"), seed);
    let mut indices: Vec<usize> = (0..runs).collect();
    random.shuffle(&mut indices);
    let turns = indices.into_iter().map(|run| Turn { run, holdout: random.share(), report: random.share() });
    Order { number, turns: turns.collect() }
}
