//! Runs that did not finish: looking at them, and what people say about them.

use super::journal::new_owner;
use super::learn::traced;
use super::library::trace_id;
use super::resume::held;
use super::{LearnKit, RunReport};
use crate::backend::{Batch, Committed, Page, Put, PutMode, TakeFrom, Taken};
use crate::hook::Settlement;
use crate::record::{Content, Origin, Provenance, Record, RunId, TaskLink, Trace};
use crate::run::{
    CallStatus, DecisionNote, Gate, GateSource, Journal, JournalStep, Mode, StepState, StoredCall, StoredRun,
};
use crate::{Error, ErrorKind, Result};

/// Why an abandoned run has no answer.
const ABANDONED: &str = "it did not finish, and somebody closed it";

impl LearnKit {
    /// Runs of this tenant that have not finished, under way or not, in the order of their ids.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    pub async fn open_runs(&self, after: Option<&RunId>, limit: usize) -> Result<Page<Journal>> {
        let listed = self.inner.store.runs.list_journals(&self.inner.tenant, after, limit);
        self.within("list journals", listed).await
    }

    /// A run of this tenant that has not finished, with every call that was written down.
    ///
    /// # Errors
    /// `NotFound` when there is none, `Corrupt` when it cannot be read.
    pub async fn open_run(&self, id: &RunId) -> Result<Journal> {
        let found = self.within("get journal", self.inner.store.runs.get_journal(&self.inner.tenant, id)).await?;
        found.ok_or_else(|| not_open(id))
    }

    /// Says whether a step that is in doubt was made, so that a retry of its run can go on. Saying the same of a step
    /// twice changes nothing.
    ///
    /// # Errors
    /// `NotFound` when there is no such open run or step, `InvalidInput` for [`Settlement::Unknown`], `Conflict` when
    /// the step is not in doubt or another process holds the run, `Unavailable` when the store cannot be written.
    pub async fn settle(&self, id: &RunId, step: u32, settlement: Settlement) -> Result<Journal> {
        if settlement == Settlement::Unknown {
            return Err(Error::invalid("this says nothing about the step; say that it was made, or that it was not"));
        }
        let owner = new_owner();
        let mut journal = self.take_open(id, &owner, TakeFrom::Nobody).await?;
        let settled = settled(&mut journal, step, &settlement, self.inner.settings.stored_result_bytes);
        let steps = settled.as_ref().map(|step| vec![step.clone()]).unwrap_or_default();
        journal.lease = self.no_lease(&owner);
        // Also where nothing was settled: the run is given back.
        self.write_steps(id, journal.lease.clone(), steps).await?;
        settled.map(|_| journal)
    }

    /// Frees a run from the process that holds it, which the caller knows to be dead; the next retry of its id goes on
    /// with it. A process that is alive after all is refused its next effect.
    ///
    /// # Errors
    /// `NotFound` when there is no such open run, `Unavailable` when the store cannot be written.
    pub async fn release_run(&self, id: &RunId) -> Result<()> {
        let owner = new_owner();
        self.take_open(id, &owner, TakeFrom::Anybody).await?;
        self.give_back(id, &owner).await
    }

    /// Closes a run that nobody will go on with: it is stored as interrupted, with every call that was written down,
    /// and nothing is learned from it. Its id is finished then.
    ///
    /// # Errors
    /// `NotFound` when there is no such open run, `Conflict` when another process holds it, `Unavailable` when the
    /// store cannot be written.
    pub async fn abandon_run(&self, id: &RunId) -> Result<RunReport> {
        let owner = new_owner();
        let journal = self.take_open(id, &owner, TakeFrom::Nobody).await?;
        let run = abandoned(&journal, self.now());
        let puts = vec![Put { record: trace_of(&run), mode: PutMode::Upsert }];
        let batch = Batch { puts, run: Some(run.clone()) };
        match self.within("commit", self.inner.store.commit(batch)).await? {
            Committed::Stored(_) => Ok(RunReport::of(&run, None)),
            Committed::RunExists => Err(not_open(id)),
        }
    }

    async fn take_open(&self, id: &RunId, owner: &str, from: TakeFrom) -> Result<Journal> {
        match self.take(id, owner, from).await? {
            Taken::Journal(journal) => Ok(*journal),
            Taken::Held(lease) => Err(held(id, &lease)),
            Taken::Finished | Taken::Missing => Err(not_open(id)),
        }
    }

    /// Deletes the journals of a task, so that nothing of it is left; returns how many there were.
    pub(super) async fn forget_open_runs(&self, task: &TaskLink) -> Result<usize> {
        let (mut after, mut forgotten) = (None, 0);
        loop {
            let page = self.open_runs(after.as_ref(), super::library::PAGE).await?;
            for journal in page.items.iter().filter(|journal| journal.run.task.key == task.key) {
                forgotten += usize::from(self.forget_open_run(&journal.run.id).await?);
            }
            let Some(next) = page.next else { return Ok(forgotten) };
            after = Some(RunId::new(next)?);
        }
    }

    /// Deletes the journal of a run; `false` when there was none.
    pub(super) async fn forget_open_run(&self, id: &RunId) -> Result<bool> {
        self.within("delete journal", self.inner.store.runs.delete_journal(&self.inner.tenant, id)).await
    }
}

/// Settles a step and returns it as it is written.
fn settled(journal: &mut Journal, number: u32, settlement: &Settlement, limit: usize) -> Result<JournalStep> {
    let step = journal.steps.iter_mut().find(|step| step.number == number).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, format!("the run has no step {number}; `learnkit runs recover RUN` lists them"))
    })?;
    let is_open = matches!(
        (step.state, settlement),
        (StepState::Begun, _)
            | (StepState::SaidDone, Settlement::Done(_))
            | (StepState::SaidNotDone, Settlement::NotDone)
    );
    if !is_open {
        let state = step.state.as_str();
        let message = format!("step {number} is not in doubt ({state}); `learnkit runs recover RUN` shows what is");
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    match settlement {
        Settlement::Done(result) => step.say_done(result.as_ref(), limit),
        Settlement::NotDone | Settlement::Unknown => step.state = StepState::SaidNotDone,
    }
    Ok(step.clone())
}

/// The run that an abandoned journal leaves.
fn abandoned(journal: &Journal, now: jiff::Timestamp) -> StoredRun {
    let run = &journal.run;
    let doubtful = journal.doubtful().map(|step| {
        format!("step {} (`{}`) was in doubt: nobody said whether it was made", step.number, step.call.tool)
    });
    StoredRun {
        id: run.id.clone(),
        tenant: run.tenant.clone(),
        scope: run.scope.clone(),
        agent: run.agent.clone(),
        task: run.task.clone(),
        text: run.text.clone(),
        mode: if run.replay.is_some() { Mode::Guide } else { Mode::Cold },
        reason: ABANDONED.to_owned(),
        replayed: false,
        replay: None,
        planning_calls: journal.steps.iter().filter_map(|step| step.planning_calls).max(),
        synthesis_calls: 0,
        tokens: None,
        arm: None,
        offer: None,
        calls: calls_of(journal),
        answer: None,
        answer_source: None,
        gate: Gate { score: None, source: GateSource::Abstained, reason: ABANDONED.to_owned() },
        reports: Vec::new(),
        trust: None,
        procedure: None,
        procedure_version: None,
        world_check: None,
        decisions: vec![DecisionNote {
            after_calls: journal.steps.len(),
            decision: "abandon".to_owned(),
            reason: ABANDONED.to_owned(),
            candidates: Vec::new(),
        }],
        used: Vec::new(),
        learned: Vec::new(),
        warnings: doubtful.collect(),
        started: run.started,
        finished: now,
    }
}

fn trace_of(run: &StoredRun) -> Record {
    let origin = Origin {
        tenant: run.tenant.clone(),
        scope: run.scope.clone(),
        agent: run.agent.clone(),
        provenance: Provenance { author: "distiller".to_owned(), run: Some(run.id.clone()), model: None },
        at: run.finished,
    };
    let (id, task) = (run.id.clone(), run.text.clone());
    let trace = Trace { run: id, task, outcome: "unknown".to_owned(), calls: traced(run) };
    Record::new(trace_id(&run.id), origin, Content::Trace(trace))
}

/// Every step as a call of the run, `parent` as its place among them.
fn calls_of(journal: &Journal) -> Vec<StoredCall> {
    let place = |number: usize| journal.steps.iter().position(|step| usize::try_from(step.number) == Ok(number));
    let call = |step: &JournalStep| {
        let mut call = StoredCall { parent: step.call.parent.and_then(place), ..step.call.clone() };
        if !step.is_done() {
            let reason = if step.state == StepState::SaidNotDone {
                "it was not made"
            } else {
                "nobody knows whether it was made"
            };
            call.status = CallStatus::Failed { reason: reason.to_owned() };
        }
        call
    };
    journal.steps.iter().map(call).collect()
}

fn not_open(id: &RunId) -> Error {
    let message = format!("no open run `{id}` in this tenant; list them with `learnkit runs recover`");
    Error::new(ErrorKind::NotFound, message)
}
