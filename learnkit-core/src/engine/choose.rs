//! Choosing between replay, guide and cold: on a proof of sameness, never on similarity.

use std::cmp::Reverse;

use super::LearnKit;
use crate::backend::{AgentFilter, Scored};
use crate::classify::{Classification, HeuristicClassifier};
use crate::hash::Fingerprint;
use crate::lifecycle::may_replay;
use crate::procedure::values_decide;
use crate::record::{Record, RunId, Status};
use crate::replay::preflight;
use crate::retrieve::{Playbook, RetrievalRequest, compose};
use crate::run::{CandidateNote, Mode};
use crate::tool::ToolManifest;
use crate::{Result, Task};

/// Why a template is not replayed with new values.
const VALUES_DECIDE: &str = "other values of its parameters took other calls";

/// How a run starts, and why.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) mode: Mode,
    pub(super) reason: String,
    /// The record to replay.
    pub(super) record: Option<Record>,
    pub(super) guidance: Guidance,
    pub(super) candidates: Vec<CandidateNote>,
    pub(super) warnings: Vec<String>,
}

/// What retrieval found.
#[derive(Debug)]
pub(super) struct Guidance {
    pub(super) classification: Option<Classification>,
    pub(super) records: Vec<Scored<Record>>,
    pub(super) playbook: Playbook,
}

impl Guidance {
    pub(super) fn none() -> Self {
        Self { classification: None, records: Vec::new(), playbook: Playbook::empty() }
    }
}

impl Choice {
    fn cold(reason: impl Into<String>) -> Self {
        Self {
            mode: Mode::Cold,
            reason: reason.into(),
            record: None,
            guidance: Guidance::none(),
            candidates: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// The exact records of a task, judged.
struct Exact {
    /// The record to replay, if one may.
    chosen: Option<Record>,
    notes: Vec<CandidateNote>,
    /// Why none of them may, from the best of them.
    refusal: Option<String>,
}

impl LearnKit {
    /// Chooses how a run starts. A store that fails gives a cold run with a warning.
    pub(super) async fn choose(&self, task: &Task, run: &RunId, tools: Option<&ToolManifest>) -> Choice {
        if task.is_blank() {
            return Choice::cold("the task is blank");
        }
        if self.is_held_out(run) {
            return Choice::cold("the run is in the hold-out arm");
        }
        let exact = match self.exact(task, tools).await {
            Ok(exact) => exact,
            Err(error) => {
                let mut choice = Choice::cold("memory could not be read");
                choice.warnings.push(format!("memory could not be read: {}", error.chain()));
                return choice;
            }
        };
        if let Some(record) = exact.chosen {
            return Choice {
                mode: Mode::Replay,
                reason: format!("exact task, {} record {}", record.trust, record.id),
                record: Some(record),
                candidates: exact.notes,
                ..Choice::cold("")
            };
        }
        let why = exact.refusal.unwrap_or_else(|| "no record of this exact task".to_owned());
        let mut choice = self.guide_or_cold(task, &why).await;
        choice.candidates.splice(0..0, exact.notes);
        choice
    }

    async fn guide_or_cold(&self, task: &Task, why: &str) -> Choice {
        let mut choice = Choice::cold(format!("{why}; nothing similar is known"));
        match self.guidance(task).await {
            Ok(guidance) => choice.guidance = guidance,
            Err(error) => choice.warnings.push(format!("memory could not be searched: {}", error.chain())),
        }
        if !choice.guidance.records.is_empty() {
            choice.mode = Mode::Guide;
            choice.reason = format!("{why}; {} similar records guide", choice.guidance.playbook.records.len());
            choice.candidates = choice.guidance.records.iter().map(ranked_note).collect();
        }
        choice
    }

    /// Looks the exact task up in every readable scope and judges what is there.
    async fn exact(&self, task: &Task, tools: Option<&ToolManifest>) -> Result<Exact> {
        let query = self.exact_query(task);
        let found = self.within("lookup", self.inner.store.records.lookup(&query)).await?;
        let mut found: Vec<Record> = found.into_iter().filter(|record| record.procedure().is_some()).collect();
        let has_own_values =
            |record: &Record| record.procedure().is_some_and(|own| own.parameters == *task.parameters());
        found.sort_by_key(|record| {
            let recency = record.last_reinforced.unwrap_or(record.created);
            let uses = record.usage.successes + record.usage.help;
            Reverse((has_own_values(record), record.trust, uses, recency, Reverse(record.id.clone())))
        });
        let live = found.iter().filter(|record| !matches!(record.status, Status::Retired | Status::Harmful));
        let values_decide = values_decide(&live.filter_map(Record::procedure).collect::<Vec<_>>());
        let mut exact = Exact { chosen: None, notes: Vec::new(), refusal: None };
        for record in found {
            let is_open = values_decide && !has_own_values(&record);
            let refusal = is_open.then(|| VALUES_DECIDE.to_owned()).or_else(|| self.refusal(&record, task, tools));
            exact.notes.push(exact_note(&record, refusal.as_deref(), exact.chosen.is_some()));
            match refusal {
                None if exact.chosen.is_none() => exact.chosen = Some(record),
                None => {}
                Some(reason) => {
                    exact
                        .refusal
                        .get_or_insert_with(|| format!("the record of this exact task may not replay: {reason}"));
                }
            }
        }
        Ok(exact)
    }

    fn refusal(&self, record: &Record, task: &Task, tools: Option<&ToolManifest>) -> Option<String> {
        let allowed = may_replay(record, self.inner.settings.replay_trust, self.now());
        allowed.err().or_else(|| preflight(record.procedure()?, tools, task))
    }

    /// Classify, retrieve, compose.
    pub(super) async fn guidance(&self, task: &Task) -> Result<Guidance> {
        let classification = self.classify(task).await;
        let request = self.retrieval(task, &classification, AgentFilter::Only(self.agent.clone()));
        let records = self.within("search", self.inner.retriever.retrieve(&request)).await?;
        let playbook = compose(task.text(), &records, self.inner.settings.budget);
        Ok(Guidance { classification: Some(classification), records, playbook })
    }

    /// What the task is about, with the declared agent as a domain; never fails.
    pub(super) async fn classify(&self, task: &Task) -> Classification {
        let asked = self.within("classify", self.inner.classifier.classify(task)).await;
        asked.map_or_else(|_| self.classify_offline(task), |classification| self.with_declared(classification))
    }

    /// The same without waiting for anybody.
    pub(super) fn classify_offline(&self, task: &Task) -> Classification {
        self.with_declared(HeuristicClassifier.classify_text(task.text()))
    }

    fn with_declared(&self, mut classification: Classification) -> Classification {
        classification.domains.insert(self.agent.to_string(), 1.0);
        classification
    }

    pub(super) fn retrieval(
        &self,
        task: &Task,
        classification: &Classification,
        agents: AgentFilter,
    ) -> RetrievalRequest {
        RetrievalRequest {
            text: task.text().to_owned(),
            domains: classification.domains.clone(),
            tenant: self.inner.tenant.clone(),
            reader: self.inner.reader.clone(),
            agent: self.agent.clone(),
            agents,
            now: self.now(),
            limit: self.inner.settings.budget.records,
        }
    }

    /// Whether the run's id falls into the share of runs that skip memory.
    fn is_held_out(&self, run: &RunId) -> bool {
        let hash = Fingerprint::new("holdout").part(run.as_str()).hex();
        let share = hash.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(u32::MAX);
        f64::from(share) / f64::from(u32::MAX) < self.inner.settings.holdout_rate
    }
}

fn exact_note(record: &Record, refusal: Option<&str>, is_second: bool) -> CandidateNote {
    let note = match refusal {
        Some(reason) => format!("may not replay: {reason}"),
        None if is_second => "another procedure of this task ranks higher".to_owned(),
        None => "replays".to_owned(),
    };
    CandidateNote { id: record.id.clone(), kind: record.kind(), exact: true, score: None, note }
}

fn ranked_note(scored: &Scored<Record>) -> CandidateNote {
    CandidateNote {
        id: scored.item.id.clone(),
        kind: scored.item.kind(),
        exact: false,
        score: Some(scored.score),
        note: "similar, guides".to_owned(),
    }
}
