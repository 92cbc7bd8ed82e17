//! The arguments of `export` and `import`.

use std::path::PathBuf;

use clap::Args;
use learnkit::record::{AgentName, Kind, Scope};

/// Write records and runs to a file that outlives the store, as JSON lines
#[derive(Debug, Args)]
#[command(after_help = "\
Compressed when the name ends in .gz; `-` is the standard output, never compressed. The file appears
only when it is whole. One tenant is exported: --tenant names it.

The first line names the format, then comes a line {\"record\": …} or {\"run\": …} for each, and the
last line counts them. Revisions belong to a store and are written as 0; all else is kept to the
last bit.

A row that cannot be read is named and left out, and the exit code is 1: something is missing.

Example: learnkit export backup.jsonl.gz
         learnkit export - --kind fact,heuristic | grep refund")]
pub(crate) struct ExportMemoryArgs {
    /// The file to write; `-` is the standard output
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Only this scope: `public`, `team:NAME` or `user:NAME`
    #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',')]
    pub(crate) scopes: Vec<Scope>,
    /// Only this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<AgentName>,
    /// Only records of these kinds, and no runs
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    pub(crate) kinds: Vec<Kind>,
    /// Leave the runs out
    #[arg(long)]
    pub(crate) no_runs: bool,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// Read an export, or what an older LearnKit for Python left: all of it, or nothing
#[derive(Debug, Args)]
#[command(after_help = "\
Everything is checked, secrets are masked, and it is stored in one go: when one line is wrong, it
is named and nothing is stored. An id that is stored already with another content stays as it is,
and is named; --replace takes the one of the file. Importing a file again changes nothing.

An export goes to the tenant that it came from. Only --tenant NAME moves it to another one, where
its procedures only guide, because the tenant is part of what makes a task the same.

An older LearnKit left a JSON list or a database (`~/.learnkit/memory.db`, which is only read). Its
records name neither tenant, agent nor owner: they go to --tenant and --agent, and to the owner
`default`. Its procedures become steps in words, which guide and never replay; its runs are not
taken over. What else cannot be taken over is listed, and then the exit code is 1.

Example: learnkit import backup.jsonl.gz --dry-run
         learnkit import ~/.learnkit/memory.db --agent support")]
pub(crate) struct ImportMemoryArgs {
    /// The file to read, compressed or not; `-` is the standard input
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Read and check everything, say what would be done, and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Replace what is stored under the same id with another content
    #[arg(long)]
    pub(crate) replace: bool,
    /// The agent that records of an older LearnKit are for [default: default]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<AgentName>,
}
