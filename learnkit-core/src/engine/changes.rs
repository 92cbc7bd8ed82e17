//! What a judged run changes in memory, as a function of what is stored. Asked again it starts anew, so
//! that a store can ask inside its own transaction and no use of a record is lost to another writer.

use jiff::Timestamp;

use super::templates::TemplateChange;
use crate::backend::{Batch, Found, Put, PutMode};
use crate::lifecycle::{Event, apply, confirms, does_the_same, heal, is_about};
use crate::procedure::{Example, Procedure, Today};
use crate::record::{Content, Failure, Kind, Record, RecordId, Status, Trust};
use crate::replay::Recorded;
use crate::run::{LearnedNote, StoredRun};
use crate::secret::Secrets;

/// Everything that one run changes.
#[derive(Debug)]
pub(super) struct Changes {
    /// The run as it was judged, before learning.
    pub(super) run: StoredRun,
    pub(super) now: Timestamp,
    pub(super) secrets: Secrets,
    /// What happened to records.
    pub(super) events: Vec<(RecordId, Event)>,
    /// A new or repeated procedure, as the record it is where its id is new.
    pub(super) skill: Option<Record>,
    /// The record that it heals.
    pub(super) heal: Option<Heal>,
    pub(super) today: Today,
    /// Whether the run was planned throughout, so that it confirms what it did like another run.
    pub(super) may_confirm: bool,
    /// What the caller or the verifier says did not solve the task.
    pub(super) refuted: Option<Procedure>,
    /// Other procedures of the task that looked like doing the same.
    pub(super) siblings: Vec<RecordId>,
    /// What the run means for learned templates.
    pub(super) templates: Vec<TemplateChange>,
    /// The procedures of the same task, with whose loops those of the new one are compared.
    pub(super) relatives: Vec<RecordId>,
    /// A new or repeated failure, likewise.
    pub(super) failure: Option<Record>,
    pub(super) trace: Option<Record>,
}

/// A record whose replay stopped because the world had changed, when the same tools solved the task again: it
/// moves on with the world, so that a task with a fresh id in every run stays one record.
#[derive(Debug, Clone)]
pub(super) struct Heal {
    pub(super) record: RecordId,
    /// The procedure that stopped; where another one has taken its place meanwhile nothing is healed.
    pub(super) base: Procedure,
}

impl Changes {
    /// The records that have to be read.
    pub(super) fn ids(&self) -> Vec<RecordId> {
        let events = self.events.iter().map(|(id, _)| id);
        let own = self.skill.iter().chain(&self.failure).map(|record| &record.id);
        let templates = self.templates.iter().map(TemplateChange::id);
        let healed = self.heal.iter().map(|heal| &heal.record);
        let others = self.siblings.iter().chain(&self.relatives).chain(templates).chain(healed);
        let mut ids: Vec<RecordId> = events.chain(own).chain(others).cloned().collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// The batch over what is stored now.
    pub(super) fn batch(&self, found: &Found) -> Batch {
        let mut draft = Draft { changes: self, found, run: self.run.clone(), puts: Vec::new() };
        for (id, event) in &self.events {
            draft.apply(id, event);
        }
        if let Some(skill) = &self.skill {
            draft.skill(skill);
        }
        for change in &self.templates {
            draft.template(change);
        }
        if let Some(refuted) = &self.refuted {
            draft.refute(refuted);
        }
        if let Some(failure) = &self.failure {
            draft.failure(failure);
        }
        if let Some(trace) = &self.trace {
            draft.puts.push(Put { record: trace.clone(), mode: PutMode::Upsert });
        }
        let Draft { run, puts, .. } = draft;
        self.scrubbed(Batch { puts, run: Some(run) })
    }

    /// Takes out secrets that stand where neither a key name nor a shape gives them away. Only free
    /// text is touched: never an id, a name, a key or a status.
    fn scrubbed(&self, mut batch: Batch) -> Batch {
        if !self.secrets.is_empty() {
            let scrub = |text: &mut String| self.secrets.scrub(text);
            batch.puts.iter_mut().for_each(|put| put.record.each_text(&scrub));
            batch.run.iter_mut().for_each(|run| run.each_text(&scrub));
        }
        batch
    }
}

/// A batch on its way.
struct Draft<'a> {
    changes: &'a Changes,
    found: &'a Found,
    run: StoredRun,
    puts: Vec<Put>,
}

/// What is known of a record that is to be changed.
enum Place<'p> {
    /// It is in the batch.
    There(&'p mut Record),
    /// There is none.
    Missing,
    /// Its row cannot be read: it is left as it is.
    Unreadable,
}

impl Draft<'_> {
    /// A record of the batch, taken from what was found on first use.
    fn place(&mut self, id: &RecordId) -> Place<'_> {
        if self.found.unreadable.contains(id) {
            self.warn_of(id);
            return Place::Unreadable;
        }
        if !self.puts.iter().any(|put| put.record.id == *id) {
            let Some(record) = self.found.records.iter().find(|record| record.id == *id) else { return Place::Missing };
            self.puts.push(Put { record: record.clone(), mode: PutMode::IfRevision(record.revision) });
        }
        let put = self.puts.iter_mut().find(|put| put.record.id == *id);
        put.map_or(Place::Missing, |put| Place::There(&mut put.record))
    }

    /// A record as it stands in the batch, else as it was found, without a change of it.
    fn peek(&self, id: &RecordId) -> Option<&Record> {
        let changed = self.puts.iter().map(|put| &put.record).find(|record| record.id == *id);
        changed.or_else(|| self.found.records.iter().find(|record| record.id == *id))
    }

    fn warn_of(&mut self, id: &RecordId) {
        let warning =
            format!("record `{id}` cannot be read and was left as it is; `learnkit records delete` removes it");
        if !self.run.warnings.contains(&warning) {
            self.run.warnings.push(warning);
        }
    }

    fn note(&mut self, id: &RecordId, kind: Kind, change: impl Into<String>) {
        self.run.learned.push(LearnedNote { id: id.clone(), kind, change: change.into() });
    }

    fn apply(&mut self, id: &RecordId, event: &Event) {
        let now = self.changes.now;
        let is_own = self.run.replayed && self.run.procedure.as_ref() == Some(id);
        let version = self.run.procedure_version;
        let Place::There(record) = self.place(id) else { return };
        // The success of calls that were healed meanwhile says nothing about the new ones.
        let is_praise = matches!(event, Event::Replayed | Event::ReportedSuccess);
        let change = if is_own && is_praise && !is_about(record, version) {
            "it has other calls now than the run replayed".to_owned()
        } else {
            apply(record, event, now)
        };
        let (kind, trust) = (record.kind(), record.trust);
        if is_own {
            self.run.trust = Some(trust);
        }
        self.note(id, kind, change);
    }

    fn skill(&mut self, new: &Record) {
        let now = self.changes.now;
        let today = &self.changes.today;
        let mut new = new.clone();
        new.id = self.home_of(&new);
        if self.confirm(&new) {
            new.trust = new.trust.max(Trust::Confirmed);
        }
        let (id, mut trust) = (new.id.clone(), new.trust);
        let mut version = new.procedure().map(|procedure| procedure.version);
        let change = match self.place(&id) {
            Place::Unreadable => return,
            Place::There(record) => {
                let change = relearn(record, &new, now, today);
                trust = record.trust;
                version = record.procedure().map(|procedure| procedure.version);
                change
            }
            Place::Missing => {
                self.puts.push(Put { record: new, mode: PutMode::Create });
                "learned".to_owned()
            }
        };
        self.run.trust = Some(trust);
        self.run.procedure = Some(id.clone());
        self.run.procedure_version = version;
        self.note(&id, Kind::Skill, change);
        self.compare_loops(&id);
    }

    /// The record that a new procedure belongs to: the one that it heals, the one of its id, or else one that has
    /// moved on to its calls.
    fn home_of(&self, new: &Record) -> RecordId {
        let Some(own) = new.procedure() else { return new.id.clone() };
        let holds = |id: &RecordId| {
            let stored = self.peek(id).filter(|record| record.task == new.task && record.template().is_none());
            stored.and_then(Record::procedure).is_some_and(|stored| stored.has_calls_of(own))
        };
        if holds(&new.id) {
            return new.id.clone();
        }
        let moved_on = || self.changes.siblings.iter().find(|id| holds(id)).cloned();
        self.healed(new).or_else(moved_on).unwrap_or_else(|| new.id.clone())
    }

    /// The record that a new procedure heals, unless it was healed by another run or taken out of use meanwhile.
    fn healed(&self, new: &Record) -> Option<RecordId> {
        let Heal { record, base } = self.changes.heal.as_ref()?;
        let stored = self.peek(record).filter(|record| stands(record))?.procedure()?;
        let same = |other: &Procedure| stored.has_calls_of(other);
        (same(base) || new.procedure().is_some_and(same)).then(|| record.clone())
    }

    /// What went through a list in one run of a task and not in another is no proven loop.
    fn compare_loops(&mut self, id: &RecordId) {
        let changes = self.changes;
        for relative in changes.relatives.iter().filter(|relative| *relative != id) {
            let pair = self.peek(id).zip(self.peek(relative).filter(|record| stands(record)));
            let Some((mut own, mut other)) =
                pair.and_then(|(own, other)| Some((own.procedure()?.clone(), other.procedure()?.clone())))
            else {
                continue;
            };
            if own.compare_loops(&mut other) {
                self.set_procedure(id, own);
                self.set_procedure(relative, other);
            }
        }
    }

    fn set_procedure(&mut self, id: &RecordId, procedure: Procedure) {
        if let Place::There(Record { content: Content::Skill(skill), .. }) = self.place(id) {
            skill.procedure = Some(procedure);
        }
    }

    /// Whether a stored procedure and the new one confirm each other; the stored ones become confirmed.
    fn confirm(&mut self, new: &Record) -> bool {
        let Some(procedure) = new.procedure().filter(|_| self.changes.may_confirm) else { return false };
        let run = self.run.id.clone();
        let changes = self.changes;
        let mut is_confirmed = false;
        for id in &changes.siblings {
            let Some(record) = self.peek(id).filter(|record| confirms(record, procedure, &run)) else { continue };
            is_confirmed = true;
            if *id != new.id && record.trust < Trust::Confirmed {
                self.apply(id, &Event::Confirmed);
            }
        }
        is_confirmed
    }

    /// What did the same as a run that did not solve the task goes the same way.
    fn refute(&mut self, refuted: &Procedure) {
        let changes = self.changes;
        for id in &changes.siblings {
            let Some(event) = self.peek(id).and_then(|record| refutation(record, refuted)) else { continue };
            // Whom the run followed has this harm already.
            let is_counted = changes.events.iter().any(|(counted, _)| counted == id);
            if event != Event::Harmed || !is_counted {
                self.apply(id, &event);
            }
        }
    }

    fn template(&mut self, change: &TemplateChange) {
        match change {
            TemplateChange::Contradicted { id, reason } => {
                self.apply(id, &Event::Contradicted { reason: reason.clone() });
            }
            TemplateChange::Followed { id, example, procedure } => {
                let today = &self.changes.today;
                // It is as trusted as the weakest of its examples.
                self.apply(id, &Event::PlannedAgain(Trust::Unverified));
                if let Place::There(record) = self.place(id) {
                    follow(record, example, procedure.as_deref(), today);
                }
            }
            TemplateChange::Shown(new) => match self.place(&new.id) {
                Place::Missing => {
                    self.puts.push(Put { record: (**new).clone(), mode: PutMode::Create });
                    self.note(&new.id, Kind::Skill, "learned as a template");
                }
                // What contradicted it once stands.
                Place::There(_) | Place::Unreadable => {}
            },
        }
    }

    fn failure(&mut self, new: &Record) {
        let now = self.changes.now;
        let change = match self.place(&new.id) {
            Place::Unreadable => return,
            Place::There(record) => {
                record.content.clone_from(&new.content);
                apply(record, &Event::PlannedAgain(Trust::Unverified), now);
                "failed the same way again"
            }
            Place::Missing => {
                self.puts.push(Put { record: new.clone(), mode: PutMode::Create });
                "learned"
            }
        };
        self.note(&new.id, Kind::Failure, change);
    }
}

/// Another run did what a template would have made of its text.
fn follow(record: &mut Record, example: &Example, procedure: Option<&Procedure>, today: &Today) {
    let Content::Skill(skill) = &mut record.content else { return };
    let Some(old) = &mut skill.procedure else { return };
    let Some(fresh) = procedure else { return };
    let mut fresh = fresh.clone();
    fresh.confirm(old);
    fresh.keep_guards_of(old);
    fresh.guide_only.extend(otherwise(&fresh, old, today));
    fresh.template = old.template.take();
    let conflict = fresh.guide_only.first().cloned();
    if let Some(template) = &mut fresh.template {
        template.add(example);
        template.contradicted = template.contradicted.take().or(conflict);
    }
    *old = fresh;
}

/// Whether what a record holds solved its task as far as is known.
fn stands(record: &Record) -> bool {
    !matches!(record.status, Status::Retired | Status::Harmful)
}

/// What the failure of a procedure means for another one of the same task, if anything. A success that was
/// reported for the other stands against it: then it is only a use that did harm.
pub(super) fn refutation(record: &Record, refuted: &Procedure) -> Option<Event> {
    let own = record.procedure().filter(|own| record.status != Status::Retired && does_the_same(own, refuted))?;
    let is_other = record.trust == Trust::Verified && !own.has_calls_of(refuted);
    Some(if is_other { Event::Harmed } else { Event::ReportedFailure })
}

/// The id of the failure of a task.
pub(super) fn failure_id(run: &StoredRun, failure: &Failure) -> RecordId {
    RecordId::derived("fail", &[run.task.key.as_str(), &failure.what_to_avoid])
}

/// The task was solved again. With the same calls the newest results, guards and slots count from now on, every
/// shape that was seen stays allowed, and slots read only where both runs did. Other calls take the place of the
/// ones before, which stay as the last good version.
fn relearn(record: &mut Record, new: &Record, now: Timestamp, today: &Today) -> String {
    let (Some(old), Some(new_calls)) = (record.procedure(), new.procedure()) else {
        return apply(record, &Event::MovedOn(new.trust), now);
    };
    let mut fresh = new_calls.clone();
    fresh.confirm(old);
    if !old.has_calls_of(new_calls) {
        fresh.unsettled.extend(otherwise(new_calls, old, today));
        return heal(record, fresh, new.trust, now);
    }
    if !old.takes_as(&fresh) {
        let reason = otherwise(&fresh, old, today);
        fresh.guide_only.extend(reason);
    }
    let reason = apply(record, &Event::PlannedAgain(new.trust), now);
    if let Content::Skill(skill) = &mut record.content {
        skill.procedure = Some(fresh);
    }
    reason
}

/// Why new calls may not silently take the place of others: with the results of their run they would have sent
/// something else than that run did, which passed.
pub(super) fn otherwise(fresh: &Procedure, old: &Procedure, today: &Today) -> Option<String> {
    let reason = Recorded::source_of(old, today)?.otherwise(fresh)?;
    Some(format!("given the results of run {}, which passed: {reason}", old.source_run))
}
