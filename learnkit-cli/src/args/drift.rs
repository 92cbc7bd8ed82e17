//! The arguments of `drift`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use learnkit::record::RecordId;

use super::skills::WhoseArgs;

/// Find procedures that the tools of today do not fit any more, and keep golden ones in a repository
#[derive(Debug, Args)]
#[command(after_help = "Example: learnkit drift check --tools tools.json && learnkit drift golden check golden")]
pub(crate) struct DriftArgs {
    #[command(flatten)]
    pub(crate) whose: WhoseArgs,
    #[command(subcommand)]
    pub(crate) command: DriftCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriftCommand {
    Check(DriftCheckArgs),
    Golden(GoldenArgs),
}

/// Compare what procedures were captured with and a tool list: what changed, and for whom
#[derive(Debug, Args)]
#[command(after_help = "\
Looks at every procedure that may replay, in the scopes that are read. These changes are
compatible: a new optional field, an enum that takes more, a field that need not be given any
more, a limit that is gone or wider. The order of keys is no change. Everything else blocks. Of a
procedure that was captured without a tool list only the names of its tools are checked.

The list is the `tools` of a request to OpenAI or Anthropic, the answer of an MCP server to
`tools/list`, or {NAME: {\"description\", \"input_schema\", \"annotations\", \"version\"}}. What a form
has no words for, as that of OpenAI has none for annotations, is not compared.

Example: learnkit drift check --tools tools.json --exit-code
         learnkit drift check --tools tools.json --agent support --json")]
pub(crate) struct DriftCheckArgs {
    /// The tool list, a JSON file; `-` is the standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: PathBuf,
    /// Exit with 1 when a change keeps a procedure from being replayed
    #[arg(long)]
    pub(crate) exit_code: bool,
}

/// Keep golden procedures as files, so that a change of one is seen in review and fails CI
#[derive(Debug, Args)]
#[command(after_help = "Example: learnkit drift golden export golden --pinned && learnkit drift golden check golden")]
pub(crate) struct GoldenArgs {
    #[command(subcommand)]
    pub(crate) command: GoldenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GoldenCommand {
    /// Write chosen procedures into a folder, a file each
    #[command(after_help = "\
A file holds the task, the calls with their guards, the answer and the contracts of the tools;
the same procedure gives the same bytes. Results, counters, times and runs stay out. What is in
the folder already is kept: --force replaces golden files, and nothing ever replaces anything else.

Example: learnkit drift golden export golden --pinned
         learnkit drift golden export golden --record skill_0123456789abcdef --force")]
    Export(GoldenExportArgs),
    /// Fail when a stored procedure is not its golden file any more, or is gone
    #[command(after_help = "\
Exit code 1 means that a procedure differs, is gone, retired or quarantined, that a file cannot be
read, that there is none at all, or, with --tools, that the tools broke a golden contract.

Example: learnkit drift golden check golden --tools tools.json")]
    Check(GoldenCheckArgs),
}

/// Which procedures, and where they go.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("chosen").args(["records", "pinned", "verified"]).required(true).multiple(true)))]
pub(crate) struct GoldenExportArgs {
    /// The folder, made where it is missing
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// This record; may be given several times
    #[arg(long = "record", value_name = "ID")]
    pub(crate) records: Vec<RecordId>,
    /// Every procedure that is pinned
    #[arg(long)]
    pub(crate) pinned: bool,
    /// Every procedure that is verified
    #[arg(long)]
    pub(crate) verified: bool,
    /// Replace golden files that are there already
    #[arg(long)]
    pub(crate) force: bool,
}

/// What is compared.
#[derive(Debug, Args)]
pub(crate) struct GoldenCheckArgs {
    /// The folder of golden files, or one of them
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// A tool list that has to keep the contracts; `-` is the standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
}
