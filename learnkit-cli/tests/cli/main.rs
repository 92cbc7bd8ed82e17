//! The command line as its users see it: standard output, standard error and exit code.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test, as the tests themselves do")]

mod adding;
mod drift;
mod exporting;
mod importing;
mod learning;
mod looking;
mod program;
mod recovering;
mod reporting;
mod setup;
mod skills;
mod support;
mod trouble;
mod upkeep;
