//! Memory as a file that outlives its store: JSON Lines, written and read as a stream.
//!
//! The first line names the format, its version and the tenant, then comes one line per record and per
//! run, and the last line counts them, so that a file that was cut off is refused. Not here: files and
//! compression (the caller brings `impl Write` or `impl BufRead`), and storing ([`MemoryBackend::load`]).
//!
//! ```text
//! {"format":"learnkit-export","version":1,"learnkit":"0.1.0","exported":"2026-01-05T08:00:00Z","tenant":"default"}
//! {"record":{"id":"fct_1", … }}
//! {"run":{"id":"run_1", … }}
//! {"end":{"records":1,"runs":1}}
//! ```
//!
//! Every version that was ever released stays readable. The revision of a record belongs to its store
//! and is written as 0; all else survives to the last bit.
//!
//! [`MemoryBackend::load`]: crate::backend::MemoryBackend::load

mod clean;
mod older;
mod older_content;
mod read;
mod write;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use self::read::{Entries, Entry};
pub use self::read::{Import, ImportFormat, OlderRow};
pub(crate) use self::write::ExportWriter;
use crate::backend::{Loaded, OnExisting, SkippedRow};
use crate::engine::Settled;
use crate::record::{AgentName, Kind, Record, Scope, Tenant};
use crate::run::StoredRun;

/// What the first line calls the format.
pub const FORMAT: &str = "learnkit-export";
/// The version that is written; it and every older one is read.
pub const FORMAT_VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
    /// The version of LearnKit that wrote it.
    learnkit: String,
    exported: Timestamp,
    tenant: Tenant,
}

/// Every other line, as it is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Record(Box<Record>),
    Run(Box<StoredRun>),
    End(Counts),
}

/// Every other line, as it is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum LineRef<'a> {
    Record(&'a Record),
    Run(&'a StoredRun),
    End(Counts),
}

/// How many lines there are of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) runs: u64,
}

/// Which part of a tenant's memory is exported; the default is all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportSelection {
    /// The scopes of records and runs; empty means every scope.
    pub scopes: Vec<Scope>,
    /// Only records and runs of this agent.
    pub agent: Option<AgentName>,
    /// The kinds of records; empty means every kind.
    pub kinds: Vec<Kind>,
    /// Leaves the runs out.
    pub without_runs: bool,
}

/// What was exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The tenant.
    pub tenant: Tenant,
    /// Records written.
    pub records: u64,
    /// Runs written.
    pub runs: u64,
    /// Records that could not be read and are not in the export.
    pub skipped_records: Vec<SkippedRow>,
    /// Runs that could not be read and are not in the export.
    pub skipped_runs: Vec<SkippedRow>,
}

/// What an export of another tenant means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OtherTenant {
    /// It is refused.
    #[default]
    Refuse,
    /// Its records and runs become this tenant's. Procedures that come with it only guide here: the
    /// tenant is part of what makes a task the same, so no task of this tenant has their key.
    Adopt,
}

/// How an import treats what it meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ImportOptions {
    /// What becomes of ids that are stored with another content.
    pub existing: OnExisting,
    /// What an export of another tenant means.
    pub other_tenant: OtherTenant,
}

/// A record that an older format holds and that was not taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Where it stands, such as `item 3`.
    pub place: String,
    /// Its id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why.
    pub reason: String,
}

/// What was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// What it was read from.
    pub format: ImportFormat,
    /// The tenant it came from, where the format names one.
    pub from: Option<Tenant>,
    /// The tenant it went to.
    pub tenant: Tenant,
    /// What became of its records and runs.
    pub loaded: Loaded,
    /// What was not taken over; only older formats leave something out.
    pub left_out: Vec<LeftOut>,
    /// What people wrote that turned out to say the same as, or the contrary of, something else.
    pub settled: Settled,
}
