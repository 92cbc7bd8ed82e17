//! The arithmetic of the harness, and what must hold on a few orders.

use super::order::{Order, Turn};
use super::play::{SETTINGS, Setting};
use super::rows::Recorded;
use super::score::Tally;
use super::world::{Made, Truth, World, made_by};
use super::*;

/// Six runs of two tasks. In both, `look` reads and `pay` is an effect; paying 5 is right.
const SIX: &str = r#"
{"task": "a", "text": "pay the bill", "planning_calls": 4, "verdict": true, "answer": true, "calls": [{"tool": "look", "args": {}, "ok": true, "result": "the bill says 5", "write": false}, {"tool": "pay", "args": {"sum": 5}, "ok": true, "write": true}]}
{"task": "a", "text": "pay the bill", "planning_calls": 6, "verdict": false, "answer": true, "calls": [{"tool": "look", "args": {}, "ok": true, "result": "the bill says 5", "write": false}, {"tool": "pay", "args": {"sum": 7}, "ok": true, "write": true}]}
{"task": "a", "text": "pay the bill", "planning_calls": 5, "verdict": true, "answer": true, "calls": [{"tool": "pay", "args": {"sum": 9}, "ok": false, "write": true}, {"tool": "pay", "args": {"sum": 5}, "ok": true, "write": true}]}
{"task": "b", "text": "refuse the refund", "planning_calls": 2, "verdict": true, "answer": true, "calls": []}
{"task": "b", "text": "refuse the refund", "planning_calls": 3, "verdict": true, "answer": true, "calls": [{"tool": "look", "args": {"at": "refund"}, "ok": true, "result": "too late", "write": false}]}
{"task": "b", "text": "refuse the refund", "planning_calls": 8, "verdict": false, "answer": false, "calls": [{"tool": "look", "args": {"at": "refund"}, "ok": true, "result": "too late", "write": false}]}
"#;

fn six() -> Vec<Recorded> {
    rows::read(SIX).unwrap()
}

/// The runs one after the other as given, where nothing is reported and nothing held out.
fn as_given(runs: &[usize]) -> Order {
    let turns = runs.iter().map(|run| Turn { run: *run, holdout: 0.5, report: 0.5 });
    Order { number: 0, turns: turns.collect() }
}

fn of_name(name: &str) -> &'static Setting {
    SETTINGS.iter().find(|setting| setting.name == name).unwrap()
}

async fn play(name: &str, runs: &[Recorded], order: &[usize]) -> Tally {
    of_name(name).play(&World::of(runs), &as_given(order), 0.0).await.unwrap()
}

#[test]
fn the_oracle_replays_the_first_true_success_that_made_a_call() {
    let runs = six();
    let tally = ORACLE.play(&World::of(&runs), &as_given(&[1, 0, 2, 3, 4, 5]), 0.0);
    // Of `a` the third run is replayed, of `b` the last; the success without a call is never replayed.
    assert_eq!((tally.runs, tally.replays, tally.wrong_replays, tally.successes), (6, 2, 0, 5));
    assert_eq!((tally.recorded_calls, tally.planning_calls), (28, 28 - 5 - 8));
    assert_eq!(tally.replays_without_effect, 1);
    assert_eq!(format!("{:.1} {:.1}", 100.0 * tally.success(), tally.calls_saved_pct()), "83.3 46.4");
}

#[test]
fn a_gate_replays_what_it_admits_for_ever_unless_it_is_told() {
    let runs = six();
    let world = World::of(&runs);
    let gate =
        |name: &str, order: &Order| GATES.iter().find(|gate| gate.name == name).unwrap().play(&world, order, 0.0);
    let order = as_given(&[1, 0, 2]);
    let no_error = gate("no_error", &order);
    assert_eq!((no_error.replays, no_error.wrong_replays, no_error.planning_calls), (2, 2, 6));
    assert_eq!(format!("{:.1}", no_error.wrong_per_100()), "66.7");
    // The wrong run is reported at once, so that the next one is admitted.
    let told = gate("no_error_report_100", &order);
    assert_eq!((told.replays, told.wrong_replays, told.planning_calls), (1, 0, 10));
    assert_eq!(gate("same_effects_twice", &as_given(&[0, 2, 1])).replays, 1);
    assert_eq!(gate("same_calls_twice", &as_given(&[0, 2, 1])).replays, 0);
}

#[test]
fn held_out_runs_are_planned_and_still_taught_from() {
    let runs = six();
    let mut order = as_given(&[0, 2, 1]);
    order.turns[1].holdout = 0.1;
    let tally = ORACLE.play(&World::of(&runs), &order, 0.3);
    assert_eq!((tally.replays, tally.planning_calls), (1, 4 + 5));
}

#[test]
fn truth_goes_by_effects_and_without_them_by_the_whole_list() {
    let runs = six();
    let world = World::of(&runs);
    let made = |run: usize| made_by(&runs[run]);
    assert_eq!(world.truth("a", &made(1)), Truth::Wrong);
    // Other reads, the same effect.
    let mut paid = made(0);
    paid.remove(0);
    assert_eq!(world.truth("a", &paid), Truth::Right);
    let strange = Made { key: "pay {\"sum\":6}".to_owned(), ok: true, effect: true };
    assert_eq!(world.truth("a", &[strange]), Truth::Unknown);
    // No effects: the runs of `b` disagree, and so do those with the same whole list.
    assert_eq!(world.truth("b", &made(4)), Truth::Unknown);
    let mut unsaid = runs.clone();
    unsaid.iter_mut().flat_map(|run| &mut run.calls).for_each(|call| call.write = None);
    let world = World::of(&unsaid);
    let whole = |run: usize| made_by(&unsaid[run]);
    assert_eq!((world.truth("a", &whole(0)), world.truth("a", &whole(1))), (Truth::Right, Truth::Wrong));
    assert_eq!(world.truth("a", &whole(1)[1..]), Truth::Unknown);
}

#[tokio::test]
async fn learnkit_replays_a_true_success_and_is_charged_nothing() {
    let runs = six();
    let tally = play("verified", &runs, &[1, 0, 2]).await;
    assert_eq!((tally.replays, tally.wrong(), tally.successes), (1, 0, 2));
    assert_eq!((tally.planning_calls, tally.recorded_calls, tally.unrecorded_calls), (10, 15, 0));
    // A success that made no call teaches no procedure.
    assert_eq!(play("verified", &runs, &[3, 3, 3]).await.replays, 0);
}

#[tokio::test]
async fn wrong_is_scored_on_the_planned_calls_and_not_on_a_verdict() {
    let mut runs = six();
    // Somebody says of the run that paid 7 that it was a success; its calls leave the wrong world all the same.
    runs[1].verdict = true;
    let tally = play("verified", &runs, &[1, 0, 2]).await;
    assert_eq!((tally.replays, tally.wrong_replays, tally.successes), (1, 1, 2));
    assert_eq!(tally.refusals.len(), 1, "{:?}", tally.refusals);
    // The replay was reported as wrong, so the run after it was planned.
    assert_eq!(tally.planning_calls, 6 + 5);
}

#[tokio::test]
async fn with_true_verdicts_nothing_wrong_is_replayed_on_a_few_orders() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/tau_airline_runs.jsonl.gz");
    let runs = rows::read_file(path.as_ref()).unwrap();
    let world = World::of(&runs);
    for order in orders(2, runs.len(), SEED) {
        let tally = of_name("verified").play(&world, &order, 0.0).await.unwrap();
        assert_eq!((tally.wrong(), tally.unknown_replays, tally.unrecorded_calls), (0, 0, 0), "seed {SEED}: {tally:?}");
        let oracle = ORACLE.play(&world, &order, 0.0);
        assert!(tally.replays > 0 && tally.replays <= oracle.replays, "seed {SEED}: {tally:?}");
    }
}

#[test]
fn orders_are_alike_for_a_seed_and_hold_every_run_once() {
    let first = orders(3, 50, 7);
    let runs = |order: &Order| order.turns.iter().map(|turn| turn.run).collect::<Vec<_>>();
    assert_eq!(first.iter().map(runs).collect::<Vec<_>>(), orders(3, 50, 7).iter().map(runs).collect::<Vec<_>>());
    assert_ne!(runs(&first[0]), runs(&first[1]));
    let mut sorted = runs(&first[2]);
    sorted.sort_unstable();
    assert_eq!(sorted, (0..50).collect::<Vec<_>>());
}

#[test]
fn a_command_line_that_is_wrong_says_what_is_missing() {
    let error = |words: &[&str]| Options::parse(words).unwrap_err().to_string();
    assert_eq!(error(&["--json"]), "`repeat-stream` needs --runs FILE; see --help");
    assert_eq!(error(&["--runs"]), "`--runs` needs a value");
    assert_eq!(error(&["--runs", "x", "--orders", "0"]), "--orders must be at least 1");
    assert_eq!(error(&["--rums", "x"]), "`repeat-stream` has no option `--rums`; see --help");
}
