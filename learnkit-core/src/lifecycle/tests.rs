//! The state machine, event by event.

use super::*;
use crate::procedure::Procedure;
use crate::record::Content;
use crate::testing::fixtures;
use proptest::prelude::*;

fn skill() -> Record {
    let mut record = fixtures::skill("skl_1", "ping the host", "ping", "{}").unwrap();
    if let Content::Skill(skill) = &mut record.content {
        skill.procedure.iter_mut().for_each(|procedure| {
            procedure.guide_only.clear();
            procedure.unsettled.clear();
        });
    }
    record
}

fn at(hours: i64) -> Timestamp {
    fixtures::after(hours * 3600)
}

fn happen(record: &mut Record, events: &[Event]) {
    for event in events {
        apply(record, event, at(1));
    }
}

#[test]
fn three_harms_in_a_row_quarantine_and_two_do_not() {
    let mut record = skill();
    happen(&mut record, &[Event::Harmed, Event::Harmed, Event::Helped, Event::Harmed, Event::Harmed]);
    assert_ne!(record.status, Status::Harmful);
    happen(&mut record, &[Event::Harmed]);
    // Four harms to one help: the rate retires it, which is stronger than the quarantine.
    assert_eq!(record.status, Status::Retired);
    let mut record = skill();
    happen(&mut record, &[Event::Harmed, Event::Harmed, Event::Harmed]);
    assert_eq!(record.status, Status::Harmful);
}

#[test]
fn the_rate_retires_only_after_four_uses() {
    let mut record = skill();
    happen(&mut record, &[Event::Harmed, Event::Harmed, Event::Helped]);
    // Beta(2, 3) has a mean of 0.40.
    assert_ne!(record.status, Status::Retired);
    happen(&mut record, &[Event::Harmed]);
    // Beta(2, 4): 0.33.
    assert_eq!(record.status, Status::Retired);
    assert_eq!(record.success_rate, Some(0.25));
}

#[test]
fn confidence_moves_by_the_documented_steps_and_stays_in_bounds() {
    let mut record = skill();
    record.confidence = Confidence::new(0.75).unwrap();
    happen(&mut record, &[Event::Helped]);
    assert!((record.confidence.get() - 0.77).abs() < 1e-9);
    happen(&mut record, &vec![Event::Helped; 40]);
    assert_eq!(record.confidence, Confidence::CEILING);
    happen(&mut record, &[Event::Harmed]);
    assert!((record.confidence.get() - 0.90).abs() < 1e-9);
}

#[test]
fn a16_a_heal_gives_a_fresh_chance() {
    let mut record = skill();
    let stopped = Event::ReplayStopped { reason: "down".into(), at_fault: true };
    happen(&mut record, &[stopped.clone(), Event::PlannedAgain(Trust::Unverified)]);
    assert_eq!(record.usage.suspended, None);
    assert_eq!(may_replay(&record, ReplayTrust::ToolOutcome, at(1)), Ok(()));
    // A replay that goes through forgets the failed one.
    happen(&mut record, &[Event::Replayed, Event::Replayed, Event::Replayed, stopped.clone()]);
    happen(&mut record, &[Event::PlannedAgain(Trust::Unverified), stopped]);
    assert_eq!((record.usage.failed_replays, record.status), (2, Status::Active));
}

#[test]
fn a_changed_world_suspends_and_blames_nobody() {
    let mut record = skill();
    happen(&mut record, &[Event::ReplayStopped { reason: "moved".into(), at_fault: false }]);
    assert_eq!((record.usage.harm, record.usage.failed_replays), (0, 0));
    let refusal = may_replay(&record, ReplayTrust::ToolOutcome, at(1)).unwrap_err();
    assert!(refusal.contains("moved"), "{refusal}");
}

#[test]
fn b13_an_active_record_is_visible_until_it_is_stale() {
    let mut record = skill();
    record.status = Status::Active;
    record.confidence = Confidence::new(0.31).unwrap();
    let done = maintain(&mut record, &MaintenancePlan::default(), at(24 * 7));
    assert!(done.decayed && done.stale);
    assert_eq!(record.status, Status::Stale);
    happen(&mut record, &[Event::PlannedAgain(Trust::Unverified)]);
    assert_eq!(record.status, Status::Active);
}

#[test]
fn f35_expiry_is_utc_whatever_offset_it_was_written_with() {
    let mut value = serde_json::to_value(skill()).unwrap();
    value["expires"] = "2028-02-29T23:30:00+05:30".into();
    let record: Record = serde_json::from_value(value).unwrap();
    assert_eq!(record.expires.unwrap().to_string(), "2028-02-29T18:00:00Z");
    assert!(!record.is_expired("2028-02-29T17:59:59Z".parse().unwrap()));
    assert!(record.is_expired("2028-02-29T18:00:00Z".parse().unwrap()));
}

#[test]
fn only_a_skill_with_a_procedure_replays() {
    let mut record = skill();
    let Content::Skill(skill) = &mut record.content else { panic!("a skill") };
    skill.procedure = None;
    record.id = RecordId::new("prose").unwrap();
    assert!(may_replay(&record, ReplayTrust::ToolOutcome, at(1)).is_err());
}

#[test]
fn trust_rises_by_confirmation_and_reports_and_falls_with_a_failure_or_other_calls() {
    let mut record = skill();
    record.trust = Trust::Unverified;
    let expected = [
        (Event::PlannedAgain(Trust::Unverified), Trust::Unverified),
        (Event::Replayed, Trust::Unverified),
        (Event::Helped, Trust::Unverified),
        (Event::Confirmed, Trust::Confirmed),
        (Event::PlannedAgain(Trust::Unverified), Trust::Confirmed),
        (Event::ReportedSuccess, Trust::Verified),
        (Event::Confirmed, Trust::Verified),
        (Event::MovedOn(Trust::Unverified), Trust::Unverified),
        (Event::PlannedAgain(Trust::Confirmed), Trust::Confirmed),
        (Event::ReportedFailure, Trust::Unverified),
        (Event::Confirmed, Trust::Unverified),
        (Event::PlannedAgain(Trust::Confirmed), Trust::Unverified),
        (Event::MovedOn(Trust::Confirmed), Trust::Unverified),
    ];
    for (step, (event, trust)) in expected.iter().enumerate() {
        happen(&mut record, std::slice::from_ref(event));
        assert_eq!(record.trust, *trust, "after step {step}, {event:?}");
    }
    assert_eq!(record.status, Status::Retired);
}

#[test]
fn a_failed_run_of_another_task_costs_a_verified_record_no_status_and_no_replay() {
    let trusted = |trust, confidence| {
        let mut record = skill();
        record.trust = trust;
        record.confidence = Confidence::new(confidence).unwrap();
        record
    };
    // Trust, failed runs of other tasks, then confidence, harms, status.
    let expected = [
        (Trust::Verified, 1, 0.70, 0, Status::Active),
        (Trust::Verified, 9, 0.30, 0, Status::Active),
        (Trust::Verified, 40, 0.30, 0, Status::Active),
        (Trust::Confirmed, 1, 0.70, 1, Status::Active),
        (Trust::Confirmed, 3, 0.60, 3, Status::Harmful),
        (Trust::Unverified, 4, 0.55, 4, Status::Retired),
    ];
    for (trust, times, confidence, harm, status) in expected {
        let mut record = trusted(trust, 0.75);
        happen(&mut record, &vec![Event::Misguided; times]);
        assert!((record.confidence.get() - confidence).abs() < 1e-9, "{trust}, {times}: {record:?}");
        assert_eq!((record.usage.harm, record.status), (harm, status), "{trust}, {times}");
        assert_eq!(may_replay(&record, ReplayTrust::ToolOutcome, at(1)).is_ok(), status == Status::Active);
    }
    // What is below the floor already is not lifted to it.
    let mut record = trusted(Trust::Verified, 0.2);
    happen(&mut record, &[Event::Misguided]);
    assert_eq!(record.confidence, Confidence::new(0.2).unwrap());
}

#[test]
fn only_the_own_task_or_a_run_that_did_nothing_else_blames_a_record() {
    let own = fixtures::skill("skl_1", "ping the host", "ping", "{}").unwrap();
    let other = fixtures::skill("skl_2", "watch the host", "ping", "{}").unwrap();
    let (own_key, other_key) = (own.task.clone().unwrap().key, other.task.unwrap().key);
    let expected = [
        (&own_key, vec!["ping"], Some(Event::Harmed)),
        (&own_key, vec!["ping", "mail"], Some(Event::Harmed)),
        (&other_key, vec!["ping"], Some(Event::Misguided)),
        (&other_key, vec!["ping", "mail"], None),
    ];
    for (key, productive, event) in expected {
        assert_eq!(blame(&own, key, &productive), event, "{productive:?}");
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::PlannedAgain(Trust::Unverified)),
        Just(Event::PlannedAgain(Trust::Confirmed)),
        Just(Event::MovedOn(Trust::Confirmed)),
        Just(Event::Confirmed),
        Just(Event::Replayed),
        Just(Event::Helped),
        Just(Event::Harmed),
        Just(Event::Misguided),
        any::<bool>().prop_map(|at_fault| Event::ReplayStopped { reason: "x".into(), at_fault }),
        Just(Event::ReportedFailure),
    ]
}

proptest! {
    #[test]
    fn tool_outcomes_never_bring_back_what_was_reported_as_a_failure(events in prop::collection::vec(any_event(), 0..30)) {
        let mut record = skill();
        happen(&mut record, &[Event::ReportedFailure]);
        happen(&mut record, &events);
        prop_assert_eq!(record.status, Status::Retired);
        prop_assert!(may_replay(&record, ReplayTrust::ToolOutcome, at(1)).is_err());
    }

    #[test]
    fn c8_maintenance_twice_at_any_time_changes_nothing(hours in 0i64..20_000, events in prop::collection::vec(any_event(), 0..8)) {
        let mut record = skill();
        happen(&mut record, &events);
        maintain(&mut record, &MaintenancePlan::default(), at(hours));
        let once = record.clone();
        prop_assert!(!maintain(&mut record, &MaintenancePlan::default(), at(hours)).is_change());
        prop_assert_eq!(record, once);
    }
}

#[test]
fn f36_only_unpinned_tombstones_and_expired_traces_may_be_purged() {
    let mut record = skill();
    let retire = |record: &mut Record, hours| {
        apply(record, &Event::ReportedFailure, at(hours));
    };
    for status in [Status::Probation, Status::Active, Status::Stale, Status::Harmful] {
        record.status = status;
        assert!(!may_purge(&record, Timestamp::MAX), "{status}");
    }
    retire(&mut record, 100);
    assert_eq!(record.status_since, Some(at(100)));
    retire(&mut record, 200);
    assert_eq!(record.status_since, Some(at(100)), "it was retired already");
    assert!(!may_purge(&record, at(100)) && may_purge(&record, at(101)));
    record.status_since = None;
    record.last_reinforced = Some(at(300));
    assert!(!may_purge(&record, at(300)) && may_purge(&record, at(301)), "what is known of it is all there is");
    record.pinned = true;
    assert!(!may_purge(&record, Timestamp::MAX));
}

/// A procedure that helped twice, then other calls in its place that nobody has proven.
fn healed() -> Record {
    let mut record = skill();
    record.trust = Trust::Confirmed;
    happen(&mut record, &[Event::Replayed, Event::Replayed]);
    happen(&mut record, &[Event::ReplayStopped { reason: "moved".into(), at_fault: false }]);
    let old = record.procedure().unwrap().clone();
    let fresh = Procedure { answer: Some("4 rows".into()), version: old.version + 1, ..old };
    heal(&mut record, fresh, Trust::Unverified, at(1));
    assert_eq!(may_replay(&record, ReplayTrust::ToolOutcome, at(1)), Ok(()));
    record
}

#[test]
fn f24_a_heal_that_fails_three_times_is_dropped_and_the_last_good_version_stays() {
    let failed = Event::ReplayStopped { reason: "down".into(), at_fault: true };
    let mut record = healed();
    for round in 1..=2 {
        happen(&mut record, &[failed.clone(), Event::PlannedAgain(Trust::Unverified)]);
        assert_eq!(record.procedure().unwrap().answer.as_deref(), Some("4 rows"), "round {round}");
    }
    happen(&mut record, std::slice::from_ref(&failed));
    let procedure = record.procedure().unwrap();
    assert_eq!((procedure.answer.as_deref(), procedure.version), (Some("3 rows"), 4));
    assert_eq!((record.status, record.trust), (Status::Probation, Trust::Confirmed));
    // What the dropped version did is not charged to this one, but a planned success has to speak for it.
    assert_eq!((record.usage.help, record.usage.harm, record.usage.failed_replays), (2, 0, 0));
    let refusal = may_replay(&record, ReplayTrust::ToolOutcome, at(1)).unwrap_err();
    assert!(refusal.contains("suspended") && refusal.contains("version 2 came back"), "{refusal}");
    happen(&mut record, &[Event::PlannedAgain(Trust::Unverified)]);
    assert_eq!(may_replay(&record, ReplayTrust::ToolOutcome, at(1)), Ok(()));
    // It has a budget of its own, and nothing is left behind it.
    for _ in 0..3 {
        happen(&mut record, &[Event::PlannedAgain(Trust::Unverified), failed.clone()]);
    }
    assert_eq!(record.status, Status::Retired);
}

#[test]
fn what_a_replay_showed_wrong_is_no_last_good_version() {
    let mut record = skill();
    happen(&mut record, &[Event::ReplayStopped { reason: "down".into(), at_fault: true }]);
    happen(&mut record, &[Event::MovedOn(Trust::Unverified)]);
    assert_eq!(record.last_good(), None);
    let mut record = healed();
    happen(&mut record, &[Event::ReportedFailure]);
    assert_eq!((record.status, record.last_good()), (Status::Retired, None));
}

#[test]
fn a_rollback_brings_the_last_good_version_back_but_nothing_that_is_retired() {
    let mut record = healed();
    let kept = record.clone();
    happen(&mut record, &[Event::RolledBack]);
    assert_eq!(record.procedure().unwrap().answer.as_deref(), Some("3 rows"));
    assert_eq!(may_replay(&record, ReplayTrust::ToolOutcome, at(1)), Ok(()));
    let mut retired = kept;
    retired.status = Status::Retired;
    let before = retired.clone();
    happen(&mut retired, &[Event::RolledBack]);
    assert_eq!(retired, before);
}

#[test]
fn a_last_good_version_in_which_a_secret_was_masked_only_guides() {
    let mut record = healed();
    record.each_text(&|text| *text = text.replace("{}", r#"{"pin":"[secret]"}"#));
    happen(&mut record, &[Event::RolledBack]);
    let refusal = may_replay(&record, ReplayTrust::ToolOutcome, at(1)).unwrap_err();
    assert!(refusal.contains("may only guide: a secret"), "{refusal}");
}

#[test]
fn a_record_over_its_heal_budget_does_not_replay() {
    let mut record = skill();
    record.usage.failed_replays = 3;
    assert!(may_replay(&record, ReplayTrust::ToolOutcome, at(1)).unwrap_err().contains("heal budget"));
}

#[test]
fn a_report_about_calls_that_were_healed_meanwhile_says_nothing_about_the_new_ones() {
    let record = healed();
    for (version, about) in [(None, false), (Some(2), false), (Some(3), true), (Some(4), true)] {
        assert_eq!(is_about(&record, version), about, "{version:?}");
    }
    assert!(is_about(&skill(), None));
}

#[test]
fn a_success_after_a_retirement_starts_probation_and_counts_anew() {
    let mut record = skill();
    record.confidence = Confidence::new(0.32).unwrap();
    happen(&mut record, &[Event::Harmed, Event::ReportedFailure]);
    apply(&mut record, &Event::ReportedSuccess, at(1000));
    assert_eq!((record.status, record.success_rate, record.confidence), (Status::Probation, None, Confidence::START));
    maintain(&mut record, &MaintenancePlan::default(), at(1023));
    assert_eq!(record.status, Status::Probation, "made long ago, but on probation since an hour ago");
    maintain(&mut record, &MaintenancePlan::default(), at(1024));
    assert_eq!(record.status, Status::Active);
}

#[path = "model.rs"]
mod model;
