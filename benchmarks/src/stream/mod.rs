//! Repeat stream: recorded runs with a true verdict come in random orders, and memory is asked at each.
//!
//! Success, planning calls and wrong replays are counted together, for LearnKit and for gates without it on
//! the same orders. *Wrong* is scored on the calls that were really planned, never on the verdict that was
//! reported. A recorded run stands for the planner wherever memory does not replay.

mod curve;
mod gates;
mod order;
pub(crate) mod play;
mod plot;
mod report;
pub(crate) mod rows;
mod score;
#[cfg(test)]
mod tests;
mod world;

use std::path::PathBuf;

use learnkit::BoxError;

use self::curve::{Comparison, Curve};
use self::gates::{GATES, Gate, NONE, ORACLE};
use self::order::{Order, orders};
use self::play::{Reports, SETTINGS, Setting};
pub(crate) use self::rows::FORMAT;
use self::score::{Summary, Tally};
use self::world::World;

/// Orders of a measurement, unless told otherwise.
const ORDERS: usize = 40;
/// The seed, unless told otherwise.
const SEED: usize = 20_240_515;
/// Shares of runs that skip memory, for the curves of gates.
const GATE_HOLDOUTS: [f64; 10] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// The same for LearnKit.
const HOLDOUTS: [f64; 4] = [0.0, 0.25, 0.5, 0.75];

/// What to play.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) runs: PathBuf,
    pub(crate) orders: usize,
    pub(crate) seed: usize,
    /// Print one object as the last line.
    pub(crate) json: bool,
    /// Where to write the curves.
    pub(crate) plot: Option<PathBuf>,
}

impl Options {
    /// Reads the words after the command.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, BoxError> {
        let mut options = Self { runs: PathBuf::new(), orders: ORDERS, seed: SEED, json: false, plot: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value"));
            match *word {
                "--runs" => options.runs = value()?.into(),
                "--orders" => options.orders = value()?.parse()?,
                "--seed" => options.seed = value()?.parse()?,
                "--plot" => options.plot = Some(value()?.into()),
                "--json" => options.json = true,
                other => return Err(format!("`repeat-stream` has no option `{other}`; see --help").into()),
            }
        }
        if options.runs.as_os_str().is_empty() {
            return Err("`repeat-stream` needs --runs FILE; see --help".into());
        }
        if options.orders == 0 { Err("--orders must be at least 1".into()) } else { Ok(options) }
    }
}

/// What was measured.
struct Measured {
    seed: usize,
    orders: usize,
    /// Without memory, with the oracle, then LearnKit.
    settings: Vec<(&'static str, Summary)>,
    gates: Vec<(&'static str, Summary)>,
    /// Of the settings that know tool outcomes only, or those and reports of failures.
    curves: Vec<Curve>,
    gate_curves: Vec<Curve>,
    comparisons: Vec<Comparison>,
}

/// Plays and prints.
pub(crate) fn run(options: &Options) -> Result<(), BoxError> {
    let runs = rows::read_file(&options.runs)?;
    let world = World::of(&runs);
    eprintln!("seed {}: {} orders of {} runs", options.seed, options.orders, runs.len());
    let measured = measure(&world, options)?;
    report::print(&world, &measured, options.json);
    if let Some(path) = &options.plot {
        std::fs::write(path, plot::svg(&measured.curves, &measured.gate_curves))?;
        eprintln!("curves written to {}", path.display());
    }
    Ok(())
}

fn measure(world: &World<'_>, options: &Options) -> Result<Measured, BoxError> {
    let orders = orders(options.orders, world.runs.len(), options.seed);
    let plain = |gate: &Gate| (gate.name, play_gate(world, &orders, gate, 0.0));
    let mut settings = vec![plain(&NONE), plain(&ORACLE)];
    let mut curves = Vec::new();
    for setting in &SETTINGS {
        eprintln!("playing {}", setting.name);
        let summary = play(world, &orders, setting, 0.0)?;
        if setting.reports != Reports::Verdicts {
            curves.push(curve(world, &orders, setting, &summary)?);
        }
        settings.push((setting.name, summary));
    }
    let gate_curves: Vec<Curve> = GATES.iter().map(|gate| gate_curve(world, &orders, gate)).collect();
    Ok(Measured {
        seed: options.seed,
        orders: options.orders,
        settings,
        gates: GATES.iter().map(plain).collect(),
        comparisons: compare(&curves, &gate_curves),
        curves,
        gate_curves,
    })
}

/// Plays every order, spread over the processors.
fn play(world: &World<'_>, orders: &[Order], setting: &Setting, holdout: f64) -> Result<Summary, BoxError> {
    let lanes = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let tallies = std::thread::scope(|scope| {
        let chunks = orders.chunks(orders.len().div_ceil(lanes).max(1));
        let lanes: Vec<_> = chunks.map(|lane| scope.spawn(|| play_lane(world, lane, setting, holdout))).collect();
        lanes
            .into_iter()
            .map(|lane| lane.join().map_err(|_| "a lane of orders panicked")?)
            .collect::<Result<Vec<_>, BoxError>>()
    })?;
    Ok(Summary::of(&tallies.concat()))
}

fn play_lane(world: &World<'_>, orders: &[Order], setting: &Setting, holdout: f64) -> Result<Vec<Tally>, BoxError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    orders.iter().map(|order| runtime.block_on(setting.play(world, order, holdout))).collect()
}

fn play_gate(world: &World<'_>, orders: &[Order], gate: &Gate, holdout: f64) -> Summary {
    let tallies: Vec<Tally> = orders.iter().map(|order| gate.play(world, order, holdout)).collect();
    Summary::of(&tallies)
}

/// The curve of a setting; what is known without hold-out is not played again.
fn curve(world: &World<'_>, orders: &[Order], setting: &Setting, known: &Summary) -> Result<Curve, BoxError> {
    let mut summaries = vec![(0.0, known.clone())];
    for holdout in HOLDOUTS.into_iter().skip(1) {
        summaries.push((holdout, play(world, orders, setting, holdout)?));
    }
    Ok(Curve::of(setting.name, summaries.iter().map(|(share, summary)| (*share, summary))))
}

fn gate_curve(world: &World<'_>, orders: &[Order], gate: &Gate) -> Curve {
    let summaries = GATE_HOLDOUTS.map(|holdout| (holdout, play_gate(world, orders, gate, holdout)));
    Curve::of(gate.name, summaries.iter().map(|(share, summary)| (*share, summary)))
}

/// Every setting beside every gate that is told the same.
fn compare(curves: &[Curve], gates: &[Curve]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (setting, curve) in SETTINGS.iter().filter_map(|setting| Some((setting, named(curves, setting.name)?))) {
        let same = GATES.iter().filter(|gate| setting.reports.failures() == Some(gate.reports));
        comparisons.extend(same.filter_map(|gate| Comparison::of(curve, named(gates, gate.name)?)));
    }
    comparisons
}

fn named<'c>(curves: &'c [Curve], name: &str) -> Option<&'c Curve> {
    curves.iter().find(|curve| curve.name == name)
}
