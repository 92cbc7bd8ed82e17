use super::*;
use crate::procedure::Step;
use crate::record::{Content, RunId};
use crate::testing::fixtures;
use EffectClass::{Destructive, Idempotent, ReadOnly, Unknown};
use ReplayTrust::{Careful, ToolOutcome, Verified};

fn record(effects: &[EffectClass]) -> Record {
    let mut record = fixtures::skill("skl_1", "pay the bill", "t0", "{}").unwrap();
    let Content::Skill(skill) = &mut record.content else { unreachable!("fixtures::skill makes skills") };
    let procedure = skill.procedure.as_mut().unwrap();
    let first = procedure.steps[0].clone();
    let step = |(at, effect): (usize, &EffectClass)| Step {
        tool: format!("t{at}"),
        effect: *effect,
        group: None,
        ..first.clone()
    };
    procedure.steps = effects.iter().enumerate().map(step).collect();
    procedure.guide_only.clear();
    procedure.unsettled.clear();
    record
}

fn procedure(effects: &[EffectClass]) -> Procedure {
    record(effects).procedure().unwrap().clone()
}

#[derive(Clone, Copy)]
enum Known {
    Nothing,
    Environment,
    Precheck,
}

fn replays(trust: Trust, effects: &[EffectClass], known: Known, setting: ReplayTrust) -> bool {
    let procedure = procedure(effects);
    let task = Task::new("pay the bill");
    let task = if matches!(known, Known::Environment) { task.with_environment("v1") } else { task };
    let check = WorldCheck::of(&procedure, &task);
    let check = if matches!(known, Known::Precheck) { check.after_precheck() } else { check };
    is_enough(trust, &procedure, setting).is_ok() && check.is_enough(setting).is_ok()
}

#[test]
fn what_replays_is_a_table_of_trust_effects_reads_world_and_setting() {
    use Known::{Environment, Nothing, Precheck};
    use Trust::{Confirmed, Unverified};
    let reads: &[EffectClass] = &[ReadOnly, ReadOnly];
    let read_then_effect: &[EffectClass] = &[ReadOnly, Idempotent];
    let effect_then_read: &[EffectClass] = &[Unknown, ReadOnly];
    let destroys: &[EffectClass] = &[ReadOnly, Destructive];
    let only_destroys: &[EffectClass] = &[Destructive];
    let table: &[(Trust, &[EffectClass], Known, ReplayTrust, bool)] = &[
        (Unverified, reads, Nothing, ToolOutcome, true),
        (Unverified, reads, Nothing, Careful, true),
        (Unverified, reads, Nothing, Verified, false),
        (Confirmed, reads, Nothing, Verified, false),
        (Trust::Verified, reads, Nothing, Verified, true),
        (Unverified, read_then_effect, Nothing, ToolOutcome, true),
        (Unverified, read_then_effect, Nothing, Careful, false),
        (Unverified, read_then_effect, Environment, Careful, false),
        (Unverified, read_then_effect, Precheck, Careful, false),
        (Confirmed, read_then_effect, Nothing, Careful, true),
        (Trust::Verified, read_then_effect, Nothing, Careful, true),
        (Confirmed, read_then_effect, Nothing, Verified, false),
        (Unverified, effect_then_read, Nothing, ToolOutcome, true),
        (Confirmed, effect_then_read, Nothing, Careful, false),
        (Trust::Verified, effect_then_read, Nothing, Careful, false),
        (Confirmed, effect_then_read, Environment, Careful, true),
        (Confirmed, effect_then_read, Precheck, Careful, true),
        (Trust::Verified, effect_then_read, Nothing, Verified, true),
        (Unverified, destroys, Nothing, ToolOutcome, false),
        (Confirmed, destroys, Nothing, ToolOutcome, true),
        (Confirmed, only_destroys, Nothing, ToolOutcome, true),
        (Confirmed, only_destroys, Nothing, Careful, false),
        (Confirmed, only_destroys, Precheck, Careful, true),
        (Confirmed, destroys, Nothing, Careful, true),
        (Confirmed, destroys, Nothing, Verified, false),
    ];
    for (row, (trust, effects, known, setting, expected)) in table.iter().enumerate() {
        assert_eq!(replays(*trust, effects, *known, *setting), *expected, "row {row}: {trust} {effects:?} {setting}");
    }
}

#[test]
fn a_read_beside_the_effect_and_a_blank_digest_check_nothing() {
    let mut beside = procedure(&[ReadOnly, Unknown]);
    beside.steps.iter_mut().for_each(|step| step.group = Some(1));
    assert_eq!(WorldCheck::of_procedure(&beside), WorldCheck::Unchecked);
    beside.steps[0].group = None;
    assert_eq!(WorldCheck::of_procedure(&beside), WorldCheck::Read);
    let blank = Task::new("pay").with_environment(" ");
    assert_eq!(WorldCheck::of(&procedure(&[Unknown]), &blank), WorldCheck::Unchecked);
}

#[test]
fn only_the_same_calls_or_the_same_known_effects_confirm() {
    let paid = procedure(&[ReadOnly, Idempotent]);
    let mut read_another_way = procedure(&[ReadOnly, Idempotent, ReadOnly]);
    assert!(does_the_same(&paid, &read_another_way));
    read_another_way.steps[0].effect = Unknown;
    assert!(!does_the_same(&paid, &read_another_way), "what is not stated may be an effect");
    let mut other = paid.clone();
    other.steps[1].arguments = serde_json::json!({"to": "bob"}).into();
    assert!(!does_the_same(&paid, &other), "other arguments");
    assert!(!does_the_same(&procedure(&[ReadOnly]), &procedure(&[ReadOnly, ReadOnly])), "nothing was done");
    let mut swapped = procedure(&[Idempotent, Destructive]);
    let both = swapped.clone();
    swapped.steps.swap(0, 1);
    assert!(!does_the_same(&both, &swapped), "another order");
    let mut for_another = paid.clone();
    for_another.parameters.insert("table".to_owned(), "orders".to_owned());
    assert!(does_the_same(&paid, &for_another), "another value of a parameter that an argument takes");
    for_another.parameters.insert("year".to_owned(), "2026".to_owned());
    let mut earlier = for_another.clone();
    earlier.parameters.insert("year".to_owned(), "2025".to_owned());
    assert!(!does_the_same(&earlier, &for_another), "another value of one that none takes");
}

#[test]
fn a_run_never_confirms_itself_and_what_was_retired_confirms_nothing() {
    let mut stored = record(&[ReadOnly, Idempotent]);
    stored.usage.successes = 1;
    let new = stored.procedure().unwrap().clone();
    let another = RunId::new("run_other").unwrap();
    assert!(confirms(&stored, &new, &another));
    assert!(!confirms(&stored, &new, &new.source_run), "the run it was made from");
    for status in [Status::Retired, Status::Harmful] {
        stored.status = status;
        assert!(!confirms(&stored, &new, &another), "{status}");
    }
    stored.status = Status::Active;
    stored.usage.successes = 0;
    assert!(!confirms(&stored, &new, &another), "no run of ours made it");
}
