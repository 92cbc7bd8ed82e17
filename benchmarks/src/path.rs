//! One hot path, many times, and nothing else: what `cargo xtask instructions` counts.
//!
//! Everything is alike from run to run as far as it can be: one thread of its own, a clock that
//! stands still, derived ids. What is left are the seeds of hash maps, fresh run ids and the
//! waiting of threads for each other.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use learnkit::backend::PutMode;
use learnkit::engine::{Decision, Session, SessionOptions, View};
use learnkit::run::{CallDraft, ToolOutput, ToolTracker};
use learnkit::{BoxError, LearnKit};
use serde_json::json;

use crate::fixture::{self, Still};

/// So many records are in the stores.
const RECORDS: usize = 64;
/// When everything happens.
const AT: Timestamp = Timestamp::constant(1_780_000_000, 0);

/// A hot path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HotPath {
    CanonicalTextAndKey,
    TrackedCall,
    Distil,
    /// Lookup, choice, preflight with the tools at hand and the first step.
    ArmMemory,
    ArmSqlite,
    /// A whole replay: arm, three steps, the recorded answer.
    ReplayMemory,
    SearchMemory,
    SearchSqlite,
    PutMemory,
    PutSqlite,
}

/// Every path: its name, and how many rounds make the rest of the process small beside it.
const PATHS: [(HotPath, &str, usize); 10] = [
    (HotPath::CanonicalTextAndKey, "canonical_text_and_key", 1_000),
    (HotPath::TrackedCall, "tracked_call", 2_000),
    (HotPath::Distil, "distil", 200),
    (HotPath::ArmMemory, "arm_memory", 1_000),
    (HotPath::ArmSqlite, "arm_sqlite", 300),
    (HotPath::ReplayMemory, "replay_memory", 400),
    (HotPath::SearchMemory, "search_memory", 100),
    (HotPath::SearchSqlite, "search_sqlite", 50),
    (HotPath::PutMemory, "put_memory", 1_500),
    (HotPath::PutSqlite, "put_sqlite", 400),
];

/// Prints each path and its rounds on a line.
pub fn list() {
    for (_, name, rounds) in PATHS {
        println!("{name} {rounds}");
    }
}

/// Runs a path so many times.
///
/// # Errors
/// When no path has the name, and when a round does not do what the path is about.
pub fn run(name: &str, rounds: usize) -> Result<(), BoxError> {
    let path = PATHS.iter().find(|(_, own, _)| *own == name).map(|(path, ..)| *path);
    let path = path.ok_or_else(|| format!("no path `{name}`; `learnkit-benchmarks path` lists them"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let folder = tempfile::tempdir()?;
    runtime.block_on(path.run(folder.path(), rounds))
}

impl HotPath {
    async fn run(self, folder: &Path, rounds: usize) -> Result<(), BoxError> {
        match self {
            Self::CanonicalTextAndKey => canonical_text_and_key(&in_memory(0).await?, rounds),
            Self::TrackedCall => tracked_calls(rounds).await?,
            Self::Distil => distil(rounds)?,
            Self::ArmMemory => arm(&in_memory(RECORDS).await?, rounds).await?,
            Self::ArmSqlite => arm(&in_sqlite(folder).await?, rounds).await?,
            Self::ReplayMemory => replay(&in_memory(RECORDS).await?, rounds).await?,
            Self::SearchMemory => search(&in_memory(RECORDS).await?, rounds).await?,
            Self::SearchSqlite => search(&in_sqlite(folder).await?, rounds).await?,
            Self::PutMemory => put(&in_memory(RECORDS).await?, rounds).await?,
            Self::PutSqlite => put(&in_sqlite(folder).await?, rounds).await?,
        }
        Ok(())
    }
}

async fn in_memory(records: usize) -> Result<LearnKit, BoxError> {
    filled("memory:", records).await
}

async fn in_sqlite(folder: &Path) -> Result<LearnKit, BoxError> {
    filled(&format!("sqlite:{}", folder.join("path.db").display()), RECORDS).await
}

async fn filled(uri: &str, records: usize) -> Result<LearnKit, BoxError> {
    let memory = fixture::open(uri, AT).await?;
    fixture::fill(&memory, records, AT).await?;
    Ok(memory)
}

fn canonical_text_and_key(memory: &LearnKit, rounds: usize) {
    for round in 0..rounds {
        let task = fixture::task(round % RECORDS);
        black_box((task.canonical(), memory.key(&task)));
    }
}

/// A tracker of its own for each call, so that no round pays for the calls of the others.
async fn tracked_calls(rounds: usize) -> Result<(), BoxError> {
    for round in 0..rounds {
        let tracker = ToolTracker::new(Arc::new(Still(AT)));
        let draft = CallDraft::new("query", json!({"table": "users", "account": round % RECORDS}));
        let rows = tracker.call(draft, async { Ok::<_, BoxError>("name\nAnn\n".to_owned()) }).await?;
        black_box((rows, tracker));
    }
    Ok(())
}

fn distil(rounds: usize) -> Result<(), BoxError> {
    let calls = fixture::calls(7, AT);
    for _ in 0..rounds {
        black_box(fixture::procedure(7, &calls)?);
    }
    Ok(())
}

async fn arm(memory: &LearnKit, rounds: usize) -> Result<(), BoxError> {
    let tools = fixture::tools();
    let view = View { tools: Some(&tools), can_synthesize: false };
    for round in 0..rounds {
        let session = memory.session(fixture::task(round % RECORDS), SessionOptions::default())?;
        let Decision::Replay(calls) = session.decide(&view).await else {
            return Err("an exact repeat was not replayed".into());
        };
        black_box(calls);
    }
    Ok(())
}

async fn replay(memory: &LearnKit, rounds: usize) -> Result<(), BoxError> {
    for round in 0..rounds {
        let n = round % RECORDS;
        let session = memory.session(fixture::task(n), SessionOptions::default())?;
        let outputs = fixture::calls(n, AT).into_iter().map(|call| call.output);
        for output in outputs {
            step(&session, output).await?;
        }
        let Decision::Answer { text, .. } = session.decide(&View::default()).await else {
            return Err("a complete replay gave no answer".into());
        };
        black_box(text);
    }
    Ok(())
}

/// Takes the next step and reports what it gave.
async fn step(session: &Session, output: ToolOutput) -> Result<(), BoxError> {
    let Decision::Replay(calls) = session.decide(&View::default()).await else {
        return Err("an exact repeat was not replayed to its end".into());
    };
    let call = calls.into_iter().next().ok_or("a step without a call")?;
    session.observe(CallDraft::new(call.tool, call.arguments), Ok(output));
    Ok(())
}

async fn search(memory: &LearnKit, rounds: usize) -> Result<(), BoxError> {
    for round in 0..rounds {
        let found = memory.store().records.search(&fixture::query(memory, round % RECORDS, AT)).await?;
        if found.is_empty() {
            return Err("a search found nothing".into());
        }
        black_box(found);
    }
    Ok(())
}

async fn put(memory: &LearnKit, rounds: usize) -> Result<(), BoxError> {
    let records = fixture::Records::of(memory, AT)?.records(0..RECORDS)?;
    for record in records.iter().cycle().take(rounds) {
        black_box(memory.store().records.put(record, PutMode::Upsert).await?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_does_what_it_is_about() {
        for (_, name, _) in PATHS {
            run(name, 3).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn an_unknown_path_is_refused_with_the_way_to_the_list() {
        let error = run("nothing", 1).unwrap_err();
        assert_eq!(error.to_string(), "no path `nothing`; `learnkit-benchmarks path` lists them");
    }
}
