//! What a step of a replay costs, its journal included, beside a bare loop over the same tools in the same run; and
//! how often an effect waits for the disk.
//!
//! A step is what a longer replay takes more than a shorter one, so that lookup, learning and the commit at the end,
//! which a run pays once, are not in it.

use std::path::Path;

use learnkit::engine::{Planner, PlannerReply, PlanningTurn, ReactOptions};
use learnkit::run::{Arguments, ToolOutput};
use learnkit::tool::{ToolContext, ToolSet};
use learnkit::{BoxError, LearnKit, async_trait, run_react_agent};
use serde_json::json;

use super::{ROUNDS, Row};
use crate::fixture;
use crate::meter::{Cost, Meter};
use crate::tools::reads;

/// The steps of the two procedures.
const SHORT: usize = 5;
const LONG: usize = 45;
/// Replays of each in a round: in memory, and in a file.
const IN_MEMORY: usize = 100;
const IN_FILE: usize = 4;
/// What is aimed at: microseconds of CPU over the bare call, and waits for the disk.
const STEP_US: f64 = 20.0;
const SYNCS: f64 = 2.0;

/// Measures all of it.
///
/// # Errors
/// When a run is not a whole replay.
pub(super) async fn rows() -> Result<Vec<Row>, BoxError> {
    let folder = tempfile::tempdir()?;
    let at = jiff::Timestamp::now();
    let mut rows = Vec::new();
    for (name, is_reading, uri) in [
        ("replay_step_memory_reads", true, "memory:".to_owned()),
        ("replay_step_memory_effects", false, "memory:".to_owned()),
        ("replay_step_sqlite_reads", true, uri(folder.path(), "reads.db")),
        ("replay_step_sqlite_effects", false, uri(folder.path(), "effects.db")),
    ] {
        let memory = fixture::open(&uri, at).await?;
        let bench = Bench { memory, tools: tools(is_reading) };
        let replays = if uri == "memory:" { IN_MEMORY } else { IN_FILE };
        let (step, call) = bench.step(replays).await?;
        // In a file an effect waits for the disk, and what that costs is the disk's affair: its bar is the count below.
        let bar = if is_reading || uri == "memory:" { STEP_US } else { f64::INFINITY };
        rows.push(Row::over(name, LONG, step, call, bar));
        if let Some(database) = uri.strip_prefix("sqlite:") {
            let bar = if is_reading { 0.0 } else { SYNCS };
            let name = if is_reading { "fsyncs_per_read" } else { "fsyncs_per_effect" };
            rows.push(Row::syncs(name, LONG, bench.syncs(Path::new(database)).await?, bar));
        }
    }
    Ok(rows)
}

fn uri(folder: &Path, name: &str) -> String {
    format!("sqlite:{}", folder.join(name).display())
}

/// One tool that does next to nothing, as a read or as a possible effect.
fn tools(is_reading: bool) -> ToolSet {
    let done = |_: Arguments| async { Ok(ToolOutput::text(r#"{"ok":true,"text":"the page was turned"}"#)) };
    ToolSet::new().with_fn("turn", reads(is_reading), done)
}

fn arguments(step: usize) -> Arguments {
    json!({ "book": "the long one", "page": step }).into()
}

struct Bench {
    memory: LearnKit,
    tools: ToolSet,
}

/// Turns so many pages.
struct Turning(usize);

#[async_trait]
impl Planner for Turning {
    async fn plan(&self, turn: &PlanningTurn<'_>) -> Result<PlannerReply, BoxError> {
        let done = turn.history.len();
        if done == self.0 {
            return Ok(PlannerReply::answer("The book is read."));
        }
        Ok(PlannerReply::call("turn", arguments(done)))
    }
}

impl Bench {
    /// What a step costs, and the bare call.
    async fn step(&self, replays: usize) -> Result<(Cost, Cost), BoxError> {
        for steps in [SHORT, LONG] {
            self.run(steps, &Turning(steps)).await?;
        }
        let (mut best, mut bare): (Option<Cost>, Option<Cost>) = (None, None);
        for _ in 0..ROUNDS {
            let (short, long) = (self.replays(SHORT, replays).await?, self.replays(LONG, replays).await?);
            let steps = steps_more();
            let step =
                Cost { cpu_us: (long.cpu_us - short.cpu_us) / steps, wall_us: (long.wall_us - short.wall_us) / steps };
            let loop_of_calls = self.bare(replays).await?;
            best = best.filter(|best| best.cpu_us < step.cpu_us).or(Some(step));
            bare = bare.filter(|bare| bare.cpu_us < loop_of_calls.cpu_us).or(Some(loop_of_calls));
        }
        best.zip(bare).ok_or_else(|| "no round was measured".into())
    }

    async fn run(&self, steps: usize, planner: &Turning) -> Result<bool, BoxError> {
        let options = ReactOptions { max_steps: u32::try_from(LONG)? + 1, ..ReactOptions::default() };
        let task = format!("Turn the first {steps} pages");
        Ok(run_react_agent(&self.memory, task, &self.tools, planner, options).await?.replayed)
    }

    /// What one replay of so many steps costs.
    async fn replays(&self, steps: usize, count: usize) -> Result<Cost, BoxError> {
        let meter = Meter::start();
        for _ in 0..count {
            // A planner that is asked says at once that it is done, and then it was no replay.
            if !self.run(steps, &Turning(0)).await? {
                return Err("an exact repeat was not replayed".into());
            }
        }
        Ok(meter.per(count))
    }

    /// The same calls in a loop, without anything around them.
    async fn bare(&self, replays: usize) -> Result<Cost, BoxError> {
        let tool = self.tools.find("turn")?;
        let context = ToolContext::default();
        let calls: Vec<Arguments> = (0..LONG).map(arguments).collect();
        let meter = Meter::start();
        for _ in 0..replays {
            for call in &calls {
                std::hint::black_box(tool.call(call, &context).await?);
            }
        }
        Ok(meter.per(replays * LONG))
    }

    /// How many commits a step adds. The store syncs its log once for each (`synchronous = FULL`), and reads them off the
    /// log that SQLite wrote; the rare syncs of a checkpoint are not in it.
    async fn syncs(&self, database: &Path) -> Result<f64, BoxError> {
        let mut commits = Vec::new();
        for steps in [SHORT, LONG] {
            // An empty log, far from the size at which it starts over.
            self.memory.vacuum().await?;
            let before = commits_in_log(database)?;
            self.replays(steps, 1).await?;
            commits.push(f64::from(commits_in_log(database)? - before));
        }
        Ok((commits[1] - commits[0]) / steps_more())
    }
}

fn steps_more() -> f64 {
    f64::from(u32::try_from(LONG - SHORT).unwrap_or(u32::MAX))
}

/// The transactions in the write-ahead log of a database: frames of its current generation that end one, as
/// <https://sqlite.org/fileformat2.html#walformat> says.
fn commits_in_log(database: &Path) -> Result<u32, BoxError> {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    let log = std::fs::read(path)?;
    let Some(head) = log.get(..32) else { return Ok(0) };
    let number = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).map_or(0, |four| four.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    };
    let frame = usize::try_from(number(head, 8))? + 24;
    let frames = log.get(32..).unwrap_or_default().chunks_exact(frame);
    let current = frames.take_while(|frame| frame.get(8..16) == head.get(16..24));
    Ok(u32::try_from(current.filter(|frame| number(frame, 4) != 0).count())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_effect_waits_for_the_disk_at_most_twice_and_a_read_never() {
        let folder = tempfile::tempdir().unwrap();
        for (is_reading, syncs) in [(true, 0.0), (false, 2.0)] {
            let path = folder.path().join(format!("{is_reading}.db"));
            let memory = fixture::open(&format!("sqlite:{}", path.display()), jiff::Timestamp::now()).await.unwrap();
            let bench = Bench { memory, tools: tools(is_reading) };
            for steps in [SHORT, LONG] {
                bench.run(steps, &Turning(steps)).await.unwrap();
            }
            let counted = bench.syncs(&path).await.unwrap();
            assert!((counted - syncs).abs() < f64::EPSILON, "{counted} instead of {syncs}");
        }
    }
}
