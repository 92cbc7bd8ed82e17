//! `records`: list, show, add, delete, pin, roll back and purge.

use std::collections::BTreeMap;

use learnkit::LearnKit;
use learnkit::backend::{AgentFilter, RecordFilter, ScanRequest, SkippedRow, Visibility};
use learnkit::record::{Kind, Record, RecordId, Status};
use learnkit::registry::OpenMode;
use serde_json::{Value, json};

use super::retention::Tombstones;
use super::{EXISTING, add, forget, note_skipped, record_view, retention};
use crate::args::{IdentityArgs, RecordsArgs, RecordsCommand};
use crate::failure::{Ending, Failure, Outcome};
use crate::output::Output;
use crate::{Context, memory, text};

/// Records are looked through in pages of this size.
const PAGE: usize = 500;

pub(super) async fn run(args: &RecordsArgs, context: &mut Context<'_>) -> Outcome {
    let parameters = args.identity.parameters().map_err(|error| Failure::usage(&error))?;
    let adds = matches!(args.command, RecordsCommand::Add { .. });
    if adds && !parameters.is_empty() {
        let message = "--param belongs to a task, and what is added has none; leave it out";
        return Err(Failure::Usage(message.to_owned()));
    }
    let mode = if adds { OpenMode::CreateIfMissing } else { EXISTING };
    let memory = memory::open(context, Some(&args.identity), mode).await?;
    let out = &mut context.out;
    match &args.command {
        RecordsCommand::List { kinds, statuses, limit, all } => {
            let filter = filter(&memory, &args.identity, kinds, statuses);
            let listing = Listing::of(&memory, filter, &parameters).await?;
            listing.print(if *all { usize::MAX } else { *limit }, out)?;
        }
        RecordsCommand::Show { id } => record_view::show(&memory.record(id).await?, out)?,
        RecordsCommand::Add { what } => add::run(what, &memory, out).await?,
        RecordsCommand::Delete { ids } => return forget::each(ids, out, async |id| memory.forget(id).await).await,
        RecordsCommand::Pin { id, off } => pin(&memory, id, !off, out).await?,
        RecordsCommand::Rollback { id } => roll_back(&memory, id, out).await?,
        RecordsCommand::Purge { older_than, dry_run } => {
            let filter = filter(&memory, &args.identity, &[], &[]);
            let tombstones = Tombstones { filter, older_than: older_than.0, pass: retention::pass(*dry_run) };
            return retention::purge(&memory, &tombstones, out).await;
        }
    }
    Ok(Ending::Good)
}

fn filter(memory: &LearnKit, identity: &IdentityArgs, kinds: &[Kind], statuses: &[Status]) -> RecordFilter {
    let mut filter = memory.every_record();
    filter.scopes = identity.scope.clone().into_iter().collect();
    filter.agents = identity.agent.clone().map_or(AgentFilter::Any, AgentFilter::Only);
    filter.kinds = kinds.to_vec();
    if !statuses.is_empty() {
        filter.visibility = Visibility { statuses: statuses.to_vec(), probation_in: None };
    }
    filter
}

/// What a list shows of a record.
struct Line {
    summary: Value,
    cells: [String; 7],
}

/// The records of a list, newest first.
struct Listing {
    lines: Vec<Line>,
    skipped: Vec<SkippedRow>,
}

impl Listing {
    /// Looks through every record that the filter allows; only their lines are kept in memory.
    async fn of(memory: &LearnKit, filter: RecordFilter, parameters: &BTreeMap<String, String>) -> Outcome<Self> {
        let mut found = Vec::new();
        let mut skipped = Vec::new();
        let mut after = None;
        loop {
            let page = memory.scan(&ScanRequest { filter: filter.clone(), after, limit: PAGE }).await?;
            let matching = page.items.iter().filter(|record| was_captured_with(record, parameters));
            found.extend(matching.map(|record| (record.created, Line::of(record))));
            skipped.extend(page.skipped);
            let Some(next) = page.next else { break };
            after = Some(RecordId::new(next)?);
        }
        // Stable, so records of one moment stay in the order of their ids.
        found.sort_by_key(|(created, _)| std::cmp::Reverse(*created));
        Ok(Self { lines: found.into_iter().map(|(_, line)| line).collect(), skipped })
    }

    fn print(self, limit: usize, out: &mut Output<'_>) -> Outcome<()> {
        note_skipped(&self.skipped, out);
        let total = self.lines.len();
        let lines = self.lines.into_iter().take(limit);
        if out.is_json() {
            let records: Vec<Value> = lines.map(|line| line.summary).collect();
            out.json(&json!({ "records": records, "total": total, "skipped": self.skipped }))?;
            return Ok(());
        }
        if total == 0 {
            out.line("no records")?;
            return Ok(());
        }
        let header = ["ID", "KIND", "STATUS", "TRUST", "CONF", "AGENT", "WHAT"];
        out.table(header, lines.map(|line| line.cells).collect())?;
        if total > limit {
            out.note(format_args!("{limit} of {total} records; --all shows every one"));
        }
        Ok(())
    }
}

impl Line {
    fn of(record: &Record) -> Self {
        let headline = record.headline();
        let summary = json!({
            "id": record.id, "kind": record.kind(), "status": record.status, "status_reason": record.status_reason,
            "pinned": record.pinned, "trust": record.trust, "confidence": record.confidence, "scope": record.scope,
            "agent": record.agent, "headline": headline, "key": record.task.as_ref().map(|task| &task.key),
            "usage": record.usage, "created": record.created, "expires": record.expires,
        });
        let status = record.status.as_str();
        let cells = [
            record.id.to_string(),
            record.kind().to_string(),
            if record.pinned { format!("{status}, pinned") } else { status.to_owned() },
            record.trust.to_string(),
            format!("{:.2}", record.confidence.get()),
            record.agent.to_string(),
            text::short(&headline),
        ];
        Self { summary, cells }
    }
}

fn was_captured_with(record: &Record, parameters: &BTreeMap<String, String>) -> bool {
    let captured = record.procedure().map(|procedure| &procedure.parameters);
    parameters.iter().all(|(name, value)| captured.is_some_and(|captured| captured.get(name) == Some(value)))
}

async fn pin(memory: &LearnKit, id: &RecordId, pinned: bool, out: &mut Output<'_>) -> Outcome<()> {
    let record = memory.pin(id, pinned).await?;
    if out.is_json() {
        out.json(&json!({ "id": record.id, "pinned": record.pinned, "status": record.status }))?;
    } else {
        out.line(format_args!("{} {}", if pinned { "pinned" } else { "unpinned" }, record.id))?;
    }
    Ok(())
}

async fn roll_back(memory: &LearnKit, id: &RecordId, out: &mut Output<'_>) -> Outcome<()> {
    let record = memory.roll_back(id).await?;
    let change = record.history.as_ref().and_then(|history| history.changes.last());
    if out.is_json() {
        let version = record.procedure().map(|procedure| procedure.version);
        out.json(&json!({ "id": record.id, "version": version, "status": record.status, "change": change }))?;
    } else {
        let why = change.map_or_else(String::new, |change| format!(": {}", change.why));
        out.line(format_args!("rolled back {}{why}", record.id))?;
    }
    Ok(())
}
