//! `completions`: what a shell needs to complete commands and flags.

use clap::CommandFactory as _;
use serde_json::json;

use crate::args::{Cli, CompletionsArgs};
use crate::failure::{Ending, Outcome};
use crate::output::Output;

pub(super) fn run(args: &CompletionsArgs, out: &mut Output<'_>) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "learnkit", &mut script);
    let script = String::from_utf8_lossy(&script);
    if out.is_json() {
        out.json(&json!({ "shell": args.shell.to_string(), "script": script }))?;
    } else {
        out.line(script.trim_end())?;
    }
    Ok(Ending::Good)
}
