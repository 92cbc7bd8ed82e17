//! What a judged run changes in memory, as a function of what is stored. Asked again it starts anew, so
//! that a store can ask inside its own transaction and no use of a record is lost to another writer.

use jiff::Timestamp;

use crate::backend::{Batch, Found, Put, PutMode};
use crate::lifecycle::{Event, apply};
use crate::procedure::Procedure;
use crate::record::{Content, Failure, Kind, Record, RecordId, Trust};
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
    /// A new or repeated failure, likewise.
    pub(super) failure: Option<Record>,
    pub(super) trace: Option<Record>,
}

impl Changes {
    /// The records that have to be read.
    pub(super) fn ids(&self) -> Vec<RecordId> {
        let events = self.events.iter().map(|(id, _)| id);
        let own = self.skill.iter().chain(&self.failure).map(|record| &record.id);
        let mut ids: Vec<RecordId> = events.chain(own).cloned().collect();
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
        let Place::There(record) = self.place(id) else { return };
        let change = apply(record, event, now);
        let (kind, trust) = (record.kind(), record.trust);
        if self.run.replayed {
            self.run.trust = Some(trust);
        }
        self.note(id, kind, change);
    }

    fn skill(&mut self, new: &Record) {
        let now = self.changes.now;
        let (change, trust) = match self.place(&new.id) {
            Place::Unreadable => return,
            Place::There(record) => (relearn(record, new, now), record.trust),
            Place::Missing => {
                self.puts.push(Put { record: new.clone(), mode: PutMode::Create });
                ("learned".to_owned(), new.trust)
            }
        };
        self.run.trust = Some(trust);
        self.note(&new.id, Kind::Skill, change);
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

/// The id of the failure of a task.
pub(super) fn failure_id(run: &StoredRun, failure: &Failure) -> RecordId {
    RecordId::derived("fail", &[run.task.key.as_str(), &failure.what_to_avoid])
}

/// The same calls solved the task again: the newest results and guards count from now on, and every
/// shape that was seen stays allowed.
fn relearn(record: &mut Record, new: &Record, now: Timestamp) -> String {
    let reason = apply(record, &Event::PlannedAgain(new.trust), now);
    if let (Content::Skill(skill), Some(fresh)) = (&mut record.content, new.procedure()) {
        let mut fresh: Procedure = fresh.clone();
        if let Some(old) = &skill.procedure {
            fresh.version = old.version + 1;
            // A run that did not see its tools says nothing about them, so what was seen before counts on.
            old.contracts.iter().for_each(|(tool, contract)| {
                fresh.contracts.entry(tool.clone()).or_insert_with(|| contract.clone());
            });
            fresh.steps.iter_mut().zip(&old.steps).for_each(|(step, old)| step.shape.also_allow(&old.shape));
        }
        skill.procedure = Some(fresh);
    }
    reason
}
