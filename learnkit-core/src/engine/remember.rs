//! `remember`: records that a person or program writes, beside what runs teach.

use std::collections::BTreeSet;

use super::LearnKit;
use crate::backend::{AgentFilter, Batch, Put, PutMode, RecordFilter, SearchQuery, Visibility};
use crate::lifecycle::{Event, apply};
use crate::record::{Content, Fact, Kind, Record, RecordId, Status};
use crate::secret::mask_text;
use crate::text::{is_stop_word, terms};
use crate::{Error, Result};

/// Two facts with this share of common terms say the same thing or contradict each other.
const SAME_SUBJECT: f64 = 0.6;
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
        if let Content::Fact(fact) = &mut record.content {
            fact.statement = mask_text(&fact.statement).text;
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
        old.status = Status::Retired;
        old.status_reason = format!("superseded by {}", record.id);
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

fn telling(fact: &Fact) -> BTreeSet<String> {
    terms(&fact.statement).into_iter().filter(|term| !is_stop_word(term)).collect()
}

/// Whether two facts share most of their terms, numbers and negations apart.
fn same_subject(a: &Fact, b: &Fact) -> bool {
    let words = |fact: &Fact| -> BTreeSet<String> {
        let plain = |term: &String| !term.chars().any(|char| char.is_ascii_digit()) && !is_negation(term);
        telling(fact).into_iter().filter(plain).collect()
    };
    let (a, b) = (words(a), words(b));
    #[expect(clippy::cast_precision_loss, reason = "terms stay far below 2^52")]
    let share = a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64;
    share >= SAME_SUBJECT
}

/// Whether two facts have the same terms, numbers and negations included, in the same order.
fn says_the_same(a: &Fact, b: &Fact) -> bool {
    terms(&a.statement) == terms(&b.statement)
}

fn is_negation(term: &str) -> bool {
    matches!(term, "not" | "no" | "never" | "always" | "none" | "without" | "don't" | "不" | "не" | "нет" | "لا")
}
