//! A session: its id, its report, and that nothing of it is held afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use learnkit::engine::{Decision, Outcome, SessionOptions, View};
use learnkit::record::RunId;
use learnkit::run::{Mode, Verdict};
use learnkit::{BoxError, ErrorKind, LearnKit, Task};
use learnkit_tests::{Script, World, begin, memory, nobody, run, run_once, stored_runs};
use serde_json::json;

fn named(id: &str) -> SessionOptions {
    SessionOptions { run_id: Some(RunId::new(id).unwrap()) }
}

#[tokio::test]
async fn a_run_id_that_is_used_again_gives_the_stored_answer_and_does_nothing() {
    let (memory, _) = memory().await;
    let count = Arc::new(AtomicU32::new(0));
    let asked = Arc::clone(&count);
    let agent = memory.agent_learn("ops").wrap(move |run| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        async move {
            run.planning_call();
            run.record("ping", json!({"n": n}), "pong");
            Ok::<_, BoxError>(format!("Authorization: Bearer abc123def456ghi{n}"))
        }
    });
    agent.call_with("Ping", named("r1")).await.unwrap();
    let report = agent.call_with("Ping", named("r1")).await.unwrap();
    assert_eq!(report.answer.as_deref(), Some("Authorization: Bearer [secret]"));
    assert!(report.warnings.iter().any(|warning| warning.contains("masked")), "{:?}", report.warnings);
    assert_eq!((stored_runs(&memory).await.len(), asked.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test]
async fn dropping_a_finished_session_does_not_free_the_id_of_another() {
    let (memory, _) = memory().await;
    let first = memory.session(Task::new("a"), named("r1")).unwrap();
    first.finish(&Outcome::answered("x")).await;
    let _second = memory.session(Task::new("a"), named("r1")).unwrap();
    drop(first);
    assert_eq!(memory.session(Task::new("a"), named("r1")).unwrap_err().kind(), ErrorKind::Conflict);
}

/// A session with one call, dropped before its end.
async fn abandon(memory: &LearnKit, task: &str) {
    let session = begin(memory, task).await;
    session.tracker().record("ping", json!({}), "pong");
}

#[tokio::test]
async fn d16_after_600_dropped_runs_all_are_stored_and_nothing_is_held() {
    let (memory, _) = memory().await;
    let records = Arc::downgrade(&memory.store().records);
    let held = records.strong_count();
    for n in 0..600 {
        abandon(&memory, &format!("Ping {n}")).await;
    }
    memory.shutdown().await.unwrap();
    assert_eq!(stored_runs(&memory).await.len(), 600);
    assert_eq!(records.strong_count(), held);
    drop(memory);
    assert_eq!(records.strong_count(), 0);
}

#[tokio::test]
async fn a_store_does_not_outlive_its_last_handle_when_a_run_was_dropped() {
    let (memory, _) = memory().await;
    let records = Arc::downgrade(&memory.store().records);
    abandon(&memory, "Ping").await;
    drop(memory);
    assert_eq!(records.strong_count(), 0);
}

#[tokio::test]
async fn a_verdict_of_a_failed_run_is_kept_with_the_run() {
    let (memory, _) = memory().await;
    let outcome = Outcome::answered("up").with_verdict(Some(Verdict::Failure));
    let report = run_once(&memory, "Ping", "ping", &outcome).await;
    assert_eq!(stored_runs(&memory).await[0].gate, report.gate);
}

#[tokio::test]
async fn a_second_user_turn_does_not_undo_the_replay_of_the_first() {
    let (memory, _) = memory().await;
    let world = World::new([("show", json!("shoes")), ("cancel", json!("cancelled"))]);
    run(&memory, "Show my order", &world, &Script::new([("show", json!({}))], "shoes")).await.unwrap();
    let session = memory.session(Task::new("Show my order"), SessionOptions::default()).unwrap();
    session.decide(&View::default()).await;
    session.tracker().record("show", json!({}), "shoes");
    session.decide(&View::default()).await;
    session.tracker().next_turn();
    let decision = session.decide(&View::default()).await;
    assert!(matches!(decision, Decision::Forward { .. }), "the answer of the first turn is no answer: {decision:?}");
    session.tracker().record("cancel", json!({}), "cancelled");
    let report = session.finish(&Outcome::answered("It is cancelled.")).await;
    assert_eq!(report.mode, Mode::Replay, "{}", report.reason);
    world.calls();
    assert!(run(&memory, "Show my order", &world, &nobody()).await.unwrap().replayed);
    assert_eq!(world.calls(), ["show {}"]);
}
