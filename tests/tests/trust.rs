//! What makes a procedure confirmed or verified, and what replays under which trust.

use learnkit::config::ReplayTrust;
use learnkit::conversation::RecordedRun;
use learnkit::engine::Outcome;
use learnkit::lifecycle::WorldCheck;
use learnkit::record::{Status, Trust};
use learnkit::run::{CallDraft, Mode, Verdict};
use learnkit::tool::ToolAnnotations;
use learnkit::{BoxError, LearnKit, Task};
use learnkit_tests::bank::{PAY, bank, clock, effect, find_and_pay, paid_after, pay_only, plan_by_hand, read, trusts};
use learnkit_tests::{Script, memory, nobody, run, skills};
use serde_json::json;

async fn careful() -> LearnKit {
    learnkit_tests::builder(&clock()).replay_trust(ReplayTrust::Careful).build().await.unwrap()
}

#[tokio::test]
async fn f31_one_lucky_run_under_careful_is_only_a_draft() {
    let (memory, world) = (careful().await, bank());
    let first = run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
    assert_eq!((first.trust, skills(&memory).await[0].status), (Some(Trust::Unverified), Status::Probation));
    let second = run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
    assert_eq!((second.mode, second.trust), (Mode::Guide, Some(Trust::Confirmed)));
    assert!(second.reason.contains("it is unverified and needs a second planned run"), "{}", second.reason);
    let third = run(&memory, PAY, &world, &nobody()).await.unwrap();
    assert!(third.replayed, "{}", third.reason);
    assert_eq!((third.trust, third.world_check), (Some(Trust::Confirmed), Some(WorldCheck::Read)));
}

#[tokio::test]
async fn careful_replays_what_only_reads_unverified() {
    let (memory, world) = (careful().await, bank());
    run(&memory, PAY, &world, &Script::new([("find", json!({}))], "due")).await.unwrap();
    let second = run(&memory, PAY, &world, &nobody()).await.unwrap();
    assert!(second.replayed, "{}", second.reason);
    assert_eq!((second.trust, second.world_check), (Some(Trust::Unverified), Some(WorldCheck::ReadOnly)));
}

#[tokio::test]
async fn careful_refuses_an_effect_that_nothing_is_read_before_even_verified() {
    let (memory, world) = (careful().await, bank());
    let first = run(&memory, PAY, &world, &pay_only()).await.unwrap();
    run(&memory, PAY, &world, &pay_only()).await.unwrap();
    memory.report_success(&first.run_id).await.unwrap();
    assert_eq!(trusts(&skills(&memory).await), [Trust::Verified]);
    let third = run(&memory, PAY, &world, &pay_only()).await.unwrap();
    assert!(!third.replayed && third.reason.contains("unchecked"), "{}", third.reason);
    let inspection = memory.inspect(PAY).await.unwrap();
    assert!(inspection.candidates[0].note.contains("unchecked"), "{}", inspection.candidates[0].note);
    assert!(inspection.playbook.text.contains("[SKILL, verified, unchecked"), "{}", inspection.playbook.text);
}

#[tokio::test]
async fn an_environment_digest_is_a_check_and_part_of_the_task() {
    let (memory, world) = (careful().await, bank());
    let agent = memory.agent_learn("payer").tools(world.tools()).wrap({
        let world = world.clone();
        move |run| {
            world.calls();
            let call = CallDraft::new("pay", json!({"invoice": 7})).with_annotations(effect());
            run.tracker().begin(call).finish("done".into(), None);
            async { Ok::<_, BoxError>("paid".to_owned()) }
        }
    });
    world.set("pay", json!("done"));
    let task = |digest: &str| Task::new(PAY).with_environment(digest);
    agent.call(task("v1")).await.unwrap();
    agent.call(task("v1")).await.unwrap();
    let third = agent.call(task("v1")).await.unwrap();
    assert!(third.replayed, "{}", third.reason);
    assert_eq!(third.world_check, Some(WorldCheck::Environment));
    assert!(!agent.call(task("v2")).await.unwrap().replayed, "another world is another task");
}

#[tokio::test]
async fn an_unchecked_replay_says_so() {
    let (memory, _) = memory().await;
    let world = bank();
    run(&memory, PAY, &world, &pay_only()).await.unwrap();
    let inspection = memory.inspect(PAY).await.unwrap();
    assert_eq!(inspection.world_check, Some(WorldCheck::Unchecked));
    let second = run(&memory, PAY, &world, &nobody()).await.unwrap();
    assert!(second.replayed && second.reason.ends_with("unchecked"), "{}", second.reason);
    let stored = memory.run(&second.run_id).await.unwrap();
    assert_eq!(stored.world_check, Some(WorldCheck::Unchecked));
}

#[tokio::test]
async fn two_planned_runs_with_the_same_calls_confirm() {
    let (memory, _) = memory().await;
    for trust in [Trust::Unverified, Trust::Confirmed] {
        let calls = [("ping", json!({}), ToolAnnotations::default())];
        let report = plan_by_hand(&memory, &calls, &Outcome::answered("up")).await;
        assert_eq!(report.trust, Some(trust));
    }
    assert_eq!(trusts(&skills(&memory).await), [Trust::Confirmed]);
}

#[tokio::test]
async fn the_same_effects_after_other_reads_confirm_both() {
    let (memory, _) = memory().await;
    plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
    let second = plan_by_hand(&memory, &paid_after("peek"), &Outcome::answered("paid")).await;
    assert_eq!(second.trust, Some(Trust::Confirmed));
    assert_eq!(trusts(&skills(&memory).await), [Trust::Confirmed; 2]);
    assert_eq!(second.learned.iter().filter(|note| note.change.contains("the same effects")).count(), 1);
    // Only what was taught is verified by a report; the other keeps what the runs say of each other.
    memory.report_success(&second.run_id).await.unwrap();
    let mut after = trusts(&skills(&memory).await);
    after.sort();
    assert_eq!(after, [Trust::Confirmed, Trust::Verified]);
}

#[tokio::test]
async fn the_siblings_of_a_session_that_has_decided_are_confirmed_too() {
    let (memory, _) = memory().await;
    let memory = {
        let builder = learnkit_tests::builder(&clock()).store(memory.store().clone());
        builder.replay_trust(ReplayTrust::Careful).build().await.unwrap()
    };
    let world = bank();
    run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
    let other = Script::new([("peek", json!({})), ("pay", json!({"invoice": 7}))], "paid");
    let second = run(&memory, PAY, &world, &other).await.unwrap();
    assert_eq!((second.mode, second.trust), (Mode::Guide, Some(Trust::Confirmed)));
    assert_eq!(trusts(&skills(&memory).await), [Trust::Confirmed; 2]);
}

#[tokio::test]
async fn effects_that_are_not_stated_other_effects_and_reads_alone_confirm_nothing() {
    let unknown = ToolAnnotations::default();
    let other = [("find", json!({}), read()), ("pay", json!({"invoice": 8}), effect())];
    let unstated = [("look", json!({}), unknown), ("pay", json!({"invoice": 7}), effect())];
    for (first, second) in [
        (paid_after("find").to_vec(), other.to_vec()),
        (paid_after("find").to_vec(), unstated.to_vec()),
        (vec![("find", json!({}), read())], vec![("peek", json!({}), read())]),
    ] {
        let (memory, _) = memory().await;
        plan_by_hand(&memory, &first, &Outcome::answered("paid")).await;
        plan_by_hand(&memory, &second, &Outcome::answered("paid")).await;
        assert_eq!(trusts(&skills(&memory).await), [Trust::Unverified; 2]);
    }
}

#[tokio::test]
async fn a_run_that_failed_its_gate_confirms_nothing() {
    let (memory, _) = memory().await;
    plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
    plan_by_hand(&memory, &paid_after("find"), &Outcome::failed("gave up")).await;
    plan_by_hand(&memory, &paid_after("peek"), &Outcome::failed("gave up")).await;
    assert_eq!(trusts(&skills(&memory).await), [Trust::Unverified]);
}

#[tokio::test]
async fn a_replay_does_not_confirm() {
    let (memory, _) = memory().await;
    let world = bank();
    run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
    for _ in 0..3 {
        assert!(run(&memory, PAY, &world, &nobody()).await.unwrap().replayed);
    }
    assert_eq!(trusts(&skills(&memory).await), [Trust::Unverified]);
}

#[tokio::test]
async fn a_run_that_memory_planned_in_part_does_not_confirm() {
    let (memory, _) = memory().await;
    let world = bank();
    run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
    // Another shape than was seen: the replay stops after the call, and the planner only words the answer.
    world.set("pay", json!("paid twice?"));
    let second = run(&memory, PAY, &world, &Script::new([], "paid")).await.unwrap();
    assert!(!second.replayed && second.reason.starts_with("replay stopped"), "{}", second.reason);
    let skill = &skills(&memory).await[0];
    assert_eq!(
        (skill.trust, skill.usage.successes),
        (Trust::Unverified, 2),
        "the same calls passed, planned by memory"
    );
}

#[tokio::test]
async fn a_recording_that_is_learned_again_does_not_confirm() {
    let (memory, clock) = memory().await;
    let recording = |id: &str| {
        let call = CallDraft::new("pay", json!({"invoice": 7})).with_annotations(effect());
        let tracker = learnkit::run::ToolTracker::new(clock.clone());
        tracker.begin(call).finish("done".into(), None);
        RecordedRun {
            task: Task::new(PAY),
            run_id: learnkit::record::RunId::new(id).unwrap(),
            calls: tracker.calls(),
            answer: Some("paid".to_owned()),
            verdict: None,
            origin: "a.jsonl:1".to_owned(),
            started: "2026-01-05T08:00:00Z".parse().unwrap(),
        }
    };
    let first = memory.learn_recorded(recording("a")).await.unwrap().unwrap();
    assert!(memory.learn_recorded(recording("a")).await.unwrap().is_none());
    memory.forget_run(&first.run_id).await.unwrap();
    memory.learn_recorded(recording("a")).await.unwrap().unwrap();
    assert_eq!(trusts(&skills(&memory).await), [Trust::Unverified], "it is the same run, though it was forgotten");
    memory.learn_recorded(recording("b")).await.unwrap().unwrap();
    assert_eq!(trusts(&skills(&memory).await), [Trust::Confirmed]);
}

#[tokio::test]
async fn a_failure_report_retires_what_did_the_same_and_the_next_run_is_planned() {
    let (memory, _) = memory().await;
    let first = plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
    plan_by_hand(&memory, &paid_after("peek"), &Outcome::answered("paid")).await;
    assert_eq!(trusts(&skills(&memory).await), [Trust::Confirmed; 2]);
    memory.report_failure(&first.run_id).await.unwrap();
    let after = skills(&memory).await;
    assert!(after.iter().all(|record| record.status == Status::Retired && record.trust == Trust::Unverified));
    let next = run(&memory, PAY, &bank(), &find_and_pay()).await.unwrap();
    assert!(!next.replayed, "{}", next.reason);
    // Neither tool outcomes nor a second run bring it back.
    assert_eq!(trusts(&skills(&memory).await), [Trust::Unverified; 2]);
}

#[tokio::test]
async fn a_planned_run_that_the_caller_calls_a_failure_retires_its_own_calls_and_effects() {
    let (memory, _) = memory().await;
    plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
    let failed = Outcome::answered("paid").with_verdict(Some(Verdict::Failure));
    plan_by_hand(&memory, &paid_after("peek"), &failed).await;
    let skill = &skills(&memory).await[0];
    assert_eq!((skill.status, skill.usage.harm), (Status::Retired, 1));
}

#[tokio::test]
async fn a_success_that_was_reported_stands_against_the_failure_of_a_sibling() {
    let (memory, _) = memory().await;
    let success = Outcome::answered("paid").with_verdict(Some(Verdict::Success));
    plan_by_hand(&memory, &paid_after("find"), &success).await;
    let failed = Outcome::answered("paid").with_verdict(Some(Verdict::Failure));
    plan_by_hand(&memory, &paid_after("peek"), &failed).await;
    let skill = &skills(&memory).await[0];
    assert_eq!((skill.trust, skill.usage.harm), (Trust::Verified, 1));
    assert!(skill.status != Status::Retired);
}

#[tokio::test]
async fn a_success_report_does_not_verify_the_replay_that_stopped() {
    let (memory, _) = memory().await;
    let world = bank();
    run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
    world.set("find", learnkit_tests::Reply::Error("down".to_owned()));
    let script = Script::new([("peek", json!({})), ("pay", json!({"invoice": 9}))], "paid");
    let second = run(&memory, PAY, &world, &script).await.unwrap();
    memory.report_success(&second.run_id).await.unwrap();
    for skill in skills(&memory).await {
        let solved = skill.procedure().unwrap().tools() == ["peek", "pay"];
        assert_eq!(skill.trust, if solved { Trust::Verified } else { Trust::Unverified });
    }
}

#[tokio::test]
async fn careful_replays_nothing_while_runs_disagree_about_what_to_change() {
    let (memory, world) = (careful().await, bank());
    let looked = [("find", json!({"invoice": 7}), read())];
    plan_by_hand(&memory, &looked, &Outcome::answered("it is paid already")).await;
    assert_eq!(memory.inspect(PAY).await.unwrap().mode, Mode::Replay);
    // Another run paid: one of the two was wrong.
    let paid = plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
    let inspection = memory.inspect(PAY).await.unwrap();
    assert_eq!(inspection.mode, Mode::Guide);
    let notes: Vec<&str> = inspection.candidates.iter().map(|candidate| candidate.note.as_str()).collect();
    assert!(notes.iter().any(|note| note.contains("changed the world otherwise")), "{notes:?}");
    // Whoever is trusted more decides: first by a second planned run, then by a report.
    plan_by_hand(&memory, &paid_after("peek"), &Outcome::answered("paid")).await;
    assert_eq!(memory.inspect(PAY).await.unwrap().mode, Mode::Replay);
    plan_by_hand(&memory, &looked, &Outcome::answered("it is paid already")).await;
    assert_eq!(memory.inspect(PAY).await.unwrap().mode, Mode::Guide, "both are confirmed");
    memory.report_success(&paid.run_id).await.unwrap();
    assert_eq!(memory.inspect(PAY).await.unwrap().mode, Mode::Replay);
    ["find", "pay"].into_iter().for_each(|tool| world.set(tool, json!("done")));
    let report = run(&memory, PAY, &world, &nobody()).await.unwrap();
    assert_eq!((report.replayed, report.tool_calls), (true, 2), "{}", report.reason);
    // Without the setting nothing is disputed.
    let (loose, _) = learnkit_tests::memory().await;
    plan_by_hand(&loose, &looked, &Outcome::answered("it is paid already")).await;
    plan_by_hand(&loose, &paid_after("find"), &Outcome::answered("paid")).await;
    assert_eq!(loose.inspect(PAY).await.unwrap().mode, Mode::Replay);
}
