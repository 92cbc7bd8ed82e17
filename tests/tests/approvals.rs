//! Approvals and policies: what a replay may do on its own, what it asks for, and that what was approved is
//! what is sent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use learnkit::config::{Config, ReplayPolicy, Settings};
use learnkit::engine::{Builder, Decision, Outcome, PlannerReply, Run, Session, SessionOptions, ToolRequest, View};
use learnkit::hook::{Approval, ApprovalRequest, Approver, CallDigest};
use learnkit::record::Kind;
use learnkit::replay::StopCause;
use learnkit::run::{Arguments, CallDraft, Mode};
use learnkit::tool::{EffectClass, ToolAnnotations, ToolManifest};
use learnkit::{BoxError, LearnKit, Task, async_trait};
use learnkit_tests::bank::{PAY, bank, clock, effect, find_and_pay, read};
use learnkit_tests::{Script, World, nobody, of_kind, run, skills};
use serde_json::json;
use tokio::sync::Semaphore;

/// Somebody who approves calls, and what it was asked.
#[derive(Debug)]
struct Desk {
    says: Mutex<Says>,
    asked: Mutex<Vec<String>>,
    /// Answers are given while there is a permit.
    open: Semaphore,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Says {
    Yes,
    No,
    YesToAnother,
    Error,
    Panic,
    Nothing,
}

impl Desk {
    fn new(says: Says) -> Arc<Self> {
        Arc::new(Self { says: Mutex::new(says), asked: Mutex::default(), open: Semaphore::new(Semaphore::MAX_PERMITS) })
    }

    /// One that does not answer before [`Semaphore::add_permits`].
    fn closed() -> Arc<Self> {
        Arc::new(Self { says: Mutex::new(Says::Yes), asked: Mutex::default(), open: Semaphore::new(0) })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Approver for Desk {
    async fn approve(&self, request: &ApprovalRequest<'_>) -> Result<Approval, BoxError> {
        assert!(request.call.open.is_empty(), "an argument is open");
        self.asked.lock().unwrap().push(format!("{} {}", request.call.tool, request.call.arguments));
        let _open = self.open.acquire().await?;
        let says = *self.says.lock().unwrap();
        match says {
            Says::Yes => Ok(request.grant()),
            Says::No => Ok(Approval::Denied("more than I owe".to_owned())),
            Says::YesToAnother => {
                let other = Arguments::from(json!({"invoice": 8}));
                Ok(Approval::Granted(CallDigest::of(&request.call.tool, &other)))
            }
            Says::Error => Err("the desk is closed".into()),
            Says::Panic => panic!("the test wants a panic"),
            Says::Nothing => std::future::pending().await,
        }
    }
}

fn builder() -> Builder {
    let settings = Settings { approval_deadline: Duration::from_millis(40), ..Settings::default() };
    learnkit_tests::builder(&clock()).settings(settings)
}

fn asks() -> ToolAnnotations {
    ToolAnnotations { requires_approval: true, ..effect() }
}

/// A bank where each payment needs an approval.
fn strict_bank() -> World {
    let world = bank();
    world.annotate("pay", asks());
    world
}

/// A memory that has learned to pay there.
async fn taught(builder: Builder) -> (LearnKit, World) {
    let memory = builder.build().await.unwrap();
    let world = strict_bank();
    run(&memory, PAY, &world, &find_and_pay()).await.unwrap();
    world.calls();
    (memory, world)
}

const FIND: &str = r#"find {"invoice":7}"#;
const PAY_7: &str = r#"pay {"invoice":7}"#;

#[tokio::test]
async fn f22_what_was_approved_is_what_is_sent_to_the_byte() {
    let desk = Desk::new(Says::Yes);
    let memory = builder().approver(desk.clone()).build().await.unwrap();
    let world = World::new([("newest", json!({"id": "order_1001"})), ("refund", json!({"ok": true}))]);
    world.annotate("newest", read());
    world.annotate("refund", asks());
    let planner = Script::new([("newest", json!({})), ("refund", json!({"order": "order_1001"}))], "refunded");
    run(&memory, "Refund the newest order", &world, &planner).await.unwrap();
    assert_eq!(desk.asked(), Vec::<String>::new(), "a planned run asks nothing");
    world.calls();
    // Another order: the argument is bound before anybody is asked.
    world.set("newest", json!({"id": "order_2002"}));
    let report = run(&memory, "Refund the newest order", &world, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    let sent = r#"refund {"order":"order_2002"}"#;
    assert_eq!(world.calls(), ["newest {}", sent]);
    assert_eq!(desk.asked(), [sent]);
}

#[tokio::test]
async fn what_nobody_approved_is_not_sent_and_the_planner_is_told() {
    for (says, reason) in [
        (Says::No, "the approver denied it: more than I owe"),
        (Says::YesToAnother, "the approver granted another call than this one"),
        (Says::Error, "the approver failed: the desk is closed"),
        (Says::Panic, "the approver panicked"),
        (Says::Nothing, "the approver did not answer within 40 ms"),
    ] {
        let desk = Desk::new(says);
        let (memory, world) = taught(builder().approver(desk.clone())).await;
        let before = skills(&memory).await;
        let planner = Script::new([], "not paid");
        let report = run(&memory, PAY, &world, &planner).await.unwrap();
        assert_eq!((world.calls(), desk.asked()), (vec![FIND.to_owned()], vec![PAY_7.to_owned()]), "{says:?}");
        assert_eq!((report.mode, report.replayed, planner.asked()), (Mode::Guide, false, 1));
        assert_eq!(report.reason, format!("replay stopped at step 2: `pay` was not approved: {reason}"));
        let told = &planner.playbooks()[0];
        assert!(told.contains("1. find({\"invoice\":7}) -> {\"due\":true}"), "{told}");
        assert!(
            told.contains(&format!(
                "not approved; do not make it, nor the same in another way:\n- pay({{\"invoice\":7}}): {reason}"
            )),
            "{told}"
        );
        let stopped = report.replay.unwrap().stopped.unwrap();
        assert_eq!((stopped.step, stopped.cause, stopped.is_at_fault()), (1, StopCause::Declined, false));
        // A decline is no failure: nobody is blamed, and the next run asks again.
        let now = skills(&memory).await;
        assert_eq!(before[0].usage, now[0].usage, "{says:?}");
        assert_eq!(of_kind(&memory, Kind::Failure).await, []);
        *desk.says.lock().unwrap() = Says::Yes;
        let report = run(&memory, PAY, &world, &nobody()).await.unwrap();
        assert!(report.replayed, "{says:?}: {}", report.reason);
        assert_eq!(desk.asked().len(), 2);
    }
}

#[tokio::test]
async fn what_was_denied_is_not_made_for_the_planner_either() {
    for (says, paid) in [(Says::No, 0), (Says::Error, 1)] {
        let (memory, world) = taught(builder().approver(Desk::new(says))).await;
        let other = Script::of([
            PlannerReply::call("pay", json!({"invoice": 7})),
            PlannerReply::call("pay", json!({"invoice": 8})),
            PlannerReply::answer("paid what I could"),
        ]);
        run(&memory, PAY, &world, &other).await.unwrap();
        let made = world.calls();
        assert_eq!(made.iter().filter(|call| *call == PAY_7).count(), paid, "{says:?}: {made:?}");
        assert!(made.contains(&r#"pay {"invoice":8}"#.to_owned()), "another call is the planner's own affair");
    }
}

#[tokio::test]
async fn without_an_approver_nothing_that_needs_one_replays() {
    let (memory, world) = taught(builder()).await;
    let planner = Script::new([], "asked");
    let report = run(&memory, PAY, &world, &planner).await.unwrap();
    assert_eq!((world.calls(), report.mode, report.replay), (Vec::new(), Mode::Guide, None));
    let told = "step 2: `pay` needs an approval for each call, but there is nobody to ask; give `Builder::approver`";
    assert!(report.reason.contains(told), "{}", report.reason);
}

/// A session of [`PAY`] in which the look at the invoice is over.
async fn looked_up(memory: &LearnKit) -> Session {
    let session = memory.session(Task::new(PAY), SessionOptions::default()).unwrap();
    assert!(matches!(session.decide(&View::default()).await, Decision::Replay(_)));
    session.observe(CallDraft::new("find", json!({"invoice": 7})), Ok(json!({"due": true}).to_string().into()));
    session
}

#[tokio::test]
async fn a_host_that_makes_the_calls_itself_gets_no_step_without_its_approval() {
    let desk = Desk::new(Says::Yes);
    let (memory, _) = taught(builder().approver(desk.clone())).await;
    let session = looked_up(&memory).await;
    assert_eq!(desk.asked(), Vec::<String>::new());
    // However often it asks before it makes the call, and from however many places.
    for _ in 0..2 {
        let view = View::default();
        let (first, second) = tokio::join!(session.decide(&view), session.decide(&view));
        assert!(matches!(&first, Decision::Replay(calls) if calls[0].tool == "pay"));
        assert_eq!(first, second);
    }
    assert_eq!(desk.asked(), [PAY_7]);
    // Another key order or spacing is the same call.
    session.observe(CallDraft::new("pay", Arguments::from_raw("{ \"invoice\": 7 }")), Ok(r#"{"paid":true}"#.into()));
    assert!(matches!(session.decide(&View::default()).await, Decision::Answer { .. }));
    assert!(session.finish(&Outcome::answered("paid")).await.replayed);

    *desk.says.lock().unwrap() = Says::No;
    let session = looked_up(&memory).await;
    for _ in 0..3 {
        let Decision::Forward { reason, done, playbook } = session.decide(&View::default()).await else {
            panic!("a step without its approval was handed out")
        };
        assert!(reason.contains("more than I owe") && playbook.contains("Not made"), "{reason} {playbook}");
        assert_eq!(done.len(), 1);
    }
    assert_eq!(desk.asked().len(), 2);
}

#[tokio::test]
async fn a_call_that_was_made_without_its_approval_is_no_part_of_a_replay() {
    let (memory, _) = taught(builder().approver(Desk::new(Says::Yes))).await;
    let session = looked_up(&memory).await;
    session.observe(CallDraft::new("pay", json!({"invoice": 7})), Ok(r#"{"paid":true}"#.into()));
    let report = session.finish(&Outcome::answered("paid")).await;
    let stopped = report.replay.unwrap().stopped.unwrap();
    assert_eq!((report.replayed, stopped.cause), (false, StopCause::Declined));
    assert!(stopped.reason.contains("without its approval"), "{}", stopped.reason);
}

#[tokio::test]
async fn a_grant_is_used_up_by_one_call() {
    let desk = Desk::new(Says::Yes);
    let memory = builder().approver(desk.clone()).build().await.unwrap();
    let world = World::new([("add", json!("added"))]);
    let unknown = ToolAnnotations { requires_approval: true, ..ToolAnnotations::default() };
    world.annotate("add", unknown);
    let pen = || ToolRequest::new("add", json!({"sku": "pen"}));
    // One after the other, then two side by side.
    let planner = Script::of([
        PlannerReply { tool_calls: vec![pen()], ..PlannerReply::default() },
        PlannerReply { tool_calls: vec![pen(), pen()], ..PlannerReply::default() },
        PlannerReply::answer("three pens"),
    ]);
    run(&memory, "Add three pens", &world, &planner).await.unwrap();
    world.calls();
    let report = run(&memory, "Add three pens", &world, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!((world.calls().len(), desk.asked().len()), (3, 3));
}

#[tokio::test]
async fn what_happens_while_somebody_is_asked_counts() {
    let desk = Desk::closed();
    let settings = Settings { approval_deadline: Duration::from_mins(1), ..Settings::default() };
    let (memory, _) = taught(builder().settings(settings).approver(desk.clone())).await;
    let session = looked_up(&memory).await;
    let meanwhile = async {
        while desk.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        // The host does something of its own before the answer comes.
        session.observe(CallDraft::new("cancel", json!({"invoice": 7})), Ok("cancelled".into()));
        desk.open.add_permits(1);
    };
    let view = View::default();
    let (decision, ()) = tokio::join!(session.decide(&view), meanwhile);
    assert!(
        matches!(&decision, Decision::Forward { reason, .. } if reason.contains("`cancel` was called")),
        "{decision:?}"
    );
}

#[tokio::test]
async fn a_question_that_is_given_up_is_asked_again_and_leaves_nothing() {
    let desk = Desk::closed();
    let (memory, _) = taught(builder().approver(desk.clone())).await;
    let session = looked_up(&memory).await;
    assert!(tokio::time::timeout(Duration::from_millis(1), session.decide(&View::default())).await.is_err());
    desk.open.add_permits(1);
    assert!(matches!(session.decide(&View::default()).await, Decision::Replay(_)));
    assert_eq!(desk.asked(), [PAY_7, PAY_7]);
}

#[tokio::test]
async fn a_tool_that_asks_for_approvals_only_now_is_asked_about() {
    // Learned from a host that says nothing of its tools, so that no contract is known.
    let teach = async |memory: &LearnKit| {
        let session = memory.session(Task::new(PAY), SessionOptions::default()).unwrap();
        session.tracker().record("pay", json!({"invoice": 7}), r#"{"paid":true}"#);
        session.finish(&Outcome::answered("paid")).await;
    };
    let tools = ToolManifest::from([("pay", asks())]);
    let view = View { tools: Some(&tools), can_synthesize: false };
    let desk = Desk::new(Says::Yes);
    let memory = builder().approver(desk.clone()).build().await.unwrap();
    teach(&memory).await;
    let session = memory.session(Task::new(PAY), SessionOptions::default()).unwrap();
    assert!(matches!(session.decide(&view).await, Decision::Replay(_)));
    assert_eq!(desk.asked(), [PAY_7]);
    // Without an approver the tools are found out on the way, too.
    let memory = builder().build().await.unwrap();
    teach(&memory).await;
    let session = memory.session(Task::new(PAY), SessionOptions::default()).unwrap();
    assert!(matches!(session.decide(&View::default()).await, Decision::Replay(_)), "nobody said that it asks");
    let Decision::Forward { reason, .. } = session.decide(&view).await else { panic!("it was handed out") };
    assert!(reason.contains("nobody to ask"), "{reason}");
}

/// What became of a second run: whether it replayed, what was asked, and the reason.
async fn repeated(
    policy: ReplayPolicy,
    approver: Option<&Arc<Desk>>,
    world: &World,
    script: &Script,
) -> (bool, String) {
    let mut builder = builder().replay_policy(policy);
    if let Some(desk) = approver {
        builder = builder.approver((*desk).clone());
    }
    let memory = builder.build().await.unwrap();
    run(&memory, PAY, world, script).await.unwrap();
    let report = run(&memory, PAY, world, &nobody()).await.unwrap();
    (report.replayed, report.reason)
}

#[tokio::test]
async fn a_policy_says_what_replays_on_its_own() {
    let reads = || Script::new([("find", json!({"invoice": 7})), ("peek", json!({}))], "due");
    let unknown = || Script::new([("find", json!({"invoice": 7})), ("ping", json!({}))], "pinged");
    let [all, read_only, ask] = [ReplayPolicy::All, ReplayPolicy::ReadOnly, ReplayPolicy::Ask];
    for (policy, has_approver, script, replays, asked) in [
        (all, false, reads(), true, 0),
        (all, true, find_and_pay(), true, 0),
        (read_only, true, reads(), true, 0),
        (read_only, true, find_and_pay(), false, 0),
        (read_only, true, unknown(), false, 0),
        (ask, false, reads(), true, 0),
        (ask, false, find_and_pay(), false, 0),
        (ask, true, find_and_pay(), true, 1),
        (ask, true, unknown(), true, 1),
    ] {
        let desk = Desk::new(Says::Yes);
        let (replayed, reason) = repeated(policy, has_approver.then_some(&desk), &bank(), &script).await;
        assert_eq!((replayed, desk.asked().len()), (replays, asked), "{policy}: {reason}");
        if !replays {
            let why = format!("is not stated to only read, and `replay_policy` is `{policy}`");
            assert!(reason.contains(&why), "{reason}");
        }
    }
    // An approval does not stand over a policy that lets only reads through.
    let desk = Desk::new(Says::Yes);
    let (replayed, _) = repeated(read_only, Some(&desk), &strict_bank(), &find_and_pay()).await;
    assert_eq!((replayed, desk.asked()), (false, Vec::new()));
}

#[tokio::test]
async fn a_tool_that_does_not_only_read_any_more_is_no_read() {
    let manifest = |annotations| ToolManifest::from([("find", annotations)]);
    let memory = builder().replay_policy(ReplayPolicy::ReadOnly).build().await.unwrap();
    let session = memory.session(Task::new("Look"), SessionOptions::default()).unwrap();
    session.observe(CallDraft::new("find", json!({})).with_annotations(read()), Ok("found".into()));
    session.finish(&Outcome::answered("found")).await;
    for (annotations, replays) in [(read(), true), (ToolAnnotations::default(), false)] {
        let session = memory.session(Task::new("Look"), SessionOptions::default()).unwrap();
        let tools = manifest(annotations);
        let decision = session.decide(&View { tools: Some(&tools), can_synthesize: false }).await;
        assert_eq!(matches!(decision, Decision::Replay(_)), replays, "{decision:?}");
        drop(session);
    }
}

#[tokio::test]
async fn policy_and_deadline_are_settings() {
    let config = Config::parse("replay_policy = 'read_only'\napproval_deadline_ms = 7").unwrap();
    let memory = LearnKit::builder().backend("memory:").config(config).build().await.unwrap();
    let settings = memory.settings();
    assert_eq!((settings.replay_policy, settings.approval_deadline.as_millis()), (ReplayPolicy::ReadOnly, 7));
    assert_eq!(Settings::default().approval_deadline, Duration::from_mins(10), "a person has to be found");
    assert_eq!(memory.inspect("x").await.unwrap().replay_policy, ReplayPolicy::ReadOnly);
}

#[tokio::test]
async fn an_inspection_says_what_each_step_does_and_what_would_be_asked() {
    let (memory, _) = taught(builder().approver(Desk::new(Says::No))).await;
    let seen = memory.inspect(PAY).await.unwrap();
    let lines: Vec<_> = seen.plan.iter().map(|line| (line.tool.as_str(), line.effect, line.approval)).collect();
    assert_eq!(lines, [("find", EffectClass::ReadOnly, false), ("pay", EffectClass::Idempotent, true)]);
}

#[tokio::test]
async fn what_was_denied_is_not_made_by_the_agent_function_either() {
    let (memory, world) = taught(builder().approver(Desk::new(Says::No))).await;
    let tools = world.tools();
    let agent = memory.agent_learn("default").tools(tools).wrap(|run: Run| async move {
        let paid: Result<String, BoxError> =
            run.call("pay", json!({"invoice": 7}), async { Ok("paid".to_owned()) }).await;
        Ok::<_, BoxError>(paid.err().map(|error| error.to_string()).unwrap_or_default())
    });
    let report = agent.call(PAY).await.unwrap();
    assert!(report.answer.as_deref().is_some_and(|said| said.contains("it was not made in this run")), "{report:?}");
}
