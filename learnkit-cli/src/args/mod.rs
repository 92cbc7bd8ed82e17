//! The arguments of the command line, as clap reads them; what they mean is in `cmd` and `memory`.

mod age;
mod drift;
mod records;
mod report;
mod runs;
mod setup;
mod skills;
mod transfer;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use learnkit::config::BackendUri;
use learnkit::record::{AgentName, Owner, Scope, Tenant};
use learnkit::{Error, Result, Task};

pub(crate) use self::drift::{
    DriftArgs, DriftCheckArgs, DriftCommand, GoldenCheckArgs, GoldenCommand, GoldenExportArgs,
};
pub(crate) use self::records::{AddCommand, RecordsArgs, RecordsCommand};
pub(crate) use self::report::ReportArgs;
pub(crate) use self::runs::{RecoverArgs, ReportedOutcome, RunsArgs, RunsCommand};
pub(crate) use self::setup::{CompletionsArgs, ConfigArgs, ConfigCommand, LinkedArgs, ManArgs};
pub(crate) use self::skills::{ExportArgs, ImportArgs, LeastStatus, SkillFormat, SkillsArgs, SkillsCommand, WhoseArgs};
pub(crate) use self::transfer::{ExportMemoryArgs, ImportMemoryArgs};

const EXIT_CODES: &str = "\
Exit codes: 0 it worked, 1 it failed, 2 the command line is wrong.
With --json an error is also an object {\"error\": {\"kind\", \"message\"}} on stdout.
A store is made by `learn`, `import`, `records add` and `skills import`; others open what is there.
A flag stands over its LEARNKIT_* variable, that over learnkit.toml; see `config show --origin`.
NO_COLOR switches colours off.

Example: learnkit learn runs/ && learnkit inspect \"Email the weekly report\"";

/// Procedural memory for tool-using AI agents.
#[derive(Debug, Parser)]
#[command(name = "learnkit", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes, before or after its name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// The store, such as `sqlite:learnkit.db`; without it `LEARNKIT_BACKEND` names it, and without that
    /// it is `sqlite:learnkit.db`
    #[arg(long, global = true, value_name = "URI")]
    pub(crate) backend: Option<BackendUri>,
    /// Print one JSON object on the last line instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The isolation boundary above every scope [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) tenant: Option<Tenant>,
    /// The file with settings; without it `LEARNKIT_CONFIG` names it, and without that it is
    /// `learnkit.toml` of the working directory, if there is one
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Who asks, and which words of a task are data.
#[derive(Debug, Args)]
#[command(next_help_heading = "Identity")]
pub(crate) struct IdentityArgs {
    /// `public`, `team:NAME` or `user:NAME` [default: team:default]
    #[arg(long, global = true, value_name = "SCOPE")]
    pub(crate) scope: Option<Scope>,
    /// The team whose records a user reads too [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) team: Option<Owner>,
    /// The agent whose procedures replay [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) agent: Option<AgentName>,
    /// A declared parameter: `{NAME}` in a task stands for VALUE, and identity counts only the name;
    /// may be given several times
    #[arg(long = "param", global = true, value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<Parameter>,
}

impl IdentityArgs {
    /// The declared parameters by name.
    ///
    /// # Errors
    /// `InvalidInput` when a name is given twice, or when no template takes a parameter like it.
    pub(crate) fn parameters(&self) -> Result<BTreeMap<String, String>> {
        let mut values = BTreeMap::new();
        for Parameter { name, value } in &self.parameters {
            if values.insert(name.clone(), value.clone()).is_some() {
                return Err(Error::invalid(format!("--param `{name}` is given twice; give each name one value")));
            }
        }
        if !values.is_empty() {
            // The engine says what may be a parameter; asked here, so that every command refuses alike.
            let every_name: Vec<String> = values.keys().map(|name| format!("{{{name}}}")).collect();
            Task::new(every_name.join(" ")).with_parameters(values.clone())?;
        }
        Ok(values)
    }
}

/// In which world a task is done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Identity")]
pub(crate) struct WorldArgs {
    /// A digest of the world that the task acts on, such as a version of its data; part of the identity
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    environment: Option<String>,
}

impl WorldArgs {
    /// The task in this world.
    pub(crate) fn of(&self, task: Task) -> Task {
        match &self.environment {
            Some(digest) => task.with_environment(digest),
            None => task,
        }
    }
}

fn digest(text: &str) -> Result<String> {
    if text.trim().is_empty() {
        return Err(Error::invalid("a blank digest says nothing about the world; leave the flag out"));
    }
    Ok(text.to_owned())
}

/// One `NAME=VALUE`.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    name: String,
    value: String,
}

impl FromStr for Parameter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = text.split_once('=').ok_or_else(|| Error::invalid("write it as NAME=VALUE"))?;
        if name.is_empty() || name.contains(['{', '}']) {
            return Err(Error::invalid("a parameter needs a name without braces, as in `table=users`"));
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Learn(LearnArgs),
    Inspect(InspectArgs),
    Key(KeyArgs),
    Records(RecordsArgs),
    Runs(RunsArgs),
    Report(ReportArgs),
    Skills(SkillsArgs),
    Drift(DriftArgs),
    Export(ExportMemoryArgs),
    Import(ImportMemoryArgs),
    Maintain(MaintainArgs),
    Doctor(DoctorArgs),
    Vacuum(VacuumArgs),
    Config(ConfigArgs),
    /// List the stores that this program can open
    #[command(after_help = "Example: learnkit backends --json")]
    Backends(LinkedArgs),
    /// List the adapters that are linked into this program
    #[command(after_help = "Example: learnkit adapters --json")]
    Adapters(LinkedArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Learn from recorded conversations: OpenAI chat, Anthropic messages, tool-call lines
#[derive(Debug, Args)]
#[command(after_help = "\
Of a folder every *.json, *.jsonl and *.gz is read, folders inside it too, in the order of their
names; compressed input is known by its content. A run is learned once, so learning a file again
changes nothing. A row may carry its task (`task`, `instruction`) and its outcome (`reward`,
`success`, `outcome`, `verdict`).

With --param, a recorded task that contains every {NAME} is a template; any other is plain text.

What is not learned is listed with its reason and place, and that is no failure. Exit code 1 means
that a path could not be read, the store could not be written, or not a single run was found.

Example: learnkit learn runs.jsonl.gz recordings/ --agent support
         zcat runs.jsonl.gz | learnkit learn - --json")]
pub(crate) struct LearnArgs {
    /// Files and folders; `-` is the standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
}

/// Show what memory would do for a task, without changing anything
#[derive(Debug, Args)]
#[command(after_help = "\
The plan names each call with what it may do to the world, whether an approval would be asked
for (`asks`), and which arguments only an earlier result gives. It is what a program with an
approver would do; LEARNKIT_REPLAY_POLICY=read_only or =ask shows another policy. No tool is
called: with the tools at hand, `LearnKit::dry_run` makes the reads and fills in what they give.

With --param the task is a template: `{NAME}` stands for a value, `{{` for a brace.

Example: learnkit inspect \"Email the weekly report\"
         learnkit inspect \"Build {fmt} report of {table}\" --param fmt=csv --param table=users")]
pub(crate) struct InspectArgs {
    /// What the agent is asked to do
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
}

/// Print the canonical text and key of each task on the standard input
#[derive(Debug, Args)]
#[command(after_help = "\
Reads one task a line. A line that starts with `\"` and is a JSON string is decoded, so a task of
several lines fits on one. Prints CANONICAL<TAB>KEY for every line; a canonical text with control
characters, or one that starts with `\"`, is written as a JSON string. No store is opened.

With --json one object a line: {\"text\", \"canonical\", \"key\"}.
With --param every line is a template.

Example: printf 'Email  the report.\\n' | learnkit key --agent support")]
pub(crate) struct KeyArgs {
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
}

/// Decay confidence, mark what expired as stale, and promote from probation
#[derive(Debug, Args)]
#[command(after_help = "\
Doing it twice changes nothing the second time.

Example: learnkit maintain --weeks 1 --decay-rate 0.02 --quarantine-hours 24")]
pub(crate) struct MaintainArgs {
    /// Decay only what was not reinforced for so many weeks [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) weeks: Option<i64>,
    /// How much confidence a week costs [default: 0.02]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub(crate) decay_rate: Option<f64>,
    /// How long probation takes [default: 24]
    #[arg(long, value_name = "HOURS", allow_negative_numbers = true)]
    pub(crate) quarantine_hours: Option<f64>,
}

/// Check the store and say what is linked, stored and wrong
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 1 means that something is wrong; it is listed under `problems`.

Example: learnkit doctor --backend sqlite:learnkit.db --json")]
pub(crate) struct DoctorArgs {}

/// Give the space of what was deleted back, and bring the text index up to date
#[derive(Debug, Args)]
#[command(after_help = "\
Other programs may have the store open. They can read meanwhile, and write afterwards. It needs free
space for a second copy of the store while it works.

Example: learnkit runs prune --older-than 30d && learnkit vacuum")]
pub(crate) struct VacuumArgs {}
