//! Every way in which a replay can stop hands over alike: the planner has what is done with its results,
//! nothing is done again, the run is a guided one, and its account says what the replay cost.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use learnkit::config::Settings;
use learnkit::engine::{Decision, Outcome, ReactOptions, SessionOptions, View};
use learnkit::hook::{Approval, ApprovalRequest, Approver};
use learnkit::record::Record;
use learnkit::replay::StopCause;
use learnkit::run::{CallDraft, Mode, ReplayNote};
use learnkit::tool::{ToolAnnotations, ToolManifest, ToolSpec};
use learnkit::{BoxError, LearnKit, RunReport, Task, async_trait, run_react_agent};
use learnkit_core::testing::ManualClock;
use learnkit_tests::bank::{clock, read};
use learnkit_tests::{Reply, Script, World, memory, nobody, run, skills, stored_runs};
use serde_json::{Value, json};

const TASK: &str = "Charge the newest order and mail the receipt";

/// A call as it was taught: the tool, its arguments and its result.
type Taught = (&'static str, Value, Value);

/// The usual calls: a read, an effect, and an effect with what both gave.
fn charge_and_mail() -> Vec<Taught> {
    vec![
        ("newest", json!({}), json!({"id": "order_1001", "ref": "order_1001", "city": "Oslo"})),
        ("charge", json!({"order": "order_1001"}), json!({"receipt": "rcpt_5001"})),
        ("mail", json!({"receipt": "rcpt_5001", "city": "Oslo"}), json!({"sent": true})),
    ]
}

fn annotations(tool: &str) -> ToolAnnotations {
    match tool {
        "newest" | "status" | "list" => read(),
        "post" => ToolAnnotations { requires_approval: true, ..ToolAnnotations::default() },
        _ => ToolAnnotations::default(),
    }
}

/// Teaches a run that somebody planned.
async fn teach(memory: &LearnKit, calls: &[Taught]) {
    let session = memory.session(Task::new(TASK), SessionOptions::default()).unwrap();
    for (tool, arguments, result) in calls {
        let draft = CallDraft::new(*tool, arguments.clone()).with_annotations(annotations(tool));
        let result = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
        session.observe(draft, Ok(result.into()));
    }
    session.finish(&Outcome::answered("mailed")).await;
}

/// The world as it was taught.
fn world_of(calls: &[Taught]) -> World {
    let world = World::default();
    for (tool, _, result) in calls {
        world.set(tool, result.clone());
        world.annotate(tool, annotations(tool));
    }
    world
}

/// A planner that starts from scratch.
fn from_scratch(calls: &[Taught]) -> Script {
    let calls = calls.iter().map(|(tool, arguments, _)| learnkit::engine::PlannerReply::call(*tool, arguments.clone()));
    Script::of(calls.chain([learnkit::engine::PlannerReply::answer("it is as far as it goes")]))
}

/// An approver that says no, or breaks.
#[derive(Debug)]
struct Desk(bool);

#[async_trait]
impl Approver for Desk {
    async fn approve(&self, _: &ApprovalRequest<'_>) -> Result<Approval, BoxError> {
        if self.0 { Ok(Approval::Denied("not today".to_owned())) } else { std::future::pending().await }
    }
}

/// One way to stop.
struct Way {
    name: &'static str,
    taught: Vec<Taught>,
    /// What a tool does now.
    now: Vec<(&'static str, Reply)>,
    /// Whether the approver answers.
    answers: bool,
    /// The step before or at which the replay stops, from 0.
    step: usize,
    cause: StopCause,
    /// A part of the reason.
    reason: &'static str,
    /// The tools that are done then.
    done: &'static [&'static str],
}

fn way(name: &'static str, now: (&'static str, Reply), stop: (usize, StopCause, &'static str)) -> Way {
    let (step, cause, reason) = stop;
    let done: &[&str] = &["newest", "charge"];
    Way { name, taught: charge_and_mail(), now: vec![now], answers: true, step, cause, reason, done }
}

fn ways() -> Vec<Way> {
    use StopCause::{Changed, Declined, Failed};
    let error = |text: &str| Reply::Error(text.to_owned());
    let newest = |id: &str, other: &str, city: &str| Reply::from(json!({"id": id, "ref": other, "city": city}));
    let polls = || {
        vec![
            ("status", json!({}), json!({"state": "pending"})),
            ("status", json!({}), json!({"state": "ready"})),
            ("fetch", json!({}), json!({"rows": 3})),
        ]
    };
    let orders =
        |ids: &[u32]| json!({"orders": ids.iter().map(|id| json!({"id": format!("order_{id}")})).collect::<Vec<_>>()});
    let each = || {
        vec![
            ("list", json!({}), orders(&[1001, 1002])),
            ("refund", json!({"order": "order_1001"}), json!("refunded")),
            ("refund", json!({"order": "order_1002"}), json!("refunded")),
        ]
    };
    let posts = || {
        let mut calls = charge_and_mail();
        calls.push(("post", json!({"receipt": "rcpt_5001"}), json!({"posted": true})));
        calls
    };
    let all = &["newest", "charge", "mail"];
    vec![
        way("a tool fails", ("mail", error("no such mailbox")), (2, Failed, "`mail` failed: no such mailbox")),
        way("a tool says so", ("mail", json!({"success": false}).into()), (2, Failed, "`success: false`")),
        way("a tool panics", ("mail", Reply::Panic), (2, Failed, "panicked; its outcome is not known")),
        way("no answer comes", ("mail", error("timed out")), (2, Failed, "timed out; its outcome is not known")),
        Way {
            done: &["newest", "charge"],
            ..way("text where an object was", ("charge", json!("OK").into()), (1, Failed, "`charge`:"))
        },
        Way {
            taught: each(),
            done: &["list"],
            ..way("empty for the first time", ("list", json!([]).into()), (0, Failed, "`list`:"))
        },
        way(
            "a guard is broken",
            ("newest", newest("order_1001", "order_1001", "Rome")),
            (2, Changed, "says something else now"),
        ),
        Way {
            done: &["newest"],
            ..way(
                "two places differ",
                ("newest", newest("order_2002", "order_1001", "Oslo")),
                (1, Changed, "different values now"),
            )
        },
        Way {
            taught: polls(),
            done: &["status"],
            ..way(
                "it is not ready",
                ("status", json!({"state": "pending"}).into()),
                (2, Changed, "does not say `ready`"),
            )
        },
        Way {
            taught: each(),
            done: &["list"],
            ..way(
                "another list",
                ("list", orders(&[1001, 1002, 1003]).into()),
                (1, Changed, "list that says something else now"),
            )
        },
        Way {
            taught: posts(),
            done: all,
            ..way(
                "an approval is denied",
                ("newest", newest("order_1001", "order_1001", "Oslo")),
                (3, Declined, "denied it: not today"),
            )
        },
        Way {
            taught: posts(),
            done: all,
            answers: false,
            ..way(
                "nobody answers",
                ("newest", newest("order_1001", "order_1001", "Oslo")),
                (3, Declined, "did not answer"),
            )
        },
    ]
}

/// The record as far as a stop may change it.
fn counts(record: &Record) -> (u64, u64, bool) {
    (record.usage.help, record.usage.harm, record.usage.suspended.is_some())
}

#[tokio::test]
async fn f14_every_way_to_stop_hands_over_what_is_done_and_does_nothing_again() {
    for way in ways() {
        let Way { name, taught, now, answers, step, cause, reason, done } = way;
        let settings = Settings { approval_deadline: Duration::from_millis(10), ..Settings::default() };
        let builder = learnkit_tests::builder(&clock()).settings(settings).approver(Arc::new(Desk(answers)));
        let memory = builder.build().await.unwrap();
        teach(&memory, &taught).await;
        let record = skills(&memory).await.remove(0);
        let world = world_of(&taught);
        now.into_iter().for_each(|(tool, reply)| world.set(tool, reply));
        let planner = from_scratch(&taught);
        let report = run(&memory, TASK, &world, &planner).await.unwrap();
        let made = world.calls();

        // It goes on as a guided run that knows what is done.
        assert_eq!((report.mode, report.replayed), (Mode::Guide, false), "{name}");
        assert!(report.reason.contains(reason), "{name}: {}", report.reason);
        let told = &planner.playbooks()[0];
        for tool in done {
            let (_, arguments, _) = taught.iter().find(|(own, ..)| own == tool).unwrap();
            let listed =
                told.split_once("Done;").is_some_and(|(_, done)| done.contains(&format!("{tool}({arguments}) -> ")));
            assert!(listed, "{name}: `{tool}` is not told in {told}");
        }
        assert!(told.contains("<learnkit-done>"), "{name}: {told}");

        // No effect that is done is done again; what only reads may be.
        for tool in done.iter().filter(|tool| annotations(tool).read_only != Some(true)) {
            let times = made.iter().filter(|call| call.starts_with(&format!("{tool} "))).count();
            assert_eq!(times, 1, "{name}: {made:?}");
        }

        // The account has the cost, and no saving.
        let replay: ReplayNote = *report.replay.clone().unwrap();
        let stopped = replay.stopped.clone().unwrap();
        assert_eq!((stopped.step, stopped.cause), (step, cause), "{name}: {stopped}");
        assert!(stopped.reason.contains(reason), "{name}: {stopped}");
        assert_eq!(stopped.is_at_fault(), cause == StopCause::Failed);
        assert_eq!(replay.record, record.id, "{name}");
        assert!(report.planning_calls.unwrap() >= 1, "{name}");
        let stored = &stored_runs(&memory).await[0];
        assert_eq!(
            (stored.replay.as_deref(), stored.replayed, stored.used.as_slice()),
            (Some(&replay), false, &[][..])
        );
        let own = stored.calls.iter().filter(|call| call.replayed).count();
        assert_eq!(replay.made as usize, own, "{name}: a call of the replay is missing");
        assert!(replay.in_vain.iter().all(|place| stored.calls[*place].replayed), "{name}");

        // Credit goes to nobody, blame only to what is at fault.
        let learned = stored.learned.iter().find(|note| note.id == record.id).map(|note| note.change.clone());
        let now = skills(&memory).await.into_iter().find(|skill| skill.id == record.id).unwrap();
        let (help, harm, _) = counts(&now);
        assert_eq!((help, harm), (0, u64::from(cause == StopCause::Failed)), "{name}: {learned:?}");
    }
}

#[tokio::test]
async fn tools_that_are_gone_on_the_way_and_a_call_of_the_host_hand_over_alike() {
    let taught = charge_and_mail();
    let every = || taught.iter().map(|(tool, ..)| (*tool, ToolSpec::from(annotations(tool))));
    for (name, reason, cause) in [
        ("a tool is gone", "`mail` of step 3 is gone", StopCause::Changed),
        ("a tool is destructive now", "`mail` of step 3 is destructive now", StopCause::Changed),
        ("a tool asks now", "nobody to ask", StopCause::Declined),
        ("another call", "`cancel` was called instead of the planned call", StopCause::Changed),
    ] {
        let (memory, _) = memory().await;
        teach(&memory, &taught).await;
        let session = memory.session(Task::new(TASK), SessionOptions::default()).unwrap();
        let mut tools: ToolManifest = every().collect();
        for (tool, arguments, result) in &taught[..2] {
            let decision = session.decide(&View { tools: Some(&tools), can_synthesize: true }).await;
            assert!(matches!(&decision, Decision::Replay(calls) if calls[0].tool == *tool), "{name}: {decision:?}");
            session.observe(CallDraft::new(*tool, arguments.clone()), Ok(result.to_string().into()));
        }
        match name {
            "a tool is gone" => tools = every().filter(|(tool, _)| *tool != "mail").collect(),
            "a tool is destructive now" => {
                tools.insert("mail", ToolAnnotations { destructive: Some(true), ..ToolAnnotations::default() });
            }
            "a tool asks now" => {
                tools.insert("mail", ToolAnnotations { requires_approval: true, ..ToolAnnotations::default() });
            }
            _ => session.observe(CallDraft::new("cancel", json!({})), Ok("cancelled".into())),
        }
        let Decision::Forward { done, playbook, reason: told } =
            session.decide(&View { tools: Some(&tools), can_synthesize: true }).await
        else {
            panic!("{name}: it went on")
        };
        assert!(told.contains(reason), "{name}: {told}");
        assert_eq!(done[..2].iter().map(|call| call.tool.as_str()).collect::<Vec<_>>(), ["newest", "charge"]);
        assert!(playbook.contains(r#"charge({"order":"order_1001"}) -> {"receipt":"rcpt_5001"}"#), "{playbook}");
        let report = session.finish(&Outcome::answered("later")).await;
        let replay = report.replay.unwrap();
        assert_eq!((replay.made, replay.planned, replay.stopped.unwrap().cause), (2, 3, cause), "{name}");
        assert_eq!(skills(&memory).await[0].usage.harm, 0, "{name}: nobody is to blame");
    }
}

/// Tools that take a second each.
async fn slowly(memory: &LearnKit, clock: &Arc<ManualClock>, world: &World, planner: &Script) -> RunReport {
    let tools = world.tools();
    let slow = ["newest", "charge", "mail"].into_iter().fold(learnkit::tool::ToolSet::new(), |slow, name| {
        let (tools, clock) = (tools.clone(), Arc::clone(clock));
        slow.with_fn(name, annotations(name), move |arguments| {
            clock.advance(SignedDuration::from_secs(1));
            let tool = Arc::clone(tools.get(name).unwrap());
            async move { tool.call(&arguments, &learnkit::tool::ToolContext::default()).await }
        })
    });
    run_react_agent(memory, TASK, &slow, planner, ReactOptions::default()).await.unwrap()
}

#[tokio::test]
async fn f12_a_failed_replay_saves_nothing_and_its_cost_is_counted() {
    let (memory, clock) = memory().await;
    let taught = charge_and_mail();
    let world = world_of(&taught);
    let first = slowly(&memory, &clock, &world, &from_scratch(&taught)).await;
    assert_eq!((first.replay, first.planning_calls), (None, Some(4)));
    let second = slowly(&memory, &clock, &world, &nobody()).await;
    let whole = second.replay.unwrap();
    assert_eq!((second.replayed, whole.made, whole.planned, whole.duration_ms), (true, 3, 3, 3_000));
    assert_eq!((whole.in_vain, whole.stopped), (Vec::new(), None));

    world.set("mail", Reply::Error("no such mailbox".to_owned()));
    let third = slowly(&memory, &clock, &world, &from_scratch(&taught)).await;
    let failed = third.replay.unwrap();
    // All planning was done after all, and the replay came on top of it.
    assert_eq!((third.replayed, third.planning_calls), (false, Some(4)));
    assert_eq!((failed.made, failed.planned, failed.duration_ms), (3, 3, 3_000));
    // The read was made again and the mail failed; the charge was of use.
    assert_eq!(failed.in_vain, [0, 2]);
    let stored = &stored_runs(&memory).await[0];
    assert_eq!(stored.replay.as_ref().unwrap().in_vain, [0, 2]);
    assert!(!stored.replayed && !stored.decisions.iter().any(|note| note.decision == "answer"));
}

#[tokio::test]
async fn f18_an_effect_whose_outcome_is_not_known_is_not_made_again_by_the_replay() {
    for (annotations, in_doubt) in [(ToolAnnotations::default(), true), (learnkit_tests::bank::effect(), false)] {
        let (memory, _) = memory().await;
        let world = world_of(&charge_and_mail());
        world.annotate("charge", annotations);
        run(&memory, TASK, &world, &from_scratch(&charge_and_mail())).await.unwrap();
        world.calls();
        // The server has acted, and its answer is lost.
        world.set("charge", Reply::Error("Operation timed out".to_owned()));
        let planner = Script::new([], "the charge has to be looked up");
        let report = run(&memory, TASK, &world, &planner).await.unwrap();
        let charges = world.calls().iter().filter(|call| call.starts_with("charge")).count();
        assert_eq!((charges, report.replayed), (1, false), "it was sent once more, blindly");
        let told = &planner.playbooks()[0];
        let unknown = "Outcome not known, it may have been done; find that out before you make it again:\n- charge({";
        assert_eq!(told.contains(unknown), in_doubt, "{told}");
        assert_eq!(told.contains("Failed:\n- charge({"), !in_doubt, "{told}");
        assert_eq!(report.reason.contains("its outcome is not known"), in_doubt, "{}", report.reason);
    }
}

#[tokio::test]
async fn f34_of_three_records_that_were_retrieved_only_the_one_that_was_followed_is_credited() {
    let (memory, _) = memory().await;
    let world = World::new([
        ("query", json!([1])),
        ("mail", json!("sent")),
        ("post", json!("posted")),
        ("fax", json!("faxed")),
    ]);
    let calls = |last: &'static str| Script::new([("query", json!({"t": "u"})), (last, json!({}))], "done");
    for tool in ["mail", "post", "fax"] {
        run(&memory, &format!("Report on users by {tool}"), &world, &calls(tool)).await.unwrap();
    }
    let report = run(&memory, "Report on users, the usual way", &world, &calls("post")).await.unwrap();
    assert_eq!(report.mode, Mode::Guide);
    let stored = &stored_runs(&memory).await[0];
    let guided: Vec<_> = stored.decisions.iter().flat_map(|note| &note.candidates).collect();
    assert_eq!(guided.len(), 3, "{guided:?}");
    let used: Vec<_> = skills(&memory).await.into_iter().filter(|skill| skill.usage.help > 0).collect();
    assert_eq!(used.iter().map(|skill| skill.id.clone()).collect::<Vec<_>>(), stored.used);
    assert_eq!(used.len(), 1);
    assert_eq!(used[0].procedure().unwrap().trigger, "Report on users by post");
    // And a replay that stops credits neither its own record nor those that guide afterwards.
    world.set("mail", Reply::Error("down".to_owned()));
    let stopped = run(&memory, "Report on users by mail", &world, &calls("post")).await.unwrap();
    assert!(stopped.replay.unwrap().stopped.is_some());
    let helped: Vec<_> = skills(&memory).await.into_iter().filter(|skill| skill.usage.help > 0).collect();
    assert_eq!(helped.len(), 1, "{:?}", helped.iter().map(counts).collect::<Vec<_>>());
    assert_eq!(stored_runs(&memory).await[0].used, []);
}
