//! What a process costs: starting the program, and the memory that a store keeps resident.
//!
//! Starting is measured on this program, which is `learnkit` too when its first argument says so; `true` is
//! its floor. Resident
//! memory is read in a child of this program, whose floor is the same child before it opens the store.
//! Linux only: CPU of children and resident memory come from `/proc`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use jiff::Timestamp;
use learnkit::engine::SessionOptions;
use learnkit::{BoxError, LearnKit};

use crate::cost::Row;
use crate::fixture;
use crate::meter::Cost;

/// The store sizes for which resident memory is read.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// The hidden command of the child whose memory is read.
pub const RESIDENT: &str = "resident";
/// The hidden command that makes this program `learnkit`.
pub const PROGRAM: &str = "learnkit";

/// The size of the store that the program inspects.
const INSPECTED: usize = 1_000;
/// Wall time is the best of so many rounds; CPU is the mean of all, because the kernel tells CPU of
/// children in ticks of 10 ms.
const ROUNDS: u32 = 5;
/// Starts in a round.
const STARTS: u32 = 40;
/// So many lookups, searches and prepared runs of the child.
const OPERATIONS: usize = 100;
/// The bars: wall time of a start, memory at the peak.
const START_US: f64 = 20_000.0;
const RESIDENT_MB: f64 = 25.0;

/// Measures the start of the program, and resident memory for each of these sizes.
///
/// # Errors
/// When this is a debug build, when the program is not beside this one, when a child fails.
pub async fn rows() -> Result<Vec<Row>, BoxError> {
    if cfg!(debug_assertions) {
        return Err("a debug build says nothing about cost; add --release".into());
    }
    let mut rows = start_rows().await?;
    for n in SIZES {
        eprintln!("filling a store with {n} records");
        let store = Filled::new(n).await?;
        rows.push(Row::resident(n, resident_mb(&store.uri, n)?, RESIDENT_MB));
    }
    Ok(rows)
}

/// A store in a folder of its own, closed again.
struct Filled {
    uri: String,
    _folder: tempfile::TempDir,
}

impl Filled {
    async fn new(n: usize) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        let uri = format!("sqlite:{}", folder.path().join("process.db").display());
        // Now, because the program goes by the real clock and old records expire.
        let at = Timestamp::now();
        let memory = fixture::open(&uri, at).await?;
        fixture::fill(&memory, n, at).await?;
        memory.shutdown().await?;
        Ok(Self { uri, _folder: folder })
    }
}

async fn start_rows() -> Result<Vec<Row>, BoxError> {
    let program = std::env::current_exe()?;
    let store = Filled::new(INSPECTED).await?;
    // Waiting for children blocks.
    let measured = tokio::task::spawn_blocking(move || {
        let task = fixture::task(7);
        let floor = start(Path::new("true"), &[])?;
        let version = start(&program, &[PROGRAM, "--version"])?;
        let inspect = start(&program, &[PROGRAM, "inspect", task.text(), "--backend", &store.uri])?;
        let row = |name, n, cost| Row::start(name, n, cost, floor, START_US);
        Ok::<_, BoxError>(vec![row("start_version", 0, version), row("start_inspect", INSPECTED, inspect)])
    });
    measured.await?
}

/// What one start of a program costs.
fn start(program: &Path, arguments: &[&str]) -> Result<Cost, BoxError> {
    start_once(program, arguments)?;
    let before = child_ticks()?;
    let mut wall_us = f64::INFINITY;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..STARTS {
            start_once(program, arguments)?;
        }
        wall_us = wall_us.min(started.elapsed().as_secs_f64() * 1e6 / f64::from(STARTS));
    }
    let ticks = u32::try_from(child_ticks()? - before)?;
    let per_second = u32::try_from(rustix::param::clock_ticks_per_second())?;
    let cpu_us = f64::from(ticks) / f64::from(per_second) * 1e6 / f64::from(ROUNDS * STARTS);
    Ok(Cost { cpu_us, wall_us })
}

fn start_once(program: &Path, arguments: &[&str]) -> Result<(), BoxError> {
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", program.display()).into()) }
}

/// CPU of all children that ended, in clock ticks: fields 16 and 17 of `proc_pid_stat(5)`.
fn child_ticks() -> Result<u64, BoxError> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The second field is the name in parentheses and may hold spaces.
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/self/stat is not as proc(5) says")?;
    let ticks = fields.split_whitespace().skip(13).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()?)
}

/// The most memory that the child held, in MB of 10^6 bytes.
fn resident_mb(uri: &str, n: usize) -> Result<f64, BoxError> {
    let child = Command::new(std::env::current_exe()?).args([RESIDENT, uri, &n.to_string()]).output()?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr).into_owned().into());
    }
    Ok(String::from_utf8(child.stdout)?.trim().parse()?)
}

/// The child: opens a store of n records, works with it and prints its resident memory at the peak in MB.
///
/// # Errors
/// When the store cannot be opened or does not hold what it should.
pub async fn resident(uri: &str, n: usize) -> Result<(), BoxError> {
    let memory = LearnKit::builder().backend(uri).build().await?;
    for at in 0..OPERATIONS {
        work(&memory, at * 7_919 % n).await?;
    }
    println!("{}", status_mb("VmHWM")?);
    Ok(())
}

/// A prepared run of a known task, which is a lookup; one of a new task, which also searches; and a search.
async fn work(memory: &LearnKit, n: usize) -> Result<(), BoxError> {
    let known = memory.prepare_run(fixture::task(n), SessionOptions::default()).await?;
    if known.plan_steps().is_empty() {
        return Err(format!("the exact repeat {n} was not replayed: {}", known.reason()).into());
    }
    let sibling = format!("{} again", fixture::task(n).text());
    let sibling = memory.prepare_run(sibling, SessionOptions::default()).await?;
    let found = memory.store().records.search(&fixture::query(memory, n, Timestamp::now())).await?;
    if sibling.playbook().is_empty() || found.is_empty() {
        return Err(format!("nothing guides a sibling of task {n}: {}", sibling.reason()).into());
    }
    Ok(())
}

/// A line of `/proc/self/status` that counts kB, in MB of 10^6 bytes.
fn status_mb(name: &str) -> Result<f64, BoxError> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib =
        line.and_then(|rest| rest.split_whitespace().next()).ok_or_else(|| format!("no `{name}` in the status"))?;
    Ok(kib.parse::<f64>()? * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_of_children_only_grows() {
        let before = child_ticks().unwrap();
        start_once(Path::new("true"), &[]).unwrap();
        assert!(child_ticks().unwrap() >= before);
    }

    #[test]
    fn a_program_that_fails_is_an_error() {
        assert!(start_once(Path::new("false"), &[]).unwrap_err().to_string().starts_with("`false` ended with"));
    }

    #[test]
    fn the_peak_is_never_below_what_is_resident() {
        let now = status_mb("VmRSS").unwrap();
        assert!(now > 0.0 && status_mb("VmHWM").unwrap() >= now);
        assert_eq!(status_mb("VmNothing").unwrap_err().to_string(), "no `VmNothing` in the status");
    }

    #[tokio::test]
    async fn the_child_finds_what_the_store_holds() {
        let store = Filled::new(20).await.unwrap();
        resident(&store.uri, 20).await.unwrap();
    }
}
