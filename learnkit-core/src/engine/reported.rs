//! Reports by run id: what turned out later.

use super::LearnKit;
use crate::lifecycle::Event;
use crate::record::{Kind, RecordId, RunId};
use crate::run::{LearnedNote, StoredRun, Verdict};
use crate::{ErrorKind, Result};

impl LearnKit {
    /// Reports that a run solved its task: what it replayed or learned is verified from now on.
    ///
    /// # Errors
    /// `NotFound` when no such run is stored, `Unavailable` when the store cannot be written.
    pub async fn report_success(&self, run: &RunId) -> Result<Vec<LearnedNote>> {
        self.report(run, Verdict::Success).await
    }

    /// Reports that a run did not solve its task: what it replayed or learned is retired at once,
    /// and what else it used is demoted.
    ///
    /// # Errors
    /// `NotFound` when no such run is stored, `Unavailable` when the store cannot be written.
    pub async fn report_failure(&self, run: &RunId) -> Result<Vec<LearnedNote>> {
        self.report(run, Verdict::Failure).await
    }

    async fn report(&self, id: &RunId, verdict: Verdict) -> Result<Vec<LearnedNote>> {
        self.finish_abandoned().await;
        let mut run = self.run(id).await?;
        // Saying the same twice changes nothing.
        if run.reports.last() == Some(&verdict) {
            return Ok(Vec::new());
        }
        let mut notes = Vec::new();
        for (record, event) in events(&run, verdict) {
            match self.change(&record, &event).await {
                Ok(record) => {
                    let change = format!("{}: {}", record.status, record.status_reason);
                    notes.push(LearnedNote { id: record.id.clone(), kind: record.kind(), change });
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        run.reports.push(verdict);
        run.learned.extend(notes.iter().cloned());
        self.within("update run", self.inner.store.runs.update_run(&run)).await?;
        Ok(notes)
    }
}

/// What a report means for the records of a run.
fn events(run: &StoredRun, verdict: Verdict) -> Vec<(RecordId, Event)> {
    let own = |note: &&LearnedNote| note.kind == Kind::Skill && !run.used.contains(&note.id);
    let mut own: Vec<RecordId> = run.learned.iter().filter(own).map(|note| note.id.clone()).collect();
    let mut followed = run.used.clone();
    if run.replayed {
        own.append(&mut followed);
    }
    own.sort();
    own.dedup();
    match verdict {
        Verdict::Success => own.into_iter().map(|id| (id, Event::ReportedSuccess)).collect(),
        Verdict::Failure => {
            let own = own.into_iter().map(|id| (id, Event::ReportedFailure));
            own.chain(followed.into_iter().map(|id| (id, Event::Harmed))).collect()
        }
    }
}
