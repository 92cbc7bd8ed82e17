//! Records that are alike in every process: derived ids, one given time, procedures distilled as the
//! engine does it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use learnkit::backend::{AgentFilter, Batch, Put, PutMode, SearchQuery};
use learnkit::config::Settings;
use learnkit::procedure::{Distilled, Procedure, Source, distil};
use learnkit::record::{Content, DomainVector, Origin, Provenance, Record, RecordId, RunId, Skill, TaskLink};
use learnkit::retrieve::RetrievalRequest;
use learnkit::run::{STORED_RESULT_BYTES, ToolCall, ToolTracker};
use learnkit::tool::{ToolAnnotations, ToolManifest};
use learnkit::{BoxError, Clock, LearnKit};
use serde_json::json;

use crate::corpus;
pub(crate) use crate::corpus::task;

/// So many records go into one commit.
const CHUNK: usize = 1_000;
/// Far longer than any operation takes, also under an emulator.
const DEADLINE: Duration = Duration::from_mins(10);

/// A clock that stands still.
#[derive(Debug, Clone, Copy)]
pub struct Still(pub Timestamp);

impl Clock for Still {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Opens a store whose clock stands still at this time.
pub async fn open(uri: &str, at: Timestamp) -> Result<LearnKit, BoxError> {
    let settings = Settings { memory_deadline: DEADLINE, ..Settings::default() };
    Ok(LearnKit::builder().backend(uri).settings(settings).clock(Arc::new(Still(at))).build().await?)
}

/// The tools that its procedure needs.
pub fn tools() -> ToolManifest {
    ["query", "format", "send_mail"].map(|tool| (tool.to_owned(), ToolAnnotations::default())).into()
}

/// The calls of the n-th task.
pub fn calls(n: usize, at: Timestamp) -> Vec<ToolCall> {
    let tracker = ToolTracker::new(Arc::new(Still(at)));
    tracker.record("query", json!({"table": "users", "account": n}), json!([{"name": "Ann", "active": true}]));
    tracker.record("format", json!({"fmt": "csv"}), "name\nAnn\n");
    tracker.record("send_mail", json!({"to": format!("owner-{n}@example.org")}), json!({"queued": true}));
    tracker.calls()
}

/// The procedure that these calls of the n-th task give.
pub fn procedure(n: usize, calls: &[ToolCall]) -> Result<Procedure, BoxError> {
    let task = task(n);
    let source = Source {
        task: &task,
        calls,
        answer: Some("The report is on its way."),
        run: &RunId::derived(&[&n.to_string()]),
        stored_result_bytes: STORED_RESULT_BYTES,
        today: None,
    };
    match distil(&source) {
        Distilled::Procedure(procedure) => Ok(*procedure),
        Distilled::Nothing(_) => Err("nothing was distilled".into()),
    }
}

/// Makes the records of one memory; all hold the procedure of the first task.
#[derive(Debug)]
pub struct Records<'a> {
    memory: &'a LearnKit,
    pattern: Record,
}

impl<'a> Records<'a> {
    /// Distils the procedure once.
    pub fn of(memory: &'a LearnKit, at: Timestamp) -> Result<Self, BoxError> {
        let procedure = procedure(0, &calls(0, at))?;
        let run = Some(procedure.source_run.clone());
        let origin = Origin {
            tenant: memory.tenant().clone(),
            scope: memory.reader().scope.clone(),
            agent: memory.agent().clone(),
            provenance: Provenance { author: "benchmark".to_owned(), run, model: None },
            at,
        };
        let content = Content::Skill(Skill::of_procedure(procedure));
        Ok(Self { memory, pattern: Record::new(RecordId::new("skill_pattern")?, origin, content) })
    }

    /// The record of the n-th task, about 2.4 KB of JSON.
    pub fn record(&self, n: usize) -> Result<Record, BoxError> {
        let task = task(n);
        let mut record = self.pattern.clone();
        record.id = RecordId::new(format!("skill_{n:09}"))?;
        if let Content::Skill(skill) = &mut record.content {
            task.text().clone_into(&mut skill.trigger);
            skill.steps = corpus::steps(n);
        }
        record.task = Some(TaskLink { key: self.memory.key(&task), canonical: task.canonical() });
        Ok(record)
    }

    /// The records of these tasks.
    pub fn records(&self, numbers: Range<usize>) -> Result<Vec<Record>, BoxError> {
        numbers.map(|n| self.record(n)).collect()
    }
}

/// The search for records that guide somebody else's wording of the n-th task, as the engine makes it.
pub fn query(memory: &LearnKit, n: usize, now: Timestamp) -> SearchQuery {
    let request = RetrievalRequest {
        text: corpus::query(n),
        domains: DomainVector::new(),
        tenant: memory.tenant().clone(),
        reader: memory.reader().clone(),
        agent: memory.agent().clone(),
        agents: AgentFilter::Only(memory.agent().clone()),
        now,
        limit: memory.settings().budget.records,
    };
    request.search(request.limit * 2)
}

/// Stores the records of the first n tasks.
pub async fn fill(memory: &LearnKit, n: usize, at: Timestamp) -> Result<(), BoxError> {
    let records = Records::of(memory, at)?;
    for start in (0..n).step_by(CHUNK) {
        let chunk = records.records(start..n.min(start + CHUNK))?.into_iter();
        let puts = chunk.map(|record| Put { record, mode: PutMode::Create }).collect();
        memory.store().records.commit(&Batch { puts, run: None }).await?;
    }
    Ok(())
}
