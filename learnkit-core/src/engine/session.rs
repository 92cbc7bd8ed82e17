//! The session: `decide` at each point where a planner would be asked, `observe` after each call,
//! `finish` at the end. Every door is a thin shell over it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use super::approve::{Approvals, Clearance, ToApprove};
use super::choose::{Choice, Guidance};
use super::journal::{Journaling, Suspension};
use super::learn::{Ended, Fate, Outcome, learn};
use super::resume::Resumed;
use super::seen_tools::SeenTools;
use super::{LearnKit, RunReport, lock};
use crate::lifecycle::WorldCheck;
use crate::record::{Record, RunId};
use crate::replay::{Divergence, Next, Permit, PlannedCall, Replay, render_done};
use crate::retrieve::compose;
use crate::run::{
    AnswerSource, Arguments, Arm, CallDraft, CandidateNote, DecisionNote, Journal, Mode, Offer, Tokens, ToolCall,
    ToolOutput, ToolTracker,
};
use crate::secret::MASK;
use crate::tool::{EffectClass, ToolManifest};
use crate::{Error, ErrorKind, Result, Task};

/// What the host has at hand when it asks for a decision.
#[derive(Debug, Clone, Copy, Default)]
pub struct View<'a> {
    /// The tools that can be called now; absent where the host cannot say.
    pub tools: Option<&'a ToolManifest>,
    /// Whether the host can ask its planner to word an answer.
    pub can_synthesize: bool,
}

/// What to do next.
#[derive(Clone, PartialEq)]
pub enum Decision {
    /// Make these calls as they are, once each; several may run side by side. What needs an approval has one.
    Replay(Vec<PlannedCall>),
    /// The run is complete with this answer.
    Answer {
        /// The answer.
        text: String,
        /// Where it came from.
        source: AnswerSource,
    },
    /// Ask the planner for the next calls.
    Forward {
        /// The playbook and, after a hand-over, the calls that are done; empty when memory has nothing.
        playbook: String,
        /// The calls that a stopped replay has made, or this run before a crash; they must not be made again.
        done: Vec<ToolCall>,
        /// Why the planner is asked.
        reason: String,
    },
    /// Ask the planner for the answer only.
    Synthesize {
        /// The calls that are done.
        done: Vec<ToolCall>,
    },
}

/// How a session starts.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// The caller's own run id; a run id is learned once. Where LearnKit makes the calls
    /// ([`LearningAgent::call_with`](super::LearningAgent::call_with), [`run_react_agent`](super::run_react_agent),
    /// [`LearnKit::prepare_run`] with [`Run::call`](super::Run::call)), a retry with the same id goes on with a run that
    /// did not finish, and does nothing for one that did.
    pub run_id: Option<RunId>,
}

/// One run of one task.
///
/// A session that [`LearnKit::session`] starts writes no journal: its calls are the host's.
///
/// All methods take `&self`. Dropping a session that was not finished stores the run as cancelled
/// with the next `finish` or report of this memory, or at `shutdown`.
pub struct Session {
    pub(super) kit: LearnKit,
    task: Task,
    run_id: RunId,
    tracker: ToolTracker,
    pub(super) started: Timestamp,
    /// Where LearnKit makes the calls.
    pub(super) journal: Option<Journaling>,
    /// What an earlier process left of this run.
    resumed: Option<Journal>,
    pub(super) state: Mutex<State>,
    /// Held while an approval is asked for, so that no call is asked about twice.
    pub(super) asking: tokio::sync::Mutex<()>,
    finishing: tokio::sync::Mutex<Finishing>,
}

/// The end of a session. It is kept until the report is there, so that a `finish` whose future is
/// dropped can be called again.
#[derive(Debug, Default)]
struct Finishing {
    ended: Option<Ended>,
    report: Option<RunReport>,
}

/// What a session knows so far.
#[derive(Debug)]
pub(super) struct State {
    phase: Phase,
    pub(super) mode: Mode,
    pub(super) reason: String,
    pub(super) replay: Option<(Record, Replay)>,
    /// What spoke for the world before the replay began.
    pub(super) world_check: Option<WorldCheck>,
    /// What the host lets a replay do.
    pub(super) permit: Permit,
    pub(super) approvals: Approvals,
    /// The other stored procedures of this exact task; absent where nobody has looked.
    pub(super) siblings: Option<Vec<Record>>,
    /// How many calls of the tracker the replay has looked at.
    pub(super) seen: usize,
    /// How many calls of the tracker an earlier process made.
    resumed: usize,
    /// Whether their results were kept as they were.
    pub(super) is_whole: bool,
    /// Calls that were done before and whose results were given again.
    given_back: BTreeSet<usize>,
    pub(super) tools: SeenTools,
    pub(super) guidance: Guidance,
    pub(super) decisions: Vec<DecisionNote>,
    pub(super) planning_calls: Option<u32>,
    pub(super) synthesis_calls: u32,
    pub(super) tokens: Option<Tokens>,
    pub(super) arm: Option<Arm>,
    pub(super) offer: Option<Offer>,
    pub(super) answer: Option<(String, AnswerSource)>,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Fresh,
    Replaying,
    Planning,
    Answered,
}

impl LearnKit {
    /// Starts a session for a task. Nothing is read or written until the first decision.
    ///
    /// # Errors
    /// `Conflict` when a run of the same id is under way in this process.
    pub fn session(&self, task: Task, options: SessionOptions) -> Result<Session> {
        let run_id = options.run_id.unwrap_or_else(RunId::fresh);
        if !lock(&self.inner.open_runs).insert(run_id.clone()) {
            let error = Error::new(ErrorKind::Conflict, "a run of this id is under way; finish it or use another id");
            return Err(error.with_context("run_id", run_id));
        }
        Ok(Session {
            kit: self.clone(),
            task,
            run_id,
            tracker: ToolTracker::new(Arc::clone(&self.inner.clock)),
            started: self.now(),
            journal: None,
            resumed: None,
            state: Mutex::new(State::fresh()),
            asking: tokio::sync::Mutex::default(),
            finishing: tokio::sync::Mutex::default(),
        })
    }
}

impl Session {
    /// The same session with a journal, and what an earlier process left of its run.
    pub(super) fn journaled(mut self, journal: Journaling, resumed: Option<Journal>) -> Self {
        self.started = resumed.as_ref().map_or(self.started, |resumed| resumed.run.started);
        self.journal = Some(journal);
        self.resumed = resumed;
        self
    }

    /// The run's id.
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The log of calls; recording there is the same as [`Self::observe`].
    pub fn tracker(&self) -> &ToolTracker {
        &self.tracker
    }

    /// How the run is planned so far.
    pub fn mode(&self) -> Mode {
        self.caught_up().mode
    }

    /// Why.
    pub fn reason(&self) -> String {
        self.caught_up().reason.clone()
    }

    /// The whole plan of a replay under way; empty otherwise. Use [`Self::decide`] to take its steps:
    /// it checks each against the results so far, and asks for approvals.
    pub fn plan_steps(&self) -> Vec<PlannedCall> {
        let state = self.caught_up();
        match (&state.replay, state.phase) {
            (Some((_, replay)), Phase::Replaying) if replay.stopped().is_none() => replay.plan(),
            _ => Vec::new(),
        }
    }

    /// The playbook text; empty when memory has nothing to say.
    pub fn playbook(&self) -> String {
        let state = self.caught_up();
        playbook_text(&state, &self.done(&state))
    }

    /// How many planning calls were counted; absent where nobody counts them.
    pub(super) fn planning_calls(&self) -> Option<u32> {
        lock(&self.state).planning_calls
    }

    /// Adds a warning to the report.
    pub(super) fn warn(&self, warning: String) {
        lock(&self.state).warnings.push(warning);
    }

    /// Reads something of the replay, if there is one.
    pub(super) fn replay_under_way<T>(&self, read: impl FnOnce(&Record, &Replay) -> T) -> Option<T> {
        lock(&self.state).replay.as_ref().map(|(record, replay)| read(record, replay))
    }

    /// Stops a replay before its next step; the procedure is not to blame.
    pub(super) fn stop_replay(&self, reason: &str) {
        if let Some((_, replay)) = &mut lock(&self.state).replay {
            replay.halt(reason);
        }
    }

    /// Says that planning calls are counted here; until then the figure is absent.
    pub fn count_planning(&self) {
        lock(&self.state).planning_calls.get_or_insert(0);
    }

    /// Counts one planning call.
    pub fn planning_call(&self) {
        *lock(&self.state).planning_calls.get_or_insert(0) += 1;
    }

    /// Adds what the planner said its calls took, in tokens; until then the figure is absent.
    pub fn planner_tokens(&self, tokens: Tokens) {
        lock(&self.state).tokens.get_or_insert_default().add(tokens);
    }

    /// Records a finished call.
    ///
    /// A host that records after the fact has sent its values already; LearnKit then only tells
    /// whether the plan still holds.
    pub fn observe(&self, call: CallDraft, result: std::result::Result<ToolOutput, String>) {
        let pending = self.tracker.begin(call);
        match result {
            Ok(output) => pending.finish(output, None),
            Err(error) => pending.fail(error),
        }
    }

    /// The result of a call that a stopped replay or an earlier process has made, for a planner that asks for it
    /// again: no side effect is repeated. Each call is given back once; asking again means it. Calls of tools
    /// that only read are made anew.
    pub(crate) fn done_before(&self, tool: &str, arguments: &Arguments) -> Option<ToolOutput> {
        let mut state = self.caught_up();
        let done = state.done_count();
        if done == 0 || state.wants_again(tool, arguments) || state.plans_now(tool, arguments) {
            return None;
        }
        let done = self.tracker.calls().into_iter().enumerate().take(done);
        let found = done.filter(|(index, call)| {
            let is_effect = call.annotations.effect() != EffectClass::ReadOnly;
            call.status.is_ok()
                && is_effect
                && call.tool == tool
                && is_same_call(call, arguments)
                && !state.given_back.contains(index)
        });
        let (index, call) = found.last()?;
        state.given_back.insert(index);
        let note = format!("`{tool}` was done before; its result was given again without a call");
        state.note(self.tracker.call_count(), "keep", &note);
        Some(call.output)
    }

    /// The answer that a synthesis call gave.
    pub fn synthesized(&self, answer: impl Into<String>) {
        let mut state = lock(&self.state);
        state.answer = Some((answer.into(), AnswerSource::Synthesis));
        state.phase = Phase::Answered;
    }

    /// Decides what comes next, given everything observed so far. A step that needs an approval is asked about
    /// here, which may take a person minutes; a dropped future forgets the question, and the next call asks again.
    ///
    /// Never fails: memory that cannot be read gives a cold run and a warning.
    pub async fn decide(&self, view: &View<'_>) -> Decision {
        if lock(&self.state).phase == Phase::Fresh {
            let (arm, permit) = (self.kit.arm(&self.run_id), self.kit.permit());
            match &self.resumed {
                None => {
                    let choice = self.kit.choose(&self.task, view.tools).await;
                    if let Some(journal) = self.journal.as_ref().filter(|_| choice.is_store_broken) {
                        journal.do_without();
                    }
                    lock(&self.state).start(choice, arm, permit);
                }
                Some(journal) => {
                    let resumed = Box::pin(self.kit.resume(&self.task, journal, view.tools)).await;
                    lock(&self.state).go_on(resumed, &self.tracker, permit);
                }
            }
        }
        loop {
            let step = {
                let mut state = self.caught_up();
                state.see(view, &self.tracker);
                state.step(view, &self.tracker)
            };
            match step {
                Step::Decided(decision) => return decision,
                Step::HandOver => return self.hand_over().await,
                Step::Forward => return self.forward(),
                // The answer is weighed with what has happened meanwhile.
                Step::Ask(call) => Box::pin(self.ask_approval(&call)).await,
            }
        }
    }

    /// Gates the run, learns from it and stores it. A second call returns the first report.
    ///
    /// Never fails: what could not be stored is a warning of the report. A dropped future leaves
    /// the run either stored or not; calling it again gives the report. A journaled run of the caller's own id
    /// that was interrupted is not finished: it stays open for a retry.
    pub async fn finish(&self, outcome: &Outcome) -> RunReport {
        let mut finishing = self.finishing.lock().await;
        if let Some(report) = &finishing.report {
            return report.clone();
        }
        let ended = finishing.ended.get_or_insert_with(|| self.end(self.suspension_after(outcome)));
        let learned = if ended.suspended.is_some() {
            Box::pin(self.kit.leave_open(ended, outcome)).await
        } else {
            self.kit.ask_verifier(ended, outcome).await;
            Box::pin(learn(&self.kit, ended, outcome)).await
        };
        *finishing = Finishing { ended: None, report: Some(learned.report.clone()) };
        lock(&self.kit.inner.open_runs).remove(&self.run_id);
        // A store that failed just now would only fail again.
        if !matches!(learned.fate, Fate::Lost(_)) {
            self.kit.finish_abandoned().await;
        }
        learned.report
    }

    /// The planner takes over: the playbook is looked up now, because a replay needs none.
    async fn hand_over(&self) -> Decision {
        let guidance = self.kit.guidance(&self.task).await;
        {
            let mut state = lock(&self.state);
            match guidance {
                Ok(guidance) => state.guidance = guidance,
                Err(error) => state.warnings.push(format!("memory could not be searched: {}", error.chain())),
            }
            if state.guidance.playbook.text.is_empty()
                && let Some((record, _)) = &state.replay
            {
                let own = crate::backend::Scored { item: record.clone(), score: 0.0 };
                state.guidance.playbook = compose(self.task.text(), &[own], self.kit.inner.settings.budget);
            }
        }
        self.forward()
    }

    fn forward(&self) -> Decision {
        let mut state = lock(&self.state);
        let done = self.done(&state);
        let playbook = playbook_text(&state, &done);
        let reason = state.reason.clone();
        state.note(self.tracker.call_count(), "forward", &reason);
        Decision::Forward { playbook, done, reason }
    }

    /// The calls that a stopped replay or an earlier process has made.
    fn done(&self, state: &State) -> Vec<ToolCall> {
        match state.done_count() {
            0 => Vec::new(),
            done => outer(self.tracker.calls().into_iter().take(done).collect()),
        }
    }

    /// The state after the replay has looked at every settled call.
    fn caught_up(&self) -> std::sync::MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        state.catch_up(&self.tracker);
        state
    }

    /// Whether a run that ends like this stays open, because a retry by its id goes on with it.
    fn suspension_after(&self, outcome: &Outcome) -> Option<Suspension> {
        let is_interrupted = outcome.failure.as_ref().is_some_and(|failure| failure.is_environment);
        if is_interrupted || self.lost().is_some() { self.suspension() } else { None }
    }

    fn end(&self, suspended: Option<Suspension>) -> Ended {
        let mut state = self.caught_up();
        Ended {
            agent: self.kit.agent.clone(),
            task: self.task.clone(),
            run_id: self.run_id.clone(),
            calls: self.tracker.calls(),
            turns: self.tracker.turns(),
            started: self.started,
            verified: None,
            is_verifier_asked: false,
            suspended,
            state: std::mem::replace(&mut *state, State::fresh()),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let finishing = std::mem::take(self.finishing.get_mut());
        if finishing.report.is_some() {
            return;
        }
        lock(&self.kit.inner.open_runs).remove(&self.run_id);
        let unfinished = finishing.ended.or_else(|| {
            let is_open = self.tracker.call_count() > 0 || self.resumed.is_some();
            is_open.then(|| self.end(self.suspension()))
        });
        lock(&self.kit.inner.abandoned).extend(unfinished);
    }
}

enum Step {
    Decided(Decision),
    Ask(Box<ToApprove>),
    HandOver,
    Forward,
}

impl State {
    fn fresh() -> Self {
        Self {
            phase: Phase::Fresh,
            mode: Mode::Cold,
            reason: "memory was not asked".to_owned(),
            replay: None,
            world_check: None,
            permit: Permit::default(),
            approvals: Approvals::default(),
            siblings: None,
            seen: 0,
            resumed: 0,
            is_whole: true,
            given_back: BTreeSet::new(),
            tools: SeenTools::default(),
            guidance: Guidance::none(),
            decisions: Vec::new(),
            planning_calls: None,
            synthesis_calls: 0,
            tokens: None,
            arm: None,
            offer: None,
            answer: None,
            warnings: Vec::new(),
        }
    }

    /// The state of a run that was recorded elsewhere.
    pub(super) fn recorded() -> Self {
        let reason = "recorded elsewhere and learned from".to_owned();
        let mut state = Self { phase: Phase::Planning, reason: reason.clone(), ..Self::fresh() };
        state.note(0, "learn", &reason);
        state
    }

    /// How many calls of the run the replay has looked at.
    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    fn start(&mut self, mut choice: Choice, arm: Option<Arm>, permit: Permit) {
        self.permit = permit;
        self.offer = choice.offer();
        self.arm = arm;
        if arm == Some(Arm::HoldOut) {
            choice = choice.held_out();
        }
        self.mode = choice.mode;
        self.reason = choice.reason;
        self.guidance = choice.guidance;
        self.world_check = choice.world_check;
        self.siblings = choice.siblings;
        self.warnings.extend(choice.warnings);
        let procedure = choice.record.as_ref().and_then(|record| record.procedure().cloned());
        self.phase = match (choice.record, procedure) {
            (Some(record), Some(procedure)) => {
                let replay = Replay::new(Arc::new(procedure), choice.parameters, choice.today);
                self.replay = Some((record, replay.with_secrets(choice.secrets)));
                Phase::Replaying
            }
            _ => Phase::Planning,
        };
        self.decisions.push(DecisionNote {
            after_calls: 0,
            decision: format!("start as {}", self.mode),
            reason: self.reason.clone(),
            candidates: choice.candidates,
        });
    }

    /// Starts from what an earlier process made.
    fn go_on(&mut self, resumed: Resumed, tracker: &ToolTracker, permit: Permit) {
        self.start(resumed.choice, None, permit);
        self.arm = resumed.arm;
        if let (Some((_, own)), Some(replay)) = (&mut self.replay, resumed.replay) {
            *own = replay;
        }
        self.planning_calls = self.planning_calls.max(resumed.planning_calls);
        (self.seen, self.resumed) = (resumed.calls.len(), resumed.calls.len());
        self.is_whole = resumed.is_whole;
        tracker.load(resumed.calls);
    }

    /// How many calls of the tracker are done and not to be made again.
    fn done_count(&self) -> usize {
        let stopped = self.replay.as_ref().is_some_and(|(_, replay)| replay.stopped().is_some());
        if stopped { self.seen } else { self.resumed }
    }

    /// Whether a stopped replay has yet to make this call, so that it is wanted once more.
    fn wants_again(&self, tool: &str, arguments: &Arguments) -> bool {
        let mut stopped = self.replay.iter().filter(|(_, replay)| replay.stopped().is_some());
        stopped.any(|(_, replay)| replay.has_open(tool, arguments))
    }

    /// Whether a replay under way makes this call next.
    fn plans_now(&mut self, tool: &str, arguments: &Arguments) -> bool {
        let Some((_, replay)) = self.replay.as_mut().filter(|_| self.phase == Phase::Replaying) else { return false };
        let Next::Calls(calls) = replay.next() else { return false };
        calls.iter().any(|planned| planned.tool == tool && planned.arguments.same_as(arguments))
    }

    fn catch_up(&mut self, tracker: &ToolTracker) {
        // Also after the last step: a call that was not planned makes it another run.
        let is_replay = matches!(self.phase, Phase::Replaying | Phase::Answered);
        let Some((_, replay)) = self.replay.as_mut().filter(|_| is_replay) else { return };
        let settled = tracker.settled_from(self.seen);
        self.seen += settled.len();
        for call in &settled {
            self.approvals.use_up(replay, self.permit, call);
            replay.observe(call);
        }
        if let Some(divergence) = replay.stopped().cloned() {
            self.diverge(&divergence);
        }
    }

    /// Keeps what the tools say about themselves; tools that changed meanwhile stop a replay.
    fn see(&mut self, view: &View<'_>, tracker: &ToolTracker) {
        let Some(tools) = view.tools else { return };
        let is_new = self.tools.note(tracker.started_count(), tools);
        if let Some((_, replay)) = self.replay.as_mut().filter(|_| is_new && self.phase == Phase::Replaying) {
            replay.check_tools(tools);
        }
    }

    fn diverge(&mut self, divergence: &Divergence) {
        self.mode = Mode::Guide;
        self.reason = divergence.to_string();
    }

    fn step(&mut self, view: &View<'_>, tracker: &ToolTracker) -> Step {
        if tracker.turns() > 1 && matches!(self.phase, Phase::Replaying | Phase::Answered) {
            // What the user said next is another task.
            self.phase = Phase::Planning;
        }
        match self.phase {
            Phase::Fresh | Phase::Planning => Step::Forward,
            Phase::Answered => match &self.answer {
                Some((text, source)) => Step::Decided(Decision::Answer { text: text.clone(), source: *source }),
                None => Step::Forward,
            },
            Phase::Replaying => self.replay_step(view, tracker),
        }
    }

    fn replay_step(&mut self, view: &View<'_>, tracker: &ToolTracker) -> Step {
        let Some((_, replay)) = self.replay.as_mut() else { return Step::Forward };
        match replay.next() {
            Next::Calls(calls) => {
                match self.approvals.clearance(replay, self.permit, view.tools, &calls) {
                    Clearance::Given => {}
                    Clearance::Asked(call) => return Step::Ask(call),
                    Clearance::Refused => return self.replay_step(view, tracker),
                }
                let tools = calls.iter().map(|call| call.tool.as_str()).collect::<Vec<_>>().join(", ");
                self.note(tracker.call_count(), "replay", &format!("next proven step: {tools}"));
                Step::Decided(Decision::Replay(calls))
            }
            Next::Diverged(divergence) => {
                self.diverge(&divergence);
                self.phase = Phase::Planning;
                Step::HandOver
            }
            Next::Complete => Step::Decided(self.answer_step(view, tracker)),
        }
    }

    /// The answer of a complete replay (semantics §6).
    fn answer_step(&mut self, view: &View<'_>, tracker: &ToolTracker) -> Decision {
        let recorded = self.replay.as_ref().and_then(|(_, replay)| replay.recorded_answer().map(str::to_owned));
        let calls = tracker.call_count();
        if recorded.is_none() && view.can_synthesize && self.synthesis_calls == 0 {
            self.synthesis_calls = 1;
            self.note(calls, "synthesize", "results differ from the recorded ones");
            return Decision::Synthesize { done: outer(tracker.calls()) };
        }
        let (text, source, reason) = match recorded {
            Some(text) => (text, AnswerSource::Recorded, "every result equals the recorded one"),
            None => (last_result(tracker), AnswerSource::LastResult, "results differ and no planner is at hand"),
        };
        self.note(calls, "answer", reason);
        self.answer = Some((text.clone(), source));
        self.phase = Phase::Answered;
        Decision::Answer { text, source }
    }

    pub(super) fn note(&mut self, after_calls: usize, decision: &str, reason: &str) {
        let note = DecisionNote {
            after_calls,
            decision: decision.to_owned(),
            reason: reason.to_owned(),
            candidates: Vec::<CandidateNote>::new(),
        };
        self.decisions.push(note);
    }
}

/// The playbook and, after a hand-over, the calls that are done.
fn playbook_text(state: &State, done: &[ToolCall]) -> String {
    let mut done = render_done(done, state.approvals.declined());
    if let Some((_, replay)) = &state.replay {
        replay.secrets().scrub(&mut done);
    }
    let block = &state.guidance.playbook.text;
    match (block.is_empty(), done.is_empty()) {
        (_, true) => block.clone(),
        (true, false) => done,
        (false, false) => format!("{block}\n{done}"),
    }
}

/// Whether a call that was made had these arguments; those of an earlier process are known with secrets masked.
fn is_same_call(call: &ToolCall, arguments: &Arguments) -> bool {
    let is_masked = || call.arguments.raw().contains(MASK);
    call.arguments.same_as(arguments) || is_masked() && call.arguments.same_as(&Arguments::from_raw(arguments.masked()))
}

fn outer(calls: Vec<ToolCall>) -> Vec<ToolCall> {
    calls.into_iter().filter(|call| call.parent.is_none()).collect()
}

/// The last productive result as text.
fn last_result(tracker: &ToolTracker) -> String {
    let calls = outer(tracker.calls());
    let last = calls.iter().rev().find(|call| call.is_productive());
    last.map(|call| call.output.as_text().to_owned()).unwrap_or_default()
}
