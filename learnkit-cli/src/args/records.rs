//! The arguments of `records`.

use clap::{Args, Subcommand};
use learnkit::record::{Kind, RecordId, Status};
use learnkit::{Error, Result};

use super::IdentityArgs;
use super::age::Age;

/// List, show, add, delete, pin, roll back and purge records
#[derive(Debug, Args)]
#[command(after_help = "\
Example: learnkit records list --kind skill --agent support
         learnkit records show skill_0123456789abcdef")]
pub(crate) struct RecordsArgs {
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    #[command(subcommand)]
    pub(crate) command: RecordsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecordsCommand {
    /// List records, newest first, of every scope and agent unless one is given; with --param only
    /// procedures that were captured with that value
    #[command(after_help = "Example: learnkit records list --kind skill,failure --status active --limit 20")]
    List {
        /// Only these kinds: skill, fact, failure, strategy, preference, trace, heuristic
        #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
        kinds: Vec<Kind>,
        /// Only these statuses: probation, active, stale, harmful, retired
        #[arg(long = "status", value_name = "STATUS", value_delimiter = ',')]
        statuses: Vec<Status>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all")]
        limit: usize,
        /// Every one
        #[arg(long)]
        all: bool,
    },
    /// Show a record with its procedure, guards, history and standing
    #[command(after_help = "Example: learnkit records show skill_0123456789abcdef --json")]
    Show {
        /// The record
        id: RecordId,
    },
    /// Add a fact, preference, heuristic or strategy that guides; skills, failures and traces come from runs
    #[command(after_help = "\
It starts on probation and guides the agent and scope that it is added for. A fact that differs in a
number, a date, a unit or a negation from a known one, and in nothing else, supersedes it; what says
the same apart from case and punctuation makes the known one stronger.

Example: learnkit records add fact \"The API allows 100 requests a minute\" --agent support")]
    Add {
        #[command(subcommand)]
        what: AddCommand,
    },
    /// Delete records with the runs they came from, so that none of their text is left
    #[command(after_help = "Example: learnkit records delete skill_0123456789abcdef")]
    Delete {
        /// The records
        #[arg(required = true, value_name = "ID")]
        ids: Vec<RecordId>,
    },
    /// Pin a record, so that age never makes it stale
    #[command(after_help = "Example: learnkit records pin skill_0123456789abcdef --off")]
    Pin {
        /// The record
        id: RecordId,
        /// Unpin it
        #[arg(long)]
        off: bool,
    },
    /// Bring the last good version of a healed procedure back; it may replay again
    #[command(after_help = "\
When the world changes, a procedure moves on to the calls that solved its task then. The version
before stays until the next change, or until a failure is reported; `records show` tells its calls.
The version that it takes the place of is dropped.

Example: learnkit records rollback skill_0123456789abcdef")]
    Rollback {
        /// The record
        id: RecordId,
    },
    /// Delete what was retired long ago, and traces that expired long ago; pinned records stay
    #[command(after_help = "\
A retired record is kept as a tombstone, so that what it holds stays out of use. A procedure whose
tombstone is purged may be learned anew.

Example: learnkit records purge --older-than 90d --dry-run")]
    Purge {
        /// Retired or expired longer ago than this: minutes, hours, days or weeks, as in 90m, 12h, 30d, 8w
        #[arg(long, value_name = "AGE")]
        older_than: Age,
        /// Only say what would be deleted
        #[arg(long)]
        dry_run: bool,
    },
}

/// What people and programs may write themselves.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum AddCommand {
    /// A statement about the world that the agent works in
    #[command(after_help = "Example: learnkit records add fact \"Refunds take 5 days\" --source handbook")]
    Fact {
        /// The statement
        #[arg(value_name = "TEXT", value_parser = words)]
        statement: String,
        /// Where it came from
        #[arg(long, value_name = "SOURCE", value_parser = filled)]
        source: Option<String>,
    },
    /// What somebody prefers
    #[command(after_help = "Example: learnkit records add preference \"date format\" 2026-01-31 --scope user:ann")]
    Preference {
        /// What it is about
        #[arg(value_name = "KEY", value_parser = words)]
        key: String,
        /// The preferred value
        #[arg(value_name = "VALUE", value_parser = filled)]
        value: String,
    },
    /// A rule of thumb
    #[command(after_help = "\
Example: learnkit records add heuristic \"Look a customer up by mail first\" --exception \"No mail is given\"")]
    Heuristic {
        /// The rule
        #[arg(value_name = "RULE", value_parser = words)]
        rule: String,
        /// When it does not hold
        #[arg(long, value_name = "EXCEPTION", value_parser = words)]
        exception: Option<String>,
    },
    /// A way to go about a goal
    #[command(after_help = "\
Example: learnkit records add strategy \"Migrate a table\" --phase \"Copy it\" --phase \"Switch over\"")]
    Strategy {
        /// What it achieves
        #[arg(value_name = "GOAL", value_parser = words)]
        goal: String,
        /// A phase; given once for each, in order
        #[arg(long = "phase", required = true, value_name = "PHASE", value_parser = words)]
        phases: Vec<String>,
        /// Why it works
        #[arg(long, value_name = "WHY", value_parser = words)]
        why: Option<String>,
    },
}

/// Text that can be found again.
fn words(text: &str) -> Result<String> {
    if learnkit::text::terms(text).is_empty() {
        return Err(Error::invalid("it says nothing; write some words"));
    }
    Ok(text.trim().to_owned())
}

/// Text that may be a sign only, as `%` is.
fn filled(text: &str) -> Result<String> {
    if text.trim().is_empty() { Err(Error::invalid("it is blank")) } else { Ok(text.trim().to_owned()) }
}
