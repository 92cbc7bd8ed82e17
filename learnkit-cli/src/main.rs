//! The `learnkit` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    learnkit_cli::run(std::env::args_os(), learnkit_cli::Io::of_process())
}
