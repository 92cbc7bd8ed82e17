//! Records and runs for tests: short to write, every field filled where it matters.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::Result;
use crate::backend::JournalWrite;
use crate::json::{Json, JsonKind};
use crate::procedure::{Check, Contract, Dropped, Guard, Holds, LeafShape, Part, Place, Procedure, Shape, Slot, Step};
use crate::record::{
    AgentName, Confidence, Content, Fact, Failure, Heuristic, Kind, Origin, Preference, Provenance, Record, RecordId,
    Revision, RunId, Scope, Skill, Status, Strategy, TaskLink, Tenant, Trace, Trust, Usage,
};
use crate::replay::{Divergence, StopCause};
use crate::run::{
    AnswerSource, Arguments, Arm, CallStatus, CandidateNote, DecisionNote, Gate, JournalStep, LearnedNote, Lease, Mode,
    Offer, OpenReplay, OpenRun, ReplayNote, StepState, StoredCall, StoredRun, Tokens, ToolOutput, Verdict,
};
use crate::task::{Identity, Task, TaskKey};
use crate::tool::{EffectClass, Schema, ToolAnnotations, ToolSpec};

/// The time at which fixtures are made: 2026-01-01T00:00:00Z.
pub const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// Seconds after [`START`].
pub fn after(seconds: i64) -> Timestamp {
    START.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

/// The tenant of every fixture.
pub fn tenant() -> Tenant {
    Tenant::default()
}

/// Where every fixture goes.
pub fn origin() -> Origin {
    Origin {
        tenant: tenant(),
        scope: Scope::default(),
        agent: AgentName::default(),
        provenance: Provenance::caller(),
        at: START,
    }
}

/// An active record without a task.
///
/// # Errors
/// `InvalidInput` when the id breaks the grammar of names.
pub fn record(id: &str, content: Content) -> Result<Record> {
    let mut record = Record::new(RecordId::new(id)?, origin(), content);
    record.status = Status::Active;
    Ok(record)
}

/// An active fact.
///
/// # Errors
/// As for [`record`].
pub fn fact(id: &str, statement: &str) -> Result<Record> {
    record(id, Content::Fact(Fact { statement: statement.to_owned(), source: None, superseded: Vec::new() }))
}

/// The exact task of a text for the identity of the fixtures.
pub fn link(text: &str) -> TaskLink {
    link_of(text, &tenant(), &Scope::default())
}

/// The exact task of a text for a tenant and scope.
pub fn link_of(text: &str, tenant: &Tenant, scope: &Scope) -> TaskLink {
    let task = Task::new(text);
    let identity = Identity { tenant: tenant.clone(), scope: scope.clone(), agent: AgentName::default() };
    TaskLink { key: TaskKey::of(&task, &identity), canonical: task.canonical() }
}

/// An active procedural skill of a task: one call of `tool`.
///
/// # Errors
/// As for [`record`].
pub fn skill(id: &str, task: &str, tool: &str, arguments: &str) -> Result<Record> {
    let mut record = record(id, Content::Skill(Skill::of_procedure(procedure(task, tool, arguments))))?;
    record.task = Some(link(task));
    Ok(record)
}

/// A procedure of one call with a guard, a shape and a recorded result.
pub fn procedure(trigger: &str, tool: &str, arguments: &str) -> Procedure {
    let step = Step {
        tool: tool.to_owned(),
        arguments: Arguments::from_raw(arguments),
        effect: EffectClass::Unknown,
        requires_approval: true,
        group: Some(1),
        slots: vec![Slot {
            argument: "/table".to_owned(),
            parts: vec![Part::Text { text: "t_".to_owned() }, Part::Parameter { name: "table".to_owned() }],
            examples: 2,
        }],
        guards: vec![Guard {
            argument: "/id".to_owned(),
            value: "9007199254740993".to_owned(),
            check: Check::All,
            places: vec![Place { step: 0, path: "/*/id".to_owned(), holds: Holds::Equal }],
        }],
        shape: Shape {
            kind: JsonKind::Object,
            was_empty: false,
            used: vec![LeafShape { pattern: "/rows".to_owned(), kinds: BTreeSet::from([JsonKind::Number]) }],
            other: BTreeMap::from([("/note".to_owned(), BTreeSet::from([JsonKind::Null, JsonKind::Text]))]),
        },
        result: ToolOutput::text(r#"{"rows": 3, "note": "recordedresultword"}"#).stored(1024),
    };
    Procedure {
        trigger: trigger.to_owned(),
        loops: Vec::new(),
        steps: vec![step],
        parameters: BTreeMap::from([("table".to_owned(), "users".to_owned())]),
        varied: BTreeSet::from(["table".to_owned()]),
        contracts: BTreeMap::from([(tool.to_owned(), contract(tool))]),
        answer: Some("3 rows".to_owned()),
        dropped: vec![Dropped { call: 0, tool: "search".to_owned(), reason: "it failed".to_owned() }],
        guide_only: vec!["a call failed that may have changed something".to_owned()],
        unsettled: vec!["an id that nothing recorded gave".to_owned()],
        withheld: Vec::new(),
        template: None,
        source_run: RunId::derived(&["source"]),
        version: 2,
    }
}

/// A contract in which everything is stated.
fn contract(tool: &str) -> Contract {
    let annotations = ToolAnnotations { read_only: Some(false), requires_approval: true, ..ToolAnnotations::default() };
    let spec = ToolSpec::from(annotations).with_description("Looks rows up.").with_version("1.2");
    let schema = Schema::of_json(&Json::Object(BTreeMap::from([(
        "maximum".to_owned(),
        Json::Number("90071992547409930000000001".to_owned()),
    )])));
    Contract::of(tool, &ToolSpec { input_schema: schema.ok(), ..spec })
}

/// One record of every kind, in the order of [`Kind::ALL`], every common field set.
///
/// # Errors
/// As for [`record`].
pub fn one_of_each_kind() -> Result<Vec<Record>> {
    Kind::ALL.into_iter().map(|kind| filled(kind, content(kind)?)).collect()
}

fn filled(kind: Kind, content: Content) -> Result<Record> {
    let mut record = record(&format!("rec_{kind}"), content)?;
    record.revision = Revision(0);
    record.scope = Scope::user("team-a/b")?;
    record.agent = AgentName::new("агент 1")?;
    record.domains = BTreeMap::from([("data_analysis".to_owned(), 0.1 + 0.2), ("данные".to_owned(), 1.0)]);
    record.task_type = Some("report".to_owned());
    record.task = Some(link(&format!("task of {kind}")));
    record.status = Status::Stale;
    "expired — \"quoted\"".clone_into(&mut record.status_reason);
    record.pinned = true;
    record.trust = Trust::Verified;
    record.confidence = Confidence::new(0.1 + 0.7)?;
    record.success_rate = Some(2.0 / 3.0);
    record.usage = Usage {
        reuse_count: u64::from(u32::MAX) + 1,
        help: 2,
        harm: 1,
        harms_in_a_row: 1,
        successes: 4,
        failed_replays: 1,
        suspended: Some("a replay failed".to_owned()),
    };
    record.expires = Some(Timestamp::constant(1_800_000_000, 123_456_789));
    record.last_reinforced = Some(after(60));
    record.last_decayed = Some(after(120));
    record.transfer_domains = vec!["coding".to_owned()];
    record.provenance = Provenance {
        author: "distiller".to_owned(),
        run: Some(RunId::new("run_source")?),
        model: Some("a-model".to_owned()),
    };
    Ok(record)
}

fn content(kind: Kind) -> Result<Content> {
    let text = |text: &str| text.to_owned();
    Ok(match kind {
        Kind::Skill => Content::Skill(Skill {
            trigger: text("build a report"),
            procedure: Some(procedure("build a report", "query", r#"{"id": 9007199254740993}"#)),
            steps: vec![text("query"), text("render")],
            constraints: vec![text("read only")],
            pitfalls: vec![text("the table may be empty")],
        }),
        Kind::Fact => Content::Fact(Fact {
            statement: text("the office has 4 floors"),
            source: Some(text("the handbook")),
            superseded: vec![text("the office has 3 floors")],
        }),
        Kind::Failure => Content::Failure(Failure {
            description: text("export failed"),
            what_to_avoid: text("exporting as xls"),
            error_message: Some(text("unsupported")),
            tools: vec![text("export")],
        }),
        Kind::Strategy => Content::Strategy(Strategy {
            goal: text("migrate a table"),
            phases: vec![text("copy"), text("switch")],
            why: Some(text("no downtime")),
        }),
        Kind::Preference => Content::Preference(Preference { key: text("date format"), value: text("ISO 8601") }),
        Kind::Trace => Content::Trace(Trace {
            run: RunId::new("run_source")?,
            task: text("build a report"),
            outcome: text("success"),
            calls: vec![text("query"), text("render (failed)")],
        }),
        Kind::Heuristic => Content::Heuristic(Heuristic {
            rule: text("count before you delete"),
            exception: Some(text("an empty table")),
        }),
    })
}

/// A finished, successful run of a task with one call, every field set.
///
/// # Errors
/// `InvalidInput` when the id breaks the grammar of names.
pub fn run(id: &str, task: &str) -> Result<StoredRun> {
    Ok(StoredRun {
        id: RunId::new(id)?,
        tenant: tenant(),
        scope: Scope::default(),
        agent: AgentName::default(),
        task: link(task),
        text: task.to_owned(),
        mode: Mode::Guide,
        reason: "no procedure of this task".to_owned(),
        replayed: false,
        planning_calls: Some(2),
        synthesis_calls: 1,
        tokens: Some(Tokens { input: 1_200, output: 80 }),
        arm: Some(Arm::Memory),
        offer: Some(Offer { mode: Mode::Guide, records: vec![RecordId::new("fct_1")?], playbook_tokens: 60 }),
        replay: Some(Box::new(ReplayNote {
            record: RecordId::new("fct_1")?,
            planned: 3,
            made: 2,
            duration_ms: 7,
            in_vain: vec![1],
            stopped: Some(Divergence { step: 1, reason: "удали".to_owned(), cause: StopCause::Failed }),
        })),
        calls: vec![call(r#"{"id": 90071992547409930000000001}"#)],
        answer: Some("готово".to_owned()),
        answer_source: Some(AnswerSource::Planner),
        gate: Gate::of_verdict(Verdict::Success),
        reports: vec![Verdict::Success],
        trust: Some(Trust::Unverified),
        procedure: None,
        procedure_version: None,
        world_check: None,
        decisions: vec![decision()?],
        used: vec![RecordId::new("fct_1")?],
        learned: vec![LearnedNote { id: RecordId::new("skl_1")?, kind: Kind::Skill, change: "learned".to_owned() }],
        warnings: vec!["a tool was slow".to_owned()],
        started: START,
        finished: after(1),
    })
}

/// A run of a task that has not finished, every field set.
///
/// # Errors
/// As for [`run`].
pub fn open_run(id: &str, task: &str) -> Result<OpenRun> {
    Ok(OpenRun {
        id: RunId::new(id)?,
        tenant: tenant(),
        scope: Scope::default(),
        agent: AgentName::default(),
        task: link(task),
        text: task.to_owned(),
        parameters: BTreeMap::from([("table".to_owned(), "users".to_owned())]),
        replay: Some(OpenReplay {
            record: RecordId::new("skl_1")?,
            version: 2,
            parameters: BTreeMap::from([("table".to_owned(), "users".to_owned())]),
            today: jiff::civil::Date::constant(2026, 1, 1),
            time_zone: "+02:00".to_owned(),
        }),
        started: START,
    })
}

/// A step of a journal, every field set.
pub fn journal_step(number: u32, state: StepState) -> JournalStep {
    JournalStep {
        number,
        state,
        call: call(r#"{"id": 90071992547409930000000001}"#),
        annotations: ToolAnnotations { destructive: Some(true), ..ToolAnnotations::default() },
        idempotency_key: format!("key_{number}"),
        planning_calls: Some(3),
    }
}

/// A write of steps by a session that holds the run until so many seconds after [`START`]; it begins the journal
/// where there is none.
///
/// # Errors
/// As for [`run`].
pub fn journal_write(id: &str, owner: &str, until: i64, steps: Vec<JournalStep>) -> Result<JournalWrite> {
    let begin = open_run(id, "pay the bill")?;
    let lease = Lease { owner: owner.to_owned(), until: after(until) };
    Ok(JournalWrite { tenant: tenant(), run: begin.id.clone(), begin: Some(begin), lease, steps })
}

fn call(arguments: &str) -> StoredCall {
    StoredCall {
        tool: "query".to_owned(),
        arguments: Arguments::from_raw(arguments),
        arguments_cut: None,
        result: ToolOutput::text("an answer that is cut").stored(9),
        status: CallStatus::Failed { reason: "the tool returned an error".to_owned() },
        started: START,
        duration_ms: 12,
        group: Some(3),
        parent: Some(0),
        turn: 1,
        replayed: true,
    }
}

fn decision() -> Result<DecisionNote> {
    Ok(DecisionNote {
        after_calls: 1,
        decision: "forward".to_owned(),
        reason: "no procedure".to_owned(),
        candidates: vec![CandidateNote {
            id: RecordId::new("fct_1")?,
            kind: Kind::Fact,
            exact: false,
            score: Some(1.0 / 3.0),
            note: "guides".to_owned(),
        }],
    })
}
