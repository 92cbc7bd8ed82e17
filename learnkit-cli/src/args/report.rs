//! The arguments of `report`.

use std::path::PathBuf;

use clap::Args;
use learnkit::record::{AgentName, Scope};

use super::age::Age;

/// Show what memory saved and cost, and which records do good
#[derive(Debug, Args)]
#[command(after_help = "\
SAVED is what the same task needed when it was planned, less what the run needed. A replay that
stopped, or whose run failed, saves nothing and is charged. Where nobody counted, nothing is claimed.

CLASS compares runs that had a record on offer and got it with runs that were held out from it; the
setting `holdout_rate` has a share of the runs held out. It is `not yet` until the runs can tell.
Helpful, harmful and neutral (under 10 points of 100 either way) are wrong for at most one record in
twenty, however often you look.

Example: learnkit report --since 30d --agent support --plot memory.svg")]
pub(crate) struct ReportArgs {
    /// Only runs that finished at most so long ago: minutes, hours, days or weeks, as in 90m, 12h, 30d, 8w
    #[arg(long, value_name = "AGE")]
    pub(crate) since: Option<Age>,
    /// Only this agent's runs
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<AgentName>,
    /// Only runs of this scope: `public`, `team:NAME` or `user:NAME`
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<Scope>,
    /// Show at most so many records; --json has all of them
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Write the savings by day and the effect of each record as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Replace the picture if it is there already
    #[arg(long, requires = "plot")]
    pub(crate) force: bool,
}
