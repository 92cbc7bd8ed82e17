//! Learned templates (semantics §3): what other texts of the same words taught, and when it replays.
//!
//! A search finds who may belong together; the proof is the alignment of texts and calls, never the ranking.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::LearnKit;
use super::choose::{Asked, Cleared};
use crate::backend::{AgentFilter, RecordFilter, SearchQuery, Visibility};
use crate::hash::Fingerprint;
use crate::lifecycle::WorldCheck;
use crate::procedure::{Example, Procedure, Sample, Template, Today, aligned};
use crate::record::{Content, Kind, Origin, Provenance, Record, RecordId, RunId, Skill, Status, Trust};
use crate::replay::{Replay, Would, plan_of, would_make};
use crate::run::{CandidateNote, ToolCall};
use crate::task::{Skeleton, TaskKey};
use crate::{Result, Task};

/// So many records of similar words are looked at.
const FOUND: usize = 32;
/// So many of them are aligned with a new run.
const ALIGNED: usize = 16;

/// What a planned success means for templates.
#[derive(Debug, Clone)]
pub(super) enum TemplateChange {
    /// It did otherwise than this one would have.
    Contradicted { id: RecordId, reason: String },
    /// It did what this one would have.
    Followed {
        id: RecordId,
        example: Example,
        /// Its calls as one of the template's; absent where its values are too alike to tell them apart.
        procedure: Option<Box<Procedure>>,
    },
    /// With others it shows a new one.
    Shown(Box<Record>),
}

impl TemplateChange {
    /// The record that it changes.
    pub(super) fn id(&self) -> &RecordId {
        match self {
            Self::Contradicted { id, .. } | Self::Followed { id, .. } => id,
            Self::Shown(record) => &record.id,
        }
    }
}

/// A planned run that passed, with what it taught.
pub(super) struct Shown<'a> {
    pub(super) task: &'a Task,
    pub(super) run: &'a RunId,
    pub(super) procedure: &'a Procedure,
    /// The record of its own exact task.
    pub(super) record: RecordId,
    pub(super) trust: Trust,
    /// Its day.
    pub(super) today: Today,
    /// The calls that its procedure keeps.
    pub(super) calls: Vec<&'a ToolCall>,
}

/// What the templates that read a task come to.
#[derive(Debug, Default)]
pub(super) struct Templated {
    pub(super) chosen: Option<ChosenTemplate>,
    pub(super) notes: Vec<CandidateNote>,
    /// Why none of them may replay.
    pub(super) refusal: Option<String>,
}

/// A template that may replay a task.
#[derive(Debug)]
pub(super) struct ChosenTemplate {
    pub(super) record: Record,
    pub(super) cleared: Cleared,
    pub(super) parameters: BTreeMap<String, String>,
}

impl ChosenTemplate {
    /// Why it replays, with its values.
    pub(super) fn reason(&self) -> String {
        let values = self.parameters.iter().map(|(name, value)| format!("{name} = `{value}`"));
        let values = values.collect::<Vec<_>>().join(", ");
        let unchecked = if self.cleared.world_check == WorldCheck::Unchecked { ", unchecked" } else { "" };
        format!("confirmed template, {} record {} with {values}{unchecked}", self.record.trust, self.record.id)
    }
}

/// A text and procedure that may belong together with others.
struct Sibling<'a> {
    record: &'a Record,
    text: &'a str,
    procedure: &'a Procedure,
}

impl LearnKit {
    /// The skills of this agent whose words are like those of a task, whatever their status.
    async fn similar_skills(&self, task: &Task) -> Result<Vec<Record>> {
        let filter = RecordFilter {
            scopes: self.inner.reader.readable(),
            agents: AgentFilter::Only(self.agent.clone()),
            kinds: vec![Kind::Skill],
            visibility: Visibility::everything(),
            ..self.every_record()
        };
        let query = SearchQuery { text: task.text().to_owned(), filter, limit: FOUND };
        let found = self.within("search", self.inner.store.records.search(&query)).await?;
        Ok(found.into_iter().map(|scored| scored.item).collect())
    }

    /// What everything but the words makes of a task of these words, in the scope of a record.
    fn key_of_words(&self, task: &Task, words: &str, record: &Record) -> TaskKey {
        TaskKey::of_canonical(task, words, &self.identity(&record.scope))
    }

    /// Whether a template is one for tasks like this, apart from the words.
    fn is_for(&self, template: &Template, record: &Record, task: &Task) -> bool {
        template.key == self.key_of_words(task, &template.skeleton.template(), record)
    }

    /// A stored success of a task that is like this one in everything but its words.
    fn sibling<'r>(&self, record: &'r Record, task: &Task) -> Option<Sibling<'r>> {
        let (procedure, link) = (record.procedure()?, record.task.as_ref()?);
        let stands = matches!(record.status, Status::Probation | Status::Active | Status::Stale);
        let is_alike = link.key == self.key_of_words(task, &link.canonical, record);
        let is_own_scope = record.scope == self.inner.reader.scope;
        let is_success = stands && record.usage.successes > 0;
        (is_success && is_alike && is_own_scope).then_some(Sibling { record, text: &link.canonical, procedure })
    }

    /// What a planned success shows about templates.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be searched.
    pub(super) async fn shown_template(&self, shown: &Shown<'_>, least: usize) -> Result<Vec<TemplateChange>> {
        let found = self.similar_skills(shown.task).await?;
        let templates = found.iter().filter_map(|record| Some((record, record.template()?)));
        let mut changes = Vec::new();
        let mut is_read = false;
        for (record, template) in templates.filter(|(record, template)| self.is_for(template, record, shown.task)) {
            let Some(task) = shown.task.read_by(&template.skeleton) else { continue };
            is_read = true;
            // What a run of another scope holds is not written to this one.
            let is_own = record.scope == self.inner.reader.scope;
            let speaks = |change: &TemplateChange| is_own || matches!(change, TemplateChange::Contradicted { .. });
            if template.contradicted.is_none() {
                changes.extend(shown.judge(record, &task).filter(speaks));
            }
        }
        if !is_read {
            let own = shown.task.canonical();
            let siblings = found.iter().filter_map(|record| self.sibling(record, shown.task));
            let siblings: Vec<Sibling<'_>> = siblings.filter(|sibling| sibling.text != own).take(ALIGNED).collect();
            changes
                .extend(self.new_template(shown, &siblings, least).map(|record| TemplateChange::Shown(record.into())));
        }
        Ok(changes)
    }

    /// The template that a run shows together with siblings.
    fn new_template(&self, shown: &Shown<'_>, siblings: &[Sibling<'_>], least: usize) -> Option<Record> {
        let text = shown.task.canonical();
        let own = Sample { text: &text, procedure: shown.procedure };
        let group = (0..siblings.len()).find_map(|first| Group::around(own, siblings, first, least))?;
        let Group { skeleton, members, mut procedure } = group;
        let own = example(shown.run, &shown.record, &text);
        let others =
            members.iter().rev().map(|member| example(&member.procedure.source_run, &member.record.id, member.text));
        let key = TaskKey::of_canonical(shown.task, &skeleton.template(), &self.identity(&self.inner.reader.scope));
        let id = RecordId::derived("template", &[key.as_str()]);
        procedure.version = 1;
        let examples = others.chain([own]).collect();
        procedure.template = Some(Box::new(Template { skeleton, key, examples, contradicted: None }));
        let mut record = Record::new(
            id,
            Origin {
                tenant: self.inner.tenant.clone(),
                scope: self.inner.reader.scope.clone(),
                agent: self.agent.clone(),
                // Its runs are those of its examples.
                provenance: Provenance { author: "distiller".to_owned(), ..Provenance::caller() },
                at: self.now(),
            },
            Content::Skill(Skill::of_procedure(procedure)),
        );
        record.trust = members.iter().map(|member| member.record.trust).fold(shown.trust, Trust::min);
        record.usage.successes = u64::try_from(members.len() + 1).unwrap_or(u64::MAX);
        record.domains = self.classify_offline(shown.task).domains;
        Some(record)
    }

    /// The template that replays a task of which nothing is stored, if exactly one way of doing it is proven.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be read.
    pub(super) async fn by_template(&self, asked: &Asked<'_>, least: usize) -> Result<Templated> {
        let task = asked.task;
        let found = self.similar_skills(task).await?;
        let mut reading: Vec<(&Record, Task)> = Vec::new();
        for record in &found {
            let template = record.template().filter(|template| self.is_for(template, record, task));
            if let Some(read) = template.and_then(|template| task.read_by(&template.skeleton)) {
                reading.push((record, read));
            }
        }
        if let Some(reason) = disagreement(&reading, asked.today) {
            let notes = reading.iter().map(|(record, _)| note(record, &format!("may not replay: {reason}"))).collect();
            return Ok(Templated { notes, refusal: Some(reason), chosen: None });
        }
        let mut templated = Templated::default();
        for (record, read) in reading {
            match self.may_stand_in(record, &Asked { task: &read, ..asked.clone() }, least).await? {
                Ok(chosen) if templated.chosen.is_none() => {
                    templated.notes.push(note(record, "its template replays"));
                    templated.chosen = Some(chosen);
                }
                Ok(_) => templated.notes.push(note(record, "another template makes the same calls")),
                Err(reason) => {
                    templated.notes.push(note(record, &format!("may not replay: {reason}")));
                    templated
                        .refusal
                        .get_or_insert_with(|| format!("the template of these words may not replay: {reason}"));
                }
            }
        }
        Ok(templated)
    }

    /// Whether a template may replay, judged like an exact record with the trust of its weakest example.
    async fn may_stand_in(
        &self,
        record: &Record,
        asked: &Asked<'_>,
        least: usize,
    ) -> Result<Result<ChosenTemplate, String>> {
        let trust = match self.weakest_example(record, least).await? {
            Ok(trust) => trust,
            Err(reason) => return Ok(Err(reason)),
        };
        let record = Record { trust, ..record.clone() };
        let judged = self.may_begin(&record, &mut asked.clone()).await;
        let parameters = asked.task.parameters().clone();
        Ok(judged.map(|cleared| ChosenTemplate { record, cleared, parameters }))
    }

    /// The least trust of the examples, as they are stored now.
    async fn weakest_example(&self, record: &Record, least: usize) -> Result<Result<Trust, String>> {
        let Some(template) = record.template() else { return Ok(Err("it is no template".to_owned())) };
        let tools = record.procedure().map(Procedure::tools).unwrap_or_default();
        let (mut trust, mut standing) = (Trust::Verified, 0);
        for example in &template.examples {
            let id = &example.record;
            let Some(found) = self.within("get", self.inner.store.records.get(&self.inner.tenant, id)).await? else {
                continue;
            };
            if matches!(found.status, Status::Retired | Status::Harmful) {
                return Ok(Err(format!("its example {id} is {}: {}", found.status, found.status_reason)));
            }
            if found.procedure().map(Procedure::tools).as_ref() != Some(&tools) {
                return Ok(Err(format!("its example {id} takes other calls now")));
            }
            trust = trust.min(found.trust);
            standing += 1;
        }
        let missing =
            format!("of its {} examples {standing} are stored, and it takes {least}", template.examples.len());
        Ok(if standing < least { Err(missing) } else { Ok(trust) })
    }
}

/// Texts with one skeleton and one procedure.
struct Group<'a> {
    skeleton: Skeleton,
    members: Vec<&'a Sibling<'a>>,
    procedure: Procedure,
}

impl<'a> Group<'a> {
    /// The group of a run and a first sibling with every other one that fits in, if it is large enough and no
    /// sibling speaks against it.
    fn around(own: Sample<'_>, siblings: &'a [Sibling<'a>], first: usize, least: usize) -> Option<Self> {
        let start = siblings.get(first)?;
        let (skeleton, procedure) = together(own, &[start])?;
        let mut group = Self { skeleton, members: vec![start], procedure };
        for (_, sibling) in siblings.iter().enumerate().filter(|(at, _)| *at != first) {
            let members: Vec<&Sibling<'_>> = group.members.iter().copied().chain([sibling]).collect();
            if let Some((skeleton, procedure)) = together(own, &members) {
                group = Self { skeleton, members, procedure };
            }
        }
        let is_member = |sibling: &Sibling<'_>| group.members.iter().any(|own| own.record.id == sibling.record.id);
        let contradicts = |sibling: &Sibling<'_>| !is_member(sibling) && group.skeleton.read(sibling.text).is_some();
        let texts: std::collections::BTreeSet<&str> = group.members.iter().map(|member| member.text).collect();
        (texts.len() + 1 >= least && !siblings.iter().any(contradicts)).then_some(group)
    }
}

/// The skeleton and the procedure of a run and siblings; the run is the newest.
fn together(own: Sample<'_>, members: &[&Sibling<'_>]) -> Option<(Skeleton, Procedure)> {
    let tools = own.procedure.tools();
    if members.iter().any(|member| member.procedure.tools() != tools) {
        return None;
    }
    let texts: Vec<&str> = members.iter().map(|member| member.text).chain([own.text]).collect();
    let skeleton = Skeleton::of(&texts)?;
    let older = members.iter().rev().map(|member| Sample { text: member.text, procedure: member.procedure });
    let procedure = aligned(&skeleton, &older.chain([own]).collect::<Vec<_>>())?;
    Some((skeleton, procedure))
}

impl Shown<'_> {
    /// What this run means for a template that reads its text.
    fn judge(&self, record: &Record, task: &Task) -> Option<TemplateChange> {
        let template = record.procedure()?;
        let calls = self.calls.iter().copied();
        let id = record.id.clone();
        let replay = Replay::new(Arc::new(template.clone()), task.parameters().clone(), self.today.clone());
        match would_make(replay, calls) {
            Would::Stop => None,
            Would::Differ(reason) => Some(TemplateChange::Contradicted { id, reason }),
            Would::Same => {
                let own = self.procedure.read_as(task);
                let is_alike = own.signature() == template.signature() && own.may_replay();
                let procedure = is_alike.then(|| Box::new(Procedure { answer: None, ..own }));
                let example = example(self.run, &self.record, &self.task.canonical());
                Some(TemplateChange::Followed { id, example, procedure })
            }
        }
    }
}

/// Why the templates that read a task do not agree on what to do, if they do not.
fn disagreement(reading: &[(&Record, Task)], today: &Today) -> Option<String> {
    let contradicted = reading.iter().find_map(|(record, _)| Some((record, record.template()?.contradicted.as_ref()?)));
    if let Some((record, reason)) = contradicted {
        return Some(format!("the template {} was contradicted: {reason}", record.id));
    }
    let plan = |(record, task): &(&Record, Task)| {
        let calls =
            record.procedure().map(|procedure| plan_of(procedure, task.parameters(), today)).unwrap_or_default();
        let calls =
            calls.into_iter().map(|call| (call.tool, call.open.is_empty().then(|| call.arguments.stable()), call.open));
        calls.collect::<Vec<_>>()
    };
    let (first, rest) = reading.split_first()?;
    let other = rest.iter().find(|other| plan(other) != plan(first))?;
    Some(format!("the templates {} and {} read these words and would do different things", first.0.id, other.0.id))
}

fn example(run: &RunId, record: &RecordId, text: &str) -> Example {
    let text = Fingerprint::new("text").part(text).short();
    Example { run: run.clone(), record: record.clone(), text }
}

fn note(record: &Record, words: &str) -> CandidateNote {
    CandidateNote { id: record.id.clone(), kind: record.kind(), exact: false, score: None, note: words.to_owned() }
}
