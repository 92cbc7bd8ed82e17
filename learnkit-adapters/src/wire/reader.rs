//! Reading a file: JSON Lines row by row, or one JSON document as a whole.

use std::collections::VecDeque;
use std::io::BufRead;

use jiff::Timestamp;
use learnkit_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;

use super::Entry;
use super::row::{Place, Source, entries, unsupported};

/// Reads a text; see [`Reader`].
///
/// ```
/// use learnkit_adapters::wire;
/// let line = r#"{"task": "Greet", "calls": [{"tool": "say", "arguments": {"to": "Bo"}, "result": "hi"}], "answer": "Done"}"#;
/// let entries = wire::read(line, "log.jsonl", wire::Timestamp::UNIX_EPOCH);
/// let run = entries[0].outcome.as_ref().map_err(ToString::to_string)?;
/// assert_eq!((run.task.text(), run.calls[0].arguments.raw()), ("Greet", r#"{"to":"Bo"}"#));
/// assert_eq!(run.origin, "log.jsonl: line 1");
/// # Ok::<(), String>(())
/// ```
pub fn read(text: &str, origin: &str, at: Timestamp) -> Vec<Entry> {
    Reader::new(text.as_bytes(), origin, at).collect()
}

/// The entries of an input, read as they are asked for.
///
/// JSON Lines are held one line at a time; a line that is broken is refused and the others are still
/// read. A document over several lines is held whole. An input that is not JSON is one refusal, an
/// empty one gives nothing. When the input itself fails, the failure is the last entry.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    source: Source,
    number: usize,
    state: State,
    /// Lines that were read ahead to tell a document from lines.
    ahead: VecDeque<Line>,
    ready: VecDeque<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Lines,
    Done,
}

#[derive(Debug)]
struct Line {
    number: usize,
    bytes: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Reads `input`; `origin` names it for people, and `at` is the time that its runs are given.
    pub fn new(input: R, origin: impl Into<String>, at: Timestamp) -> Self {
        let source = Source { origin: origin.into(), at };
        Self { input, source, number: 0, state: State::Start, ahead: VecDeque::new(), ready: VecDeque::new() }
    }

    /// The next line that is not blank.
    fn line(&mut self) -> Result<Option<Line>> {
        if let Some(line) = self.ahead.pop_front() {
            return Ok(Some(line));
        }
        loop {
            let mut bytes = Vec::new();
            let size = self.input.read_until(b'\n', &mut bytes).map_err(|error| read_error(error, self.number + 1))?;
            if size == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.number == 1 && bytes.starts_with(b"\xEF\xBB\xBF") {
                bytes.drain(..3);
            }
            if !bytes.trim_ascii().is_empty() {
                return Ok(Some(Line { number: self.number, bytes }));
            }
        }
    }

    fn advance(&mut self) -> Result<()> {
        let Some(line) = self.line()? else {
            self.state = State::Done;
            return Ok(());
        };
        if self.state == State::Lines {
            self.push(&line);
            return Ok(());
        }
        self.state = State::Lines;
        let text = line.bytes.trim_ascii();
        if !text.starts_with(b"{") && !text.starts_with(b"[") {
            self.state = State::Done;
            self.push_error(&Place::default(), not_json(text));
        } else if serde_json::from_slice::<&RawValue>(text).is_err_and(|error| error.is_eof()) {
            self.document(line)?;
        } else {
            self.push(&line);
        }
        Ok(())
    }

    /// The first line is only the start of a JSON value: a document, or lines of which it is cut off.
    fn document(&mut self, first: Line) -> Result<()> {
        let mut lines = VecDeque::from([first]);
        while let Some(line) = self.line()? {
            lines.push_back(line);
        }
        let whole: Vec<u8> = lines.iter().flat_map(|line| &line.bytes).copied().collect();
        let read = parse(&whole).map(|raw| entries(raw, &Place::default(), &self.source));
        match read {
            Ok(read) => self.ready.extend(read),
            Err(_) if lines.get(1).is_some_and(|line| parse(&line.bytes).is_ok()) => self.ahead = lines,
            Err(error) => self.push_error(&Place::default(), error),
        }
        Ok(())
    }

    fn push(&mut self, line: &Line) {
        let place = Place::line(line.number);
        match parse(&line.bytes) {
            Ok(raw) => self.ready.extend(entries(raw, &place, &self.source)),
            Err(error) => self.push_error(&place, error),
        }
    }

    fn push_error(&mut self, place: &Place, error: Error) {
        self.ready.push_back(place.entry(Err(error), &self.source));
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while self.ready.is_empty() && self.state != State::Done {
            if let Err(error) = self.advance() {
                self.state = State::Done;
                self.push_error(&Place::default(), error);
            }
        }
        self.ready.pop_front()
    }
}

fn parse(bytes: &[u8]) -> Result<&RawValue> {
    let text = str::from_utf8(bytes).map_err(|error| Error::invalid("the text is not UTF-8").with_source(error))?;
    serde_json::from_str(text.trim())
        .map_err(|error| Error::invalid("the text is not one JSON value").with_source(error))
}

fn not_json(text: &[u8]) -> Error {
    if text.starts_with(b"data:") || text.starts_with(b"event:") {
        return unsupported("a streamed response (SSE)");
    }
    unsupported("an input that is neither JSON nor JSON Lines")
}

fn read_error(error: std::io::Error, line: usize) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput | std::io::ErrorKind::UnexpectedEof => {
            ErrorKind::Corrupt
        }
        std::io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, "the input cannot be read on; check the file").with_context("line", line).with_source(error)
}
