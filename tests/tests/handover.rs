//! Where a replay stops, the planner goes on from what is done: no effect happens twice, and a repeat
//! of a call can be told from a new one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use learnkit::engine::{Planner, PlannerReply, PlanningTurn, ReactOptions};
use learnkit::run::{Arguments, ToolOutput};
use learnkit::tool::{Tool, ToolAnnotations, ToolContext, ToolSet};
use learnkit::{BoxError, LearnKit, async_trait, run_react_agent};
use learnkit_tests::{Reply, Script, World, memory, nobody, run, skills};
use serde_json::{Value, json};

const TASK: &str = "Charge the newest order and mail the receipt";

fn calls() -> [(&'static str, Value); 3] {
    [("newest", json!({})), ("charge", json!({"order": "order_1001"})), ("mail", json!({"order": "order_1001"}))]
}

fn world() -> World {
    World::new([("newest", json!({"id": "order_1001"})), ("charge", json!("charged")), ("mail", json!("sent"))])
}

/// Learns three calls; afterwards `mail` fails.
async fn learned_then_broken(memory: &LearnKit) -> World {
    learned_in(memory, world()).await
}

async fn learned_in(memory: &LearnKit, world: World) -> World {
    run(memory, TASK, &world, &Script::new(calls(), "done")).await.unwrap();
    world.calls();
    world.set("mail", Reply::Error("the server is down".into()));
    world
}

fn count(calls: &[String], tool: &str) -> usize {
    calls.iter().filter(|call| call.split(' ').next() == Some(tool)).count()
}

#[tokio::test]
async fn a_planner_that_starts_from_scratch_after_a_hand_over_does_nothing_twice() {
    let (memory, _) = memory().await;
    let world = learned_then_broken(&memory).await;
    let planner = Script::new(calls(), "charged, mail later");
    let report = run(&memory, TASK, &world, &planner).await.unwrap();
    let made = world.calls();
    assert_eq!(count(&made, "charge"), 1, "{made:?}");
    assert_eq!(count(&made, "newest"), 1, "{made:?}");
    // What failed is not done, so it is made again.
    assert_eq!(count(&made, "mail"), 2, "{made:?}");
    assert_eq!((report.replayed, planner.asked()), (false, 4));
}

/// Follows a script and keeps what it was told of the run so far.
struct Watching {
    script: Script,
    seen: Mutex<Vec<Vec<(String, String, bool)>>>,
}

#[async_trait]
impl Planner for Watching {
    async fn plan(&self, turn: &PlanningTurn<'_>) -> Result<PlannerReply, BoxError> {
        let calls = turn.history.iter();
        let calls = calls.map(|call| (call.tool.clone(), call.output.as_text().to_owned(), call.status.is_ok()));
        self.seen.lock().unwrap().push(calls.collect());
        self.script.plan(turn).await
    }
}

#[tokio::test]
async fn a_call_that_is_done_gives_the_planner_its_result_again() {
    let (memory, _) = memory().await;
    let world = learned_then_broken(&memory).await;
    let planner = Watching { script: Script::new(calls(), "later"), seen: Mutex::default() };
    run_react_agent(&memory, TASK, &world.tools(), &planner, ReactOptions::default()).await.unwrap();
    let seen = planner.seen.lock().unwrap();
    let charged = |calls: &&(String, String, bool)| calls.0 == "charge";
    for calls in seen.iter() {
        assert!(calls.iter().filter(charged).count() >= 1, "{calls:?}");
        assert!(calls.iter().filter(charged).all(|(_, result, ok)| result == "charged" && *ok), "{calls:?}");
    }
    assert_eq!(count(&world.calls(), "charge"), 1);
}

#[tokio::test]
async fn a_call_that_is_asked_for_twice_after_a_hand_over_is_made_once() {
    let (memory, _) = memory().await;
    let world = learned_then_broken(&memory).await;
    let charge = || ("charge", json!({"order": "order_1001"}));
    run(&memory, TASK, &world, &Script::new([charge(), charge()], "charged twice")).await.unwrap();
    // Once by the replay, and the second of the planner's own two.
    assert_eq!(count(&world.calls(), "charge"), 2);
}

#[tokio::test]
async fn other_arguments_are_another_call() {
    let (memory, _) = memory().await;
    let world = learned_then_broken(&memory).await;
    let planner = Script::new([("charge", json!({"order": "order_2002"}))], "charged another");
    run(&memory, TASK, &world, &planner).await.unwrap();
    let made = world.calls();
    assert!(made.contains(&r#"charge {"order":"order_2002"}"#.to_owned()), "{made:?}");
}

#[tokio::test]
async fn a_tool_that_only_reads_is_asked_again_after_a_hand_over() {
    let (memory, _) = memory().await;
    let world = world();
    world.annotate("newest", ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() });
    let world = learned_in(&memory, world).await;
    run(&memory, TASK, &world, &Script::new(calls(), "later")).await.unwrap();
    let made = world.calls();
    assert_eq!((count(&made, "newest"), count(&made, "charge")), (2, 1), "{made:?}");
}

/// Follows a script once it has mended the mail.
struct Mending(Script, World);

#[async_trait]
impl Planner for Mending {
    async fn plan(&self, turn: &PlanningTurn<'_>) -> Result<PlannerReply, BoxError> {
        self.1.set("mail", json!("sent"));
        self.0.plan(turn).await
    }
}

#[tokio::test]
async fn what_is_learned_of_a_run_that_started_anew_has_each_effect_once() {
    let (memory, _) = memory().await;
    let world = learned_then_broken(&memory).await;
    let planner = Mending(Script::new(calls(), "mailed"), world.clone());
    let healed = run_react_agent(&memory, TASK, &world.tools(), &planner, ReactOptions::default()).await.unwrap();
    assert!(!healed.replayed);
    let made = world.calls();
    assert_eq!(["newest", "charge", "mail"].map(|tool| count(&made, tool)), [1, 1, 2], "{made:?}");
    let report = run(&memory, TASK, &world, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    let made = world.calls();
    assert_eq!(["newest", "charge", "mail"].map(|tool| count(&made, tool)), [1, 1, 1], "{made:?}");
    assert_eq!(skills(&memory).await.len(), 1, "it is the procedure that was known");
}

/// A payment that times out at its second call, and the idempotency keys it saw.
struct Pay(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Tool for Pay {
    fn name(&self) -> &str {
        "pay"
    }

    async fn call(&self, _: &Arguments, context: &ToolContext) -> Result<ToolOutput, BoxError> {
        let mut keys = self.0.lock().unwrap();
        keys.push(context.idempotency_key.clone());
        if keys.len() == 2 { Err("timed out".into()) } else { Ok("paid".into()) }
    }
}

#[tokio::test]
async fn a_retry_after_a_hand_over_has_the_idempotency_key_of_the_call_that_failed() {
    let (memory, _) = memory().await;
    let keys = Arc::default();
    let tools = ToolSet::new().with(Pay(Arc::clone(&keys)));
    for _ in 0..2 {
        let planner = Script::new([("pay", json!({"to": "bob"}))], "paid");
        run_react_agent(&memory, "Pay bob", &tools, &planner, ReactOptions::default()).await.unwrap();
    }
    let keys = keys.lock().unwrap();
    assert_eq!(keys.len(), 3);
    assert_eq!(keys[1], keys[2], "the tool cannot recognise the retry");
    assert_ne!(keys[0], keys[1], "two runs are two payments");
}

#[tokio::test]
async fn a_call_after_the_last_step_is_no_part_of_a_replay() {
    let (memory, _) = memory().await;
    let agent = memory.agent_learn("ops").wrap(|run| async move {
        let mut planned = false;
        while let Some(step) = run.next_step().await {
            planned = true;
            run.record(step.tool, step.arguments, "pong");
        }
        let tool = if planned { "reboot" } else { "ping" };
        run.record(tool, json!({}), "pong");
        Ok::<_, BoxError>("up".to_owned())
    });
    agent.call("Ping the host").await.unwrap();
    let report = agent.call("Ping the host").await.unwrap();
    assert_eq!((report.replayed, report.tool_calls), (false, 2));
}

#[tokio::test]
async fn a_call_that_is_wanted_once_more_is_made_once_more() {
    let (memory, _) = memory().await;
    let world = World::new([("add_apple", json!("added"))]);
    let twice = Script::new([("add_apple", json!({})), ("add_apple", json!({}))], "added two");
    run(&memory, "Add two apples", &world, &twice).await.unwrap();
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let tools = ToolSet::new().with_fn("add_apple", ToolAnnotations::default(), move |_| {
        let count = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move { if count == 2 { Err(BoxError::from("busy")) } else { Ok(ToolOutput::from("added")) } }
    });
    let once = Script::new([("add_apple", json!({}))], "added two");
    let report = run_react_agent(&memory, "Add two apples", &tools, &once, ReactOptions::default()).await.unwrap();
    // One that worked, one that failed, and the one that took its place.
    assert_eq!(made.load(Ordering::SeqCst), 3, "{}", report.reason);
}
