//! Benchmarks of LearnKit: each figure beside a floor that is measured in the same run.
//!
//! ```sh
//! cargo run -p learnkit-benchmarks --release -- cost            # a table
//! cargo run -p learnkit-benchmarks --release -- cost --json     # the last line is one object
//! ```

mod corpus;
mod cost;
mod meter;

use learnkit::BoxError;

const USAGE: &str = "usage: learnkit-benchmarks cost [--json] [--sizes 1000,10000]";

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some("cost") {
        return Err(USAGE.into());
    }
    let mut options = cost::Options::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => options.json = true,
            "--sizes" => options.sizes = cost::parse_sizes(&arguments.next().ok_or(USAGE)?)?,
            _ => return Err(USAGE.into()),
        }
    }
    cost::run(&options).await
}
