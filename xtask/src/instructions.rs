//! `cargo xtask instructions`: the instructions of each hot path, compared with a committed baseline.
//!
//! Time is noise on a shared machine, instructions hardly are. Each path runs under callgrind with two
//! numbers of rounds; the difference per round is its cost, so that the rest of the process does not
//! count. The paths are in `benchmarks/src/path.rs`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::checkout::root;
use crate::command::{cargo, output};

const BASELINE: &str = "benchmarks/instructions.json";
const WRITE: &str = "cargo xtask instructions --write";
/// Measurements of one build differ by up to 1.6 % (seeds of hash maps, fresh ids, heap, threads).
const TOLERANCE: f64 = 0.05;
/// The shorter run has so many times fewer rounds.
const SHARE: u64 = 5;
/// Figures of another one of these are not compared; another C compiler or valgrind is only noted.
const DECISIVE: [&str; 2] = ["rustc", "target"];

/// What to do with the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Compare with the baseline.
    Compare,
    /// Make them the baseline.
    Write,
}

/// Measures; fails when a path got slower or the baseline is of another compiler.
pub fn run(mode: Mode) -> ExitCode {
    match execute(mode) {
        Ok(verdict) => {
            println!("xtask instructions passed: {verdict}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("xtask instructions FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn execute(mode: Mode) -> Result<String, String> {
    let environment = environment()?;
    let file = root().join(BASELINE);
    if mode == Mode::Write {
        let measured = Baseline { environment, instructions: measure()? };
        std::fs::write(&file, measured.to_json()).map_err(|error| format!("{BASELINE}: {error}"))?;
        return Ok(format!("{} paths written to {BASELINE}", measured.instructions.len()));
    }
    let text =
        std::fs::read_to_string(&file).map_err(|error| format!("{BASELINE}: {error}; write it with `{WRITE}`"))?;
    let baseline = Baseline::parse(&text)?;
    let notes = baseline.differences(&environment)?;
    let report = Report::of(&baseline.instructions, &measure()?);
    println!("{report}");
    notes.iter().for_each(|note| println!("note: {note}"));
    report.verdict()
}

/// What a committed file says.
#[derive(Debug, Clone, PartialEq)]
struct Baseline {
    environment: BTreeMap<String, String>,
    instructions: BTreeMap<String, u64>,
}

impl Baseline {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{BASELINE} is no baseline; write it with `{WRITE}`");
        let value: Value = serde_json::from_str(text).map_err(|error| format!("{}: {error}", wrong()))?;
        let object = |key: &str| value.get(key).and_then(Value::as_object).ok_or_else(wrong);
        let environment = object("environment")?.iter().filter_map(|(key, own)| Some((key, own.as_str()?)));
        let instructions = object("instructions")?.iter().filter_map(|(key, own)| Some((key, own.as_u64()?)));
        Ok(Self {
            environment: environment.map(|(key, own)| (key.clone(), own.to_owned())).collect(),
            instructions: instructions.map(|(key, own)| (key.clone(), own)).collect(),
        })
    }

    fn to_json(&self) -> String {
        let environment: Map<String, Value> =
            self.environment.iter().map(|(key, own)| (key.clone(), json!(own))).collect();
        let instructions: Map<String, Value> =
            self.instructions.iter().map(|(key, own)| (key.clone(), json!(own))).collect();
        format!("{:#}\n", json!({"environment": environment, "instructions": instructions}))
    }

    /// What else differs from where the baseline was written; an error when it cannot be compared.
    fn differences(&self, environment: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
        let mut notes = Vec::new();
        for (key, here) in environment {
            let there = self.environment.get(key).map_or("nothing", String::as_str);
            let difference = format!("the baseline was written with {key} `{there}`, here is `{here}`");
            match (there == here, DECISIVE.contains(&key.as_str())) {
                (true, _) => {}
                (false, true) => return Err(format!("{difference}; write a new one with `{WRITE}`")),
                (false, false) => notes.push(difference),
            }
        }
        Ok(notes)
    }
}

/// A path in the baseline and now.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    name: String,
    before: Option<u64>,
    now: Option<u64>,
}

impl Line {
    /// How much more it is now; absent where there is nothing to compare.
    fn growth(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let growth = |before: u64, now: u64| now as f64 / before as f64 - 1.0;
        Some(growth(self.before?, self.now?))
    }

    fn judgement(&self) -> Judgement {
        match self.growth() {
            None => Judgement::Unpaired,
            Some(growth) if growth > TOLERANCE => Judgement::Slower,
            Some(growth) if growth < -TOLERANCE => Judgement::Faster,
            Some(_) => Judgement::Same,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Same,
    Faster,
    Slower,
    /// Only in the baseline, or only measured.
    Unpaired,
}

/// Every path.
#[derive(Debug)]
struct Report(Vec<Line>);

impl Report {
    fn of(before: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> Self {
        let mut names: Vec<&String> = before.keys().chain(now.keys()).collect();
        names.sort();
        names.dedup();
        let line =
            |name: &String| Line { name: name.clone(), before: before.get(name).copied(), now: now.get(name).copied() };
        Self(names.into_iter().map(line).collect())
    }

    fn named(&self, judgement: Judgement) -> String {
        let lines = self.0.iter().filter(|line| line.judgement() == judgement);
        lines.map(|line| line.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn verdict(&self) -> Result<String, String> {
        let (slower, unpaired, faster) =
            (self.named(Judgement::Slower), self.named(Judgement::Unpaired), self.named(Judgement::Faster));
        if !unpaired.is_empty() {
            return Err(format!("not in both the baseline and the benchmarks: {unpaired}; run `{WRITE}`"));
        }
        if !slower.is_empty() {
            return Err(format!(
                "more instructions than the baseline allows: {slower}; find the cause with \
                 `valgrind --tool=callgrind`, or say in the commit why it is worth it and run `{WRITE}`"
            ));
        }
        let better = if faster.is_empty() { String::new() } else { format!("; better, so run `{WRITE}`: {faster}") };
        Ok(format!("{} paths{better}", self.0.len()))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<24} {:>12} {:>12} {:>8}", "path", "baseline", "now", "change")?;
        let figure = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        for line in &self.0 {
            let growth = line.growth().map_or_else(|| "-".to_owned(), |growth| format!("{:+.1} %", growth * 100.0));
            write!(f, "\n{:<24} {:>12} {:>12} {growth:>8}", line.name, figure(line.before), figure(line.now))?;
        }
        Ok(())
    }
}

/// What the figures depend on beside the code.
fn environment() -> Result<BTreeMap<String, String>, String> {
    let rustc = output(Command::new("rustc").arg("-vV"))?;
    let field = |name: &str| rustc.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    let valgrind = output(Command::new("valgrind").arg("--version"))
        .map_err(|error| format!("{error}; install it with `apt-get install valgrind`"))?;
    let cc = output(Command::new("cc").arg("--version"))?;
    let values = [
        ("rustc", field("release: ")),
        ("target", field("host: ")),
        ("cc", cc.lines().next().unwrap_or_default().to_owned()),
        ("valgrind", valgrind.trim().to_owned()),
    ];
    Ok(values.into_iter().map(|(key, own)| (key.to_owned(), own)).collect())
}

/// Instructions per round of every path.
fn measure() -> Result<BTreeMap<String, u64>, String> {
    let started = Instant::now();
    let program = build()?;
    println!("the release build took {} s", started.elapsed().as_secs());
    let listing = output(Command::new(&program).arg("path"))?;
    let mut instructions = BTreeMap::new();
    for line in listing.lines() {
        let (name, rounds) = line.split_once(' ').ok_or_else(|| format!("`{line}` names no path and rounds"))?;
        let rounds: u64 = rounds.parse().map_err(|error| format!("`{line}`: {error}"))?;
        let (few, many) = (rounds / SHARE, rounds);
        let total = count(&program, name, many)?.saturating_sub(count(&program, name, few)?);
        instructions.insert(name.to_owned(), total / (many - few));
    }
    println!("measured in {} s", started.elapsed().as_secs());
    Ok(instructions)
}

/// Builds the benchmarks and says where the program is.
fn build() -> Result<PathBuf, String> {
    let arguments = ["build", "--release", "--locked", "-p", "learnkit-benchmarks"];
    let messages = output(cargo().args(arguments).arg("--message-format=json-render-diagnostics"))?;
    messages.lines().find_map(executable).ok_or_else(|| "the build of learnkit-benchmarks made no program".to_owned())
}

fn executable(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let path = message.get("executable").and_then(Value::as_str)?;
    Path::new(path).file_stem().is_some_and(|name| name == "learnkit-benchmarks").then(|| PathBuf::from(path))
}

/// The instructions of one process.
fn count(program: &Path, name: &str, rounds: u64) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(program).args(["path", name, "--iterations", &rounds.to_string()]);
    let done = command.current_dir(root()).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let report = String::from_utf8_lossy(&done.stderr);
    let collected = done.status.success().then(|| collected(&report)).flatten();
    collected.ok_or_else(|| format!("path `{name}` under valgrind: {}", report.trim()))
}

/// The sum in callgrind's report, as in `==7== Collected : 17341502`.
fn collected(report: &str) -> Option<u64> {
    report.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    fn verdict(before: &[(&str, u64)], now: &[(&str, u64)]) -> Result<String, String> {
        Report::of(&counts(before), &counts(now)).verdict()
    }

    #[test]
    fn a_path_that_grew_beyond_the_tolerance_fails_by_name() {
        assert_eq!(verdict(&[("a", 1000), ("b", 1000)], &[("a", 1049), ("b", 960)]).as_deref(), Ok("2 paths"));
        let error = verdict(&[("a", 1000), ("b", 1000)], &[("a", 1051), ("b", 1000)]).unwrap_err();
        assert!(
            error.starts_with("more instructions than the baseline allows: a; ") && error.contains(WRITE),
            "{error}"
        );
    }

    #[test]
    fn better_figures_ask_to_be_written() {
        let verdict = verdict(&[("a", 1000)], &[("a", 900)]).unwrap();
        assert_eq!(verdict, format!("1 paths; better, so run `{WRITE}`: a"));
    }

    #[test]
    fn a_path_that_is_new_or_gone_is_not_passed_over() {
        assert!(verdict(&[("a", 1)], &[("a", 1), ("b", 1)]).unwrap_err().contains(": b; run"));
        assert!(verdict(&[("a", 1), ("c", 1)], &[("a", 1)]).unwrap_err().contains(": c; run"));
    }

    fn baseline() -> Baseline {
        let environment = [("rustc", "1.95.0"), ("target", "here"), ("cc", "12")];
        let environment = environment.map(|(key, own)| (key.to_owned(), own.to_owned())).into();
        Baseline { environment, instructions: counts(&[("a", 12)]) }
    }

    #[test]
    fn a_baseline_reads_back() {
        assert_eq!(Baseline::parse(&baseline().to_json()), Ok(baseline()));
        assert!(Baseline::parse("{}").unwrap_err().contains(WRITE));
    }

    #[test]
    fn another_compiler_or_target_is_not_compared_and_another_c_compiler_is_noted() {
        let elsewhere = |key: &str| {
            let mut environment = baseline().environment;
            environment.insert(key.to_owned(), "other".to_owned());
            baseline().differences(&environment)
        };
        assert_eq!(baseline().differences(&baseline().environment), Ok(Vec::new()));
        assert!(elsewhere("rustc").unwrap_err().contains(WRITE));
        assert!(elsewhere("target").unwrap_err().contains(WRITE));
        assert_eq!(elsewhere("cc").unwrap(), ["the baseline was written with cc `12`, here is `other`"]);
    }

    #[test]
    fn the_sum_of_callgrind_and_the_program_of_cargo_are_read() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 17341502\n==7==\n"), Some(17_341_502));
        assert_eq!(collected("==7== Command: x"), None);
        let message = r#"{"reason":"compiler-artifact","executable":"/t/release/learnkit-benchmarks"}"#;
        assert_eq!(executable(message), Some(PathBuf::from("/t/release/learnkit-benchmarks")));
        assert_eq!(executable(r#"{"reason":"compiler-artifact","executable":null}"#), None);
    }
}
