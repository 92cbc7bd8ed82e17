//! Retrieval: from a task to the records that may guide it, and the playbook made of them.

mod budget;
mod hybrid;
mod outline;
mod playbook;

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

pub use budget::approximate_tokens;
pub use hybrid::HybridRetriever;
pub(crate) use playbook::escaped;
pub use playbook::{FENCE_CLOSE, FENCE_OPEN, Playbook, Strength, compose};

use crate::Result;
use crate::backend::{AgentFilter, MemoryBackend, RecordFilter, Scored, SearchQuery, Visibility};
use crate::record::{AgentName, Confidence, DomainVector, Kind, Reader, Record, Status, Tenant};

/// Asks for records that may guide a task.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalRequest {
    /// The task in words.
    pub text: String,
    /// What it is about; ranks, never hides.
    pub domains: DomainVector,
    /// The isolation boundary.
    pub tenant: Tenant,
    /// Who reads.
    pub reader: Reader,
    /// The agent that would be guided.
    pub agent: AgentName,
    /// Whose records are looked at.
    pub agents: AgentFilter,
    /// The time, for expiry.
    pub now: Timestamp,
    /// At most so many records.
    pub limit: usize,
}

impl RetrievalRequest {
    /// The search that answers the request: proven records of every readable scope, and records on
    /// probation of the reader's own scope.
    pub fn search(&self, candidates: usize) -> SearchQuery {
        SearchQuery {
            text: self.text.clone(),
            filter: RecordFilter {
                tenant: self.tenant.clone(),
                scopes: self.reader.readable(),
                agents: self.agents.clone(),
                kinds: Kind::GUIDING.to_vec(),
                visibility: Visibility {
                    statuses: vec![Status::Active],
                    probation_in: Some(self.reader.scope.clone()),
                },
                min_confidence: Some(Confidence::FLOOR),
                valid_at: Some(self.now),
            },
            limit: candidates,
        }
    }
}

/// Finds the records that may guide a task, best first.
#[async_trait]
pub trait Retriever: Debug + Send + Sync + 'static {
    /// Retrieves at most `request.limit` records; ties break by id.
    ///
    /// # Errors
    /// What the store reports; the engine turns it into a cold run with a warning.
    async fn retrieve(&self, request: &RetrievalRequest) -> Result<Vec<Scored<Record>>>;
}

/// Ranks by the store's full-text search, with a small lift for shared domains.
#[derive(Debug, Clone)]
pub struct LexicalRetriever {
    store: Arc<dyn MemoryBackend>,
}

/// The relevance that full domain overlap adds, as a share of the score.
const DOMAIN_LIFT: f64 = 0.1;

impl LexicalRetriever {
    /// Retrieves from a store.
    pub fn new(store: Arc<dyn MemoryBackend>) -> Self {
        Self { store }
    }
}

#[async_trait]
impl Retriever for LexicalRetriever {
    async fn retrieve(&self, request: &RetrievalRequest) -> Result<Vec<Scored<Record>>> {
        // A few more candidates than asked for, so that the lift can reorder near the cut.
        let mut found = self.store.search(&request.search(request.limit.saturating_mul(2))).await?;
        for scored in &mut found {
            scored.score *= 1.0 + DOMAIN_LIFT * overlap(&request.domains, &scored.item.domains);
        }
        sort_best_first(&mut found);
        found.truncate(request.limit);
        Ok(found)
    }
}

/// How far two domain vectors agree, 0 to 1.
fn overlap(a: &DomainVector, b: &DomainVector) -> f64 {
    let shared = a.iter().filter_map(|(label, weight)| b.get(label).map(|other| weight.min(*other)));
    shared.fold(0.0, f64::max).clamp(0.0, 1.0)
}

/// Best first; ties break by id.
fn sort_best_first(found: &mut [Scored<Record>]) {
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.item.id.cmp(&b.item.id)));
}
