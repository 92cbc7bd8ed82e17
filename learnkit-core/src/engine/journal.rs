//! Writing the journal of a session: what is about to be called before it is, and what came of it after.
//!
//! Only calls that LearnKit itself makes are journaled. Before a possible effect goes out, what came before it and the
//! intent are on the disk; reads ride along with the next effect. Not here: how a run goes on from a journal
//! (`resume`), and what people say about one (`recover`).

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;

use futures_util::future::{Either, select};
use jiff::{SignedDuration, Timestamp};

use super::session::Session;
use super::{LearnKit, lock};
use crate::backend::{JournalWrite, Journaled};
use crate::record::RunId;
use crate::run::{
    CallDraft, Journal, JournalStep, Lease, OpenReplay, OpenRun, Reading, StepState, ToolCall, ToolOutput,
};
use crate::secret::{Secrets, mask_text};
use crate::tool::EffectClass;
use crate::{Error, ErrorKind, Result};

/// The journal of one session.
#[derive(Debug)]
pub(super) struct Journaling {
    /// The token by which the store knows the session.
    owner: String,
    /// Whether the caller chose the run's id: then a retry may come.
    is_named: bool,
    state: Mutex<State>,
    /// One write at a time, so that whoever finds nothing left to write knows that it is on the disk.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    /// What the store has not been told yet.
    unwritten: Vec<Noted>,
    last_number: u32,
    /// The numbers of calls by their place in the tracker.
    numbers: BTreeMap<usize, u32>,
    /// Steps of an earlier process that only began and are made again, by idempotency key.
    begun_before: BTreeMap<String, JournalStep>,
    /// The idempotency keys of what an earlier process made and what worked.
    done_before: BTreeSet<String>,
    /// What was found in the calls so far, to be masked wherever it stands.
    secrets: Secrets,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Phase {
    /// Nothing was written: a run that calls nothing leaves nothing.
    #[default]
    Fresh,
    /// The store has the journal.
    Open,
    /// The store failed; whatever comes now is not written down any more.
    Broken,
    /// Somebody else goes on with the run, or finished it: this session may do nothing any more.
    Lost(String),
}

/// A step that is about to be made.
pub(super) struct StepKey {
    /// What the tool is given to tell a repeat from a new call.
    pub(super) key: String,
    /// The number that the step had before a crash.
    number: Option<u32>,
}

impl Journaling {
    /// The journal of a run that begins.
    pub(super) fn fresh(is_named: bool) -> Self {
        Self { owner: new_owner(), is_named, state: Mutex::default(), writing: tokio::sync::Mutex::default() }
    }

    /// The journal of a run that an earlier process began.
    pub(super) fn resumed(owner: String, journal: &Journal) -> Self {
        let mut state = State { phase: Phase::Open, ..State::default() };
        state.last_number = journal.steps.iter().map(|step| step.number).max().unwrap_or(0);
        for step in &journal.steps {
            if !step.is_done() {
                state.begun_before.insert(step.idempotency_key.clone(), step.clone());
            } else if step.call.status.is_ok() {
                // One that failed is tried again under its key: the service may have acted all the same.
                state.done_before.insert(step.idempotency_key.clone());
            }
        }
        Self { owner, is_named: true, state: Mutex::new(state), writing: tokio::sync::Mutex::default() }
    }

    /// The key of the next call of these that has not been made; `key` gives the one for so many before it.
    pub(super) fn key(&self, before: usize, key: impl Fn(usize) -> String) -> StepKey {
        let mut state = lock(&self.state);
        if state.begun_before.is_empty() && state.done_before.is_empty() {
            return StepKey { key: key(before), number: None };
        }
        // A call that began before the crash is made again under the key that it had.
        let known = state.begun_before.len() + state.done_before.len();
        if let Some(step) = (0..=known).find_map(|before| state.begun_before.remove(&key(before))) {
            return StepKey { key: step.idempotency_key, number: Some(step.number) };
        }
        // Arguments that were masked do not count as equal, so that the count alone could repeat a key.
        let mut free = before;
        while state.done_before.contains(&key(free)) {
            free += 1;
        }
        StepKey { key: key(free), number: None }
    }

    /// Does not wait for a store that has just failed, unless a retry may come.
    pub(super) fn do_without(&self) {
        if !self.is_named {
            lock(&self.state).phase = Phase::Broken;
        }
    }

    /// Why this session may do nothing any more.
    fn lost(&self, run: &RunId) -> Option<Error> {
        let Phase::Lost(reason) = &lock(&self.state).phase else { return None };
        Some(Error::new(ErrorKind::Conflict, reason.clone()).with_context("run_id", run).retryable())
    }

    /// Adds a step to what is written next; a later state of a step replaces an earlier one.
    fn add(&self, noted: Noted) {
        let mut state = lock(&self.state);
        state.unwritten.retain(|known| known.number != noted.number);
        state.unwritten.push(noted);
    }

    fn next_number(&self) -> u32 {
        let mut state = lock(&self.state);
        state.last_number += 1;
        state.last_number
    }
}

/// A step as it is noted; only what is written is made ready for the store.
#[derive(Debug, Clone)]
struct Noted {
    number: u32,
    state: StepState,
    key: String,
    planning_calls: Option<u32>,
    call: ToolCall,
    /// So much of the result is stored, in bytes.
    limit: usize,
}

impl State {
    /// A step as it may be stored: secrets masked, those too that an earlier call gave away.
    fn ready(&mut self, noted: &Noted) -> JournalStep {
        let mut call = Reading::of(&noted.call, noted.limit, &mut self.secrets).stored;
        if !self.secrets.is_empty() {
            let scrub = |text: &mut String| self.secrets.scrub(text);
            call.arguments.each_text(&scrub);
            scrub(&mut call.result.text);
        }
        call.parent = call.parent.and_then(|parent| usize::try_from(*self.numbers.get(&parent)?).ok());
        JournalStep {
            number: noted.number,
            state: noted.state,
            call,
            annotations: noted.call.annotations,
            idempotency_key: noted.key.clone(),
            planning_calls: noted.planning_calls,
        }
    }

    /// Takes steps back that could not be written; what was noted of them meanwhile is newer.
    fn put_back(&mut self, steps: Vec<Noted>) {
        let newer = std::mem::take(&mut self.unwritten);
        let is_old = |step: &Noted| newer.iter().all(|known| known.number != step.number);
        self.unwritten = steps.into_iter().filter(is_old).collect();
        self.unwritten.extend(newer);
    }
}

/// Steps on their way to the store; those that do not arrive go back, also when the write is dropped.
struct OnTheWay<'a> {
    journal: &'a Journaling,
    steps: Vec<Noted>,
}

impl Drop for OnTheWay<'_> {
    fn drop(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        if !steps.is_empty() {
            lock(&self.journal.state).put_back(steps);
        }
    }
}

impl StepKey {
    /// The key of a call that no journal knows.
    pub(super) fn new(key: String) -> Self {
        Self { key, number: None }
    }
}

/// A token that no other session has.
pub(super) fn new_owner() -> String {
    RunId::fresh().to_string()
}

impl LearnKit {
    /// A lease from now on.
    pub(super) fn lease(&self, owner: &str) -> Lease {
        let length = SignedDuration::try_from(self.inner.settings.run_lease).unwrap_or(SignedDuration::MAX);
        Lease { owner: owner.to_owned(), until: self.now().checked_add(length).unwrap_or(Timestamp::MAX) }
    }

    /// A lease that is over: whoever retries next may take the run.
    pub(super) fn no_lease(&self, owner: &str) -> Lease {
        Lease { owner: owner.to_owned(), until: self.now() }
    }

    /// Writes to a journal within the deadline of the store.
    pub(super) async fn write_journal(&self, write: &JournalWrite) -> Result<Journaled> {
        self.within("write journal", self.inner.store.runs.write_journal(write)).await
    }
}

impl Session {
    /// Makes a call and records it, its intent and its outcome in the journal first and last.
    ///
    /// # Errors
    /// The call was not made: `Conflict` when the run is another session's now or somebody denied this call, `Unavailable` when memory planned
    /// it and its intent cannot be written down.
    pub(super) async fn make<F, T, E>(
        &self,
        draft: CallDraft,
        key: StepKey,
        work: F,
        success_when: impl Fn(&ToolOutput) -> Option<bool>,
    ) -> Result<std::result::Result<T, E>>
    where
        F: Future<Output = std::result::Result<T, E>> + Send,
        T: Clone + Into<ToolOutput>,
        E: std::fmt::Display,
    {
        if let Some(reason) = self.denied(draft.tool(), draft.arguments()) {
            return Err(Error::new(ErrorKind::Conflict, reason).with_context("run_id", self.run_id()));
        }
        let Some(journal) = &self.journal else {
            return Ok(self.tracker().begin(draft).make(work, success_when).await);
        };
        if let Some(lost) = journal.lost(self.run_id()) {
            return Err(lost);
        }
        let is_effect = draft.effect() != EffectClass::ReadOnly;
        let number = key.number.unwrap_or_else(|| journal.next_number());
        let (key, planning_calls) = (key.key, self.planning_calls());
        if is_effect {
            let (state, call) = (StepState::Begun, self.tracker().draft_as_call(&draft));
            journal.add(Noted { number, state, key: key.clone(), planning_calls, call, limit: 0 });
            self.write_intent(journal, number, draft.is_planned_by_memory()).await?;
        }
        let pending = self.tracker().begin(draft);
        let index = pending.index();
        lock(&journal.state).numbers.insert(index, number);
        let made = pending.make(work, success_when);
        let result = if is_effect { self.holding(journal, made).await } else { made.await };
        if let Some(call) = self.tracker().call_at(index) {
            let limit = self.kit.inner.settings.stored_result_bytes;
            journal.add(Noted { number, state: StepState::Ended, key, planning_calls, call, limit });
        }
        if is_effect {
            // What could not be written is a warning already, and rides along with the next write.
            let _ = self.flush(journal, Renewal::OnlyWithSteps).await;
        }
        Ok(result)
    }

    /// The intent is on the disk after this, or the call is not made; a planner's call only goes without where the
    /// store fails.
    async fn write_intent(&self, journal: &Journaling, number: u32, is_replay: bool) -> Result<()> {
        let Err(reason) = self.flush(journal, Renewal::OnlyWithSteps).await else { return Ok(()) };
        if let Some(lost) = journal.lost(self.run_id()) {
            return Err(lost);
        }
        if !is_replay {
            return Ok(());
        }
        // It is not made, so nothing may say that it has begun.
        lock(&journal.state).unwritten.retain(|known| known.number != number);
        Err(Error::new(ErrorKind::Unavailable, reason).retryable())
    }

    /// Lets a call be made while the run stays this session's, however long that takes.
    async fn holding<T>(&self, journal: &Journaling, work: impl Future<Output = T>) -> T {
        match select(pin!(work), pin!(self.keep_lease(journal))).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never {},
        }
    }

    async fn keep_lease(&self, journal: &Journaling) -> Infallible {
        loop {
            tokio::time::sleep(self.kit.inner.settings.run_lease / 3).await;
            // A failure is a warning already, and the next effect is refused where the run is lost.
            let _ = self.flush(journal, Renewal::Always).await;
        }
    }

    /// Writes everything that is not written yet, or says why that is impossible.
    async fn flush(&self, journal: &Journaling, renewal: Renewal) -> Result<(), String> {
        let _one = journal.writing.lock().await;
        let (phase, is_idle) = {
            let state = lock(&journal.state);
            (state.phase.clone(), state.unwritten.is_empty())
        };
        match phase {
            Phase::Broken => return Err("its journal cannot be written".to_owned()),
            Phase::Lost(reason) => return Err(reason),
            // A call beside this one has written it.
            Phase::Open if is_idle && renewal == Renewal::OnlyWithSteps => return Ok(()),
            Phase::Fresh | Phase::Open => {}
        }
        let mut sent = OnTheWay { journal, steps: std::mem::take(&mut lock(&journal.state).unwritten) };
        let lease = self.kit.lease(&journal.owner);
        let write = self.journal_write(journal, &sent.steps, phase == Phase::Fresh, lease);
        let journaled = self.kit.write_journal(&write).await;
        if matches!(journaled, Ok(Journaled::Written)) {
            sent.steps.clear();
        }
        drop(sent);
        let is_lasting = journal.is_named && phase == Phase::Open && journaled.is_err();
        let (after, reason) = after(journaled);
        let is_broken = after == Phase::Broken;
        // Of a run that a retry may take, every later effect asks again whether the run is still its own.
        lock(&journal.state).phase = if is_lasting { Phase::Open } else { after };
        let Some(reason) = reason else { return Ok(()) };
        if is_broken {
            self.warn(format!("{reason}; what the run does from now on is not written down"));
        }
        Err(reason)
    }

    /// A write of these steps.
    fn journal_write(&self, journal: &Journaling, steps: &[Noted], begins: bool, lease: Lease) -> JournalWrite {
        let supplied = self.replay_under_way(|_, replay| replay.secrets());
        let steps = {
            let mut state = lock(&journal.state);
            state.secrets.extend(supplied.unwrap_or_default());
            steps.iter().map(|noted| state.ready(noted)).collect()
        };
        let begin = begins.then(|| self.header());
        JournalWrite { tenant: self.kit.inner.tenant.clone(), run: self.run_id().clone(), begin, lease, steps }
    }

    fn header(&self) -> OpenRun {
        let replay = self.replay_under_way(|record, replay| OpenReplay {
            record: record.id.clone(),
            version: replay.procedure().version,
            parameters: replay.parameters().clone(),
            today: replay.today().date_here(),
            time_zone: replay.today().zone().name().to_owned(),
        });
        OpenRun {
            id: self.run_id().clone(),
            tenant: self.kit.inner.tenant.clone(),
            scope: self.kit.inner.reader.scope.clone(),
            agent: self.kit.agent.clone(),
            task: self.kit.link(self.task()),
            text: mask_text(self.task().text()).text,
            parameters: self.task().parameters().clone(),
            replay,
            started: self.started,
        }
    }

    /// What gives an interrupted run of the caller's own id back, so that a retry goes on with it; absent where the
    /// run ends as any other.
    pub(super) fn suspension(&self) -> Option<Suspension> {
        let journal = self.journal.as_ref()?;
        let phase = lock(&journal.state).phase.clone();
        match phase {
            // Its steps are another session's affair.
            Phase::Lost(reason) => Some(Suspension { write: None, reason }),
            _ if !journal.is_named => None,
            // What is written stays; the lease runs out by itself.
            Phase::Broken => Some(Suspension { write: None, reason: "its journal cannot be written".to_owned() }),
            Phase::Fresh | Phase::Open => {
                let lease = self.kit.no_lease(&journal.owner);
                let steps = std::mem::take(&mut lock(&journal.state).unwritten);
                let write = self.journal_write(journal, &steps, phase == Phase::Fresh, lease);
                let reason = "interrupted; a retry with its id goes on with it, and `learnkit runs recover` lists it";
                Some(Suspension { write: Some(write), reason: reason.to_owned() })
            }
        }
    }

    /// Why this session may do nothing any more, where it lost its run.
    pub(super) fn lost(&self) -> Option<Error> {
        self.journal.as_ref()?.lost(self.run_id())
    }
}

/// Whether a write is made only for its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    Always,
    OnlyWithSteps,
}

/// The phase after a write, and why it was not made.
fn after(journaled: Result<Journaled>) -> (Phase, Option<String>) {
    let lost = |reason: String| (Phase::Lost(reason.clone()), Some(reason));
    match journaled {
        Ok(Journaled::Written) => (Phase::Open, None),
        Ok(Journaled::Held(lease)) => lost(format!(
            "another process goes on with this run and holds it until {}; leave it to that one",
            lease.until
        )),
        Ok(Journaled::Finished) => lost("somebody else has finished this run; see `learnkit runs show`".to_owned()),
        Ok(Journaled::Missing) => (Phase::Broken, Some("its journal was deleted".to_owned())),
        Err(error) => (Phase::Broken, Some(format!("its journal cannot be written: {}", error.chain()))),
    }
}

/// An interrupted run that stays open.
#[derive(Debug)]
pub(super) struct Suspension {
    /// What is still to be written.
    pub(super) write: Option<JournalWrite>,
    /// Why it is not stored as finished.
    pub(super) reason: String,
}
