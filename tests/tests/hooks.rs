//! What a verifier and a precheck of the host change, and what they cannot.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use learnkit::config::{ReplayTrust, Settings};
use learnkit::engine::{Outcome, SessionOptions, View};
use learnkit::hook::{FinishedRun, PlannedReplay, Precheck, PrecheckAnswer, Verifier};
use learnkit::lifecycle::WorldCheck;
use learnkit::record::{Kind, Status, Trust};
use learnkit::run::{GateSource, Mode, Verdict};
use learnkit::{BoxError, ErrorKind, LearnKit, Task, async_trait};
use learnkit_tests::bank::{PAY, bank, clock, find_and_pay, paid_after, pay_only, plan_by_hand, trusts};
use learnkit_tests::{Script, memory, nobody, of_kind, run, skills};
use serde_json::json;

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
