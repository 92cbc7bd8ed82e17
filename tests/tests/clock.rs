//! Dates that are counted from the day of the run: each replay counts them anew, from one look at the clock.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use learnkit::config::TimeZone;
use learnkit::conversation::RecordedRun;
use learnkit::engine::{Decision, Outcome, SessionOptions, View};
use learnkit::record::RunId;
use learnkit::run::{Mode, ToolTracker};
use learnkit::{LearnKit, RunReport, Task};
use learnkit_core::testing::ManualClock;
use learnkit_tests::{Script, World, begin, builder, memory, nobody, run, skills};
use serde_json::{Value, json};

/// Learns "act with this argument" for a task on 2026-01-05 and repeats it three days later: the call of the
/// repeat, where it was a replay, and the report.
async fn repeated(task: &str, argument: &str) -> (Option<String>, RunReport) {
    let (memory, clock) = memory().await;
    let world = World::new([("act", json!("done"))]);
    run(&memory, task, &world, &Script::new([("act", json!({ "day": argument }))], "ok")).await.unwrap();
    world.calls();
    clock.advance(SignedDuration::from_hours(72));
    let report = run(&memory, task, &world, &nobody()).await.unwrap();
    (world.calls().pop(), report)
}

#[tokio::test]
async fn a_date_is_counted_anew_from_the_day_of_the_replay() {
    for (task, then, now) in [
        ("What is due today?", "2026-01-05", "2026-01-08"),
        ("Book a table for tonight", "2026-01-05", "2026-01-08"),
        ("Book a table for tomorrow", "2026-01-06", "2026-01-09"),
        ("Book a table for tomorrow", "2026-01-06T19:00:00", "2026-01-09T19:00:00"),
        ("Book a table for tomorrow", "2026-01-06T19:00:00Z", "2026-01-09T19:00:00Z"),
        ("Book a table for the day after tomorrow", "2026-01-07", "2026-01-10"),
        ("Sales of yesterday", "2026-01-04", "2026-01-07"),
        ("Sales of the day before yesterday", "2026-01-03", "2026-01-06"),
        ("Remind me in 30 days", "2026-02-04", "2026-02-07"),
        ("Sales of two days ago", "2026-01-03", "2026-01-06"),
        ("Отчёт за вчера", "2026-01-04", "2026-01-07"),
        ("Einen Tisch für morgen buchen", "2026-01-06", "2026-01-09"),
        ("明天订一张桌子", "2026-01-06", "2026-01-09"),
        ("Réserve une table pour aujourd’hui", "2026-01-05", "2026-01-08"),
        ("Reserva una mesa para mañana", "2026-01-06", "2026-01-09"),
        ("내일의 날씨", "2026-01-06", "2026-01-09"),
    ] {
        let (call, report) = repeated(task, then).await;
        assert_eq!(call, Some(format!(r#"act {{"day":"{now}"}}"#)), "{task}: {}", report.reason);
        assert_eq!((report.mode, report.planning_calls), (Mode::Replay, Some(0)), "{task}");
    }
}

#[tokio::test]
async fn a_date_that_the_words_do_not_name_for_certain_only_guides() {
    for (task, date) in [
        // Two days are named.
        ("Move it from today to tomorrow", "2026-01-06"),
        ("Do it today, not in 3 days", "2026-01-05"),
        // The date is another one.
        ("Book a table for tomorrow", "2026-01-07"),
        ("Book a table for tomorrow", "2025-12-31"),
        // No distance says which.
        ("Book a table for next Friday", "2026-01-09"),
        ("Book a table on Sunday", "2026-01-11"),
        ("Move the meeting of today to Friday", "2026-01-05"),
        ("Sales of last week", "2025-12-29"),
        ("Remind me in 2 weeks", "2026-01-19"),
        ("Sales of the last 7 days", "2025-12-29"),
        ("What happens in the next 3 days?", "2026-01-08"),
        ("Sales of the past week", "2025-12-29"),
        ("Remind me at 5 pm", "2026-01-05T17:00:00"),
        ("Book a table", "2026-01-06"),
        ("Réserve une table pour aujourd'hui", "2026-01-06"),
        ("来週の会議", "2026-01-12"),
        // Its time was that of the run, or another spelling hides which day it is.
        ("Log my visit of today", "2026-01-05T08:00:00"),
        ("Book a table for tomorrow", "06/01/2026"),
        ("Book a table for tomorrow", "from 2026-01-06 on"),
    ] {
        let (call, report) = repeated(task, date).await;
        assert_eq!((call, report.mode), (None, Mode::Guide), "{task}: {date}: {}", report.reason);
        assert!(report.reason.contains("depends on when the task was asked"), "{task}: {}", report.reason);
    }
}

#[tokio::test]
async fn a_date_that_the_task_gives_is_a_constant() {
    let (call, report) = repeated("Book a table for tomorrow, 2026-01-06", "2026-01-06").await;
    assert_eq!(call.as_deref(), Some(r#"act {"day":"2026-01-06"}"#), "{}", report.reason);
    for (task, day) in [("Book a table on 6 January", "2026-01-06"), ("Book a table", "2027-01-06")] {
        let (call, report) = repeated(task, day).await;
        assert_eq!(call, Some(format!(r#"act {{"day":"{day}"}}"#)), "{}", report.reason);
    }
}

#[tokio::test]
async fn a_recorded_answer_is_given_again_only_for_the_same_dates() {
    let (memory, clock) = memory().await;
    let world = World::new([("weather", json!({ "sky": "clear" }))]);
    let script = Script::new([("weather", json!({ "day": "2026-01-06" }))], "Clear on Tuesday");
    run(&memory, "Weather of tomorrow", &world, &script).await.unwrap();
    clock.advance(SignedDuration::from_hours(15));
    let same_day = run(&memory, "Weather of tomorrow", &world, &nobody()).await.unwrap();
    assert_eq!(same_day.answer.as_deref(), Some("Clear on Tuesday"));
    clock.advance(SignedDuration::from_hours(24));
    let later = run(&memory, "Weather of tomorrow", &world, &nobody()).await.unwrap();
    assert_eq!((later.mode, later.synthesis_calls), (Mode::Replay, 1));
    assert_ne!(later.answer.as_deref(), Some("Clear on Tuesday"));
}

#[tokio::test]
async fn one_look_at_the_clock_serves_a_whole_replay() {
    let (memory, clock) = memory().await;
    let world = World::new([("find", json!({ "free": true })), ("book", json!("done"))]);
    let day = || json!({ "day": "2026-01-06" });
    run(&memory, "Book for tomorrow", &world, &Script::new([("find", day()), ("book", day())], "ok")).await.unwrap();
    clock.set("2026-01-09T23:59:59Z".parse().unwrap());
    let session = memory.session(Task::new("Book for tomorrow"), SessionOptions::default()).unwrap();
    let mut sent = Vec::new();
    for result in [json!({ "free": true }).to_string(), "done".to_owned()] {
        let Decision::Replay(calls) = session.decide(&View::default()).await else { panic!("{}", session.reason()) };
        clock.advance(SignedDuration::from_mins(5));
        assert!(session.plan_steps().iter().all(|call| call.arguments.raw() == calls[0].arguments.raw()));
        sent.push(calls[0].arguments.raw().to_owned());
        session.tracker().record(&calls[0].tool, calls[0].arguments.clone(), result);
    }
    assert_eq!(sent, [r#"{"day":"2026-01-10"}"#; 2]);
}

#[tokio::test]
async fn a_planned_run_of_another_day_confirms_the_same_record() {
    let (memory, clock) = memory().await;
    for day in ["2026-01-06", "2026-01-07"] {
        let session = begin(&memory, "Book for tomorrow").await;
        session.tracker().record("look", json!({}), "anything");
        session.tracker().record("book", json!({ "day": day }), "done");
        session.finish(&Outcome::answered("ok")).await;
        clock.advance(SignedDuration::from_hours(24));
    }
    let found = skills(&memory).await;
    assert_eq!(found.len(), 1);
    let procedure = found[0].procedure().unwrap();
    assert_eq!(procedure.steps[1].slots[0].to_string(), "{today + 1 day}");
    assert!(procedure.may_replay(), "{:?}", procedure.guide_only);
}

#[tokio::test]
async fn a_result_and_the_clock_have_to_agree() {
    for (now, sent) in [("2026-01-09", true), ("2026-01-10", false)] {
        let (memory, clock) = memory().await;
        let world = World::new([("next_free", json!({ "day": "2026-01-06" })), ("book", json!("done"))]);
        let script = Script::new([("next_free", json!({})), ("book", json!({ "day": "2026-01-06" }))], "ok");
        run(&memory, "Book for tomorrow", &world, &script).await.unwrap();
        world.calls();
        clock.advance(SignedDuration::from_hours(72));
        world.set("next_free", json!({ "day": now }));
        let report = run(&memory, "Book for tomorrow", &world, &nobody()).await.unwrap();
        assert_eq!(world.calls().iter().any(|call| call.starts_with("book")), sent, "{now}: {}", report.reason);
    }
}

#[tokio::test]
async fn a_date_that_was_chosen_from_a_list_is_counted_as_well() {
    let (memory, clock) = memory().await;
    let world = World::new([("free", json!(["2026-01-06", "2026-01-07"])), ("book", json!("done"))]);
    let script = Script::new([("free", json!({})), ("book", json!({ "day": "2026-01-06" }))], "ok");
    run(&memory, "Book for tomorrow", &world, &script).await.unwrap();
    world.calls();
    clock.advance(SignedDuration::from_hours(24));
    let report = run(&memory, "Book for tomorrow", &world, &nobody()).await.unwrap();
    assert_eq!(world.calls(), ["free {}", r#"book {"day":"2026-01-07"}"#], "{}", report.reason);
}

async fn in_zone(zone: &str, clock: &Arc<ManualClock>, file: &str) -> LearnKit {
    let zone: TimeZone = zone.parse().unwrap();
    builder(clock).backend(format!("sqlite:{file}")).time_zone(zone).build().await.unwrap()
}

#[tokio::test]
async fn a_day_is_one_of_the_time_zone_and_another_zone_replays_no_date() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.db").display().to_string();
    let clock = Arc::new(ManualClock::new("2026-01-05T23:30:00Z".parse().unwrap()));
    let world = World::new([("act", json!("done"))]);
    let script = Script::new([("act", json!({ "day": "2026-01-07" }))], "ok");
    let memory = in_zone("+02:00", &clock, &file).await;
    run(&memory, "Book for tomorrow", &world, &script).await.unwrap();
    clock.advance(SignedDuration::from_hours(24));
    world.calls();
    let report = run(&memory, "Book for tomorrow", &world, &nobody()).await.unwrap();
    assert_eq!((world.calls(), report.mode), (vec![r#"act {"day":"2026-01-08"}"#.to_owned()], Mode::Replay));

    let elsewhere = in_zone("UTC", &clock, &file).await;
    let report = run(&elsewhere, "Book for tomorrow", &world, &nobody()).await.unwrap();
    assert_eq!((world.calls(), report.mode), (vec![], Mode::Guide));
    assert!(report.reason.contains("counted in the time zone +02:00, and `time_zone` is UTC"), "{}", report.reason);
}

#[tokio::test]
async fn memory_shows_how_a_date_is_counted() {
    let (memory, clock) = memory().await;
    let world = World::new([("act", json!("done"))]);
    let script = Script::new([("act", json!({ "day": "2026-01-06T19:00:00", "seats": 2 }))], "ok");
    run(&memory, "Book a table for tomorrow", &world, &script).await.unwrap();
    clock.advance(SignedDuration::from_hours(24));
    let inspection = memory.inspect("Book a table for tomorrow").await.unwrap();
    assert_eq!(inspection.plan[0].arguments.raw(), r#"{"day":"2026-01-07T19:00:00","seats":2}"#);
    assert_eq!(inspection.plan[0].open, [""; 0]);
    assert!(inspection.playbook.text.contains("day = today + 1 day"), "{}", inspection.playbook.text);
    let slot = skills(&memory).await[0].procedure().unwrap().steps[0].slots[0].to_string();
    assert_eq!(slot, "{today + 1 day}T19:00:00");
}

/// A recorded run that began at a time and booked a day.
fn recording(at: &str, day: &str) -> RecordedRun {
    let at: Timestamp = at.parse().unwrap();
    let tracker = ToolTracker::new(Arc::new(ManualClock::new(at)));
    tracker.record("book", json!({ "day": day }), "done");
    RecordedRun {
        run_id: RunId::derived(&["recorded"]),
        task: Task::new("Book for tomorrow"),
        calls: tracker.calls(),
        answer: Some("ok".to_owned()),
        verdict: Some(learnkit::run::Verdict::Success),
        origin: "recorded.json".to_owned(),
        started: at,
    }
}

#[tokio::test]
async fn a_recording_of_long_ago_only_guides() {
    for (at, day, replays) in
        [("2026-01-04T09:00:00Z", "2026-01-05", true), ("2025-01-04T09:00:00Z", "2025-01-05", false)]
    {
        let (memory, _) = memory().await;
        memory.learn_recorded(recording(at, day)).await.unwrap().unwrap();
        let inspection = memory.inspect("Book for tomorrow").await.unwrap();
        assert_eq!(inspection.mode == Mode::Replay, replays, "{at}: {}", inspection.reason);
        let sent: Vec<Value> =
            inspection.plan.iter().map(|line| serde_json::from_str(line.arguments.raw()).unwrap()).collect();
        assert_eq!(sent.first(), replays.then(|| json!({ "day": "2026-01-06" })).as_ref());
    }
}

#[tokio::test]
async fn what_was_chosen_among_dates_is_not_sent_on_another_day() {
    let meetings = json!([{"title": "standup", "day": "2026-01-05"}, {"title": "retro", "day": "2026-01-06"}]);
    for (arguments, count) in [(json!({}), 0), (json!({"day": "2026-01-05"}), 2)] {
        let (memory, clock) = memory().await;
        let world = World::new([("calendar", meetings.clone()), ("notify", json!("done"))]);
        let script = Script::new([("calendar", arguments), ("notify", json!({"title": "standup"}))], "ok");
        run(&memory, "Remind me of today's meeting", &world, &script).await.unwrap();
        world.calls();
        clock.advance(SignedDuration::from_hours(24));
        let report = run(&memory, "Remind me of today's meeting", &world, &nobody()).await.unwrap();
        assert_eq!(world.calls().len(), count, "{}", report.reason);
    }
}

#[tokio::test]
async fn an_answer_about_a_moment_is_not_given_again_at_another() {
    for (task, hours) in [("What is due today?", 48), ("Is the shop open now?", 14)] {
        let (memory, clock) = memory().await;
        let due = json!([{"what": "report", "day": "2026-01-05"}, {"what": "audit", "day": "2026-01-07"}]);
        let world = World::new([("list", due)]);
        run(&memory, task, &world, &Script::new([("list", json!({}))], "The report.")).await.unwrap();
        clock.advance(SignedDuration::from_hours(hours));
        let report = run(&memory, task, &world, &nobody()).await.unwrap();
        assert!(report.replayed, "{}", report.reason);
        assert_ne!(report.answer.as_deref(), Some("The report."), "{task}");
    }
}
