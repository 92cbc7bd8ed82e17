//! Drift: which procedures the tools of today do not fit any more, and why.
//!
//! The same comparison that keeps a procedure from being replayed ([`crate::replay`]), asked for every
//! procedure at once and before anybody runs a task.

use std::collections::BTreeMap;

use serde::Serialize;

use super::LearnKit;
use super::library::PAGE;
use crate::Result;
use crate::backend::{AgentFilter, RecordFilter, ScanRequest, SkippedRow};
use crate::procedure::{ChangeKind, Contract, ContractChange};
use crate::record::{AgentName, Kind, Record, RecordId, Scope, Status};
use crate::replay::blocks;
use crate::tool::{ReadManifest, ToolSpec};

/// What a check for drift found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriftReport {
    /// How many procedures were looked at: those that may replay, of every readable scope.
    pub procedures: u64,
    /// How many of them a change keeps from being replayed.
    pub blocked: u64,
    /// How many of them say nothing about a tool of theirs, so that of it only the name was checked.
    pub without_contract: u64,
    /// The tools that changed, by name; what differs between procedures stands apart.
    pub tools: Vec<ToolDrift>,
    /// Rows that could not be read; they stop nothing.
    pub skipped: Vec<SkippedRow>,
}

/// One tool that changed, for the procedures that were captured with one contract of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolDrift {
    /// The tool as the procedures know it.
    pub tool: String,
    /// Whether it keeps a procedure from being replayed.
    pub blocks: bool,
    /// What changed.
    pub changes: Vec<ContractChange>,
    /// For whom, in the order of their ids.
    pub records: Vec<DriftedRecord>,
}

/// A procedure whose tool changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriftedRecord {
    /// The record.
    pub id: RecordId,
    /// Its agent.
    pub agent: AgentName,
    /// Its scope.
    pub scope: Scope,
    /// Its task.
    pub headline: String,
    /// Whether it may not replay now.
    pub blocks: bool,
}

impl LearnKit {
    /// Compares the procedures of every readable scope with a tool list: those that may replay, retired and
    /// harmful ones left out. Changes nothing; records are looked through in pages.
    ///
    /// What the form of the list has no words for, as that of OpenAI has none for hints, is no change.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    pub async fn drift(&self, manifest: &ReadManifest, agents: &AgentFilter) -> Result<DriftReport> {
        let mut drift = Drift::default();
        let mut after = None;
        loop {
            let page = self.scan(&ScanRequest { filter: self.procedures(agents), after, limit: PAGE }).await?;
            page.items.iter().for_each(|record| drift.look_at(record, manifest));
            drift.skipped.extend(page.skipped);
            let Some(next) = page.next else { break };
            after = Some(RecordId::new(next)?);
        }
        Ok(drift.report())
    }

    /// The skills that may come to be replayed.
    pub(super) fn procedures(&self, agents: &AgentFilter) -> RecordFilter {
        let mut filter = self.every_record();
        filter.kinds = vec![Kind::Skill];
        filter.agents = agents.clone();
        filter.scopes = self.inner.reader.readable();
        filter.visibility.statuses = vec![Status::Probation, Status::Active, Status::Stale];
        filter
    }
}

/// A check under way.
#[derive(Default)]
struct Drift {
    procedures: u64,
    blocked: u64,
    without_contract: u64,
    tools: BTreeMap<(String, Vec<ContractChange>), Vec<DriftedRecord>>,
    skipped: Vec<SkippedRow>,
}

impl Drift {
    fn look_at(&mut self, record: &Record, manifest: &ReadManifest) {
        let Some(procedure) = record.procedure().filter(|procedure| procedure.may_replay()) else { return };
        self.procedures += 1;
        let drifted = changed_tools(procedure.tools(), &procedure.contracts, manifest);
        let is_blocked = |(tool, changes): &(String, Vec<ContractChange>)| {
            changes.iter().any(|change| blocks(change, procedure.arguments_of(tool)))
        };
        self.blocked += u64::from(drifted.iter().any(is_blocked));
        let is_unknown = |tool: &&str| !procedure.contracts.contains_key(*tool);
        self.without_contract += u64::from(procedure.tools().iter().any(is_unknown));
        for changed in drifted {
            let blocks = is_blocked(&changed);
            let record = DriftedRecord {
                id: record.id.clone(),
                agent: record.agent.clone(),
                scope: record.scope.clone(),
                headline: record.headline(),
                blocks,
            };
            self.tools.entry(changed).or_default().push(record);
        }
    }

    fn report(self) -> DriftReport {
        let tools = self.tools.into_iter().map(|((tool, changes), records)| {
            let blocks = records.iter().any(|record| record.blocks);
            ToolDrift { tool, blocks, changes, records }
        });
        DriftReport {
            procedures: self.procedures,
            blocked: self.blocked,
            without_contract: self.without_contract,
            tools: tools.collect(),
            skipped: self.skipped,
        }
    }
}

/// Which of these tools are not what they were, each with its changes.
pub(super) fn changed_tools(
    mut names: Vec<&str>,
    contracts: &BTreeMap<String, Contract>,
    manifest: &ReadManifest,
) -> Vec<(String, Vec<ContractChange>)> {
    names.sort_unstable();
    names.dedup();
    let changed = names.into_iter().map(|tool| {
        let changes = match (manifest.tools.get(tool), contracts.get(tool)) {
            (None, contract) => vec![gone(contract, manifest)],
            (Some(_), None) => Vec::new(),
            (Some(now), Some(contract)) => contract.changes_in(manifest.form, now),
        };
        (tool.to_owned(), changes)
    });
    changed.filter(|(_, changes)| !changes.is_empty()).collect()
}

/// A tool that is gone, with the one that may have taken its place: the only one that says the very same.
fn gone(contract: Option<&Contract>, manifest: &ReadManifest) -> ContractChange {
    let says_much = |contract: &&Contract| contract.input_schema.is_some() || contract.description_sha256.is_some();
    let contract = contract.filter(says_much);
    let is_same = |(_, now): &(&str, &ToolSpec)| {
        contract.is_some_and(|contract| contract.changes_in(manifest.form, now).is_empty())
    };
    let mut same = manifest.tools.iter().filter(is_same);
    let renamed = same.next().filter(|_| same.next().is_none());
    let detail = renamed.map(|(name, _)| format!("`{name}` says the same")).unwrap_or_default();
    ContractChange::whole(ChangeKind::ToolGone, detail)
}
