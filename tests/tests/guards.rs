//! A value that came from an earlier result is never sent again once that result says something else,
//! however it was written there or in the argument.

use jiff::SignedDuration;
use learnkit::engine::Outcome;
use learnkit::run::CallDraft;
use learnkit_tests::{Script, World, begin, memory, nobody, run};
use serde_json::{Value, json};

/// Learns "read, then act with this argument" while `read` gives `then`. A repeat in the same world
/// makes both calls; one in which `read` gives `now` stops before the act.
async fn assert_guarded(task: &str, then: Value, now: Value, argument: Value) {
    let (memory, _) = memory().await;
    let world = World::new([("read", then), ("act", json!("done"))]);
    let script = Script::new([("read", json!({})), ("act", argument.clone())], "ok");
    run(&memory, task, &world, &script).await.unwrap();
    world.calls();
    run(&memory, task, &world, &nobody()).await.unwrap();
    assert_eq!(world.calls(), ["read {}".to_owned(), format!("act {argument}")], "nothing changed");
    world.set("read", now);
    run(&memory, task, &world, &nobody()).await.unwrap();
    assert_eq!(world.calls(), ["read {}"], "a stale value was sent");
}

#[tokio::test]
async fn a_number_in_a_text_that_gained_a_fraction_is_stale() {
    assert_guarded("Pay the fee", json!("The fee is 15"), json!("The fee is 15.99"), json!({"amount": 15})).await;
}

#[tokio::test]
async fn a_number_in_a_text_that_gained_thousands_is_stale() {
    assert_guarded("Pay the fee", json!("The fee is 500"), json!("The fee is 1,500"), json!({"amount": 500})).await;
}

#[tokio::test]
async fn a_number_in_a_text_that_gained_a_sign_is_stale() {
    assert_guarded("Adjust by the delta", json!("delta 15"), json!("delta -15"), json!({"amount": 15})).await;
}

#[tokio::test]
async fn a_number_that_is_a_part_of_a_number_of_the_task_is_not_given_by_the_task() {
    let task = "Pay 12.50 and take the first free seat";
    assert_guarded(task, json!({"seat": 12}), json!({"seat": 14}), json!({"seat": 12})).await;
}

#[tokio::test]
async fn a_value_that_was_a_key_of_the_result_is_stale_once_the_key_is_gone() {
    let (then, now) = (json!({"order_1001": {"state": "open"}}), json!({"order_2002": {"state": "open"}}));
    assert_guarded("Refund my latest order", then, now, json!({"order": "order_1001"})).await;
}

#[tokio::test]
async fn a_value_that_became_a_key_of_the_arguments_is_guarded() {
    let argument = json!({"orders": {"order_1001": true}});
    assert_guarded("Refund my latest order", json!({"id": "order_1001"}), json!({"id": "order_2002"}), argument).await;
}

#[tokio::test]
async fn an_id_chosen_from_a_list_in_a_text_needs_the_same_text() {
    let (then, now) = (json!("order_1001 (latest), order_0900"), json!("order_2002 (latest), order_1001"));
    assert_guarded("Refund my latest order", then, now, json!({"order": "order_1001"})).await;
}

#[tokio::test]
async fn a_word_inside_a_path_is_guarded() {
    let argument = json!({"path": "/users/alice"});
    assert_guarded("Delete my folder", json!({"user": "alice"}), json!({"user": "bob"}), argument).await;
}

#[tokio::test]
async fn words_of_two_results_joined_in_one_argument_are_guarded() {
    let (then, now) = (json!({"first": "Bob", "last": "Smith"}), json!({"first": "Ann", "last": "Jones"}));
    assert_guarded("Write a card", then, now, json!({"to": "Bob Smith"})).await;
}

#[tokio::test]
async fn an_id_with_a_suffix_is_guarded() {
    let argument = json!({"file": "order_1001.csv"});
    let (then, now) = (json!({"id": "order_1001"}), json!({"id": "order_2002"}));
    assert_guarded("Delete the latest export", then, now, argument).await;
}

#[tokio::test]
async fn a_number_with_a_prefix_is_guarded() {
    for ticket in ["#1001", "ticket-1001"] {
        let argument = json!({"ticket": ticket});
        assert_guarded("Close the newest ticket", json!({"number": 1001}), json!({"number": 2002}), argument).await;
    }
}

#[tokio::test]
async fn a_number_glued_to_letters_is_guarded() {
    let argument = json!({"ticket": "T1001"});
    assert_guarded("Close the newest ticket", json!({"number": 1001}), json!({"number": 2002}), argument).await;
}

#[tokio::test]
async fn an_id_inside_a_path_with_an_extension_is_guarded() {
    let argument = json!({"file": "/exports/order_1001.json"});
    let (then, now) = (json!({"id": "order_1001"}), json!({"id": "order_2002"}));
    assert_guarded("Delete the latest export", then, now, argument).await;
}

#[tokio::test]
async fn an_id_in_other_letter_case_is_guarded() {
    let argument = json!({"order": "ORDER_1001"});
    let (then, now) = (json!({"id": "order_1001"}), json!({"id": "order_2002"}));
    assert_guarded("Refund my latest order", then, now, argument).await;
}

#[tokio::test]
async fn a_number_that_was_text_and_is_sent_with_a_fraction_is_guarded() {
    let argument = json!({"amount": 152.00});
    assert_guarded("Pay the fee", json!({"fee": "152"}), json!({"fee": "153"}), argument).await;
}

#[tokio::test]
async fn calls_that_overlapped_an_earlier_one_are_guarded_by_what_had_finished() {
    let (memory, _) = memory().await;
    let session = begin(&memory, "pipeline").await;
    let latest = session.tracker().begin(CallDraft::new("latest", json!({})));
    let slow = session.tracker().begin(CallDraft::new("slow", json!({})));
    latest.finish(json!({"id": "order_1001"}).into(), None);
    let refund = session.tracker().begin(CallDraft::new("refund", json!({"order": "no. order_1001"})));
    slow.finish("x".into(), None);
    refund.finish("ok".into(), None);
    session.finish(&Outcome::answered("done")).await;
    let tools = [("latest", json!({"id": "order_2002"})), ("slow", json!("x")), ("refund", json!("ok"))];
    let world = World::new(tools);
    run(&memory, "pipeline", &world, &nobody()).await.unwrap();
    let calls = world.calls();
    assert!(calls.contains(&"latest {}".to_owned()), "{calls:?}");
    assert!(!calls.iter().any(|call| call.starts_with("refund")), "{calls:?}");
}

#[tokio::test]
async fn a_date_that_nobody_gave_is_not_sent_again() {
    for date in ["2026-01-07", "2026-01-06T19:03:00Z", "06.01.2026", "2026-01-06 19:00 CET"] {
        let (memory, clock) = memory().await;
        let world = World::new([("book", json!("booked"))]);
        let script = Script::new([("book", json!({"date": date}))], "booked");
        run(&memory, "Book a table for tomorrow", &world, &script).await.unwrap();
        world.calls();
        clock.advance(SignedDuration::from_hours(24 * 7));
        let planner = nobody();
        let report = run(&memory, "Book a table for tomorrow", &world, &planner).await.unwrap();
        assert_eq!(world.calls(), Vec::<String>::new(), "last week's tomorrow was booked: {date}");
        assert_eq!((report.replayed, planner.asked()), (false, 1));
    }
}

#[tokio::test]
async fn a_date_of_the_task_or_of_an_earlier_result_is_sent_again() {
    for (task, free) in [("Book a table on 2026-01-06", "yes"), ("Book the next free table", "2026-01-06")] {
        let (memory, _) = memory().await;
        let world = World::new([("free", json!({"day": free})), ("book", json!("booked"))]);
        let script = Script::new([("free", json!({})), ("book", json!({"date": "2026-01-06"}))], "booked");
        run(&memory, task, &world, &script).await.unwrap();
        let report = run(&memory, task, &world, &nobody()).await.unwrap();
        assert!(report.replayed, "{task}: {}", report.reason);
    }
}

#[tokio::test]
async fn an_amount_that_was_computed_from_results_is_stale_once_they_change() {
    let prices =
        |prices: &[f64]| json!({"items": prices.iter().map(|price| json!({"price": price})).collect::<Vec<_>>()});
    let pay = |amount: f64| json!({"amount": amount});
    for (then, now, amount) in [
        (prices(&[10.0, 20.5, 3.0]), prices(&[10.0, 25.5, 3.0]), 33.5),
        (json!({"price": 120, "seats": 3}), json!({"price": 130, "seats": 3}), 360.0),
        (json!({"price": 120, "credit": 50}), json!({"price": 120, "credit": 20}), 70.0),
    ] {
        assert_guarded("Pay my cart", then, now, pay(amount)).await;
    }
}

#[tokio::test]
async fn an_amount_of_the_task_is_not_computed() {
    let (memory, _) = memory().await;
    let world = World::new([("read", json!({"price": 10, "fee": 20})), ("act", json!("done"))]);
    let script = Script::new([("read", json!({})), ("act", json!({"amount": 30}))], "ok");
    run(&memory, "Pay 30 coins", &world, &script).await.unwrap();
    world.set("read", json!({"price": 11, "fee": 20}));
    assert!(run(&memory, "Pay 30 coins", &world, &nobody()).await.unwrap().replayed);
}
