//! From arguments to a memory: which store, whose, and what a task is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use learnkit::backend::Store;
use learnkit::config::{BackendUri, Config, ConfigFile, Layer, Layers, Setting};
use learnkit::hook::{Approval, ApprovalRequest, Approver};
use learnkit::record::AgentName;
use learnkit::registry::{OpenMode, available_backends};
use learnkit::{BoxError, Error, ErrorKind, LearnKit, Task, async_trait, get_backend};

use crate::Context;
use crate::args::IdentityArgs;
use crate::failure::{Failure, Outcome};

/// No agent waits for the command line, so a busy store gets more time than the engine's default, in
/// milliseconds.
const PATIENCE: u64 = 60_000;

/// Every setting: flags over `LEARNKIT_*` over the configuration file over the defaults.
pub(crate) fn layers(context: &Context<'_>, identity: Option<&IdentityArgs>) -> Outcome<Layers> {
    let file = match &context.global.config {
        Some(path) => ConfigFile::Named(path),
        None => ConfigFile::InFolder(&context.folder),
    };
    let mut layers = Layers::load(file, &*context.variable)?;
    let mut own = Config::default();
    own.memory_deadline_ms = Some(PATIENCE);
    layers.put_default(&own);
    let mut flags = Config::default();
    flags.backend.clone_from(&context.global.backend);
    flags.tenant.clone_from(&context.global.tenant);
    if let Some(identity) = identity {
        flags.scope.clone_from(&identity.scope);
        flags.team.clone_from(&identity.team);
        flags.agent.clone_from(&identity.agent);
    }
    layers.put_flags(&flags);
    Ok(layers)
}

/// The store that is configured.
pub(crate) fn uri(layers: &Layers) -> Outcome<BackendUri> {
    let missing = || Error::new(ErrorKind::Config, "no store is named; name one with --backend");
    Ok(layers.values().backend.clone().ok_or_else(missing)?)
}

/// The agent that a flag, a variable or the file names; absent where only the default holds.
pub(crate) fn named_agent(layers: &Layers) -> Option<AgentName> {
    let setting = Setting::ALL.iter().find(|setting| setting.key == "agent")?;
    layers.values().agent.clone().filter(|_| layers.origin(setting) != Layer::Default)
}

/// Opens the store for one identity; without one for the tenant as a whole.
pub(crate) async fn open(context: &Context<'_>, identity: Option<&IdentityArgs>, mode: OpenMode) -> Outcome<LearnKit> {
    let layers = layers(context, identity)?;
    let uri = uri(&layers)?;
    get_backend(&uri).map_err(|error| unlinked(error, &uri))?;
    let store = match learnkit::open_store(&uri, mode).await {
        Err(error) if error.kind() == ErrorKind::NotFound && mode == OpenMode::ExistingOnly => {
            return Err(missing(error, context));
        }
        other => other?,
    };
    let mut config = layers.values().clone();
    if identity.is_none() {
        (config.scope, config.team, config.agent) = (None, None, None);
    }
    Ok(LearnKit::builder().config(config).store(store).build().await?)
}

/// Opens the store as a program does that has somebody to ask for approvals.
pub(crate) async fn open_for_programs(
    context: &Context<'_>,
    identity: &IdentityArgs,
    mode: OpenMode,
) -> Outcome<LearnKit> {
    let store = open(context, Some(identity), mode).await?.store().clone();
    let config = layers(context, Some(identity))?.values().clone();
    Ok(LearnKit::builder().config(config).store(store).approver(Arc::new(Unattended)).build().await?)
}

/// Stands for the approver of a program; the command line makes no call.
#[derive(Debug)]
struct Unattended;

#[async_trait]
impl Approver for Unattended {
    async fn approve(&self, _: &ApprovalRequest<'_>) -> std::result::Result<Approval, BoxError> {
        Ok(Approval::Denied("nobody can be asked on the command line".to_owned()))
    }
}

/// Opens the store for one identity where there is one.
pub(crate) async fn open_if_there(context: &Context<'_>, identity: &IdentityArgs) -> Outcome<Option<LearnKit>> {
    let uri = uri(&layers(context, Some(identity))?)?;
    match open(context, Some(identity), OpenMode::ExistingOnly).await {
        Ok(memory) => Ok(Some(memory)),
        // A backend that is not linked is not found either.
        Err(Failure::Failed(error)) if error.kind() == ErrorKind::NotFound && get_backend(&uri).is_ok() => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// The memory of an opened store for one identity.
pub(crate) async fn of_store(context: &Context<'_>, identity: &IdentityArgs, store: Store) -> Outcome<LearnKit> {
    let config = layers(context, Some(identity))?.values().clone();
    Ok(LearnKit::builder().config(config).store(store).build().await?)
}

/// Who runs a command cannot link a crate, so what is there is all the advice.
fn unlinked(error: Error, uri: &BackendUri) -> Failure {
    if error.kind() != ErrorKind::NotFound {
        return error.into();
    }
    let linked = available_backends().into_iter().map(|entry| entry.scheme).collect::<Vec<_>>().join(" and ");
    let message = format!("this build has no backend `{}`, only {linked}; name one of these", uri.scheme());
    Error::new(ErrorKind::NotFound, message).into()
}

fn missing(error: Error, context: &Context<'_>) -> Failure {
    let message = "no memory to open; `learnkit learn PATH` makes one, --backend names another";
    let message = match older_database(context) {
        Some(path) => {
            let path = path.display();
            format!("{message}, and `learnkit import {path}` takes over what an older LearnKit left")
        }
        None => message.to_owned(),
    };
    Error::new(ErrorKind::NotFound, message).with_source(error).into()
}

/// The database that the older LearnKit for Python makes unless it is told another place.
fn older_database(context: &Context<'_>) -> Option<PathBuf> {
    let home = (context.variable)("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(&home).join(".learnkit").join("memory.db")).filter(|path| path.is_file())
}

/// A task in words, or a template where parameters are declared.
pub(crate) fn task(text: &str, parameters: &BTreeMap<String, String>) -> Outcome<Task> {
    let task = Task::new(text);
    if parameters.is_empty() {
        return Ok(task);
    }
    task.with_parameters(parameters.clone()).map_err(|error| Failure::usage(&error))
}
