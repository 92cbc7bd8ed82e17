//! The arguments of `runs`.

use clap::{Args, Subcommand, ValueEnum};
use learnkit::record::{AgentName, RunId};

use super::age::Age;

/// List, show, report on, delete and prune runs
#[derive(Debug, Args)]
#[command(after_help = "Example: learnkit runs list --limit 5 && learnkit runs show RUN_ID")]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) command: RunsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, newest first
    #[command(after_help = "Example: learnkit runs list --agent support --limit 5")]
    List {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
        /// Only this agent's
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentName>,
    },
    /// Show a run: every decision with its reason, calls, gate, and what was learned
    #[command(after_help = "Example: learnkit runs show run_0123456789abcdef")]
    Show {
        /// The run
        id: RunId,
    },
    /// Report how a run turned out: success verifies what it used or taught, failure retires it
    #[command(after_help = "Example: learnkit runs report failure run_0123456789abcdef")]
    Report {
        /// How it turned out
        #[arg(value_name = "OUTCOME")]
        outcome: ReportedOutcome,
        /// The run
        #[arg(value_name = "RUN_ID")]
        id: RunId,
    },
    /// Delete runs with their traces, also those that cannot be read; what they taught stays
    #[command(after_help = "\
What a run taught is deleted with `learnkit records delete`, which takes the run along.

Example: learnkit runs delete run_0123456789abcdef")]
    Delete {
        /// The runs
        #[arg(required = true, value_name = "ID")]
        ids: Vec<RunId>,
    },
    /// Delete old runs with their traces; what they taught stays
    #[command(after_help = "\
A pinned trace stays. The space is given back by `learnkit vacuum`.

Example: learnkit runs prune --older-than 30d --keep 1000 --dry-run")]
    Prune {
        /// Runs that finished longer ago than this: minutes, hours, days or weeks, as in 90m, 12h, 30d, 8w
        #[arg(long, value_name = "AGE")]
        older_than: Age,
        /// Keep so many of the newest runs, however old they are
        #[arg(long, value_name = "N", default_value_t = 0)]
        keep: usize,
        /// Only say what would be deleted
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportedOutcome {
    Success,
    Failure,
}
