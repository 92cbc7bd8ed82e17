//! The world of a command: its streams, its terminal and its environment.

use std::fmt;
use std::io::{BufRead, BufReader, BufWriter, IsTerminal as _, Write};
use std::path::PathBuf;

/// What a command reads from and writes to; tests bring their own.
pub struct Io<'a> {
    /// Where input comes from.
    pub stdin: Box<dyn BufRead + Send + 'a>,
    /// Where results go.
    pub stdout: Box<dyn Write + 'a>,
    /// Where errors, notes and progress go.
    pub stderr: Box<dyn Write + 'a>,
    /// What of it is a terminal.
    pub terminal: Terminal,
    /// Reads an environment variable.
    pub variable: Variable<'a>,
    /// The working directory, where `learnkit.toml` is looked for.
    pub folder: PathBuf,
}

/// Reads an environment variable by name.
pub type Variable<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// What of the streams is a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terminal {
    /// The standard output is one.
    pub stdout: bool,
    /// The standard error is one.
    pub stderr: bool,
    /// Its width in columns, where that is known.
    pub width: Option<u16>,
}

impl Io<'static> {
    /// The streams and environment of this process.
    pub fn of_process() -> Self {
        let stdout = std::io::stdout();
        let terminal = Terminal {
            stdout: stdout.is_terminal(),
            stderr: std::io::stderr().is_terminal(),
            width: terminal_size::terminal_size().map(|(width, _)| width.0),
        };
        Self {
            stdin: Box::new(BufReader::new(std::io::stdin())),
            stdout: Box::new(BufWriter::new(stdout.lock())),
            stderr: Box::new(std::io::stderr()),
            terminal,
            variable: Box::new(|name| std::env::var(name).ok()),
            folder: PathBuf::from("."),
        }
    }
}

impl fmt::Debug for Io<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io").field("terminal", &self.terminal).finish_non_exhaustive()
    }
}
