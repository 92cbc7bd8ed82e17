//! `cargo xtask fuzz`: every fuzz target under libFuzzer, with coverage feedback, on stable Rust.
//!
//! Only the packages of the workspace are instrumented: this program is Cargo's compiler wrapper for them
//! and adds the flags, so that dependencies are those of the ordinary build. No sanitizer is used; the code
//! is safe, and what is looked for is a panic, a broken promise, a hang or too much memory.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::checkout::root;
use crate::command::{cargo, output};

const PACKAGE: &str = "learnkit-fuzz";
const SEEDS: &str = "fuzz/seeds";
/// Set for the compiler wrapper.
const WRAPPED: &str = "LEARNKIT_FUZZ_COMPILE";
/// An input that takes longer fails, in seconds.
const SECONDS_PER_INPUT: u32 = 10;
/// More memory fails, in MiB.
const MEMORY_MIB: u32 = 2048;
/// Longer inputs find little more, in bytes.
const INPUT_BYTES: u32 = 4096;

/// What rustc is told for coverage feedback, as cargo-fuzz does, but for sanitizers, which stable has not.
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // Counters of code that the linker drops would leave holes in the table.
    "-Ccodegen-units=1",
];

/// What to run, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    target: Option<String>,
    seconds: u32,
}

impl Options {
    /// Reads `[TARGET] [--seconds N]`; 60 seconds each unless said otherwise.
    ///
    /// # Errors
    /// When a word is none of these.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self { target: None, seconds: 60 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--seconds" => {
                    let number = words.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                    options.seconds = number.ok_or("`--seconds` takes a number from 1")?;
                }
                target if options.target.is_none() && !target.starts_with('-') => {
                    options.target = Some(target.to_owned());
                }
                other => return Err(format!("`{other}` is not understood; see `cargo xtask help`")),
            }
        }
        Ok(options)
    }
}

/// Fuzzes; fails when a target does, and says where the input is.
pub fn run(words: &[&str]) -> ExitCode {
    match Options::parse(words).and_then(|options| execute(&options)) {
        Ok(verdict) => {
            println!("xtask fuzz passed: {verdict}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("xtask fuzz FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn execute(options: &Options) -> Result<String, String> {
    let started = Instant::now();
    let programs = build(options.target.as_deref())?;
    println!("the instrumented build took {} s", started.elapsed().as_secs());
    for program in &programs {
        fuzz(program, options.seconds)?;
    }
    Ok(format!("{} targets, {} s each, {} s", programs.len(), options.seconds, started.elapsed().as_secs()))
}

/// A target that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    target: String,
    path: PathBuf,
}

fn build(target: Option<&str>) -> Result<Vec<Program>, String> {
    let wrapper = std::env::current_exe().map_err(|error| format!("this program is not found: {error}"))?;
    let mut command = cargo();
    command.args(["build", "--locked", "-p", PACKAGE, "--message-format=json-render-diagnostics"]);
    // Optimised a little, which pays within seconds; overflow checks and debug assertions stay on.
    command.args(["--config", "profile.dev.package.learnkit-core.opt-level=1"]);
    command.env("RUSTC_WORKSPACE_WRAPPER", wrapper).env(WRAPPED, "1");
    match target {
        Some(target) => command.args(["--bin", &format!("fuzz_{target}")]),
        None => command.arg("--bins"),
    };
    let messages = output(&mut command)?;
    let mut programs: Vec<Program> = messages.lines().filter_map(program).collect();
    programs.sort_by(|a, b| a.target.cmp(&b.target));
    if programs.is_empty() { Err(format!("the build of {PACKAGE} made no program")) } else { Ok(programs) }
}

fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let path = PathBuf::from(message.get("executable")?.as_str()?);
    let target = path.file_stem()?.to_str()?.strip_prefix("fuzz_")?.to_owned();
    Some(Program { target, path })
}

/// Runs one target over its seeds and what it found earlier.
fn fuzz(program: &Program, seconds: u32) -> Result<(), String> {
    let target = &program.target;
    let found = program.path.with_file_name(format!("fuzz_{target}.corpus"));
    std::fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
    let artifacts = program.path.with_file_name(format!("fuzz_{target}."));
    let started = Instant::now();
    let mut command = Command::new(&program.path);
    command.arg(&found).arg(Path::new(SEEDS).join(target)).args([
        format!("-max_total_time={seconds}"),
        format!("-timeout={SECONDS_PER_INPUT}"),
        format!("-rss_limit_mb={MEMORY_MIB}"),
        format!("-max_len={INPUT_BYTES}"),
        format!("-artifact_prefix={}", artifacts.display()),
        "-print_final_stats=1".to_owned(),
        "-verbosity=1".to_owned(),
        "-close_fd_mask=0".to_owned(),
    ]);
    let done = command.current_dir(root()).stdin(Stdio::null()).output();
    let done = done.map_err(|error| format!("`{target}` cannot be run: {error}"))?;
    let log = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        return Err(format!("{target} ended with {}; the input is named in\n{}", done.status, tail(&log)));
    }
    let summary = Summary::of(&log).ok_or_else(|| format!("{target} gave no coverage:\n{}", tail(&log)))?;
    println!("{target:<10} {summary} in {} s", started.elapsed().as_secs());
    Ok(())
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// What a run of libFuzzer says at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Summary {
    runs: u64,
    edges_at_first: u64,
    edges: u64,
}

impl Summary {
    /// Reads `#12 INITED cov: 34 …` and `#5678 DONE cov: 90 …`; nothing where the build has no coverage.
    fn of(log: &str) -> Option<Self> {
        let line = |event: &str| log.lines().find(|line| line.split_whitespace().nth(1) == Some(event));
        let edges = |line: &str| line.split_once("cov: ")?.1.split_whitespace().next()?.parse::<u64>().ok();
        let (first, last) = (line("INITED")?, line("DONE")?);
        let runs = last.trim_start_matches('#').split_whitespace().next()?.parse().ok()?;
        Some(Self { runs, edges_at_first: edges(first)?, edges: edges(last)? })
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>9} runs, {:>6} edges by the seeds, {:>6} now", self.runs, self.edges_at_first, self.edges)
    }
}

/// Whether Cargo runs this program in place of the compiler.
pub fn is_compiler() -> bool {
    std::env::var_os(WRAPPED).is_some()
}

/// Compiles a package of the workspace with coverage feedback: the compiler, then its arguments.
pub fn compile() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(compiler) = arguments.next() else { return ExitCode::FAILURE };
    let status = Command::new(compiler).args(arguments).args(FLAGS).env_remove(WRAPPED).status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the compiler cannot be run: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_and_seconds_are_read_and_anything_else_is_refused() {
        let options = |words: &[&str]| Options::parse(words);
        assert_eq!(options(&[]), Ok(Options { target: None, seconds: 60 }));
        assert_eq!(options(&["align", "--seconds", "5"]), Ok(Options { target: Some("align".into()), seconds: 5 }));
        for wrong in [&["--seconds"][..], &["--seconds", "0"], &["--fast"], &["align", "import"]] {
            assert!(options(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_run_without_coverage_is_no_run() {
        let log = "INFO: seed\n#9\tINITED cov: 34 ft: 40 corp: 3/1b\n#5678\tDONE   cov: 90 ft: 99 corp: 7/9b\n";
        assert_eq!(Summary::of(log), Some(Summary { runs: 5678, edges_at_first: 34, edges: 90 }));
        assert_eq!(Summary::of("#2\tINITED exec/s: 0\n#5678\tDONE exec/s: 9\n"), None);
    }
}
