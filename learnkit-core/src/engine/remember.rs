//! `remember`: records that a person or program writes, beside what runs teach.

use jiff::Timestamp;

use super::LearnKit;
use super::settle::supersede;
use crate::backend::{AgentFilter, Batch, Put, PutMode, RecordFilter, SearchQuery, Visibility};
use crate::lifecycle::Event;
use crate::record::{Content, Record, RecordId, Status};
use crate::secret::mask_json;
use crate::statement::{Relation, Saying};
use crate::text::terms;
use crate::{Error, ErrorKind, Result};

/// So many near records are compared.
const NEAR_RECORDS: usize = 16;
/// What is near is looked for again at most so often.
const MAX_ATTEMPTS: usize = 64;

/// What became of a record to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembered {
    /// It is new.
    Stored(RecordId),
    /// It was known; the known record is reinforced.
    Known(RecordId),
    /// It replaces an older fact, which is kept as history.
    Supersedes {
        /// The new record.
        id: RecordId,
        /// The old one, retired.
        old: RecordId,
    },
}

/// What becomes of a known record that is remembered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It is reinforced: somebody says it a second time.
    Reinforce,
    /// Nothing: a file was read a second time.
    Leave,
}

impl LearnKit {
    /// Remembers a record. What says the same, apart from case, spacing and the marks of a sentence, reinforces
    /// what is known; a fact that differs in one number, date, unit or negation and in nothing else supersedes
    /// the old one, with history. What may be about another subject (`Server 1`, `Server 2`) is kept as two. Nothing
    /// crosses scopes or agents.
    ///
    /// # Errors
    /// `InvalidInput` for a record of another tenant or without words, `Conflict` when its id is
    /// taken, `Unavailable` when the store cannot be written.
    pub async fn remember(&self, record: Record) -> Result<Remembered> {
        self.remember_once(record, Repeat::Reinforce).await
    }

    /// Remembers a record; `repeat` says what becomes of one that is known.
    pub(super) async fn remember_once(&self, mut record: Record, repeat: Repeat) -> Result<Remembered> {
        if record.tenant != self.inner.tenant {
            return Err(Error::invalid("the record belongs to another tenant; build a LearnKit for that tenant"));
        }
        if terms(&record.content.search_text().title).is_empty() {
            return Err(Error::invalid("the record says nothing; give it words"));
        }
        record.content = masked(&record.content)?;
        for _ in 0..MAX_ATTEMPTS {
            match self.remember_as_it_is(&record, repeat).await {
                // What was near changed since it was found: it is looked for again.
                Err(error) if error.kind() == ErrorKind::Conflict && error.is_retryable() => {}
                other => return other,
            }
        }
        Err(Error::new(ErrorKind::Conflict, "what is known of this kept changing; try again").retryable())
    }

    async fn remember_as_it_is(&self, record: &Record, repeat: Repeat) -> Result<Remembered> {
        let store = &self.inner.store.records;
        let Some((old, relation)) = self.near(record).await? else {
            self.within("put", store.put(record, PutMode::Create)).await?;
            return Ok(Remembered::Stored(record.id.clone()));
        };
        let same = relation == Relation::Same;
        if same && repeat == Repeat::Leave {
            return Ok(Remembered::Known(old.id));
        }
        if same {
            return match self.change(&old.id, &Event::Helped).await {
                Ok(known) => Ok(Remembered::Known(known.id)),
                Err(error) if error.kind() == ErrorKind::NotFound => Err(moved_on(error)),
                Err(error) => Err(error),
            };
        }
        let superseding = self.within("commit", store.commit(&superseding(record, old.clone(), self.now()))).await;
        match superseding {
            Ok(_) => Ok(Remembered::Supersedes { id: record.id.clone(), old: old.id }),
            Err(error) if error.kind() == ErrorKind::Conflict && self.is_new(&record.id).await? => Err(moved_on(error)),
            Err(error) => Err(error),
        }
    }

    async fn is_new(&self, id: &RecordId) -> Result<bool> {
        Ok(self.within("get", self.inner.store.records.get(&self.inner.tenant, id)).await?.is_none())
    }

    /// The known record that says the same, else the fact that this one contradicts.
    async fn near(&self, record: &Record) -> Result<Option<(Record, Relation)>> {
        let query = SearchQuery {
            text: record.content.search_text().title,
            filter: RecordFilter {
                scopes: vec![record.scope.clone()],
                agents: AgentFilter::Only(record.agent.clone()),
                kinds: vec![record.kind()],
                visibility: Visibility { statuses: vec![Status::Probation, Status::Active], probation_in: None },
                ..self.every_record()
            },
            limit: NEAR_RECORDS,
        };
        let found = self.within("search", self.inner.store.records.search(&query)).await?;
        let own = Saying::of(&record.content);
        let near = found.into_iter().filter_map(|scored| {
            let relation = match (&own, Saying::of(&scored.item.content)) {
                (Some(own), Some(known)) => known.relation(own),
                _ => (scored.item.content == record.content).then_some(Relation::Same),
            };
            Some((scored.item, relation?))
        });
        Ok(near.max_by_key(|(_, relation)| *relation))
    }
}

/// The new fact with the history of the old one, which retires.
fn superseding(record: &Record, mut old: Record, now: Timestamp) -> Batch {
    let mut record = record.clone();
    let mode = PutMode::IfRevision(old.revision);
    supersede(&mut record, &mut old, now);
    Batch { puts: vec![Put { record: old, mode }, Put { record, mode: PutMode::Create }], run: None }
}

fn moved_on(error: Error) -> Error {
    Error::new(ErrorKind::Conflict, "what is known of this changed meanwhile; try again").with_source(error).retryable()
}

/// The content with every secret masked, whatever field it stands in.
pub(super) fn masked(content: &Content) -> Result<Content> {
    let unreadable =
        |error| Error::invalid("the record holds a secret where none can be masked; remove it").with_source(error);
    let json = serde_json::to_string(content).map_err(unreadable)?;
    serde_json::from_str(&mask_json(&json).text).map_err(unreadable)
}
