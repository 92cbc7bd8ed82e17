//! What the tests of LearnKit share: a memory with a clock that stands still, a world of tools that a
//! test changes, and a planner that follows a script.

pub mod bank;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use learnkit::backend::{RunFilter, ScanRequest};
use learnkit::engine::{
    Builder, Outcome, Planner, PlannerReply, PlanningTurn, ReactOptions, Session, SessionOptions, View,
};
use learnkit::record::{Content, Fact, Kind, Origin, Provenance, Record, RecordId};
use learnkit::run::{Arguments, StoredRun, ToolOutput};
use learnkit::tool::{ToolAnnotations, ToolSet, ToolSpec};
use learnkit::{BoxError, Error, LearnKit, RunReport, Task, async_trait, run_react_agent};
use learnkit_core::testing::ManualClock;
use serde_json::Value;

/// A memory on embedded SQLite, in memory, and its clock.
pub async fn memory() -> (LearnKit, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new("2026-01-05T08:00:00Z".parse().unwrap()));
    (builder(&clock).build().await.unwrap(), clock)
}

/// A builder of such a memory.
pub fn builder(clock: &Arc<ManualClock>) -> Builder {
    LearnKit::builder().backend("sqlite::memory:").clock(clock.clone())
}

/// Every record of a kind, in the order of ids.
pub async fn of_kind(memory: &LearnKit, kind: Kind) -> Vec<Record> {
    let mut filter = memory.every_record();
    filter.kinds = vec![kind];
    memory.scan(&ScanRequest { filter, after: None, limit: 10_000 }).await.unwrap().items
}

/// Every skill, in the order of ids.
pub async fn skills(memory: &LearnKit) -> Vec<Record> {
    of_kind(memory, Kind::Skill).await
}

/// Every stored run, newest first.
pub async fn stored_runs(memory: &LearnKit) -> Vec<StoredRun> {
    memory.runs(&RunFilter::newest(memory.tenant().clone(), 10_000)).await.unwrap().items
}

/// Everything that the store holds, as one text.
pub async fn stored_text(memory: &LearnKit) -> String {
    let all = ScanRequest { filter: memory.every_record(), after: None, limit: 10_000 };
    let records = memory.scan(&all).await.unwrap().items;
    serde_json::to_string(&records).unwrap() + &serde_json::to_string(&stored_runs(memory).await).unwrap()
}

/// Where a record that the caller writes comes from.
pub fn origin(memory: &LearnKit) -> Origin {
    Origin {
        tenant: memory.tenant().clone(),
        scope: memory.reader().scope.clone(),
        agent: memory.agent().clone(),
        provenance: Provenance::caller(),
        at: "2026-01-05T08:00:00Z".parse().unwrap(),
    }
}

/// A record that the caller writes.
pub fn record(memory: &LearnKit, id: &str, content: Content) -> Record {
    Record::new(RecordId::new(id).unwrap(), origin(memory), content)
}

/// A fact that the caller writes.
pub fn fact(memory: &LearnKit, id: &str, statement: &str) -> Record {
    record(memory, id, Content::Fact(Fact { statement: statement.into(), source: None, superseded: Vec::new() }))
}

/// A session of a task that has made its first decision.
pub async fn begin(memory: &LearnKit, task: &str) -> Session {
    let session = memory.session(Task::new(task), SessionOptions::default()).unwrap();
    session.decide(&View::default()).await;
    session
}

/// Runs a task that makes one call `tool({})`, which works, and ends with this outcome.
pub async fn run_once(memory: &LearnKit, task: &str, tool: &str, outcome: &Outcome) -> RunReport {
    let session = begin(memory, task).await;
    session.tracker().record(tool, serde_json::json!({}), "done");
    session.finish(outcome).await
}

/// What a tool does next.
#[derive(Debug, Clone)]
pub enum Reply {
    /// It gives this result.
    Result(String),
    /// It fails.
    Error(String),
    /// It panics.
    Panic,
}

impl From<Value> for Reply {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Result(text),
            other => Self::Result(other.to_string()),
        }
    }
}

/// Tools with results that a test sets, and the log of their calls.
#[derive(Debug, Clone, Default)]
pub struct World {
    tools: Arc<Mutex<BTreeMap<String, (Reply, ToolSpec)>>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// A world of tools with fixed results.
    pub fn new<const N: usize>(tools: [(&str, Value); N]) -> Self {
        let world = Self::default();
        for (name, result) in tools {
            world.set(name, result);
        }
        world
    }

    /// Sets what a tool does from now on.
    pub fn set(&self, tool: &str, reply: impl Into<Reply>) {
        let mut tools = self.tools.lock().unwrap();
        let spec = tools.get(tool).map(|(_, spec)| spec.clone()).unwrap_or_default();
        tools.insert(tool.to_owned(), (reply.into(), spec));
    }

    /// Sets the hints of a tool.
    pub fn annotate(&self, tool: &str, annotations: ToolAnnotations) {
        if let Some((_, spec)) = self.tools.lock().unwrap().get_mut(tool) {
            spec.annotations = annotations;
        }
    }

    /// Sets everything that a tool says about itself.
    pub fn specify(&self, tool: &str, spec: ToolSpec) {
        if let Some(entry) = self.tools.lock().unwrap().get_mut(tool) {
            entry.1 = spec;
        }
    }

    /// Takes a tool away.
    pub fn remove(&self, tool: &str) {
        self.tools.lock().unwrap().remove(tool);
    }

    /// The calls since the last look, as `tool {arguments}`.
    pub fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    /// The tools as an agent gets them.
    pub fn tools(&self) -> ToolSet {
        let specs: Vec<(String, ToolSpec)> =
            self.tools.lock().unwrap().iter().map(|(name, (_, spec))| (name.clone(), spec.clone())).collect();
        specs.into_iter().fold(ToolSet::new(), |tools, (name, spec)| {
            let world = self.clone();
            let tool = name.clone();
            tools.with_spec(name, spec, move |arguments: Arguments| {
                let reply = world.answer(&tool, &arguments);
                async move {
                    match reply {
                        Reply::Result(text) => Ok(ToolOutput::text(text)),
                        Reply::Error(error) => Err(error.into()),
                        Reply::Panic => panic!("the test wants a panic"),
                    }
                }
            })
        })
    }

    fn answer(&self, tool: &str, arguments: &Arguments) -> Reply {
        self.log.lock().unwrap().push(format!("{tool} {}", arguments.raw()));
        let tools = self.tools.lock().unwrap();
        tools.get(tool).map_or(Reply::Error("gone".to_owned()), |(reply, _)| reply.clone())
    }
}

/// A planner that replies from a script; after its end it answers `done`. A call that is asked only
/// for an answer gets `worded anew`.
#[derive(Debug, Default)]
pub struct Script {
    replies: Mutex<VecDeque<PlannerReply>>,
    playbooks: Mutex<Vec<String>>,
    asked: AtomicU32,
    synthesized: AtomicU32,
}

impl Script {
    /// A script of calls, then the answer.
    pub fn new<const N: usize>(calls: [(&str, Value); N], answer: &str) -> Self {
        let mut replies: VecDeque<_> =
            calls.into_iter().map(|(tool, arguments)| PlannerReply::call(tool, arguments)).collect();
        replies.push_back(PlannerReply::answer(answer));
        Self::of(replies)
    }

    /// A script of whole replies.
    pub fn of(replies: impl IntoIterator<Item = PlannerReply>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()), ..Self::default() }
    }

    /// How often it was asked to plan.
    pub fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }

    /// How often it was asked to word an answer.
    pub fn synthesized(&self) -> u32 {
        self.synthesized.load(Ordering::SeqCst)
    }

    /// The playbooks it was given.
    pub fn playbooks(&self) -> Vec<String> {
        self.playbooks.lock().unwrap().clone()
    }
}

#[async_trait]
impl Planner for Script {
    async fn plan(&self, turn: &PlanningTurn<'_>) -> Result<PlannerReply, BoxError> {
        if turn.answer_only {
            self.synthesized.fetch_add(1, Ordering::SeqCst);
            return Ok(PlannerReply::answer("worded anew"));
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.playbooks.lock().unwrap().push(turn.playbook.clone());
        let next = self.replies.lock().unwrap().pop_front();
        Ok(next.unwrap_or_else(|| PlannerReply::answer("done")))
    }
}

/// Runs a task with a script and without options.
pub async fn run(memory: &LearnKit, task: &str, world: &World, script: &Script) -> Result<RunReport, Error> {
    run_react_agent(memory, task, &world.tools(), script, ReactOptions::default()).await
}

/// A planner that must not be asked.
pub fn nobody() -> Script {
    Script::of([])
}
