//! The commands, one file each: what they do and how it is shown.

mod add;
mod doctor;
mod forget;
mod inspect;
mod key;
mod learn;
mod maintain;
mod record_view;
mod records;
mod report;
mod runs;
mod tally;

use learnkit::backend::SkippedRow;
use learnkit::registry::OpenMode;
use learnkit::run::CandidateNote;

use crate::Context;
use crate::args::Command;
use crate::failure::Outcome;
use crate::output::Output;

/// Commands other than `learn` and `records add` only open what is there.
const EXISTING: OpenMode = OpenMode::ExistingOnly;

/// Runs a command.
pub(crate) async fn run(command: &Command, context: &mut Context<'_>) -> Outcome {
    match command {
        Command::Learn(args) => learn::run(args, context).await,
        Command::Inspect(args) => inspect::run(args, context).await,
        Command::Key(args) => key::run(args, context),
        Command::Records(args) => records::run(args, context).await,
        Command::Runs(args) => runs::run(args, context).await,
        Command::Maintain(args) => maintain::run(args, context).await,
        Command::Doctor(_) => doctor::run(context).await,
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
