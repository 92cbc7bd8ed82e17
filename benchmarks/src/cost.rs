//! What each operation costs beside a floor on the same data in the same run: SQLite itself, asked
//! directly on this thread.

mod floor;
mod replay;
mod report;

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use learnkit::backend::{ExactQuery, PutMode};
use learnkit::engine::{Decision, SessionOptions, View};
use learnkit::portable::{ExportSelection, Import, ImportOptions};
use learnkit::run::ToolTracker;
use learnkit::{BoxError, LearnKit, SystemClock, Task};
use serde_json::json;

use self::floor::Floor;
pub(crate) use self::report::Row;
use crate::fixture::{self, Records, Still};
use crate::meter::{Cost, Meter};
use crate::{corpus, process};

/// Each figure is the best of so many rounds, because other work on the machine only adds.
const ROUNDS: usize = 5;
/// Point reads in a round.
const READS: usize = 2_000;
/// Searches in a round.
const SEARCHES: usize = 100;
/// Records that a search for a playbook of eight asks for.
const CANDIDATES: usize = 16;
/// Records of an import.
const IMPORTED: usize = 10_000;
/// Stores beyond are only read, because writing to each takes minutes.
const WRITTEN: usize = 100_000;

/// What to measure.
#[derive(Debug)]
pub struct Options {
    /// Print one object as the last line.
    pub json: bool,
    /// How many records the stores hold.
    pub sizes: Vec<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self { json: false, sizes: vec![1_000, 10_000, 100_000, 1_000_000] }
    }
}

/// Reads `1000,10000`.
pub fn parse_sizes(text: &str) -> Result<Vec<usize>, BoxError> {
    let sizes: Vec<usize> = text.split(',').map(|size| size.trim().parse()).collect::<Result<_, _>>()?;
    if sizes.contains(&0) { Err("a size must be at least 1".into()) } else { Ok(sizes) }
}

/// Measures and prints.
pub async fn run(options: &Options) -> Result<(), BoxError> {
    let mut rows = process::rows().await?;
    rows.push(tracked_call());
    rows.extend(replay::rows().await?);
    rows.push(import().await?);
    for &n in &options.sizes {
        rows.extend(Bench::fill(n).await?.rows().await?);
    }
    report::print(&rows, options.json);
    Ok(())
}

/// A filled store, and SQLite itself on the same file.
struct Bench {
    memory: LearnKit,
    path: PathBuf,
    n: usize,
    /// The time at which its clock stands.
    at: jiff::Timestamp,
    _folder: tempfile::TempDir,
}

/// The best of some rounds, of ours and of the floor.
#[derive(Clone, Copy)]
struct Best {
    ours: Cost,
    floor: Cost,
}

impl Bench {
    async fn fill(n: usize) -> Result<Self, BoxError> {
        eprintln!("filling a store with {n} records");
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("cost.db");
        let at = jiff::Timestamp::now();
        let memory = fixture::open(&format!("sqlite:{}", path.display()), at).await?;
        fixture::fill(&memory, n, at).await?;
        Ok(Self { memory, path, n, at, _folder: folder })
    }

    async fn rows(&self) -> Result<Vec<Row>, BoxError> {
        eprintln!("measuring {} records", self.n);
        let floor = Floor::open(&self.path, &self.memory)?;
        let mut rows = self.lookups(&floor).await?;
        rows.extend(self.searches(&floor).await?);
        if self.n <= WRITTEN {
            rows.push(self.puts(&floor).await?);
            rows.push(self.decay().await?);
        }
        Ok(rows)
    }

    fn row(&self, name: &'static str, best: Best, bar: f64) -> Row {
        Row::beside(name, self.n, best.ours, best.floor, bar)
    }

    /// So many tasks, spread over the store, other ones in each round.
    fn picks(&self, round: usize, count: usize) -> Vec<usize> {
        (0..count).map(|at| (at * 7_919 + round * 104_729) % self.n).collect()
    }

    async fn lookups(&self, floor: &Floor<'_>) -> Result<Vec<Row>, BoxError> {
        let (mut lookup, mut arm): (Option<Best>, Option<Best>) = (None, None);
        for round in 0..ROUNDS {
            let picks = self.picks(round, READS);
            let raw = floor.lookup(&picks)?;
            better(&mut lookup, self.lookup(&picks).await?, raw);
            better(&mut arm, self.arm(&picks).await?, raw);
        }
        let rows = [("exact_lookup", lookup), ("exact_lookup_and_arm", arm)];
        Ok(rows.into_iter().filter_map(|(name, best)| Some(self.row(name, best?, 2.0))).collect())
    }

    /// The store's own lookup.
    async fn lookup(&self, picks: &[usize]) -> Result<Cost, BoxError> {
        let query = |n: usize| ExactQuery {
            tenant: self.memory.tenant().clone(),
            keys: vec![self.memory.key(&corpus::task(n))],
            canonical: corpus::task(n).canonical(),
        };
        let queries: Vec<ExactQuery> = picks.iter().map(|&n| query(n)).collect();
        let meter = Meter::start();
        for query in &queries {
            if self.memory.store().records.lookup(query).await?.len() != 1 {
                return Err("a record was not found".into());
            }
        }
        Ok(meter.per(picks.len()))
    }

    /// From the task to the first planned call: keys, lookup, choice, preflight, guards.
    async fn arm(&self, picks: &[usize]) -> Result<Cost, BoxError> {
        let tasks: Vec<Task> = picks.iter().map(|&n| corpus::task(n)).collect();
        let meter = Meter::start();
        for task in tasks {
            let session = self.memory.session(task, SessionOptions::default())?;
            let Decision::Replay(calls) = session.decide(&View::default()).await else {
                return Err("an exact repeat was not replayed".into());
            };
            std::hint::black_box(calls);
        }
        Ok(meter.per(picks.len()))
    }

    async fn searches(&self, floor: &Floor<'_>) -> Result<Vec<Row>, BoxError> {
        let (mut search, mut prepare, mut plain): (Option<Best>, Option<Best>, Option<Best>) = (None, None, None);
        for round in 0..ROUNDS {
            let picks = self.picks(round, SEARCHES);
            let texts: Vec<String> = picks.iter().map(|&n| corpus::query(n)).collect();
            let ours = self.search(&picks).await?;
            better(&mut search, ours, floor.search(&texts)?);
            better(&mut prepare, self.prepare(&texts).await?, ours);
            better(&mut plain, ours, floor.search_of_every_term(&texts)?);
        }
        let rows = [("search", search, 1.5), ("prepare_run", prepare, 3.0), ("search_beside_every_term", plain, 1.5)];
        Ok(rows.into_iter().filter_map(|(name, best, bar)| Some(self.row(name, best?, bar))).collect())
    }

    /// The search behind a playbook.
    async fn search(&self, picks: &[usize]) -> Result<Cost, BoxError> {
        let queries: Vec<_> = picks.iter().map(|&n| fixture::query(&self.memory, n, self.at)).collect();
        let meter = Meter::start();
        for query in &queries {
            std::hint::black_box(self.memory.store().records.search(query).await?);
        }
        Ok(meter.per(picks.len()))
    }

    /// From a task that is not known to its playbook.
    async fn prepare(&self, texts: &[String]) -> Result<Cost, BoxError> {
        let meter = Meter::start();
        for text in texts {
            let session = self.memory.session(Task::new(text.clone()), SessionOptions::default())?;
            std::hint::black_box(session.decide(&View::default()).await);
        }
        Ok(meter.per(texts.len()))
    }

    /// One record, committed and synced.
    async fn puts(&self, floor: &Floor<'_>) -> Result<Row, BoxError> {
        let records = Records::of(&self.memory, self.at)?;
        let mut best = None;
        for round in 0..ROUNDS {
            let first = self.n + round * 2 * SEARCHES;
            let raw = floor.puts(&records.records(first..first + SEARCHES)?)?;
            let ours = records.records(first + SEARCHES..first + 2 * SEARCHES)?;
            let meter = Meter::start();
            for record in &ours {
                self.memory.store().records.put(record, PutMode::Create).await?;
            }
            better(&mut best, meter.per(SEARCHES), raw);
        }
        Ok(self.row("put", best.ok_or("no round was measured")?, 1.5))
    }

    /// One round of maintenance two weeks later, in which every record changes; per record.
    async fn decay(&self) -> Result<Row, BoxError> {
        let copy = self.path.with_extension("copy");
        let floor = floor::decay(&self.path, &copy)?;
        std::fs::remove_file(&copy)?;
        let later = Still(self.at + jiff::SignedDuration::from_hours(15 * 24));
        let later = LearnKit::builder().store(self.memory.store().clone()).clock(Arc::new(later));
        let later = later.settings(self.memory.settings().clone()).build().await?;
        let meter = Meter::start();
        let report = later.maintain_memory(1, 0.02, 24.0).await?;
        let changed = usize::try_from(report.decayed)?;
        if changed < self.n {
            return Err("a record did not decay".into());
        }
        Ok(self.row("decay", Best { ours: meter.per(changed), floor }, 2.0))
    }
}

/// Keeps the better of two measurements, each figure for itself.
fn better(best: &mut Option<Best>, ours: Cost, floor: Cost) {
    let before = *best;
    let least = |before: Option<Cost>, now: Cost| before.filter(|before| before.cpu_us < now.cpu_us).unwrap_or(now);
    *best = Some(Best {
        ours: least(before.map(|best| best.ours), ours),
        floor: least(before.map(|best| best.floor), floor),
    });
}

/// Recording a call around a tool that does nothing.
fn tracked_call() -> Row {
    let mut best: Option<Cost> = None;
    for _ in 0..ROUNDS {
        let tracker = ToolTracker::new(Arc::new(SystemClock));
        let calls: Vec<_> = (0..READS).map(|n| (json!({"table": "users", "account": n}), json!({"rows": n}))).collect();
        let meter = Meter::start();
        for (arguments, result) in calls {
            tracker.record("query", arguments, result);
        }
        let cost = meter.per(READS);
        if best.is_none_or(|best| cost.cpu_us < best.cpu_us) {
            best = Some(cost);
        }
    }
    Row::alone("tracked_call", READS, best.unwrap_or_default(), 5.0)
}

/// An export of 10,000 records into an empty store, in one transaction; per record.
async fn import() -> Result<Row, BoxError> {
    let source = Bench::fill(IMPORTED).await?;
    let mut export = Vec::new();
    source.memory.export(&mut export, &ExportSelection::default()).await?;
    let mut best = None;
    for _ in 0..ROUNDS {
        let (raw, target) = (Bench::fill(0).await?, Bench::fill(0).await?);
        let floor = Floor::open(&raw.path, &raw.memory)?.import(&export)?;
        let input = Cursor::new(export.clone());
        let meter = Meter::start();
        let imported = target.memory.import(Import::read(input)?, ImportOptions::default()).await?;
        let cost = meter.per(IMPORTED);
        if imported.loaded.records.added != IMPORTED as u64 {
            return Err("a record was not imported".into());
        }
        better(&mut best, cost, floor);
    }
    let Best { ours, floor } = best.ok_or("no round was measured")?;
    Ok(Row::beside("import", IMPORTED, ours, floor, 1.5))
}
