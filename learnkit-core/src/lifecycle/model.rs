//! The state machine against a second telling of it, and against what must hold in every state it can reach.

use std::collections::{BTreeSet, HashSet};

use super::*;
use crate::procedure::{Procedure, Template};
use crate::record::{Kind, Skill};
use crate::task::Skeleton;

/// Semantics §8 once more, in whole hours and hundredths, without a look at the implementation.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "a record is described by that many yes and no")]
struct Model {
    status: Status,
    trust: Trust,
    hundredths: i64,
    help: u64,
    harm: u64,
    in_a_row: u32,
    failed: u32,
    is_suspended: bool,
    is_contradicted: bool,
    is_template: bool,
    has_procedure: bool,
    pinned: bool,
    /// Trust, help and harm of the last good version.
    good: Option<(Trust, u64, u64)>,
    ttl: i64,
    created: i64,
    expires: Option<i64>,
    reinforced: Option<i64>,
    decayed: Option<i64>,
    since: Option<i64>,
}

impl Model {
    fn of(record: &Record) -> Self {
        let hours = |time: Timestamp| time.duration_since(fixtures::START).as_hours();
        let hundredths = (record.confidence.get() * 100.0).round();
        Self {
            status: record.status,
            trust: record.trust,
            hundredths: format!("{hundredths}").parse().unwrap(),
            help: record.usage.help,
            harm: record.usage.harm,
            in_a_row: record.usage.harms_in_a_row,
            failed: record.usage.failed_replays,
            is_suspended: record.usage.suspended.is_some(),
            is_contradicted: record.template().is_some_and(|template| template.contradicted.is_some()),
            is_template: record.template().is_some(),
            has_procedure: record.procedure().is_some(),
            pinned: record.pinned,
            good: record.last_good().map(|good| (good.trust, good.help, good.harm)),
            ttl: record.kind().ttl_days() * 24,
            created: hours(record.created),
            expires: record.expires.map(hours),
            reinforced: record.last_reinforced.map(hours),
            decayed: record.last_decayed.map(hours),
            since: record.status_since.map(hours),
        }
    }

    fn is_out(&self) -> bool {
        matches!(self.status, Status::Retired | Status::Harmful)
    }

    fn happens(&mut self, event: &Event, at: i64) {
        let before = self.status;
        match event {
            Event::PlannedAgain(trust) => self.planned(*trust, at),
            Event::MovedOn(trust) => {
                if self.has_procedure && !self.is_template && self.failed == 0 && !self.is_out() {
                    self.good = Some((self.trust, self.help, self.harm));
                }
                let stays = self.is_out() && *trust < Trust::Verified;
                self.planned(*trust, at);
                if !stays {
                    self.trust = *trust;
                }
            }
            Event::Confirmed if !self.is_out() => self.trust = self.trust.max(Trust::Confirmed),
            Event::Replayed | Event::Helped => {
                if *event == Event::Replayed {
                    self.failed = 0;
                }
                self.help += 1;
                self.in_a_row = 0;
                self.hundredths = (self.hundredths + 2).min(95.max(self.hundredths));
                self.renew(at);
            }
            Event::Harmed => self.harm(),
            Event::Misguided if self.trust < Trust::Verified => self.harm(),
            Event::Misguided if self.hundredths > 30 => self.hundredths = (self.hundredths - 5).max(30),
            Event::ReplayStopped { at_fault, .. } => {
                self.is_suspended = true;
                if *at_fault {
                    self.failed += 1;
                    self.harm();
                    if self.failed >= 3 {
                        self.leaves(Status::Retired);
                    }
                    self.is_contradicted |= self.is_template;
                }
            }
            Event::Contradicted { .. } => self.is_contradicted |= self.is_template,
            Event::ReportedSuccess => {
                self.comes_back();
                self.trust = Trust::Verified;
                self.renew(at);
            }
            Event::ReportedFailure => {
                self.good = None;
                self.harm();
                self.trust = Trust::Unverified;
                self.status = Status::Retired;
                self.is_contradicted |= self.is_template;
            }
            Event::Superseded { .. } | Event::Merged { .. } => self.status = Status::Retired,
            Event::RolledBack if !self.is_out() && self.takes_the_good_one() => self.is_suspended = false,
            Event::Confirmed | Event::Misguided | Event::RolledBack => {}
            Event::Pinned => {
                self.pinned = true;
                self.expires = None;
            }
            Event::Unpinned => {
                self.pinned = false;
                self.expires = Some(at + self.ttl);
            }
        }
        if self.status != before {
            self.since = Some(at);
        }
    }

    fn planned(&mut self, trust: Trust, at: i64) {
        if self.is_out() {
            if trust < Trust::Verified {
                return;
            }
            self.comes_back();
        }
        self.trust = self.trust.max(trust);
        self.is_suspended = false;
        self.hundredths = (self.hundredths + 2).min(95.max(self.hundredths));
        self.renew(at);
    }

    fn comes_back(&mut self) {
        if self.is_out() {
            self.status = Status::Probation;
            self.hundredths = self.hundredths.max(50);
            (self.help, self.harm, self.failed) = (0, 0, 0);
        }
        self.in_a_row = 0;
        self.is_suspended = false;
    }

    fn renew(&mut self, at: i64) {
        self.reinforced = Some(at);
        self.expires = self.expires.map(|_| at + self.ttl);
        if self.status == Status::Stale {
            self.hundredths = self.hundredths.max(50);
            self.status = if self.harm == 0 { Status::Active } else { Status::Probation };
        }
    }

    fn harm(&mut self) {
        self.harm += 1;
        self.in_a_row += 1;
        self.hundredths = (self.hundredths - 5).max(0);
        if self.status == Status::Retired {
            return;
        }
        let uses = self.help + self.harm;
        // The mean of Beta(1 + help, 1 + harm) is below 0.35.
        if uses >= 4 && 100 * (1 + self.help) < 35 * (2 + uses) {
            self.leaves(Status::Retired);
        } else if self.in_a_row >= 3 {
            self.leaves(Status::Harmful);
        } else if self.hundredths < 30 && self.status != Status::Harmful {
            self.status = Status::Stale;
        }
    }

    fn leaves(&mut self, status: Status) {
        if self.status == Status::Retired {
            return;
        }
        if self.takes_the_good_one() {
            self.is_suspended = true;
            self.status = if self.hundredths < 30 { Status::Stale } else { Status::Probation };
        } else {
            self.status = status;
        }
    }

    fn takes_the_good_one(&mut self) -> bool {
        let Some((trust, help, harm)) = self.good.take() else { return false };
        (self.trust, self.help, self.harm, self.in_a_row, self.failed) = (trust, help, harm, 0, 0);
        true
    }

    /// Maintenance with its defaults: one week, 0.02, 24 hours.
    fn ages(&mut self, now: i64) {
        let before = self.status;
        if !self.pinned && !self.is_out() {
            let known = [Some(self.created), self.reinforced, self.decayed];
            let anchor = known.into_iter().flatten().max().unwrap();
            let weeks = (now - anchor) / 168;
            if weeks >= 1 && self.hundredths > 0 {
                self.hundredths = (self.hundredths - 2 * weeks).max(0);
                self.decayed = Some(anchor + weeks * 168);
            }
            let is_over = self.expires.is_some_and(|expires| expires <= now) || self.hundredths < 30;
            if is_over && self.status != Status::Stale {
                self.status = Status::Stale;
            }
        }
        let entered = self.since.unwrap_or(self.created).max(self.created);
        if self.status == Status::Probation && now - entered >= 24 && self.harm == 0 {
            self.status = Status::Active;
        }
        if self.status != before {
            self.since = Some(now);
        }
    }
}

/// What must hold after anything that happens to a record, whatever was before.
fn check(before: &Record, event: &Event, after: &Record, reason: &str, at: Timestamp) {
    let context = || format!("{event:?}\nbefore: {before:?}\nafter: {after:?}");
    let is_out = |record: &Record| matches!(record.status, Status::Retired | Status::Harmful);
    let knows = matches!(
        event,
        Event::ReportedSuccess | Event::PlannedAgain(Trust::Verified) | Event::MovedOn(Trust::Verified)
    );
    assert!(!reason.is_empty(), "{}", context());
    let is_moved = before.status != after.status;
    let unmoved = (&*before.status_reason, before.status_since);
    let expected = if is_moved { (reason, Some(at)) } else { unmoved };
    assert_eq!((&*after.status_reason, after.status_since), expected, "{}", context());
    assert!(!is_out(before) || is_out(after) || knows, "only who knows brings back: {}", context());
    let harms = matches!(
        event,
        Event::Harmed | Event::Misguided | Event::ReplayStopped { at_fault: true, .. } | Event::ReportedFailure
    );
    let ends = matches!(event, Event::Superseded { .. } | Event::Merged { .. });
    assert!(is_out(before) || !is_out(after) || harms || ends, "nothing else takes out of use: {}", context());
    assert!((0.0..=0.95).contains(&after.confidence.get()), "{}", context());
    assert!(after.usage.reuse_count >= before.usage.reuse_count && after.usage.successes >= before.usage.successes);
    let came_back = (is_out(before) && !is_out(after)) || (before.last_good().is_some() && after.last_good().is_none());
    let counts = |record: &Record| (record.usage.help, record.usage.harm);
    let runs_on = counts(after).0 >= counts(before).0 && counts(after).1 >= counts(before).1;
    assert!(runs_on || came_back, "counters ran backwards: {}", context());
    let uses = after.usage.help + after.usage.harm;
    let count = |count: u64| f64::from(u32::try_from(count).unwrap());
    let rate = (uses > 0).then(|| count(after.usage.help) / count(uses));
    assert_eq!(after.success_rate, rate, "{}", context());
    let proves = knows || matches!(event, Event::PlannedAgain(_) | Event::MovedOn(_) | Event::RolledBack);
    assert!(before.usage.suspended.is_none() || after.usage.suspended.is_some() || proves, "{}", context());
    let contradicted = |record: &Record| record.template().is_some_and(|template| template.contradicted.is_some());
    assert!(!contradicted(before) || contradicted(after), "{}", context());
    let replays = may_replay(after, ReplayTrust::ToolOutcome, at).is_ok();
    let may = matches!(after.status, Status::Probation | Status::Active)
        && after.usage.suspended.is_none()
        && after.confidence >= Confidence::FLOOR
        && !contradicted(after);
    assert!(!replays || may, "{}", context());
    assert!(!harms || !replays || *event == Event::Harmed || *event == Event::Misguided, "{}", context());
    let version = |record: &Record| record.procedure().map(|procedure| procedure.version);
    assert!(version(after) >= version(before), "versions count up: {}", context());
    if version(after) != version(before) {
        let noted = after.history.as_ref().and_then(|history| history.changes.last()).unwrap();
        assert_eq!((Some(noted.version), noted.why.is_empty()), (version(after), false), "{}", context());
    }
}

fn check_age(before: &Record, after: &Record, done: Maintained, now: Timestamp) {
    let context = || format!("before: {before:?}\nafter: {after:?}\n{done:?}");
    let moves = (before.status, after.status);
    let fits = match moves {
        (Status::Probation, Status::Active) => done.promoted && !done.stale,
        (Status::Probation | Status::Active, Status::Stale) => done.stale && !before.pinned,
        (before, after) => before == after && !done.promoted && !done.stale,
    };
    assert!(fits, "{}", context());
    assert_eq!(done.decayed, after.confidence < before.confidence, "{}", context());
    assert!(after.confidence <= before.confidence && (!before.pinned || !done.decayed), "{}", context());
    if moves.0 != moves.1 {
        assert!(!after.status_reason.is_empty() && after.status_since == Some(now), "{}", context());
    }
    assert_eq!(after.usage, before.usage, "{}", context());
}

/// Applies an event to both and compares.
fn step(record: &mut Record, model: &mut Model, event: &Event, hour: i64) {
    let before = record.clone();
    let reason = apply(record, event, at(hour));
    model.happens(event, hour);
    check(&before, event, record, &reason, at(hour));
    assert_eq!(Model::of(record), *model, "after {event:?}\nof {before:?}");
}

fn step_age(record: &mut Record, model: &mut Model, hour: i64) {
    let before = record.clone();
    let done = maintain(record, &MaintenancePlan::default(), at(hour));
    model.ages(hour);
    check_age(&before, record, done, at(hour));
    assert_eq!(Model::of(record), *model, "aged to hour {hour}\nfrom {before:?}");
    let once = record.clone();
    assert!(!maintain(record, &MaintenancePlan::default(), at(hour)).is_change());
    assert_eq!(*record, once);
}

fn other() -> RecordId {
    RecordId::new("other").unwrap()
}

fn stops(at_fault: bool) -> Event {
    Event::ReplayStopped { reason: "the list is shorter".into(), at_fault }
}

fn every_event() -> Vec<Event> {
    let trusts = [Trust::Unverified, Trust::Confirmed, Trust::Verified];
    let mut events: Vec<Event> = trusts.into_iter().map(Event::PlannedAgain).collect();
    events.extend(trusts.into_iter().map(Event::MovedOn));
    events.extend([
        Event::Confirmed,
        Event::Replayed,
        Event::Helped,
        Event::Harmed,
        Event::Misguided,
        stops(true),
        stops(false),
        Event::Contradicted { reason: "another value".into() },
        Event::ReportedSuccess,
        Event::ReportedFailure,
        Event::Superseded { by: other() },
        Event::Merged { into: other() },
        Event::RolledBack,
        Event::Pinned,
        Event::Unpinned,
    ]);
    events
}

/// A procedure without steps, which is quick to copy.
fn light() -> Record {
    let mut record = skill();
    record.status = Status::Probation;
    record.confidence = Confidence::DISTILLED;
    if let Content::Skill(Skill { procedure: Some(procedure), .. }) = &mut record.content {
        *procedure = Procedure { steps: Vec::new(), contracts: std::collections::BTreeMap::new(), ..procedure.clone() };
    }
    record
}

fn template() -> Record {
    let mut record = light();
    let skeleton = Skeleton::of(&["ping the host alpha now", "ping the host beta now"]).unwrap();
    let key = record.task.clone().unwrap().key;
    if let Content::Skill(Skill { procedure: Some(procedure), .. }) = &mut record.content {
        procedure.template = Some(Box::new(Template { skeleton, key, examples: Vec::new(), contradicted: None }));
    }
    record
}

/// A new record of every kind, a procedure and a template among them.
fn newborn() -> Vec<Record> {
    let mut all: Vec<Record> = fixtures::one_of_each_kind()
        .unwrap()
        .into_iter()
        .map(|filled| Record::new(filled.id, fixtures::origin(), filled.content))
        .collect();
    assert_eq!(all.len(), Kind::ALL.len());
    all.extend([light(), template()]);
    all
}

/// What decides how a record goes on, apart from when things happened to it.
fn reduced(record: &Record) -> impl std::hash::Hash + Eq + use<> {
    let usage = &record.usage;
    let model = Model::of(record);
    (
        (model.status, record.pinned, record.trust as u8, model.hundredths),
        (usage.help, usage.harm, usage.harms_in_a_row, usage.failed_replays),
        (model.is_suspended, model.is_contradicted, model.good.map(|(trust, help, harm)| (trust as u8, help, harm))),
        (model.expires, model.reinforced, model.decayed),
    )
}

/// From which status which other one can be reached: the page `storage_lifecycle.mmd`.
const MOVES: [(&str, &str); 15] = [
    ("probation", "active"),
    ("probation", "stale"),
    ("probation", "harmful"),
    ("probation", "retired"),
    ("active", "probation"),
    ("active", "stale"),
    ("active", "harmful"),
    ("active", "retired"),
    ("stale", "active"),
    ("stale", "probation"),
    ("stale", "harmful"),
    ("stale", "retired"),
    ("harmful", "probation"),
    ("harmful", "retired"),
    ("retired", "probation"),
];

#[test]
fn every_state_within_reach_keeps_to_the_rules() {
    const DEPTH: usize = 5;
    const NOW: i64 = 30;
    const LATER: i64 = NOW + 24 * 200;
    let mut all_moves = BTreeSet::new();
    for start in [light(), template(), { Record::new(other(), fixtures::origin(), skill_fact()) }] {
        let mut seen = HashSet::from([reduced(&start)]);
        let mut moves = BTreeSet::new();
        let mut edge = vec![start.clone()];
        let mut transitions = 0;
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for record in &edge {
                let mut reach = |after: Record| {
                    transitions += 1;
                    if after.status != record.status {
                        moves.insert((record.status.as_str(), after.status.as_str()));
                    }
                    if seen.insert(reduced(&after)) {
                        next.push(after);
                    }
                };
                for event in every_event() {
                    let (mut after, mut model) = (record.clone(), Model::of(record));
                    step(&mut after, &mut model, &event, NOW);
                    reach(after);
                }
                for hour in [NOW, LATER] {
                    let (mut after, mut model) = (record.clone(), Model::of(record));
                    step_age(&mut after, &mut model, hour);
                    reach(after);
                }
            }
            edge = next;
        }
        let kind = if start.template().is_some() { "template".to_owned() } else { start.kind().to_string() };
        println!("{kind}: {} states, {transitions} transitions to depth {DEPTH}", seen.len());
        let expected: BTreeSet<_> = MOVES.into_iter().collect();
        let strays: Vec<_> = moves.difference(&expected).collect();
        assert!(strays.is_empty(), "{kind}: {strays:?}");
        all_moves.extend(moves);
        assert!(seen.len() > 1_000, "{kind}: {}", seen.len());
    }
    assert_eq!(all_moves, MOVES.into_iter().collect());
}

fn skill_fact() -> Content {
    fixtures::fact("fct", "the office has 4 floors").unwrap().content
}

/// Something that happens so many hours after what was before it; nothing is maintenance.
fn any_step() -> impl Strategy<Value = (i64, Option<Event>)> {
    let hours = prop_oneof![0i64..3, 20i64..200, 168i64..9600];
    let event = prop::sample::select(every_event()).prop_map(Some);
    (hours, prop_oneof![4 => event, 1 => Just(None)])
}

proptest! {
    #[test]
    fn a_life_of_any_kind_goes_as_the_model_says(
        kind in 0..newborn().len(),
        pinned in any::<bool>(),
        steps in prop::collection::vec(any_step(), 0..120),
    ) {
        let mut record = newborn().remove(kind);
        if pinned {
            apply(&mut record, &Event::Pinned, at(0));
        }
        let mut model = Model::of(&record);
        let mut hour = 0;
        for (hours, event) in steps {
            hour += hours;
            match event {
                Some(event) => step(&mut record, &mut model, &event, hour),
                None => step_age(&mut record, &mut model, hour),
            }
        }
    }

    #[test]
    fn maintenance_every_week_comes_to_the_same_as_once(weeks in 1i64..60, start in 1i64..90) {
        let mut often = light();
        often.confidence = Confidence::new(f64::from(i32::try_from(start).unwrap()) / 100.0).unwrap();
        often.status = Status::Active;
        let mut once = often.clone();
        for week in 1..=weeks {
            maintain(&mut often, &MaintenancePlan::default(), at(week * 168));
        }
        maintain(&mut once, &MaintenancePlan::default(), at(weeks * 168));
        prop_assert_eq!((often.confidence, often.status), (once.confidence, once.status));
    }

    #[test]
    fn what_is_pinned_never_goes_out_of_use_by_age(hours in 0i64..2_000_000, events in prop::collection::vec(any_event(), 0..12)) {
        let mut record = light();
        apply(&mut record, &Event::Pinned, at(0));
        happen(&mut record, &events);
        let before = record.status;
        maintain(&mut record, &MaintenancePlan::default(), at(hours));
        prop_assert!(record.status == before || (before == Status::Probation && record.status == Status::Active));
        prop_assert!(!may_purge(&record, Timestamp::MAX));
    }
}
