//! Many tasks and processes that use one record at once: every use is counted.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::backend::{RecordFilter, ScanRequest, Store};
use learnkit_core::config::Settings;
use learnkit_core::engine::{Decision, Outcome, Remembered, SessionOptions, View};
use learnkit_core::record::{Kind, Record, RecordId};
use learnkit_core::testing::fixtures;
use learnkit_core::{LearnKit, Task};
use serde_json::json;

use crate::child::{Stopped, again, must_succeed, part, stop_here};

const TASKS: u64 = 8;
const REINFORCEMENTS: u64 = 1_000;

async fn memory(path: &Path) -> LearnKit {
    let store = Store::of(SqliteStore::open(path).await.unwrap());
    // Every run has to be counted, however long a busy machine takes to sync it.
    let settings = Settings { memory_deadline: Duration::from_mins(2), ..Settings::default() };
    LearnKit::builder().store(store).settings(settings).build().await.unwrap()
}

fn known() -> Record {
    fixtures::fact("fct_known", "The office has four floors").unwrap()
}

async fn remember_again(memory: LearnKit, task: u64) {
    for number in 0..REINFORCEMENTS {
        let again = Record { id: RecordId::new(format!("fct_{task}_{number}")).unwrap(), ..known() };
        assert_eq!(memory.remember(again).await.unwrap(), Remembered::Known(known().id));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_eight_tasks_reinforce_one_record_a_thousand_times_each_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(&folder.path().join("learnkit.db")).await;
    memory.remember(known()).await.unwrap();
    let started = Instant::now();
    let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(remember_again(memory.clone(), task))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let record = memory.record(&known().id).await.unwrap();
    println!("{TASKS} tasks x {REINFORCEMENTS} reinforcements: {:.1} s", started.elapsed().as_secs_f64());
    assert_eq!((record.usage.reuse_count, record.usage.help), (TASKS * REINFORCEMENTS, TASKS * REINFORCEMENTS));
}

const CHILDREN: u64 = 4;
const RUNS: u64 = 50;

/// One run of the task that everybody does: planned the first time, replayed afterwards.
async fn run_once(memory: &LearnKit) {
    let session = memory.session(Task::new("Count the floors"), SessionOptions::default()).unwrap();
    let decision = session.decide(&View::default()).await;
    if let Decision::Replay(_) = decision {
        session.tracker().record("count", json!({ "what": "floors" }), "4");
        session.decide(&View::default()).await;
        let report = session.finish(&Outcome::default()).await;
        assert!(report.replayed, "{report:?}");
        assert!(!report.warnings.iter().any(|warning| warning.contains("not stored")), "{report:?}");
    } else {
        session.tracker().record("count", json!({ "what": "floors" }), "4");
        session.finish(&Outcome::answered("4 floors")).await;
    }
}

#[tokio::test]
async fn d2_f60_processes_that_replay_one_procedure_at_once_count_every_run() {
    if let Some(part) = part() {
        let memory = memory(&part.database).await;
        for _ in 0..RUNS {
            run_once(&memory).await;
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let memory = memory(&path).await;
    run_once(&memory).await;
    let test = "counting::d2_f60_processes_that_replay_one_procedure_at_once_count_every_run";
    let children: Vec<Child> = (0..CHILDREN).map(|_| again(test, &path, "").spawn().unwrap()).collect();
    for child in children {
        must_succeed(child);
    }
    assert_eq!(only_skill(&memory).await.usage.help, CHILDREN * RUNS, "every replay is counted once");
}

/// A planned run that heals a procedure whose replay stopped; all of them finish at once.
async fn heal(path: &Path) {
    let memory = memory(path).await;
    let session = memory.session(Task::new("Count the floors"), SessionOptions::default()).unwrap();
    let decision = session.decide(&View::default()).await;
    assert!(matches!(decision, Decision::Forward { .. }), "its replay is suspended: {decision:?}");
    stop_here();
    session.tracker().record("count", json!({ "what": "floors" }), json!({ "floors": 5 }));
    let report = session.finish(&Outcome::answered("5 floors")).await;
    assert!(report.warnings.iter().all(|warning| !warning.contains("not stored")), "{report:?}");
}

/// A replay that finds a changed world and gives up.
async fn stop_a_replay(memory: &LearnKit) {
    let session = memory.session(Task::new("Count the floors"), SessionOptions::default()).unwrap();
    session.decide(&View::default()).await;
    session.tracker().record("count", json!({ "what": "floors" }), json!({ "floors": 5 }));
    session.decide(&View::default()).await;
    session.finish(&Outcome::interrupted("the line is dead")).await;
}

#[tokio::test]
async fn f60_heals_of_one_procedure_at_once_are_all_kept_as_versions() {
    if let Some(part) = part() {
        return heal(&part.database).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnkit.db");
    let memory = memory(&path).await;
    run_once(&memory).await;
    stop_a_replay(&memory).await;
    let test = "counting::f60_heals_of_one_procedure_at_once_are_all_kept_as_versions";
    let mut children: Vec<Stopped> = (0..CHILDREN).map(|_| Stopped::start(&mut again(test, &path, ""))).collect();
    children.iter_mut().for_each(Stopped::go_on);
    children.into_iter().for_each(Stopped::must_succeed);
    let skill = only_skill(&memory).await;
    assert_eq!(skill.usage.successes, 1 + CHILDREN);
    assert_eq!(u64::from(skill.procedure().unwrap().version), 1 + CHILDREN, "each heal is a version");
}

async fn only_skill(memory: &LearnKit) -> Record {
    let filter = RecordFilter { kinds: vec![Kind::Skill], ..memory.every_record() };
    let mut skills = memory.scan(&ScanRequest { filter, after: None, limit: 10 }).await.unwrap().items;
    assert_eq!(skills.len(), 1);
    skills.remove(0)
}
