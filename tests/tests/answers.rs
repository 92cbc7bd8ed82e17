//! The recorded answer is given only while nothing that it rests on has changed.

use learnkit::engine::{Outcome, ReactOptions};
use learnkit::run::AnswerSource;
use learnkit::{RunReport, run_react_agent};
use learnkit_tests::{Script, World, begin, memory, nobody, run, skills};
use serde_json::{Value, json};

/// Learns an answer while `read` gives `then` and repeats the task while it gives `now`.
async fn repeat(then: Value, now: Value, said: &str) -> RunReport {
    let (memory, _) = memory().await;
    let world = World::new([("read", then)]);
    run(&memory, "Say it", &world, &Script::new([("read", json!({}))], said)).await.unwrap();
    world.set("read", now);
    run(&memory, "Say it", &world, &nobody()).await.unwrap()
}

async fn assert_worded_anew(then: Value, now: Value, said: &str) {
    let same = repeat(then.clone(), then.clone(), said).await;
    assert_eq!(same.answer_source, Some(AnswerSource::Recorded), "nothing changed");
    assert_eq!(same.answer.as_deref(), Some(said));
    let changed = repeat(then, now, said).await;
    assert_eq!(changed.answer_source, Some(AnswerSource::Synthesis), "the recorded answer was given: {said}");
    assert_eq!(changed.answer.as_deref(), Some("worded anew"));
}

#[tokio::test]
async fn a_number_that_the_answer_writes_with_separators_is_looked_at() {
    let said = "Revenue is 1,250,000 dollars.";
    assert_worded_anew(json!({"revenue": 1_250_000}), json!({"revenue": 3_400_000}), said).await;
}

#[tokio::test]
async fn a_date_that_the_answer_writes_in_words_is_looked_at() {
    let (then, now) = (json!({"ships": "2026-05-01"}), json!({"ships": "2026-06-02"}));
    assert_worded_anew(then, now, "It ships on May 1st.").await;
}

#[tokio::test]
async fn a_time_that_the_answer_writes_in_words_is_looked_at() {
    let (then, now) = (json!({"opens": "08:30:00"}), json!({"opens": "10:15:00"}));
    assert_worded_anew(then, now, "It opens at half past eight.").await;
}

#[tokio::test]
async fn a_number_under_a_secret_key_is_looked_at_although_it_is_masked() {
    assert_worded_anew(json!({"token": 5}), json!({"token": 7}), "You have 5 left.").await;
}

#[tokio::test]
async fn an_amount_that_the_answer_rounds_is_looked_at() {
    let (then, now) = (json!({"total": 1_249_871}), json!({"total": 4_871_002}));
    assert_worded_anew(then, now, "About one and a quarter million.").await;
}

#[tokio::test]
async fn exploration_that_the_answer_rests_on_without_naming_it_gives_no_recorded_answer() {
    let (memory, _) = memory().await;
    let world = World::new([("list", json!(["users", "orders"])), ("touch", json!("ok"))]);
    let options = || ReactOptions { exploration_tools: ["list".to_owned()].into(), ..ReactOptions::default() };
    let script = Script::new([("list", json!({})), ("touch", json!({}))], "There are two tables.");
    let task = "Touch and count tables";
    run_react_agent(&memory, task, &world.tools(), &script, options()).await.unwrap();
    world.set("list", json!(["users", "orders", "audit"]));
    let report = run_react_agent(&memory, task, &world.tools(), &nobody(), options()).await.unwrap();
    assert_ne!(report.answer_source, Some(AnswerSource::Recorded), "{:?}", report.answer);
}

#[tokio::test]
async fn an_answer_that_rests_on_a_call_that_is_not_replayed_is_worded_anew() {
    let explored = ReactOptions { exploration_tools: ["is_open".to_owned()].into(), ..ReactOptions::default() };
    let (memory, _) = memory().await;
    let world = World::new([("is_open", json!({"open": true})), ("touch", json!("done"))]);
    let script = Script::new([("is_open", json!({})), ("touch", json!({}))], "It is open, touched");
    run_react_agent(&memory, "Touch it", &world.tools(), &script, explored.clone()).await.unwrap();
    let report = run_react_agent(&memory, "Touch it", &world.tools(), &nobody(), explored).await.unwrap();
    assert_eq!((report.replayed, report.synthesis_calls), (true, 1), "{}", report.reason);

    let session = begin(&memory, "Reserve a seat").await;
    session.tracker().record_failure("reserve", json!({"seat": "A12"}), "taken");
    session.tracker().record("reserve", json!({"seat": "B14"}), "reserved");
    session.finish(&Outcome::answered("A12 was taken, so I reserved B14")).await;
    let found = skills(&memory).await;
    let reserved = found.iter().filter_map(|record| record.procedure()).find(|own| own.trigger == "Reserve a seat");
    assert_eq!(reserved.unwrap().answer, None);
}
