//! The command line of LearnKit.
//!
//! [`run`] is the whole program; its streams, terminal and environment come in as [`Io`], so that
//! tests drive it inside their own process.

mod args;
mod cmd;
mod failure;
mod input;
mod io;
mod memory;
mod output;
mod skills;
mod source;
mod target;
mod text;

use std::ffi::OsString;
use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind as ClapKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use learnkit::{Error, ErrorKind};
use serde_json::json;

use crate::args::{Cli, GlobalArgs};
use crate::failure::{Ending, Failure, Outcome, complaint};
pub use crate::io::{Io, Terminal, Variable};
use crate::output::{Format, Output, error_object};

/// Help lines are at most so long.
const HELP_WIDTH: usize = 100;

/// Everything a command works with.
pub(crate) struct Context<'a> {
    pub(crate) stdin: Box<dyn BufRead + Send + 'a>,
    pub(crate) out: Output<'a>,
    pub(crate) variable: Variable<'a>,
    pub(crate) folder: PathBuf,
    pub(crate) global: GlobalArgs,
}

/// Runs one command; `args` starts with the name of the program.
///
/// Gives exit code 0 when it worked, 1 when it failed, 2 when the command line is wrong. A reader
/// that closes the pipe is no failure.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString>>, io: Io<'_>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let Io { stdin, stdout, stderr, terminal, variable, folder } = io;
    let mut out = Output::new(stdout, stderr, terminal);
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    if is_set("NO_COLOR") || variable("TERM").as_deref() == Some("dumb") {
        out.without_colours();
    }
    // Known before the command line is read, for errors in it.
    if args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json") {
        out.format = Format::Json;
    }
    let (outcome, mut out) = match parse(args, terminal) {
        Ok(Cli { global, command }) => {
            let mut context = Context { stdin, out, variable, folder, global };
            let outcome = start(&command, &mut context);
            (outcome, context.out)
        }
        Err(error) => (refused(&error, &mut out), out),
    };
    let ending = outcome.and_then(|ending| {
        out.finish()?;
        Ok(ending)
    });
    ExitCode::from(match ending {
        Ok(Ending::Good) => 0,
        Ok(Ending::Bad) => 1,
        Err(failure) => told(&failure, &mut out),
    })
}

/// Reads the command line; help is wrapped for the terminal at hand, not for one that clap finds.
fn parse(args: Vec<OsString>, terminal: Terminal) -> Result<Cli, clap::Error> {
    let width = terminal.width.map_or(HELP_WIDTH, usize::from).min(HELP_WIDTH);
    let matches = Cli::command().term_width(width).try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

/// Runs the command on a runtime of its own.
fn start(command: &args::Command, context: &mut Context<'_>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the runtime cannot be started; check the limits of this system")
            .with_source(error)
    })?;
    runtime.block_on(cmd::run(command, context))
}

/// Help and version are results; everything else that clap says is a complaint.
fn refused(error: &clap::Error, out: &mut Output<'_>) -> Outcome {
    match error.kind() {
        ClapKind::DisplayHelp | ClapKind::DisplayVersion => {
            let text = error.render();
            let text = if out.has_colours() { text.ansi().to_string() } else { text.to_string() };
            out.line(text.trim_end())?;
            Ok(Ending::Good)
        }
        ClapKind::DisplayHelpOnMissingArgumentOrSubcommand if !out.is_json() => {
            let text = error.render();
            let text = if out.has_error_colours() { text.ansi().to_string() } else { text.to_string() };
            out.raw_error(text);
            Err(Failure::Usage("name a command".to_owned()))
        }
        _ => Err(Failure::Usage(complaint(error))),
    }
}

/// Says why a command failed and gives its exit code.
fn told(failure: &Failure, out: &mut Output<'_>) -> u8 {
    let message = failure.message();
    out.error(&message);
    if out.is_json() {
        // When the output cannot be written either, the error was said above.
        let _ = out.json(&json!({ "error": error_object(failure.kind(), &message) }));
    }
    let _ = out.finish();
    failure.exit_code()
}
