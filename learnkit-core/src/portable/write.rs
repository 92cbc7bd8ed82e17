//! Writing an export, line by line.

use std::io::Write;

use jiff::Timestamp;
use serde::Serialize;

use super::{Counts, FORMAT, FORMAT_VERSION, Header, LineRef};
use crate::record::{Record, Revision, Tenant};
use crate::run::StoredRun;
use crate::{Error, ErrorKind, Result};

/// An export under way; without [`Self::end`] the file counts as cut off.
#[derive(Debug)]
pub(crate) struct ExportWriter<W> {
    out: W,
    counts: Counts,
    /// The line that is written next: whoever compresses it gets it in one piece.
    line: Vec<u8>,
}

impl<W: Write> ExportWriter<W> {
    /// Writes the first line.
    pub(crate) fn begin(out: W, tenant: &Tenant, exported: Timestamp) -> Result<Self> {
        let mut writer = Self { out, counts: Counts::default(), line: Vec::new() };
        writer.line(&Header {
            format: FORMAT.to_owned(),
            version: FORMAT_VERSION,
            learnkit: env!("CARGO_PKG_VERSION").to_owned(),
            exported,
            tenant: tenant.clone(),
        })?;
        Ok(writer)
    }

    /// Writes a record; its revision belongs to the store that it leaves.
    pub(crate) fn record(&mut self, mut record: Record) -> Result<()> {
        record.revision = Revision::default();
        self.line(&LineRef::Record(&record))?;
        self.counts.records += 1;
        Ok(())
    }

    /// Writes a run.
    pub(crate) fn run(&mut self, run: &StoredRun) -> Result<()> {
        self.line(&LineRef::Run(run))?;
        self.counts.runs += 1;
        Ok(())
    }

    /// Writes the last line and hands everything on.
    pub(crate) fn end(mut self) -> Result<Counts> {
        self.line(&LineRef::End(self.counts))?;
        self.out.flush().map_err(unwritable)?;
        Ok(self.counts)
    }

    fn line(&mut self, line: &impl Serialize) -> Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line).map_err(|error| unwritable(error.into()))?;
        self.line.push(b'\n');
        self.out.write_all(&self.line).map_err(unwritable)
    }
}

fn unwritable(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the export cannot be written; check the disk it goes to").with_source(error)
}
