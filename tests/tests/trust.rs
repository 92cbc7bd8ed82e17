//! What makes a procedure confirmed or verified, and what replays under which trust.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use learnkit::config::{ReplayTrust, Settings};
use learnkit::conversation::RecordedRun;
use learnkit::engine::{Outcome, ReactOptions, SessionOptions, View};
use learnkit::hook::{FinishedRun, PlannedReplay, Precheck, PrecheckAnswer, Verifier};
use learnkit::lifecycle::WorldCheck;
use learnkit::record::{Kind, Record, Status, Trust};
use learnkit::run::{CallDraft, GateSource, Mode, Verdict};
use learnkit::tool::ToolAnnotations;
use learnkit::{BoxError, ErrorKind, LearnKit, RunReport, Task, async_trait, run_react_agent};
use learnkit_core::testing::ManualClock;
use learnkit_tests::{Script, World, memory, nobody, of_kind, run, skills};
use serde_json::{Value, json};

const PAY: &str = "Pay invoice 7";

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new("2026-01-05T08:00:00Z".parse().unwrap()))
}

async fn careful() -> LearnKit {
    learnkit_tests::builder(&clock()).replay_trust(ReplayTrust::Careful).build().await.unwrap()
}

/// A bank: `find` and `peek` read, `pay` changes, `ping` says nothing of itself.
fn bank() -> World {
    let tools = [
        ("find", json!({"due": true})),
        ("peek", json!("ok")),
        ("pay", json!({"paid": true})),
        ("ping", json!("pong")),
    ];
    let world = World::new(tools);
    let reads = ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() };
    world.annotate("find", reads);
    world.annotate("peek", reads);
    world.annotate("pay", ToolAnnotations { idempotent: Some(true), ..ToolAnnotations::default() });
    world
}

fn find_and_pay() -> Script {
    Script::new([("find", json!({"invoice": 7})), ("pay", json!({"invoice": 7}))], "paid")
}

fn pay_only() -> Script {
    Script::new([("pay", json!({"invoice": 7}))], "paid")
}

/// A planned run that peeks before it pays, whatever memory would replay: it makes the calls itself.
async fn plan_by_hand(memory: &LearnKit, calls: &[(&str, Value, ToolAnnotations)], outcome: &Outcome) -> RunReport {
    let session = memory.session(Task::new(PAY), SessionOptions::default()).unwrap();
    for (tool, arguments, annotations) in calls {
        let call = CallDraft::new(*tool, arguments.clone()).with_annotations(*annotations);
        session.observe(call, Ok("done".into()));
    }
    session.finish(outcome).await
}

fn read() -> ToolAnnotations {
    ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() }
}

fn effect() -> ToolAnnotations {
    ToolAnnotations { idempotent: Some(true), ..ToolAnnotations::default() }
}

fn paid_after(reading: &'static str) -> [(&'static str, Value, ToolAnnotations); 2] {
    [(reading, json!({"invoice": 7}), read()), ("pay", json!({"invoice": 7}), effect())]
}

fn trusts(records: &[Record]) -> Vec<Trust> {
    records.iter().map(|record| record.trust).collect()
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
    world.set("pay", learnkit_tests::Reply::Error("busy".to_owned()));
    let tools = world.tools();
    let planner = Script::new([("find", json!({"invoice": 7})), ("ping", json!({}))], "later");
    let stopped = run_react_agent(&memory, PAY, &tools, &planner, ReactOptions::default()).await.unwrap();
    assert!(!stopped.replayed);
    assert!(skills(&memory).await.iter().all(|record| record.trust == Trust::Unverified));
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

/// A verifier that does as it is told, and counts how often it was asked.
#[derive(Debug)]
struct Told {
    says: Says,
    asked: AtomicU32,
}

#[derive(Debug, Clone, Copy)]
enum Says {
    Verdict(Option<Verdict>),
    Error,
    Panic,
    Nothing,
}

impl Told {
    fn new(says: Says) -> Arc<Self> {
        Arc::new(Self { says, asked: AtomicU32::new(0) })
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Verifier for Told {
    async fn verify(&self, run: &FinishedRun<'_>) -> Result<Option<Verdict>, BoxError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        assert!(!run.calls.is_empty() && run.task.text() == PAY);
        match self.says {
            Says::Verdict(verdict) => Ok(verdict),
            Says::Error => Err("the ledger is locked".into()),
            Says::Panic => panic!("the test wants a panic"),
            Says::Nothing => std::future::pending().await,
        }
    }
}

async fn verified_by(verifier: &Arc<Told>) -> LearnKit {
    let settings = Settings { hook_deadline: Duration::from_millis(20), ..Settings::default() };
    learnkit_tests::builder(&clock()).settings(settings).verifier(verifier.clone()).build().await.unwrap()
}

#[tokio::test]
async fn a_verifier_stands_over_tool_outcomes() {
    let verifier = Told::new(Says::Verdict(Some(Verdict::Failure)));
    let memory = verified_by(&verifier).await;
    let report = plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
    assert_eq!((report.gate.source, report.gate.score), (GateSource::Verifier, Some(0.0)));
    assert_eq!((skills(&memory).await.len(), of_kind(&memory, Kind::Failure).await.len()), (0, 1));

    let memory = verified_by(&Told::new(Says::Verdict(Some(Verdict::Success)))).await;
    let report = plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
    assert_eq!((report.gate.source, report.trust), (GateSource::Verifier, Some(Trust::Verified)));
}

#[tokio::test]
async fn the_caller_stands_over_the_verifier() {
    let verifier = Told::new(Says::Verdict(Some(Verdict::Failure)));
    let memory = verified_by(&verifier).await;
    let success = Outcome::answered("paid").with_verdict(Some(Verdict::Success));
    let report = plan_by_hand(&memory, &paid_after("find"), &success).await;
    assert_eq!((report.gate.source, report.trust, verifier.asked()), (GateSource::Caller, Some(Trust::Verified), 0));
    // Later too.
    let failed = plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
    assert_eq!(skills(&memory).await[0].status, Status::Retired);
    assert_eq!((failed.gate.source, verifier.asked()), (GateSource::Verifier, 1));
    memory.report_success(&report.run_id).await.unwrap();
    assert_eq!(trusts(&skills(&memory).await), [Trust::Verified]);
    assert!(memory.inspect(PAY).await.unwrap().mode == Mode::Replay);
}

#[tokio::test]
async fn a_replay_that_the_verifier_calls_a_failure_retires_its_procedure_at_once() {
    let (plain, clock) = memory().await;
    let world = bank();
    run(&plain, PAY, &world, &find_and_pay()).await.unwrap();
    let verifier = Told::new(Says::Verdict(Some(Verdict::Failure)));
    let builder = learnkit_tests::builder(&clock).store(plain.store().clone());
    let memory = builder.verifier(verifier.clone()).build().await.unwrap();
    assert!(run(&memory, PAY, &world, &nobody()).await.unwrap().replayed);
    let skill = &skills(&memory).await[0];
    assert_eq!(
        (skill.status, skill.status_reason.as_str()),
        (Status::Retired, "the caller or a verifier reported failure")
    );
    assert!(!run(&plain, PAY, &world, &find_and_pay()).await.unwrap().replayed);
}

#[tokio::test]
async fn a_verifier_that_fails_panics_hangs_or_does_not_know_leaves_tool_outcomes() {
    for (says, warning) in [
        (Says::Error, Some("the verifier failed: the ledger is locked")),
        (Says::Panic, Some("the verifier panicked")),
        (Says::Nothing, Some("the verifier did not answer within 20 ms")),
        (Says::Verdict(None), None),
    ] {
        let verifier = Told::new(says);
        let memory = verified_by(&verifier).await;
        let report = plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
        assert_eq!((report.gate.source, report.trust), (GateSource::ToolOutcomes, Some(Trust::Unverified)), "{says:?}");
        match warning {
            Some(warning) => assert!(report.warnings[0].starts_with(warning), "{:?}", report.warnings),
            None => assert_eq!(report.warnings, Vec::<String>::new()),
        }
        assert_eq!(verifier.asked(), 1);
    }
}

#[tokio::test]
async fn f32_a_run_that_the_environment_cut_short_is_no_negative_skill_and_not_verified() {
    let verifier = Told::new(Says::Verdict(Some(Verdict::Failure)));
    let memory = verified_by(&verifier).await;
    let agent = memory.agent_learn("payer").wrap(|run| async move {
        run.tracker().record_failure("pay", json!({"invoice": 7}), "network is down");
        Err::<String, _>(learnkit::Error::new(ErrorKind::Unavailable, "network is down").retryable())
    });
    agent.call(PAY).await.unwrap_err();
    assert_eq!(verifier.asked(), 0);
    for kind in [Kind::Failure, Kind::Skill, Kind::Heuristic] {
        assert_eq!(of_kind(&memory, kind).await, []);
    }
    assert_eq!(of_kind(&memory, Kind::Trace).await.len(), 1, "that it happened is known");
}

#[tokio::test]
async fn f32_an_outage_in_a_replay_of_one_step_hands_over_and_the_next_planned_success_clears_it() {
    let (memory, _) = memory().await;
    let world = bank();
    run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
    let agent = memory.with_agent(memory.agent().clone());
    let session = agent.session(Task::new(PAY), SessionOptions::default()).unwrap();
    session.decide(&View::default()).await;
    session.finish(&Outcome::interrupted("network is down")).await;
    assert_eq!(of_kind(&memory, Kind::Failure).await, []);
    assert!(run(&memory, PAY, &world, &nobody()).await.unwrap().replayed, "nobody is blamed");
}

/// A precheck that does as it is told, and keeps the plans that it saw.
#[derive(Debug)]
struct Guard {
    says: Says,
    plans: std::sync::Mutex<Vec<Vec<String>>>,
}

impl Guard {
    fn new(says: Says) -> Arc<Self> {
        Arc::new(Self { says, plans: std::sync::Mutex::default() })
    }

    fn plans(&self) -> Vec<Vec<String>> {
        self.plans.lock().unwrap().clone()
    }
}

#[async_trait]
impl Precheck for Guard {
    async fn check(&self, replay: &PlannedReplay<'_>) -> Result<PrecheckAnswer, BoxError> {
        let plan = replay.calls.iter().map(|call| format!("{} {}", call.tool, call.arguments));
        self.plans.lock().unwrap().push(plan.collect());
        match self.says {
            Says::Verdict(Some(Verdict::Success)) => Ok(PrecheckAnswer::Pass),
            Says::Verdict(_) => Ok(PrecheckAnswer::Refuse("invoice 7 is paid already".to_owned())),
            Says::Error => Err("the ledger is locked".into()),
            Says::Panic => panic!("the test wants a panic"),
            Says::Nothing => std::future::pending().await,
        }
    }
}

async fn guarded_by(precheck: &Arc<Guard>, trust: ReplayTrust) -> LearnKit {
    let settings = Settings { hook_deadline: Duration::from_millis(20), replay_trust: trust, ..Settings::default() };
    learnkit_tests::builder(&clock()).settings(settings).precheck(precheck.clone()).build().await.unwrap()
}

#[tokio::test]
async fn a_precheck_that_does_not_pass_makes_no_call_and_guides_with_its_reason() {
    for (says, reason) in [
        (Says::Verdict(None), "the precheck refused: invoice 7 is paid already"),
        (Says::Error, "the precheck failed: the ledger is locked"),
        (Says::Panic, "the precheck panicked"),
        (Says::Nothing, "the precheck did not answer within 20 ms"),
    ] {
        let memory = guarded_by(&Guard::new(says), ReplayTrust::ToolOutcome).await;
        let world = bank();
        run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
        world.calls();
        let second = run(&memory, PAY, &world, &Script::new([], "nothing to do")).await.unwrap();
        assert_eq!((second.mode, world.calls()), (Mode::Guide, Vec::new()), "{says:?}");
        assert!(second.reason.contains(reason), "{}", second.reason);
    }
}

#[tokio::test]
async fn f22_a_replay_that_the_host_declines_is_no_failure_and_is_asked_about_once() {
    let precheck = Guard::new(Says::Verdict(None));
    let memory = guarded_by(&precheck, ReplayTrust::ToolOutcome).await;
    let world = bank();
    run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
    let before = skills(&memory).await;
    let session = memory.session(Task::new(PAY), SessionOptions::default()).unwrap();
    for _ in 0..3 {
        session.decide(&View::default()).await;
    }
    session.finish(&Outcome::answered("nothing to do")).await;
    let plan = vec![r#"find {"invoice":7}"#.to_owned(), r#"pay {"invoice":7}"#.to_owned()];
    assert_eq!(precheck.plans(), [plan]);
    assert_eq!(skills(&memory).await, before);
    assert_eq!(of_kind(&memory, Kind::Failure).await, []);
}

#[tokio::test]
async fn a_precheck_that_passes_is_a_check_for_careful() {
    let memory = guarded_by(&Guard::new(Says::Verdict(Some(Verdict::Success))), ReplayTrust::Careful).await;
    let world = bank();
    run(&memory, PAY, &world, &pay_only()).await.unwrap();
    run(&memory, PAY, &world, &pay_only()).await.unwrap();
    let third = run(&memory, PAY, &world, &nobody()).await.unwrap();
    assert!(third.replayed, "{}", third.reason);
    assert_eq!(third.world_check, Some(WorldCheck::Precheck));
}

#[tokio::test]
async fn a_broken_precheck_is_asked_once_however_many_procedures_there_are() {
    let precheck = Guard::new(Says::Error);
    let memory = guarded_by(&precheck, ReplayTrust::ToolOutcome).await;
    plan_by_hand(&memory, &paid_after("find"), &Outcome::answered("paid")).await;
    plan_by_hand(&memory, &paid_after("peek"), &Outcome::answered("paid")).await;
    assert_eq!(memory.inspect(PAY).await.unwrap().mode, Mode::Guide);
    assert_eq!(precheck.plans().len(), 1);
}
