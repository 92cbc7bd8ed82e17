//! Golden procedures: what was learned, as files of a repository, so that a change of it is seen in review.
//!
//! A file holds what a replay sends, returns and relies on. What changes by itself stays out: counters,
//! times, runs, the results that were seen and their shapes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::LearnKit;
use super::drift::changed_tools;
use super::library::PAGE;
use crate::backend::{AgentFilter, ScanRequest, SkippedRow};
use crate::hash::Fingerprint;
use crate::json::{Json, Seen};
use crate::procedure::{Contract, ContractChange, Procedure};
use crate::record::{Record, RecordId, Status, Trust};
use crate::replay::blocks;
use crate::run::Arguments;
use crate::tool::ReadManifest;
use crate::{Error, ErrorKind, Result};

/// The form of the files.
const FORMAT: &str = "learnkit golden procedure 1";
/// Fields of a step that change by themselves.
const PASSING: [&str; 2] = ["result", "shape"];

/// A procedure as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Golden {
    /// The record.
    pub record: RecordId,
    json: Json,
}

/// Which procedures are golden; what one of the three names is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GoldenSelection {
    /// These records.
    pub records: Vec<RecordId>,
    /// Every one that is pinned.
    pub pinned: bool,
    /// Every one that is verified.
    pub verified: bool,
    /// Of these agents, where records are not named one by one.
    pub agents: AgentFilter,
}

/// What an export of golden procedures gives.
#[derive(Debug, Clone, PartialEq)]
pub struct GoldenExport {
    /// The procedures, in the order of their ids.
    pub goldens: Vec<Golden>,
    /// Rows that could not be read; they stop nothing.
    pub skipped: Vec<SkippedRow>,
}

/// One thing that differs from a golden procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoldenDifference {
    /// Where, a JSON pointer into the file; empty for the procedure as a whole.
    pub place: String,
    /// What it is in the file, or what is wrong.
    pub golden: Option<String>,
    /// What it is in the store.
    pub stored: Option<String>,
}

impl std::fmt::Display for GoldenDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.golden, &self.stored) {
            (Some(golden), Some(stored)) => write!(f, "{}: {golden} → {stored}", self.place),
            (None, Some(stored)) => write!(f, "{}: new: {stored}", self.place),
            (Some(golden), None) if self.place.is_empty() => f.write_str(golden),
            (golden, None) => write!(f, "{}: gone: {}", self.place, golden.as_deref().unwrap_or_default()),
        }
    }
}

impl Golden {
    /// The golden form of a record that holds a procedure.
    ///
    /// # Errors
    /// `InvalidInput` when it holds none, `Internal` when it cannot be written as JSON.
    pub fn of(record: &Record) -> Result<Self> {
        let no_procedure = || Error::invalid(format!("record `{}` holds no procedure; name a skill", record.id));
        let procedure = record.procedure().ok_or_else(no_procedure)?;
        let text = |text: &str| Json::Text(text.to_owned());
        let mut fields = fields(procedure)?;
        fields.insert("format".to_owned(), text(FORMAT));
        fields.insert("record".to_owned(), text(record.id.as_str()));
        fields.insert("agent".to_owned(), text(record.agent.as_str()));
        fields.insert("scope".to_owned(), text(&record.scope.to_string()));
        if let Some(task) = &record.task {
            fields.insert("key".to_owned(), text(&task.key.to_string()));
        }
        Ok(Self { record: record.id.clone(), json: Json::Object(fields) })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `InvalidInput` when it is no golden procedure, `Unsupported` when a newer LearnKit wrote it.
    pub fn parse(text: &str) -> Result<Self> {
        let foreign = || Error::invalid("it is no golden procedure; `learnkit drift golden export` writes one");
        let json = Json::parse(text).map_err(|error| foreign().with_source(error))?;
        let field = |name| json.get(name).and_then(Json::scalar_text);
        match field("format") {
            Some(FORMAT) => {}
            Some(format) if format.starts_with("learnkit golden procedure ") => {
                let message = "a newer LearnKit wrote this golden procedure; update LearnKit, or export it again";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            _ => return Err(foreign()),
        }
        let record = RecordId::new(field("record").ok_or_else(foreign)?)?;
        Ok(Self { record, json })
    }

    /// The name of its file: the record's id, or a hash of one that could lead out of a folder.
    pub fn file_name(&self) -> String {
        let id = self.record.as_str();
        let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        let hashed = || format!("golden_{}", Fingerprint::new("golden file").part(id).short());
        format!("{}.json", if is_plain { id.to_owned() } else { hashed() })
    }

    /// The text of its file: the same procedure gives the same bytes.
    pub fn to_text(&self) -> String {
        pretty(&self.json, 0) + "\n"
    }

    /// The task in words.
    pub fn task(&self) -> &str {
        self.json.get("task").and_then(Json::scalar_text).unwrap_or_default()
    }

    /// Everything in which a stored procedure differs from this one.
    pub fn differences(&self, stored: &Self) -> Vec<GoldenDifference> {
        let (golden, stored) = (leaves(&self.json), leaves(&stored.json));
        let mut places: Vec<&String> = golden.keys().chain(stored.keys()).collect();
        places.sort_unstable();
        places.dedup();
        let differing = places.into_iter().filter(|place| golden.get(*place) != stored.get(*place));
        let told = |place: &String| GoldenDifference {
            place: place.clone(),
            golden: golden.get(place).cloned(),
            stored: stored.get(place).cloned(),
        };
        differing.map(told).collect()
    }

    /// The changes of tools that keep this procedure from being replayed, each with its tool.
    ///
    /// # Errors
    /// `InvalidInput` when the file no longer says which calls it makes under which contracts.
    pub fn broken_by(&self, manifest: &ReadManifest) -> Result<Vec<(String, ContractChange)>> {
        let calls = self.calls()?;
        let tools = calls.iter().map(|(tool, _)| tool.as_str()).collect();
        let changed = changed_tools(tools, &self.contracts()?, manifest).into_iter();
        let each = changed.flat_map(|(tool, changes)| changes.into_iter().map(move |change| (tool.clone(), change)));
        let arguments_of = |tool: &String| {
            let tool = tool.clone();
            calls.iter().filter(move |(name, _)| *name == tool).map(|(_, arguments)| arguments)
        };
        Ok(each.filter(|(tool, change)| blocks(change, arguments_of(tool))).collect())
    }

    /// The tools and arguments of the steps.
    fn calls(&self) -> Result<Vec<(String, Arguments)>> {
        let Some(Json::List(steps)) = self.json.get("steps") else { return Err(self.changed("steps")) };
        let call = |step: &Json| {
            let tool = step.get("tool").and_then(Json::scalar_text)?;
            let arguments = match step.get("arguments")? {
                Json::Text(raw) => Arguments::from_raw(raw.as_str()),
                json => Arguments::from_raw(json.to_text()),
            };
            Some((tool.to_owned(), arguments))
        };
        steps.iter().map(|step| call(step).ok_or_else(|| self.changed("steps"))).collect()
    }

    fn contracts(&self) -> Result<BTreeMap<String, Contract>> {
        let Some(json) = self.json.get("contracts") else { return Ok(BTreeMap::new()) };
        let Json::Object(contracts) = json else { return Err(self.changed("contracts")) };
        let read = |(tool, contract): (&String, &Json)| {
            let mut contract = contract.clone();
            each_field(&mut contract, "input_schema", |schema| Json::Text(schema.to_text()));
            let read = serde_json::from_str(&contract.to_text());
            let read = read.map_err(|error| self.changed("contracts").with_source(error))?;
            Ok((tool.clone(), read))
        };
        contracts.iter().map(read).collect()
    }

    fn changed(&self, part: &str) -> Error {
        let message = format!("the `{part}` of the golden procedure were changed by hand; export it again");
        Error::invalid(message).with_context("record", &self.record)
    }
}

impl LearnKit {
    /// The procedures that a selection names, ready to be written as files. Changes nothing; records are
    /// looked through in pages.
    ///
    /// # Errors
    /// `NotFound` when a record that is named is not there, `InvalidInput` when it holds no procedure,
    /// `Unavailable` when the store is out of reach.
    pub async fn golden(&self, selection: &GoldenSelection) -> Result<GoldenExport> {
        let mut goldens = BTreeMap::new();
        for id in &selection.records {
            goldens.insert(id.clone(), Golden::of(&self.record(id).await?)?);
        }
        let is_chosen = |record: &Record| {
            let chosen = (selection.pinned && record.pinned) || (selection.verified && record.trust == Trust::Verified);
            chosen && record.procedure().is_some()
        };
        let mut skipped = Vec::new();
        let mut next = (selection.pinned || selection.verified).then_some(None);
        while let Some(after) = next {
            let filter = self.procedures(&selection.agents);
            let page = self.scan(&ScanRequest { filter, after, limit: PAGE }).await?;
            for record in page.items.iter().filter(|record| is_chosen(record)) {
                goldens.insert(record.id.clone(), Golden::of(record)?);
            }
            skipped.extend(page.skipped);
            next = page.next.map(RecordId::new).transpose()?.map(Some);
        }
        Ok(GoldenExport { goldens: goldens.into_values().collect(), skipped })
    }

    /// What differs between a golden procedure and what is stored now; empty when it is as it was. One that
    /// is gone, retired or quarantined for harm differs as a whole.
    ///
    /// # Errors
    /// `Corrupt` when the record cannot be read, `Unavailable` when the store is out of reach.
    pub async fn check_golden(&self, golden: &Golden) -> Result<Vec<GoldenDifference>> {
        let whole = |what: String| vec![GoldenDifference { place: String::new(), golden: Some(what), stored: None }];
        let record = match self.record(&golden.record).await {
            Ok(record) => record,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(whole("the record is gone".to_owned())),
            Err(error) => return Err(error),
        };
        if matches!(record.status, Status::Retired | Status::Harmful) {
            return Ok(whole(format!("the record is {}", record.status)));
        }
        match Golden::of(&record) {
            Ok(stored) => Ok(golden.differences(&stored)),
            Err(_) => Ok(whole("the record holds no procedure any more".to_owned())),
        }
    }
}

/// The fields of a procedure that stay while nothing about it changes.
fn fields(procedure: &Procedure) -> Result<BTreeMap<String, Json>> {
    let mut fields = BTreeMap::from([("task".to_owned(), Json::Text(procedure.trigger.clone()))]);
    let Json::Object(stored) = json_of(procedure)? else { return Ok(fields) };
    let kept = ["parameters", "answer", "guide_only", "unsettled", "contracts", "steps", "loops", "varied"];
    fields.extend(stored.into_iter().filter(|(name, _)| kept.contains(&name.as_str())));
    if let Some(Json::List(steps)) = fields.get_mut("steps") {
        for step in steps {
            each_field(step, "arguments", opened);
            if let Json::Object(step) = step {
                step.retain(|name, _| !PASSING.contains(&name.as_str()));
            }
        }
    }
    if let Some(Json::Object(contracts)) = fields.get_mut("contracts") {
        contracts.values_mut().for_each(|contract| each_field(contract, "input_schema", opened));
    }
    Ok(fields)
}

/// JSON that was kept as text, readable; text that is none stays.
fn opened(json: &Json) -> Json {
    let inner = if let Json::Text(text) = json { Json::parse(text).ok() } else { None };
    inner.filter(|inner| matches!(inner, Json::Object(_) | Json::Bool(_))).unwrap_or_else(|| json.clone())
}

fn each_field(object: &mut Json, name: &str, change: impl Fn(&Json) -> Json) {
    if let Json::Object(fields) = object
        && let Some(field) = fields.get_mut(name)
    {
        *field = change(field);
    }
}

fn json_of(value: &impl Serialize) -> Result<Json> {
    let unwritable = |error| {
        Error::new(ErrorKind::Internal, "the procedure cannot be written as JSON; report this").with_source(error)
    };
    Json::parse(&serde_json::to_string(value).map_err(unwritable)?)
}

/// Every leaf by its place, as JSON text.
fn leaves(json: &Json) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    json.walk(|place, seen| {
        if let Seen::Leaf(value) = seen {
            leaves.insert(place.pointer().to_owned(), value.to_text());
        }
    });
    leaves
}

/// JSON for people: a field or an item a line, keys sorted.
fn pretty(json: &Json, depth: usize) -> String {
    let deeper = depth + 1;
    match json {
        Json::List(items) if !items.is_empty() => {
            block(['[', ']'], depth, &items.iter().map(|item| pretty(item, deeper)).collect::<Vec<_>>())
        }
        Json::Object(fields) if !fields.is_empty() => {
            let field = |(name, value): (&String, &Json)| {
                format!("{}: {}", Json::Text(name.clone()).to_text(), pretty(value, deeper))
            };
            block(['{', '}'], depth, &fields.iter().map(field).collect::<Vec<_>>())
        }
        other => other.to_text(),
    }
}

fn block([open, close]: [char; 2], depth: usize, lines: &[String]) -> String {
    let indent = "  ".repeat(depth);
    format!("{open}\n{indent}  {}\n{indent}{close}", lines.join(&format!(",\n{indent}  ")))
}
