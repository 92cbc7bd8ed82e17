//! `doctor`: what is linked, where the store is, what is in it, and what is wrong.

use std::cell::RefCell;
use std::collections::BTreeMap;

use learnkit::backend::{Capabilities, Health, RunFilter, ScanRequest};
use learnkit::config::{BackendUri, Layer, Layers, Setting, is_offline};
use learnkit::record::{RecordId, RunId, SCHEMA_VERSION};
use learnkit::run::StoredRun;
use learnkit::{Error, LearnKit, available_adapters, available_backends, get_adapter, get_backend};
use serde_json::{Value, json};

use super::{EXISTING, as_count, capable};
use crate::failure::{Ending, Outcome};
use crate::output::Output;
use crate::{Context, memory, text};

/// Records and runs are counted in pages of this size.
const PAGE: usize = 500;
/// A record that none of so many runs retrieved is named.
const RECENT_RUNS: usize = 1_000;
/// So many of them are named to people; programs get all.
const NAMED: usize = 5;

pub(super) async fn run(context: &mut Context<'_>) -> Outcome {
    let layers = memory::layers(context, None)?;
    let uri = memory::uri(&layers)?;
    let mut problems: Vec<String> = claimed_twice().iter().map(Error::chain).collect();
    let connection = connection(&layers, &*context.variable);
    let stored = match memory::open(context, None, EXISTING).await {
        Ok(memory) => Some((Store::of(&memory, &mut problems).await, Contents::of(&memory, &mut problems).await)),
        Err(failure) => {
            problems.push(failure.message());
            None
        }
    };
    let checkup = Checkup { uri: uri.redacted(), connection, stored, problems };
    let out = &mut context.out;
    if out.is_json() {
        out.json(&checkup.as_json(&layers.values().tenant.clone().unwrap_or_default()))?;
    } else {
        checkup.print(out)?;
    }
    checkup.problems.iter().for_each(|problem| out.error(problem));
    Ok(if checkup.problems.is_empty() { Ending::Good } else { Ending::Bad })
}

/// Names that two linked packages claim.
fn claimed_twice() -> Vec<Error> {
    let uris = available_backends().into_iter().filter_map(|entry| format!("{}:", entry.scheme).parse().ok());
    let backends = uris.filter_map(|uri: BackendUri| get_backend(&uri).err());
    let adapters = available_adapters().into_iter().filter_map(|entry| get_adapter(entry.name).err());
    backends.chain(adapters).collect()
}

/// Whether anything may use the network.
struct Connection {
    is_offline: bool,
    reason: String,
}

/// Asks as the library does, and remembers which variable decided.
fn connection(layers: &Layers, variable: &dyn Fn(&str) -> Option<String>) -> Connection {
    let asked = RefCell::new(Vec::new());
    let is_offline = is_offline(|name| {
        let value = layers.as_variable(name).or_else(|| variable(name));
        asked.borrow_mut().push((name.to_owned(), value.as_ref().is_some_and(|value| !value.trim().is_empty())));
        value
    });
    let asked = asked.into_inner();
    let reason = match asked.as_slice() {
        [(name, _)] => format!("{} says so", place(layers, name)),
        _ => match asked.iter().skip(1).find(|(_, is_set)| *is_set) {
            Some((name, _)) => format!("{} is set", place(layers, name)),
            None => "neither a provider key nor a model is set".to_owned(),
        },
    };
    Connection { is_offline, reason }
}

/// The variable, or the key of the file that stands for it.
fn place(layers: &Layers, variable: &str) -> String {
    let setting = Setting::ALL.iter().find(|setting| setting.variable == variable);
    match setting.map(|setting| (setting.key, layers.origin(setting))) {
        Some((key, Layer::File(path))) => format!("`{key}` of {}", path.display()),
        _ => variable.to_owned(),
    }
}

/// The store itself.
struct Store {
    scheme: &'static str,
    location: String,
    capabilities: Capabilities,
    health: Health,
}

impl Store {
    async fn of(memory: &LearnKit, problems: &mut Vec<String>) -> Self {
        let records = &memory.store().records;
        let info = records.info();
        let mut health = memory.health().await.unwrap_or_else(|error| {
            problems.push(error.chain());
            Health::default()
        });
        problems.append(&mut health.problems);
        Self { scheme: info.scheme, location: info.location, capabilities: records.capabilities(), health }
    }
}

/// What a store says of itself, for people; nothing where it does not know.
fn told(health: &Health) -> Option<String> {
    let mode = health.writable.map(|writable| if writable { "read and write" } else { "cannot be written now" });
    let facts = [
        health.schema.map(|version| format!("schema {version}")),
        mode.map(str::to_owned),
        health.bytes.map(|bytes| format!("{bytes} bytes")),
    ];
    let details = health.details.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " ")));
    let told: Vec<String> = facts.into_iter().flatten().chain(details).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// What is in the store for one tenant.
#[derive(Default)]
struct Contents {
    records: u64,
    by_kind: BTreeMap<&'static str, u64>,
    by_status: BTreeMap<&'static str, u64>,
    runs: u64,
    last_run: Option<StoredRun>,
    /// Runs that have not finished, and how many of them are in doubt.
    open_runs: u64,
    in_doubt: u64,
    never_retrieved: Vec<RecordId>,
}

impl Contents {
    /// Counts; what cannot be read is a problem and stops nothing else.
    async fn of(memory: &LearnKit, problems: &mut Vec<String>) -> Self {
        let mut contents = Self::default();
        if let Err(error) = contents.count_records(memory, problems).await {
            problems.push(error.chain());
        }
        if let Err(error) = contents.count_runs(memory, problems).await {
            problems.push(error.chain());
        }
        if let Err(error) = contents.count_open_runs(memory, problems).await {
            problems.push(error.chain());
        }
        match memory.never_retrieved(RECENT_RUNS).await {
            Ok(ids) => contents.never_retrieved = ids,
            Err(error) => problems.push(error.chain()),
        }
        contents
    }

    async fn count_records(&mut self, memory: &LearnKit, problems: &mut Vec<String>) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = memory.scan(&ScanRequest { filter: memory.every_record(), after, limit: PAGE }).await?;
            for record in &page.items {
                self.records += 1;
                *self.by_kind.entry(record.kind().as_str()).or_default() += 1;
                *self.by_status.entry(record.status.as_str()).or_default() += 1;
            }
            problems.extend(page.skipped.iter().map(|row| {
                let way_out = "`learnkit records delete` removes it";
                format!("record `{}` cannot be read; {way_out}: {}", row.id, row.reason)
            }));
            let Some(next) = page.next else { return Ok(()) };
            after = Some(RecordId::new(next)?);
        }
    }

    async fn count_open_runs(&mut self, memory: &LearnKit, problems: &mut Vec<String>) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = memory.open_runs(after.as_ref(), PAGE).await?;
            self.open_runs += as_count(page.items.len());
            self.in_doubt += as_count(page.items.iter().filter(|journal| journal.doubtful().count() > 0).count());
            problems.extend(page.skipped.iter().map(|row| {
                let way_out = "`learnkit runs delete` removes it";
                format!("the journal of run `{}` cannot be read; {way_out}: {}", row.id, row.reason)
            }));
            let Some(next) = page.next else { return Ok(()) };
            after = Some(RunId::new(next)?);
        }
    }

    async fn count_runs(&mut self, memory: &LearnKit, problems: &mut Vec<String>) -> Result<(), Error> {
        let mut filter = RunFilter::newest(memory.tenant().clone(), PAGE);
        loop {
            let page = memory.runs(&filter).await?;
            self.runs += as_count(page.items.len());
            problems.extend(page.skipped.iter().map(|row| {
                let way_out = "`learnkit runs delete` removes it";
                format!("run `{}` cannot be read; {way_out}: {}", row.id, row.reason)
            }));
            if self.last_run.is_none() {
                self.last_run = page.items.into_iter().next();
            }
            let Some(next) = page.next else { return Ok(()) };
            filter.after = Some(next);
        }
    }
}

/// Everything that was found.
struct Checkup {
    uri: String,
    connection: Connection,
    stored: Option<(Store, Contents)>,
    problems: Vec<String>,
}

impl Checkup {
    fn as_json(&self, tenant: &learnkit::record::Tenant) -> Value {
        let backends = available_backends().into_iter();
        let backends =
            backends.map(|entry| json!({ "scheme": entry.scheme, "summary": entry.summary, "package": entry.package }));
        let adapters = available_adapters().into_iter();
        let adapters =
            adapters.map(|entry| json!({ "name": entry.name, "summary": entry.summary, "package": entry.package }));
        let mut value = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "backends": backends.collect::<Vec<_>>(),
            "adapters": adapters.collect::<Vec<_>>(),
            "offline": self.connection.is_offline, "offline_reason": self.connection.reason,
            "backend": self.uri, "record_schema": SCHEMA_VERSION, "tenant": tenant, "problems": self.problems,
        });
        if let (Some((store, contents)), Some(fields)) = (&self.stored, value.as_object_mut()) {
            let Store { scheme, location, capabilities, health } = store;
            let store =
                json!({ "scheme": scheme, "location": location, "capabilities": capabilities, "health": health });
            fields.insert("store".to_owned(), store);
            let Contents { records, by_kind, by_status, runs, last_run, open_runs, in_doubt, never_retrieved } =
                contents;
            let last = last_run.as_ref().map(|run| json!({ "id": run.id, "finished": run.finished, "mode": run.mode }));
            fields
                .insert("records".to_owned(), json!({ "total": records, "by_kind": by_kind, "by_status": by_status }));
            fields.insert("runs".to_owned(), json!({ "total": runs, "last": last }));
            fields.insert("open_runs".to_owned(), json!({ "total": open_runs, "in_doubt": in_doubt }));
            fields.insert("never_retrieved".to_owned(), json!(never_retrieved));
        }
        value
    }

    fn print(&self, out: &mut Output<'_>) -> Outcome<()> {
        let backends = available_backends().into_iter().map(|entry| entry.scheme).collect::<Vec<_>>();
        let adapters = available_adapters().into_iter().map(|entry| entry.name).collect::<Vec<_>>();
        let Connection { is_offline, reason } = &self.connection;
        let mut pairs = vec![
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("backends", backends.join(", ")),
            ("adapters", adapters.join(", ")),
            ("network", format!("{}: {reason}", if *is_offline { "offline" } else { "online" })),
            ("store", self.uri.clone()),
        ];
        if let Some((store, contents)) = &self.stored {
            pairs.push(("location", store.location.clone()));
            pairs.push(("schema", format!("records of version {SCHEMA_VERSION}")));
            pairs.extend(told(&store.health).map(|told| ("database", told)));
            pairs.push(("capabilities", capable(store.capabilities)));
            pairs.push(("records", contents.records.to_string()));
            pairs.push(("by kind", counts(&contents.by_kind)));
            pairs.push(("by status", counts(&contents.by_status)));
            pairs.push(("runs", contents.runs.to_string()));
            let last = contents.last_run.as_ref();
            let last = last.map(|run| format!("{} at {} ({})", run.id, run.finished, text::short(&run.text)));
            pairs.push(("last run", last.unwrap_or_else(|| "none".to_owned())));
            let (open, doubt) = (contents.open_runs, contents.in_doubt);
            pairs.push(("open runs", format!("{open}, in doubt {doubt}; see `learnkit runs recover`")));
            pairs.push(("never retrieved", unretrieved(&contents.never_retrieved)));
        }
        let verdict = match self.problems.len() {
            0 => "none".to_owned(),
            count => super::counted(as_count(count), "problem", "problems"),
        };
        pairs.push(("problems", verdict));
        out.pairs(&pairs)?;
        Ok(())
    }
}

fn counts(counts: &BTreeMap<&'static str, u64>) -> String {
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// How many records no recent run retrieved, and the first of them.
fn unretrieved(ids: &[RecordId]) -> String {
    if ids.is_empty() {
        return "none".to_owned();
    }
    let named = ids.iter().take(NAMED).map(RecordId::as_str).collect::<Vec<_>>().join(", ");
    let more = if ids.len() > NAMED { ", …" } else { "" };
    format!(
        "{} by the last {RECENT_RUNS} runs: {named}{more}",
        super::counted(as_count(ids.len()), "record", "records")
    )
}
