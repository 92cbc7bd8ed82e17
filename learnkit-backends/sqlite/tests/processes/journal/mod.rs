//! The kill campaign: processes with effects die at every point of the journal, and are retried until they are done.

mod scenario;
mod service;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::backend::Store;
use learnkit_core::config::Settings;
use learnkit_core::record::RunId;
use learnkit_core::run::{JournalStep, StoredRun};
use learnkit_core::{ErrorKind, LearnKit};
use rusqlite::{Connection, OpenFlags};

use self::scenario::{Scenario, Work};
use self::service::{Effect, Files, Looking, Points, look_up};
use crate::child::{again, part};

const TEST: &str = "journal::f15_f17_f18_a_process_that_dies_at_any_point_repeats_and_loses_nothing";
/// At least so many sequences of points at which processes die.
const CASES: usize = 500;
/// A process that makes no progress fails the campaign.
const ATTEMPTS: usize = 8;

/// Who says what came of a doubtful step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judge {
    Verifier,
    Caller,
}

/// What a process is told to do.
struct Role {
    scenario: Scenario,
    judge: Judge,
    die_at: u32,
    is_retry: bool,
}

impl Role {
    fn to_text(&self) -> String {
        let judge = if self.judge == Judge::Verifier { "verifier" } else { "caller" };
        format!("{} {judge} {} {}", self.scenario.name(), self.die_at, self.is_retry)
    }

    fn parse(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        Self {
            scenario: Scenario::parse(words[0]),
            judge: if words[1] == "verifier" { Judge::Verifier } else { Judge::Caller },
            die_at: words[2].parse().unwrap(),
            is_retry: words[3] == "true",
        }
    }
}

fn run_id() -> RunId {
    RunId::new("bill-1001").unwrap()
}

async fn memory(store: Store, verifier: Option<Looking>) -> LearnKit {
    let settings = Settings { memory_deadline: Duration::from_mins(2), ..Settings::default() };
    let builder = LearnKit::builder().store(store).settings(settings);
    let builder = if let Some(verifier) = verifier { builder.verifier(Arc::new(verifier)) } else { builder };
    builder.build().await.unwrap()
}

/// A process of the campaign: works until it is done, in doubt, or dead.
#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
async fn work(database: &Path, role: &Role) {
    let (files, points) = (Files::beside(database), Points::new(role.die_at));
    let store = store::dying(SqliteStore::open(database).await.unwrap(), points.clone(), files.clone());
    let memory = memory(store, (role.judge == Judge::Verifier).then(|| Looking(files.clone()))).await;
    if role.is_retry {
        // Whoever starts a retry here knows that the process before it is dead.
        let released = memory.release_run(&run_id()).await;
        assert!(released.is_ok() || released.unwrap_err().kind() == ErrorKind::NotFound);
    }
    let work = Work { scenario: role.scenario, files, points, is_learning: false };
    match Box::pin(work.run(&memory, &run_id())).await {
        Ok(report) => {
            assert_eq!(report.answer.as_deref(), Some("billed"), "{report:?}");
            println!("\noutcome: done");
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InDoubt, "{}", error.chain());
            println!("\noutcome: in doubt");
        }
    }
}

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Killed,
    Done,
    InDoubt,
}

/// A folder with a database, the service and its logs.
struct Case {
    folder: tempfile::TempDir,
    scenario: Scenario,
    judge: Judge,
}

impl Case {
    fn new(known: &Path, scenario: Scenario, judge: Judge) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(known, folder.path().join("learnkit.db")).unwrap();
        Self { folder, scenario, judge }
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("learnkit.db")
    }

    fn files(&self) -> Files {
        Files::beside(&self.database())
    }

    fn start(&self, die_at: u32, is_retry: bool) -> (End, String) {
        let role = Role { scenario: self.scenario, judge: self.judge, die_at, is_retry };
        let output = again(TEST, &self.database(), &role.to_text()).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let end = match (output.status.signal(), output.status.success()) {
            (Some(9), _) => End::Killed,
            (None, true) if out.contains("\noutcome: done") => End::Done,
            (None, true) if out.contains("\noutcome: in doubt") => End::InDoubt,
            _ => panic!("{}: {}\n{out}\n{}", role.to_text(), output.status, String::from_utf8_lossy(&output.stderr)),
        };
        (end, out)
    }

    /// The names of the points of a whole run.
    fn points(&self) -> Vec<String> {
        let (end, out) = self.start(0, false);
        assert_eq!(end, End::Done);
        self.check_end(&mut Tally::default());
        out.lines().filter_map(|line| line.strip_prefix("point: ")).map(str::to_owned).collect()
    }

    fn connection(&self) -> Connection {
        Connection::open_with_flags(self.database(), OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap()
    }

    fn journal(&self) -> Vec<JournalStep> {
        let connection = self.connection();
        let mut steps = connection.prepare("SELECT body FROM open_steps ORDER BY number").unwrap();
        let steps = steps.query_map([], |row| row.get::<_, String>(0)).unwrap();
        steps.map(|body| serde_json::from_str(&body.unwrap()).unwrap()).collect()
    }

    fn finished(&self) -> Option<StoredRun> {
        let body = self
            .connection()
            .query_row("SELECT body FROM runs WHERE id = ?1", [run_id().as_str()], |row| row.get::<_, String>(0));
        body.ok().map(|body| serde_json::from_str(&body).unwrap())
    }

    /// After a kill: nothing acknowledged is lost, and the journal knows of everything that happened.
    fn check_kill(&self, tally: &mut Tally, doubted: &mut BTreeSet<String>) {
        if self.finished().is_some() {
            return;
        }
        let journal = self.journal();
        let done: BTreeSet<&str> =
            journal.iter().filter(|step| step.is_done()).map(|step| step.idempotency_key.as_str()).collect();
        tally.lost += self.files().lines("acknowledged").iter().filter(|key| !done.contains(key.as_str())).count();
        let is_function = self.scenario == Scenario::Function;
        for effect in self.files().effects() {
            let is_known = journal
                .iter()
                .any(|step| step.idempotency_key == effect.key || is_function && step.call.tool == effect.tool);
            assert!(is_known, "an effect went out without an intent: {effect:?}");
        }
        doubted.extend(journal.iter().filter(|step| step.is_doubtful()).map(|step| step.idempotency_key.clone()));
    }

    /// Says what came of each doubtful step, as a person does who looked at the service.
    async fn settle(&self) -> Vec<String> {
        let memory = memory(Store::of(SqliteStore::open(self.database()).await.unwrap()), None).await;
        let journal = memory.open_run(&run_id()).await.unwrap();
        for step in journal.doubtful() {
            let key = if self.scenario == Scenario::Function {
                format!("{}1234567", step.call.tool)
            } else {
                step.idempotency_key.clone()
            };
            memory.settle(&run_id(), step.number, look_up(&self.files(), &key)).await.unwrap();
        }
        journal.doubtful().map(|step| step.idempotency_key.clone()).collect()
    }

    /// After the end: each effect once, each about the receipt of the one before it, and all of them in the run.
    fn check_end(&self, tally: &mut Tally) {
        let effects = self.files().effects();
        let mut keys = BTreeSet::new();
        let mut once = Vec::new();
        for effect in &effects {
            if keys.insert(effect.key.as_str()) {
                once.push(effect);
            } else if effect.tool == "mark" {
                tally.repeated += 1;
            } else {
                tally.duplicates += 1;
            }
        }
        let mut tools: Vec<&str> = once.iter().map(|effect| effect.tool.as_str()).collect();
        tools.sort_unstable();
        let expected = self.scenario.effects();
        tally.duplicates += tools.len().saturating_sub(expected.len());
        assert_eq!(tools, expected, "{effects:?}");
        let charge = once.iter().find(|effect| effect.tool == "charge").unwrap();
        let receipt = serde_json::from_str::<serde_json::Value>(&charge.result).unwrap()["receipt"].to_string();
        let late = once.iter().filter(|effect| ["mail", "letter", "archive"].contains(&effect.tool.as_str()));
        late.for_each(|effect| assert!(effect.arguments.contains(&receipt), "{effect:?} is about another charge"));
        let run = self.finished().expect("the run is stored");
        let worked = run.calls.iter().filter(|call| call.status.is_ok() && expected.contains(&call.tool.as_str()));
        tally.lost += expected.len().saturating_sub(worked.count());
        assert_eq!(run.replayed, self.scenario.is_known() && self.scenario != Scenario::Mixed, "{run:?}");
        assert_eq!(self.journal(), [], "a finished run leaves no journal");
    }
}

/// What the campaign counts.
#[derive(Debug, Clone, Default)]
struct Tally {
    cases: usize,
    kills: usize,
    retries: usize,
    duplicates: usize,
    lost: usize,
    doubtful: usize,
    reported: usize,
    /// Calls that their tool allows to repeat, made again under the same key.
    repeated: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.kills += other.kills;
        self.retries += other.retries;
        self.duplicates += other.duplicates;
        self.lost += other.lost;
        self.doubtful += other.doubtful;
        self.reported += other.reported;
        self.repeated += other.repeated;
    }
}

/// Lets the processes of a case die at these points, one after the other, and one more end.
async fn play(case: &Case, deaths: &[u32]) -> Tally {
    let mut tally = Tally { cases: 1, ..Tally::default() };
    let (mut doubted, mut reported) = (BTreeSet::new(), BTreeSet::new());
    let mut deaths = deaths.iter().copied();
    for attempt in 0..ATTEMPTS {
        // A number beyond every point lets it live, and silent.
        let die_at = deaths.next().unwrap_or(u32::MAX);
        tally.retries += usize::from(attempt > 0);
        match case.start(die_at, attempt > 0).0 {
            End::Killed => {
                tally.kills += 1;
                case.check_kill(&mut tally, &mut doubted);
            }
            End::InDoubt => {
                assert_eq!(case.judge, Judge::Caller);
                reported.extend(case.settle().await);
            }
            End::Done => {
                tally.doubtful = doubted.len();
                if case.judge == Judge::Verifier {
                    reported.extend(case.files().lines("asked"));
                }
                tally.reported = doubted.intersection(&reported).count();
                case.check_end(&mut tally);
                return tally;
            }
        }
    }
    panic!("{:?} made no progress", case.scenario);
}

/// A database in which a scenario is known, where it is to be.
async fn known(folder: &Path, scenario: Scenario) -> PathBuf {
    let path = folder.join(scenario.name()).join("learnkit.db");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let memory = memory(Store::of(SqliteStore::open(&path).await.unwrap()), None).await;
    if scenario.is_known() {
        let files = Files::beside(&path);
        let work = Work { scenario, files, points: Points::new(u32::MAX), is_learning: true };
        let report = Box::pin(work.run(&memory, &RunId::new("learning").unwrap())).await.unwrap();
        assert!(!report.learned.is_empty(), "{report:?}");
    }
    path
}

/// One case to play.
struct Plan {
    known: PathBuf,
    scenario: Scenario,
    judge: Judge,
    /// The name of the first point.
    label: String,
    deaths: Vec<u32>,
}

async fn plans(folder: &Path) -> Vec<Plan> {
    let mut plans = Vec::new();
    for scenario in Scenario::ALL {
        let known = Box::pin(known(folder, scenario)).await;
        for judge in [Judge::Verifier, Judge::Caller] {
            // A function's keys are its own, so that only a person can look them up.
            if scenario == Scenario::Function && judge == Judge::Verifier {
                continue;
            }
            let points = Case::new(&known, scenario, judge).points();
            for (at, label) in (1..).zip(&points) {
                // Once; and again while the retry takes the run, and while it goes on with it.
                let again = 1 + at * 7 % 9;
                for deaths in [vec![at], vec![at, again], vec![at, again + 4, again]] {
                    let (known, label) = (known.clone(), label.clone());
                    plans.push(Plan { known, scenario, judge, label, deaths });
                }
            }
        }
    }
    plans
}

/// Plays every case, in as many threads as there are processors, at least two.
fn play_all(plans: &[Plan]) -> BTreeMap<String, Tally> {
    let (next, table) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<String, Tally>::new()));
    let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get().max(2));
    let worker = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::SeqCst)) {
            let case = Case::new(&plan.known, plan.scenario, plan.judge);
            let tally = runtime.block_on(play(&case, &plan.deaths));
            let mut table = table.lock().unwrap();
            table.entry(plan.label.clone()).or_default().add(&tally);
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(worker))));
    table.into_inner().unwrap()
}

#[expect(clippy::print_stdout, reason = "the table is the result of the campaign")]
fn print(table: &BTreeMap<String, Tally>, total: &Tally, took: Duration) {
    println!("{:<42} cases kills retries duplicates lost doubtful reported repeated", "first killed");
    for (label, tally) in table.iter().chain([(&"all".to_owned(), total)]) {
        let Tally { cases, kills, retries, duplicates, lost, doubtful, reported, repeated } = tally;
        println!(
            "{label:<42} {cases:>5} {kills:>5} {retries:>7} {duplicates:>10} {lost:>4} {doubtful:>8} {reported:>8} {repeated:>8}"
        );
    }
    println!("{:.0} s", took.as_secs_f64());
}

#[test]
fn f15_f17_f18_a_process_that_dies_at_any_point_repeats_and_loses_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Some(part) = part() {
        return runtime.block_on(Box::pin(work(&part.database, &Role::parse(&part.role))));
    }
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let plans = runtime.block_on(Box::pin(plans(folder.path())));
    let table = play_all(&plans);
    let mut total = Tally::default();
    table.values().for_each(|tally| total.add(tally));
    print(&table, &total, started.elapsed());
    assert!(total.cases >= CASES && total.kills >= total.cases, "{total:?}");
    assert_eq!((total.duplicates, total.lost), (0, 0), "duplicate effects, lost acknowledged steps");
    assert!(total.doubtful > 0 && total.reported == total.doubtful, "every doubtful step is reported: {total:?}");
}

#[test]
fn an_effect_that_is_repeated_and_a_step_that_is_lost_are_counted() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let known = runtime.block_on(Box::pin(known(folder.path(), Scenario::Planned)));
    let case = Case::new(&known, Scenario::Planned, Judge::Caller);
    assert_eq!(case.start(u32::MAX, false).0, End::Done);
    let counted = |case: &Case| {
        let mut tally = Tally::default();
        case.check_end(&mut tally);
        (tally.duplicates, tally.lost)
    };
    assert_eq!(counted(&case), (0, 0));
    let Effect { key, tool, arguments, .. } = case.files().effects().remove(0);
    case.files().act(&tool, &key, &arguments);
    assert_eq!(counted(&case), (1, 0));
    let cut_off = Case::new(&known, Scenario::Planned, Judge::Caller);
    assert_eq!(cut_off.start(5, false).0, End::Killed);
    let (mut tally, mut doubted) = (Tally::default(), BTreeSet::new());
    cut_off.check_kill(&mut tally, &mut doubted);
    assert_eq!((tally.lost, doubted.len()), (0, 1));
    cut_off.files().acknowledge("a step that no journal knows");
    cut_off.check_kill(&mut tally, &mut doubted);
    assert_eq!(tally.lost, 1);
}
