//! What a run id of the caller leads to: a new run, an open one that is gone on with, or the report of one that is
//! finished. Nothing is made twice, and nothing is repeated while it is in doubt whether it was made.

use std::collections::BTreeMap;

use super::ask::Declined;
use super::choose::{Asked, Choice};
use super::journal::{Journaling, new_owner};
use super::session::{Session, SessionOptions};
use super::{LearnKit, RunReport};
use crate::backend::{JournalWrite, Journaled, TakeFrom, TakeJournal, Taken};
use crate::config::TimeZone;
use crate::hook::{DoubtfulCall, Settlement};
use crate::lifecycle::WorldCheck;
use crate::procedure::Today;
use crate::record::{Record, RunId};
use crate::replay::Replay;
use crate::run::{Arguments, Arm, Journal, JournalStep, Lease, Mode, StepState, ToolCall};
use crate::secret::{MASK, mask_text};
use crate::tool::ToolManifest;
use crate::{Error, ErrorKind, Result, Task};

/// What a run id leads to.
pub(super) enum Begun {
    /// A session whose calls are journaled.
    Session(Box<Session>),
    /// The run was finished before.
    Finished(Box<RunReport>),
}

/// How an open run is gone on with.
pub(super) struct Resumed {
    pub(super) choice: Choice,
    /// The replay, the calls that were made looked at.
    pub(super) replay: Option<Replay>,
    /// On which side of a comparison the run is.
    pub(super) arm: Option<Arm>,
    /// The calls that were made.
    pub(super) calls: Vec<ToolCall>,
    /// Whether all of it was kept as it was; of anything else nothing is learned.
    pub(super) is_whole: bool,
    pub(super) planning_calls: Option<u32>,
}

/// A replay that can be gone on with.
struct Continued {
    record: Record,
    replay: Replay,
    world_check: WorldCheck,
    /// The arguments that were sent, by number of the step.
    sent: BTreeMap<u32, Arguments>,
}

impl LearnKit {
    /// Begins a run, or goes on with the one of this id.
    ///
    /// # Errors
    /// `Conflict` when a run of the id is under way, belongs to another task, or is finished without an answer;
    /// `InDoubt` when nobody knows whether a step of it was made; what the store reports when it cannot be told
    /// whether the id was used before. Nothing was called then.
    pub(super) async fn begin(&self, task: Task, options: SessionOptions) -> Result<Begun> {
        let Some(id) = options.run_id.clone() else {
            let session = self.session(task, options)?;
            // What ends with the process, of a run that nobody can name, would be written for nobody.
            let ends_here = self.inner.store.keeps_both() && !self.inner.store.records.capabilities().durable;
            let session = if ends_here { session } else { session.journaled(Journaling::fresh(false), None) };
            return Ok(Begun::Session(Box::new(session)));
        };
        // A run of this id that was dropped in this process gives it back first.
        self.finish_abandoned().await;
        let session = self.session(task, options)?;
        let owner = new_owner();
        let journal = match self.take(&id, &owner, TakeFrom::Nobody).await.map_err(unread)? {
            Taken::Missing => {
                return Ok(Begun::Session(Box::new(session.journaled(Journaling::fresh(true), None))));
            }
            Taken::Held(lease) => return Err(held(&id, &lease)),
            Taken::Finished => return self.finished(&id, session.task()).await,
            Taken::Journal(journal) => *journal,
        };
        match self.checked_and_settled(session.task(), journal, &owner).await {
            Ok(journal) => {
                let journaling = Journaling::resumed(owner, &journal);
                Ok(Begun::Session(Box::new(session.journaled(journaling, Some(journal)))))
            }
            Err(error) => {
                // Without an answer the lease runs out by itself.
                let _ = self.give_back(&id, &owner).await;
                Err(error)
            }
        }
    }

    /// Takes an open run for a session.
    pub(super) async fn take(&self, id: &RunId, owner: &str, from: TakeFrom) -> Result<Taken> {
        let take = TakeJournal {
            tenant: self.inner.tenant.clone(),
            run: id.clone(),
            lease: self.lease(owner),
            now: self.now(),
            from,
        };
        self.within("take journal", self.inner.store.runs.take_journal(&take)).await
    }

    /// Ends the lease of a run, so that whoever comes next may take it.
    pub(super) async fn give_back(&self, id: &RunId, owner: &str) -> Result<()> {
        self.write_steps(id, self.no_lease(owner), Vec::new()).await
    }

    /// Writes steps of a run that this session holds.
    pub(super) async fn write_steps(&self, id: &RunId, lease: Lease, steps: Vec<JournalStep>) -> Result<()> {
        let write = JournalWrite { tenant: self.inner.tenant.clone(), run: id.clone(), begin: None, lease, steps };
        match self.write_journal(&write).await? {
            Journaled::Written => Ok(()),
            Journaled::Held(lease) => Err(held(id, &lease)),
            Journaled::Finished | Journaled::Missing => {
                let message = "the run was closed meanwhile; look at it with `learnkit runs show`";
                Err(Error::new(ErrorKind::Conflict, message).with_context("run_id", id))
            }
        }
    }

    /// The report of a finished run, given again for the same task.
    async fn finished(&self, id: &RunId, task: &Task) -> Result<Begun> {
        let run = self.run(id).await?;
        if run.task != self.link(task) || run.text != mask_text(task.text()).text {
            return Err(mismatch(id));
        }
        let Some(answer) = &run.answer else {
            let message = "the run of this id is finished without an answer, and what it did is not done again; \
                           look at it with `learnkit runs show`, and use another id to do the task anew";
            return Err(Error::new(ErrorKind::Conflict, message).with_context("run_id", id));
        };
        let mut report = RunReport::of(&run, None);
        report
            .warnings
            .push("a run of this id was finished before; its report is given again and nothing was done".to_owned());
        if answer.contains(MASK) || answer.len() >= self.inner.settings.stored_result_bytes {
            report.warnings.push("the answer is given as it was stored: masked and cut".to_owned());
        }
        Ok(Begun::Finished(Box::new(report)))
    }

    /// Checks that a journal is of this task and settles what is in doubt.
    async fn checked_and_settled(&self, task: &Task, mut journal: Journal, owner: &str) -> Result<Journal> {
        let run = &journal.run;
        if run.task != self.link(task) || run.parameters != *task.parameters() || run.agent != self.agent {
            return Err(mismatch(&run.id));
        }
        let limit = self.inner.settings.stored_result_bytes;
        let mut settled = Vec::new();
        for step in journal.steps.iter_mut().filter(|step| step.is_doubtful()) {
            match self.ask_settlement(&DoubtfulCall { task, run: &run.id, step }).await {
                Settlement::Done(result) => step.say_done(result.as_ref(), limit),
                Settlement::NotDone => step.state = StepState::SaidNotDone,
                Settlement::Unknown => continue,
            }
            settled.push(step.clone());
        }
        if !settled.is_empty() {
            self.write_steps(&run.id, self.lease(owner), settled).await?;
        }
        match in_doubt(&journal) {
            Some(error) => Err(error),
            None => Ok(journal),
        }
    }

    /// Makes of a journal what the session goes on from.
    pub(super) async fn resume(&self, task: &Task, journal: &Journal, tools: Option<&ToolManifest>) -> Resumed {
        let done = journal.steps.iter().filter(|step| step.is_done()).count();
        let continued = self.continued(task, journal, tools).await;
        let today = || Today::at(self.now(), &self.inner.settings.time_zone);
        let arm = self.arm(&journal.run.id);
        let (choice, replay, sent) = match continued {
            Ok(Continued { record, replay, world_check, sent }) => {
                let reason = format!("the run goes on after {done} calls: record {}", record.id);
                let choice = Choice {
                    mode: Mode::Replay,
                    parameters: replay.parameters().clone(),
                    world_check: Some(world_check),
                    record: Some(record),
                    ..Choice::cold(replay.today().clone(), reason)
                };
                (choice, Some(replay), sent)
            }
            Err(_) if arm == Some(Arm::HoldOut) => {
                let reason = format!("the run goes on after {done} calls: the run is in the hold-out arm");
                (Choice::cold(today(), reason), None, BTreeMap::new())
            }
            Err(reason) => {
                let reason = format!("the run goes on after {done} calls with the planner: {reason}");
                (self.guide_or_cold(task, Choice::cold(today(), reason)).await, None, BTreeMap::new())
            }
        };
        let (calls, is_whole) = calls_of(journal, &sent);
        let planning_calls = journal.steps.iter().filter_map(|step| step.planning_calls).max();
        Resumed { choice, replay, arm, calls, is_whole, planning_calls }
    }

    /// The replay that a run began as, after what was made of it.
    async fn continued(
        &self,
        task: &Task,
        journal: &Journal,
        tools: Option<&ToolManifest>,
    ) -> Result<Continued, String> {
        let began = journal.run.replay.as_ref().ok_or("no replay was under way")?;
        let record = self.record(&began.record).await.map_err(|error| error.chain())?;
        let procedure = record.procedure().filter(|procedure| procedure.version == began.version);
        let procedure = procedure.ok_or("its procedure has changed since")?.clone();
        let zone: TimeZone = began.time_zone.parse().map_err(|error: Error| error.chain())?;
        let today = Today::on(began.today, zone);
        let asked = Asked { task, tools, today: &today, values_decide: false, broken_hook: None };
        // A precheck looks at the world before a replay begins; this one has begun.
        let world_check = self.judged(&record, &asked)?;
        let secrets = match self.ask_secrets(task, &procedure).await {
            Ok(secrets) => secrets,
            Err(Declined::Refused(reason) | Declined::Broken(reason)) => return Err(reason),
        };
        let replay = Replay::new(procedure.into(), began.parameters.clone(), today);
        let mut replay = replay.with_secrets(secrets);
        let sent = replay.go_on_after(journal.steps.iter().filter(|step| step.is_done()))?;
        Ok(Continued { record, replay, world_check, sent })
    }
}

/// The calls that were made, as a run has them, and whether all of it was kept as it was.
fn calls_of(journal: &Journal, sent: &BTreeMap<u32, Arguments>) -> (Vec<ToolCall>, bool) {
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    let mut is_whole = true;
    for step in journal.steps.iter().filter(|step| step.is_done()) {
        let parent = step.call.parent.and_then(|parent| places.get(&u32::try_from(parent).ok()?)).copied();
        let mut call = step.to_call(parent);
        match sent.get(&step.number) {
            Some(arguments) => call.arguments = arguments.clone(),
            None => is_whole &= step.call.arguments_cut.is_none() && !call.arguments.raw().contains(MASK),
        }
        is_whole &= step.is_whole();
        places.insert(step.number, calls.len());
        calls.push(call);
    }
    (calls, is_whole)
}

/// Why a run may not go on yet, with the way out.
pub(super) fn in_doubt(journal: &Journal) -> Option<Error> {
    let step = journal.doubtful().next()?;
    let (id, number, tool) = (&journal.run.id, step.number, &step.call.tool);
    let message = format!(
        "step {number} (`{tool}`) of this run began and nobody knows whether it was made, so nothing is done; look there, \
         then say so with `learnkit runs recover {id} --step {number} --done` or `--not-done`, or with `LearnKit::settle`"
    );
    let error = Error::new(ErrorKind::InDoubt, message).with_context("run_id", id).with_context("step", number);
    Some(error.with_context("tool", tool))
}

pub(super) fn held(id: &RunId, lease: &Lease) -> Error {
    let message = format!(
        "another process holds this run until {}; try again then, or free it with `learnkit runs recover {id} --take` \
         where that process is dead",
        lease.until
    );
    Error::new(ErrorKind::Conflict, message).with_context("run_id", id).retryable()
}

fn mismatch(id: &RunId) -> Error {
    let message = "replay mismatch: this run id belongs to another task, other parameters or another agent; \
                   use an id of its own for each task";
    Error::new(ErrorKind::Conflict, message).with_context("run_id", id)
}

/// The one place where memory stops a task: a retry that cannot be told from a first try could repeat effects.
fn unread(error: Error) -> Error {
    let message = "it cannot be told whether this run id was used before, so nothing is done; try again, or leave the \
                   id out where a repeat does no harm";
    let unread = Error::new(error.kind(), message);
    if error.is_retryable() { unread.retryable().with_source(error) } else { unread.with_source(error) }
}
