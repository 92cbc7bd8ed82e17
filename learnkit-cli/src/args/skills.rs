//! The arguments of `skills`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use learnkit::record::{AgentName, Owner, Scope};

use super::IdentityArgs;

/// Export skills as files for other agents, and import skill files
#[derive(Debug, Args)]
#[command(after_help = "Example: learnkit skills export --out skills && learnkit skills import skills")]
pub(crate) struct SkillsArgs {
    #[command(flatten)]
    pub(crate) whose: WhoseArgs,
    #[command(subcommand)]
    pub(crate) command: SkillsCommand,
}

/// Whose skills; they have no parameters.
#[derive(Debug, Args)]
#[command(next_help_heading = "Identity")]
pub(crate) struct WhoseArgs {
    /// `public`, `team:NAME` or `user:NAME` [default: team:default]
    #[arg(long, global = true, value_name = "SCOPE")]
    scope: Option<Scope>,
    /// The team whose records a user reads too [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    team: Option<Owner>,
    /// The agent [default: default; exports and checks take every agent's where none is set]
    #[arg(long, global = true, value_name = "NAME")]
    agent: Option<AgentName>,
}

impl WhoseArgs {
    /// The same without parameters.
    pub(crate) fn identity(&self) -> IdentityArgs {
        let Self { scope, team, agent } = self;
        IdentityArgs { scope: scope.clone(), team: team.clone(), agent: agent.clone(), parameters: Vec::new() }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    Export(ExportArgs),
    Import(ImportArgs),
}

/// Export the skills that may guide: active ones, and those on probation, marked as such
#[derive(Debug, Args)]
#[command(after_help = "\
agent-skills writes a folder NAME with SKILL.md and references/skill.json for each skill, as
agentskills.io describes it. deepagents writes the same below PATH/.deepagents/skills, where Deep
Agents looks for the skills of a project; a thread that is under way sees new ones only when it is
started anew. json writes one document to a file, or to the standard output for `-` or without --out.

The same store gives the same bytes. No result of a tool, no answer and no secret leaves with a skill,
and `allowed-tools` grants neither what a person has to approve nor, while a skill is unproven, what
may change something. What is in PATH already is kept: --force replaces what LearnKit wrote itself,
and nothing ever replaces anything else.

Example: learnkit skills export --out .agents/skills --agent support --min-status active
         learnkit skills export --format json --out skills.json")]
pub(crate) struct ExportArgs {
    /// The folder to write to, made where it is missing; for json a file or `-`
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// The format of the files
    #[arg(long, value_name = "FORMAT", default_value = "agent-skills")]
    pub(crate) format: SkillFormat,
    /// The least that a skill has to be
    #[arg(long, value_name = "STATUS", default_value = "probation")]
    pub(crate) min_status: LeastStatus,
    /// Replace skills that LearnKit wrote there before
    #[arg(long)]
    pub(crate) force: bool,
}

/// Import skill files of any author, and what `skills export` wrote
#[derive(Debug, Args)]
#[command(after_help = "\
A PATH is a SKILL.md, a folder that holds skill folders at any depth, a document that was exported as
json, or `-` for such a document on the standard input. Each skill becomes prose that guides: on
probation, unverified, and never replayed, whatever its file says. Scripts and other files are not
read, secrets are masked, and importing again changes nothing.

What cannot be read is named and stops nothing. Exit code 1 means that not a single skill was read.

Example: learnkit skills import .agents/skills --agent support")]
pub(crate) struct ImportArgs {
    /// Skill files, folders and documents
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// How skills are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkillFormat {
    AgentSkills,
    Deepagents,
    Json,
}

/// The least status of what is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LeastStatus {
    Probation,
    Active,
}
