//! What a command prints: text for people or JSON lines for programs, and notes on the side.

use std::fmt::Display;
use std::io::{ErrorKind as IoKind, Write};

use comfy_table::{ContentArrangement, LineStyle, Table, presets};
use learnkit::{Error, ErrorKind};
use serde::Serialize;
use serde_json::json;

use crate::io::Terminal;
use crate::text;

/// Whether results are for people or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Human,
    Json,
}

/// Where a command prints to. A pipe that its reader closed swallows the rest.
pub(crate) struct Output<'a> {
    stdout: Box<dyn Write + 'a>,
    stderr: Box<dyn Write + 'a>,
    terminal: Terminal,
    colours: bool,
    pub(crate) format: Format,
    closed: bool,
}

impl<'a> Output<'a> {
    pub(crate) fn new(stdout: Box<dyn Write + 'a>, stderr: Box<dyn Write + 'a>, terminal: Terminal) -> Self {
        Self { stdout, stderr, terminal, colours: true, format: Format::Human, closed: false }
    }

    /// Switches colours off, on terminals too.
    pub(crate) fn without_colours(&mut self) {
        self.colours = false;
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Whether progress may be drawn on the standard error.
    pub(crate) fn shows_progress(&self) -> bool {
        self.terminal.stderr
    }

    /// Whether colours may be written to the standard output.
    pub(crate) fn has_colours(&self) -> bool {
        self.colours && self.terminal.stdout
    }

    /// Whether colours may be written to the standard error.
    pub(crate) fn has_error_colours(&self) -> bool {
        self.colours && self.terminal.stderr
    }

    /// Whether nobody reads the standard output any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The standard output as it is, for what is no text for people.
    pub(crate) fn writer(&mut self) -> impl Write {
        Raw(self)
    }

    /// Prints a line as it is.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Error> {
        let written = if self.closed { Ok(()) } else { writeln!(self.stdout, "{line}") };
        self.checked(written)
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Error> {
        let line = serde_json::to_string(value).map_err(|error| {
            Error::new(ErrorKind::Internal, "the result cannot be written as JSON; report this").with_source(error)
        })?;
        self.line(line)
    }

    /// Prints a heading after an empty line.
    pub(crate) fn heading(&mut self, heading: &str) -> Result<(), Error> {
        let heading = if self.has_colours() { format!("\u{1b}[1m{heading}\u{1b}[0m") } else { heading.to_owned() };
        self.line(format_args!("\n{heading}"))
    }

    /// Prints names and values, a line each.
    pub(crate) fn pairs(&mut self, pairs: &[(&str, String)]) -> Result<(), Error> {
        let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, value) in pairs {
            self.line(format!("{name:<width$}  {}", text::line(value)).trim_end())?;
        }
        Ok(())
    }

    /// Prints a table: as wide as the terminal, or unwrapped and without lines where there is none.
    pub(crate) fn table<const N: usize>(&mut self, header: [&str; N], rows: Vec<[String; N]>) -> Result<(), Error> {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if self.terminal.stdout {
            table.load_style(presets::NOTHING.header_separator(LineStyle::none().fill('─').junction('─')));
            if let Some(width) = self.terminal.width {
                table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            }
        }
        table.set_header(header.to_vec());
        table.add_rows(rows.into_iter().map(|row| row.map(|cell| text::line(&cell)).to_vec()));
        table.column_iter_mut().for_each(|column| {
            column.set_padding((0, 2));
        });
        self.line(table.trim_fmt())
    }

    /// Says something on the side: on the standard error, for programs too.
    pub(crate) fn note(&mut self, note: impl Display) {
        self.catch_up();
        // Where the standard error is gone nobody can be told.
        let _ = writeln!(self.stderr, "learnkit: {}", text::line(&note.to_string()));
    }

    /// Says what failed, in one line.
    pub(crate) fn error(&mut self, message: &str) {
        self.catch_up();
        let message = text::line(message);
        let _ = if self.has_error_colours() {
            writeln!(self.stderr, "\u{1b}[1;31mlearnkit:\u{1b}[0m {message}")
        } else {
            writeln!(self.stderr, "learnkit: {message}")
        };
    }

    /// Writes text of clap's, which ends its own lines, to the standard error.
    pub(crate) fn raw_error(&mut self, text: impl Display) {
        let _ = write!(self.stderr, "{text}");
    }

    /// Writes out what is buffered.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        let written = if self.closed { Ok(()) } else { self.stdout.flush() };
        let _ = self.stderr.flush();
        self.checked(written)
    }

    /// Writes out results before something is said about them, so that a terminal shows both in order.
    fn catch_up(&mut self) {
        if !self.closed {
            // A failure comes again with the next line, where it is told.
            let _ = self.stdout.flush();
        }
    }

    fn checked(&mut self, written: std::io::Result<()>) -> Result<(), Error> {
        match written {
            Err(error) if error.kind() == IoKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            Err(error) => {
                // A second try to write the error object would only fail again.
                self.closed = true;
                let message = "the standard output cannot be written; check the disk it goes to";
                Err(Error::new(ErrorKind::Unavailable, message).with_source(error))
            }
            Ok(()) => Ok(()),
        }
    }
}

/// The standard output, which remembers that its reader hung up.
struct Raw<'a, 'b>(&'a mut Output<'b>);

impl Raw<'_, '_> {
    fn noticed<T>(&mut self, written: std::io::Result<T>) -> std::io::Result<T> {
        if let Err(error) = &written {
            self.0.closed |= error.kind() == IoKind::BrokenPipe;
        }
        written
    }
}

impl Write for Raw<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.0.stdout.write(bytes);
        self.noticed(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let flushed = self.0.stdout.flush();
        self.noticed(flushed)
    }
}

/// An error as programs read it.
pub(crate) fn error_object(kind: &str, message: &str) -> serde_json::Value {
    json!({ "kind": kind, "message": message })
}

/// Adds an error to the object of a command that did a part of its work.
pub(crate) fn with_error(object: &mut serde_json::Value, error: &Error) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("error".to_owned(), error_object(error.kind().as_str(), &error.chain()));
    }
}
