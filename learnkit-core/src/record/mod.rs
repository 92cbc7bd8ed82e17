//! Records: one stored memory each, of seven kinds, with common fields.
//!
//! Not here: how a record's state moves ([`crate::lifecycle`]) and where it is kept
//! ([`crate::backend`]).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

mod confidence;
mod content;
mod fact;
mod failure;
mod heuristic;
mod history;
mod id;
mod preference;
mod scope;
mod skill;
mod status;
mod strategy;
mod trace;

pub use confidence::{Confidence, Trust};
pub use content::{Content, Kind, SearchText};
pub use fact::Fact;
pub use failure::Failure;
pub use heuristic::Heuristic;
pub use history::{History, LastGood, VersionChange};
pub use id::{AgentName, RecordId, RunId, Tenant};
pub use preference::Preference;
pub use scope::{Owner, Reader, Scope};
pub use skill::Skill;
pub use status::Status;
pub use strategy::Strategy;
pub use trace::Trace;

use crate::procedure::{Procedure, Template};
use crate::task::TaskKey;

/// The version of the stored form; readers refuse a newer one by name.
pub const SCHEMA_VERSION: u32 = 1;

/// A counter that rises with every stored change of a record; 0 means never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision that the next stored change gets.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Domain labels with weights from 0 to 1; they rank, they never hide a record.
pub type DomainVector = BTreeMap<String, f64>;

/// The exact task that a record belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskLink {
    /// The key that a lookup finds it by.
    pub key: TaskKey,
    /// The canonical text, compared too, secrets masked.
    pub canonical: String,
}

/// Who wrote a record and from what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// `distiller`, `caller`, `import` or the name of whoever wrote it.
    pub author: String,
    /// The run it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The model that planned that run, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Provenance {
    /// Written by a person or program outside the learning loop.
    pub fn caller() -> Self {
        Self { author: "caller".to_owned(), run: None, model: None }
    }
}

/// What the lifecycle counts about a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Times it was used: replayed, or followed in a guided run.
    pub reuse_count: u64,
    /// Uses that helped.
    pub help: u64,
    /// Uses that harmed.
    pub harm: u64,
    /// Harms since the last help.
    pub harms_in_a_row: u32,
    /// Planned runs that passed and made exactly these calls, or those of an earlier version.
    pub successes: u64,
    /// Replays that stopped, since the last one that went through; the second and third of them are
    /// failed heals.
    pub failed_replays: u32,
    /// Set when a replay failed: no replay until a planned success or a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<String>,
}

impl Usage {
    /// A record that nobody used yet.
    pub const NEW: Self =
        Self { reuse_count: 0, help: 0, harm: 0, harms_in_a_row: 0, successes: 0, failed_replays: 0, suspended: None };
}

/// One stored memory. Serialises to readable JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Unique in the tenant.
    pub id: RecordId,
    /// The version of this form.
    pub schema_version: u32,
    /// Rises with every stored change; set by the backend.
    #[serde(default)]
    pub revision: Revision,
    /// The isolation boundary.
    pub tenant: Tenant,
    /// Who owns it.
    pub scope: Scope,
    /// The agent it was learned by.
    pub agent: AgentName,
    /// What it is about.
    #[serde(default)]
    pub domains: DomainVector,
    /// The kind of task, where a classifier named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The exact task it belongs to, for procedures and failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskLink>,
    /// What it says.
    pub content: Content,
    /// Where it stands.
    pub status: Status,
    /// Why it stands there.
    pub status_reason: String,
    /// When the status last changed; absent while it is the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_since: Option<Timestamp>,
    /// Pinned records are never retired, made stale or purged by age.
    #[serde(default)]
    pub pinned: bool,
    /// How sure the gate was.
    pub trust: Trust,
    /// How far it is expected to help.
    pub confidence: Confidence,
    /// `help / (help + harm)`; absent before the first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_rate: Option<f64>,
    /// What the lifecycle counts.
    pub usage: Usage,
    /// When it was made.
    pub created: Timestamp,
    /// When it expires; absent means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// When a use last helped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reinforced: Option<Timestamp>,
    /// Up to when decay was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_decayed: Option<Timestamp>,
    /// Domains it may be carried over to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfer_domains: Vec<String>,
    /// Who wrote it, from what.
    pub provenance: Provenance,
    /// What its procedure was before; absent while it has the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Box<History>>,
}

/// Where a new record goes and when it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// The isolation boundary.
    pub tenant: Tenant,
    /// Who owns it.
    pub scope: Scope,
    /// The agent.
    pub agent: AgentName,
    /// Who wrote it.
    pub provenance: Provenance,
    /// When.
    pub at: Timestamp,
}

impl Record {
    /// A new record with the start status, confidence and time to live of its kind.
    pub fn new(id: RecordId, origin: Origin, content: Content) -> Self {
        let kind = content.kind();
        Self {
            id,
            schema_version: SCHEMA_VERSION,
            revision: Revision::default(),
            tenant: origin.tenant,
            scope: origin.scope,
            agent: origin.agent,
            domains: DomainVector::new(),
            task_type: None,
            task: None,
            content,
            status: kind.start_status(),
            status_reason: "new".to_owned(),
            status_since: None,
            pinned: false,
            trust: Trust::Unverified,
            confidence: kind.start_confidence(),
            success_rate: None,
            usage: Usage::NEW,
            created: origin.at,
            expires: crate::clock::days_after(origin.at, kind.ttl_days()),
            last_reinforced: None,
            last_decayed: None,
            transfer_domains: Vec::new(),
            provenance: origin.provenance,
            history: None,
        }
    }

    /// Which of the seven kinds it is.
    pub fn kind(&self) -> Kind {
        self.content.kind()
    }

    /// Whether it has expired at `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// The procedure of a procedural skill.
    pub fn procedure(&self) -> Option<&Procedure> {
        match &self.content {
            Content::Skill(skill) => skill.procedure.as_ref(),
            _ => None,
        }
    }

    /// What makes it a learned template.
    pub fn template(&self) -> Option<&Template> {
        self.procedure()?.template.as_deref()
    }

    /// The last good version of it, should the present one fail.
    pub fn last_good(&self) -> Option<&LastGood> {
        self.history.as_ref()?.last_good.as_ref()
    }

    /// The same as [`Self::template`], to change it.
    pub(crate) fn template_mut(&mut self) -> Option<&mut Template> {
        match &mut self.content {
            Content::Skill(skill) => skill.procedure.as_mut()?.template.as_deref_mut(),
            _ => None,
        }
    }

    /// Visits every free text of it: what a task, a tool or an agent said.
    pub(crate) fn each_text(&mut self, visit: &impl Fn(&mut String)) {
        if let Some(task) = &mut self.task {
            visit(&mut task.canonical);
        }
        visit(&mut self.status_reason);
        self.usage.suspended.iter_mut().for_each(visit);
        self.history.iter_mut().for_each(|history| history.each_text(visit));
        match &mut self.content {
            Content::Skill(skill) => {
                visit(&mut skill.trigger);
                skill.procedure.iter_mut().for_each(|procedure| procedure.each_text(visit));
            }
            Content::Failure(failure) => {
                visit(&mut failure.description);
                visit(&mut failure.what_to_avoid);
                failure.error_message.iter_mut().for_each(visit);
            }
            Content::Trace(trace) => visit(&mut trace.task),
            // The other kinds are written by people, and masked when they are remembered.
            Content::Fact(_) | Content::Strategy(_) | Content::Preference(_) | Content::Heuristic(_) => {}
        }
    }

    /// One line that says what it is, for lists.
    pub fn headline(&self) -> String {
        let title = self.content.search_text().title;
        title.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
