//! `cargo xtask tidy`: what a reviewer would otherwise have to look for.
//!
//! Each check has a name, sees the whole checkout and returns what it found. Rules that need
//! Cargo's own view of the workspace are tests in `tests/tests/house.rs`.

mod docs;
mod hooks;
mod manifests;
mod sources;
mod toolchain;

use std::fmt;
use std::process::ExitCode;

use crate::checkout::Checkout;

/// Something a check has to say about a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    place: String,
    message: String,
}

impl Finding {
    /// A finding about a whole file.
    fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self { place: path.to_owned(), message: message.into() }
    }

    /// A finding about a line.
    fn at_line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { place: format!("{path}:{line}"), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// What becomes of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// It fails the command.
    Fails,
    /// It is listed.
    Noted,
}

struct Check {
    name: &'static str,
    weight: Weight,
    find: fn(&Checkout) -> Vec<Finding>,
}

const fn fails(name: &'static str, find: fn(&Checkout) -> Vec<Finding>) -> Check {
    Check { name, weight: Weight::Fails, find }
}

const CHECKS: [Check; 14] = [
    fails("file-length", sources::too_long),
    Check { name: "file-length-soon", weight: Weight::Noted, find: sources::long },
    fails("facade-length", sources::long_facade),
    fails("unfinished-code", sources::unfinished),
    fails("silenced-code", sources::silenced),
    fails("machine-paths", sources::machine_paths),
    fails("crate-lints", manifests::crates_without_lints),
    fails("one-name", manifests::names_that_differ),
    fails("rust-version", toolchain::other_rust_versions),
    fails("hooks", hooks::broken_hooks),
    fails("diagrams", docs::broken_diagrams),
    fails("diagram-index", docs::unlisted_diagrams),
    fails("adr-index", docs::unlisted_decisions),
    fails("links", docs::dead_links),
];

/// Runs every check and prints each by name.
pub fn run() -> ExitCode {
    let checkout = match Checkout::read() {
        Ok(checkout) => checkout,
        Err(error) => {
            eprintln!("the checkout cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    let failed: Vec<&str> = CHECKS.iter().filter(|check| !passes(check, &checkout)).map(|check| check.name).collect();
    if failed.is_empty() {
        println!("xtask tidy passed: {} checks, {} files", CHECKS.len(), checkout.files().len());
        return ExitCode::SUCCESS;
    }
    println!("xtask tidy FAILED: {}", failed.join(", "));
    ExitCode::FAILURE
}

fn passes(check: &Check, checkout: &Checkout) -> bool {
    let findings = (check.find)(checkout);
    let verdict = match (findings.is_empty(), check.weight) {
        (true, _) => "ok",
        (false, Weight::Noted) => "note",
        (false, Weight::Fails) => "FAIL",
    };
    println!("{verdict:<4} {}", check.name);
    findings.iter().for_each(|finding| println!("       {finding}"));
    findings.is_empty() || check.weight == Weight::Noted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_are_unique() {
        let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }
}
