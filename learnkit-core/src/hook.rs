//! What the engine asks its host where tools alone cannot tell: whether a run did what it should, whether a
//! replay may begin, and whether a call was made before a crash.
//!
//! Not here: what an answer changes ([`crate::engine`], [`crate::lifecycle`]).

use std::fmt::Debug;

use async_trait::async_trait;

use crate::error::BoxError;
use crate::record::RunId;
use crate::replay::PlannedCall;
use crate::run::{JournalStep, ToolCall, ToolOutput, Verdict};
use crate::{Result, Task};

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
