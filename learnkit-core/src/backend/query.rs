//! What stores are asked.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::record::{AgentName, Confidence, Kind, Record, RecordId, Scope, Status, Tenant};
use crate::run::StoredRun;
use crate::task::TaskKey;

/// Asks for the records of an exact task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactQuery {
    /// The isolation boundary.
    pub tenant: Tenant,
    /// The keys of the task in every readable scope, narrowest first.
    pub keys: Vec<TaskKey>,
    /// The canonical text that the stored one must equal, secrets masked.
    pub canonical: String,
}

/// Which agents' records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AgentFilter {
    /// Every agent's.
    #[default]
    Any,
    /// Only this agent's.
    Only(AgentName),
    /// Every agent's but this one's.
    Except(AgentName),
}

/// Which statuses are seen, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visibility {
    /// The statuses that are seen in every scope of the filter.
    pub statuses: Vec<Status>,
    /// The one scope in which records on probation are seen too.
    pub probation_in: Option<Scope>,
}

impl Visibility {
    /// Every status.
    pub fn everything() -> Self {
        Self { statuses: Status::ALL.to_vec(), probation_in: None }
    }

    /// Whether a record of this status and scope is seen.
    pub fn sees(&self, status: Status, scope: &Scope) -> bool {
        let probation = status == Status::Probation && self.probation_in.as_ref() == Some(scope);
        probation || self.statuses.contains(&status)
    }
}

/// Which records; a record must meet every part.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordFilter {
    /// The isolation boundary.
    pub tenant: Tenant,
    /// The scopes; empty means every scope.
    pub scopes: Vec<Scope>,
    /// The agents.
    pub agents: AgentFilter,
    /// The kinds; empty means every kind.
    pub kinds: Vec<Kind>,
    /// The statuses.
    pub visibility: Visibility,
    /// At least this confidence.
    pub min_confidence: Option<Confidence>,
    /// Not expired at this time.
    pub valid_at: Option<Timestamp>,
}

impl RecordFilter {
    /// Every record of a tenant.
    pub fn all_of(tenant: Tenant) -> Self {
        Self {
            tenant,
            scopes: Vec::new(),
            agents: AgentFilter::Any,
            kinds: Vec::new(),
            visibility: Visibility::everything(),
            min_confidence: None,
            valid_at: None,
        }
    }

    /// Whether a record meets every part; stores without a query language use this.
    pub fn allows(&self, record: &Record) -> bool {
        let agent = match &self.agents {
            AgentFilter::Any => true,
            AgentFilter::Only(agent) => record.agent == *agent,
            AgentFilter::Except(agent) => record.agent != *agent,
        };
        agent
            && record.tenant == self.tenant
            && (self.scopes.is_empty() || self.scopes.contains(&record.scope))
            && (self.kinds.is_empty() || self.kinds.contains(&record.kind()))
            && self.visibility.sees(record.status, &record.scope)
            && self.min_confidence.is_none_or(|least| record.confidence >= least)
            && self.valid_at.is_none_or(|now| !record.is_expired(now))
    }
}

/// Asks for the most relevant records.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    /// What the user wrote; data, never syntax.
    pub text: String,
    /// Which records.
    pub filter: RecordFilter,
    /// At most so many.
    pub limit: usize,
}

/// A result with its relevance; higher is better, comparable only within one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored<T> {
    /// The result.
    pub item: T,
    /// Its relevance.
    pub score: f64,
}

/// Asks for one page of all records.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanRequest {
    /// Which records.
    pub filter: RecordFilter,
    /// Ids after this one; absent starts at the beginning.
    pub after: Option<RecordId>,
    /// At most so many rows are looked at.
    pub limit: usize,
}

/// One page of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Rows that could not be read.
    pub skipped: Vec<SkippedRow>,
    /// Where the next page starts; absent at the end.
    pub next: Option<String>,
}

/// A row that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedRow {
    /// Its id.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// Which runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFilter {
    /// The isolation boundary.
    pub tenant: Tenant,
    /// Only runs of this exact task.
    pub key: Option<TaskKey>,
    /// Only this agent's runs.
    pub agent: Option<AgentName>,
    /// Only runs that finished before this time; a row that cannot be read is named only where the store
    /// knows its time from elsewhere.
    pub finished_before: Option<Timestamp>,
    /// At most so many.
    pub limit: usize,
    /// The cursor of the page before.
    pub after: Option<String>,
}

impl RunFilter {
    /// The newest runs of a tenant.
    pub fn newest(tenant: Tenant, limit: usize) -> Self {
        Self { tenant, key: None, agent: None, finished_before: None, limit, after: None }
    }

    /// Whether a run meets every part but the page.
    pub fn allows(&self, run: &StoredRun) -> bool {
        run.tenant == self.tenant
            && self.key.as_ref().is_none_or(|key| run.task.key == *key)
            && self.agent.as_ref().is_none_or(|agent| run.agent == *agent)
            && self.finished_before.is_none_or(|time| run.finished < time)
    }
}
