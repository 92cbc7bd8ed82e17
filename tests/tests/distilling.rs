//! What of a run becomes a procedure.

use learnkit::engine::{Outcome, PlannerReply, ReactOptions, SessionOptions, ToolRequest};
use learnkit::run::{AnswerSource, CallDraft, Verdict};
use learnkit::tool::ToolAnnotations;
use learnkit::{LearnKit, Task, run_react_agent};
use learnkit_tests::{Script, World, begin, memory, nobody, run, skills, stored_runs};
use serde_json::{Value, json};

/// The tools of the only skill.
async fn learned_tools(memory: &LearnKit) -> Vec<String> {
    let found = skills(memory).await;
    assert_eq!(found.len(), 1);
    found[0].procedure().unwrap().tools().into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_call_that_is_made_twice_on_purpose_is_replayed_twice() {
    let (memory, _) = memory().await;
    let world = World::new([("add_apple", json!("added"))]);
    let script = Script::new([("add_apple", json!({})), ("add_apple", json!({}))], "added two");
    run(&memory, "Add two apples", &world, &script).await.unwrap();
    world.calls();
    let report = run(&memory, "Add two apples", &world, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!(world.calls(), ["add_apple {}", "add_apple {}"]);
}

#[tokio::test]
async fn a_repeat_that_can_change_nothing_is_dropped() {
    let harmless = [
        ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() },
        ToolAnnotations { idempotent: Some(true), ..ToolAnnotations::default() },
    ];
    for annotations in harmless {
        let (memory, _) = memory().await;
        let world = World::new([("look", json!("seen"))]);
        world.annotate("look", annotations);
        run(&memory, "Look", &world, &Script::new([("look", json!({})), ("look", json!({}))], "seen")).await.unwrap();
        assert_eq!(learned_tools(&memory).await, ["look"], "{annotations:?}");
    }
}

#[tokio::test]
async fn a_repeat_of_exploration_is_dropped() {
    let (memory, _) = memory().await;
    let world = World::new([("list", json!(["users_7"])), ("query", json!("7 rows"))]);
    let options = ReactOptions { exploration_tools: ["list".to_owned()].into(), ..ReactOptions::default() };
    let calls = [("list", json!({})), ("list", json!({})), ("query", json!({"table": "users_7"}))];
    run_react_agent(&memory, "Count", &world.tools(), &Script::new(calls, "7"), options).await.unwrap();
    assert_eq!(learned_tools(&memory).await, ["list", "query"]);
}

#[tokio::test]
async fn a_later_user_turn_is_no_part_of_the_first() {
    let (memory, _) = memory().await;
    let session = begin(&memory, "Show my order").await;
    session.tracker().record("show", json!({}), "one pair of shoes");
    session.tracker().next_turn();
    session.tracker().record("cancel", json!({}), "cancelled");
    session.finish(&Outcome::answered("It is cancelled.")).await;
    assert_eq!(learned_tools(&memory).await, ["show"]);
    assert_eq!(skills(&memory).await[0].procedure().unwrap().answer, None, "it answers the later turn");
    let world = World::new([("show", json!("one pair of shoes")), ("cancel", json!("cancelled"))]);
    let report = run(&memory, "Show my order", &world, &nobody()).await.unwrap();
    assert_eq!(world.calls(), ["show {}"]);
    assert_ne!(report.answer.as_deref(), Some("It is cancelled."));
}

#[tokio::test]
async fn a_run_whose_only_calls_came_in_a_later_turn_teaches_no_procedure() {
    let (memory, _) = memory().await;
    let session = begin(&memory, "Hello").await;
    session.tracker().next_turn();
    session.tracker().record("cancel", json!({}), "cancelled");
    session.finish(&Outcome::answered("It is cancelled.").with_verdict(Some(Verdict::Success))).await;
    assert_eq!(skills(&memory).await, []);
}

#[tokio::test]
async fn calls_of_one_reply_are_one_group_of_the_procedure() {
    let (memory, _) = memory().await;
    let world = World::new([("a", json!("1")), ("b", json!("2")), ("c", json!("3"))]);
    let both = vec![ToolRequest::new("a", json!({})), ToolRequest::new("b", json!({}))];
    let replies = [
        PlannerReply { tool_calls: both, ..PlannerReply::default() },
        PlannerReply::call("c", json!({})),
        PlannerReply::answer("6"),
    ];
    run(&memory, "add", &world, &Script::of(replies)).await.unwrap();
    let found = skills(&memory).await;
    let groups: Vec<_> = found[0].procedure().unwrap().steps.iter().map(|step| step.group).collect();
    assert!(groups[0].is_some() && groups[0] == groups[1] && groups[2] != groups[0], "{groups:?}");
}

#[tokio::test]
async fn a_big_exploration_is_distilled_to_the_call_that_did_the_work() {
    let (memory, _) = memory().await;
    let session = begin(&memory, "look around").await;
    let exploration = ToolAnnotations { exploration: true, ..ToolAnnotations::default() };
    let rows: Vec<Value> = (0..400).map(|n| json!({"name": format!("file{n}"), "size": n})).collect();
    for n in 0..100 {
        let draft = CallDraft::new("ls", json!({"dir": format!("d{n}"), "depth": n})).with_annotations(exploration);
        session.tracker().begin(draft).finish(Value::from(rows.clone()).into(), None);
    }
    session.tracker().record("write", json!({"x": "y"}), "ok");
    session.finish(&Outcome::answered("done")).await;
    assert_eq!(learned_tools(&memory).await, ["write"]);
    assert_eq!(skills(&memory).await[0].procedure().unwrap().dropped.len(), 100);
}

#[tokio::test]
async fn a_run_that_read_forty_files_and_wrote_one_is_learned() {
    let (memory, _) = memory().await;
    let session = begin(&memory, "edit").await;
    for n in 0..40 {
        let text: String = (0..2500).map(|line| format!("let a{n} = value_{line}; // {line}\n")).collect();
        session.tracker().record("read_file", json!({"p": format!("f{n}")}), text);
    }
    let body: String = (0..2500).map(|line| format!("let b{line} = c{line};\n")).collect();
    session.tracker().record("write_file", json!({"p": "g", "body": body}), "ok");
    let report = session.finish(&Outcome::answered("done")).await;
    assert_eq!(report.warnings, Vec::<String>::new());
    assert_eq!(learned_tools(&memory).await.len(), 41);
    assert_eq!(stored_runs(&memory).await[0].calls.len(), 41);
}

#[tokio::test]
async fn a22_an_argument_of_1_mb_is_bounded_in_the_run_and_in_the_step() {
    let (memory, _) = memory().await;
    let world = World::new([("upload", json!({"ok": true}))]);
    let script = Script::new([("upload", json!({"text": "x".repeat(1_000_000)}))], "done");
    run(&memory, "Upload it", &world, &script).await.unwrap();
    let runs = serde_json::to_string(&stored_runs(&memory).await).unwrap();
    let records = serde_json::to_string(&skills(&memory).await).unwrap();
    assert!(runs.contains("upload") && runs.len() < 200_000, "{}", runs.len());
    assert!(records.contains("upload") && records.len() < 200_000, "{}", records.len());
}

#[tokio::test]
async fn f79_a_result_of_10_mb_is_stored_as_a_prefix_and_its_repeat_gives_the_recorded_answer() {
    let (memory, _) = memory().await;
    let world = World::new([("download", json!("é".repeat(5_000_000)))]);
    run(&memory, "Download it", &world, &Script::new([("download", json!({}))], "it is there")).await.unwrap();
    let stored = stored_runs(&memory).await.remove(0);
    let result = &stored.calls[0].result;
    assert_eq!((result.truncated, result.bytes), (true, 10_000_000));
    assert!(result.text.len() <= 64 * 1024, "{}", result.text.len());
    let report = run(&memory, "Download it", &world, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!((report.answer.as_deref(), report.answer_source), (Some("it is there"), Some(AnswerSource::Recorded)));
}

#[tokio::test]
async fn a_result_that_differs_only_beyond_its_stored_prefix_gives_no_recorded_answer() {
    let (memory, _) = memory().await;
    let world = World::new([("download", json!(format!("{}a", "x".repeat(70_000))))]);
    run(&memory, "Download it", &world, &Script::new([("download", json!({}))], "it is there")).await.unwrap();
    assert!(stored_runs(&memory).await[0].calls[0].result.truncated);
    world.set("download", json!(format!("{}b", "x".repeat(70_000))));
    let report = run(&memory, "Download it", &world, &nobody()).await.unwrap();
    assert_eq!((report.replayed, report.answer_source), (true, Some(AnswerSource::Synthesis)));
}

#[tokio::test]
async fn a8_failed_calls_are_not_part_of_a_procedure() {
    let (memory, _) = memory().await;
    let session = begin(&memory, "t").await;
    session.tracker().record_failure("query", json!({"table": "usres"}), "no such table");
    session.tracker().record("query", json!({"table": "users"}), "[1]");
    session.finish(&Outcome::answered("1")).await;
    let skill = skills(&memory).await.remove(0);
    let procedure = skill.procedure().unwrap();
    assert_eq!(procedure.steps.len(), 1);
    assert_eq!(procedure.steps[0].arguments.raw(), r#"{"table":"users"}"#);
    assert_eq!(procedure.dropped[0].reason, "failed");
}

#[tokio::test]
async fn exploration_is_dropped_unless_a_later_step_needs_it() {
    let (memory, _) = memory().await;
    let world = World::new([("list", json!(["users"])), ("noise", json!("nothing")), ("query", json!([{"n": 7}]))]);
    let planner =
        Script::new([("noise", json!({})), ("list", json!({})), ("query", json!({"table": "users"}))], "there are 7");
    let options =
        ReactOptions { exploration_tools: ["list".to_owned(), "noise".to_owned()].into(), ..ReactOptions::default() };
    run_react_agent(&memory, "count rows", &world.tools(), &planner, options).await.unwrap();
    let skill = skills(&memory).await.remove(0);
    assert_eq!(skill.procedure().unwrap().tools(), ["list", "query"]);
    assert_eq!(skill.procedure().unwrap().dropped[0].reason, "exploration that feeds nothing");
}

#[tokio::test]
async fn a22_arguments_beyond_the_bound_make_the_procedure_guide_only() {
    let (memory, _) = memory().await;
    let world = World::new([("upload", json!({"ok": true}))]);
    let planner = Script::new([("upload", json!({"text": "x".repeat(70_000)}))], "done");
    run(&memory, "Upload it", &world, &planner).await.unwrap();
    let report = run(&memory, "Upload it", &world, &Script::new([], "no")).await.unwrap();
    assert!(report.reason.contains("longer than 64 KiB"), "{}", report.reason);
}

#[tokio::test]
async fn an_id_from_a_failed_call_makes_the_procedure_guide_only_even_beside_a_guarded_one() {
    let (memory, _) = memory().await;
    let session = memory.session(Task::new("Pay my bill"), SessionOptions::default()).unwrap();
    session.tracker().record("whoami", json!({}), r#"{"id":"user_1234"}"#);
    session.tracker().record("pay", json!({"user": "user_1234"}), r#"{"error":"confirm with code 884213"}"#);
    session.tracker().record("pay", json!({"user": "user_1234", "code": "884213"}), "paid");
    session.finish(&Outcome::answered("paid")).await;
    let skill = skills(&memory).await.remove(0);
    let reasons = &skill.procedure().unwrap().guide_only;
    assert!(reasons.iter().any(|reason| reason.contains("left out")), "{reasons:?}");
}

#[tokio::test]
async fn c12_only_what_ran_is_learned_and_nothing_is_varied() {
    let (memory, _) = memory().await;
    let world = World::new([("ping", json!("pong"))]);
    for host in ["a", "b", "c"] {
        let script = Script::new([("ping", json!({"host": host}))], "up");
        run(&memory, &format!("Ping host {host}"), &world, &script).await.unwrap();
    }
    let mut learned: Vec<String> = Vec::new();
    for skill in skills(&memory).await {
        let procedure = skill.procedure().unwrap();
        learned.extend(procedure.steps.iter().map(|step| format!("{} {}", step.tool, step.arguments)));
    }
    learned.sort();
    assert_eq!(learned, [r#"ping {"host":"a"}"#, r#"ping {"host":"b"}"#, r#"ping {"host":"c"}"#]);
}

#[tokio::test]
async fn a_fallback_is_not_replayed_because_the_first_choice_may_be_there_again() {
    for (failed, may_replay) in [("A12", false), ("A 12", true)] {
        let (memory, _) = memory().await;
        let session = begin(&memory, "Reserve seat A12, or B14 if it is taken").await;
        session.tracker().record_failure("reserve", json!({"seat": failed}), "taken");
        session.tracker().record("reserve", json!({"seat": "B14"}), "reserved");
        session.finish(&Outcome::answered("You have a seat")).await;
        let found = skills(&memory).await;
        let procedure = found[0].procedure().unwrap();
        assert_eq!(procedure.may_replay(), may_replay, "{failed}: {:?}", procedure.guide_only);
    }
}
