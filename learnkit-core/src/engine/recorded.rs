//! Learning from a run that somebody recorded: the same gate, distiller and commit.

use super::learn::{Ended, Fate, Outcome, learn};
use super::session::State;
use super::{LearnKit, RunReport};
use crate::Result;
use crate::conversation::RecordedRun;

impl LearnKit {
    /// Learns from a recorded run; nothing is replayed and no tool is called. A run id is learned
    /// once: absent when it was learned before, and then nothing is changed.
    ///
    /// # Errors
    /// What the store reports when the run cannot be stored; nothing of it is learned then.
    pub async fn learn_recorded(&self, recorded: RecordedRun) -> Result<Option<RunReport>> {
        let ended = Ended {
            kit: self.clone(),
            task: recorded.task,
            run_id: recorded.run_id,
            calls: recorded.calls,
            started: recorded.started,
            state: State::recorded(),
        };
        let outcome = Outcome { answer: recorded.answer, verdict: recorded.verdict, ..Outcome::default() };
        let learned = learn(ended, &outcome).await;
        match learned.fate {
            Fate::Stored => Ok(Some(learned.report)),
            Fate::Known => Ok(None),
            Fate::Lost(error) => Err(error),
        }
    }
}
