//! `remember`: records that a person or program writes, beside what runs teach.

use super::LearnKit;
use crate::backend::{AgentFilter, Batch, Put, PutMode, RecordFilter, SearchQuery, Visibility};
use crate::lifecycle::{Event, apply};
use crate::record::{Content, Fact, Kind, Record, RecordId, Status};
use crate::secret::mask_json;
use crate::text::{is_negation, terms};
use crate::{Error, Result};

/// So many near facts are compared.
const NEAR_FACTS: usize = 8;

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

impl LearnKit {
    /// Remembers a record. The same words again reinforce what is known; a fact that differs in a
    /// number or a negation supersedes the old one, with history. Nothing crosses scopes.
    ///
    /// # Errors
    /// `InvalidInput` for a record of another tenant or without words, `Unavailable` when the store
    /// cannot be written.
    pub async fn remember(&self, mut record: Record) -> Result<Remembered> {
        if record.tenant != self.inner.tenant {
            return Err(Error::invalid("the record belongs to another tenant; build a LearnKit for that tenant"));
        }
        if terms(&record.content.search_text().title).is_empty() {
            return Err(Error::invalid("the record says nothing; give it words"));
        }
        record.content = masked(&record.content)?;
        if matches!(record.content, Content::Fact(_)) {
            return self.remember_fact(record).await;
        }
        self.within("put", self.inner.store.records.put(&record, PutMode::Create)).await?;
        Ok(Remembered::Stored(record.id))
    }

    async fn remember_fact(&self, mut record: Record) -> Result<Remembered> {
        let Some((mut old, same)) = self.near_fact(&record).await? else {
            self.within("put", self.inner.store.records.put(&record, PutMode::Create)).await?;
            return Ok(Remembered::Stored(record.id));
        };
        let mode = PutMode::IfRevision(old.revision);
        let now = self.now();
        if same {
            apply(&mut old, &Event::Helped, now);
            self.within("put", self.inner.store.records.put(&old, mode)).await?;
            return Ok(Remembered::Known(old.id));
        }
        if let (Content::Fact(new), Content::Fact(known)) = (&mut record.content, &old.content) {
            new.superseded.clone_from(&known.superseded);
            new.superseded.push(known.statement.clone());
        }
        apply(&mut old, &Event::Superseded { by: record.id.clone() }, now);
        let (id, old_id) = (record.id.clone(), old.id.clone());
        let puts = vec![Put { record: old, mode }, Put { record, mode: PutMode::Create }];
        self.within("commit", self.inner.store.records.commit(&Batch { puts, run: None })).await?;
        Ok(Remembered::Supersedes { id, old: old_id })
    }

    /// The nearest fact on the same subject, and whether it says the same.
    async fn near_fact(&self, record: &Record) -> Result<Option<(Record, bool)>> {
        let Content::Fact(fact) = &record.content else { return Ok(None) };
        let query = SearchQuery {
            text: fact.statement.clone(),
            filter: RecordFilter {
                scopes: vec![record.scope.clone()],
                agents: AgentFilter::Only(record.agent.clone()),
                kinds: vec![Kind::Fact],
                visibility: Visibility { statuses: vec![Status::Probation, Status::Active], probation_in: None },
                ..self.every_record()
            },
            limit: NEAR_FACTS,
        };
        let found = self.within("search", self.inner.store.records.search(&query)).await?;
        let near = found.into_iter().filter_map(|scored| match &scored.item.content {
            Content::Fact(known) if same_subject(known, fact) => {
                let same = says_the_same(known, fact);
                Some((scored.item, same))
            }
            _ => None,
        });
        Ok(near.max_by_key(|(_, same)| *same))
    }
}

/// The content with every secret masked, whatever field it stands in.
fn masked(content: &Content) -> Result<Content> {
    let unreadable =
        |error| Error::invalid("the record holds a secret where none can be masked; remove it").with_source(error);
    let json = serde_json::to_string(content).map_err(unreadable)?;
    serde_json::from_str(&mask_json(&json).text).map_err(unreadable)
}

/// Whether two facts say the same words in the same order, numbers and negations apart.
fn same_subject(a: &Fact, b: &Fact) -> bool {
    let words = |fact: &Fact| -> Vec<String> {
        let plain = |term: &String| !term.chars().any(|char| char.is_ascii_digit()) && !is_negation(term);
        terms(&fact.statement).into_iter().filter(plain).collect()
    };
    words(a) == words(b)
}

/// Whether two facts have the same terms, numbers and negations included, in the same order.
fn says_the_same(a: &Fact, b: &Fact) -> bool {
    terms(&a.statement) == terms(&b.statement)
}
