//! The engine: the only place that chooses, replays, gates and learns.
//!
//! [`Session`] is its core with `decide`, `observe` and `finish`; [`LearnKit::agent_learn`],
//! [`LearnKit::prepare_run`] and [`run_react_agent`] are thin shells on it.

mod account;
mod agent_learn;
mod approve;
mod arm;
mod ask;
mod builder;
mod changes;
mod choose;
mod drift;
mod dry_run;
mod execute;
mod golden;
mod inspect;
mod journal;
mod learn;
mod ledger;
mod library;
mod maintain;
mod react;
mod recorded;
mod recover;
mod remember;
mod report;
mod reported;
mod resume;
mod retention;
mod run;
mod seen_tools;
mod session;
mod settle;
mod skills;
mod templates;
mod transfer;

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

pub use agent_learn::{AgentLearn, LearningAgent};
pub use builder::Builder;
pub use drift::{DriftReport, DriftedRecord, ToolDrift};
pub use golden::{Golden, GoldenDifference, GoldenExport, GoldenSelection};
pub use inspect::Inspection;
pub use inspect::{NearRecord, PlanLine};
pub use learn::{Outcome, RunFailure};
pub use ledger::LedgerRequest;
pub use library::Forgotten;
pub use react::{Planner, PlannerReply, PlanningTurn, ReactOptions, ToolRequest, run_react_agent};
pub use remember::Remembered;
pub use report::RunReport;
pub use retention::{Pass, RunRetention};
pub use run::Run;
pub use session::{Decision, Session, SessionOptions, View};
pub use skills::{ImportedSkill, SkillExport, SkillSelection};

pub use settle::Settled;

pub use crate::backend::MaintenanceReport;
use crate::backend::{ExactQuery, Store};
use crate::classify::Classifier;
use crate::clock::Clock;
use crate::config::Settings;
use crate::hook::{Approver, Precheck, SecretProvider, Verifier};
use crate::record::{AgentName, Reader, RunId, TaskLink, Tenant};
use crate::retrieve::Retriever;
use crate::task::{Identity, TaskKey};
use crate::{Error, ErrorKind, Result, Task};

/// Procedural memory for one tenant and scope. A cheap clone.
///
/// Memory that is slow, broken, locked or unreachable turns into a cold run plus a warning; it
/// never fails the task.
#[derive(Debug, Clone)]
pub struct LearnKit {
    inner: Arc<Inner>,
    agent: AgentName,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    retriever: Arc<dyn Retriever>,
    classifier: Arc<dyn Classifier>,
    clock: Arc<dyn Clock>,
    verifier: Option<Arc<dyn Verifier>>,
    precheck: Option<Arc<dyn Precheck>>,
    approver: Option<Arc<dyn Approver>>,
    secret_provider: Option<Arc<dyn SecretProvider>>,
    settings: Settings,
    tenant: Tenant,
    reader: Reader,
    /// Runs whose handle was dropped; the next `finish`, report or `shutdown` stores them.
    abandoned: Mutex<Vec<learn::Ended>>,
    /// Ids of runs under way in this process.
    open_runs: Mutex<BTreeSet<RunId>>,
}

impl LearnKit {
    /// Starts building.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The same memory for another agent.
    #[must_use]
    pub fn with_agent(&self, agent: AgentName) -> Self {
        Self { inner: Arc::clone(&self.inner), agent }
    }

    /// The agent whose procedures replay.
    pub fn agent(&self) -> &AgentName {
        &self.agent
    }

    /// The isolation boundary.
    pub fn tenant(&self) -> &Tenant {
        &self.inner.tenant
    }

    /// Who reads and writes.
    pub fn reader(&self) -> &Reader {
        &self.inner.reader
    }

    /// The opened store.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The key of a task as this memory writes it.
    pub fn key(&self, task: &Task) -> TaskKey {
        TaskKey::of(task, &self.identity(&self.inner.reader.scope))
    }

    /// Finishes what was left behind: runs whose handle was dropped are stored as cancelled.
    ///
    /// # Errors
    /// `Unavailable` when a run cannot be stored; it names how many were not.
    pub async fn shutdown(&self) -> Result<()> {
        let lost = self.finish_abandoned().await;
        if lost == 0 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, format!("{lost} cancelled runs could not be stored")).retryable())
    }

    fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn identity(&self, scope: &crate::record::Scope) -> Identity {
        Identity { tenant: self.inner.tenant.clone(), scope: scope.clone(), agent: self.agent.clone() }
    }

    /// What a lookup of the exact task asks: its keys in every readable scope, narrowest first.
    fn exact_query(&self, task: &Task) -> ExactQuery {
        let canonical = task.canonical();
        let scopes = self.inner.reader.readable();
        let key = |scope| TaskKey::of_canonical(task, &canonical, &self.identity(scope));
        ExactQuery {
            tenant: self.inner.tenant.clone(),
            keys: scopes.iter().map(key).collect(),
            canonical: crate::secret::mask_text(&canonical).text,
        }
    }

    /// The key and canonical text as they are stored.
    fn link(&self, task: &Task) -> TaskLink {
        let canonical = task.canonical();
        let key = TaskKey::of_canonical(task, &canonical, &self.identity(&self.inner.reader.scope));
        TaskLink { key, canonical: crate::secret::mask_text(&canonical).text }
    }

    /// Waits for the store at most as long as the settings allow.
    async fn within<T>(&self, operation: &'static str, work: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let deadline = self.inner.settings.memory_deadline;
        tokio::time::timeout(deadline, work).await.unwrap_or_else(|_| {
            let message = format!("the store did not answer within {} ms", deadline.as_millis());
            Err(Error::new(ErrorKind::Timeout, message).with_operation(operation).retryable())
        })
    }

    /// Stores the runs whose handle was dropped, one by one; returns how many are left because the
    /// store failed. What is not stored stays, also when this future is dropped.
    async fn finish_abandoned(&self) -> usize {
        loop {
            let Some(ended) = lock(&self.inner.abandoned).pop() else { return 0 };
            let mut taken = Taken { abandoned: &self.inner.abandoned, ended: Some(ended) };
            let Some(ended) = &taken.ended else { return 0 };
            match self.finish_cancelled(ended).await {
                learn::Fate::Lost(error) => {
                    tracing::warn!(run = %ended.run_id, %error, "a cancelled run could not be stored");
                    drop(taken);
                    return lock(&self.inner.abandoned).len();
                }
                learn::Fate::Stored | learn::Fate::Known => taken.ended = None,
            }
        }
    }
}

impl LearnKit {
    /// Stores a run whose handle was dropped, or gives it back where a retry by its id may come.
    async fn finish_cancelled(&self, ended: &learn::Ended) -> learn::Fate {
        match ended.suspended.as_ref().map(|suspended| &suspended.write) {
            Some(Some(write)) => {
                self.write_journal(write).await.map_or_else(learn::Fate::Lost, |_| learn::Fate::Stored)
            }
            Some(None) => learn::Fate::Stored,
            None => Box::pin(learn::learn(self, ended, &Outcome::cancelled())).await.fate,
        }
    }
}

/// A run that goes back to the others unless it was stored.
struct Taken<'a> {
    abandoned: &'a Mutex<Vec<learn::Ended>>,
    ended: Option<learn::Ended>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        lock(self.abandoned).extend(self.ended.take());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
