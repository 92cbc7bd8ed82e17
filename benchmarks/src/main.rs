//! Benchmarks of LearnKit: each figure beside a floor that is measured in the same run.
//!
//! ```sh
//! cargo run -p learnkit-benchmarks --release -- cost            # a table
//! cargo run -p learnkit-benchmarks --release -- cost --json     # the last line is one object
//! cargo run -p learnkit-benchmarks --release -- poison [--json]   # attacks that a run obeyed, and clean runs
//! cargo run -p learnkit-benchmarks --release -- path            # hot paths that `cargo xtask instructions` counts
//! ```

mod corpus;
mod cost;
mod fixture;
mod meter;
mod path;
mod poison;
mod process;
mod siblings;

use std::process::ExitCode;

use learnkit::BoxError;

const USAGE: &str = "usage: learnkit-benchmarks cost [--json] [--sizes 1000,10000]
       learnkit-benchmarks poison [--json]
       learnkit-benchmarks path [NAME --iterations N]";

fn main() -> Result<ExitCode, BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == process::PROGRAM) {
        return Ok(learnkit_cli::run(std::env::args_os().skip(1), learnkit_cli::Io::of_process()));
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["siblings"] => siblings::run(false)?,
        ["siblings", "--json"] => siblings::run(true)?,
        // On a runtime of its own, with one thread.
        ["path"] => path::list(),
        ["path", name, "--iterations", rounds] => path::run(name, rounds.parse()?)?,
        _ => tokio::runtime::Runtime::new()?.block_on(run(&words))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn run(words: &[&str]) -> Result<(), BoxError> {
    match words {
        ["cost", options @ ..] => cost::run(&cost_options(options)?).await,
        ["poison"] => poison::run(false).await,
        ["poison", "--json"] => poison::run(true).await,
        [process::RESIDENT, uri, n] => process::resident(uri, n.parse()?).await,
        _ => Err(USAGE.into()),
    }
}

fn cost_options(words: &[&str]) -> Result<cost::Options, BoxError> {
    let mut options = cost::Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--json" => options.json = true,
            "--sizes" => options.sizes = cost::parse_sizes(words.next().ok_or(USAGE)?)?,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}
