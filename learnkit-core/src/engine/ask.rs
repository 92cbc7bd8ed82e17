//! Asking the hooks of the host: each with a deadline, and none of them can fail a task.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

use super::LearnKit;
use super::account::is_replayed;
use super::learn::{Ended, Outcome};
use crate::error::BoxError;
use crate::hook::{DoubtfulCall, FinishedRun, PlannedReplay, PrecheckAnswer, Settlement};
use crate::procedure::{Procedure, Today};
use crate::replay::plan_of;
use crate::run::short_reason;
use crate::{Result, Task};

/// Why a replay may not begin.
pub(super) enum Declined {
    /// The precheck said so.
    Refused(String),
    /// The precheck itself failed.
    Broken(String),
}

impl LearnKit {
    /// Whether there is a precheck to ask.
    pub(super) fn has_precheck(&self) -> bool {
        self.inner.precheck.is_some()
    }

    /// Asks the precheck whether a replay may begin; without one it may.
    pub(super) async fn ask_precheck(&self, task: &Task, procedure: &Procedure, today: &Today) -> Result<(), Declined> {
        let Some(precheck) = &self.inner.precheck else { return Ok(()) };
        let calls = plan_of(procedure, task.parameters(), today);
        match self.asked("precheck", precheck.check(&PlannedReplay { task, calls: &calls })).await {
            Ok(PrecheckAnswer::Pass) => Ok(()),
            Ok(PrecheckAnswer::Refuse(reason)) => {
                Err(Declined::Refused(format!("the precheck refused: {}", short_reason(&reason))))
            }
            Err(reason) => Err(Declined::Broken(reason)),
        }
    }

    /// Asks the verifier about a run, once, where nobody has said yet how it turned out.
    pub(super) async fn ask_verifier(&self, ended: &mut Ended, outcome: &Outcome) {
        let Some(verifier) = &self.inner.verifier else { return };
        let is_interrupted = outcome.failure.as_ref().is_some_and(|failure| failure.is_environment);
        if ended.is_verifier_asked || outcome.verdict.is_some() || is_interrupted || ended.calls.is_empty() {
            return;
        }
        let own = ended.state.answer.as_ref().map(|(text, _)| text.as_str());
        let answer = outcome.answer.as_deref().or(own);
        let run = FinishedRun { task: &ended.task, calls: &ended.calls, answer, replayed: is_replayed(ended) };
        let verdict = self.asked("verifier", verifier.verify(&run)).await;
        ended.is_verifier_asked = true;
        match verdict {
            Ok(verdict) => ended.verified = verdict,
            Err(reason) => ended.state.warnings.push(format!("{reason}; tool outcomes judge the run")),
        }
    }

    /// Asks the verifier whether a call was made; without one, or where it fails, nobody knows.
    pub(super) async fn ask_settlement(&self, call: &DoubtfulCall<'_>) -> Settlement {
        let Some(verifier) = &self.inner.verifier else { return Settlement::Unknown };
        self.asked("verifier", verifier.settle(call)).await.unwrap_or_else(|reason| {
            tracing::warn!(run = %call.run, step = call.step.number, reason, "a doubtful step was not settled");
            Settlement::Unknown
        })
    }

    /// The answer of a hook, or in words why there is none.
    async fn asked<T>(&self, hook: &str, work: impl Future<Output = Result<T, BoxError>> + Send) -> Result<T, String> {
        let deadline = self.inner.settings.hook_deadline;
        match tokio::time::timeout(deadline, AssertUnwindSafe(work).catch_unwind()).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err(format!("the {hook} failed: {}", short_reason(&error.to_string()))),
            Ok(Err(_)) => Err(format!("the {hook} panicked")),
            Err(_) => Err(format!("the {hook} did not answer within {} ms", deadline.as_millis())),
        }
    }
}
