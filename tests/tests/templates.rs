//! Learned templates: texts that align, calls that follow, and everything that keeps one from replaying.

use std::io::Cursor;
use std::sync::Arc;

use learnkit::config::{ReplayTrust, TemplateReplay};
use learnkit::conversation::RecordedRun;
use learnkit::engine::{Outcome, PlannerReply, SessionOptions};
use learnkit::portable::{ExportSelection, Import, ImportOptions};
use learnkit::record::{Record, RunId, Trust};
use learnkit::run::{AnswerSource, CallDraft, Mode, Verdict};
use learnkit::tool::ToolAnnotations;
use learnkit::{ErrorKind, LearnKit, RunReport, Task};
use learnkit_tests::bank::clock;
use learnkit_tests::{Reply, Script, World, builder, nobody, run, skills};
use serde_json::{Value, json};

const ON: TemplateReplay = TemplateReplay::Confirmed { min_distinct: 3 };

async fn memory() -> LearnKit {
    builder(&clock()).template_replay(ON).build().await.unwrap()
}

fn world() -> World {
    World::new([("send", json!({"sent": true}))])
}

fn text(coins: u32, from: &str, to: &str) -> String {
    format!("Please send {coins} coins from {from} to {to}")
}

fn arguments(coins: u32, from: &str, to: &str) -> Value {
    json!({"coins": coins, "from": from, "to": to})
}

/// A planned run of this text with these arguments, whatever memory would do.
async fn planned(memory: &LearnKit, text: &str, arguments: Value) -> RunReport {
    planned_as(memory, text, arguments, ToolAnnotations::default(), None).await
}

async fn planned_as(
    memory: &LearnKit,
    text: &str,
    arguments: Value,
    annotations: ToolAnnotations,
    verdict: Option<Verdict>,
) -> RunReport {
    let session = memory.session(Task::new(text), SessionOptions::default()).unwrap();
    session.observe(CallDraft::new("send", arguments).with_annotations(annotations), Ok(json!({"sent": true}).into()));
    session.finish(&Outcome::answered("sent").with_verdict(verdict)).await
}

/// Three runs that show the template, and their reports.
async fn three(memory: &LearnKit) -> Vec<RunReport> {
    let mut reports = Vec::new();
    for (coins, from, to) in [(5, "alice", "bob"), (7, "bob", "carol"), (9, "dan", "alice")] {
        reports.push(planned(memory, &text(coins, from, to), arguments(coins, from, to)).await);
    }
    reports
}

async fn template(memory: &LearnKit) -> Option<Record> {
    skills(memory).await.into_iter().find(|record| record.template().is_some())
}

async fn contradiction(memory: &LearnKit) -> Option<String> {
    template(memory).await.and_then(|record| record.template().and_then(|template| template.contradicted.clone()))
}

/// Asks a text with a planner that calls nothing: the calls that memory made, and the report.
async fn asked(memory: &LearnKit, text: &str) -> (Vec<String>, RunReport) {
    let world = world();
    let report = run(memory, text, &world, &Script::of([PlannerReply::answer("planned")])).await.unwrap();
    (world.calls(), report)
}

#[tokio::test]
async fn templates_are_off_by_default() {
    let memory = builder(&clock()).build().await.unwrap();
    three(&memory).await;
    let (calls, report) = asked(&memory, &text(12, "eve", "frank")).await;
    assert_eq!((calls.len(), report.mode), (0, Mode::Guide));
    assert_eq!(template(&memory).await, None);
}

#[tokio::test]
async fn fewer_than_three_texts_are_refused_as_a_setting_and_show_nothing() {
    let two = TemplateReplay::Confirmed { min_distinct: 2 };
    let error = builder(&clock()).template_replay(two).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("use `confirmed:3` or `off`"), "{error}");
    let memory = memory().await;
    planned(&memory, &text(5, "alice", "bob"), arguments(5, "alice", "bob")).await;
    planned(&memory, &text(7, "bob", "carol"), arguments(7, "bob", "carol")).await;
    // The same text again is no third one.
    planned(&memory, &text(7, "bob", "carol"), arguments(7, "bob", "carol")).await;
    assert_eq!(template(&memory).await, None);
    assert_eq!(asked(&memory, &text(12, "eve", "frank")).await.0.len(), 0);
}

#[tokio::test]
async fn a_fourth_text_replays_with_its_own_values_and_zero_planning_calls() {
    let memory = memory().await;
    three(&memory).await;
    let (world, planner) = (world(), nobody());
    let report = run(&memory, &text(12, "eve", "frank"), &world, &planner).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!((planner.asked(), report.planning_calls), (0, Some(0)));
    assert_eq!(world.calls(), [r#"send {"coins":12,"from":"eve","to":"frank"}"#]);
    let id = template(&memory).await.unwrap().id;
    let told = format!("confirmed template, unverified record {id} with p1 = `12`, p2 = `eve`, p3 = `frank`");
    assert!(report.reason.starts_with(&told), "{}", report.reason);
    // "sent" was said of other values.
    assert_ne!(report.answer_source, Some(AnswerSource::Recorded));
    let stored = memory.run(&report.run_id).await.unwrap();
    assert_eq!(stored.procedure, Some(id));
    assert!(stored.decisions[0].reason.starts_with(&told));
}

#[tokio::test]
async fn recorded_runs_show_a_template_like_others() {
    let memory = memory().await;
    for (coins, from, to) in [(5, "alice", "bob"), (7, "bob", "carol"), (9, "dan", "alice")] {
        let tracker = learnkit::run::ToolTracker::new(Arc::new(learnkit::SystemClock));
        tracker.record("send", arguments(coins, from, to), json!({"sent": true}).to_string());
        let recorded = RecordedRun {
            run_id: RunId::derived(&[from]),
            origin: "recording".into(),
            task: Task::new(text(coins, from, to)),
            calls: tracker.calls(),
            answer: Some("sent".into()),
            verdict: Some(Verdict::Success),
            started: "2026-01-05T08:00:00Z".parse().unwrap(),
        };
        memory.learn_recorded(recorded).await.unwrap();
    }
    let (calls, report) = asked(&memory, &text(12, "eve", "frank")).await;
    assert_eq!(calls, [r#"send {"coins":12,"from":"eve","to":"frank"}"#], "{}", report.reason);
    assert_eq!(template(&memory).await.unwrap().trust, Trust::Verified);
}

#[tokio::test]
async fn swapped_names_bind_each_to_its_own() {
    let memory = memory().await;
    for (coins, from, to) in [(5, "alice", "bob"), (7, "bob", "alice"), (9, "dan", "alice")] {
        planned(&memory, &text(coins, from, to), arguments(coins, from, to)).await;
    }
    for (from, to) in [("dan", "bob"), ("bob", "dan"), ("alice", "dan")] {
        let (calls, report) = asked(&memory, &text(5, from, to)).await;
        assert_eq!(calls, [format!(r#"send {{"coins":5,"from":"{from}","to":"{to}"}}"#)], "{}", report.reason);
    }
}

#[tokio::test]
async fn near_misses_of_a_template_never_replay() {
    let memory = memory().await;
    three(&memory).await;
    for text in [
        "Please do not send 12 coins from eve to frank",
        "Please never send 12 coins from eve to frank",
        "Please send 12 coins to frank from eve",
        "Please send 12 coins from eve to frank and dan",
        "Please send 12 coins from eve to frank tomorrow",
        "Please send 12 coins from eve or dan to frank",
        "Please send twelve coins from eve to frank",
        "Please send 12 notes from eve to frank",
        "please send 12 coins from eve to frank",
        "Please send 12 coins from eve to frank!",
        "Please send 12 coins from eve to frank. Then stop",
        "Please send 12 coins from eve to 'frank'",
        "Please send 12 coins from eve to not",
    ] {
        let (calls, report) = asked(&memory, text).await;
        assert_eq!(calls, Vec::<String>::new(), "{text}: {}", report.reason);
    }
    let task = Task::new(text(12, "eve", "frank"));
    for other in [
        task.clone().with_format("json"),
        task.clone().with_environment("staging"),
        task.with_earlier_turns([("user", "Stop all payments")]),
    ] {
        let session = memory.session(other, SessionOptions::default()).unwrap();
        session.decide(&learnkit::engine::View::default()).await;
        assert_ne!(session.mode(), Mode::Replay, "{}", session.reason());
    }
}

#[tokio::test]
async fn a_slot_that_no_argument_takes_confirms_nothing() {
    let memory = memory().await;
    for (coins, from, to) in [(5, "alice", "bob"), (7, "bob", "carol"), (9, "dan", "alice"), (11, "eve", "dan")] {
        planned(&memory, &text(coins, from, to), json!({"coins": coins, "to": to})).await;
    }
    assert_eq!(template(&memory).await, None);
}

#[tokio::test]
async fn an_argument_that_follows_no_slot_confirms_nothing() {
    for argument in [
        // A code that comes from nowhere known.
        |coins: u32, from: &str, to: &str| json!({"coins": coins, "from": from, "to": to, "code": to.len()}),
        // Another form of the value.
        |coins: u32, from: &str, to: &str| json!({"coins": coins, "from": from.to_uppercase(), "to": to}),
        // Computed from it.
        |coins: u32, from: &str, to: &str| json!({"coins": coins * 100, "from": from, "to": to}),
    ] {
        let memory = memory().await;
        for (coins, from, to) in [(5, "alice", "bob"), (7, "bob", "carol"), (9, "dan", "frederic")] {
            planned(&memory, &text(coins, from, to), argument(coins, from, to)).await;
        }
        assert_eq!(template(&memory).await, None);
    }
}

#[tokio::test]
async fn a_success_that_did_otherwise_keeps_a_template_from_being_learned() {
    let memory = memory().await;
    planned(&memory, &text(3, "eve", "bob"), json!({"coins": 6, "from": "eve", "to": "bob"})).await;
    three(&memory).await;
    assert_eq!(template(&memory).await, None);
}

#[tokio::test]
async fn one_contradiction_ends_a_template_for_good() {
    let memory = memory().await;
    three(&memory).await;
    planned(&memory, &text(20, "gina", "hank"), json!({"coins": 21, "from": "gina", "to": "hank"})).await;
    let reason = contradiction(&memory).await.unwrap();
    assert!(reason.contains("`send`"), "{reason}");
    let (calls, report) = asked(&memory, &text(12, "eve", "frank")).await;
    assert_eq!(calls.len(), 0);
    assert!(report.reason.contains("was contradicted"), "{}", report.reason);
    // Neither more runs that follow it nor a report bring it back.
    for (coins, from, to) in [(31, "ida", "jon"), (32, "kim", "leo"), (33, "mia", "ned")] {
        planned_as(
            &memory,
            &text(coins, from, to),
            arguments(coins, from, to),
            ToolAnnotations::default(),
            Some(Verdict::Success),
        )
        .await;
    }
    assert_eq!(contradiction(&memory).await, Some(reason));
    assert_eq!(asked(&memory, &text(12, "eve", "frank")).await.0.len(), 0);
}

#[tokio::test]
async fn a_replay_that_fails_is_a_contradiction() {
    let memory = memory().await;
    three(&memory).await;
    let world = world();
    world.set("send", Reply::Error("no such account".into()));
    let report = run(&memory, &text(12, "eve", "frank"), &world, &nobody()).await.unwrap();
    assert!(!report.replayed);
    assert!(contradiction(&memory).await.unwrap().contains("`send` failed"));
    assert_eq!(asked(&memory, &text(13, "eve", "frank")).await.0.len(), 0);
}

#[tokio::test]
async fn a_reported_failure_of_a_replay_ends_a_template_and_a_later_success_does_not_revive_it() {
    let memory = memory().await;
    three(&memory).await;
    let (_, report) = asked(&memory, &text(12, "eve", "frank")).await;
    assert!(report.replayed, "{}", report.reason);
    memory.report_failure(&report.run_id).await.unwrap();
    assert!(contradiction(&memory).await.is_some());
    memory.report_success(&report.run_id).await.unwrap();
    let (calls, report) = asked(&memory, &text(13, "eve", "frank")).await;
    assert_eq!(calls.len(), 0, "{}", report.reason);
}

#[tokio::test]
async fn an_example_that_turns_out_wrong_takes_its_template_along() {
    let memory = memory().await;
    let reports = three(&memory).await;
    memory.report_failure(&reports[0].run_id).await.unwrap();
    let (calls, report) = asked(&memory, &text(12, "eve", "frank")).await;
    assert_eq!(calls.len(), 0);
    assert!(report.reason.contains("is retired"), "{}", report.reason);
}

#[tokio::test]
async fn a_template_is_as_trusted_as_the_weakest_of_its_examples() {
    let memory = builder(&clock()).template_replay(ON).replay_trust(ReplayTrust::Verified).build().await.unwrap();
    let reports = three(&memory).await;
    for (reported, at) in [(false, 0), (false, 1), (true, 2)] {
        memory.report_success(&reports[at].run_id).await.unwrap();
        let (calls, report) = asked(&memory, &text([12, 13, 14][at], "eve", "frank")).await;
        assert_eq!(!calls.is_empty(), reported, "{}", report.reason);
    }
}

#[tokio::test]
async fn a_record_of_the_exact_task_decides_before_any_template() {
    let memory = memory().await;
    three(&memory).await;
    let own = planned(&memory, &text(12, "eve", "frank"), arguments(12, "eve", "frank")).await;
    memory.report_failure(&own.run_id).await.unwrap();
    let (calls, report) = asked(&memory, &text(12, "eve", "frank")).await;
    assert_eq!(calls.len(), 0, "{}", report.reason);
    assert!(report.reason.starts_with("the record of this exact task may not replay"), "{}", report.reason);
}

#[tokio::test]
async fn a_run_that_follows_is_one_more_example_and_an_equal_value_of_two_slots_is_no_contradiction() {
    let memory = memory().await;
    three(&memory).await;
    planned(&memory, &text(20, "gina", "hank"), arguments(20, "gina", "hank")).await;
    planned(&memory, &text(21, "gina", "gina"), arguments(21, "gina", "gina")).await;
    let record = template(&memory).await.unwrap();
    let template = record.template().unwrap();
    assert_eq!((template.examples.len(), &template.contradicted), (4, &None));
    assert_eq!((record.usage.successes, record.task.as_ref()), (5, None));
    let slots = record.procedure().unwrap().steps[0].slots.iter().map(|slot| slot.examples);
    assert_eq!(slots.collect::<Vec<_>>(), [4, 4, 4]);
}

#[tokio::test]
async fn a_template_survives_export_and_import_with_its_examples_and_its_contradiction() {
    let memory = memory().await;
    three(&memory).await;
    let copied = |from: LearnKit| async move {
        let mut out = Vec::new();
        from.export(&mut out, &ExportSelection::default()).await.unwrap();
        let other = self::memory().await;
        other.import(Import::read(Cursor::new(out)).unwrap(), ImportOptions::default()).await.unwrap();
        other
    };
    let copy = copied(memory.clone()).await;
    let (own, copied_record) = (template(&memory).await.unwrap(), template(&copy).await.unwrap());
    assert_eq!(copied_record.content, own.content);
    let (calls, report) = asked(&copy, &text(12, "eve", "frank")).await;
    assert_eq!(calls, [r#"send {"coins":12,"from":"eve","to":"frank"}"#], "{}", report.reason);
    planned(&memory, &text(20, "gina", "hank"), json!({"coins": 21, "from": "gina", "to": "hank"})).await;
    let copy = copied(memory.clone()).await;
    assert_eq!(contradiction(&copy).await, contradiction(&memory).await);
    assert_eq!(asked(&copy, &text(12, "eve", "frank")).await.0.len(), 0);
}
