//! Starting a test again as another process, told by variables.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

const DATABASE: &str = "LEARNKIT_TEST_DATABASE";
const ROLE: &str = "LEARNKIT_TEST_ROLE";

/// What the process that started this one wants of it; absent in the test itself.
pub(crate) struct Part {
    pub(crate) database: PathBuf,
    pub(crate) role: String,
}

/// The part of this process.
pub(crate) fn part() -> Option<Part> {
    let database = std::env::var_os(DATABASE)?.into();
    Some(Part { database, role: std::env::var(ROLE).unwrap_or_default() })
}

/// This test again, as another process with a part.
pub(crate) fn again(test: &str, database: &Path, role: &str) -> Command {
    again_as(Command::new(std::env::current_exe().unwrap()), test, database, role)
}

/// The same through a program that was prepared.
pub(crate) fn again_as(mut command: Command, test: &str, database: &Path, role: &str) -> Command {
    command.args(["--exact", test, "--nocapture"]).env(DATABASE, database).env(ROLE, role);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for a process to end well.
pub(crate) fn must_succeed(child: Child) {
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
}

/// Says that this process has come to a point, and waits there until it may go on.
#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
pub(crate) fn stop_here() {
    println!("\nstopped");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// A process that waits at its [`stop_here`].
pub(crate) struct Stopped {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Stopped {
    /// Starts a process and waits until it stops.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.by_ref().any(|line| line.unwrap() == "stopped"), "it ended before it stopped");
        Self { child, lines }
    }

    /// Lets it go on.
    pub(crate) fn go_on(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
    }

    /// Waits for it to end well.
    pub(crate) fn must_succeed(mut self) {
        assert!(self.lines.all(|line| line.is_ok()));
        must_succeed(self.child);
    }
}
