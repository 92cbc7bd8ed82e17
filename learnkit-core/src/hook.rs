//! What the engine asks its host where tools alone cannot tell: whether a run did what it should, whether a replay
//! may begin, which secrets it takes, whether one of its calls may be made, and whether one was made before a crash.
//!
//! Not here: what an answer changes ([`crate::engine`], [`crate::lifecycle`]).

use std::collections::BTreeMap;
use std::fmt::Debug;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::error::BoxError;
use crate::hash::Fingerprint;
use crate::record::RunId;
use crate::replay::PlannedCall;
use crate::run::{Arguments, JournalStep, ToolCall, ToolOutput, Verdict};
use crate::tool::EffectClass;
use crate::{Result, Sensitive, Task};

/// A run that is about to be judged.
#[derive(Debug, Clone, Copy)]
pub struct FinishedRun<'a> {
    /// The task.
    pub task: &'a Task,
    /// Every call with its arguments and whole result, in order.
    pub calls: &'a [ToolCall],
    /// The answer, where one was given.
    pub answer: Option<&'a str>,
    /// Whether a whole procedure was replayed.
    pub replayed: bool,
}

/// Reads back whether a run did what it should: a row that must be there, a mail that must have gone out.
///
/// Hosts implement it and give it to [`Builder::verifier`](crate::engine::Builder::verifier). A session asks
/// it once, at `finish`, of a run that made a call and whose outcome the caller did not say; never of a
/// run that the environment cut short, nor of a recording, whose world is gone. Its word is stronger
/// than tool outcomes, weaker than the caller's, and verifies or retires like a report. An error, a panic or
/// no answer within [`Settings::hook_deadline`](crate::config::Settings) counts as no word and is a warning;
/// the future is dropped at the deadline.
///
/// ```
/// use learnkit_core::hook::{FinishedRun, Verifier};
/// use learnkit_core::run::Verdict;
/// use learnkit_core::{BoxError, async_trait};
///
/// /// Knows only of runs that sent a mail.
/// #[derive(Debug)]
/// struct Outbox;
///
/// #[async_trait]
/// impl Verifier for Outbox {
///     async fn verify(&self, run: &FinishedRun<'_>) -> Result<Option<Verdict>, BoxError> {
///         let sent = run.calls.iter().rfind(|call| call.tool == "send_mail");
///         Ok(sent.map(|call| if call.status.is_ok() { Verdict::Success } else { Verdict::Failure }))
///     }
/// }
/// ```
#[async_trait]
pub trait Verifier: Debug + Send + Sync + 'static {
    /// The verdict; absent where it cannot be told.
    async fn verify(&self, run: &FinishedRun<'_>) -> Result<Option<Verdict>, BoxError>;

    /// Whether a call was made of which only the beginning is known, because its process died or was cut off.
    ///
    /// Asked when a run is retried by its id, once for each such call that could do harm if it were made again,
    /// before anything else is done. It must change nothing: look the idempotency key up, or what the call would
    /// have left behind. What it says is written down; [`Settlement::Unknown`], the default, leaves the question to
    /// [`LearnKit::settle`](crate::engine::LearnKit::settle), and so does an error, a panic or no answer within
    /// the deadline of hooks.
    async fn settle(&self, _call: &DoubtfulCall<'_>) -> Result<Settlement, BoxError> {
        Ok(Settlement::Unknown)
    }
}

/// A call that began and of which nobody knows whether it was made.
#[derive(Debug, Clone, Copy)]
pub struct DoubtfulCall<'a> {
    /// The task.
    pub task: &'a Task,
    /// The run.
    pub run: &'a RunId,
    /// The number of the step, the tool, the arguments with secrets masked, and the key that the tool was given.
    pub step: &'a JournalStep,
}

/// What came of a doubtful call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// It was made. Without its result nothing that needs the result is replayed; the planner goes on.
    Done(Option<ToolOutput>),
    /// It was not made; the run makes it.
    NotDone,
    /// It cannot be told.
    Unknown,
}

/// A replay that has not begun.
#[derive(Debug, Clone, Copy)]
pub struct PlannedReplay<'a> {
    /// The task.
    pub task: &'a Task,
    /// The whole plan, in order.
    pub calls: &'a [PlannedCall],
}

/// What a precheck says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrecheckAnswer {
    /// The world is as the plan takes it to be.
    Pass,
    /// The replay must not begin, with the reason in words.
    Refuse(String),
}

/// Looks at the world before a replay makes its first call.
///
/// Hosts implement it and give it to [`Builder::precheck`](crate::engine::Builder::precheck). It is asked for
/// a procedure that may replay otherwise, in a session's first decision and in `inspect`, and it must change
/// nothing. A refusal makes the run a planned one and blames nobody; another procedure of the task is
/// asked about next. An error, a panic or no answer within
/// [`Settings::hook_deadline`](crate::config::Settings) refuses too, and is not asked again for this task.
#[async_trait]
pub trait Precheck: Debug + Send + Sync + 'static {
    /// Whether the replay may begin.
    async fn check(&self, replay: &PlannedReplay<'_>) -> Result<PrecheckAnswer, BoxError>;
}

/// What an approval is bound to: a tool and its arguments. Another key order is the same call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallDigest(String);

impl CallDigest {
    /// The digest of a call.
    pub fn of(tool: &str, arguments: &Arguments) -> Self {
        Self(Fingerprint::new("approval").part(tool).part(&arguments.stable()).hex())
    }

    /// The digest as text, 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A call of a replay that waits for an approval.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalRequest<'a> {
    /// The run.
    pub run_id: &'a RunId,
    /// The task.
    pub task: &'a Task,
    /// The call as it will be sent: every argument is bound.
    pub call: &'a PlannedCall,
    /// What the call may do to the world.
    pub effect: EffectClass,
}

impl ApprovalRequest<'_> {
    /// What an approval of this call is bound to.
    pub fn digest(&self) -> CallDigest {
        CallDigest::of(&self.call.tool, &self.call.arguments)
    }

    /// The answer that lets exactly this call be made, once.
    pub fn grant(&self) -> Approval {
        Approval::Granted(self.digest())
    }
}

/// What an approver says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// The call of this digest may be made once. It travels with whatever showed the call to a person, so that
    /// what was shown is what is made.
    Granted(CallDigest),
    /// It must not be made, with the reason in words.
    Denied(String),
}

/// Approves single calls of a replay, usually by showing them to a person.
///
/// Hosts implement it and give it to [`Builder::approver`](crate::engine::Builder::approver). A session asks it
/// right before a step of a tool that requires an approval, or under
/// [`ReplayPolicy::Ask`](crate::config::ReplayPolicy) of any tool that is not stated to only read, one call after the other, once
/// each. A grant counts for one call with these arguments in this run; one for another digest is refused.
///
/// A denial stops the replay before the step and blames nobody: the planner goes on, is told what was denied,
/// and [`run_react_agent`](crate::run_react_agent) does not make that call for it either. An error, a panic or no
/// answer within [`Settings::approval_deadline`](crate::config::Settings) stops the replay too and is not asked again
/// in this run; the future is dropped at the deadline, and also when the caller of `decide` gives up.
///
/// ```
/// use learnkit_core::hook::{Approval, ApprovalRequest, Approver};
/// use learnkit_core::{BoxError, async_trait};
///
/// /// Lets small payments through.
/// #[derive(Debug)]
/// struct Limit(u64);
///
/// #[async_trait]
/// impl Approver for Limit {
///     async fn approve(&self, request: &ApprovalRequest<'_>) -> Result<Approval, BoxError> {
///         let arguments: serde_json::Value = request.call.arguments.parse()?;
///         let is_small = arguments["amount"].as_u64().is_some_and(|amount| amount <= self.0);
///         Ok(if is_small { request.grant() } else { Approval::Denied("more than the limit".to_owned()) })
///     }
/// }
/// ```
#[async_trait]
pub trait Approver: Debug + Send + Sync + 'static {
    /// Whether this call may be made.
    async fn approve(&self, request: &ApprovalRequest<'_>) -> Result<Approval, BoxError>;
}

/// A secret that a replay takes.
#[derive(Debug, Clone, Copy)]
pub struct SecretRequest<'a> {
    /// Its name: the tool and the argument, such as `search.api_key` or `http.headers.Authorization`; for the second
    /// and later ones of one argument with a number behind, `http.url.2`.
    pub name: &'a str,
    /// The tool that it is sent to.
    pub tool: &'a str,
    /// The argument, a JSON pointer.
    pub argument: &'a str,
    /// The task.
    pub task: &'a Task,
}

/// Supplies the secrets that procedures take in place of those that were masked when they were learned.
///
/// Hosts implement it and give it to [`Builder::secret_provider`](crate::engine::Builder::secret_provider). It is
/// asked for every secret of a procedure that may replay otherwise, once for a replay, in a session's first decision
/// and in `inspect`. The value stands where the masked text stood, to the letter: after `Bearer ` or between the
/// other parts of a URL where the argument has such. It goes to the tool and nowhere else: stored runs, playbooks,
/// hand-overs, reasons and `Debug` show `[secret]`.
///
/// No value, an empty one, an error, a panic or no answer for all of them within
/// [`Settings::hook_deadline`](crate::config::Settings) makes the run a planned one, with the name of the secret in
/// its reason.
#[async_trait]
pub trait SecretProvider: Debug + Send + Sync + 'static {
    /// The value; absent where there is none.
    async fn secret(&self, request: &SecretRequest<'_>) -> Result<Option<Sensitive>, BoxError>;
}

/// Secrets from environment variables, read when they are asked for.
///
/// ```
/// use learnkit_core::hook::EnvSecrets;
///
/// let secrets = EnvSecrets::default().with("search.api_key", "SEARCH_API_KEY");
/// # let _ = secrets;
/// ```
#[derive(Debug, Clone, Default)]
pub struct EnvSecrets {
    variables: BTreeMap<String, String>,
}

impl EnvSecrets {
    /// Takes a secret from a variable. A name that has one already gets the new one.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, variable: impl Into<String>) -> Self {
        self.variables.insert(name.into(), variable.into());
        self
    }
}

#[async_trait]
impl SecretProvider for EnvSecrets {
    /// # Errors
    /// When the variable is not Unicode; the error does not tell its value.
    async fn secret(&self, request: &SecretRequest<'_>) -> Result<Option<Sensitive>, BoxError> {
        let Some(variable) = self.variables.get(request.name) else { return Ok(None) };
        match std::env::var(variable) {
            Ok(value) => Ok(Some(Sensitive::new(value))),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(format!("the variable `{variable}` is not Unicode").into()),
        }
    }
}
