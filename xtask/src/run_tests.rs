//! `cargo xtask test`: every test, then every documentation example.
//!
//! Uses cargo-nextest where it is installed, else Cargo's own runner, and ends with one line that
//! adds both up.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ExitCode, Stdio};
use std::time::Instant;

use crate::command::cargo;

/// Runs everything; fails when any part does.
pub fn run() -> ExitCode {
    let started = Instant::now();
    let tests = if has_nextest() {
        Part::run("tests", Report::Stderr, &["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"])
    } else {
        println!("note: cargo-nextest is not installed, so `cargo test` runs the tests");
        let arguments = ["test", "--workspace", "--all-features", "--all-targets", "--no-fail-fast"];
        Part::run("tests", Report::Stdout, &arguments)
    };
    let examples = ["test", "--workspace", "--doc", "--all-features", "--no-fail-fast"];
    let examples = Part::run("documentation examples", Report::Stdout, &examples);
    let passed = tests.passed && examples.passed;
    let verdict = if passed { "passed" } else { "FAILED" };
    println!("\nxtask test {verdict}: {tests}; {examples}; {} s", started.elapsed().as_secs());
    // Test collectors read a line of this form.
    let Counts { passed: ok, failed, skipped } = tests.counts.plus(examples.counts);
    println!("tests: {ok} passed, {failed} failed, {skipped} skipped");
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Where a runner writes its summary.
#[derive(Debug, Clone, Copy)]
enum Report {
    Stdout,
    Stderr,
}

/// One command and what came out of it.
#[derive(Debug)]
struct Part {
    name: &'static str,
    passed: bool,
    counts: Counts,
}

impl Part {
    fn run(name: &'static str, report: Report, arguments: &[&str]) -> Self {
        println!("\n$ cargo {}", arguments.join(" "));
        match execute(report, arguments) {
            Ok((passed, counts)) => Self { name, passed, counts },
            Err(error) => {
                eprintln!("cargo could not be run: {error}");
                Self { name, passed: false, counts: Counts::default() }
            }
        }
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { passed, failed, skipped } = self.counts;
        write!(f, "{} {passed} passed, {failed} failed, {skipped} skipped", self.name)?;
        // A build error leaves no count behind.
        if !self.passed && failed == 0 { f.write_str(" (did not finish)") } else { Ok(()) }
    }
}

/// How many tests ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }

    /// The counts of a summary line of either runner; nothing for any other line.
    fn of_line(line: &str) -> Option<Self> {
        let is_summary = line.contains("test result:") || line.trim_start().starts_with("Summary [");
        is_summary.then(|| {
            let words: Vec<&str> =
                line.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', ';'])).collect();
            let mut counts = Self::default();
            for pair in words.windows(2) {
                let &[number, word] = pair else { continue };
                let Ok(number) = number.parse::<u64>() else { continue };
                match word {
                    "passed" => counts.passed += number,
                    "failed" | "timed" => counts.failed += number,
                    "skipped" | "ignored" => counts.skipped += number,
                    _ => {}
                }
            }
            counts
        })
    }

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

fn has_nextest() -> bool {
    let version = cargo().args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Runs Cargo, shows what it prints and adds up its summaries.
fn execute(report: Report, arguments: &[&str]) -> io::Result<(bool, Counts)> {
    let mut command = cargo();
    command.args(arguments).current_dir(crate::checkout::root()).stdin(Stdio::null());
    match report {
        Report::Stdout => command.stdout(Stdio::piped()),
        Report::Stderr => command.stderr(Stdio::piped()),
    };
    let mut child = command.spawn()?;
    let counts = echo(&mut child)?;
    Ok((child.wait()?.success(), counts))
}

/// Passes the piped stream of a child on, line by line.
fn echo(child: &mut Child) -> io::Result<Counts> {
    match (child.stdout.take(), child.stderr.take()) {
        (Some(stream), _) => pass_on(stream, &mut io::stdout()),
        (_, Some(stream)) => pass_on(stream, &mut io::stderr()),
        _ => Ok(Counts::default()),
    }
}

fn pass_on(stream: impl io::Read, screen: &mut impl Write) -> io::Result<Counts> {
    let mut counts = Counts::default();
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        screen.write_all(&line)?;
        let found = Counts::of_line(&String::from_utf8_lossy(&line)).unwrap_or_default();
        counts = counts.add(found);
        line.clear();
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_both_runners_are_read() {
        let nextest = "     Summary [   1.512s] 14 tests run: 11 passed (1 slow), 2 failed, 1 timed out, 3 skipped";
        assert_eq!(Counts::of_line(nextest), Some(Counts { passed: 11, failed: 3, skipped: 3 }));
        let libtest =
            "test result: FAILED. 4 passed; 1 failed; 2 ignored; 0 measured; 9 filtered out; finished in 0.1s";
        assert_eq!(Counts::of_line(libtest), Some(Counts { passed: 4, failed: 1, skipped: 2 }));
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(Counts::of_line("test outcome::tests::3 passed ... ok"), None);
        assert_eq!(Counts::of_line("error: test run failed"), None);
    }

    #[test]
    fn everything_is_passed_on_and_added_up() {
        let report =
            b"running\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\xff\ntest result: ok. 3 passed; 0 failed";
        let mut screen = Vec::new();
        let counts = pass_on(report.as_slice(), &mut screen).unwrap();
        assert_eq!(counts, Counts { passed: 5, failed: 0, skipped: 0 });
        assert_eq!(screen, report);
    }
}
