//! Developer commands of LearnKit, run as `cargo xtask COMMAND`.
//!
//! This file reads the command line; the work is in one module per command.

mod checkout;
mod command;
mod fuzz;
mod instructions;
mod package;
mod run_tests;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
Developer commands of LearnKit

Usage: cargo xtask COMMAND

Commands:
  fuzz [TARGET] [--seconds N]
                          Fuzz every target or one, 60 seconds each, with coverage feedback
  instructions [--write]  Count the instructions of the hot paths and compare them with the baseline
  package [--verify]      Check what each published package holds; `--verify` also builds them
  test                    Run every test and every documentation example
  tidy                    Check the structure of the checkout: sizes, markers, names, links
  help                    Print this text
";

fn main() -> ExitCode {
    if fuzz::is_compiler() {
        return fuzz::compile();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["fuzz"] => fuzz::run(&[]),
        ["fuzz", options @ ..] => fuzz::run(options),
        ["instructions"] => instructions::run(instructions::Mode::Compare),
        ["instructions", "--write"] => instructions::run(instructions::Mode::Write),
        ["package"] => package::run(package::Depth::Listing),
        ["package", "--verify"] => package::run(package::Depth::Build),
        ["test"] => run_tests::run(),
        ["tidy"] => tidy::run(),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        other => {
            eprintln!("unknown command `{}`; see `cargo xtask help`", other.join(" "));
            ExitCode::from(2)
        }
    }
}
