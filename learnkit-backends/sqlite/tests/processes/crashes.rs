//! What survives `kill -9`: a child learns and writes until it is killed at a random moment.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::ChildStdout;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::backend::{MemoryBackend as _, RecordFilter, RunStore as _, SearchQuery, Store};
use learnkit_core::engine::{Outcome, SessionOptions, View};
use learnkit_core::record::{Kind, RecordId, RunId};
use learnkit_core::testing::fixtures;
use learnkit_core::{LearnKit, Task};
use rusqlite::Connection;
use serde_json::json;

use crate::child::{again, part};

const KILLS: u32 = 200;
const TEST: &str = "crashes::every_acknowledged_record_and_run_survives_200_kills";

/// Learns a run and remembers a fact, over and over, and acknowledges each on its own line.
#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
async fn learn_until_killed(path: &Path, child: &str) {
    println!();
    let memory = LearnKit::builder().store(Store::of(SqliteStore::open(path).await.unwrap())).build().await.unwrap();
    for number in 0.. {
        let word = format!("run{child}x{number}");
        let session = memory.session(Task::new(format!("Fetch the page {word}")), SessionOptions::default()).unwrap();
        session.decide(&View::default()).await;
        session.tracker().record("fetch", json!({ "page": word }), json!({ "text": "y".repeat(number % 3_000) }));
        session.tracker().record("store", json!({ "page": word }), "ok");
        let report = session.finish(&Outcome::answered("fetched")).await;
        let skill = report.learned.iter().find(|note| note.kind == Kind::Skill && note.change == "learned").unwrap();
        println!("run {} {} {word}", report.run_id, skill.id);
        let word = format!("fact{child}x{number}");
        let fact = fixtures::fact(&word, &format!("Page {word} is long")).unwrap();
        memory.remember(fact).await.unwrap();
        println!("record {word}");
    }
}

/// What a child acknowledged.
#[derive(Debug, Clone)]
enum Acknowledged {
    Run { run: RunId, skill: RecordId, word: String },
    Record { id: RecordId },
}

impl Acknowledged {
    /// A line that the kill cut short acknowledges nothing.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_suffix('\n')?.split(' ');
        match (words.next()?, words.next()?, words.next(), words.next()) {
            ("run", run, Some(skill), Some(word)) => Some(Self::Run {
                run: RunId::new(run).unwrap(),
                skill: RecordId::new(skill).unwrap(),
                word: word.to_owned(),
            }),
            ("record", id, None, None) => Some(Self::Record { id: RecordId::new(id).unwrap() }),
            _ => None,
        }
    }

    /// Whether all of it is there: the record by id and by a term of its own, the run with its calls.
    async fn is_there(&self, store: &SqliteStore) -> bool {
        match self {
            Self::Record { id } => is_found(store, id, id.as_str()).await,
            Self::Run { run, skill, word } => {
                let run = store.get_run(&fixtures::tenant(), run).await.unwrap();
                run.is_some_and(|run| run.calls.len() == 2) && is_found(store, skill, word).await
            }
        }
    }
}

async fn is_found(store: &SqliteStore, id: &RecordId, word: &str) -> bool {
    let filter = RecordFilter::all_of(fixtures::tenant());
    let query = SearchQuery { text: word.to_owned(), filter, limit: 5 };
    let found = store.search(&query).await.unwrap();
    let by_id = store.get(&fixtures::tenant(), id).await.unwrap();
    by_id.is_some() && found.iter().any(|found| found.item.id == *id)
}

/// The file and its text index are sound, and they agree.
fn check_file(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let integrity: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    connection.execute("INSERT INTO records_fts (records_fts) VALUES ('integrity-check')", []).unwrap();
    let apart = "SELECT (SELECT count(*) FROM records WHERE row NOT IN (SELECT rowid FROM records_fts))
                      + (SELECT count(*) FROM records_fts WHERE rowid NOT IN (SELECT row FROM records))";
    let apart: i64 = connection.query_row(apart, [], |row| row.get(0)).unwrap();
    assert_eq!(apart, 0, "rows without a twin in the text index");
}

/// `SplitMix64`: seeded, small, good enough to pick moments.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    std::env::var("LEARNKIT_TEST_SEED").map_or(u64::try_from(now).unwrap(), |seed| seed.parse().unwrap())
}

/// Lets a child run, kills it at a random moment and gives what it acknowledged until then.
fn kill_one(path: &Path, number: u32, random: &mut Random) -> Vec<Acknowledged> {
    let mut child = again(TEST, path, &number.to_string()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut acknowledged = Vec::new();
    // One in four dies while it starts and opens the file, the others while they write.
    let dies_early = random.below(4) == 0;
    let pause = random.below(if dies_early { 30_000 } else { 6_000 });
    if !dies_early {
        let least = random.below(12);
        while u64::try_from(acknowledged.len()).unwrap() <= least && read(&mut lines, &mut acknowledged) {}
    }
    std::thread::sleep(Duration::from_micros(pause));
    child.kill().unwrap();
    child.wait().unwrap();
    // What was acknowledged before the signal may still stand in the pipe.
    while read(&mut lines, &mut acknowledged) {}
    acknowledged
}

/// Reads one line; false at the end.
fn read(lines: &mut BufReader<ChildStdout>, acknowledged: &mut Vec<Acknowledged>) -> bool {
    let mut line = String::new();
    let is_line = lines.read_line(&mut line).unwrap() > 0;
    acknowledged.extend(Acknowledged::parse(&line));
    is_line
}

async fn lost(path: &Path, acknowledged: &[Acknowledged]) -> Vec<Acknowledged> {
    let store = SqliteStore::open(path).await.unwrap();
    let mut lost = Vec::new();
    for one in acknowledged {
        if !one.is_there(&store).await {
            lost.push(one.clone());
        }
    }
    lost
}

#[tokio::test]
async fn every_acknowledged_record_and_run_survives_200_kills() {
    if let Some(part) = part() {
        return learn_until_killed(&part.database, &part.role).await;
    }
    let seed = seed();
    println!("LEARNKIT_TEST_SEED={seed}");
    let mut random = Random(seed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let mut all = Vec::new();
    for number in 0..KILLS {
        let acknowledged = kill_one(&path, number, &mut random);
        let lost = lost(&path, &acknowledged).await;
        assert!(lost.is_empty(), "kill {number} lost {lost:?}");
        check_file(&path);
        all.extend(acknowledged);
    }
    let lost = lost(&path, &all).await;
    let runs = all.iter().filter(|one| matches!(one, Acknowledged::Run { .. })).count();
    println!("{KILLS} kills: {runs} runs and {} records acknowledged, {} lost", all.len() - runs, lost.len());
    assert!(lost.is_empty(), "{lost:?}");
    assert!(all.len() > 200, "most children got to write: {}", all.len());
}
