//! Records that people wrote, put in order: those that say the same become one, and a fact that contradicts an
//! older one supersedes it. Nothing crosses a scope or an agent, and procedures are never touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::LearnKit;
use super::library::PAGE;
use crate::Result;
use crate::backend::{Batch, Committed, Found, MakeBatch, Put, PutMode, RecordFilter, ScanRequest, Visibility};
use crate::lifecycle::{Event, absorb, apply};
use crate::record::{AgentName, Content, Kind, Record, RecordId, Scope, Status};
use crate::statement::{Relation, Saying};

/// A record is compared with so many of the newest that it may be related to.
const COMPARED: usize = 64;
/// The kinds that people write.
const WRITTEN: [Kind; 4] = [Kind::Fact, Kind::Strategy, Kind::Preference, Kind::Heuristic];

/// What putting in order came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// Records that said what another one says, which counts for both now.
    pub merged: u64,
    /// Facts that a newer one contradicts.
    pub superseded: u64,
}

/// A record as far as it is compared.
struct Written {
    id: RecordId,
    created: Timestamp,
    saying: Saying,
}

/// Whom a record may be related to.
type Group = (Scope, AgentName, Kind, String);

impl LearnKit {
    /// Merges what says the same and lets newer facts supersede older ones; twice changes nothing. What is
    /// written meanwhile waits for the next time.
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be read or written; what was settled before that stays so.
    pub(super) async fn settle_statements(&self) -> Result<Settled> {
        let mut settled = Settled::default();
        for (_, mut group) in self.written().await? {
            group.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
            let mut standing: Vec<Written> = Vec::new();
            for newer in group {
                let mut goes = false;
                let newest = standing.len().saturating_sub(COMPARED);
                let related = standing
                    .iter()
                    .enumerate()
                    .skip(newest)
                    .filter_map(|(at, older)| Some((at, older.saying.relation(&newer.saying)?)));
                // What says the same comes first: then there is nothing to contradict.
                let related = related.max_by_key(|(_, relation)| *relation);
                if let Some((at, relation)) = related
                    && let Some(gone) = self.settle_pair(standing.get(at), &newer, relation, &mut settled).await?
                {
                    goes = gone == newer.id;
                    standing.retain(|written| written.id != gone);
                }
                if !goes {
                    standing.push(newer);
                }
            }
        }
        Ok(settled)
    }

    /// The records that people wrote and that may guide, by whom they may be related to.
    async fn written(&self) -> Result<BTreeMap<Group, Vec<Written>>> {
        let visibility = Visibility { statuses: vec![Status::Probation, Status::Active], probation_in: None };
        let filter = RecordFilter { kinds: WRITTEN.to_vec(), visibility, ..self.every_record() };
        let mut groups: BTreeMap<Group, Vec<Written>> = BTreeMap::new();
        let mut after = None;
        loop {
            let page = self.scan(&ScanRequest { filter: filter.clone(), after, limit: PAGE }).await?;
            for Record { id, created, content, scope, agent, .. } in page.items {
                let Some(saying) = Saying::of(&content) else { continue };
                let group = groups.entry((scope, agent, content.kind(), saying.key())).or_default();
                group.push(Written { id, created, saying });
            }
            let Some(next) = page.next else { return Ok(groups) };
            after = Some(RecordId::new(next)?);
        }
    }

    /// Settles two records as they are stored now, and gives the one that went out of use.
    async fn settle_pair(
        &self,
        older: Option<&Written>,
        newer: &Written,
        relation: Relation,
        settled: &mut Settled,
    ) -> Result<Option<RecordId>> {
        let Some(older) = older else { return Ok(None) };
        // Which of two facts of one moment holds, nobody can tell.
        if relation == Relation::Contradicts && older.created == newer.created {
            return Ok(None);
        }
        let (ids, now) = ([older.id.clone(), newer.id.clone()], self.now());
        let make: MakeBatch = Arc::new(move |found| pair(found, relation, now).unwrap_or_default());
        let done = self.within("commit", self.inner.store.records.commit_over(&self.inner.tenant, &ids, &make)).await?;
        let gone = done.batch.puts.iter().map(|put| &put.record).find(|record| record.status == Status::Retired);
        let gone = gone.filter(|_| matches!(done.committed, Committed::Stored(_))).map(|record| record.id.clone());
        if gone.is_some() {
            match relation {
                Relation::Same => settled.merged += 1,
                Relation::Contradicts => settled.superseded += 1,
            }
        }
        Ok(gone)
    }
}

/// The change of two stored records, if they still are to each other what they were.
fn pair(found: &Found, relation: Relation, now: Timestamp) -> Option<Batch> {
    let [older, newer] = found.records.as_slice() else { return None };
    let stands = |record: &Record| matches!(record.status, Status::Probation | Status::Active);
    let is_near = older.scope == newer.scope && older.agent == newer.agent && stands(older) && stands(newer);
    let relates = || Saying::of(&older.content)?.relation(&Saying::of(&newer.content)?);
    if !is_near || relates() != Some(relation) {
        return None;
    }
    let (mut kept, mut gone) = match relation {
        Relation::Same if earned(newer) > earned(older) => (newer.clone(), older.clone()),
        Relation::Same => (older.clone(), newer.clone()),
        Relation::Contradicts => (newer.clone(), older.clone()),
    };
    match relation {
        Relation::Same => {
            absorb(&mut kept, &gone);
            apply(&mut gone, &Event::Merged { into: kept.id.clone() }, now);
        }
        Relation::Contradicts => supersede(&mut kept, &mut gone, now),
    }
    let put = |record: Record| Put { mode: PutMode::IfRevision(record.revision), record };
    Some(Batch { puts: vec![put(kept), put(gone)], run: None })
}

/// What a record has earned; the one with more keeps its words, and its trust with them.
fn earned(record: &Record) -> (u8, bool, u64) {
    (record.trust as u8, record.pinned, record.usage.help)
}

/// The newer fact takes over the history of the older one, which retires.
pub(super) fn supersede(newer: &mut Record, older: &mut Record, now: Timestamp) {
    if let (Content::Fact(new), Content::Fact(known)) = (&mut newer.content, &older.content) {
        let known = known.superseded.iter().chain([&known.statement]);
        let known: Vec<String> = known.filter(|statement| !new.superseded.contains(statement)).cloned().collect();
        new.superseded.splice(0..0, known);
    }
    apply(older, &Event::Superseded { by: newer.id.clone() }, now);
}
