//! Reports by run id: what turned out later.

use super::LearnKit;
use super::changes::refutation;
use crate::lifecycle::{Event, apply, blame, is_about};
use crate::record::{Kind, Record, RecordId, RunId, Trust};
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
        let mut events = events(&run, verdict);
        if verdict == Verdict::Failure {
            self.add_followed(&run, &mut events).await?;
            self.add_siblings(&run, &mut events).await?;
        }
        for (record, event) in events {
            match self.change_of_run(&record, &event, &run).await {
                Ok(record) => {
                    let change = format!("{}: {}", record.status, record.status_reason);
                    notes.push(LearnedNote { id: record.id.clone(), kind: record.kind(), change });
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        run.reports.push(verdict);
        if run.trust.is_some() {
            run.trust = Some(if verdict == Verdict::Success { Trust::Verified } else { Trust::Unverified });
        }
        run.learned.extend(notes.iter().cloned());
        self.within("update run", self.inner.store.runs.update_run(&run)).await?;
        Ok(notes)
    }

    /// Applies an event, unless it praises calls of the run that others took the place of meanwhile.
    async fn change_of_run(&self, id: &RecordId, event: &Event, run: &StoredRun) -> Result<Record> {
        let (event, now) = (event.clone(), self.now());
        let version = run.procedure_version;
        let is_praise = event == Event::ReportedSuccess;
        let change = move |record: &mut Record| {
            if !is_praise || is_about(record, version) {
                apply(record, &event, now);
            }
        };
        match self.rewrite(id, change).await? {
            Some(record) => Ok(record),
            None => self.record(id).await,
        }
    }

    /// What guided the run is charged as far as the failure speaks against it.
    async fn add_followed(&self, run: &StoredRun, events: &mut Vec<(RecordId, Event)>) -> Result<()> {
        let own = own(run);
        let worked = run.calls.iter().filter(|call| call.parent.is_none() && call.status.is_ok());
        let productive: Vec<&str> = worked.map(|call| call.tool.as_str()).collect();
        let mut followed: Vec<&RecordId> = run.used.iter().filter(|id| !own.contains(id)).collect();
        followed.dedup();
        for id in followed {
            let record = match self.record(id).await {
                Ok(record) => record,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            events.extend(blame(&record, &run.task.key, &productive).map(|event| (record.id, event)));
        }
        Ok(())
    }

    /// What did the same as a procedure that is reported as a failure goes the same way.
    async fn add_siblings(&self, run: &StoredRun, events: &mut Vec<(RecordId, Event)>) -> Result<()> {
        let own: Vec<RecordId> = own(run);
        let stored = self.siblings_of(&run.task).await?;
        for refuted in stored.iter().filter(|record| own.contains(&record.id)).filter_map(Record::procedure) {
            for other in stored.iter().filter(|record| !own.contains(&record.id)) {
                if let Some(event) = refutation(other, refuted) {
                    events.retain(|(id, _)| *id != other.id);
                    events.push((other.id.clone(), event));
                }
            }
        }
        Ok(())
    }
}

/// What a report means for what the run replayed or taught.
fn events(run: &StoredRun, verdict: Verdict) -> Vec<(RecordId, Event)> {
    let event = if verdict == Verdict::Success { Event::ReportedSuccess } else { Event::ReportedFailure };
    own(run).into_iter().map(|id| (id, event.clone())).collect()
}

/// The procedure that a run replayed or taught.
fn own(run: &StoredRun) -> Vec<RecordId> {
    if let Some(id) = &run.procedure {
        return vec![id.clone()];
    }
    // Runs of before this was stored; where they have no trust, they neither replayed nor taught.
    if run.trust.is_none() {
        return Vec::new();
    }
    if run.replayed {
        return run.used.clone();
    }
    let taught = |note: &&LearnedNote| note.kind == Kind::Skill && !run.used.contains(&note.id);
    let mut own: Vec<RecordId> = run.learned.iter().filter(taught).map(|note| note.id.clone()).collect();
    own.sort();
    own.dedup();
    own
}
