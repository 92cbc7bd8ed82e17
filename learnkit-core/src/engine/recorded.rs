//! Learning from a run that somebody recorded: the same gate, distiller and commit.

use super::learn::{Ended, Fate, Outcome, learn};
use super::session::State;
use super::{LearnKit, RunReport};
use crate::Result;
use crate::conversation::RecordedRun;
use crate::record::RunId;
use crate::run::{GateSource, Verdict};

impl LearnKit {
    /// Learns from a recorded run; nothing is replayed and no tool is called. A recording is learned
    /// once for each scope and agent: absent when it was learned before. If its verdict is another
    /// one now, that is reported for the run it was; else nothing is changed.
    ///
    /// # Errors
    /// What the store reports when the run cannot be stored; nothing of it is learned then.
    pub async fn learn_recorded(&self, recorded: RecordedRun) -> Result<Option<RunReport>> {
        let scope = self.inner.reader.scope.to_string();
        let ended = Ended {
            agent: self.agent.clone(),
            task: recorded.task,
            run_id: RunId::derived(&[recorded.run_id.as_str(), &scope, self.agent.as_str()]),
            calls: recorded.calls,
            turns: 1,
            started: recorded.started,
            verified: None,
            is_verifier_asked: false,
            suspended: None,
            state: State::recorded(),
        };
        let outcome = Outcome { answer: recorded.answer, verdict: recorded.verdict, ..Outcome::default() };
        let learned = Box::pin(learn(self, &ended, &outcome)).await;
        match learned.fate {
            Fate::Stored => Ok(Some(learned.report)),
            Fate::Known => {
                self.relabel(&ended.run_id, outcome.verdict).await?;
                Ok(None)
            }
            Fate::Lost(error) => Err(error),
        }
    }

    /// Reports a verdict that differs from what is known of a run.
    async fn relabel(&self, id: &RunId, verdict: Option<Verdict>) -> Result<()> {
        let Some(verdict) = verdict else { return Ok(()) };
        let run = self.run(id).await?;
        let gated = (run.gate.source == GateSource::Caller).then(|| match run.gate.score {
            Some(score) if score >= self.inner.settings.quality_threshold => Verdict::Success,
            _ => Verdict::Failure,
        });
        if run.reports.last().copied().or(gated) == Some(verdict) {
            return Ok(());
        }
        let reported = match verdict {
            Verdict::Success => self.report_success(id).await?,
            Verdict::Failure => self.report_failure(id).await?,
        };
        tracing::debug!(run = %id, changes = reported.len(), "a recording was relabelled");
        Ok(())
    }
}
