//! How a record rises, sinks, ages and comes back.

use jiff::{SignedDuration, Timestamp};
use learnkit::config::ReplayTrust;
use learnkit::engine::{MaintenanceReport, Outcome};
use learnkit::lifecycle::{Event, apply, may_replay};
use learnkit::record::{Content, Kind, Record, RecordId, Status, Trust};
use learnkit::run::Mode;
use learnkit_core::testing::fixtures;
use learnkit_tests::{Script, World, begin, fact, memory, nobody, of_kind, run, run_once, skills, stored_text};
use proptest::prelude::*;
use serde_json::json;

/// An active procedure that may replay.
fn procedure() -> Record {
    let mut record = fixtures::skill("skl_1", "ping the host", "ping", "{}").unwrap();
    if let Content::Skill(skill) = &mut record.content {
        skill.procedure.iter_mut().for_each(|procedure| procedure.guide_only.clear());
    }
    record
}

fn happen(record: &mut Record, events: impl IntoIterator<Item = Event>) {
    for event in events {
        apply(record, &event, fixtures::after(3600));
    }
}

fn stopped() -> Event {
    Event::ReplayStopped { reason: "down".to_owned(), at_fault: true }
}

/// A procedure that helped six times, so that the rate of its uses alone does not retire it.
fn proven() -> Record {
    let mut record = procedure();
    happen(&mut record, vec![Event::Helped; 6]);
    record
}

#[test]
fn a16_a_reported_success_forgets_the_failed_replays_before_it() {
    let mut record = proven();
    happen(&mut record, [stopped(), stopped(), stopped()]);
    assert_eq!(record.status, Status::Retired);
    happen(&mut record, [Event::ReportedSuccess]);
    assert_eq!(may_replay(&record, ReplayTrust::ToolOutcome, fixtures::after(3600)), Ok(()));
    happen(&mut record, [stopped()]);
    assert!(!matches!(record.status, Status::Harmful | Status::Retired), "{}: {}", record.status, record.status_reason);
}

#[test]
fn a16_a_verified_success_forgets_the_harms_before_it() {
    let mut record = proven();
    happen(&mut record, [Event::Harmed, Event::Harmed, Event::Harmed]);
    assert_eq!(record.status, Status::Harmful);
    happen(&mut record, [Event::PlannedAgain(Trust::Verified), Event::Harmed]);
    assert!(!matches!(record.status, Status::Harmful | Status::Retired), "{}: {}", record.status, record.status_reason);
}

#[test]
fn c1_harms_that_are_far_apart_never_quarantine() {
    let mut record = procedure();
    for use_number in 1..=43 {
        happen(&mut record, [if use_number % 14 == 0 { Event::Harmed } else { Event::Helped }]);
        assert_eq!(record.status, Status::Active, "use {use_number}: {}", record.status_reason);
    }
    assert_eq!((record.usage.help, record.usage.harm), (40, 3));
}

#[tokio::test]
async fn maintenance_after_ten_weeks_done_twice_changes_nothing_the_second_time() {
    let (memory, clock) = memory().await;
    run_once(&memory, "ping", "ping", &Outcome::answered("ok")).await;
    clock.advance(SignedDuration::from_hours(24 * 70));
    let first = memory.maintain_memory(1, 0.02, 24.0).await.unwrap();
    assert_ne!(first, MaintenanceReport::default());
    assert_eq!(memory.maintain_memory(1, 0.02, 24.0).await.unwrap(), MaintenanceReport::default());
}

#[tokio::test]
async fn d8_records_whose_time_was_written_with_any_offset_leave_probation_together() {
    let (memory, clock) = memory().await;
    for (id, created) in [("z", "2026-01-05T08:00:00Z"), ("india", "2026-01-05T13:30:00+05:30")] {
        let mut value = serde_json::to_value(fact(&memory, id, &format!("the number of {id} is 7"))).unwrap();
        value["created"] = created.into();
        value["status"] = "probation".into();
        let record: Record = serde_json::from_value(value).unwrap();
        memory.store().records.put(&record, learnkit::backend::PutMode::Create).await.unwrap();
    }
    assert_eq!(stored_text(&memory).await.matches(r#""created":"2026-01-05T08:00:00Z""#).count(), 2);
    clock.set("2026-01-06T07:59:59Z".parse().unwrap());
    assert_eq!(memory.maintain_memory(1, 0.02, 24.0).await.unwrap().promoted, 0);
    clock.set("2026-01-06T08:00:00Z".parse().unwrap());
    assert_eq!(memory.maintain_memory(1, 0.02, 24.0).await.unwrap().promoted, 2);
    assert!(of_kind(&memory, Kind::Fact).await.iter().all(|fact| fact.status == Status::Active));
}

#[tokio::test]
async fn f36_a_pinned_record_far_past_its_time_to_live_still_guides_a_sibling() {
    let (memory, clock) = memory().await;
    run_once(&memory, "Restart web server alpha", "restart", &Outcome::answered("ok")).await;
    run_once(&memory, "Reboot the mail relay", "reboot", &Outcome::answered("ok")).await;
    for skill in skills(&memory).await {
        if skill.procedure().unwrap().tools() == ["restart"] {
            memory.pin(&skill.id, true).await.unwrap();
        }
    }
    clock.advance(SignedDuration::from_hours(24 * 400));
    memory.maintain_memory(1, 0.02, 24.0).await.unwrap();
    let sibling = memory.inspect("Restart web server beta").await.unwrap();
    assert_eq!(sibling.mode, Mode::Guide);
    assert!(sibling.playbook.text.contains("restart("), "{}", sibling.playbook.text);
    assert_eq!(memory.inspect("Reboot the other mail relay").await.unwrap().mode, Mode::Cold, "it was not pinned");
}

#[tokio::test]
async fn a17_planning_again_after_a_quarantine_or_a_report_makes_no_second_record() {
    let (memory, _) = memory().await;
    let world = World::new([("ping", json!("pong"))]);
    let plan = async || run(&memory, "ping", &world, &Script::new([("ping", json!({}))], "up")).await.unwrap();
    plan().await;
    for _ in 0..3 {
        run_once(&memory, "ping", "ping", &Outcome::failed("wrong host")).await;
    }
    assert_eq!(skills(&memory).await[0].status, Status::Harmful);
    let again = plan().await;
    assert_eq!(skills(&memory).await.len(), 1);
    memory.report_failure(&again.run_id).await.unwrap();
    assert_eq!(skills(&memory).await[0].status, Status::Retired);
    plan().await;
    assert_eq!(skills(&memory).await.len(), 1);
}

/// A time as somebody in that offset writes it.
fn written(at: Timestamp, minutes: i32) -> String {
    let local = at.checked_add(SignedDuration::from_mins(minutes.into())).unwrap().to_string();
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
    format!("{}{sign}{hours:02}:{rest:02}", local.strip_suffix('Z').unwrap())
}

/// The second before, at and after the ends of leap days and of days that look like one.
fn around_leap_days() -> impl Strategy<Value = Timestamp> {
    let days = prop::sample::select(vec!["2024-02-29", "2028-02-29", "2100-02-28", "2000-02-29", "2027-12-31"]);
    (days, -90_000i64..=90_000).prop_map(|(day, seconds)| {
        let start: Timestamp = format!("{day}T00:00:00Z").parse().unwrap();
        start.checked_add(SignedDuration::from_secs(seconds)).unwrap()
    })
}

proptest! {
    #[test]
    fn f35_a_record_expires_at_its_instant_whatever_offset_it_was_written_with(
        at in around_leap_days(),
        minutes in -14 * 60i32..=14 * 60,
    ) {
        let mut value = serde_json::to_value(procedure()).unwrap();
        value["expires"] = written(at, minutes).into();
        let record: Record = serde_json::from_value(value).unwrap();
        prop_assert_eq!(record.expires, Some(at));
        let second = SignedDuration::from_secs(1);
        prop_assert!(!record.is_expired(at.checked_sub(second).unwrap()));
        prop_assert!(record.is_expired(at) && record.is_expired(at.checked_add(second).unwrap()));
    }

    #[test]
    fn f35_a_time_to_live_is_so_many_days_of_24_hours_also_over_a_leap_day(at in around_leap_days()) {
        let origin = learnkit::record::Origin { at, ..fixtures::origin() };
        for template in fixtures::one_of_each_kind().unwrap() {
            let record = Record::new(RecordId::new("r").unwrap(), origin.clone(), template.content);
            let lives = record.expires.unwrap().duration_since(at);
            prop_assert_eq!(lives, SignedDuration::from_hours(24 * record.kind().ttl_days()));
        }
    }
}

#[tokio::test]
async fn c8_a_success_undoes_stale_however_much_confidence_time_took() {
    let (memory, clock) = memory().await;
    let world = World::new([("ping", json!("pong"))]);
    let script = || Script::new([("ping", json!({}))], "up");
    run(&memory, "ping", &world, &script()).await.unwrap();
    clock.advance(SignedDuration::from_hours(24 * 7 * 34));
    memory.maintain_memory(1, 0.02, 24.0).await.unwrap();
    assert_eq!(of_kind(&memory, Kind::Skill).await[0].status, Status::Stale);
    run(&memory, "ping", &world, &script()).await.unwrap();
    memory.maintain_memory(1, 0.02, 24.0).await.unwrap();
    assert!(run(&memory, "ping", &world, &nobody()).await.unwrap().replayed);
}

/// A task whose procedure is `look`, then four failed runs of other tasks that it guides; these make `calls`.
async fn after_failed_others(is_verified: bool, calls: &[&str]) -> (Record, bool) {
    let (memory, _) = memory().await;
    let world = World::new([("look", json!({"seats": 3})), ("book", json!("booked"))]);
    let first = run(&memory, "Look at the flight to Rome", &world, &Script::new([("look", json!({}))], "3")).await;
    if is_verified {
        memory.report_success(&first.unwrap().run_id).await.unwrap();
    }
    for city in ["Oslo", "Bern", "Kiev", "Lima"] {
        let session = begin(&memory, &format!("Look at the flight to {city}")).await;
        calls.iter().for_each(|tool| session.tracker().record(*tool, json!({}), "done"));
        session.finish(&Outcome::failed("no seat was booked")).await;
    }
    let replayed = run(&memory, "Look at the flight to Rome", &world, &nobody()).await.unwrap().replayed;
    (skills(&memory).await.remove(0), replayed)
}

#[tokio::test]
async fn failed_runs_of_other_tasks_do_not_stop_an_exact_replay() {
    // The first calls of many tasks: nobody is charged.
    let (record, replayed) = after_failed_others(false, &["look", "book"]).await;
    assert_eq!((record.usage.harm, replayed), (0, true));
    // All of it and nothing else, but a verdict stands for it: confidence alone pays.
    let (record, replayed) = after_failed_others(true, &["look"]).await;
    assert_eq!((record.usage.harm, replayed), (0, true));
    assert_eq!((record.trust, record.status), (Trust::Verified, Status::Probation));
    assert!(record.confidence.get() < 0.75, "{:?}", record.confidence);
    // All of it and nothing else, and nobody stands for it.
    let (record, replayed) = after_failed_others(false, &["look"]).await;
    assert!(record.usage.harm > 0 && !replayed, "{}: {}", record.status, record.status_reason);
}

#[tokio::test]
async fn a_failure_that_is_reported_later_charges_other_tasks_by_the_same_rule() {
    for (calls, confidence) in [(vec!["look", "book"], 0.77), (vec!["look"], 0.72)] {
        let (memory, _) = memory().await;
        run_once(&memory, "Look at the flight to Rome", "look", &Outcome::answered("3")).await;
        let id = skills(&memory).await.remove(0).id;
        let session = begin(&memory, "Look at the flight to Oslo").await;
        calls.iter().for_each(|tool| session.tracker().record(*tool, json!({}), "done"));
        let later = session.finish(&Outcome::answered("3")).await;
        memory.report_failure(&later.run_id).await.unwrap();
        let record = memory.record(&id).await.unwrap();
        assert_eq!((record.usage.help, record.confidence.get()), (1, confidence), "{calls:?}");
    }
}
