//! Building a [`LearnKit`].

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::{Inner, LearnKit};
use crate::backend::Store;
use crate::classify::{Classifier, HeuristicClassifier};
use crate::clock::{Clock, SystemClock};
use crate::config::{
    BackendUri, Config, DEFAULT_BACKEND, ReplayPolicy, ReplayTrust, RetrievalBudget, Settings, TemplateReplay, TimeZone,
};
use crate::embed::Embedder;
use crate::hook::{Approver, Precheck, SecretProvider, Verifier};
use crate::record::{AgentName, Owner, Reader, Scope, Tenant};
use crate::registry::{OpenMode, open_store};
use crate::retrieve::{HybridRetriever, LexicalRetriever, Retriever};
use crate::{Error, ErrorKind, Result};

/// Settings of a [`LearnKit`] on its way.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until `build` is awaited"]
pub struct Builder {
    backend: Option<String>,
    open_mode: OpenMode,
    store: Option<Store>,
    config: Config,
    tenant: Option<Tenant>,
    scope: Option<Scope>,
    team: Option<Owner>,
    agent: Option<AgentName>,
    settings: Option<Settings>,
    replay_trust: Option<ReplayTrust>,
    replay_policy: Option<ReplayPolicy>,
    template_replay: Option<TemplateReplay>,
    budget: Option<RetrievalBudget>,
    time_zone: Option<TimeZone>,
    clock: Option<Arc<dyn Clock>>,
    classifier: Option<Arc<dyn Classifier>>,
    retriever: Option<Arc<dyn Retriever>>,
    embedder: Option<Arc<dyn Embedder>>,
    verifier: Option<Arc<dyn Verifier>>,
    precheck: Option<Arc<dyn Precheck>>,
    approver: Option<Arc<dyn Approver>>,
    secret_provider: Option<Arc<dyn SecretProvider>>,
}

impl Builder {
    /// The store by URI; the default is `sqlite:learnkit.db`.
    pub fn backend(mut self, uri: impl Into<String>) -> Self {
        self.backend = Some(uri.into());
        self
    }

    /// Settings of a file or of the environment, see [`Layers`](crate::config::Layers): they hold where the
    /// builder itself says nothing, in whatever order it is called.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> learnkit_core::Result<()> {
    /// use std::path::Path;
    /// use learnkit_core::LearnKit;
    /// use learnkit_core::config::{ConfigFile, Layers};
    ///
    /// let layers = Layers::load(ConfigFile::InFolder(Path::new(".")), |name| std::env::var(name).ok())?;
    /// let memory = LearnKit::builder().config(layers.values().clone()).backend("memory:").build().await?;
    /// # assert_eq!(memory.settings().budget.records, 8);
    /// # Ok(()) }
    /// ```
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
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
        self.tenant = Some(tenant);
        self
    }

    /// The scope that is written to, and from which reading starts; the default is `team:default`.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// The team whose records a user reads; the default is `default`.
    pub fn team(mut self, team: Owner) -> Self {
        self.team = Some(team);
        self
    }

    /// The agent; [`LearnKit::agent_learn`] names its own.
    pub fn agent(mut self, agent: AgentName) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Every setting at once, over those of [`Self::config`].
    pub fn settings(mut self, settings: Settings) -> Self {
        (self.replay_trust, self.replay_policy, self.template_replay) = (None, None, None);
        (self.budget, self.time_zone) = (None, None);
        self.settings = Some(settings);
        self
    }

    /// Which trust a record needs to replay.
    pub fn replay_trust(mut self, trust: ReplayTrust) -> Self {
        self.replay_trust = Some(trust);
        self
    }

    /// What a replay may do on its own; the default is [`ReplayPolicy::All`]. Two memories over one
    /// [`store`](Self::store) may have different ones, for runs with and without somebody who watches.
    pub fn replay_policy(mut self, policy: ReplayPolicy) -> Self {
        self.replay_policy = Some(policy);
        self
    }

    /// Whether templates that runs confirmed replay for texts that nobody asked before; the default is
    /// [`TemplateReplay::Off`].
    pub fn template_replay(mut self, replay: TemplateReplay) -> Self {
        self.template_replay = Some(replay);
        self
    }

    /// How much a playbook may take.
    pub fn budget(mut self, budget: RetrievalBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// The time zone in which a task means "today"; the default is UTC. What was learned in another zone replays
    /// none of the dates that it counts from today.
    pub fn time_zone(mut self, zone: TimeZone) -> Self {
        self.time_zone = Some(zone);
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

    /// What reads back whether a run did what it should; asked where the caller does not say.
    pub fn verifier(mut self, verifier: Arc<dyn Verifier>) -> Self {
        self.verifier = Some(verifier);
        self
    }

    /// What looks at the world before a replay begins, and may refuse it.
    pub fn precheck(mut self, precheck: Arc<dyn Precheck>) -> Self {
        self.precheck = Some(precheck);
        self
    }

    /// Who approves calls of a replay; without one, nothing that needs an approval replays.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// What supplies the secrets that replays take; without it procedures with secrets only guide.
    pub fn secret_provider(mut self, provider: Arc<dyn SecretProvider>) -> Self {
        self.secret_provider = Some(provider);
        self
    }

    /// Opens the store and builds.
    ///
    /// # Errors
    /// `Config` outside a Tokio runtime, for a URI that cannot be read or a setting out of range;
    /// `NotFound` when no backend of the scheme is linked; and what the backend reports.
    pub async fn build(self) -> Result<LearnKit> {
        let settings = self.chosen_settings();
        settings.check()?;
        if tokio::runtime::Handle::try_current().is_err() {
            let message = "LearnKit needs a Tokio runtime for its deadlines; call it inside `#[tokio::main]` or `Runtime::block_on`";
            return Err(Error::new(ErrorKind::Config, message));
        }
        let store = match self.store {
            Some(store) => store,
            None => open(self.backend.as_deref(), self.config.backend, self.open_mode).await?,
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
                verifier: self.verifier,
                precheck: self.precheck,
                approver: self.approver,
                secret_provider: self.secret_provider,
                settings,
                tenant: self.tenant.or(self.config.tenant).unwrap_or_default(),
                reader: Reader {
                    scope: self.scope.or(self.config.scope).unwrap_or_default(),
                    team: self.team.or(self.config.team).unwrap_or_default(),
                },
                abandoned: Mutex::new(Vec::new()),
                open_runs: Mutex::new(BTreeSet::new()),
            }),
            agent: self.agent.or(self.config.agent).unwrap_or_default(),
        })
    }

    fn chosen_settings(&self) -> Settings {
        let base = self.settings.clone().unwrap_or_else(|| self.config.settings());
        Settings {
            replay_trust: self.replay_trust.unwrap_or(base.replay_trust),
            replay_policy: self.replay_policy.unwrap_or(base.replay_policy),
            template_replay: self.template_replay.unwrap_or(base.template_replay),
            budget: self.budget.unwrap_or(base.budget),
            time_zone: self.time_zone.clone().unwrap_or(base.time_zone),
            ..base
        }
    }
}

/// Opens the store that the builder names, else the configured one, else the default.
async fn open(uri: Option<&str>, configured: Option<BackendUri>, mode: OpenMode) -> Result<Store> {
    let uri: BackendUri = match (uri, configured) {
        (Some(uri), _) => uri.parse()?,
        (None, Some(uri)) => uri,
        (None, None) => DEFAULT_BACKEND.parse()?,
    };
    open_store(&uri, mode).await
}
