//! What the ledger claims and charges, on runs made by hand.

use std::collections::BTreeMap;

use super::*;
use crate::replay::{Divergence, StopCause};
use crate::run::{Arm, Gate, Mode, Offer, ReplayNote, StoredRun, Tokens, Verdict};
use crate::testing::fixtures;

/// A run without memory that solved its task with so many planning calls.
fn cold(id: &str, task: &str, planning_calls: Option<u32>) -> StoredRun {
    StoredRun {
        mode: Mode::Cold,
        planning_calls,
        synthesis_calls: 0,
        tokens: None,
        arm: None,
        offer: None,
        replay: None,
        used: Vec::new(),
        gate: Gate::of_verdict(Verdict::Success),
        reports: Vec::new(),
        ..fixtures::run(id, task).unwrap()
    }
}

fn skill() -> RecordId {
    RecordId::new("skill_1").unwrap()
}

/// A replay that made two calls in 30 milliseconds.
fn note(stopped: Option<Divergence>) -> ReplayNote {
    ReplayNote { record: skill(), planned: 2, made: 2, duration_ms: 30, in_vain: Vec::new(), stopped }
}

/// A replay to the end.
fn replayed(id: &str, task: &str) -> StoredRun {
    let replay = note(None);
    StoredRun {
        mode: Mode::Replay,
        replayed: true,
        used: vec![skill()],
        replay: Some(Box::new(replay)),
        offer: Some(Offer { mode: Mode::Replay, records: vec![skill()], playbook_tokens: 0 }),
        ..cold(id, task, Some(0))
    }
}

/// A replay that its own procedure stopped after one of its steps; the planner went on.
fn stopped(id: &str, task: &str, planning_calls: Option<u32>) -> StoredRun {
    let replay = note(Some(Divergence { step: 1, reason: "it broke".to_owned(), cause: StopCause::Failed }));
    StoredRun {
        mode: Mode::Guide,
        replayed: false,
        planning_calls,
        used: Vec::new(),
        replay: Some(Box::new(replay)),
        ..replayed(id, task)
    }
}

fn guided(id: &str, task: &str, planning_calls: Option<u32>, used: &[&str]) -> StoredRun {
    let ids = |ids: &[&str]| ids.iter().map(|id| RecordId::new(*id).unwrap()).collect::<Vec<_>>();
    StoredRun {
        mode: Mode::Guide,
        used: ids(used),
        offer: Some(Offer {
            mode: Mode::Guide,
            records: ids(&["skill_1", "skill_2", "skill_3"]),
            playbook_tokens: 300,
        }),
        ..cold(id, task, planning_calls)
    }
}

fn failed(run: StoredRun) -> StoredRun {
    StoredRun { gate: Gate::of_verdict(Verdict::Failure), ..run }
}

fn of_runs(runs: &[StoredRun]) -> Ledger {
    let mut account = Account::new(3.5);
    runs.iter().for_each(|run| account.add(run));
    account.ledger()
}

fn saving(saved: Option<f64>, known: u64, unknown: u64) -> Saving {
    Saving { saved, known, unknown }
}

#[test]
fn a_replay_saves_what_the_same_task_needed_when_it_was_planned() {
    let runs =
        [cold("a", "pay", Some(3)), cold("b", "pay", Some(5)), cold("c", "look", Some(90)), replayed("d", "pay")];
    let ledger = of_runs(&runs);
    assert_eq!(ledger.planner_calls, saving(Some(4.0), 1, 0));
    assert_eq!((ledger.runs.total, ledger.runs.cold, ledger.runs.replayed), (4, 3, 1));
    assert_eq!(ledger.records[0].planner_calls, saving(Some(4.0), 1, 0));
    // A synthesis call is a call of the planner.
    let with_synthesis = StoredRun { synthesis_calls: 1, ..replayed("d", "pay") };
    let ledger = of_runs(&[runs[0].clone(), with_synthesis]);
    assert_eq!((ledger.planner_calls.saved, ledger.synthesis_calls), (Some(2.0), 1));
}

#[test]
fn where_nobody_counted_the_saving_is_absent_and_not_0() {
    for runs in [
        vec![cold("a", "pay", None), replayed("b", "pay")],
        vec![cold("a", "pay", Some(3)), StoredRun { planning_calls: None, ..replayed("b", "pay") }],
        vec![cold("a", "another task", Some(3)), replayed("b", "pay")],
    ] {
        assert_eq!(of_runs(&runs).planner_calls, saving(None, 0, 1));
    }
    assert_eq!(of_runs(&[cold("a", "pay", Some(3))]).planner_calls, saving(None, 0, 0));
}

#[test]
fn f12_a_failed_replay_saves_nothing_and_its_cost_is_charged() {
    let planned = cold("a", "pay", Some(3));
    // The planner needed less than ever, because a step was done: still nothing is claimed.
    let cheap = of_runs(&[planned.clone(), stopped("b", "pay", Some(1))]);
    assert_eq!(cheap.planner_calls, saving(Some(0.0), 1, 0));
    let dear = of_runs(&[planned.clone(), stopped("b", "pay", Some(5))]);
    assert_eq!(dear.planner_calls, saving(Some(-2.0), 1, 0));
    let cost = dear.failed_replays;
    assert_eq!((cost.stopped, cost.at_fault, cost.unsolved, cost.tool_calls), (1, 1, 0, 2));
    assert_eq!(cost.milliseconds, 30);
    let record = &dear.records[0];
    assert_eq!((record.stopped, record.help, record.harm, record.planner_calls.saved), (1, 0, 1, Some(-2.0)));
    // It is not hidden by what others saved.
    let both = of_runs(&[planned.clone(), replayed("b", "pay"), stopped("c", "pay", Some(5))]);
    assert_eq!(both.planner_calls, saving(Some(1.0), 2, 0));
    // A replay to the end of a run that failed is a failed replay, too, also where that was told later.
    let later = StoredRun { reports: vec![Verdict::Success, Verdict::Failure], ..replayed("b", "pay") };
    for run in [failed(replayed("b", "pay")), later] {
        let ledger = of_runs(&[planned.clone(), run]);
        assert_eq!(ledger.planner_calls, saving(Some(0.0), 1, 0));
        assert_eq!((ledger.failed_replays.unsolved, ledger.failed_replays.tool_calls), (1, 2));
    }
}

#[test]
fn a_guided_run_saves_against_runs_without_memory_only_and_may_cost() {
    let runs = [cold("a", "pay", Some(4)), guided("b", "pay", Some(2), &["skill_1"]), guided("c", "pay", Some(7), &[])];
    let ledger = of_runs(&runs);
    assert_eq!(ledger.planner_calls, saving(Some(2.0 - 3.0), 2, 0));
    assert_eq!(ledger.playbook_tokens, 600);
    // A guided run is nothing that another guided run is measured by, but a replay is where nothing else is known.
    let first = guided("a", "pay", Some(2), &[]);
    assert_eq!(of_runs(&[first.clone(), guided("b", "pay", Some(1), &[])]).planner_calls, saving(None, 0, 2));
    let replay = of_runs(&[first, replayed("b", "pay")]);
    assert_eq!(replay.planner_calls, saving(Some(2.0), 1, 1));
    // Giving up early is no saving.
    let gave_up = failed(guided("b", "pay", Some(1), &[]));
    assert_eq!(of_runs(&[cold("a", "pay", Some(4)), gave_up]).planner_calls, saving(Some(0.0), 1, 0));
}

#[test]
fn tokens_are_saved_where_they_were_told() {
    let told = |run: StoredRun, input, output| StoredRun { tokens: Some(Tokens { input, output }), ..run };
    let ledger =
        of_runs(&[told(cold("a", "pay", None), 900, 100), told(replayed("b", "pay"), 50, 10), replayed("c", "pay")]);
    assert_eq!(ledger.tokens, saving(Some(940.0), 1, 1));
    assert_eq!(ledger.planner_calls.saved, None);
}

#[test]
fn f34_only_a_record_that_was_used_is_credited_and_the_base_rate_is_shown() {
    let mut runs = vec![cold("a", "other", Some(4)), failed(cold("b", "other", Some(4)))];
    runs.extend((0..10).map(|n| guided(&format!("g{n}"), "pay", Some(2), &["skill_2"])));
    let ledger = of_runs(&runs);
    let of = |id: &str| ledger.records.iter().find(|record| record.id.as_str() == id).unwrap();
    let used = of("skill_2");
    assert_eq!((used.followed, used.help, used.offered), (10, 10, 10));
    assert_eq!(used.help_rate.map(|rate| rate.estimate), Some(1.0));
    assert_eq!(used.base_rate.map(|rate| rate.estimate), Some(0.5));
    for unused in ["skill_1", "skill_3"].map(of) {
        assert_eq!((unused.uses(), unused.help, unused.harm, unused.help_rate), (0, 0, 0, None));
        assert_eq!((unused.effect.class, unused.effect.reason.as_str()), (Class::NotYet, "no run used it"));
    }
}

/// Runs of both arms that followed `skill_2`; those that got it solve so many of 100.
fn compared(with: usize, without: usize) -> Vec<StoredRun> {
    let run = |n: usize, is_held_out: bool, solved: bool| {
        let run = guided(&format!("{n}{is_held_out}"), "pay", Some(if is_held_out { 4 } else { 2 }), &["skill_2"]);
        let run = StoredRun { finished: fixtures::after(i64::try_from(n).unwrap()), arm: Some(Arm::Memory), ..run };
        let run = if is_held_out {
            StoredRun { arm: Some(Arm::HoldOut), mode: Mode::Cold, used: Vec::new(), ..run }
        } else {
            run
        };
        if solved { run } else { failed(run) }
    };
    (0..100).flat_map(|n| [run(n, false, n * 37 % 100 < with), run(n, true, n * 61 % 100 < without)]).collect()
}

#[test]
fn f34_a_record_at_the_base_rate_gets_no_credit_however_high_its_rate_is() {
    let of = |ledger: &Ledger, id: &str| ledger.records.iter().find(|record| record.id.as_str() == id).unwrap().clone();
    let ledger = of_runs(&compared(100, 100));
    let used = of(&ledger, "skill_2");
    assert_eq!((used.help_rate.unwrap().estimate, used.base_rate.unwrap().estimate), (1.0, 1.0));
    assert_eq!((used.effect.class, used.effect.with, used.effect.without), (Class::Neutral, 100, 100));
    let ledger = of_runs(&compared(90, 40));
    assert_eq!(of(&ledger, "skill_2").effect.class, Class::Helpful);
    // What else was in the playbook had the same runs, and no part in them.
    assert_eq!(of(&ledger, "skill_1").effect.class, Class::NotYet);
    assert_eq!(of(&of_runs(&compared(40, 90)), "skill_2").effect.class, Class::Harmful);
}

#[test]
fn arms_compare_runs_for_which_memory_had_something() {
    let mut runs = compared(90, 40);
    // Nothing was on offer here, so nothing can be said by it.
    runs.extend(
        (0..50).map(|n| failed(StoredRun { arm: Some(Arm::Memory), ..cold(&format!("c{n}"), "new", Some(9)) })),
    );
    let arms = of_runs(&runs).arms.unwrap();
    assert_eq!((arms.memory.runs, arms.memory.solved, arms.hold_out.runs, arms.hold_out.solved), (100, 90, 100, 40));
    assert_eq!((arms.memory.planner_calls, arms.hold_out.planner_calls), (Some(2.0), Some(4.0)));
    let success = arms.success.unwrap();
    assert!(success.low > 0.35 && 0.5 < success.high && success.high < 0.65, "{success:?}");
    assert_eq!(arms.effect.class, Class::Helpful);
    assert_eq!(of_runs(&[cold("a", "pay", Some(3))]).arms, None);
    let few = of_runs(&compared(90, 40)[..12]).arms.unwrap();
    assert_eq!(few.effect.class, Class::NotYet);
}

#[test]
fn runs_may_come_in_any_order_and_days_are_told_apart() {
    let mut runs = compared(70, 60);
    let forward = of_runs(&runs);
    runs.reverse();
    let backward = of_runs(&runs);
    assert_eq!(forward.records.iter().map(|record| &record.effect).collect::<Vec<_>>().len(), 3);
    let effects = |ledger: &Ledger| {
        ledger.records.iter().map(|record| (record.id.clone(), record.effect.clone())).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(effects(&forward), effects(&backward));
    assert_eq!(forward.days.iter().map(|day| day.runs).sum::<u64>(), 200);
    assert_eq!(forward.days.first().map(|day| day.date.to_string()).as_deref(), Some("2026-01-01"));
}

#[test]
fn a_ledger_of_nothing_claims_nothing_and_reads_back() {
    let empty = of_runs(&[]);
    assert_eq!((empty.period, empty.planner_calls, empty.arms.clone()), (None, Saving::default(), None));
    let whole = of_runs(&compared(90, 40));
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), whole);
}
