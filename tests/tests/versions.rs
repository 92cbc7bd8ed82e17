//! A procedure moves on with the world: what takes the place of what, what stays, and what comes back.

use learnkit::engine::{Outcome, PlannerReply, Session, SessionOptions, View};
use learnkit::record::{Record, Status, Trust};
use learnkit::run::{Arguments, Mode};
use learnkit::{ErrorKind, LearnKit, Task};
use learnkit_tests::{Reply, Script, World, builder, memory, nobody, run, skills, stored_runs};
use serde_json::{Value, json};

const TASK: &str = "Order and pay";

/// A world in which an order gets this id, which the payment names inside a longer text.
fn shop(id: &str) -> World {
    World::new([("create", json!({"id": id})), ("pay", json!("paid"))])
}

fn order_and_pay(id: &str) -> Script {
    Script::new([("create", json!({})), ("pay", json!({"order": format!("#{id}")}))], "paid")
}

fn pay(id: &str) -> Script {
    Script::new([("pay", json!({"order": format!("#{id}")}))], "paid")
}

/// Learns with one order, then heals with another one.
async fn healed(memory: &LearnKit) -> World {
    let world = shop("order_1000");
    run(memory, TASK, &world, &order_and_pay("order_1000")).await.unwrap();
    assert!(run(memory, TASK, &world, &nobody()).await.unwrap().replayed);
    world.set("create", json!({"id": "order_1001"}));
    let report = run(memory, TASK, &world, &pay("order_1001")).await.unwrap();
    assert_eq!((report.mode, report.replayed), (Mode::Guide, false));
    world.calls();
    world
}

async fn only(memory: &LearnKit) -> Record {
    let mut all = skills(memory).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn arguments(record: &Record, step: usize) -> String {
    record.procedure().unwrap().steps[step].arguments.raw().to_owned()
}

#[tokio::test]
async fn f29_a_procedure_with_one_changed_step_is_a_new_version_and_the_one_that_worked_stays() {
    let (memory, _) = memory().await;
    healed(&memory).await;
    let record = only(&memory).await;
    assert_eq!(
        (arguments(&record, 1), record.procedure().unwrap().version),
        (r##"{"order":"#order_1001"}"##.into(), 2)
    );
    let history = record.history.as_ref().unwrap();
    let good = history.last_good.as_ref().unwrap();
    assert_eq!(good.procedure.steps[1].arguments.raw(), r##"{"order":"#order_1000"}"##);
    assert_eq!((good.procedure.version, good.help, good.harm), (1, 1, 0));
    let [change] = history.changes.as_slice() else { panic!("{history:?}") };
    let newest = stored_runs(&memory).await.remove(0);
    assert_eq!((change.version, &change.run), (2, &newest.id));
    assert_eq!((newest.procedure, newest.procedure_version), (Some(record.id.clone()), Some(2)));
    // Only the last good one is kept, however often the world moves.
    let world = shop("order_1002");
    run(&memory, TASK, &world, &pay("order_1002")).await.unwrap();
    let record = only(&memory).await;
    assert_eq!(record.last_good().unwrap().procedure.version, 2);
    assert_eq!(record.history.unwrap().changes.len(), 2);
}

#[tokio::test]
async fn f24_a_heal_that_fails_three_times_is_dropped_and_the_last_good_version_replays_once_it_is_proven_again() {
    let (memory, _) = memory().await;
    let world = healed(&memory).await;
    let id = only(&memory).await.id;
    for round in 0..3 {
        world.set("pay", Reply::Error("declined".into()));
        run(&memory, TASK, &world, &Script::new([], "later")).await.unwrap();
        if round < 2 {
            world.set("pay", json!("paid"));
            run(&memory, TASK, &world, &order_and_pay("order_1001")).await.unwrap();
            let record = memory.record(&id).await.unwrap();
            assert_eq!(arguments(&record, 1), r##"{"order":"#order_1001"}"##, "round {round}");
            assert_eq!(record.usage.suspended, None, "a planned success of the healed calls speaks for them");
        }
    }
    let record = memory.record(&id).await.unwrap();
    assert_eq!((record.status, arguments(&record, 1)), (Status::Probation, r##"{"order":"#order_1000"}"##.into()));
    assert_eq!((record.last_good(), record.usage.harm), (None, 0));
    // Nobody has shown yet that it works in the world of now.
    world.set("pay", json!("paid"));
    world.calls();
    let preview = memory.inspect(TASK).await.unwrap();
    assert_eq!(preview.mode, Mode::Guide);
    assert!(preview.reason.contains("came back"), "{}", preview.reason);
    world.set("create", json!({"id": "order_1000"}));
    run(&memory, TASK, &world, &order_and_pay("order_1000")).await.unwrap();
    assert!(run(&memory, TASK, &world, &nobody()).await.unwrap().replayed);
    // What came back obeys the guards that it always had.
    world.set("create", json!({"id": "order_1001"}));
    world.calls();
    run(&memory, TASK, &world, &Script::new([], "later")).await.unwrap();
    assert_eq!(world.calls(), ["create {}"]);
}

#[tokio::test]
async fn f25_a_heal_is_on_the_disk_before_its_run_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let open = async || {
        let uri = format!("sqlite:{}", folder.path().join("learnkit.db").display());
        LearnKit::builder().backend(uri).build().await.unwrap()
    };
    let memory = open().await;
    let world = healed(&memory).await;
    // Nothing is shut down: another process sees what the report promised.
    let other = open().await;
    assert!(run(&other, TASK, &world, &nobody()).await.unwrap().replayed);
    assert_eq!(world.calls(), ["create {}".to_owned(), r##"pay {"order":"#order_1001"}"##.to_owned()]);
    drop(memory);
}

#[tokio::test]
async fn f26_a_heal_keeps_nested_arguments_byte_for_byte() {
    let written = |id: &str| {
        format!(
            r##"{{"order": "#{id}", "lines":[ {{"qty": 9007199254740993, "sku":"A-1","note":"späte  Lieferung\u00e9"}}],"meta":{{"b":1.50,"a":null}}}}"##
        )
    };
    let reply = |id: &str| PlannerReply::call("pay", Arguments::from_raw(written(id)));
    let (memory, _) = memory().await;
    let world = shop("order_1000");
    let first = [PlannerReply::call("create", json!({})), reply("order_1000"), PlannerReply::answer("paid")];
    run(&memory, TASK, &world, &Script::of(first)).await.unwrap();
    world.set("create", json!({"id": "order_1001"}));
    run(&memory, TASK, &world, &Script::of([reply("order_1001"), PlannerReply::answer("paid")])).await.unwrap();
    let record = only(&memory).await;
    assert_eq!(arguments(&record, 1), written("order_1001"));
    assert_eq!(record.last_good().unwrap().procedure.steps[1].arguments.raw(), written("order_1000"));
    world.calls();
    assert!(run(&memory, TASK, &world, &nobody()).await.unwrap().replayed);
    assert_eq!(world.calls()[1], format!("pay {}", written("order_1001")));
    memory.roll_back(&record.id).await.unwrap();
    world.set("create", json!({"id": "order_1000"}));
    world.calls();
    assert!(run(&memory, TASK, &world, &nobody()).await.unwrap().replayed);
    assert_eq!(world.calls()[1], format!("pay {}", written("order_1000")));
}

/// A session whose replay has stopped because the order has this id.
async fn stopped(memory: &LearnKit, id: &str) -> Session {
    let session = memory.session(Task::new(TASK), SessionOptions::default()).unwrap();
    session.decide(&View::default()).await;
    assert_eq!(session.mode(), Mode::Replay, "{}", session.reason());
    session.tracker().record("create", json!({}), json!({"id": id}));
    session.decide(&View::default()).await;
    session.tracker().record("pay", json!({"order": format!("#{id}")}), "paid");
    session
}

#[tokio::test]
async fn f60_of_two_heals_of_one_procedure_the_second_becomes_a_record_of_its_own() {
    let (memory, _) = memory().await;
    run(&memory, TASK, &shop("order_1000"), &order_and_pay("order_1000")).await.unwrap();
    let base = only(&memory).await;
    let (one, two) = (stopped(&memory, "order_1001").await, stopped(&memory, "order_1002").await);
    one.finish(&Outcome::answered("paid")).await;
    two.finish(&Outcome::answered("paid")).await;
    let all = skills(&memory).await;
    let mut known: Vec<String> = all.iter().map(|record| arguments(record, 1)).collect();
    known.sort();
    assert_eq!(known, [r##"{"order":"#order_1001"}"##, r##"{"order":"#order_1002"}"##]);
    let healed = all.iter().find(|record| record.id == base.id).unwrap();
    assert_eq!(arguments(healed, 1), r##"{"order":"#order_1001"}"##);
    assert_eq!(healed.last_good().unwrap().procedure.steps[1].arguments.raw(), r##"{"order":"#order_1000"}"##);
    assert_eq!(all.iter().find(|record| record.id != base.id).unwrap().history, None);
}

#[tokio::test]
async fn f60_two_heals_that_did_the_same_are_one_version() {
    let (memory, _) = memory().await;
    run(&memory, TASK, &shop("order_1000"), &order_and_pay("order_1000")).await.unwrap();
    let (one, two) = (stopped(&memory, "order_1001").await, stopped(&memory, "order_1001").await);
    one.finish(&Outcome::answered("paid")).await;
    two.finish(&Outcome::answered("paid")).await;
    let record = only(&memory).await;
    assert_eq!((record.usage.successes, record.history.unwrap().changes.len()), (3, 1));
}

fn note(plan: &str) -> Script {
    Script::new([("note", json!({"plan": plan}))], "noted")
}

#[tokio::test]
async fn calls_that_a_run_that_passed_speaks_against_do_not_take_the_place_of_its_own() {
    let (memory, _) = memory().await;
    let world = World::new([("read", json!({"plan": "gold"})), ("note", json!("noted"))]);
    let first = Script::new([("read", json!({})), ("note", json!({"plan": "gold"}))], "noted");
    run(&memory, "Note the plan", &world, &first).await.unwrap();
    let base = only(&memory).await;
    // Where `bronze` comes from no result says, so that it would be sent whatever is read.
    world.set("read", json!({"plan": "silver"}));
    run(&memory, "Note the plan", &world, &note("bronze")).await.unwrap();
    let all = skills(&memory).await;
    let own = all.iter().find(|record| record.id == base.id).unwrap();
    let new = all.iter().find(|record| record.id != base.id).unwrap();
    assert_eq!((arguments(own, 1), own.history.is_some()), (r#"{"plan":"gold"}"#.into(), false));
    let unsettled = &new.procedure().unwrap().unsettled;
    assert!(unsettled.len() == 1 && unsettled[0].contains("which passed"), "{unsettled:?}");
    // Another run that plans it settles it.
    world.calls();
    let report = run(
        &memory,
        "Note the plan",
        &world,
        &Script::new([("read", json!({})), ("note", json!({"plan": "bronze"}))], "noted"),
    )
    .await
    .unwrap();
    assert!(!report.replayed, "{}", report.reason);
    assert!(run(&memory, "Note the plan", &world, &nobody()).await.unwrap().replayed);
}

fn twice(id: &str, copy: &str) -> Value {
    json!({"id": id, "copy": copy})
}

#[tokio::test]
async fn calls_that_a_repeat_of_the_procedure_speaks_against_do_not_take_its_place() {
    let (memory, _) = memory().await;
    let world = World::new([("create", twice("order_77001", "order_77001")), ("pay", json!("paid"))]);
    let script = || Script::new([("create", json!({})), ("pay", json!({"order": "order_77001"}))], "paid");
    run(&memory, TASK, &world, &script()).await.unwrap();
    let base = only(&memory).await;
    world.set("create", twice("order_77002", "order_77002"));
    assert!(run(&memory, TASK, &world, &Script::new([], "")).await.unwrap().replayed);
    // Which of the two it is nobody can tell; the planner pays the one of the first run, which no result gives.
    world.set("create", twice("order_77003", "order_77009"));
    run(&memory, TASK, &world, &Script::new([("pay", json!({"order": "order_77001"}))], "paid")).await.unwrap();
    let all = skills(&memory).await;
    let own = all.iter().find(|record| record.id == base.id).unwrap();
    assert_eq!((own.history.is_some(), own.procedure().unwrap().steps[1].slots.len()), (false, 1));
    let new = all.iter().find(|record| record.id != base.id).unwrap().procedure().unwrap();
    assert!(new.unsettled.iter().any(|reason| reason.contains("which passed")), "{:?}", new.unsettled);
}

#[tokio::test]
async fn a_success_that_is_reported_of_an_earlier_version_does_not_verify_the_one_that_took_its_place() {
    let (memory, _) = memory().await;
    let world = shop("order_1000");
    let first = run(&memory, TASK, &world, &order_and_pay("order_1000")).await.unwrap();
    world.set("create", json!({"id": "order_1001"}));
    let second = run(&memory, TASK, &world, &pay("order_1001")).await.unwrap();
    memory.report_success(&first.run_id).await.unwrap();
    assert_eq!(only(&memory).await.trust, Trust::Unverified);
    memory.report_success(&second.run_id).await.unwrap();
    assert_eq!(only(&memory).await.trust, Trust::Verified);
    // Of a failure nobody can tell how far it reaches.
    memory.report_failure(&first.run_id).await.unwrap();
    let record = only(&memory).await;
    assert_eq!((record.status, record.last_good()), (Status::Retired, None));
}

#[tokio::test]
async fn healed_calls_that_a_report_retired_are_not_learned_anew_by_another_run() {
    let (memory, _) = memory().await;
    let world = healed(&memory).await;
    let again = run(&memory, TASK, &world, &nobody()).await.unwrap();
    assert!(again.replayed);
    memory.report_failure(&again.run_id).await.unwrap();
    run(&memory, TASK, &world, &order_and_pay("order_1001")).await.unwrap();
    assert_eq!(only(&memory).await.status, Status::Retired);
    assert!(!run(&memory, TASK, &world, &Script::new([], "later")).await.unwrap().replayed);
}

#[tokio::test]
async fn a_rollback_brings_the_last_good_version_back_under_its_own_guards() {
    let (memory, _) = memory().await;
    let world = healed(&memory).await;
    let id = only(&memory).await.id;
    let record = memory.roll_back(&id).await.unwrap();
    assert_eq!(
        (arguments(&record, 1), record.procedure().unwrap().version),
        (r##"{"order":"#order_1000"}"##.into(), 3)
    );
    assert_eq!(memory.roll_back(&id).await.unwrap_err().kind(), ErrorKind::Conflict);
    // The world is still the other one.
    run(&memory, TASK, &world, &Script::new([], "later")).await.unwrap();
    assert_eq!(world.calls(), ["create {}"]);
    let first = memory.record(&id).await.unwrap().provenance.run.unwrap();
    memory.report_failure(&first).await.unwrap();
    let refused = memory.roll_back(&id).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(refused.to_string().contains("retired"), "{refused}");
    let unknown = learnkit::record::RecordId::new("none").unwrap();
    assert_eq!(memory.roll_back(&unknown).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn no_secret_is_left_in_a_version_that_is_kept() {
    let (memory, clock) = memory().await;
    let world =
        World::new([("create", json!({"id": "order_1000", "note": "code hunter2hunter2"})), ("pay", json!("paid"))]);
    let call = |id: &str| json!({"order": format!("#{id}"), "password": "hunter2hunter2"});
    let first = Script::new([("create", json!({})), ("pay", call("order_1000"))], "paid");
    run(&memory, TASK, &world, &first).await.unwrap();
    let again = builder(&clock).store(memory.store().clone()).build().await.unwrap();
    world.set("create", json!({"id": "order_1001", "note": "code hunter2hunter2"}));
    run(&again, TASK, &world, &Script::new([("create", json!({})), ("pay", call("order_1001"))], "paid"))
        .await
        .unwrap();
    assert!(!learnkit_tests::stored_text(&memory).await.contains("hunter2hunter2"));
}

#[tokio::test]
async fn a_history_survives_export_and_import_to_the_letter() {
    let (memory, _) = memory().await;
    healed(&memory).await;
    let mut export = Vec::new();
    memory.export(&mut export, &learnkit::portable::ExportSelection::default()).await.unwrap();
    let (other, _) = learnkit_tests::memory().await;
    let import = learnkit::portable::Import::read(std::io::Cursor::new(export)).unwrap();
    other.import(import, learnkit::portable::ImportOptions::default()).await.unwrap();
    let (one, two) = (only(&memory).await, only(&other).await);
    assert_eq!((one.history.is_some(), &one.history), (true, &two.history));
    assert_eq!(stored_runs(&other).await, stored_runs(&memory).await);
    assert!(other.roll_back(&two.id).await.is_ok());
}
