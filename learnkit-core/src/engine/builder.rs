//! Building a [`LearnKit`].

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::{Inner, LearnKit};
use crate::backend::Store;
use crate::classify::{Classifier, HeuristicClassifier};
use crate::clock::{Clock, SystemClock};
use crate::config::{BackendUri, ReplayTrust, RetrievalBudget, Settings};
use crate::embed::Embedder;
use crate::record::{AgentName, Owner, Reader, Scope, Tenant};
use crate::registry::{OpenMode, open_store};
use crate::retrieve::{HybridRetriever, LexicalRetriever, Retriever};
use crate::{Error, ErrorKind, Result};

/// The store that is used when none is named.
const DEFAULT_BACKEND: &str = "sqlite:learnkit.db";

/// Settings of a [`LearnKit`] on its way.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until `build` is awaited"]
pub struct Builder {
    backend: Option<String>,
    open_mode: OpenMode,
    store: Option<Store>,
    tenant: Tenant,
    reader: Reader,
    agent: AgentName,
    settings: Settings,
    clock: Option<Arc<dyn Clock>>,
    classifier: Option<Arc<dyn Classifier>>,
    retriever: Option<Arc<dyn Retriever>>,
    embedder: Option<Arc<dyn Embedder>>,
}

impl Builder {
    /// The store by URI; the default is `sqlite:learnkit.db`.
    pub fn backend(mut self, uri: impl Into<String>) -> Self {
        self.backend = Some(uri.into());
        self
    }

    /// Whether a missing store is made; the default makes it.
    pub fn open_mode(mut self, mode: OpenMode) -> Self {
        self.open_mode = mode;
        self
    }

    /// An opened store instead of a URI.
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// The tenant; the default is `default`.
    pub fn tenant(mut self, tenant: Tenant) -> Self {
        self.tenant = tenant;
        self
    }

    /// The scope that is written to, and from which reading starts; the default is `team:default`.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.reader.scope = scope;
        self
    }

    /// The team whose records a user reads; the default is `default`.
    pub fn team(mut self, team: Owner) -> Self {
        self.reader.team = team;
        self
    }

    /// The agent; [`LearnKit::agent_learn`] names its own.
    pub fn agent(mut self, agent: AgentName) -> Self {
        self.agent = agent;
        self
    }

    /// Every setting at once.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Which trust a record needs to replay.
    pub fn replay_trust(mut self, trust: ReplayTrust) -> Self {
        self.settings.replay_trust = trust;
        self
    }

    /// How much a playbook may take.
    pub fn budget(mut self, budget: RetrievalBudget) -> Self {
        self.settings.budget = budget;
        self
    }

    /// Where the time comes from; the default is the system clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// What says what a task is about; the default is the offline heuristic.
    pub fn classifier(mut self, classifier: Arc<dyn Classifier>) -> Self {
        self.classifier = Some(classifier);
        self
    }

    /// What finds guiding records; the default is the store's full-text search.
    pub fn retriever(mut self, retriever: Arc<dyn Retriever>) -> Self {
        self.retriever = Some(retriever);
        self
    }

    /// Reranks what full-text search finds; ignored when a retriever is given.
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Opens the store and builds.
    ///
    /// # Errors
    /// `Config` outside a Tokio runtime, for a URI that cannot be read or a setting out of range;
    /// `NotFound` when no backend of the scheme is linked; and what the backend reports.
    pub async fn build(self) -> Result<LearnKit> {
        check(&self.settings)?;
        if tokio::runtime::Handle::try_current().is_err() {
            let message = "LearnKit needs a Tokio runtime for its deadlines; call it inside `#[tokio::main]` or `Runtime::block_on`";
            return Err(Error::new(ErrorKind::Config, message));
        }
        let store = match self.store {
            Some(store) => store,
            None => open(self.backend.as_deref().unwrap_or(DEFAULT_BACKEND), self.open_mode).await?,
        };
        let records = Arc::clone(&store.records);
        let retriever = self.retriever.unwrap_or_else(|| match self.embedder {
            Some(embedder) => Arc::new(HybridRetriever::new(records, embedder)),
            None => Arc::new(LexicalRetriever::new(records)),
        });
        Ok(LearnKit {
            inner: Arc::new(Inner {
                store,
                retriever,
                classifier: self.classifier.unwrap_or_else(|| Arc::new(HeuristicClassifier)),
                clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
                settings: self.settings,
                tenant: self.tenant,
                reader: self.reader,
                abandoned: Mutex::new(Vec::new()),
                open_runs: Mutex::new(BTreeSet::new()),
            }),
            agent: self.agent,
        })
    }
}

async fn open(uri: &str, mode: OpenMode) -> Result<Store> {
    let uri: BackendUri = uri.parse()?;
    open_store(&uri, mode).await
}

fn check(settings: &Settings) -> Result<()> {
    let wrong = |what: &str| Err(Error::new(ErrorKind::Config, what));
    if !(0.0..=5.0).contains(&settings.quality_threshold) {
        return wrong("`quality_threshold` must be from 0 to 5");
    }
    if !(0.0..=1.0).contains(&settings.holdout_rate) {
        return wrong("`holdout_rate` must be from 0 to 1");
    }
    if settings.memory_deadline.is_zero() {
        return wrong("`memory_deadline` must be longer than 0");
    }
    Ok(())
}
