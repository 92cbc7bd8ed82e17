//! Benchmarks of LearnKit: each figure beside a floor that is measured in the same run.
//!
//! ```sh
//! cargo run -p learnkit-benchmarks --release -- cost            # a table
//! cargo run -p learnkit-benchmarks --release -- cost --json     # the last line is one object
//! cargo run -p learnkit-benchmarks --release -- siblings [--json] # what one example says of another task like it
//! cargo run -p learnkit-benchmarks --release -- poison [--json]   # attacks that a run obeyed, and clean runs
//! cargo run -p learnkit-benchmarks --release -- planted [--json]  # records whose effect is known, and the ledger
//! cargo run -p learnkit-benchmarks --release -- path            # hot paths that `cargo xtask instructions` counts
//! cargo run -p learnkit-benchmarks --release -- repeat-stream --runs FILE --json   # recorded runs in random orders
//! cargo run -p learnkit-benchmarks --release -- never-wrong     # what another task or world makes it replay
//! ```

mod corpus;
mod cost;
mod fixture;
mod fresh;
mod meter;
mod never_wrong;
mod path;
mod planted;
mod poison;
mod process;
mod random;
mod share;
mod siblings;
mod stream;
mod tools;

use std::process::ExitCode;

use learnkit::BoxError;

const USAGE: &str = "usage: learnkit-benchmarks cost [--json] [--sizes 1000,10000]
       learnkit-benchmarks path [NAME --iterations N]
       learnkit-benchmarks repeat-stream --runs FILE [--orders 40] [--seed N] [--json] [--plot FILE.svg]
       learnkit-benchmarks never-wrong [--json]
       learnkit-benchmarks planted [--json] [--seeds 20]
       learnkit-benchmarks poison [--json]
       learnkit-benchmarks siblings [--json]
       learnkit-benchmarks --help";

fn main() -> ExitCode {
    start().unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn start() -> Result<ExitCode, BoxError> {
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
        // On as many threads as there are processors.
        ["repeat-stream", options @ ..] => stream::run(&stream::Options::parse(options)?)?,
        _ => tokio::runtime::Runtime::new()?.block_on(run(&words))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn run(words: &[&str]) -> Result<(), BoxError> {
    match words {
        ["--help" | "-h" | "help"] => {
            println!("{USAGE}\n\n{}", stream::FORMAT);
            Ok(())
        }
        ["never-wrong"] => never_wrong::run(false).await,
        ["never-wrong", "--json"] => never_wrong::run(true).await,
        ["cost", options @ ..] => cost::run(&cost_options(options)?).await,
        ["planted", options @ ..] => planted::run(planted::Options::parse(options)?).await,
        ["poison"] => Box::pin(poison::run(false)).await,
        ["poison", "--json"] => Box::pin(poison::run(true)).await,
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
