//! What the exact lookup costs beside the raw statement on the same file.

use std::path::Path;

use comfy_table::Table;
use learnkit::backend::{Batch, ExactQuery, Put, PutMode};
use learnkit::engine::{Decision, SessionOptions, View};
use learnkit::procedure::{Distilled, Source, distil};
use learnkit::record::{Content, Origin, Provenance, Record, RecordId, RunId, Skill, TaskLink};
use learnkit::run::{STORED_RESULT_BYTES, ToolTracker};
use learnkit::{BoxError, LearnKit, SystemClock, Task};
use serde_json::json;

use crate::meter::{Cost, Meter};

/// Each figure is the best of so many rounds, because other work on the machine only adds.
const ROUNDS: usize = 5;
/// Operations in a round.
const OPERATIONS: usize = 2_000;

/// What to measure.
#[derive(Debug)]
pub struct Options {
    /// Print one object as the last line.
    pub json: bool,
    /// How many records the store holds.
    pub sizes: Vec<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self { json: false, sizes: vec![1_000, 10_000] }
    }
}

/// Reads `1000,10000`.
pub fn parse_sizes(text: &str) -> Result<Vec<usize>, BoxError> {
    let sizes: Vec<usize> = text.split(',').map(|size| size.trim().parse()).collect::<Result<_, _>>()?;
    if sizes.contains(&0) { Err("a size must be at least 1".into()) } else { Ok(sizes) }
}

/// One line of the result.
struct Row {
    name: &'static str,
    n: usize,
    cost: Cost,
    floor: Cost,
    /// The ratio that is aimed at.
    bar: f64,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.cost.cpu_us / self.floor.cpu_us
    }
}

/// Measures and prints.
pub async fn run(options: &Options) -> Result<(), BoxError> {
    let mut rows = Vec::new();
    for &n in &options.sizes {
        eprintln!("filling a store with {n} records");
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("cost.db");
        let memory = LearnKit::builder().backend(format!("sqlite:{}", path.display())).build().await?;
        fill(&memory, n).await?;
        rows.extend(measure(&memory, &path, n).await?);
    }
    print(&rows, options.json);
    Ok(())
}

fn task(n: usize) -> Task {
    Task::new(format!("Build an active-user report for account {n} and mail it to the owner"))
}

async fn fill(memory: &LearnKit, n: usize) -> Result<(), BoxError> {
    for chunk in (0..n).collect::<Vec<_>>().chunks(1_000) {
        let puts = chunk.iter().map(|&n| Ok(Put { record: record(memory, n)?, mode: PutMode::Create }));
        let puts = puts.collect::<Result<Vec<_>, BoxError>>()?;
        memory.store().records.commit(&Batch { puts, run: None }).await?;
    }
    Ok(())
}

/// A procedure of three calls, distilled as the engine does it.
fn record(memory: &LearnKit, n: usize) -> Result<Record, BoxError> {
    let task = task(n);
    let tracker = ToolTracker::new(std::sync::Arc::new(SystemClock));
    tracker.record("query", json!({"table": "users", "account": n}), json!([{"name": "Ann", "active": true}]));
    tracker.record("format", json!({"fmt": "csv"}), "name\nAnn\n");
    tracker.record("send_mail", json!({"to": format!("owner-{n}@example.org")}), json!({"queued": true}));
    let run = RunId::fresh();
    let calls = tracker.calls();
    let source = Source {
        task: task.text(),
        parameters: task.parameters(),
        calls: &calls,
        answer: Some("The report is on its way."),
        run: &run,
        stored_result_bytes: STORED_RESULT_BYTES,
    };
    let Distilled::Procedure(procedure) = distil(&source) else { return Err("nothing was distilled".into()) };
    let origin = Origin {
        tenant: memory.tenant().clone(),
        scope: memory.reader().scope.clone(),
        agent: memory.agent().clone(),
        provenance: Provenance { author: "benchmark".to_owned(), run: Some(run), model: None },
        at: jiff::Timestamp::now(),
    };
    let content = Content::Skill(Skill::of_procedure(*procedure));
    let mut record = Record::new(RecordId::new(format!("skill_{n:09}"))?, origin, content);
    record.task = Some(TaskLink { key: memory.key(&task), canonical: task.canonical() });
    Ok(record)
}

async fn measure(memory: &LearnKit, path: &Path, n: usize) -> Result<Vec<Row>, BoxError> {
    let mut best: [Option<Cost>; 3] = [None; 3];
    for round in 0..ROUNDS {
        let picks: Vec<usize> = (0..OPERATIONS).map(|at| (at * 7_919 + round * 104_729) % n).collect();
        let costs = [floor(memory, path, &picks)?, lookup(memory, &picks).await?, arm(memory, &picks).await?];
        for (best, cost) in best.iter_mut().zip(costs) {
            if best.is_none_or(|best| cost.cpu_us < best.cpu_us) {
                *best = Some(cost);
            }
        }
    }
    let [Some(floor), Some(lookup), Some(arm)] = best else { return Err("no round was measured".into()) };
    Ok(vec![
        Row { name: "exact_lookup", n, cost: lookup, floor, bar: 2.0 },
        Row { name: "exact_lookup_and_arm", n, cost: arm, floor, bar: 2.0 },
    ])
}

/// The raw statement: the body by key, through the index, on a connection of its own, then read as JSON.
fn floor(memory: &LearnKit, path: &Path, picks: &[usize]) -> Result<Cost, BoxError> {
    let connection = rusqlite::Connection::open(path)?;
    let mut statement = connection.prepare("SELECT body FROM records WHERE tenant = ?1 AND task_key = ?2")?;
    let keys: Vec<String> = picks.iter().map(|&n| memory.key(&task(n)).to_string()).collect();
    let meter = Meter::start();
    for key in &keys {
        let body: String = statement.query_row([memory.tenant().as_str(), key], |row| row.get(0))?;
        let record: Record = serde_json::from_str(&body)?;
        std::hint::black_box(record);
    }
    Ok(meter.per(picks.len()))
}

/// The store's own lookup.
async fn lookup(memory: &LearnKit, picks: &[usize]) -> Result<Cost, BoxError> {
    let query = |n: usize| ExactQuery {
        tenant: memory.tenant().clone(),
        keys: vec![memory.key(&task(n))],
        canonical: task(n).canonical(),
    };
    let queries: Vec<ExactQuery> = picks.iter().map(|&n| query(n)).collect();
    let meter = Meter::start();
    for query in &queries {
        if memory.store().records.lookup(query).await?.len() != 1 {
            return Err("a record was not found".into());
        }
    }
    Ok(meter.per(picks.len()))
}

/// From the task to the first planned call: keys, lookup, choice, preflight, guards.
async fn arm(memory: &LearnKit, picks: &[usize]) -> Result<Cost, BoxError> {
    let meter = Meter::start();
    for &n in picks {
        let session = memory.session(task(n), SessionOptions::default())?;
        let Decision::Replay(calls) = session.decide(&View::default()).await else {
            return Err("an exact repeat was not replayed".into());
        };
        std::hint::black_box(calls);
    }
    Ok(meter.per(picks.len()))
}

fn print(rows: &[Row], as_json: bool) {
    let mut table = Table::new();
    table.set_header(["name", "records", "CPU µs", "wall µs", "floor CPU µs", "ratio", "bar"]);
    for row in rows {
        table.add_row([
            row.name.to_owned(),
            row.n.to_string(),
            format!("{:.1}", row.cost.cpu_us),
            format!("{:.1}", row.cost.wall_us),
            format!("{:.1}", row.floor.cpu_us),
            format!("{:.2}", row.ratio()),
            format!("{:.1}", row.bar),
        ]);
    }
    println!("{table}");
    if as_json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "name": row.name, "n": row.n, "cpu_us": row.cost.cpu_us, "wall_us": row.cost.wall_us,
                    "floor_cpu_us": row.floor.cpu_us, "ratio": row.ratio(), "bar": row.bar,
                })
            })
            .collect();
        println!("{}", json!({ "rows": rows }));
    }
}
