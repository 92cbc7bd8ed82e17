//! From arguments to a memory: which store, whose, and what a task is there.

use std::collections::BTreeMap;
use std::time::Duration;

use learnkit::config::{BackendUri, Settings};
use learnkit::registry::{OpenMode, available_backends};
use learnkit::{Error, ErrorKind, LearnKit, Task, get_backend};

use crate::Context;
use crate::args::IdentityArgs;
use crate::failure::{Failure, Outcome};

/// The store that is used when none is named.
const DEFAULT_BACKEND: &str = "sqlite:learnkit.db";
/// No agent waits for the command line, so a busy store gets more time than the engine's default.
const PATIENCE: Duration = Duration::from_mins(1);

/// The store of `--backend`, of `LEARNKIT_BACKEND`, or the default.
pub(crate) fn uri(context: &Context<'_>) -> Outcome<BackendUri> {
    if let Some(uri) = &context.global.backend {
        return Ok(uri.clone());
    }
    let set = (context.variable)("LEARNKIT_BACKEND").filter(|value| !value.trim().is_empty());
    let uri = set.as_deref().unwrap_or(DEFAULT_BACKEND).parse();
    uri.map_err(|error: Error| Failure::Usage(format!("LEARNKIT_BACKEND: {}", error.chain())))
}

/// Opens the store for one identity; without one for the tenant as a whole.
pub(crate) async fn open(context: &Context<'_>, identity: Option<&IdentityArgs>, mode: OpenMode) -> Outcome<LearnKit> {
    let uri = uri(context)?;
    get_backend(&uri).map_err(|error| unlinked(error, &uri))?;
    let store = match learnkit::open_store(&uri, mode).await {
        Err(error) if error.kind() == ErrorKind::NotFound && mode == OpenMode::ExistingOnly => {
            return Err(missing(error));
        }
        other => other?,
    };
    let settings = Settings { memory_deadline: PATIENCE, ..Settings::default() };
    let mut builder = LearnKit::builder().store(store).settings(settings).tenant(context.global.tenant.clone());
    if let Some(identity) = identity {
        builder = builder.scope(identity.scope.clone().unwrap_or_default());
        builder = builder.team(identity.team.clone().unwrap_or_default());
        builder = builder.agent(identity.agent.clone().unwrap_or_default());
    }
    Ok(builder.build().await?)
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

fn missing(error: Error) -> Failure {
    let message = "no memory to open; `learnkit learn PATH` makes one, --backend names another";
    Error::new(ErrorKind::NotFound, message).with_source(error).into()
}

/// A task in words, or a template where parameters are declared.
pub(crate) fn task(text: &str, parameters: &BTreeMap<String, String>) -> Outcome<Task> {
    let task = Task::new(text);
    if parameters.is_empty() {
        return Ok(task);
    }
    task.with_parameters(parameters.clone()).map_err(|error| Failure::usage(&error))
}
