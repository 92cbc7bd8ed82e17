//! The arguments of `runs`.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use learnkit::record::{AgentName, RunId};

use super::age::Age;

/// List, show, report on, recover, delete and prune runs
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
    Recover(RecoverArgs),
    /// Delete runs with their traces, also those that cannot be read or did not finish; what they taught stays
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

/// List runs that did not finish, and say what came of steps that are in doubt
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(group(ArgGroup::new("said").args(["done", "not_done"]).requires("step")))]
#[command(after_help = "\
A step is in doubt when it began before a crash, nobody knows whether it was made, and making it
again could do harm. Look at what it would have changed, then say --done or --not-done; the next
try with the same run id goes on from there and makes nothing twice. With --done the result makes
it possible to go on without a planner.

A run is held by its process until some seconds after the last word of it (`run_lease_ms`). Where
you know that the process is dead, --take frees the run at once.

Example: learnkit runs recover --exit-code
         learnkit runs recover order-7 --step 2 --done --result '{\"receipt\": \"r_81\"}'")]
pub(crate) struct RecoverArgs {
    /// One run; without it every run that did not finish is listed
    #[arg(value_name = "RUN_ID")]
    pub(crate) id: Option<RunId>,
    /// The step to say something about, as it is numbered in the run
    #[arg(long, value_name = "N", requires_all = ["id", "said"])]
    pub(crate) step: Option<u32>,
    /// The step was made
    #[arg(long)]
    pub(crate) done: bool,
    /// What it gave, as the tool would have written it
    #[arg(long, value_name = "TEXT", requires = "done", conflicts_with = "not_done")]
    pub(crate) result: Option<String>,
    /// The step was not made
    #[arg(long)]
    pub(crate) not_done: bool,
    /// Close the run: it is stored as interrupted and teaches nothing
    #[arg(long, requires = "id", conflicts_with_all = ["step", "said"])]
    pub(crate) abandon: bool,
    /// Take the run from a process that is known to be dead
    #[arg(long, requires = "id")]
    pub(crate) take: bool,
    /// Exit with 1 when a step is in doubt
    #[arg(long)]
    pub(crate) exit_code: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportedOutcome {
    Success,
    Failure,
}
