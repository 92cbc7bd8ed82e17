//! Skills that leave a store as files, and skill files that become records.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::LearnKit;
use super::library::PAGE;
use super::remember::{Remembered, Repeat};
use crate::backend::{AgentFilter, ScanRequest, SkippedRow};
use crate::record::{Confidence, Content, Kind, Origin, Provenance, Reader, Record, RecordId, Skill, Status};
use crate::skill_file::{ExportedSkill, SkillWords, folder_names};
use crate::{Error, Result};

/// Who wrote a record that was imported.
const AUTHOR: &str = "import";

/// Which skills are exported, of those that may guide somebody who reads from this scope.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillSelection {
    /// Whose skills.
    pub agents: AgentFilter,
    /// Only what is past its probation.
    pub active_only: bool,
}

/// What an export gives.
#[derive(Debug, Clone)]
pub struct SkillExport {
    /// The skills, in the order of their records' ids.
    pub skills: Vec<ExportedSkill>,
    /// How many skills were left out, by reason.
    pub left_out: BTreeMap<&'static str, u64>,
    /// Rows that could not be read; they stop nothing.
    pub skipped: Vec<SkippedRow>,
}

/// What became of a skill that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportedSkill {
    /// It is new, and on probation.
    Stored(RecordId),
    /// It was known; nothing was changed, whatever its status is.
    Known(RecordId),
}

impl LearnKit {
    /// The skills that may guide, ready to be written as files: active ones of every readable scope, and
    /// those on probation of the own scope, marked as such. Changes nothing; the same store gives the
    /// same skills under the same names.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach.
    pub async fn export_skills(&self, selection: &SkillSelection) -> Result<SkillExport> {
        let (mut chosen, mut left_out, mut skipped) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut filter = self.every_record();
        filter.kinds = vec![Kind::Skill];
        let mut after = None;
        loop {
            let page = self.scan(&ScanRequest { filter: filter.clone(), after, limit: PAGE }).await?;
            for record in page.items {
                match objection(&record, selection, &self.inner.reader, self.now()) {
                    Some(reason) => *left_out.entry(reason).or_default() += 1,
                    None => chosen.push(record),
                }
            }
            skipped.extend(page.skipped);
            let Some(next) = page.next else { break };
            after = Some(RecordId::new(next)?);
        }
        Ok(SkillExport { skills: exported(&chosen)?, left_out, skipped })
    }

    /// Remembers an imported skill as prose of this agent and scope: on probation, unverified, and without
    /// anything to replay, whatever its file says. Importing it again changes nothing.
    ///
    /// # Errors
    /// `InvalidInput` when it says nothing, `Unavailable` when the store cannot be read or written.
    pub async fn import_skill(&self, words: SkillWords) -> Result<ImportedSkill> {
        let content = super::remember::masked(&Content::Skill(Skill::from(words)))?;
        let id = self.imported_id(&content)?;
        if self.within("get", self.inner.store.records.get(&self.inner.tenant, &id)).await?.is_some() {
            return Ok(ImportedSkill::Known(id));
        }
        let origin = Origin {
            tenant: self.inner.tenant.clone(),
            scope: self.inner.reader.scope.clone(),
            agent: self.agent.clone(),
            provenance: Provenance { author: AUTHOR.to_owned(), ..Provenance::caller() },
            at: self.now(),
        };
        Ok(match self.remember_once(Record::new(id, origin, content), Repeat::Leave).await? {
            Remembered::Known(id) => ImportedSkill::Known(id),
            Remembered::Stored(id) | Remembered::Supersedes { id, .. } => ImportedSkill::Stored(id),
        })
    }

    /// The id of an imported skill: the same words for the same agent and scope are one record.
    fn imported_id(&self, content: &Content) -> Result<RecordId> {
        let unwritable = |error| Error::invalid("the skill cannot be written as JSON; report this").with_source(error);
        let words = serde_json::to_string(content).map_err(unwritable)?;
        let scope = self.inner.reader.scope.to_string();
        Ok(RecordId::derived("skill", &[AUTHOR, &scope, self.agent.as_str(), &words]))
    }
}

/// Why a skill is left out.
fn objection(record: &Record, selection: &SkillSelection, reader: &Reader, now: Timestamp) -> Option<&'static str> {
    let of_agent = match &selection.agents {
        AgentFilter::Any => true,
        AgentFilter::Only(agent) => record.agent == *agent,
        AgentFilter::Except(agent) => record.agent != *agent,
    };
    if !reader.readable().contains(&record.scope) {
        return Some("in a scope that is not read");
    }
    match record.status {
        _ if !of_agent => Some("of another agent"),
        Status::Harmful => Some("quarantined for harm"),
        Status::Stale => Some("stale"),
        Status::Retired => Some("retired"),
        Status::Probation if selection.active_only => Some("on probation"),
        Status::Probation if record.scope != reader.scope => Some("on probation in a wider scope"),
        Status::Probation | Status::Active if record.is_expired(now) => Some("expired"),
        Status::Probation | Status::Active if record.confidence < Confidence::FLOOR => Some("of confidence below 0.30"),
        Status::Probation | Status::Active => None,
    }
}

fn exported(records: &[Record]) -> Result<Vec<ExportedSkill>> {
    let skills: Vec<(&Record, &Skill)> = records
        .iter()
        .filter_map(|record| match &record.content {
            Content::Skill(skill) => Some((record, skill)),
            _ => None,
        })
        .collect();
    let names = folder_names(&skills);
    skills.into_iter().zip(names).map(|((record, skill), name)| ExportedSkill::of(record, skill, name)).collect()
}
