//! Mistakes that other systems were reported for, each in its smallest form. Names carry the ids of
//! `peers.md` in the design notes.

use std::sync::{Arc, Mutex};

use learnkit::engine::{Outcome, ReactOptions};
use learnkit::run::{AnswerSource, Arguments, Mode, ToolOutput};
use learnkit::tool::{Tool, ToolAnnotations, ToolContext, ToolSet};
use learnkit::{BoxError, LearnKit, Task, async_trait, run_react_agent};
use learnkit_tests::{Script, World, begin, memory, nobody, run, skills};
use serde_json::{Value, json};

/// A tool whose results come from a list, in order; the last one stays.
#[derive(Debug)]
struct Sequence {
    name: &'static str,
    results: Mutex<Vec<Value>>,
    log: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Tool for Sequence {
    fn name(&self) -> &str {
        self.name
    }

    async fn call(&self, arguments: &Arguments, context: &ToolContext) -> Result<ToolOutput, BoxError> {
        self.log.lock().unwrap().push(format!("{} {} {}", self.name, arguments.raw(), context.idempotency_key));
        let mut results = self.results.lock().unwrap();
        let next = if results.len() > 1 { results.remove(0) } else { results[0].clone() };
        match next.get("fail").and_then(Value::as_str) {
            Some(reason) => Err(reason.to_owned().into()),
            None => Ok(ToolOutput::text(next.to_string())),
        }
    }
}

/// Tools with such results, and the log of their calls.
fn tools<const N: usize>(each: [(&'static str, Vec<Value>); N]) -> (ToolSet, Arc<Mutex<Vec<String>>>) {
    let log = Arc::default();
    let with = |tools: ToolSet, (name, results)| {
        tools.with(Sequence { name, results: Mutex::new(results), log: Arc::clone(&log) })
    };
    (each.into_iter().fold(ToolSet::new(), with), Arc::clone(&log))
}

/// The names of the tools that were called.
fn called(log: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
        .iter()
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect()
}

const EXPORT: &str = "Export the table";

/// An export that is asked for, waited for and fetched, while its state goes through these.
async fn export(memory: &LearnKit, states: &[&str], planner: &Script) -> (learnkit::RunReport, Vec<String>) {
    let states = states.iter().map(|state| json!({"state": state})).collect();
    let (tools, log) =
        tools([("start", vec![json!({"ok": true})]), ("status", states), ("fetch", vec![json!({"rows": 3})])]);
    let report = run_react_agent(memory, EXPORT, &tools, planner, ReactOptions::default()).await.unwrap();
    (report, called(&log))
}

fn wait_and_fetch() -> Script {
    Script::new([("start", json!({})), ("status", json!({})), ("status", json!({})), ("fetch", json!({}))], "exported")
}

#[tokio::test]
async fn f11_f85_waits_and_polls_are_kept_in_their_order() {
    let (memory, _) = memory().await;
    let (_, learned) = export(&memory, &["pending", "ready"], &wait_and_fetch()).await;
    assert_eq!(skills(&memory).await[0].procedure().unwrap().tools(), ["start", "status", "status", "fetch"]);
    let (report, calls) = export(&memory, &["pending", "ready"], &nobody()).await;
    assert!(report.replayed, "{}", report.reason);
    assert_eq!(calls, learned);
    let world = World::new([("click", json!("clicked")), ("wait", json!("waited"))]);
    let planner = Script::new([("click", json!({})), ("wait", json!({"ms": 500})), ("click", json!({}))], "open");
    run(&memory, "Open both doors", &world, &planner).await.unwrap();
    world.calls();
    assert!(run(&memory, "Open both doors", &world, &nobody()).await.unwrap().replayed);
    assert_eq!(world.calls(), ["click {}", r#"wait {"ms":500}"#, "click {}"]);
}

#[tokio::test]
async fn f11_f27_a_replay_that_is_faster_than_the_world_stops_before_the_step_that_was_waited_for() {
    let (memory, _) = memory().await;
    export(&memory, &["pending", "ready"], &wait_and_fetch()).await;
    // Ready at once is ready.
    let (report, calls) = export(&memory, &["ready"], &nobody()).await;
    assert!(report.replayed, "{}", report.reason);
    assert_eq!(calls.last().unwrap(), "fetch");
    let planner = Script::new([], "not ready yet");
    let (report, calls) = export(&memory, &["pending"], &planner).await;
    assert_eq!((report.mode, planner.asked()), (Mode::Guide, 1));
    assert_eq!(calls, ["start", "status", "status"]);
    assert!(report.reason.contains("does not say `ready` at `/state` now"), "{}", report.reason);
}

#[tokio::test]
async fn a_flag_that_was_waited_for_is_a_state() {
    let (memory, _) = memory().await;
    let plan = [("status", json!({})), ("status", json!({})), ("fetch", json!({}))];
    let flags = |flags: &[bool]| flags.iter().map(|flag| json!({"ready": flag})).collect::<Vec<_>>();
    let fetched = async |states: Vec<serde_json::Value>, planner: &Script| {
        let (tools, log) = tools([("status", states), ("fetch", vec![json!({"rows": 3})])]);
        let report = run_react_agent(&memory, EXPORT, &tools, planner, ReactOptions::default()).await.unwrap();
        (report, called(&log))
    };
    fetched(flags(&[false, true]), &Script::new(plan, "exported")).await;
    assert!(fetched(flags(&[true]), &nobody()).await.0.replayed);
    let (report, calls) = fetched(flags(&[false]), &nobody()).await;
    assert_eq!(calls, ["status", "status"], "{}", report.reason);
}

#[tokio::test]
async fn f13_another_configuration_of_the_world_is_another_task() {
    let (memory, _) = memory().await;
    let world = World::new([("deploy", json!({"ok": true}))]);
    let task = |digest: &str| Task::new("Deploy the app").with_environment(digest);
    let options = ReactOptions::default;
    let script = Script::new([("deploy", json!({"to": "eu"}))], "deployed");
    run_react_agent(&memory, task("config-1"), &world.tools(), &script, options()).await.unwrap();
    let same = run_react_agent(&memory, task("config-1"), &world.tools(), &nobody(), options()).await.unwrap();
    assert!(same.replayed, "{}", same.reason);
    world.calls();
    for other in [task("config-2"), Task::new("Deploy the app")] {
        let planner = Script::new([], "asked");
        let report = run_react_agent(&memory, other, &world.tools(), &planner, options()).await.unwrap();
        assert_eq!((report.replayed, planner.asked(), world.calls()), (false, 1, vec![]), "{}", report.reason);
    }
}

#[tokio::test]
async fn f19_the_idempotency_key_follows_the_bound_arguments() {
    let (memory, _) = memory().await;
    let make = |order: &str, refunds: Vec<Value>| tools([("latest", vec![json!({"id": order})]), ("refund", refunds)]);
    let plan = |order: &str| Script::new([("latest", json!({})), ("refund", json!({"order": order}))], "refunded");
    let (tools, _) = make("order_1001", vec![json!({"ok": true})]);
    run_react_agent(&memory, "Refund it", &tools, &plan("order_1001"), ReactOptions::default()).await.unwrap();
    // The replay binds another order and times out; the planner tries once more, then takes another one.
    let (tools, log) = make("order_2002", vec![json!({"fail": "timed out"}), json!({"ok": true})]);
    let refund = |order: &str| ("refund", json!({"order": order}));
    let planner = Script::new([refund("order_2002"), refund("order_3003")], "refunded");
    run_react_agent(&memory, "Refund it", &tools, &planner, ReactOptions::default()).await.unwrap();
    let log = log.lock().unwrap().clone();
    let refunds: Vec<(&str, &str)> =
        log.iter().filter_map(|line| line.strip_prefix("refund ")?.split_once(' ')).collect();
    let orders: Vec<&str> = refunds.iter().map(|(arguments, _)| *arguments).collect();
    assert_eq!(orders, [r#"{"order":"order_2002"}"#, r#"{"order":"order_2002"}"#, r#"{"order":"order_3003"}"#]);
    assert_eq!(refunds[0].1, refunds[1].1, "a retry of the same call");
    assert_ne!(refunds[1].1, refunds[2].1, "other arguments are another call");
}

#[tokio::test]
async fn f21_an_empty_result_is_judged_by_what_its_own_step_gave_before() {
    let (memory, _) = memory().await;
    let world = World::new([("labels", json!([])), ("issues", json!(["crash"]))]);
    let plan = || Script::new([("labels", json!({})), ("issues", json!({}))], "listed");
    run(&memory, "List what is open", &world, &plan()).await.unwrap();
    // No labels, as ever.
    let report = run(&memory, "List what is open", &world, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    // No issues, for the first time.
    world.set("issues", json!([]));
    let report = run(&memory, "List what is open", &world, &plan()).await.unwrap();
    assert!(!report.replayed && report.reason.contains("empty for the first time"), "{}", report.reason);
    // The planner had the same and was content: it is known now.
    assert!(run(&memory, "List what is open", &world, &nobody()).await.unwrap().replayed);
    world.set("issues", json!(["crash", "typo"]));
    assert!(run(&memory, "List what is open", &world, &nobody()).await.unwrap().replayed);
}

#[tokio::test]
async fn f29_one_changed_step_is_another_procedure_and_not_a_duplicate() {
    let (memory, _) = memory().await;
    // Nobody asks memory for a decision, so that every run is planned.
    for tool in ["mail", "mail", "post"] {
        let session =
            memory.session(Task::new("Send the report"), learnkit::engine::SessionOptions::default()).unwrap();
        session.tracker().record("build", json!({"of": "sales"}), "built");
        session.tracker().record(tool, json!({"to": "ann"}), "sent");
        session.finish(&Outcome::answered("sent")).await;
    }
    let mut known: Vec<(Vec<String>, u64, u32)> = skills(&memory)
        .await
        .iter()
        .map(|skill| {
            let procedure = skill.procedure().unwrap();
            let tools = procedure.tools().into_iter().map(str::to_owned).collect();
            (tools, skill.usage.successes, procedure.version)
        })
        .collect();
    known.sort();
    let tools = |last: &str| vec!["build".to_owned(), last.to_owned()];
    assert_eq!(known, [(tools("mail"), 2, 2), (tools("post"), 1, 1)]);
}

#[tokio::test]
async fn a_conversation_turn_that_reads_the_same_after_other_turns_is_not_replayed() {
    let (memory, _) = memory().await;
    let world = World::new([("report", json!({"rows": 3}))]);
    let redo = |about: &str| {
        Task::new("Redo that report, as JSON.").with_earlier_turns([("user", about), ("assistant", "Done.")])
    };
    let options = ReactOptions::default;
    let script = Script::new([("report", json!({"of": "users"}))], "3 users");
    run_react_agent(&memory, redo("A CSV of active users"), &world.tools(), &script, options()).await.unwrap();
    let same = run_react_agent(&memory, redo("A CSV of active users"), &world.tools(), &nobody(), options()).await;
    assert!(same.unwrap().replayed);
    world.calls();
    let planner = Script::new([("report", json!({"of": "orders"}))], "3 orders");
    let other = run_react_agent(&memory, redo("A CSV of orders"), &world.tools(), &planner, options()).await.unwrap();
    assert_eq!((other.replayed, other.answer.as_deref()), (false, Some("3 orders")));
    assert_eq!(world.calls(), [r#"report {"of":"orders"}"#]);
}

#[tokio::test]
async fn a_list_position_is_no_source_of_a_plain_word() {
    let (memory, _) = memory().await;
    let world = World::new([("list_tables", json!(["logs", "users"])), ("query", json!({"rows": 3}))]);
    let plan = || Script::new([("list_tables", json!({})), ("query", json!({"table": "users"}))], "3 rows");
    run(&memory, "Count the accounts", &world, &plan()).await.unwrap();
    world.calls();
    // A table more: the word stands at another position.
    world.set("list_tables", json!(["logs", "orders", "users"]));
    let report = run(&memory, "Count the accounts", &world, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!(world.calls(), ["list_tables {}", r#"query {"table":"users"}"#]);
    // The table is gone: nothing is queried in its place.
    world.set("list_tables", json!(["logs", "orders"]));
    let report = run(&memory, "Count the accounts", &world, &Script::new([], "no such table")).await.unwrap();
    assert_eq!((report.mode, world.calls()), (Mode::Guide, vec!["list_tables {}".to_owned()]));
}

#[tokio::test]
async fn a_stale_answer_is_never_given() {
    // What the answer copied, what the planner worked out of the result, and the same with the shape kept.
    for (then, now, answer) in [
        (json!({"rows": [1, 2, 3]}), json!({"rows": [1, 2, 3, 4]}), "3 rows"),
        (json!({"sums": [5, 6]}), json!({"sums": [5, 15]}), "The total is 11"),
        (json!({"open": 11}), json!({"open": 12}), "There is more than 10, so 11"),
    ] {
        let (memory, _) = memory().await;
        let world = World::new([("report", then.clone())]);
        run(&memory, "Report", &world, &Script::new([("report", json!({}))], answer)).await.unwrap();
        let same = run(&memory, "Report", &world, &nobody()).await.unwrap();
        assert_eq!((same.answer.as_deref(), same.answer_source), (Some(answer), Some(AnswerSource::Recorded)));
        world.set("report", now.clone());
        let planner = nobody();
        let report = run(&memory, "Report", &world, &planner).await.unwrap();
        assert_eq!((report.answer.as_deref(), planner.synthesized()), (Some("worded anew"), 1), "{then} -> {now}");
        assert_eq!((report.planning_calls, report.answer_source), (Some(0), Some(AnswerSource::Synthesis)));
    }
}

#[tokio::test]
async fn f32_an_outage_leaves_no_word_that_a_tool_does_not_work() {
    let (memory, _) = memory().await;
    let session = begin(&memory, "Read the page").await;
    session.tracker().record_failure("browse", json!({"page": 7}), "network is down");
    session.finish(&Outcome::interrupted("network is down")).await;
    let world = World::new([("browse", json!("a page"))]);
    world.annotate("browse", ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() });
    let planner = Script::new([("browse", json!({"page": 7}))], "a page");
    run(&memory, "Read the page", &world, &planner).await.unwrap();
    assert!(!planner.playbooks()[0].contains("avoid"), "{}", planner.playbooks()[0]);
    assert!(!planner.playbooks()[0].contains("network is down"), "{}", planner.playbooks()[0]);
}

#[tokio::test]
async fn a_wait_between_two_polls_keeps_the_condition() {
    let plan = [("status", json!({})), ("wait", json!({"ms": 500})), ("status", json!({})), ("fetch", json!({}))];
    for (pending, ready) in
        [(json!({"state": "pending"}), json!({"state": "ready"})), (json!({"done": 40}), json!({"done": 100}))]
    {
        let (memory, _) = memory().await;
        let fetched = async |states: [&serde_json::Value; 2], planner: &Script| {
            let states = states.map(Clone::clone).to_vec();
            let (tools, log) =
                tools([("status", states), ("wait", vec![json!("waited")]), ("fetch", vec![json!({"rows": 3})])]);
            run_react_agent(&memory, EXPORT, &tools, planner, ReactOptions::default()).await.unwrap();
            called(&log)
        };
        fetched([&pending, &ready], &Script::new(plan.clone(), "exported")).await;
        assert_eq!(fetched([&pending, &ready], &nobody()).await, ["status", "wait", "status", "fetch"]);
        assert_eq!(fetched([&pending, &pending], &nobody()).await, ["status", "wait", "status"]);
    }
}
