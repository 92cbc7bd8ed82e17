//! The arguments of what sets the program up: settings, completions, manual pages, what is linked.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::skills::WhoseArgs;

/// Show the settings that hold, and where each came from
#[derive(Debug, Args)]
#[command(after_help = "Example: learnkit config show --origin")]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    pub(crate) whose: WhoseArgs,
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting with its value, secrets left out
    #[command(after_help = "\
A flag stands over its LEARNKIT_* variable, that over the configuration file, and that over the default.

Example: learnkit config show --origin
         learnkit config show --config staging.toml --json")]
    Show {
        /// Say where each value came from and which variable sets it
        #[arg(long)]
        origin: bool,
    },
}

/// Takes nothing of its own.
#[derive(Debug, Args)]
pub(crate) struct LinkedArgs {}

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "Example: learnkit completions bash > ~/.local/share/bash-completion/completions/learnkit")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Print the manual page, or write one page for each command
#[derive(Debug, Args)]
#[command(after_help = "\
Example: learnkit man | man -l -
         learnkit man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder to write every page to; made where it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
