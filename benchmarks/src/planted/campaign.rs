//! One campaign: a fresh store with one planted record, and users who ask an agent that reads it or not.

use std::sync::Arc;

use jiff::Timestamp;
use learnkit::backend::{PutMode, Store};
use learnkit::config::Settings;
use learnkit::engine::{Decision, LedgerRequest, Outcome, SessionOptions, View};
use learnkit::ledger::Class;
use learnkit::procedure::{Distilled, Source, distil};
use learnkit::record::{Content, Origin, Provenance, Record, RecordId, RunId, Scope, Skill, Status, TaskLink, Trust};
use learnkit::run::{CallDraft, STORED_RESULT_BYTES, ToolCall, ToolTracker};
use learnkit::{BoxError, LearnKit, Task};
use serde_json::json;

use super::design::{Course, Design, TASKS};
use crate::fixture::Still;
use crate::fresh;
use crate::random::Random;

/// The share of runs that is held out.
const HOLDOUT: f64 = 0.5;
const READ: &str = "look_up_supplier";
const WRITE: &str = "post_invoice";

/// A campaign under way.
pub(crate) struct Campaign<'a> {
    design: &'a Design,
    planted: Class,
    memory: LearnKit,
    record: RecordId,
    random: Random,
    name: String,
    runs: usize,
}

impl<'a> Campaign<'a> {
    /// Plants a record of this class.
    pub(crate) async fn begin(design: &'a Design, planted: Class, seed: usize) -> Result<Self, BoxError> {
        let memory = fresh::with(Settings { holdout_rate: HOLDOUT, ..Settings::default() }).await?;
        let record = record(&memory)?;
        memory.store().records.put(&record, PutMode::Create).await?;
        let name = format!("{}-{planted}-{seed}", design.name);
        let random = Random::of(&name, seed);
        Ok(Self { design, planted, memory, record: record.id, random, name, runs: 0 })
    }

    /// One run: the next task, asked by a user who has not asked before, so that nobody's own procedure of it
    /// takes the place of the planted one.
    pub(crate) async fn run(&mut self) -> Result<(), BoxError> {
        let (n, task) = (self.runs, self.random.below(TASKS));
        self.runs += 1;
        let store = Store::clone(self.memory.store());
        let user = Scope::user(&format!("user-{n}"))?;
        let memory = fresh::of_store(store, user, self.memory.settings().clone(), n).await?;
        let options = SessionOptions { run_id: Some(RunId::new(format!("{}-{n}", self.name))?) };
        let session = memory.session(words(task), options)?;
        let Decision::Forward { playbook, .. } = session.decide(&View::default()).await else {
            return Err("a planted record guides and never replays".into());
        };
        session.planning_call();
        let reads = playbook.contains(READ).then_some(self.planted);
        let course = self.design.course(task, reads, &mut self.random);
        for (draft, result) in calls(task, course) {
            session.observe(draft, result.map(Into::into));
        }
        session.finish(&Outcome::answered("It is posted.").with_verdict(course.verdict)).await;
        Ok(())
    }

    /// What the ledger says of the planted record.
    pub(crate) async fn class(&self) -> Result<Class, BoxError> {
        let ledger = self.memory.ledger(&LedgerRequest::default(), |_| ()).await?;
        let known = ledger.records.iter().find(|known| known.id == self.record);
        Ok(known.map_or(Class::NotYet, |known| known.effect.class))
    }
}

fn words(task: usize) -> Task {
    Task::new(format!("Book the invoice of supplier number {}", 100 + task))
}

/// The calls of a run; the errors come first and are overcome.
fn calls(task: usize, course: Course) -> Vec<(CallDraft, Result<&'static str, String>)> {
    let look_up = || CallDraft::new(READ, json!({"number": 100 + task}));
    let errors = (0..course.errors).map(|_| (look_up(), Err("the directory timed out".to_owned())));
    let post = if course.is_left_standing { Err("the period is closed".to_owned()) } else { Ok("posted") };
    let done = [(look_up(), Ok("found")), (CallDraft::new(WRITE, json!({"number": 100 + task})), post)];
    errors.chain(done).collect()
}

/// A public procedure of another task of the same kind, for which a verdict stands: it guides everybody.
fn record(memory: &LearnKit) -> Result<Record, BoxError> {
    let at = Timestamp::UNIX_EPOCH;
    let (task, run) = (Task::new("Book the invoice of a supplier by its number"), RunId::new("planted")?);
    let calls = planted_calls(at);
    let source = Source {
        task: &task,
        calls: &calls,
        answer: Some("It is posted."),
        run: &run,
        stored_result_bytes: STORED_RESULT_BYTES,
        today: None,
    };
    let Distilled::Procedure(procedure) = distil(&source) else { return Err("nothing was distilled".into()) };
    let origin = Origin {
        tenant: memory.tenant().clone(),
        scope: Scope::Public,
        agent: memory.agent().clone(),
        provenance: Provenance { author: "benchmark".to_owned(), run: Some(run), model: None },
        at,
    };
    let mut record =
        Record::new(RecordId::new("skill_planted")?, origin, Content::Skill(Skill::of_procedure(*procedure)));
    record.status = Status::Active;
    record.trust = Trust::Verified;
    record.expires = None;
    record.task = Some(TaskLink { key: memory.key(&task), canonical: task.canonical() });
    Ok(record)
}

fn planted_calls(at: Timestamp) -> Vec<ToolCall> {
    let tracker = ToolTracker::new(Arc::new(Still(at)));
    tracker.record(READ, json!({"number": 99}), "found");
    tracker.record(WRITE, json!({"number": 99}), "posted");
    tracker.calls()
}
