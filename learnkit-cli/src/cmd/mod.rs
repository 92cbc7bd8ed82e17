//! The commands, one file each: what they do and how it is shown.

mod add;
mod completions;
mod config;
mod doctor;
mod drift;
mod export;
mod export_skills;
mod forget;
mod golden;
mod import;
mod import_skills;
mod inspect;
mod key;
mod learn;
mod ledger;
mod linked;
mod maintain;
mod man;
mod record_view;
mod records;
mod recover;
mod report;
mod retention;
mod runs;
mod tally;

use learnkit::backend::{Capabilities, SkippedRow};
use learnkit::registry::OpenMode;
use learnkit::run::CandidateNote;
use serde_json::Value;

use crate::Context;
use crate::args::{Command, SkillsCommand};
use crate::failure::Outcome;
use crate::output::Output;

/// Commands other than `learn`, `import`, `records add` and `skills import` only open what is there.
const EXISTING: OpenMode = OpenMode::ExistingOnly;

/// Runs a command.
pub(crate) async fn run(command: &Command, context: &mut Context<'_>) -> Outcome {
    match command {
        Command::Learn(args) => learn::run(args, context).await,
        Command::Inspect(args) => inspect::run(args, context).await,
        Command::Key(args) => key::run(args, context),
        Command::Records(args) => records::run(args, context).await,
        Command::Runs(args) => runs::run(args, context).await,
        Command::Report(args) => ledger::run(args, context).await,
        Command::Export(args) => export::run(args, context).await,
        Command::Import(args) => import::run(args, context).await,
        Command::Maintain(args) => maintain::run(args, context).await,
        Command::Skills(args) => match &args.command {
            SkillsCommand::Export(export) => export_skills::run(export, &args.whose, context).await,
            SkillsCommand::Import(import) => import_skills::run(import, &args.whose, context).await,
        },
        Command::Drift(args) => drift::run(args, context).await,
        Command::Doctor(_) => doctor::run(context).await,
        Command::Vacuum(_) => retention::vacuum(context).await,
        Command::Config(args) => config::run(args, context),
        Command::Backends(_) => linked::backends(&mut context.out),
        Command::Adapters(_) => linked::adapters(&mut context.out),
        Command::Completions(args) => completions::run(args, &mut context.out),
        Command::Man(args) => man::run(args, &mut context.out),
    }
}

/// Names rows that could not be read; they stop nothing.
fn note_skipped(skipped: &[SkippedRow], out: &mut Output<'_>) {
    for row in skipped {
        out.note(format_args!("skipped unreadable row `{}`: {}", row.id, row.reason));
    }
}

/// Candidates as rows of a table.
fn candidate_rows(candidates: &[CandidateNote]) -> Vec<[String; 5]> {
    let row = |candidate: &CandidateNote| {
        let score = candidate.score.map_or_else(|| "-".to_owned(), score);
        let how = if candidate.exact { "exact" } else { "similar" };
        [candidate.id.to_string(), candidate.kind.to_string(), how.to_owned(), score, candidate.note.clone()]
    };
    candidates.iter().map(row).collect()
}

/// A relevance; those of a small store are tiny.
fn score(score: f64) -> String {
    if score.abs() >= 0.01 { format!("{score:.2}") } else { format!("{score:.1e}") }
}

/// The header of [`candidate_rows`].
const CANDIDATE_HEADER: [&str; 5] = ["ID", "KIND", "MATCH", "SCORE", "NOTE"];

/// `1 run`, `2 runs`.
fn counted(count: u64, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

/// A count that fits every platform's `usize`.
fn as_count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// The names of what a store can do.
fn capable(capabilities: Capabilities) -> String {
    let value = serde_json::to_value(capabilities).unwrap_or_default();
    let able = value.as_object().into_iter().flatten().filter(|(_, able)| **able == Value::Bool(true));
    able.map(|(name, _)| name.replace('_', " ")).collect::<Vec<_>>().join(", ")
}
