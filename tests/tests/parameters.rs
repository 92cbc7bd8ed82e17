//! Other values of declared parameters replay only what a run proved to follow them: a day that their words
//! name, a sign that no run had, and what stood beside another value are left to the planner.

use learnkit::engine::ReactOptions;
use learnkit::run::Mode;
use learnkit::{LearnKit, RunReport, Task, run_react_agent};
use learnkit_tests::{Script, World, memory, nobody};
use serde_json::{Value, json};

fn task(template: &str, values: &[(&str, &str)]) -> Task {
    values.iter().fold(Task::template(template), |task, (name, value)| task.with(*name, *value)).build().unwrap()
}

async fn react(memory: &LearnKit, task: Task, world: &World, script: &Script) -> RunReport {
    run_react_agent(memory, task, &world.tools(), script, ReactOptions::default()).await.unwrap()
}

fn world() -> World {
    World::new([("find", json!({"kind": "view"})), ("export", json!("done"))])
}

/// Learns one call of `export` for each of these values.
async fn taught(template: &str, runs: &[(&[(&str, &str)], Value)]) -> LearnKit {
    let (memory, _) = memory().await;
    for (values, arguments) in runs {
        let script = Script::new([("export", arguments.clone())], "ok");
        let report = react(&memory, task(template, values), &world(), &script).await;
        assert_eq!(report.planning_calls, Some(2), "{}", report.reason);
    }
    memory
}

/// What a repeat sends without a planner.
async fn sent(memory: &LearnKit, template: &str, values: &[(&str, &str)]) -> (Vec<String>, String) {
    let world = world();
    let report = react(memory, task(template, values), &world, &nobody()).await;
    (world.calls(), report.reason)
}

#[tokio::test]
async fn a_day_that_a_parameter_names_is_not_counted_for_another_value() {
    for (template, name, value, other, date) in [
        ("Book a room for {when}", "when", "tomorrow", "in 3 days", "2026-01-06"),
        ("Book a room in {count} days", "count", "100", "365", "2026-04-15"),
    ] {
        let memory = taught(template, &[(&[(name, value)], json!({"note": value, "date": date}))]).await;
        let (calls, reason) = sent(&memory, template, &[(name, value)]).await;
        assert_eq!(calls.len(), 1, "its own value: {reason}");
        let (calls, reason) = sent(&memory, template, &[(name, other)]).await;
        assert_eq!(calls, Vec::<String>::new(), "{template}: {reason}");
    }
    // Also once two values named the same day.
    let template = "Book a room for {when}";
    let run = |when: &'static str| json!({"note": when, "date": "2026-01-06"});
    let (memory, _) = memory().await;
    for when in ["tomorrow", "morgen"] {
        react(&memory, task(template, &[("when", when)]), &world(), &Script::new([("export", run(when))], "ok")).await;
    }
    let (calls, reason) = sent(&memory, template, &[("when", "in 3 days")]).await;
    assert_eq!(calls, Vec::<String>::new(), "{reason}");
}

#[tokio::test]
async fn a_day_that_the_template_names_is_counted_for_every_value() {
    let template = "Book {room} for tomorrow";
    let memory = taught(template, &[(&[("room", "Atlas")], json!({"room": "Atlas", "date": "2026-01-06"}))]).await;
    let (calls, reason) = sent(&memory, template, &[("room", "Boreas")]).await;
    assert_eq!(calls, [r#"export {"date":"2026-01-06","room":"Boreas"}"#], "{reason}");
}

#[tokio::test]
async fn a_second_value_of_one_parameter_proves_nothing_of_another_one_beside_it() {
    let template = "Export {table} as {fmt}";
    let run = |table: &str| json!({"path": format!("{table}.csv"), "mime": "text/plain"});
    let (users, orders) = ([("table", "users"), ("fmt", "csv")], [("table", "orders"), ("fmt", "csv")]);
    let memory = taught(template, &[(&users, run("users")), (&orders, run("orders"))]).await;
    let (calls, reason) = sent(&memory, template, &[("table", "carts"), ("fmt", "csv")]).await;
    assert_eq!(calls, [r#"export {"mime":"text/plain","path":"carts.csv"}"#], "{reason}");
    let (calls, reason) = sent(&memory, template, &[("table", "users"), ("fmt", "json")]).await;
    assert_eq!(calls, Vec::<String>::new(), "{reason}");
    assert!(reason.contains("another `fmt` has to show"), "{reason}");
    // The other format is planned once, and then both follow.
    let json = Script::new([("export", json!({"path": "users.json", "mime": "text/plain"}))], "ok");
    react(&memory, task(template, &[("table", "users"), ("fmt", "json")]), &world(), &json).await;
    let (calls, reason) = sent(&memory, template, &[("table", "carts"), ("fmt", "xml")]).await;
    assert_eq!(calls, [r#"export {"mime":"text/plain","path":"carts.xml"}"#], "{reason}");
}

#[tokio::test]
async fn a_flag_that_nobody_gave_may_depend_on_the_value() {
    let template = "Export as {fmt}";
    let memory = taught(template, &[(&[("fmt", "csv")], json!({"fmt": "csv", "header": true}))]).await;
    let (calls, reason) = sent(&memory, template, &[("fmt", "json")]).await;
    assert_eq!(calls, Vec::<String>::new(), "{reason}");
}

#[tokio::test]
async fn a_sign_that_no_run_had_is_not_put_into_a_longer_text() {
    let template = "Export what {who} owns";
    let run = |who: &str| json!({"sql": format!("select * from t where who = '{who}'")});
    let memory = taught(template, &[(&[("who", "ann")], run("ann")), (&[("who", "bob")], run("bob"))]).await;
    assert_eq!(sent(&memory, template, &[("who", "eve_2")]).await.0.len(), 1);
    for who in ["O'Brien", "x' or '1'='1", "a\\", "../b", "two\nlines"] {
        let (calls, reason) = sent(&memory, template, &[("who", who)]).await;
        assert_eq!(calls, Vec::<String>::new(), "{who}: {reason}");
        assert!(reason.contains("has signs"), "{reason}");
    }
}

#[tokio::test]
async fn calls_that_took_the_place_of_others_prove_nothing_of_other_values() {
    let template = "Export {table}";
    let (memory, _) = memory().await;
    let plan = |table: &str, mime: &str| {
        let find = ("find", json!({"of": "all"}));
        Script::new([find, ("export", json!({"table": table, "kind": "view", "mime": mime}))], "ok")
    };
    let of = |table: &str| task(template, &[("table", table)]);
    for table in ["users", "orders"] {
        react(&memory, of(table), &world(), &plan(table, "text/plain")).await;
    }
    assert_eq!(sent(&memory, template, &[("table", "carts")]).await.0.len(), 2);
    // The world changes, and the planner does it in another way.
    let changed = world();
    changed.set("find", json!({"kind": "table"}));
    let other =
        [("find", json!({"of": "all"})), ("export", json!({"table": "orders", "kind": "table", "mime": "x/y"}))];
    let report = react(&memory, of("orders"), &changed, &Script::new([other[1].clone()], "ok")).await;
    assert_eq!(report.mode, Mode::Guide, "{}", report.reason);
    changed.calls();
    let report = react(&memory, of("carts"), &changed, &nobody()).await;
    assert!(!changed.calls().iter().any(|call| call.contains("x/y")), "{}", report.reason);
}

#[tokio::test]
async fn what_was_chosen_for_one_value_is_not_sent_for_another() {
    for (found, choice) in [
        (
            json!([{"id": "user_1001", "name": "alice"}, {"id": "user_1002", "name": "bob"}]),
            json!({"to": "user_1001", "note": "alice"}),
        ),
        (
            json!([{"room": "atlas", "for": "alice"}, {"room": "boreas", "for": "bob"}]),
            json!({"to": "atlas", "note": "alice"}),
        ),
        (json!({"alice": "user_1001", "bob": "user_1002"}), json!({"to": "user_1001", "note": "alice"})),
        (json!({"alice": 120_034, "bob": 5_521}), json!({"rows": 120_034, "note": "alice"})),
    ] {
        let (memory, _) = memory().await;
        let world = World::new([("find", found), ("export", json!("done"))]);
        let script = Script::new([("find", json!({})), ("export", choice.clone())], "ok");
        react(&memory, task("Pay {who}", &[("who", "alice")]), &world, &script).await;
        world.calls();
        assert!(react(&memory, task("Pay {who}", &[("who", "alice")]), &world, &nobody()).await.replayed, "{choice}");
        world.calls();
        let report = react(&memory, task("Pay {who}", &[("who", "bob")]), &world, &nobody()).await;
        let calls = world.calls();
        assert!(!calls.iter().any(|call| call.starts_with("export")), "{choice}: {calls:?} {}", report.reason);
    }
}

#[tokio::test]
async fn a_tool_that_was_chosen_by_the_value_is_not_called_for_another() {
    let template = "Export as {fmt}";
    let (memory, _) = memory().await;
    let world = World::new([("to_csv", json!("done")), ("export", json!("done"))]);
    let script = Script::new([("to_csv", json!({})), ("export", json!({"fmt": "csv"}))], "ok");
    react(&memory, task(template, &[("fmt", "csv")]), &world, &script).await;
    world.calls();
    let report = react(&memory, task(template, &[("fmt", "json")]), &world, &nobody()).await;
    assert_eq!(world.calls(), Vec::<String>::new(), "{}", report.reason);
    assert!(report.reason.contains("the tool itself"), "{}", report.reason);
}

#[tokio::test]
async fn a_value_of_another_kind_is_refused_before_the_first_call_and_shown_nowhere() {
    let template = "Seat {guests} guests";
    let runs = ["100", "200"].map(|guests| (guests, json!({"guests": guests.parse::<u32>().unwrap()})));
    let (memory, _) = memory().await;
    for (guests, arguments) in runs {
        let script = Script::new([("find", json!({})), ("export", arguments)], "ok");
        react(&memory, task(template, &[("guests", guests)]), &world(), &script).await;
    }
    assert_eq!(sent(&memory, template, &[("guests", "300")]).await.0.len(), 2);
    let other = task(template, &[("guests", "many")]);
    let inspection = memory.inspect(other).await.unwrap();
    assert!(inspection.mode != Mode::Replay && inspection.plan.is_empty(), "{inspection:?}");
    let (calls, reason) = sent(&memory, template, &[("guests", "many")]).await;
    assert_eq!(calls, Vec::<String>::new(), "{reason}");
    assert!(reason.contains("cannot be filled"), "{reason}");
}
