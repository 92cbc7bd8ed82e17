//! `drift check`: what changed about tools, and for which procedures.

use std::io::Read as _;
use std::path::Path;

use learnkit::backend::AgentFilter;
use learnkit::engine::{DriftReport, ToolDrift};
use learnkit::tool::{ReadManifest, ToolManifest};
use learnkit::{Error, ErrorKind, Result};
use serde_json::json;

use super::{EXISTING, as_count, counted, golden, note_skipped};
use crate::args::{DriftArgs, DriftCheckArgs, DriftCommand, GoldenCommand, WhoseArgs};
use crate::failure::{Ending, Outcome};
use crate::output::{Output, with_error};
use crate::source::{open, unpacked};
use crate::{Context, memory, text};

/// Longer tool lists are refused, in bytes.
const MAX_TOOLS_BYTES: u64 = 64 * 1024 * 1024;

pub(super) async fn run(args: &DriftArgs, context: &mut Context<'_>) -> Outcome {
    match &args.command {
        DriftCommand::Check(check) => self::check(check, &args.whose, context).await,
        DriftCommand::Golden(golden) => match &golden.command {
            GoldenCommand::Export(export) => golden::export(export, &args.whose, context).await,
            GoldenCommand::Check(check) => golden::check(check, &args.whose, context).await,
        },
    }
}

async fn check(args: &DriftCheckArgs, whose: &WhoseArgs, context: &mut Context<'_>) -> Outcome {
    let manifest = manifest(&args.tools, context)?;
    let agents = agents(whose, context)?;
    let memory = memory::open(context, Some(&whose.identity()), EXISTING).await?;
    let report = memory.drift(&manifest, &agents).await?;
    let out = &mut context.out;
    note_skipped(&report.skipped, out);
    let blocked = (args.exit_code && report.blocked > 0).then(|| {
        let count = counted(report.blocked, "procedure does not", "procedures do not");
        Error::new(ErrorKind::Conflict, format!("{count} replay with these tools; let them be planned once more"))
    });
    if out.is_json() {
        let mut object = json!(report);
        if let Some(blocked) = &blocked {
            with_error(&mut object, blocked);
        }
        out.json(&object)?;
    } else {
        print(&report, out)?;
    }
    if let Some(blocked) = blocked {
        out.error(&blocked.chain());
        return Ok(Ending::Bad);
    }
    Ok(Ending::Good)
}

/// Whose procedures: of the agent that is set, else of every one.
pub(super) fn agents(whose: &WhoseArgs, context: &Context<'_>) -> Outcome<AgentFilter> {
    let agent = memory::named_agent(&memory::layers(context, Some(&whose.identity()))?);
    Ok(agent.map_or(AgentFilter::Any, AgentFilter::Only))
}

/// Reads a tool list.
pub(super) fn manifest(path: &Path, context: &mut Context<'_>) -> Result<ReadManifest> {
    let mut list = String::new();
    let read = if path.as_os_str() == "-" {
        context.stdin.by_ref().take(MAX_TOOLS_BYTES + 1).read_to_string(&mut list)
    } else {
        let input = unpacked(open(path)?, &path.display().to_string())?;
        input.take(MAX_TOOLS_BYTES + 1).read_to_string(&mut list)
    };
    let named = |error: Error| error.with_context("path", path.display());
    let broken = |error| Error::invalid("the tool list cannot be read as text; check the file").with_source(error);
    let size = read.map_err(broken).map_err(named)?;
    if as_count(size) > MAX_TOOLS_BYTES {
        return Err(named(Error::invalid("the tool list is longer than 64 MiB; name another file")));
    }
    ToolManifest::parse(&list).map_err(named)
}

fn print(report: &DriftReport, out: &mut Output<'_>) -> Outcome<()> {
    if !report.tools.is_empty() {
        let changes = report.tools.iter().flat_map(change_rows);
        out.table(["TOOL", "CHANGE", "EFFECT", "PROCEDURES"], changes.collect())?;
        out.heading("for whom")?;
        let records = report.tools.iter().flat_map(record_rows);
        out.table(["TOOL", "RECORD", "AGENT", "EFFECT", "TASK"], records.collect())?;
        out.line("")?;
    }
    let procedures = counted(report.procedures, "procedure", "procedures");
    let drifted = report.blocked;
    out.line(format_args!("{procedures} checked: {drifted} may not replay with these tools"))?;
    if report.without_contract > 0 {
        let count = counted(report.without_contract, "procedure was", "procedures were");
        out.line(format_args!("{count} captured without a tool list: only the names of tools were checked"))?;
    }
    Ok(())
}

fn effect(blocks: bool) -> String {
    if blocks { "blocks" } else { "compatible" }.to_owned()
}

fn change_rows(drift: &ToolDrift) -> impl Iterator<Item = [String; 4]> {
    let count = drift.records.len().to_string();
    drift.changes.iter().map(move |change| {
        // An optional field that a call gives already blocks that one only.
        let effect = effect(change.blocks());
        [drift.tool.clone(), change.to_string(), effect, count.clone()]
    })
}

fn record_rows(drift: &ToolDrift) -> impl Iterator<Item = [String; 5]> {
    drift.records.iter().map(|record| {
        let (id, agent) = (record.id.to_string(), record.agent.to_string());
        [drift.tool.clone(), id, agent, effect(record.blocks), text::short(&record.headline)]
    })
}
