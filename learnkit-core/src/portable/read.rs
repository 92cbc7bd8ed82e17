//! Reading an export, and telling it from everything else.

use std::fmt;
use std::io::{BufRead, ErrorKind as IoKind, Read as _};

use jiff::Timestamp;
use serde::Deserialize;

use super::clean::{check_form, check_record, mask_record, mask_run};
use super::older::{OlderList, OlderRows};
use super::{Counts, FORMAT, FORMAT_VERSION, Header, LeftOut, Line};
use crate::backend::LoadItem;
use crate::record::{AgentName, Tenant};
use crate::secret::mask_text;
use crate::{Error, ErrorKind, Result};

/// The first line of an export is shorter; what has no line end by then is something else.
const HEADER_BYTES: u64 = 64 * 1024;
/// Some editors and shells put it before the first character.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What is read, one after the other.
pub(crate) type Entries = Box<dyn Iterator<Item = Result<Entry>> + Send>;

/// One thing that was read.
#[derive(Debug)]
pub(crate) enum Entry {
    Item(LoadItem),
    LeftOut(LeftOut),
}

/// What an import is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportFormat {
    /// An export of this or an earlier version.
    Export {
        /// The version of the format.
        version: u32,
        /// The LearnKit that wrote it.
        learnkit: String,
        /// When.
        exported: Timestamp,
    },
    /// The JSON list that the older LearnKit for Python exports.
    OlderList,
    /// The database of the older LearnKit for Python.
    OlderDatabase,
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Export { version, learnkit, .. } => write!(f, "export of format {version} by LearnKit {learnkit}"),
            Self::OlderList => f.write_str("list of the older LearnKit for Python"),
            Self::OlderDatabase => f.write_str("database of the older LearnKit for Python"),
        }
    }
}

/// A record of an older database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OlderRow {
    /// Its id.
    pub id: String,
    /// The record as JSON, or why it cannot be read.
    pub record: Result<String, String>,
}

/// An input whose first line was read and whose format is known; the rest is read while it is imported.
pub struct Import {
    pub(super) format: ImportFormat,
    tenant: Option<Tenant>,
    source: Source,
}

/// Where the entries come from.
enum Source {
    Export(Lines),
    List(OlderList),
    Rows(OlderRows),
}

impl fmt::Debug for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import").field("format", &self.format).field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

impl Import {
    /// Reads as far as needed to know what it is: an export, or the list of an older LearnKit.
    ///
    /// # Errors
    /// `InvalidInput` for an empty input and for everything that is neither, `Unsupported` for an export
    /// of a newer version, `Corrupt` when the input is cut off or damaged, `Unavailable` when it cannot be
    /// read.
    pub fn read(input: impl BufRead + Send + 'static) -> Result<Self> {
        let mut input: Box<dyn BufRead + Send> = Box::new(input);
        match first_byte(&mut input)? {
            Some(b'{') => Self::of_export(input),
            Some(b'[') => {
                let list = OlderList::begin(input)?;
                Ok(Self { format: ImportFormat::OlderList, tenant: None, source: Source::List(list) })
            }
            Some(_) => Err(no_export()),
            None => Err(Error::invalid("the input is empty; export again")),
        }
    }

    /// The records of an older database.
    pub fn of_older_rows(rows: impl Iterator<Item = Result<OlderRow>> + Send + 'static) -> Self {
        let rows = OlderRows::of(Box::new(rows));
        Self { format: ImportFormat::OlderDatabase, tenant: None, source: Source::Rows(rows) }
    }

    /// What it is.
    pub fn format(&self) -> &ImportFormat {
        &self.format
    }

    /// The tenant whose memory it holds; older formats know none.
    pub fn tenant(&self) -> Option<&Tenant> {
        self.tenant.as_ref()
    }

    /// Everything in it, for a tenant and, where a record names no agent, for an agent.
    pub(crate) fn entries(self, tenant: &Tenant, agent: &AgentName) -> Entries {
        let (tenant, agent) = (tenant.clone(), agent.clone());
        match self.source {
            Source::Export(lines) => Box::new(lines.map(move |item| Ok(Entry::Item(moved(item?, &tenant))))),
            Source::List(list) => Box::new(list.map(move |item| Ok(item?.entry(&tenant, &agent)))),
            Source::Rows(rows) => Box::new(rows.map(move |item| Ok(item?.entry(&tenant, &agent)))),
        }
    }

    fn of_export(mut input: Box<dyn BufRead + Send>) -> Result<Self> {
        let mut line = Vec::new();
        input.by_ref().take(HEADER_BYTES).read_until(b'\n', &mut line).map_err(|error| unreadable(1, error))?;
        let Header { version, learnkit, exported, tenant, .. } = header(&line)?;
        let lines = Lines { input, tenant: tenant.clone(), number: 1, counts: Counts::default(), line, is_done: false };
        let format = ImportFormat::Export { version, learnkit, exported };
        Ok(Self { format, tenant: Some(tenant), source: Source::Export(lines) })
    }
}

/// The item as the tenant's own.
fn moved(mut item: LoadItem, tenant: &Tenant) -> LoadItem {
    let own = match &mut item {
        LoadItem::Record(record) => &mut record.tenant,
        LoadItem::Run(run) => &mut run.tenant,
    };
    if own != tenant {
        own.clone_from(tenant);
    }
    item
}

/// The first byte that says something, which stays unread.
fn first_byte(input: &mut impl BufRead) -> Result<Option<u8>> {
    let mut first = || -> std::io::Result<Option<u8>> {
        let first = next_byte(input)?;
        if first != BYTE_ORDER_MARK.first().copied() {
            return Ok(first);
        }
        let mut mark = Vec::new();
        input.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut mark)?;
        if mark == BYTE_ORDER_MARK { next_byte(input) } else { Ok(first) }
    };
    first().map_err(|error| unreadable(1, error))
}

/// The next byte that is no space, which stays unread.
pub(super) fn next_byte(input: &mut impl BufRead) -> std::io::Result<Option<u8>> {
    loop {
        let buffer = input.fill_buf()?;
        let spaces = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let (is_end, found) = (buffer.is_empty(), buffer.get(spaces).copied());
        input.consume(spaces);
        if is_end || found.is_some() {
            return Ok(found);
        }
    }
}

fn no_export() -> Error {
    let message = "the input is no export of LearnKit; `learnkit export` writes one, and `learnkit learn` reads \
                   recorded conversations";
    Error::invalid(message)
}

fn header(line: &[u8]) -> Result<Header> {
    #[derive(Deserialize)]
    struct Probe {
        format: Option<String>,
        version: Option<u32>,
    }
    let probe: Probe = serde_json::from_slice(line).map_err(|_| no_export())?;
    if probe.format.as_deref() != Some(FORMAT) {
        return Err(no_export());
    }
    if let Some(version) = probe.version.filter(|version| *version > FORMAT_VERSION) {
        let message =
            format!("the export has format {version} and this build reads up to {FORMAT_VERSION}; update LearnKit");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    serde_json::from_slice(line).map_err(|error| misread(1, &error))
}

/// The lines after the first one.
struct Lines {
    input: Box<dyn BufRead + Send>,
    tenant: Tenant,
    /// Of the line that was read last, from 1.
    number: u64,
    counts: Counts,
    /// The bytes of that line; kept, so that no line costs an allocation.
    line: Vec<u8>,
    is_done: bool,
}

impl Iterator for Lines {
    type Item = Result<LoadItem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let item = self.item();
        self.is_done = !matches!(item, Ok(Some(_)));
        item.transpose()
    }
}

impl Lines {
    /// The next record or run; nothing after a last line that counts right.
    fn item(&mut self) -> Result<Option<LoadItem>> {
        if !self.read_line()? {
            let message =
                "the export ends without its last line, so a part of it is missing; copy it again or export again";
            return Err(Error::new(ErrorKind::Corrupt, message).with_context("lines", self.number));
        }
        let line = self.line.trim_ascii_end();
        let line = serde_json::from_slice(line).map_err(|error| newer(line, self.number, &error))?;
        match line {
            Line::Record(mut record) => {
                self.must_be_own(&record.tenant)?;
                check_record(&record).map_err(|error| at(self.number, &error))?;
                mask_record(&mut record);
                self.counts.records += 1;
                Ok(Some(LoadItem::Record(record)))
            }
            Line::Run(mut run) => {
                self.must_be_own(&run.tenant)?;
                mask_run(&mut run);
                self.counts.runs += 1;
                Ok(Some(LoadItem::Run(run)))
            }
            Line::End(counts) => {
                self.must_end(counts)?;
                Ok(None)
            }
        }
    }

    /// Reads a line that is not blank; `false` at the end.
    fn read_line(&mut self) -> Result<bool> {
        loop {
            self.line.clear();
            let read = self.input.read_until(b'\n', &mut self.line);
            if read.map_err(|error| unreadable(self.number + 1, error))? == 0 {
                return Ok(false);
            }
            self.number += 1;
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn must_be_own(&self, tenant: &Tenant) -> Result<()> {
        if *tenant == self.tenant {
            return Ok(());
        }
        let message = format!("it belongs to tenant `{tenant}` and the export to `{}`; take it out", self.tenant);
        Err(at(self.number, &Error::invalid(message)))
    }

    fn must_end(&mut self, told: Counts) -> Result<()> {
        if told != self.counts {
            let Counts { records, runs } = self.counts;
            let message = format!(
                "the last line counts {} records and {} runs, but there are {records} and {runs}; copy the export again or export again",
                told.records, told.runs
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        if self.read_line()? {
            let message = "the export goes on after its last line; import the parts one by one";
            return Err(Error::new(ErrorKind::Corrupt, message).with_context("line", self.number));
        }
        Ok(())
    }
}

/// An error of a line, with its number first.
fn at(number: u64, error: &Error) -> Error {
    Error::new(error.kind(), format!("line {number}: {error}"))
}

/// The error of a line that is not understood: a form that is too new is named as such.
fn newer(line: &[u8], number: u64, error: &serde_json::Error) -> Error {
    #[derive(Deserialize)]
    struct Probe {
        record: Form,
    }
    #[derive(Deserialize)]
    struct Form {
        schema_version: u32,
    }
    let form = serde_json::from_slice(line).map(|probe: Probe| check_form(probe.record.schema_version));
    match form {
        Ok(Err(newer)) => at(number, &newer),
        _ => misread(number, error),
    }
}

/// The error of a line that is not understood.
fn misread(number: u64, error: &serde_json::Error) -> Error {
    let told = error.to_string();
    let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told);
    // Serde lists every field there is.
    let told = told.split_once(", expected one of").map_or(told, |(told, _)| told);
    let (kind, way_out) = if told.starts_with("unknown ") {
        (ErrorKind::InvalidInput, "take it out, or update LearnKit if a newer one wrote it")
    } else if error.is_data() {
        (ErrorKind::InvalidInput, "correct it, or export again")
    } else {
        (ErrorKind::Corrupt, "the line is damaged or cut off; copy it again or export again")
    };
    // Serde quotes what it did not expect.
    let told = mask_text(told).text;
    Error::new(kind, format!("line {number}, column {}: {told}; {way_out}", error.column()))
}

/// The error of an input that cannot be read on.
pub(super) fn unreadable(line: u64, error: std::io::Error) -> Error {
    let (kind, message) = match error.kind() {
        IoKind::UnexpectedEof => (ErrorKind::Corrupt, "the compressed input is cut off; copy it again or export again"),
        IoKind::InvalidData | IoKind::InvalidInput => {
            (ErrorKind::Corrupt, "the compressed input is damaged; copy it again or export again")
        }
        _ => (ErrorKind::Unavailable, "the input cannot be read to its end; check the disk it comes from"),
    };
    Error::new(kind, message).with_context("line", line).with_source(error)
}
