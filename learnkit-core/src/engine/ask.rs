//! Asking the hooks of the host: each with a deadline, and none of them can fail a task.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::LearnKit;
use super::account::is_replayed;
use super::learn::{Ended, Outcome};
use crate::error::BoxError;
use crate::hook::{
    Approval, ApprovalRequest, DoubtfulCall, FinishedRun, PlannedReplay, PrecheckAnswer, SecretRequest, Settlement,
};
use crate::procedure::{Procedure, Supplied, Today};
use crate::replay::{Permit, plan_of};
use crate::run::short_reason;
use crate::{Result, Task};

/// Why a replay may not begin.
pub(super) enum Declined {
    /// The precheck said so.
    Refused(String),
    /// The precheck itself failed.
    Broken(String),
}

/// Why a call was not approved.
pub(super) enum Unapproved {
    /// The approver said so.
    Denied(String),
    /// There is no word of it that counts.
    Unanswered(String),
}

impl LearnKit {
    /// What a replay may do on its own, and whether there is somebody to ask.
    pub(super) fn permit(&self) -> Permit {
        Permit { policy: self.inner.settings.replay_policy, has_approver: self.inner.approver.is_some() }
    }

    /// Asks for an approval of one call.
    pub(super) async fn ask_approver(&self, request: &ApprovalRequest<'_>) -> Result<(), Unapproved> {
        let Some(approver) = &self.inner.approver else {
            return Err(Unapproved::Unanswered("there is nobody to ask".to_owned()));
        };
        let deadline = self.inner.settings.approval_deadline;
        match self.asked("approver", deadline, approver.approve(request)).await {
            Ok(Approval::Granted(digest)) if digest == request.digest() => Ok(()),
            Ok(Approval::Granted(_)) => {
                Err(Unapproved::Unanswered("the approver granted another call than this one".to_owned()))
            }
            Ok(Approval::Denied(reason)) => {
                Err(Unapproved::Denied(format!("the approver denied it: {}", short_reason(&reason))))
            }
            Err(reason) => Err(Unapproved::Unanswered(reason)),
        }
    }

    /// Whether there is a precheck to ask.
    pub(super) fn has_precheck(&self) -> bool {
        self.inner.precheck.is_some()
    }

    /// Asks the precheck whether a replay may begin; without one it may.
    pub(super) async fn ask_precheck(&self, task: &Task, procedure: &Procedure, today: &Today) -> Result<(), Declined> {
        let Some(precheck) = &self.inner.precheck else { return Ok(()) };
        let calls = plan_of(procedure, task.parameters(), today);
        let deadline = self.inner.settings.hook_deadline;
        match self.asked("precheck", deadline, precheck.check(&PlannedReplay { task, calls: &calls })).await {
            Ok(PrecheckAnswer::Pass) => Ok(()),
            Ok(PrecheckAnswer::Refuse(reason)) => {
                Err(Declined::Refused(format!("the precheck refused: {}", short_reason(&reason))))
            }
            Err(reason) => Err(Declined::Broken(reason)),
        }
    }

    /// Whether there is somebody to supply the secrets that a procedure takes.
    ///
    /// # Errors
    /// The reason in words, which names the first of them.
    pub(super) fn has_secrets_for(&self, procedure: &Procedure) -> Result<(), String> {
        match procedure.secrets().keys().next() {
            Some(name) if self.inner.secret_provider.is_none() => {
                Err(format!("it takes the secret `{name}`; supply it with `Builder::secret_provider`"))
            }
            _ => Ok(()),
        }
    }

    /// Asks for every secret that a procedure takes.
    pub(super) async fn ask_secrets(&self, task: &Task, procedure: &Procedure) -> Result<Supplied, Declined> {
        let (Some(provider), secrets) = (&self.inner.secret_provider, procedure.secrets()) else {
            return Ok(Supplied::new());
        };
        let mut supplied = Supplied::new();
        let asking = async {
            for (name, (tool, argument)) in secrets {
                let value = provider.secret(&SecretRequest { name, tool, argument, task }).await?;
                let Some(value) = value.filter(|value| !value.expose().is_empty()) else { return Ok(Some(name)) };
                supplied.insert(name.to_owned(), value);
            }
            Ok(None)
        };
        match self.asked("secret provider", self.inner.settings.hook_deadline, asking).await {
            Ok(None) => Ok(supplied),
            Ok(Some(name)) => Err(Declined::Refused(format!("the secret provider has no value for `{name}`"))),
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
        let verdict = self.asked("verifier", self.inner.settings.hook_deadline, verifier.verify(&run)).await;
        ended.is_verifier_asked = true;
        match verdict {
            Ok(verdict) => ended.verified = verdict,
            Err(reason) => ended.state.warnings.push(format!("{reason}; tool outcomes judge the run")),
        }
    }

    /// Asks the verifier whether a call was made; without one, or where it fails, nobody knows.
    pub(super) async fn ask_settlement(&self, call: &DoubtfulCall<'_>) -> Settlement {
        let Some(verifier) = &self.inner.verifier else { return Settlement::Unknown };
        self.asked("verifier", self.inner.settings.hook_deadline, verifier.settle(call)).await.unwrap_or_else(
            |reason| {
                tracing::warn!(run = %call.run, step = call.step.number, reason, "a doubtful step was not settled");
                Settlement::Unknown
            },
        )
    }

    /// The answer of a hook, or in words why there is none.
    async fn asked<T>(
        &self,
        hook: &str,
        deadline: Duration,
        work: impl Future<Output = Result<T, BoxError>> + Send,
    ) -> Result<T, String> {
        match tokio::time::timeout(deadline, AssertUnwindSafe(work).catch_unwind()).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err(format!("the {hook} failed: {}", short_reason(&error.to_string()))),
            Ok(Err(_)) => Err(format!("the {hook} panicked")),
            Err(_) => Err(format!("the {hook} did not answer within {} ms", deadline.as_millis())),
        }
    }
}
