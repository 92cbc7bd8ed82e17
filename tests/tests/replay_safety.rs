//! A replay never sends the wrong thing, never repeats what is done, and never costs the task.
//! Names carry the ids of `original.md` and `peers.md` in the design notes.

use learnkit::engine::{PlannerReply, ReactOptions, SessionOptions, ToolRequest};
use learnkit::record::{AgentName, Status};
use learnkit::retrieve::Strength;
use learnkit::run::{AnswerSource, Arguments, Mode};
use learnkit::tool::ToolAnnotations;
use learnkit::{LearnKit, Task, run_react_agent};
use learnkit_tests::{Reply, Script, World, memory, nobody, run, skills, stored_text};
use serde_json::json;

const REFUND: &str = "Refund my latest order";

/// Learns "look up the latest order, refund it".
async fn learn_refund(memory: &LearnKit) -> World {
    let world = World::new([("latest_order", json!({"id": "order_1001"})), ("refund", json!({"ok": true}))]);
    let script = Script::new([("latest_order", json!({})), ("refund", json!({"order": "order_1001"}))], "refunded");
    let report = run(memory, REFUND, &world, &script).await.unwrap();
    assert_eq!((report.mode, report.planning_calls), (Mode::Cold, Some(3)));
    world.calls();
    world
}

#[tokio::test]
async fn a18_an_exact_repeat_replays_with_zero_planning_calls() {
    let (memory, _) = memory().await;
    let world = learn_refund(&memory).await;
    let planner = nobody();
    let report = run(&memory, "  Refund  my latest order. ", &world, &planner).await.unwrap();
    assert!(report.replayed);
    assert_eq!((report.planning_calls, report.synthesis_calls, planner.asked()), (Some(0), 0, 0));
    assert_eq!(report.answer.as_deref(), Some("refunded"));
    assert_eq!(report.answer_source, Some(AnswerSource::Recorded));
    assert_eq!(world.calls(), ["latest_order {}", r#"refund {"order":"order_1001"}"#]);
}

#[tokio::test]
async fn a4_a_stale_value_is_never_sent() {
    let (memory, _) = memory().await;
    let world = learn_refund(&memory).await;
    world.set("latest_order", json!({"id": "order_2002"}));
    let report = run(&memory, REFUND, &world, &nobody()).await.unwrap();
    assert_eq!(world.calls(), ["latest_order {}", r#"refund {"order":"order_2002"}"#]);
    assert!(report.replayed, "{}", report.reason);
    assert_eq!((report.planning_calls, report.synthesis_calls), (Some(0), 0), "the answer names no id");
    // Nothing stands there any more: the planner goes on from what was done.
    world.set("latest_order", json!({"id": null, "note": "none left"}));
    let planner = Script::new([], "there is no order");
    let report = run(&memory, REFUND, &world, &planner).await.unwrap();
    assert_eq!(world.calls(), ["latest_order {}"]);
    assert_eq!(report.mode, Mode::Guide);
    assert!(planner.playbooks()[0].contains("none left"));
}

#[tokio::test]
async fn a5_f04_a_missing_tool_stops_the_plan_before_its_first_effect() {
    let (memory, _) = memory().await;
    let world = learn_refund(&memory).await;
    world.remove("refund");
    let planner = Script::new([("latest_order", json!({}))], "cannot refund");
    let report = run(&memory, REFUND, &world, &planner).await.unwrap();
    assert_eq!(world.calls(), ["latest_order {}"]);
    assert_eq!(report.mode, Mode::Guide);
    assert!(report.reason.contains("`refund` of step 2 is gone"), "{}", report.reason);
}

#[tokio::test]
async fn a6_f08_f12_f14_a_failing_step_hands_over_demotes_and_claims_nothing() {
    let (memory, _) = memory().await;
    let world = learn_refund(&memory).await;
    world.set("refund", Reply::Error("payment service is down".into()));
    let planner = Script::new([], "please try later");
    let report = run(&memory, REFUND, &world, &planner).await.unwrap();
    assert_eq!(world.calls(), ["latest_order {}", r#"refund {"order":"order_1001"}"#]);
    assert!(!report.replayed);
    assert_eq!((report.planning_calls, report.synthesis_calls, report.tool_calls), (Some(1), 0, 2));
    let told = &planner.playbooks()[0];
    assert!(told.contains("1. latest_order({}) -> {\"id\":\"order_1001\"}"), "{told}");
    assert!(told.contains("Failed:\n- refund({\"order\":\"order_1001\"}): payment service is down"), "{told}");
    let skill = skills(&memory).await.remove(0);
    assert_eq!((skill.usage.harm, skill.usage.failed_replays), (1, 1));
    assert!(skill.confidence.get() < 0.75);
    // Suspended: the next run plans.
    world.set("refund", json!({"ok": true}));
    let planner = Script::new([("latest_order", json!({})), ("refund", json!({"order": "order_1001"}))], "refunded");
    let report = run(&memory, REFUND, &world, &planner).await.unwrap();
    assert_eq!(report.mode, Mode::Guide);
    assert!(report.reason.contains("suspended"), "{}", report.reason);
    // A planned success heals it.
    assert!(run(&memory, REFUND, &world, &nobody()).await.unwrap().replayed);
}

#[tokio::test]
async fn a6_two_failed_heals_retire_the_procedure() {
    let (memory, _) = memory().await;
    let world = learn_refund(&memory).await;
    for round in 0..3 {
        world.set("refund", Reply::Error("down".into()));
        run(&memory, REFUND, &world, &Script::new([], "later")).await.unwrap();
        world.set("refund", json!({"ok": true}));
        let planner =
            Script::new([("latest_order", json!({})), ("refund", json!({"order": "order_1001"}))], "refunded");
        run(&memory, REFUND, &world, &planner).await.unwrap();
        let status = skills(&memory).await.remove(0).status;
        assert_eq!(status == Status::Retired, round == 2, "round {round}: {status}");
    }
}

#[tokio::test]
async fn a_panicking_tool_is_a_failed_call_and_not_a_crash() {
    let (memory, _) = memory().await;
    let world = learn_refund(&memory).await;
    world.set("refund", Reply::Panic);
    let report = run(&memory, REFUND, &world, &Script::new([], "later")).await.unwrap();
    assert_eq!(report.answer.as_deref(), Some("later"));
    assert!(report.reason.contains("panicked"), "{}", report.reason);
}

#[tokio::test]
async fn a12_a13_f01_siblings_keep_their_own_instances_and_never_replay_each_other() {
    let (memory, _) = memory().await;
    let world = World::new([("delete_user", json!({"ok": true}))]);
    for user in ["41", "14"] {
        let task = format!("delete user {user}");
        let planner = Script::new([("delete_user", json!({"id": user}))], "deleted");
        let report = run(&memory, &task, &world, &planner).await.unwrap();
        assert!(!report.replayed);
    }
    world.calls();
    for user in ["14", "41"] {
        let report = run(&memory, &format!("delete user {user}"), &world, &nobody()).await.unwrap();
        assert!(report.replayed);
        assert_eq!(world.calls(), [format!(r#"delete_user {{"id":"{user}"}}"#)]);
    }
}

#[tokio::test]
async fn a11_f01_negation_and_near_texts_only_guide() {
    let (memory, _) = memory().await;
    let world = World::new([("delete_logs", json!({"ok": true}))]);
    run(&memory, "Delete the logs", &world, &Script::new([("delete_logs", json!({}))], "ok")).await.unwrap();
    world.calls();
    let planner = Script::new([], "I did not");
    let report = run(&memory, "Do not delete the logs", &world, &planner).await.unwrap();
    assert!(!report.replayed);
    assert_eq!(planner.asked(), 1);
    assert_eq!(world.calls(), Vec::<String>::new());
}

#[tokio::test]
async fn a11_a_negation_of_a_proven_task_has_no_plan_and_is_not_told_to_follow_the_steps() {
    let (memory, clock) = memory().await;
    let world = World::new([("delete_logs", json!({"ok": true}))]);
    run(&memory, "Delete the logs", &world, &Script::new([("delete_logs", json!({}))], "ok")).await.unwrap();
    clock.advance(jiff::SignedDuration::from_hours(25));
    memory.maintain_memory(1, 0.02, 24.0).await.unwrap();
    for _ in 0..4 {
        assert!(run(&memory, "Delete the logs", &world, &nobody()).await.unwrap().replayed);
    }
    let inspection = memory.inspect("Do not delete the logs").await.unwrap();
    assert_eq!((inspection.mode, inspection.plan.len()), (Mode::Guide, 0));
    assert_ne!(inspection.playbook.strength, Strength::Prescriptive, "{}", inspection.playbook.text);
}

#[tokio::test]
async fn a14_a_failed_sibling_that_ignored_the_playbook_blames_nobody() {
    let (memory, _) = memory().await;
    let world = learn_refund(&memory).await;
    world.set("email", Reply::Error("bounced".into()));
    let planner = Script::new([("email", json!({"to": "shop"}))], "sent");
    let report = run(&memory, "Refund my latest parcel", &world, &planner).await.unwrap();
    assert_eq!(report.mode, Mode::Guide, "{}", report.reason);
    let skill = skills(&memory).await.remove(0);
    assert_eq!((skill.usage.harm, skill.usage.help), (0, 0));
    world.calls();
    assert!(run(&memory, REFUND, &world, &nobody()).await.unwrap().replayed);
}

#[tokio::test]
async fn a17_c7_f28_learning_the_same_procedure_again_is_one_record() {
    let (memory, _) = memory().await;
    let agent = memory.agent_learn("ops").wrap(|run| async move {
        run.planning_call();
        run.record("ping", json!({}), "pong");
        Ok::<_, learnkit::BoxError>("up".to_owned())
    });
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..5 {
        agent.call("Ping the host").await.unwrap();
        ids.extend(skills(&memory).await.into_iter().map(|skill| skill.id));
    }
    let found = skills(&memory).await;
    assert_eq!((found.len(), ids.len()), (1, 1));
    assert_eq!((found[0].usage.successes, found[0].procedure().unwrap().version), (5, 5));
}

#[tokio::test]
async fn a20_a_plan_that_was_only_attached_does_not_count_as_a_replay() {
    let (memory, _) = memory().await;
    let agent = memory.agent_learn("ops").wrap(|run| async move {
        // Plans anew each time, whatever memory says.
        run.planning_call();
        run.record("ping", json!({}), "pong");
        Ok::<_, learnkit::BoxError>("up".to_owned())
    });
    agent.call("Ping the host").await.unwrap();
    let report = agent.call("Ping the host").await.unwrap();
    assert!(!report.replayed);
    assert_eq!((report.mode, report.planning_calls), (Mode::Guide, Some(1)));
}

#[tokio::test]
async fn a21_a_secret_is_not_stored_and_nothing_replays_without_it() {
    let (memory, _) = memory().await;
    let world = World::new([("login", json!({"ok": true}))]);
    let planner = Script::new([("login", json!({"user": "ann", "password": "hunter2hunter2"}))], "in");
    run(&memory, "Log in", &world, &planner).await.unwrap();
    let skill = skills(&memory).await.remove(0);
    assert!(!serde_json::to_string(&skill).unwrap().contains("hunter2"));
    assert!(!stored_text(&memory).await.contains("hunter2"), "the run or the trace has it");
    let planner = Script::new([], "asked");
    let report = run(&memory, "Log in", &world, &planner).await.unwrap();
    assert_eq!(report.mode, Mode::Guide);
    assert!(report.reason.contains("takes the secret `login.password`"), "{}", report.reason);
    assert!(!planner.playbooks()[0].contains("hunter2"));
}

#[tokio::test]
async fn f02_two_steps_with_the_same_call_keep_their_own_results() {
    let (memory, _) = memory().await;
    let world = World::new([("status", json!({"state": "pending"})), ("start", json!("started"))]);
    let session = memory.session(Task::new("start it"), SessionOptions::default()).unwrap();
    session.decide(&learnkit::engine::View::default()).await;
    session.tracker().record("status", json!({}), r#"{"state":"idle"}"#);
    session.tracker().record("start", json!({}), "started");
    session.tracker().record("status", json!({}), r#"{"state":"running"}"#);
    session.finish(&learnkit::engine::Outcome::answered("it is running")).await;
    let skill = skills(&memory).await.remove(0);
    let results: Vec<&str> = skill.procedure().unwrap().steps.iter().map(|step| step.result.text.as_str()).collect();
    assert_eq!(results, [r#"{"state":"idle"}"#, "started", r#"{"state":"running"}"#]);
    let report = run(&memory, "start it", &world, &nobody()).await.unwrap();
    assert!(report.replayed);
    assert_eq!(world.calls(), ["status {}", "start {}", "status {}"]);
    // Its results differ from the recorded ones, so the recorded answer is not given.
    assert_eq!(report.answer_source, Some(AnswerSource::Synthesis));
}

/// A classifier and embedder that counts how often it is asked.
#[derive(Debug, Default)]
struct Counting(std::sync::atomic::AtomicU32);

impl Counting {
    fn asked(&self) -> u32 {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}

#[learnkit::async_trait]
impl learnkit::embed::Embedder for Counting {
    fn model(&self) -> &str {
        "counting"
    }

    fn dimensions(&self) -> usize {
        1
    }

    async fn embed(&self, texts: &[&str]) -> learnkit::Result<Vec<Vec<f32>>> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(vec![vec![1.0]; texts.len()])
    }
}

#[learnkit::async_trait]
impl learnkit::classify::Classifier for Counting {
    async fn classify(&self, _: &Task) -> learnkit::Result<learnkit::classify::Classification> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(learnkit::classify::Classification::default())
    }
}

#[tokio::test]
async fn a19_a_replay_asks_no_model_of_any_kind() {
    let (_, clock) = memory().await;
    let [classifier, embedder] = [(); 2].map(|()| std::sync::Arc::new(Counting::default()));
    let builder = learnkit_tests::builder(&clock).classifier(classifier.clone()).embedder(embedder.clone());
    let memory = builder.build().await.unwrap();
    let world = learn_refund(&memory).await;
    let asked = (classifier.asked(), embedder.asked());
    assert!(asked.0 > 0 && asked.1 > 0, "a cold run asks both: {asked:?}");
    let planner = nobody();
    assert!(run(&memory, REFUND, &world, &planner).await.unwrap().replayed);
    assert_eq!((classifier.asked(), embedder.asked()), asked);
    assert_eq!((planner.asked(), planner.synthesized()), (0, 0));
}

#[tokio::test]
async fn a23_an_exact_repeat_is_found_whatever_the_confidences_of_others() {
    use learnkit::backend::{PutMode, ScanRequest};
    use learnkit::record::Confidence;
    let (memory, _) = memory().await;
    let world = World::new([("look", json!("seen"))]);
    for n in 0..200 {
        let script = Script::new([("look", json!({"at": n}))], "seen");
        run(&memory, &format!("Look at the parcel number {n} of the depot"), &world, &script).await.unwrap();
    }
    let all = ScanRequest { filter: memory.every_record(), after: None, limit: 10_000 };
    for (n, mut record) in memory.scan(&all).await.unwrap().items.into_iter().enumerate() {
        record.confidence = Confidence::new(0.45 + 0.5 * f64::from(u32::try_from(n % 50).unwrap()) / 50.0).unwrap();
        memory.store().records.put(&record, PutMode::Upsert).await.unwrap();
    }
    world.calls();
    for n in (0..200).step_by(7) {
        let report =
            run(&memory, &format!("Look at the parcel number {n} of the depot"), &world, &nobody()).await.unwrap();
        assert!(report.replayed, "{n}: {}", report.reason);
        assert_eq!(world.calls(), [format!(r#"look {{"at":{n}}}"#)]);
    }
}

#[tokio::test]
async fn changed_results_cost_exactly_one_synthesis_call() {
    let (memory, _) = memory().await;
    let world = World::new([("count", json!({"users": 2}))]);
    run(&memory, "How many users?", &world, &Script::new([("count", json!({}))], "2 users")).await.unwrap();
    world.set("count", json!({"users": 3}));
    let planner = nobody();
    let report = run(&memory, "How many users?", &world, &planner).await.unwrap();
    assert!(report.replayed);
    assert_eq!((report.planning_calls, report.synthesis_calls), (Some(0), 1));
    assert_eq!((planner.asked(), planner.synthesized()), (0, 1));
    assert_eq!(report.answer.as_deref(), Some("worded anew"));
}

#[tokio::test]
async fn text_where_an_object_was_is_a_divergence() {
    let (memory, _) = memory().await;
    let world = learn_refund(&memory).await;
    world.set("latest_order", json!("Sorry, the order service is busy"));
    let report = run(&memory, REFUND, &world, &Script::new([], "later")).await.unwrap();
    assert_eq!(world.calls(), ["latest_order {}"]);
    assert!(report.reason.contains("text where a object"), "{}", report.reason);
}

#[tokio::test]
async fn f63_f66_f88_arguments_that_are_no_object_are_kept_and_never_replayed() {
    for raw in ["null", "\"\"", "{bad", "[1,2]", "\"x\"", "7", "```json\n{\"a\": 1}\n```"] {
        let (memory, _) = memory().await;
        let world = World::new([("tool", json!("ok"))]);
        let call = ToolRequest::new("tool", Arguments::from_raw(raw));
        let replies =
            [PlannerReply { tool_calls: vec![call], ..PlannerReply::default() }, PlannerReply::answer("done")];
        run(&memory, "odd", &world, &Script::of(replies)).await.unwrap();
        assert_eq!(world.calls(), [format!("tool {raw}")]);
        let planner = Script::new([], "planned");
        let report = run(&memory, "odd", &world, &planner).await.unwrap();
        assert_eq!((report.mode, planner.asked()), (Mode::Guide, 1), "{raw}");
        assert_eq!(world.calls(), Vec::<String>::new(), "{raw}");
    }
}

#[tokio::test]
async fn f64_a_big_integer_is_replayed_to_the_digit() {
    let (memory, _) = memory().await;
    let world = World::new([("get", json!("found"))]);
    let raw = r#"{"id": 90071992547409930000000001, "price": 1.10}"#;
    let call = ToolRequest::new("get", Arguments::from_raw(raw));
    let replies =
        [PlannerReply { tool_calls: vec![call], ..PlannerReply::default() }, PlannerReply::answer("found it")];
    run(&memory, "get it", &world, &Script::of(replies)).await.unwrap();
    world.calls();
    assert!(run(&memory, "get it", &world, &nobody()).await.unwrap().replayed);
    assert_eq!(world.calls(), [format!("get {raw}")]);
}

#[tokio::test]
async fn f70_another_tenant_scope_or_agent_never_replays() {
    use learnkit::record::{Scope, Tenant};
    let (memory, clock) = memory().await;
    let world = learn_refund(&memory).await;
    let with = |tenant: &str, scope: &str| {
        let builder = learnkit_tests::builder(&clock).store(memory.store().clone());
        builder.tenant(Tenant::new(tenant).unwrap()).scope(scope.parse::<Scope>().unwrap())
    };
    let others = [
        with("b", "team:default").build().await.unwrap(),
        with("default", "public").build().await.unwrap(),
        with("default", "team:other").build().await.unwrap(),
        memory.with_agent(AgentName::new("other").unwrap()),
    ];
    for other in others {
        let planner = Script::new([], "planned");
        let report = run(&other, REFUND, &world, &planner).await.unwrap();
        assert!(!report.replayed);
        assert_eq!(planner.asked(), 1);
        assert_eq!(planner.playbooks(), [""], "another's memory was shown");
    }
    // A user of the team reads the team's records.
    let user = with("default", "user:ann").build().await.unwrap();
    assert!(run(&user, REFUND, &world, &nobody()).await.unwrap().replayed);
}

#[tokio::test]
async fn f84_calls_made_by_another_tool_are_not_replayed_twice() {
    let (memory, _) = memory().await;
    let session = memory.session(Task::new("nest"), SessionOptions::default()).unwrap();
    let tracker = session.tracker().clone();
    let inner = tracker.clone();
    let draft = learnkit::run::CallDraft::new("outer", json!({}));
    let work = async move {
        inner.record("inner", json!({}), "1");
        Ok::<_, learnkit::BoxError>("2".to_owned())
    };
    tracker.call(draft, work).await.unwrap();
    let report = session.finish(&learnkit::engine::Outcome::answered("2")).await;
    assert_eq!(report.tool_calls, 1);
    let world = World::new([("outer", json!("2")), ("inner", json!("1"))]);
    assert!(run(&memory, "nest", &world, &nobody()).await.unwrap().replayed);
    assert_eq!(world.calls(), ["outer {}"]);
}

#[tokio::test]
async fn parallel_calls_replay_as_one_group() {
    let (memory, _) = memory().await;
    let world = World::new([("a", json!("1")), ("b", json!("2"))]);
    let both = vec![ToolRequest::new("a", json!({})), ToolRequest::new("b", json!({}))];
    let replies = [PlannerReply { tool_calls: both, ..PlannerReply::default() }, PlannerReply::answer("3")];
    run(&memory, "add", &world, &Script::of(replies)).await.unwrap();
    let inspection = memory.inspect("add").await.unwrap();
    assert_eq!(inspection.plan.len(), 2);
    world.calls();
    let report = run(&memory, "add", &world, &nobody()).await.unwrap();
    assert!(report.replayed);
    assert_eq!(world.calls().len(), 2);
}

#[tokio::test]
async fn a_destructive_step_replays_only_once_it_is_confirmed_or_verified() {
    let (memory, _) = memory().await;
    let world = World::new([("drop_table", json!("dropped"))]);
    world.annotate("drop_table", ToolAnnotations { destructive: Some(true), ..ToolAnnotations::default() });
    let script = || Script::new([("drop_table", json!({"table": "tmp"}))], "dropped");
    for (task, is_reported) in [("Drop table tmp", false), ("Drop tmp", true)] {
        let first = run(&memory, task, &world, &script()).await.unwrap();
        if is_reported {
            memory.report_success(&first.run_id).await.unwrap();
        } else {
            let second = run(&memory, task, &world, &script()).await.unwrap();
            assert_eq!(second.mode, Mode::Guide);
            assert!(second.reason.contains("destructive"), "{}", second.reason);
        }
        assert!(run(&memory, task, &world, &nobody()).await.unwrap().replayed);
    }
}

#[tokio::test]
async fn a_tool_that_needs_approval_is_never_replayed_unasked() {
    let (memory, _) = memory().await;
    let world = learn_refund(&memory).await;
    world.annotate("refund", ToolAnnotations { requires_approval: true, ..ToolAnnotations::default() });
    let report = run(&memory, REFUND, &world, &Script::new([], "asked")).await.unwrap();
    assert!(report.reason.contains("approval"), "{}", report.reason);
    assert_eq!(world.calls(), Vec::<String>::new());
}

#[tokio::test]
async fn an_earlier_turn_makes_another_task() {
    let (memory, _) = memory().await;
    let world = World::new([("report", json!("r"))]);
    run(&memory, "Redo that report as JSON", &world, &Script::new([("report", json!({"of": "a"}))], "a"))
        .await
        .unwrap();
    let later = Task::new("Redo that report as JSON").with_earlier_turns([("user", "Report on b"), ("assistant", "b")]);
    let planner = Script::new([], "b as JSON");
    let report = run_react_agent(&memory, later, &world.tools(), &planner, ReactOptions::default()).await.unwrap();
    assert!(!report.replayed);
}

#[tokio::test]
async fn f03_declared_parameters_replay_with_other_values() {
    let (memory, _) = memory().await;
    let world = World::new([("query", json!([1]))]);
    let task = |table: &str| Task::template("Report of {table}").with("table", table).build().unwrap();
    let planner = Script::new([("query", json!({"table": "users"}))], "1");
    let options = ReactOptions::default;
    run_react_agent(&memory, task("users"), &world.tools(), &planner, options()).await.unwrap();
    let same = run_react_agent(&memory, task("users"), &world.tools(), &nobody(), options()).await.unwrap();
    assert!(same.replayed);
    world.calls();
    let other = run_react_agent(&memory, task("orders"), &world.tools(), &nobody(), options()).await.unwrap();
    assert!(other.replayed, "{}", other.reason);
    assert_eq!((other.planning_calls, other.answer.as_deref()), (Some(0), Some("worded anew")));
    assert_eq!(world.calls(), [r#"query {"table":"orders"}"#]);
}
