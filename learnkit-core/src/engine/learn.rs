//! The end of a run: gate, learn, account. One commit, idempotent by run id.

mod heals;

use std::sync::Arc;

use jiff::Timestamp;

use super::account::{Answer, stored_run};
use super::changes::{Changes, Heal, failure_id};
use super::journal::Suspension;
use super::library::trace_id;
use super::session::State;
use super::templates::{Shown, TemplateChange};
use super::{LearnKit, RunReport};
use crate::backend::{Committed, MakeBatch};
use crate::lifecycle::{Event, blame, does_the_same};
use crate::procedure::{Distilled, Procedure, Source, Today, distil_read};
use crate::record::{
    AgentName, Confidence, Content, Failure, Origin, Provenance, Record, RecordId, RunId, Skill, TaskLink, Trace, Trust,
};
use crate::replay::StopCause;
use crate::run::{AnswerSource, Gate, GateSource, Reading, StoredRun, ToolCall, Verdict};
use crate::run::{is_outage, short_reason};
use crate::secret::Secrets;
use crate::{BoxError, Error, Result, Task};

/// What the host knows at the end of a run.
#[derive(Clone, Default, PartialEq)]
pub struct Outcome {
    /// The answer.
    pub answer: Option<String>,
    /// What the caller knows of the outcome; the strongest signal.
    pub verdict: Option<Verdict>,
    /// Why the run ended without an answer.
    pub failure: Option<RunFailure>,
    /// The model that planned the run.
    pub model: Option<String>,
}

/// Why a run ended without an answer.
#[derive(Clone, PartialEq, Eq)]
pub struct RunFailure {
    /// The error in words.
    pub message: String,
    /// Whether the environment is to blame (network, outage, cancelled): then nothing is learned of it.
    pub is_environment: bool,
}

impl Outcome {
    /// The run gave an answer.
    pub fn answered(answer: impl Into<String>) -> Self {
        Self { answer: Some(answer.into()), ..Self::default() }
    }

    /// The run ended with an error of the agent itself.
    pub fn failed(message: impl Into<String>) -> Self {
        let failure = RunFailure { message: message.into(), is_environment: false };
        Self { failure: Some(failure), ..Self::default() }
    }

    /// The run was cut short by something outside the agent.
    pub fn interrupted(message: impl Into<String>) -> Self {
        let failure = RunFailure { message: message.into(), is_environment: true };
        Self { failure: Some(failure), ..Self::default() }
    }

    /// The run ended with an error. One that LearnKit marks as transient blames the environment, and so does one
    /// that says that a network was down or a service overloaded.
    pub fn of_error(error: &BoxError) -> Self {
        let transient = error.downcast_ref::<Error>().is_some_and(Error::is_retryable);
        if transient || is_outage(&error.to_string()) {
            Self::interrupted(error.to_string())
        } else {
            Self::failed(error.to_string())
        }
    }

    /// The run was dropped before its end.
    pub(super) fn cancelled() -> Self {
        Self::interrupted("cancelled before the run was finished")
    }

    /// Adds what the caller knows of the outcome.
    #[must_use]
    pub fn with_verdict(mut self, verdict: Option<Verdict>) -> Self {
        self.verdict = verdict;
        self
    }
}

/// Everything that a finished session leaves.
pub(super) struct Ended {
    pub(super) agent: AgentName,
    pub(super) task: Task,
    pub(super) run_id: RunId,
    pub(super) calls: Vec<ToolCall>,
    /// How many user turns there were.
    pub(super) turns: u32,
    pub(super) started: Timestamp,
    /// What the verifier of the host found.
    pub(super) verified: Option<Verdict>,
    pub(super) is_verifier_asked: bool,
    /// Set where a retry by its id goes on with the run, so that it is not stored as finished.
    pub(super) suspended: Option<Suspension>,
    pub(super) state: State,
}

impl std::fmt::Debug for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ended").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}

/// A report, and what became of the run.
pub(super) struct Learned {
    pub(super) report: RunReport,
    pub(super) fate: Fate,
}

/// What became of a run.
pub(super) enum Fate {
    /// It is in the store, with what it taught.
    Stored,
    /// A run of this id was in the store before; nothing was changed.
    Known,
    /// It could not be stored.
    Lost(Error),
}

impl LearnKit {
    /// Leaves an interrupted run to a retry: its journal is given back, nothing is learned.
    pub(super) async fn leave_open(&self, ended: &Ended, outcome: &Outcome) -> Learned {
        let kit = self.with_agent(ended.agent.clone());
        let Lesson { mut run, answer, .. } = Lesson::of(&kit, ended, outcome);
        (run.trust, run.procedure) = (None, None);
        run.warnings.extend(ended.suspended.as_ref().map(|open| format!("the run is not stored: {}", open.reason)));
        let fate = self.finish_cancelled(ended).await;
        if let Fate::Lost(error) = &fate {
            run.warnings.push(format!("its journal was not given back: {}", error.chain()));
        }
        Learned { report: RunReport::of(&run, answer), fate }
    }
}

/// Gates a run, learns from it and stores it.
pub(super) async fn learn(kit: &LearnKit, ended: &Ended, outcome: &Outcome) -> Learned {
    let kit = kit.with_agent(ended.agent.clone());
    let mut lesson = Lesson::of(&kit, ended, outcome);
    lesson.find_siblings().await;
    lesson.find_heal().await;
    lesson.find_templates().await;
    let answer = lesson.answer.clone();
    match lesson.store().await {
        Ok(Committed::Stored(_)) => Learned { report: RunReport::of(&lesson.run, answer), fate: Fate::Stored },
        Ok(Committed::RunExists) => {
            let mut report =
                lesson.earlier_report(answer.clone()).await.unwrap_or_else(|| RunReport::of(&lesson.run, answer));
            report.warnings.push("a run of this id was learned before; nothing was changed".to_owned());
            Learned { report, fate: Fate::Known }
        }
        Err(error) => {
            let warning = format!("the run was not stored: {}", error.chain());
            lesson.run.learned.clear();
            lesson.run.warnings.push(warning);
            Learned { report: RunReport::of(&lesson.run, answer), fate: Fate::Lost(error) }
        }
    }
}

/// One run on its way into memory.
struct Lesson<'a> {
    kit: &'a LearnKit,
    ended: &'a Ended,
    outcome: &'a Outcome,
    now: Timestamp,
    /// The calls, read once.
    readings: Vec<Reading>,
    secrets: Secrets,
    answer: Option<String>,
    run: StoredRun,
    /// Records to change, with what happened to them.
    events: Vec<(RecordId, Event)>,
    /// A new or repeated procedure.
    procedure: Option<Procedure>,
    failure: Option<Failure>,
    /// What the caller or the verifier says did not solve the task.
    refuted: Option<Procedure>,
    /// Procedures of the same task that may do the same.
    siblings: Vec<RecordId>,
    /// What the run means for learned templates.
    templates: Vec<TemplateChange>,
    /// Procedures of the same task that passed.
    relatives: Vec<RecordId>,
    /// The record whose calls the new ones take the place of.
    heal: Option<Heal>,
}

impl<'a> Lesson<'a> {
    fn of(kit: &'a LearnKit, ended: &'a Ended, outcome: &'a Outcome) -> Self {
        let state = &ended.state;
        let (answer, source) = match (&state.answer, &outcome.answer) {
            (Some((text, source)), None) => (Some(text.clone()), Some(*source)),
            (Some((text, source)), Some(given)) if text == given => (Some(text.clone()), Some(*source)),
            (_, Some(given)) => (Some(given.clone()), Some(AnswerSource::Planner)),
            (None, None) => (None, None),
        };
        let now = kit.now();
        let (readings, mut secrets) = Reading::of_calls(&ended.calls, kit.inner.settings.stored_result_bytes);
        if let Some((_, replay)) = &state.replay {
            secrets.extend(replay.secrets());
        }
        let mut run = stored_run(kit, ended, outcome, Answer { text: answer.as_deref(), source });
        run.calls = readings.iter().map(|reading| reading.stored.clone()).collect();
        let mut lesson = Self {
            kit,
            ended,
            outcome,
            now,
            readings,
            secrets,
            answer,
            run,
            events: Vec::new(),
            procedure: None,
            failure: None,
            refuted: None,
            siblings: Vec::new(),
            templates: Vec::new(),
            relatives: Vec::new(),
            heal: None,
        };
        lesson.judge();
        lesson
    }

    fn passes(&self) -> bool {
        self.run.gate.passes(self.kit.inner.settings.quality_threshold)
    }

    fn fails(&self) -> bool {
        self.run.gate.fails(self.kit.inner.settings.quality_threshold) && !self.is_environment()
    }

    fn is_environment(&self) -> bool {
        let is_told = self.outcome.failure.as_ref().is_some_and(|failure| failure.is_environment);
        // An agent that gave up because nothing answered ends with an error of its own.
        let gave_up = || {
            let Ended { calls, turns, .. } = self.ended;
            self.run.gate.source == GateSource::RunError
                && !calls.is_empty()
                && Gate::of_calls(calls, *turns, true).source == GateSource::Abstained
        };
        self.outcome.verdict.is_none() && (is_told || gave_up())
    }

    /// Turns the gate into changes of memory.
    fn judge(&mut self) {
        self.judge_replay();
        if self.run.replayed {
            return;
        }
        if self.passes() {
            self.procedure = self.distilled();
            if self.procedure.is_none() {
                self.run.warnings.push("nothing captured: no call is left to keep".to_owned());
            }
            self.credit_followed();
        } else if self.fails() {
            self.refuted = if self.run.gate.source.is_verdict() { self.distilled() } else { None };
            self.credit_followed();
            self.failure = Some(self.describe_failure());
        }
    }

    fn judge_replay(&mut self) {
        let Some((record, replay)) = &self.ended.state.replay else { return };
        // Whoever dropped the run says nothing about the procedure.
        if *self.outcome == Outcome::cancelled() {
            return;
        }
        let id = record.id.clone();
        if let Some(divergence) = replay.stopped() {
            // A host that declines a call says nothing about the procedure; the next run asks again.
            if divergence.cause == StopCause::Declined {
                return;
            }
            let tool = replay.procedure().steps.get(divergence.step).map(|step| step.tool.as_str());
            let failed = self.ended.calls.iter().rfind(|call| Some(call.tool.as_str()) == tool && !call.status.is_ok());
            if divergence.is_at_fault() && failed.is_some_and(ToolCall::is_outage) {
                self.run
                    .warnings
                    .push(format!("{divergence}; the environment failed, so that it is not held against it"));
                return;
            }
            let event = Event::ReplayStopped { reason: divergence.to_string(), at_fault: divergence.is_at_fault() };
            self.events.push((id, event));
            return;
        }
        if !self.run.replayed {
            return;
        }
        self.run.used.push(id.clone());
        self.run.procedure = Some(id.clone());
        self.run.procedure_version = Some(replay.procedure().version);
        let verdict = self.run.gate.source.is_verdict();
        if self.passes() {
            self.events.push((id.clone(), Event::Replayed));
            if verdict {
                self.events.push((id, Event::ReportedSuccess));
            }
        } else if self.fails() {
            if record.template().is_some() {
                let reason = "a run that it replayed failed".to_owned();
                self.events.push((id.clone(), Event::Contradicted { reason }));
            }
            self.events.push((id, if verdict { Event::ReportedFailure } else { Event::Harmed }));
            self.refuted = verdict.then(|| replay.procedure().clone());
            self.failure = Some(self.describe_failure());
        }
    }

    /// The day of the run, unless it was recorded on another one.
    fn day(&self) -> Option<Today> {
        let (began, calls, zone) = (self.ended.started, &self.ended.calls, &self.kit.inner.settings.time_zone);
        Today::of_run(began, calls, self.now, zone)
    }

    /// The day of the run, or that of its end.
    fn today(&self) -> Today {
        self.day().unwrap_or_else(|| Today::at(self.now, &self.kit.inner.settings.time_zone))
    }

    fn distilled(&self) -> Option<Procedure> {
        if !self.ended.state.is_whole {
            return None;
        }
        let stored_result_bytes = self.kit.inner.settings.stored_result_bytes;
        let today = self.day();
        let source = Source {
            task: &self.ended.task,
            calls: &self.ended.calls,
            answer: self.answer.as_deref(),
            run: &self.run.id,
            stored_result_bytes,
            today: today.as_ref(),
        };
        let tools = &self.ended.state.tools;
        let normal = tools.normal_arguments(&self.ended.calls, &self.readings);
        let distilled = match &normal {
            Some((calls, readings)) => distil_read(&Source { calls, ..source }, readings, &self.secrets),
            None => distil_read(&source, &self.readings, &self.secrets),
        };
        match distilled {
            Distilled::Procedure(mut procedure) => {
                tools.bind(&mut procedure, self.ended.calls.len());
                Some(*procedure)
            }
            Distilled::Nothing(_) => None,
        }
    }

    /// Finds the procedures of the same task that did, or may have done, what this run did.
    async fn find_siblings(&mut self) {
        let Some(own) = self.procedure.as_ref().or(self.refuted.as_ref()) else { return };
        let state = &self.ended.state;
        let mut looked_up = Vec::new();
        // The same calls have the same id; known effects can be the same under another one, and so can a list
        // be gone through in another way.
        if state.siblings.is_none() && (own.has_known_effects() || own.sees_a_list()) {
            match self.kit.siblings_of(&self.run.task).await {
                Ok(found) => looked_up = found,
                Err(error) => {
                    let warning = format!("other procedures of the task could not be looked up: {}", error.chain());
                    self.run.warnings.push(warning);
                }
            }
        }
        let replayed = state.replay.iter().map(|(record, _)| record);
        let known = state.siblings.iter().flatten().chain(replayed).chain(&looked_up);
        let known: Vec<&Record> = known.collect();
        self.relatives =
            known.iter().filter(|record| self.may_loop_alike(record, own)).map(|record| record.id.clone()).collect();
        let alike = known
            .into_iter()
            .filter(|record| record.procedure().is_some_and(|procedure| does_the_same(procedure, own)));
        self.siblings = alike.map(|record| record.id.clone()).collect();
        self.siblings.push(skill_id(&self.run.task, own));
        self.siblings.sort();
        self.siblings.dedup();
    }

    /// Finds out what a planned success means for learned templates, where the settings ask for it.
    async fn find_templates(&mut self) {
        let (Some(least), Some(own)) = (self.kit.inner.settings.template_replay.min_distinct(), &self.procedure) else {
            return;
        };
        // A text with a secret in it is not compared.
        let is_masked = self.run.task.canonical != self.ended.task.canonical();
        if is_masked || self.secrets.are_in(&self.run.task.canonical) || !self.ended.task.parameters().is_empty() {
            return;
        }
        let is_kept = |index: usize| own.dropped.iter().all(|dropped| dropped.call != index);
        let kept = self.ended.calls.iter().enumerate().filter(|(index, _)| is_kept(*index));
        let shown = Shown {
            task: &self.ended.task,
            run: &self.run.id,
            procedure: own,
            record: self.heal.as_ref().map_or_else(|| skill_id(&self.run.task, own), |heal| heal.record.clone()),
            trust: self.trust(),
            today: self.today(),
            calls: kept.map(|(_, call)| call).collect(),
        };
        match self.kit.shown_template(&shown, least).await {
            Ok(changes) => self.templates = changes,
            Err(error) => {
                self.run.warnings.push(format!("templates could not be looked up: {}", error.chain()));
            }
        }
    }

    /// Whether one of them may go through a list as the other does, or does not.
    fn may_loop_alike(&self, record: &Record, own: &Procedure) -> bool {
        let is_own_task = record.task.as_ref().is_some_and(|link| link.key == self.run.task.key);
        is_own_task && record.procedure().is_some_and(|other| own.has_loops() || other.has_loops())
    }

    /// Whether memory planned a part of the run: then it confirms nothing.
    fn is_partly_replayed(&self) -> bool {
        let is_replaying = self.ended.state.replay.as_ref().is_some_and(|(_, replay)| replay.done_count() > 0);
        is_replaying || self.ended.calls.iter().any(|call| call.replayed)
    }

    /// Credits or blames only records that the run followed: their tools are a prefix of the run's. What a
    /// replay planned was not chosen because of a playbook, so it credits nobody else.
    fn credit_followed(&mut self) {
        if self.ended.state.replay.is_some() {
            return;
        }
        let outer = self.ended.calls.iter().filter(|call| call.parent.is_none());
        let productive: Vec<&str> = outer.filter(|call| call.is_productive()).map(|call| call.tool.as_str()).collect();
        // What this run teaches anew, or refutes, is not counted a second time.
        let own =
            self.procedure.as_ref().or(self.refuted.as_ref()).map(|procedure| skill_id(&self.run.task, procedure));
        let passes = self.passes();
        let guidance = &self.ended.state.guidance;
        for scored in guidance.records.iter().filter(|scored| guidance.playbook.records.contains(&scored.item.id)) {
            let record = &scored.item;
            let tools = record.procedure().map(Procedure::tools).unwrap_or_default();
            if own.as_ref() == Some(&record.id) || tools.is_empty() || !productive.starts_with(&tools) {
                continue;
            }
            let event = if passes { Some(Event::Helped) } else { blame(record, &self.run.task.key, &productive) };
            // Also where the failure says nothing against it: a rate of successes alone would flatter it.
            self.run.used.push(record.id.clone());
            self.events.extend(event.map(|event| (record.id.clone(), event)));
        }
    }

    /// Words of our own; what a tool said stays out of anything that a playbook shows.
    fn describe_failure(&self) -> Failure {
        let outer: Vec<&ToolCall> = self.ended.calls.iter().filter(|call| call.parent.is_none()).collect();
        let broken = outer.iter().rev().find(|call| !call.status.is_ok() && !call.is_outage());
        let what_to_avoid = match (broken, self.run.gate.source) {
            (Some(call), _) => format!("`{}` failed and the run did not recover from it", call.tool),
            (None, GateSource::RunError) => "this way of doing it: the agent ended with an error".to_owned(),
            (None, _) => format!("this way of doing it: {}", self.run.gate.reason),
        };
        let error_message = broken.map(|call| short_reason(call.output.as_text()));
        Failure {
            description: self.run.text.clone(),
            what_to_avoid,
            error_message,
            tools: outer.iter().map(|call| call.tool.clone()).collect(),
        }
    }

    /// Stores everything in one commit over the records as they are then.
    async fn store(&mut self) -> Result<Committed> {
        let changes = Arc::new(self.changes());
        let ids = changes.ids();
        let make: MakeBatch = Arc::new(move |found| changes.batch(found));
        let kit = self.kit;
        let tenant = &kit.inner.tenant;
        let done = kit.within("commit", kit.inner.store.commit_over(tenant, &ids, &make)).await?;
        if let (Committed::Stored(_), Some(run)) = (&done.committed, done.batch.run) {
            self.run = run;
        }
        Ok(done.committed)
    }

    fn changes(&self) -> Changes {
        let has_calls = !self.run.calls.is_empty();
        Changes {
            run: self.run.clone(),
            now: self.now,
            secrets: self.secrets.clone(),
            events: self.events.clone(),
            skill: self.procedure.as_ref().map(|procedure| self.skill(procedure)),
            may_confirm: !self.is_partly_replayed(),
            refuted: self.refuted.clone(),
            siblings: self.siblings.clone(),
            heal: self.heal.clone(),
            today: self.today(),
            templates: self.templates.clone(),
            relatives: self.relatives.clone(),
            failure: self.failure.as_ref().map(|failure| self.failure(failure)),
            trace: has_calls.then(|| self.trace()),
        }
    }

    fn skill(&self, procedure: &Procedure) -> Record {
        let mut record = self
            .new_record(skill_id(&self.run.task, procedure), Content::Skill(Skill::of_procedure(procedure.clone())));
        record.confidence = Confidence::DISTILLED;
        record.trust = self.trust();
        record.usage.successes = 1;
        record.task = Some(self.run.task.clone());
        record
    }

    fn failure(&self, failure: &Failure) -> Record {
        let mut record = self.new_record(failure_id(&self.run, failure), Content::Failure(failure.clone()));
        record.task = Some(self.run.task.clone());
        record
    }

    fn trust(&self) -> Trust {
        match self.run.gate.source {
            source if source.is_verdict() => Trust::Verified,
            _ => Trust::Unverified,
        }
    }

    fn trace(&self) -> Record {
        let outcome = match (self.passes(), self.fails()) {
            (true, _) => "success",
            (_, true) => "failure",
            _ => "unknown",
        };
        let trace = Trace {
            run: self.run.id.clone(),
            task: self.run.text.clone(),
            outcome: outcome.to_owned(),
            calls: traced(&self.run),
        };
        let id = trace_id(&self.run.id);
        // Not linked to the exact task: a task that is repeated a thousand times must stay one quick lookup.
        self.new_record(id, Content::Trace(trace))
    }

    fn new_record(&self, id: RecordId, content: Content) -> Record {
        let origin = Origin {
            tenant: self.run.tenant.clone(),
            scope: self.run.scope.clone(),
            agent: self.run.agent.clone(),
            provenance: Provenance {
                author: "distiller".to_owned(),
                run: Some(self.run.id.clone()),
                model: self.outcome.model.clone(),
            },
            at: self.now,
        };
        let mut record = Record::new(id, origin, content);
        let known = self.ended.state.guidance.classification.clone();
        let classification = known.unwrap_or_else(|| self.kit.classify_offline(&self.ended.task));
        record.domains = classification.domains;
        record.task_type = classification.task_type;
        record
    }

    /// The report of the run that was stored under this id, with the answer that was given now.
    async fn earlier_report(&self, answer: Option<String>) -> Option<RunReport> {
        let stored = self.kit.run(&self.run.id).await.ok()?;
        Some(RunReport::of(&stored, answer))
    }
}

/// The calls of a run as its trace names them.
pub(super) fn traced(run: &StoredRun) -> Vec<String> {
    let outer = run.calls.iter().filter(|call| call.parent.is_none());
    outer.map(|call| if call.status.is_ok() { call.tool.clone() } else { format!("{} (failed)", call.tool) }).collect()
}

/// The id of a procedure of a task: the same calls for the same task are one record.
fn skill_id(task: &TaskLink, procedure: &Procedure) -> RecordId {
    RecordId::derived("skill", &[task.key.as_str(), &procedure.signature()])
}
