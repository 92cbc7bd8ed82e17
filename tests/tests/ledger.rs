//! The hold-out arm and the ledger over real runs: only what was saved is claimed, only what was used is
//! credited, and nothing leaks from one arm into the other.

use std::sync::Arc;

use learnkit::backend::Store;
use learnkit::config::Settings;
use learnkit::engine::{Decision, LedgerRequest, Outcome, PlannerReply, ReactOptions, SessionOptions, View};
use learnkit::ledger::{Class, Ledger, Saving};
use learnkit::record::{AgentName, RunId, Scope, Trust};
use learnkit::run::{Arm, Mode, StoredRun, Tokens, Verdict};
use learnkit::{LearnKit, Task, run_react_agent};
use learnkit_core::testing::{ManualClock, fixtures};
use learnkit_tests::{Reply, Script, World, begin, builder, memory, nobody, run, run_once, skills, stored_runs};
use serde_json::json;

const TASK: &str = "Charge the newest order";

async fn ledger(memory: &LearnKit) -> Ledger {
    memory.ledger(&LedgerRequest::default(), |_| ()).await.unwrap()
}

/// The same store, where this share of the runs is held out.
async fn held_out(memory: &LearnKit, clock: &Arc<ManualClock>, holdout_rate: f64) -> LearnKit {
    let settings = Settings { holdout_rate, ..Settings::default() };
    builder(clock).store(Store::clone(memory.store())).settings(settings).build().await.unwrap()
}

fn world() -> World {
    World::new([("newest", json!({"id": "order_1001"})), ("charge", json!("charged"))])
}

fn script() -> Script {
    Script::new([("newest", json!({})), ("charge", json!({"order": "order_1001"}))], "charged")
}

#[tokio::test]
async fn a_replay_saves_the_planning_calls_of_the_run_it_repeats() {
    let (memory, _) = memory().await;
    let world = world();
    run(&memory, TASK, &world, &script()).await.unwrap();
    assert!(run(&memory, TASK, &world, &nobody()).await.unwrap().replayed);
    let ledger = ledger(&memory).await;
    assert_eq!(ledger.planner_calls, Saving { saved: Some(3.0), known: 1, unknown: 0 });
    assert_eq!((ledger.records.len(), ledger.records[0].replayed, ledger.records[0].help), (1, 1, 1));
}

#[tokio::test]
async fn f12_a_replay_that_fails_at_step_2_is_charged_and_saves_nothing() {
    let (memory, _) = memory().await;
    let world = world();
    run(&memory, TASK, &world, &script()).await.unwrap();
    world.set("charge", Reply::Error("the bank is closed".into()));
    world.set("wire", json!("wired"));
    let go_on = Script::new([("wire", json!({"order": "order_1001"}))], "wired");
    let report = run(&memory, TASK, &world, &go_on).await.unwrap();
    assert_eq!((report.replayed, report.planning_calls), (false, Some(2)));
    let ledger = ledger(&memory).await;
    // Two calls were planned instead of three, and still none is claimed.
    assert_eq!(ledger.planner_calls, Saving { saved: Some(0.0), known: 1, unknown: 0 });
    let failed = ledger.failed_replays;
    assert_eq!((failed.stopped, failed.at_fault, failed.tool_calls), (1, 1, 2));
    let record = ledger.records.iter().find(|record| record.stopped == 1).unwrap();
    assert_eq!((record.help, record.harm), (0, 1));
    let note = memory.run(&report.run_id).await.unwrap().replay.unwrap();
    let stopped = note.stopped.unwrap();
    assert_eq!((note.made, stopped.is_at_fault(), note.record), (2, true, record.id.clone()));
    assert_eq!(stopped.step, 1);
}

#[tokio::test]
async fn f34_of_three_records_that_were_retrieved_only_the_one_that_was_followed_is_credited() {
    let (memory, _) = memory().await;
    for (task, tool) in [("Export the user table", "a"), ("Export the order table", "b"), ("Export the log table", "c")]
    {
        run_once(&memory, task, tool, &Outcome::answered("done")).await;
    }
    run_once(&memory, "Count the stars", "z", &Outcome::failed("too many")).await;
    let report = run_once(&memory, "Export the price table", "b", &Outcome::answered("done")).await;
    let stored = memory.run(&report.run_id).await.unwrap();
    let offer = stored.offer.unwrap();
    assert_eq!((offer.mode, offer.records.len()), (Mode::Guide, 3));
    assert!(offer.playbook_tokens > 0);
    let ledger = ledger(&memory).await;
    let followed: Vec<_> = ledger.records.iter().filter(|record| record.uses() > 0).collect();
    assert_eq!(followed.len(), 1);
    assert_eq!((followed[0].followed, followed[0].help, followed[0].offered), (1, 1, 2));
    // Two runs had no memory, and one of them solved its task.
    assert_eq!(followed[0].base_rate.map(|rate| rate.estimate), Some(0.5));
    for record in ledger.records.iter().filter(|record| record.uses() == 0) {
        assert_eq!((record.help, record.help_rate, record.effect.class), (0, None, Class::NotYet));
    }
    // Nobody counted planning calls.
    assert_eq!(ledger.planner_calls, Saving { saved: None, known: 0, unknown: 3 });
}

#[tokio::test]
async fn a_held_out_run_keeps_what_memory_would_have_done_and_uses_none_of_it() {
    let (memory, clock) = memory().await;
    let world = world();
    run(&memory, TASK, &world, &script()).await.unwrap();
    let skill = skills(&memory).await.remove(0);
    let held = held_out(&memory, &clock, 1.0).await;
    let planner = script();
    let report = run(&held, TASK, &world, &planner).await.unwrap();
    assert_eq!((report.mode, planner.asked()), (Mode::Cold, 3));
    assert!(planner.playbooks().iter().all(String::is_empty), "{:?}", planner.playbooks());
    let stored = held.run(&report.run_id).await.unwrap();
    assert_eq!(stored.arm, Some(Arm::HoldOut));
    let offer = stored.offer.unwrap();
    assert_eq!((offer.mode, offer.records), (Mode::Replay, vec![skill.id.clone()]));
    assert_eq!((stored.used, stored.replay), (Vec::new(), None));
    let text = serde_json::to_string(&stored.decisions).unwrap();
    assert!(!text.contains(skill.id.as_str()), "{text}");
    // It teaches like any planned run: the second one with these calls confirms them.
    let after = skills(&held).await.remove(0);
    assert_eq!((after.trust, after.usage.successes, after.usage.help), (Trust::Confirmed, 2, 0));
    // Where memory would have guided, the records of the playbook are kept.
    let report = run(&held, "Charge the newest order twice", &world, &script()).await.unwrap();
    let offer = held.run(&report.run_id).await.unwrap().offer.unwrap();
    assert_eq!((offer.mode, offer.records.contains(&skill.id)), (Mode::Guide, true));
}

#[tokio::test]
async fn a_run_is_in_one_arm_by_its_id_alone_and_inspect_knows_no_arms() {
    let (memory, clock) = memory().await;
    run_once(&memory, TASK, "charge", &Outcome::answered("done")).await;
    assert_eq!(stored_runs(&memory).await[0].arm, None);
    let held = held_out(&memory, &clock, 0.3).await;
    let arm = async |task: String, n: usize| {
        let options = SessionOptions { run_id: Some(RunId::new(format!("run-{n}")).unwrap()) };
        let session = held.session(Task::new(task), options).unwrap();
        session.decide(&View::default()).await;
        session.reason().contains("hold-out")
    };
    let mut count = 0;
    for n in 0..400 {
        let is_held_out = arm(format!("task {n}"), n).await;
        assert_eq!(arm("quite another task".to_owned(), n).await, is_held_out);
        count += u32::from(is_held_out);
    }
    assert!((90..=150).contains(&count), "{count} of 400 at a rate of 0.3");
    let all = held_out(&memory, &clock, 1.0).await;
    assert_eq!(all.inspect(TASK).await.unwrap().mode, Mode::Replay);
}

#[tokio::test]
async fn a_run_of_the_memory_arm_says_so_and_replays() {
    let (memory, clock) = memory().await;
    let world = world();
    run(&memory, TASK, &world, &script()).await.unwrap();
    let little = held_out(&memory, &clock, 1e-9).await;
    let report = run(&little, TASK, &world, &nobody()).await.unwrap();
    let stored = little.run(&report.run_id).await.unwrap();
    assert!(stored.replayed);
    assert_eq!((stored.arm, stored.offer.unwrap().mode), (Some(Arm::Memory), Mode::Replay));
}

#[tokio::test]
async fn arms_of_real_runs_are_compared() {
    let (memory, clock) = memory().await;
    let world = world();
    run(&memory, TASK, &world, &script()).await.unwrap();
    let halved = held_out(&memory, &clock, 0.5).await;
    let tools = world.tools();
    for n in 0..40 {
        let options = ReactOptions { run_id: Some(RunId::new(format!("n{n}")).unwrap()), ..ReactOptions::default() };
        run_react_agent(&halved, TASK, &tools, &script(), options).await.unwrap();
    }
    let ledger = ledger(&halved).await;
    let arms = ledger.arms.unwrap();
    assert_eq!((arms.memory.runs + arms.hold_out.runs, arms.memory.unsolved, arms.hold_out.unsolved), (40, 0, 0));
    assert_eq!((arms.memory.planner_calls, arms.hold_out.planner_calls), (Some(0.0), Some(3.0)));
    assert_eq!(ledger.runs.held_out, arms.hold_out.runs);
    // Every run of both arms solved the task, so memory saves calls and nothing else.
    #[expect(clippy::cast_precision_loss, reason = "forty runs")]
    let saved = 3.0 * arms.memory.runs as f64;
    assert_eq!(ledger.planner_calls.saved, Some(saved));
}

#[tokio::test]
async fn tokens_of_the_planner_are_added_up_and_absent_where_nobody_tells() {
    let (memory, _) = memory().await;
    let world = world();
    let tokens = |input, output| Tokens { input, output };
    let replies = [
        PlannerReply::call("newest", json!({})).with_tokens(tokens(100, 10)),
        PlannerReply::call("charge", json!({"order": "order_1001"})),
        PlannerReply::answer("charged").with_tokens(tokens(200, 5)),
    ];
    let report = run(&memory, TASK, &world, &Script::of(replies)).await.unwrap();
    assert_eq!(report.tokens, Some(tokens(300, 15)));
    let session = begin(&memory, "another").await;
    session.tracker().record("ping", json!({}), "pong");
    assert_eq!(session.finish(&Outcome::answered("up")).await.tokens, None);
    let other = begin(&memory, "a third").await;
    other.planner_tokens(tokens(7, 1));
    other.planner_tokens(tokens(1, 1));
    other.tracker().record("ping", json!({}), "pong");
    let report = other.finish(&Outcome::answered("up")).await;
    assert_eq!(memory.run(&report.run_id).await.unwrap().tokens, Some(tokens(8, 2)));
}

#[tokio::test]
async fn a_ledger_reads_page_by_page_and_keeps_to_time_agent_and_scope() {
    let (memory, _) = memory().await;
    let clerk = AgentName::new("clerk").unwrap();
    for n in 0..1_203_u32 {
        let stored = StoredRun {
            tenant: memory.tenant().clone(),
            agent: if n < 3 { clerk.clone() } else { AgentName::default() },
            scope: if n % 2 == 0 { Scope::Public } else { Scope::default() },
            finished: fixtures::after(i64::from(n)),
            ..fixtures::run(&format!("run_{n}"), "do it").unwrap()
        };
        memory.store().runs.finish_run(&stored).await.unwrap();
    }
    let total = async |request: LedgerRequest| memory.ledger(&request, |_| ()).await.unwrap().runs.total;
    let mut told = Vec::new();
    let whole = memory.ledger(&LedgerRequest::default(), |read| told.push(read)).await.unwrap();
    assert_eq!((whole.runs.total, told), (1_203, vec![500, 1_000, 1_203]));
    assert_eq!(whole.period, Some([fixtures::after(0), fixtures::after(1_202)]));
    assert_eq!(total(LedgerRequest { agent: Some(clerk), ..LedgerRequest::default() }).await, 3);
    assert_eq!(total(LedgerRequest { scope: Some(Scope::Public), ..LedgerRequest::default() }).await, 602);
    for (since, count) in [(0, 1_203), (703, 500), (1_202, 1), (1_203, 0)] {
        let since = Some(fixtures::after(since));
        assert_eq!(total(LedgerRequest { since, ..LedgerRequest::default() }).await, count);
    }
}

#[tokio::test]
async fn f12_a_replay_whose_failure_was_told_later_claims_nothing_any_more() {
    let (memory, _) = memory().await;
    let world = world();
    run(&memory, TASK, &world, &script()).await.unwrap();
    let report = run(&memory, TASK, &world, &nobody()).await.unwrap();
    assert_eq!(ledger(&memory).await.planner_calls.saved, Some(3.0));
    memory.report_failure(&report.run_id).await.unwrap();
    let ledger = ledger(&memory).await;
    assert_eq!((ledger.planner_calls.saved, ledger.failed_replays.unsolved), (Some(0.0), 1));
    assert_eq!((ledger.records[0].help, ledger.records[0].harm), (0, 1));
}

#[tokio::test]
async fn a_record_that_was_followed_by_a_failed_run_was_used_also_where_nothing_is_held_against_it() {
    let (memory, _) = memory().await;
    run_once(&memory, "Export the user table", "a", &Outcome::answered("done")).await;
    let session = begin(&memory, "Export the price table").await;
    assert!(matches!(session.decide(&View::default()).await, Decision::Forward { .. }));
    session.tracker().record("a", json!({}), "done");
    session.tracker().record("b", json!({}), "done");
    let report = session.finish(&Outcome::answered("done").with_verdict(Some(Verdict::Failure))).await;
    // The run did more than the record says, so the record is not blamed; but it was followed.
    let skill = skills(&memory).await.remove(0);
    assert_eq!((skill.usage.harm, skill.usage.reuse_count), (0, 0));
    assert_eq!(memory.run(&report.run_id).await.unwrap().used, [skill.id]);
    let record = ledger(&memory).await.records.remove(0);
    assert_eq!((record.followed, record.help, record.harm), (1, 0, 1));
}
