//! A dry run says to the byte what a run would call, and calls nothing that may change something.

use std::sync::Arc;

use learnkit::engine::{Inspection, PlannerReply, ReactOptions, ToolRequest};
use learnkit::hook::{Approval, ApprovalRequest, Approver};
use learnkit::run::{CallDraft, Mode};
use learnkit::tool::{EffectClass, ToolAnnotations};
use learnkit::{BoxError, ErrorKind, Json, LearnKit, Task, async_trait, run_react_agent};
use learnkit_tests::bank::{clock, effect, read};
use learnkit_tests::{Reply, Script, World, begin, builder, memory, nobody, run, stored_text};
use serde_json::{Value, json};

const TASK: &str = "Refund the newest order and mail its receipt";

/// A shop in which a refund gives a receipt that is mailed, while reads come before, between and after.
fn shop() -> World {
    let world = World::new([
        ("newest", json!({"id": "order_1001"})),
        ("details", json!({"customer": "cust_70001", "city": "Oslo"})),
        ("refund", json!({"receipt": "rcpt_5001"})),
        ("look", json!({"state": "ok"})),
        ("mail", json!({"sent": true})),
    ]);
    for tool in ["newest", "details", "look"] {
        world.annotate(tool, read());
    }
    world
}

fn refund_and_mail() -> Script {
    let calls = [
        ("newest", json!({})),
        ("details", json!({"order": "order_1001"})),
        ("refund", json!({"order": "order_1001", "customer": "cust_70001", "reason": "late"})),
        ("look", json!({"receipt": "rcpt_5001"})),
        ("mail", json!({"receipt": "rcpt_5001", "customer": "cust_70001", "city": "Oslo"})),
    ];
    Script::new(calls, "refunded")
}

/// The calls of a plan as a world would log them.
fn lines(seen: &Inspection) -> Vec<String> {
    seen.plan.iter().map(|line| format!("{} {}", line.tool, line.arguments)).collect()
}

fn argument(call: &str, pointer: &str) -> Option<Json> {
    let arguments = Json::parse(call.split_once(' ').unwrap().1).unwrap();
    arguments.leaves().into_iter().find(|leaf| leaf.pointer == pointer).map(|leaf| leaf.value)
}

/// Dry-runs a task and then runs it: what was said is what is called, apart from what was said to be open.
async fn said_and_called(memory: &LearnKit, task: &str, world: &World) -> Inspection {
    world.calls();
    let before = stored_text(memory).await;
    let said = memory.dry_run(task, &world.tools()).await.unwrap();
    let looked = world.calls();
    assert_eq!(stored_text(memory).await, before, "a dry run stores nothing");
    let made: Vec<String> =
        said.plan.iter().filter(|line| line.is_made).map(|line| format!("{} {}", line.tool, line.arguments)).collect();
    assert_eq!(looked, made);
    assert!(said.plan.iter().filter(|line| line.is_made).all(|line| line.effect == EffectClass::ReadOnly));
    let report = run(memory, task, world, &nobody()).await.unwrap();
    let called = world.calls();
    assert_eq!(report.replayed, said.stops.is_none(), "{}", report.reason);
    if let Some(stops) = &said.stops {
        assert_eq!(report.replay.unwrap().stopped.as_ref(), Some(stops));
    }
    assert_eq!(called.len(), said.plan.len(), "{called:?}");
    for (line, called) in said.plan.iter().zip(&called) {
        let said = format!("{} {}", line.tool, line.arguments);
        if line.open.is_empty() {
            assert_eq!(*called, said);
            continue;
        }
        // All but the open arguments.
        let recorded = line.arguments.json().unwrap().leaves();
        for leaf in recorded.into_iter().filter(|leaf| !line.open.contains(&leaf.pointer)) {
            assert_eq!(argument(called, &leaf.pointer), Some(leaf.value), "{called}");
        }
    }
    said
}

#[tokio::test]
async fn what_a_dry_run_says_is_what_a_replay_calls_to_the_byte() {
    let (memory, _) = memory().await;
    let world = shop();
    run(&memory, TASK, &world, &refund_and_mail()).await.unwrap();
    // The same world, then one with other ids everywhere.
    said_and_called(&memory, TASK, &world).await;
    world.set("newest", json!({"id": "order_2002"}));
    world.set("details", json!({"customer": "cust_80002", "city": "Oslo"}));
    world.set("refund", json!({"receipt": "rcpt_6002"}));
    let said = said_and_called(&memory, TASK, &world).await;
    assert_eq!(said.mode, Mode::Replay);
    // Bound by reads that were made; open where an effect that was not made has to give it.
    assert_eq!(
        lines(&said)[..3],
        [
            "newest {}",
            r#"details {"order":"order_2002"}"#,
            r#"refund {"customer":"cust_80002","order":"order_2002","reason":"late"}"#
        ]
    );
    let open: Vec<_> = said.plan.iter().map(|line| (line.is_made, line.open.join(" "))).collect();
    let not_made = |open: &str| (false, open.to_owned());
    let made = (true, String::new());
    assert_eq!(open, [made.clone(), made, not_made(""), not_made("/receipt"), not_made("/receipt")]);
    assert_eq!(argument(&lines(&said)[4], "/customer"), Some(Json::Text("cust_80002".to_owned())));
}

#[tokio::test]
async fn a_dry_run_stops_where_the_replay_stops() {
    for (tool, now, made) in [
        // A guard of the mail that the reads before the refund have to keep.
        ("details", Reply::from(json!({"customer": "cust_70001", "city": "Rome"})), 2),
        // No certain value to bind.
        ("newest", Reply::from(json!({"id": null})), 1),
        ("details", Reply::Error("down".to_owned()), 2),
        ("details", Reply::Panic, 2),
    ] {
        let (memory, _) = memory().await;
        let world = shop();
        run(&memory, TASK, &world, &refund_and_mail()).await.unwrap();
        world.set(tool, now);
        let said = said_and_called(&memory, TASK, &world).await;
        let stops = said.stops.unwrap();
        assert_eq!(said.plan.iter().filter(|line| line.is_made).count(), made, "{stops}");
    }
}

#[tokio::test]
async fn a_read_beside_an_effect_is_not_made() {
    let (memory, _) = memory().await;
    let world = shop();
    let planner = Script::of([
        PlannerReply {
            tool_calls: vec![
                ToolRequest::new("look", json!({})),
                ToolRequest::new("refund", json!({"order": "order_1001"})),
            ],
            ..PlannerReply::default()
        },
        PlannerReply::answer("done"),
    ]);
    run(&memory, TASK, &world, &planner).await.unwrap();
    let said = said_and_called(&memory, TASK, &world).await;
    assert!(said.plan.iter().all(|line| !line.is_made));
}

/// Approves everything that it is asked for.
#[derive(Debug)]
struct Yes;

#[async_trait]
impl Approver for Yes {
    async fn approve(&self, request: &ApprovalRequest<'_>) -> Result<Approval, BoxError> {
        Ok(request.grant())
    }
}

/// Must not be asked.
#[derive(Debug)]
struct Never;

#[async_trait]
impl Approver for Never {
    async fn approve(&self, request: &ApprovalRequest<'_>) -> Result<Approval, BoxError> {
        panic!("asked about {}", request.call.tool)
    }
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_asked_and_asks_nobody() {
    let world = shop();
    // A read that costs money, say.
    world.annotate("details", ToolAnnotations { requires_approval: true, ..read() });
    let memory = builder(&clock()).approver(Arc::new(Yes)).build().await.unwrap();
    run(&memory, TASK, &world, &refund_and_mail()).await.unwrap();
    let said = said_and_called(&memory, TASK, &world).await;
    let made: Vec<_> = said.plan.iter().map(|line| (line.is_made, line.approval)).collect();
    assert_eq!(made, [(true, false), (false, true), (false, false), (false, false), (false, false)]);
    let never = builder(&clock()).store(memory.store().clone()).approver(Arc::new(Never)).build().await.unwrap();
    assert_eq!(never.dry_run(TASK, &world.tools()).await.unwrap().mode, Mode::Replay);
    // And without anybody to ask the task is planned.
    let nobody_there = builder(&clock()).store(memory.store().clone()).build().await.unwrap();
    let said = nobody_there.dry_run(TASK, &world.tools()).await.unwrap();
    assert_eq!((said.mode, said.plan), (Mode::Guide, Vec::new()));
    assert!(said.reason.contains("nobody to ask"), "{}", said.reason);
}

#[tokio::test]
async fn a_dry_run_of_a_task_that_is_planned_calls_nothing() {
    let (memory, _) = memory().await;
    let world = shop();
    let said = memory.dry_run(TASK, &world.tools()).await.unwrap();
    assert_eq!((said.mode, said.plan, said.stops, world.calls()), (Mode::Cold, Vec::new(), None, Vec::new()));
    assert_eq!(memory.dry_run(" ", &world.tools()).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    run(&memory, TASK, &world, &refund_and_mail()).await.unwrap();
    world.calls();
    // A tool is gone: found out as in a real run.
    world.remove("mail");
    let said = memory.dry_run(TASK, &world.tools()).await.unwrap();
    assert_eq!((said.mode, world.calls()), (Mode::Guide, Vec::new()));
    assert!(said.reason.contains("`mail` of step 5 is gone"), "{}", said.reason);
}

#[tokio::test]
async fn a_dry_run_binds_the_values_of_a_template() {
    let (memory, _) = memory().await;
    let world = World::new([("query", json!([1]))]);
    world.annotate("query", read());
    let task = |table: &str| Task::template("Report of {table}").with("table", table).build().unwrap();
    let planner = Script::new([("query", json!({"table": "users"}))], "1");
    run_react_agent(&memory, task("users"), &world.tools(), &planner, ReactOptions::default()).await.unwrap();
    world.calls();
    let said = memory.dry_run(task("orders"), &world.tools()).await.unwrap();
    assert_eq!(lines(&said), [r#"query {"table":"orders"}"#]);
    assert_eq!(world.calls(), lines(&said));
}

/// Lists what is open, then closes each.
async fn close_each(memory: &LearnKit, ids: &[u32]) {
    let session = begin(memory, "Close every ticket").await;
    let list = CallDraft::new("list", json!({})).with_annotations(read());
    session.observe(list, Ok(tickets(ids).to_string().into()));
    for id in ids {
        let close = CallDraft::new("close", json!({"ticket": format!("ticket_{id}")})).with_annotations(effect());
        session.observe(close, Ok("closed".into()));
    }
    session.finish(&learnkit::engine::Outcome::answered("closed")).await;
}

fn tickets(ids: &[u32]) -> Value {
    json!({"tickets": ids.iter().map(|id| json!({"id": format!("ticket_{id}")})).collect::<Vec<_>>()})
}

#[tokio::test]
async fn a_dry_run_goes_through_the_list_that_is_there_now() {
    let (memory, _) = memory().await;
    for ids in [&[1001, 1002][..], &[1003, 1004, 1005], &[1006, 1007, 1008, 1009]] {
        close_each(&memory, ids).await;
    }
    let world = World::new([("list", tickets(&[2001, 2002])), ("close", json!("closed"))]);
    world.annotate("list", read());
    world.annotate("close", effect());
    let said = said_and_called(&memory, "Close every ticket", &world).await;
    let close = |id: u32| format!(r#"close {{"ticket":"ticket_{id}"}}"#);
    assert_eq!(lines(&said), ["list {}".to_owned(), close(2001), close(2002)]);
    // Where nobody looks, the elements are open.
    let seen = memory.inspect("Close every ticket").await.unwrap();
    assert!(seen.plan[1..].iter().all(|line| line.open == ["/ticket"]), "{:?}", seen.plan);
}
