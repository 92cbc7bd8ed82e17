//! Loops: one call for each element of a list is made for another list only where runs of three lengths
//! proved it; before that, and once a run did otherwise, only for the very same elements.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use learnkit::engine::{Decision, Outcome, PlannerReply, ReactOptions, Session, View};
use learnkit::portable::{ExportSelection, Import, ImportOptions};
use learnkit::procedure::Loop;
use learnkit::record::{Record, Trust};
use learnkit::run::{Arguments, CallDraft, Mode, ToolOutput};
use learnkit::tool::{ToolSet, ToolSpec};
use learnkit::{BoxError, LearnKit, RunReport, run_react_agent};
use learnkit_tests::{Script, World, begin, memory, nobody, run, skills};
use serde_json::{Value, json};

const TASK: &str = "Refund every open order";

/// Open orders with fields besides the id.
fn orders(ids: &[u32]) -> Value {
    let orders = ids.iter().map(|id| json!({"id": format!("order_{id}"), "city": "Oslo", "price": id % 7}));
    json!({"orders": orders.collect::<Vec<_>>(), "page": 1})
}

/// A host that plans on its own: it lists `all` and refunds `chosen`, then tells somebody.
async fn plan(memory: &LearnKit, all: &[u32], chosen: &[u32]) -> RunReport {
    let session = begin(memory, TASK).await;
    session.tracker().record("list", json!({"state": "open"}), orders(all));
    for id in chosen {
        session.tracker().record("refund", json!({"order": format!("order_{id}"), "full": true}), "refunded");
    }
    session.tracker().record("tell", json!({"page": 1}), "told");
    session.finish(&Outcome::answered("all is refunded")).await
}

/// A memory that saw these lists, each refunded as it is.
async fn taught(lists: &[&[u32]]) -> LearnKit {
    let (memory, _) = memory().await;
    for list in lists {
        plan(&memory, list, list).await;
    }
    memory
}

const THREE: [&[u32]; 3] = [&[1001, 1002], &[1003, 1004, 1005], &[1006, 1007, 1008, 1009]];

/// Repeats the task while these orders are open: what was refunded, whether somebody was told, the report.
async fn repeated(memory: &LearnKit, ids: &[u32]) -> (Vec<u32>, bool, RunReport) {
    let world = World::new([("list", orders(ids)), ("refund", json!("refunded")), ("tell", json!("told"))]);
    let report = run(memory, TASK, &world, &nobody()).await.unwrap();
    let calls = world.calls();
    let refunded = calls.iter().filter_map(|call| {
        let arguments: Value = serde_json::from_str(call.strip_prefix("refund ")?).unwrap();
        assert_eq!(arguments["full"], true);
        arguments["order"].as_str()?.strip_prefix("order_")?.parse().ok()
    });
    (refunded.collect(), calls.last().is_some_and(|call| call == r#"tell {"page":1}"#), report)
}

async fn the_skill(memory: &LearnKit) -> Record {
    let mut all = skills(memory).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// The only loop of several calls in memory.
async fn the_loop(memory: &LearnKit) -> Loop {
    let all = skills(memory).await;
    let procedures = all.iter().filter_map(Record::procedure);
    let mut loops: Vec<Loop> =
        procedures.flat_map(|procedure| &procedure.loops).filter(|each| each.is_candidate()).cloned().collect();
    assert_eq!(loops.len(), 1, "{loops:?}");
    loops.remove(0)
}

#[tokio::test]
async fn runs_of_several_lengths_are_one_record() {
    let memory = taught(&THREE).await;
    let skill = the_skill(&memory).await;
    assert_eq!(skill.procedure().unwrap().version, 3);
    let each = the_loop(&memory).await;
    assert_eq!((each.first, each.count, each.argument.as_str()), (1, 4, "/order"));
    assert_eq!(
        each.over.iter().map(|column| (column.step, column.path.as_str())).collect::<Vec<_>>(),
        [(0, "/orders/*/id")]
    );
    assert_eq!((each.lengths.into_iter().collect::<Vec<_>>(), each.contradicted), (vec![2, 3, 4], None));
}

#[tokio::test]
async fn two_lengths_prove_nothing_and_a_changed_list_stops_before_the_first_call() {
    for lists in [&THREE[..1], &THREE[..2], &[THREE[0], &[2001, 2002], THREE[1]]] {
        let memory = taught(lists).await;
        for list in [&[1003, 1004, 1005, 1006][..], &[1003, 1004], &[1005, 1004, 1003], &[2003, 2004, 2005]] {
            let (refunded, _, report) = repeated(&memory, list).await;
            assert_eq!(refunded, Vec::<u32>::new(), "{lists:?} then {list:?}");
            assert_eq!(report.mode, Mode::Guide);
            plan(&memory, lists[lists.len() - 1], lists[lists.len() - 1]).await;
        }
        let last = lists[lists.len() - 1];
        let (refunded, told, report) = repeated(&memory, last).await;
        assert!(report.replayed && told, "{}", report.reason);
        assert_eq!(refunded, last);
    }
}

#[tokio::test]
async fn three_lengths_prove_a_call_for_each_element_of_any_list() {
    let memory = taught(&THREE).await;
    for list in [&[][..], &[3001], &[3001, 3002, 3003, 3004, 3005], &[1008, 1006, 1007]] {
        let (refunded, told, report) = repeated(&memory, list).await;
        assert_eq!((report.replayed, report.planning_calls), (true, Some(0)), "{list:?}: {}", report.reason);
        assert_eq!((refunded.as_slice(), told), (list, true));
    }
    // A replay is no evidence.
    assert_eq!(the_loop(&memory).await.lengths.len(), 3);
}

#[tokio::test]
async fn a_single_call_counts_as_a_length() {
    for lists in [[&[1001][..], THREE[0], THREE[1]], [THREE[0], &[1001], THREE[1]], [THREE[0], THREE[1], &[1001]]] {
        let memory = taught(&lists).await;
        assert_eq!(the_loop(&memory).await.lengths.len(), 3, "{lists:?}");
        let (refunded, told, report) = repeated(&memory, &[4001, 4002, 4003, 4004, 4005]).await;
        assert!(report.replayed && told, "{lists:?}: {}", report.reason);
        assert_eq!(refunded, [4001, 4002, 4003, 4004, 4005]);
    }
}

#[tokio::test]
async fn the_recorded_answer_is_given_only_for_the_recorded_elements_and_results() {
    let memory = taught(&THREE).await;
    let answers =
        [(THREE[2], "all is refunded"), (&[1006, 1007][..], "worded anew"), (&[1, 2, 3, 4][..], "worded anew")];
    for (list, answer) in answers {
        assert_eq!(repeated(&memory, list).await.2.answer.as_deref(), Some(answer), "{list:?}");
    }
}

#[tokio::test]
async fn a_filtered_list_or_another_order_ends_a_loop_for_good() {
    for chosen in [&[5001, 5003][..], &[5003, 5002, 5001], &[5002], &[]] {
        for is_first in [true, false] {
            let (memory, _) = memory().await;
            if is_first {
                plan(&memory, &[5001, 5002, 5003], chosen).await;
            }
            for list in THREE {
                plan(&memory, list, list).await;
            }
            if !is_first {
                plan(&memory, &[5001, 5002, 5003], chosen).await;
            }
            let each = the_loop(&memory).await;
            assert!(each.contradicted.is_some() && !each.is_proven(), "{chosen:?} first: {is_first}");
            let (refunded, ..) = repeated(&memory, &[6001, 6002, 6003, 6004, 6005]).await;
            assert_eq!(refunded, Vec::<u32>::new(), "{chosen:?} first: {is_first}");
            // Also other lengths do not prove it any more.
            let many: Vec<u32> = (7001..7007).collect();
            plan(&memory, &many, &many).await;
            assert!(!the_loop(&memory).await.is_proven());
        }
    }
}

#[tokio::test]
async fn a_run_that_found_nothing_speaks_against_no_loop_and_replays_for_no_list() {
    for is_first in [true, false] {
        let (memory, _) = memory().await;
        if is_first {
            plan(&memory, &[], &[]).await;
        }
        for list in THREE {
            plan(&memory, list, list).await;
        }
        if !is_first {
            let session = memory.session(learnkit::Task::new(TASK), Default::default()).unwrap();
            session.tracker().record("list", json!({"state": "open"}), orders(&[]));
            session.tracker().record("tell", json!({"page": 1}), "told");
            session.finish(&Outcome::answered("nothing to do")).await;
        }
        assert!(the_loop(&memory).await.is_proven(), "{is_first}");
        for list in [&[8001, 8002][..], &[]] {
            let (refunded, told, report) = repeated(&memory, list).await;
            assert!(report.replayed && told, "{is_first} {list:?}: {}", report.reason);
            assert_eq!(refunded, list);
        }
    }
}

#[tokio::test]
async fn an_unclear_or_too_long_list_is_left_to_the_planner() {
    let long: Vec<u32> = (10_000..10_101).collect();
    let mut odd = vec![(orders(&long), "more than 100")];
    let mut twice = orders(&[9001, 9002, 9001]);
    odd.push((twice.take(), "twice"));
    let mut gap = orders(&[9001, 9002]);
    gap["orders"][1]["id"] = json!(null);
    odd.push((gap, "never seen there"));
    let mut missing = orders(&[9001, 9002]);
    missing["orders"][1].as_object_mut().unwrap().remove("id");
    odd.push((missing, "does not stand once in each element"));
    odd.push((json!({"orders": "none", "page": 1}), "is gone from the result"));
    for (list, reason) in odd {
        let memory = taught(&THREE).await;
        let world = World::new([("list", list.clone()), ("refund", json!("refunded")), ("tell", json!("told"))]);
        let report = run(&memory, TASK, &world, &nobody()).await.unwrap();
        assert_eq!(world.calls().len(), 1, "{list}");
        assert!(report.reason.contains(reason), "{list}: {}", report.reason);
    }
    let memory = taught(&THREE).await;
    assert_eq!(repeated(&memory, &long[1..]).await.0.len(), 100);
}

#[tokio::test]
async fn what_is_no_certain_list_is_no_loop() {
    let calls_of = |ids: &[&str]| ids.iter().map(|id| ("refund", json!({"order": id}))).collect::<Vec<_>>();
    for (list, calls, why) in [
        (json!("order_1001 and order_1002 are open"), calls_of(&["order_1001", "order_1002"]), "free text"),
        (json!(["order_1001", "order_1002", "order_1003"]), calls_of(&["order_1001", "order_1002"]), "a part"),
        (json!(["order_1001", "order_1002"]), calls_of(&["order_1002", "order_1001"]), "another order"),
        (
            json!([{"id": "order_1001"}, {"id": "order_1002"}, {"name": "x"}]),
            calls_of(&["order_1001", "order_1002"]),
            "a gap",
        ),
        (
            json!([{"id": "order_1001", "by": "ann_7001"}, {"id": "order_1002", "by": "bob_7002"}]),
            vec![
                ("refund", json!({"order": "order_1001", "to": "ann_7001"})),
                ("refund", json!({"order": "order_1002", "to": "bob_7002"})),
            ],
            "two arguments",
        ),
    ] {
        let (memory, _) = memory().await;
        let session = begin(&memory, TASK).await;
        session.tracker().record("list", json!({}), list);
        for (tool, arguments) in calls {
            session.tracker().record(tool, arguments, "refunded");
        }
        session.finish(&Outcome::answered("ok")).await;
        assert_eq!(the_skill(&memory).await.procedure().unwrap().loops, [], "{why}");
    }
    // What the task itself names comes from the task, and what a later call takes from is not any call.
    let session = async |task: &str, last: Option<Value>| {
        let (memory, _) = memory().await;
        let session = begin(&memory, task).await;
        session.tracker().record("list", json!({}), json!(["order_1001", "order_1002"]));
        session.tracker().record("read", json!({"order": "order_1001"}), json!({"ticket": "ticket_5001"}));
        session.tracker().record("read", json!({"order": "order_1002"}), json!({"ticket": "ticket_5002"}));
        last.into_iter().for_each(|last| session.tracker().record("pay", last, "paid"));
        session.finish(&Outcome::answered("ok")).await;
        the_skill(&memory).await.procedure().unwrap().loops.len()
    };
    assert_eq!(session("Read all", None).await, 1);
    assert_eq!(session("Read order_1001 and order_1002", None).await, 0);
    assert_eq!(session("Read all", Some(json!({"ticket": "ticket_5002"}))).await, 0);
}

#[tokio::test]
async fn plain_words_are_elements_too() {
    let (memory, _) = memory().await;
    for tables in [&["users", "orders"][..], &["users", "carts", "audits"], &["a", "b", "c", "d"]] {
        let session = begin(&memory, "Count the rows of every table").await;
        session.tracker().record("tables", json!({}), json!(tables));
        tables
            .iter()
            .for_each(|table| session.tracker().record("count", json!({"table": table, "exact": true}), json!(12)));
        session.finish(&Outcome::answered("counted")).await;
    }
    let world = World::new([("tables", json!(["users", "logs"])), ("count", json!(12))]);
    let report = run(&memory, "Count the rows of every table", &world, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!(
        world.calls()[1..],
        [r#"count {"exact":true,"table":"users"}"#, r#"count {"exact":true,"table":"logs"}"#]
    );
}

#[tokio::test]
async fn a_word_that_is_gone_from_or_new_in_an_unproven_list_stops_before_the_first_call() {
    let (memory, _) = memory().await;
    let world = World::new([("tables", json!(["users", "carts"])), ("count", json!(12))]);
    let script = Script::new(
        [("tables", json!({})), ("count", json!({"table": "users"})), ("count", json!({"table": "carts"}))],
        "ok",
    );
    run(&memory, "Count", &world, &script).await.unwrap();
    world.calls();
    world.set("tables", json!(["users", "carts", "logs"]));
    let report = run(&memory, "Count", &world, &nobody()).await.unwrap();
    assert_eq!(world.calls(), ["tables {}"]);
    assert!(report.reason.contains("only runs of 2 calls were seen"), "{}", report.reason);
}

#[tokio::test]
async fn a_single_call_is_not_made_alone_once_its_list_has_more_elements() {
    let (memory, _) = memory().await;
    for tables in [&["users", "orders"][..], &["users"]] {
        let session = begin(&memory, "Count the rows of every table").await;
        session.tracker().record("tables", json!({}), json!(tables));
        tables.iter().for_each(|table| session.tracker().record("count", json!({"table": table}), json!(12)));
        session.finish(&Outcome::answered("counted")).await;
    }
    let world = World::new([("tables", json!(["users", "logs", "carts"])), ("count", json!(12))]);
    let script = Script::new(["users", "logs", "carts"].map(|table| ("count", json!({"table": table}))), "counted");
    let report = run(&memory, "Count the rows of every table", &world, &script).await.unwrap();
    assert!(report.reason.contains("only runs of 1 and 2 calls were seen"), "{}", report.reason);
    assert_eq!((world.calls().len(), report.planning_calls), (4, Some(4)));
    // With a third length it is proven, whichever record replays.
    world.set("tables", json!(["a", "b", "c", "d", "e"]));
    let report = run(&memory, "Count the rows of every table", &world, &nobody()).await.unwrap();
    assert_eq!((report.replayed, world.calls().len()), (true, 6), "{}", report.reason);
}

#[tokio::test]
async fn steps_after_a_loop_still_take_from_the_steps_they_took_from() {
    let (memory, _) = memory().await;
    let task = "Refund and report";
    for (list, batch, slip) in
        [(THREE[0], "batch_1001", "slip_1"), (THREE[1], "batch_2002", "slip_2"), (THREE[2], "batch_3003", "slip_3")]
    {
        let session = begin(&memory, task).await;
        session.tracker().record("batch", json!({}), json!({"batch": batch}));
        session.tracker().record("list", json!({}), orders(list));
        list.iter().for_each(|id| {
            session.tracker().record("refund", json!({"order": format!("order_{id}"), "batch": batch}), "refunded")
        });
        session.tracker().record("close", json!({"batch": batch}), json!({"slip": slip}));
        session.tracker().record("print", json!({"slip": slip, "batch": batch}), "printed");
        session.finish(&Outcome::answered("printed")).await;
    }
    let world = World::new([
        ("batch", json!({"batch": "batch_9009"})),
        ("list", orders(&[41, 42, 43, 44, 45])),
        ("refund", json!("refunded")),
        ("close", json!({"slip": "slip_9"})),
        ("print", json!("printed")),
    ]);
    for count in [5, 1] {
        world.set("list", orders(&[41, 42, 43, 44, 45][..count]));
        let report = run(&memory, task, &world, &nobody()).await.unwrap();
        assert!(report.replayed, "{}", report.reason);
        let calls = world.calls();
        assert_eq!(calls.len(), count + 4);
        assert_eq!(calls[2], r#"refund {"batch":"batch_9009","order":"order_41"}"#);
        assert_eq!(
            calls[count + 2..],
            [r#"close {"batch":"batch_9009"}"#, r#"print {"batch":"batch_9009","slip":"slip_9"}"#]
        );
    }
}

/// The calls of a replay by hand; the refund of one order fails.
async fn carry_out(session: &Session, list: &[u32], failing: u32) -> Decision {
    loop {
        let decision = session.decide(&View::default()).await;
        let Decision::Replay(calls) = &decision else { return decision };
        for call in calls {
            let fails = call.arguments.raw().contains(&format!("order_{failing}"));
            let result = if call.tool == "list" { orders(list).to_string() } else { "refunded".to_owned() };
            let result = if fails { Err("the bank is closed".to_owned()) } else { Ok(ToolOutput::text(result)) };
            session.observe(CallDraft::new(call.tool.clone(), call.arguments.clone()), result);
        }
    }
}

#[tokio::test]
async fn a_call_that_fails_in_the_middle_hands_over_what_is_done() {
    let memory = taught(&THREE).await;
    let session = memory.session(learnkit::Task::new(TASK), Default::default()).unwrap();
    let Decision::Forward { done, reason, .. } = carry_out(&session, &[21, 22, 23, 24, 25, 26], 25).await else {
        panic!("a failure hands over");
    };
    let ok: Vec<&str> = done.iter().filter(|call| call.status.is_ok()).map(|call| call.arguments.raw()).collect();
    assert_eq!(ok.len(), 5, "{ok:?}");
    assert!(ok[4].contains("order_24"));
    assert!(reason.contains("the bank is closed"), "{reason}");
}

#[tokio::test]
async fn what_a_stopped_loop_did_is_not_done_twice() {
    let memory = taught(&THREE).await;
    let made = Arc::new(Mutex::new(Vec::<String>::new()));
    let log = made.clone();
    let refund = move |arguments: Arguments| {
        let log = log.clone();
        async move {
            let order = arguments.raw().to_owned();
            let is_first = !log.lock().unwrap().contains(&order);
            log.lock().unwrap().push(order.clone());
            if order.contains("order_33") && is_first {
                Err(BoxError::from("busy"))
            } else {
                Ok(ToolOutput::text("refunded"))
            }
        }
    };
    let list = orders(&[31, 32, 33, 34, 35]);
    let tools = ToolSet::new()
        .with_spec("list", ToolSpec::default(), move |_: Arguments| {
            let text = list.to_string();
            async move { Ok(ToolOutput::text(text)) }
        })
        .with_spec("refund", ToolSpec::default(), refund)
        .with_spec("tell", ToolSpec::default(), |_: Arguments| async { Ok(ToolOutput::text("told")) });
    let again = [31, 32, 33, 34, 35]
        .map(|id| PlannerReply::call("refund", json!({"order": format!("order_{id}"), "full": true})));
    let script = Script::of(again.into_iter().chain([PlannerReply::answer("done")]));
    let report = run_react_agent(&memory, TASK, &tools, &script, ReactOptions::default()).await.unwrap();
    assert!(!report.replayed && report.mode == Mode::Guide);
    let orders: Vec<String> =
        made.lock().unwrap().iter().map(|call| call.split("order_").nth(1).unwrap()[..2].to_owned()).collect();
    assert_eq!(orders, ["31", "32", "33", "33", "34", "35"]);
}

#[tokio::test]
async fn calls_that_ran_side_by_side_do_so_again() {
    let (memory, _) = memory().await;
    for list in THREE {
        let session = begin(&memory, TASK).await;
        session.observe(CallDraft::new("list", json!({})), Ok(orders(list).to_string().into()));
        for id in list {
            let call = CallDraft::new("refund", json!({"order": format!("order_{id}")})).with_group(Some(1));
            session.observe(call, Ok("refunded".into()));
        }
        session.finish(&Outcome::answered("ok")).await;
    }
    let session = begin(&memory, TASK).await;
    session.observe(CallDraft::new("list", json!({})), Ok(orders(&[51, 52, 53, 54, 55]).to_string().into()));
    let Decision::Replay(calls) = session.decide(&View::default()).await else { panic!("it replays") };
    assert_eq!(calls.len(), 5);
    assert!(calls.iter().all(|call| call.group == Some(1) && call.open.is_empty()));
    assert_eq!(calls.iter().map(|call| call.step).collect::<Vec<_>>(), [1, 2, 3, 4, 4]);
    for call in calls.into_iter().rev() {
        session.observe(CallDraft::new(call.tool, call.arguments).with_group(Some(1)), Ok("refunded".into()));
    }
    assert!(session.finish(&Outcome::answered("ok")).await.replayed);
}

#[tokio::test]
async fn runs_of_several_lengths_confirm_each_other() {
    let (memory, _) = memory().await;
    for list in &THREE[..2] {
        let calls = |session: &Session| {
            session.tracker().record("list", json!({}), orders(list));
            list.iter()
                .for_each(|id| session.tracker().record("refund", json!({"order": format!("order_{id}")}), "refunded"));
        };
        let session = memory.session(learnkit::Task::new(TASK), Default::default()).unwrap();
        calls(&session);
        session.finish(&Outcome::answered("ok")).await;
    }
    assert_eq!(the_skill(&memory).await.trust, Trust::Confirmed);
}

#[tokio::test]
async fn the_plan_shows_a_proven_loop_as_it_was_recorded_and_open() {
    for (lists, open) in [(&THREE[..2], &[][..]), (&THREE[..], &["/order"])] {
        let memory = taught(lists).await;
        let plan = memory.inspect(learnkit::Task::new(TASK)).await.unwrap().plan;
        assert_eq!(plan.len(), lists[lists.len() - 1].len() + 2);
        assert_eq!(plan[1].open, open);
        let session = begin(&memory, TASK).await;
        assert_eq!(session.plan_steps()[1].open, open);
    }
}

#[tokio::test]
async fn an_export_keeps_what_proved_a_loop() {
    let source = taught(&THREE).await;
    let mut export = Vec::new();
    source.export(&mut export, &ExportSelection::default()).await.unwrap();
    let (target, _) = memory().await;
    target.import(Import::read(Cursor::new(export)).unwrap(), ImportOptions::default()).await.unwrap();
    assert_eq!(the_loop(&target).await, the_loop(&source).await);
    let (refunded, told, report) = repeated(&target, &[61, 62, 63, 64, 65]).await;
    assert!(report.replayed && told, "{}", report.reason);
    assert_eq!(refunded, [61, 62, 63, 64, 65]);
}

#[tokio::test]
async fn a_loop_says_what_proved_it_or_what_is_missing() {
    let place = "`/order` is each of result 1 at `/orders/*/id` in turn";
    let of = async |lists: &[&[u32]]| the_loop(&taught(lists).await).await.to_string();
    assert_eq!(of(&THREE).await, format!("{place}: proven by runs of 2, 3, 4 calls"));
    assert_eq!(of(&THREE[..2]).await, format!("{place}: not proven by runs of 2, 3 calls, 3 lengths are needed"));
    let memory = taught(&THREE).await;
    plan(&memory, &[5001, 5002, 5003], &[5001]).await;
    let said = the_loop(&memory).await.to_string();
    assert_eq!(
        said,
        format!("{place}: never proven, because a run of this task did not make one call for each element")
    );
}

/// Refunds every order of a list in runs of three lengths: what the list says of each, and beside them.
async fn refunded(task: &str, list: impl Fn(&[u32]) -> Value) -> LearnKit {
    let (memory, _) = memory().await;
    for ids in [&[1001, 1002][..], &[1003, 1004, 1005], &[1006, 1007, 1008, 1009]] {
        let session = begin(&memory, task).await;
        session.tracker().record("list", json!({}), list(ids));
        ids.iter().for_each(|id| {
            session.tracker().record("refund", json!({"order": format!("order_{id}")}), "refunded");
        });
        session.finish(&Outcome::answered("ok")).await;
    }
    memory
}

#[tokio::test]
async fn a_proven_loop_stops_at_what_no_run_saw_beside_its_elements() {
    let orders = |ids: &[u32], last: &str, next: Value| {
        let orders = ids.iter().enumerate().map(
            |(at, id)| json!({"id": format!("order_{id}"), "state": if at + 1 == ids.len() { last } else { "open" }}),
        );
        json!({"orders": orders.collect::<Vec<_>>(), "next": next})
    };
    let every = "Refund every open order";
    for (task, now, count) in [
        (every, orders(&[3001, 3002], "open", Value::Null), 3),
        // The task makes an exception.
        ("Refund every open order except order_1999", orders(&[3001, 1999], "open", Value::Null), 1),
        // One of them is in another state.
        (every, orders(&[3001, 3002], "closed", Value::Null), 1),
        // There are more on another page.
        (every, orders(&[3001, 3002], "open", json!("page_2")), 1),
    ] {
        let memory = refunded(task, |ids| orders(ids, "open", Value::Null)).await;
        let world = World::new([("list", now), ("refund", json!("refunded"))]);
        let report = run(&memory, task, &world, &nobody()).await.unwrap();
        assert_eq!(world.calls().len(), count, "{task}: {}", report.reason);
    }
}

#[tokio::test]
async fn what_differed_between_runs_beside_the_elements_is_no_condition() {
    let list = |ids: &[u32]| {
        json!(
            ids.iter()
                .map(|id| json!({"id": format!("order_{id}"), "note": if id % 2 == 0 { "gift" } else { "none" }}))
                .collect::<Vec<_>>()
        )
    };
    let memory = refunded("Refund them all", list).await;
    let world = World::new([("list", json!([{"id": "order_3001", "note": "fragile"}])), ("refund", json!("refunded"))]);
    let report = run(&memory, "Refund them all", &world, &nobody()).await.unwrap();
    assert_eq!((report.replayed, world.calls().len()), (true, 2), "{}", report.reason);
}
