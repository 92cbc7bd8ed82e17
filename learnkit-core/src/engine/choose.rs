//! Choosing between replay, guide and cold: on a proof of sameness, never on similarity.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::LearnKit;
use super::ask::Declined;
use super::templates::ChosenTemplate;
use crate::backend::{AgentFilter, ExactQuery, Scored};
use crate::classify::{Classification, HeuristicClassifier};
use crate::config::ReplayTrust;
use crate::lifecycle::{WorldCheck, does_the_same, is_disputed, may_replay};
use crate::procedure::{Procedure, Supplied, Today, values_decide};
use crate::record::{Record, RecordId, Status, TaskLink, Trust};
use crate::replay::preflight;
use crate::retrieve::{Playbook, RetrievalRequest, compose};
use crate::run::{CandidateNote, Mode};
use crate::tool::ToolManifest;
use crate::{Result, Task};

/// Why a template is not replayed with new values.
const VALUES_DECIDE: &str = "other values of its parameters took other calls";

/// Why a record does not replay that nothing was held against itself.
const FAILED_ELSEWHERE: &str = "the same calls were retired or did harm in another scope";

/// Why a record does not replay under `careful` although it is trusted enough.
const DISPUTED: &str = "another run of this task that passed changed the world otherwise";

/// How a run starts, and why.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) mode: Mode,
    pub(super) reason: String,
    /// The record to replay.
    pub(super) record: Option<Record>,
    /// What its parameters are in this task.
    pub(super) parameters: BTreeMap<String, String>,
    /// The secrets that it takes.
    pub(super) secrets: Supplied,
    /// What speaks for the world before that.
    pub(super) world_check: Option<WorldCheck>,
    /// The day, looked up once for everything that is planned.
    pub(super) today: Today,
    /// The other procedures of the exact task under its own key; absent where nobody looked.
    pub(super) siblings: Option<Vec<Record>>,
    pub(super) guidance: Guidance,
    pub(super) candidates: Vec<CandidateNote>,
    pub(super) warnings: Vec<String>,
    /// Whether the store failed, so that it is not waited for where that can be done without.
    pub(super) is_store_broken: bool,
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
    pub(super) fn cold(today: Today, reason: impl Into<String>) -> Self {
        Self {
            mode: Mode::Cold,
            reason: reason.into(),
            record: None,
            parameters: BTreeMap::new(),
            secrets: Supplied::new(),
            world_check: None,
            today,
            siblings: None,
            guidance: Guidance::none(),
            candidates: Vec::new(),
            warnings: Vec::new(),
            is_store_broken: false,
        }
    }
}

impl Choice {
    fn of_template(today: Today, chosen: ChosenTemplate) -> Self {
        let cold = Self::cold(today, chosen.reason());
        let ChosenTemplate { record, cleared: Cleared { world_check, secrets }, parameters } = chosen;
        Self { mode: Mode::Replay, record: Some(record), world_check: Some(world_check), parameters, secrets, ..cold }
    }
}

/// The exact records of a task, judged.
struct Exact {
    /// The record to replay, if one may.
    chosen: Option<Candidate>,
    /// The others under the key that is written to.
    siblings: Vec<Record>,
    notes: Vec<CandidateNote>,
    /// Why none of them may, from the best of them.
    refusal: Option<String>,
}

impl Exact {
    /// Keeps why a record does not replay, and the record where it is a sibling.
    fn put_aside(&mut self, refusal: Option<String>, sibling: Option<Record>) {
        self.siblings.extend(sibling);
        if let (Some(reason), None) = (refusal, &self.refusal) {
            self.refusal = Some(format!("the record of this exact task may not replay: {reason}"));
        }
    }
}

/// A record that may replay.
struct Candidate {
    record: Record,
    cleared: Cleared,
}

/// What a replay that may begin begins with.
#[derive(Debug)]
pub(super) struct Cleared {
    pub(super) world_check: WorldCheck,
    /// The secrets that it takes.
    pub(super) secrets: Supplied,
}

/// What records are judged by.
#[derive(Clone)]
pub(super) struct Asked<'a> {
    pub(super) task: &'a Task,
    pub(super) tools: Option<&'a ToolManifest>,
    pub(super) today: &'a Today,
    /// Whether other values of the parameters took other calls.
    pub(super) values_decide: bool,
    /// Why the hooks are not asked again.
    pub(super) broken_hook: Option<String>,
}

impl LearnKit {
    /// Chooses how a run starts. A store that fails gives a cold run with a warning.
    pub(super) async fn choose(&self, task: &Task, tools: Option<&ToolManifest>) -> Choice {
        let today = Today::at(self.now(), &self.inner.settings.time_zone);
        if task.is_blank() {
            return Choice::cold(today, "the task is blank");
        }
        let exact = match self.exact(task, tools, &today).await {
            Ok(exact) => exact,
            Err(error) => {
                let mut choice = Choice::cold(today, "memory could not be read");
                choice.warnings.push(format!("memory could not be read: {}", error.chain()));
                // A store that fails is not asked a second time for what can be done without.
                choice.siblings = Some(Vec::new());
                choice.is_store_broken = true;
                return choice;
            }
        };
        if let Some(Candidate { record, cleared: Cleared { world_check, secrets } }) = exact.chosen {
            let unchecked = if world_check == WorldCheck::Unchecked { ", unchecked" } else { "" };
            return Choice {
                mode: Mode::Replay,
                reason: format!("exact task, {} record {}{unchecked}", record.trust, record.id),
                record: Some(record),
                parameters: task.parameters().clone(),
                secrets,
                world_check: Some(world_check),
                siblings: Some(exact.siblings),
                candidates: exact.notes,
                ..Choice::cold(today, "")
            };
        }
        let why = exact.refusal.unwrap_or_else(|| "no record of this exact task".to_owned());
        // Whatever is stored of the exact task decides, also that it may not replay.
        let mut choice = if exact.notes.is_empty() {
            let asked = Asked { task, tools, today: &today, values_decide: false, broken_hook: None };
            self.template_or_guide(&asked, why).await
        } else {
            self.guide_or_cold(task, Choice::cold(today, why)).await
        };
        choice.candidates.splice(0..0, exact.notes);
        choice.siblings = Some(exact.siblings);
        choice
    }

    /// A confirmed template replays where the settings let it, else similar records guide.
    async fn template_or_guide(&self, asked: &Asked<'_>, why: String) -> Choice {
        let (task, today) = (asked.task, asked.today.clone());
        let Some(least) = self.inner.settings.template_replay.min_distinct() else {
            return self.guide_or_cold(task, Choice::cold(today, why)).await;
        };
        let templated = match self.by_template(asked, least).await {
            Ok(templated) => templated,
            Err(error) => {
                let mut choice = self.guide_or_cold(task, Choice::cold(today, why)).await;
                choice.warnings.push(format!("templates could not be read: {}", error.chain()));
                return choice;
            }
        };
        let mut choice = match templated.chosen {
            Some(chosen) => Choice::of_template(today, chosen),
            None => self.guide_or_cold(task, Choice::cold(today, templated.refusal.unwrap_or(why))).await,
        };
        choice.candidates.splice(0..0, templated.notes);
        choice
    }

    /// Goes on from a cold choice, which says why it is no replay.
    pub(super) async fn guide_or_cold(&self, task: &Task, mut choice: Choice) -> Choice {
        match self.guidance(task).await {
            Ok(guidance) => choice.guidance = guidance,
            Err(error) => choice.warnings.push(format!("memory could not be searched: {}", error.chain())),
        }
        if choice.guidance.records.is_empty() {
            choice.reason.push_str("; nothing similar is known");
            return choice;
        }
        choice.mode = Mode::Guide;
        let records = choice.guidance.playbook.records.len();
        choice.reason = format!("{}; {records} similar records guide", choice.reason);
        choice.candidates = choice.guidance.records.iter().map(ranked_note).collect();
        choice
    }

    /// Looks the exact task up in every readable scope and judges what is there.
    async fn exact(&self, task: &Task, tools: Option<&ToolManifest>, today: &Today) -> Result<Exact> {
        let query = self.exact_query(task);
        let mut found = self.procedures_of(&query).await?;
        let has_own_values =
            |record: &Record| record.procedure().is_some_and(|own| own.parameters == *task.parameters());
        found.sort_by_key(|record| {
            let recency = record.last_reinforced.unwrap_or(record.created);
            let uses = record.usage.successes + record.usage.help;
            Reverse((has_own_values(record), record.trust, uses, recency, Reverse(record.id.clone())))
        });
        let is_own = |record: &Record| record.task.as_ref().map(|link| &link.key) == query.keys.first();
        let mut exact = Exact { chosen: None, siblings: Vec::new(), notes: Vec::new(), refusal: None };
        let live = found.iter().filter(|record| !matches!(record.status, Status::Retired | Status::Harmful));
        let values_decide = values_decide(&live.filter_map(Record::procedure).collect::<Vec<_>>());
        let mut asked = Asked { task, tools, today, values_decide, broken_hook: None };
        let disputed = self.disputed(&found);
        let failed_elsewhere = failed_elsewhere(&found);
        for record in found {
            let is_second = exact.chosen.is_some();
            let judged = if disputed.contains(&record.id) {
                Err(DISPUTED.to_owned())
            } else if failed_elsewhere.contains(&record.id) {
                Err(FAILED_ELSEWHERE.to_owned())
            } else if is_second {
                self.judged(&record, &asked).map(|world_check| Cleared { world_check, secrets: Supplied::new() })
            } else {
                self.may_begin(&record, &mut asked).await
            };
            exact.notes.push(exact_note(&record, judged.as_ref().err().map(String::as_str), is_second));
            match judged {
                Ok(cleared) if !is_second => exact.chosen = Some(Candidate { record, cleared }),
                judged => exact.put_aside(judged.err(), is_own(&record).then_some(record)),
            }
        }
        Ok(exact)
    }

    /// The stored procedures of a task, in every scope that is asked for.
    pub(super) async fn procedures_of(&self, query: &ExactQuery) -> Result<Vec<Record>> {
        let found = self.within("lookup", self.inner.store.records.lookup(query)).await?;
        Ok(found.into_iter().filter(|record| record.procedure().is_some()).collect())
    }

    /// The stored procedures under one key.
    pub(super) async fn siblings_of(&self, task: &TaskLink) -> Result<Vec<Record>> {
        let (tenant, canonical) = (self.inner.tenant.clone(), task.canonical.clone());
        self.procedures_of(&ExactQuery { tenant, keys: vec![task.key.clone()], canonical }).await
    }

    /// The records with which others of the task disagree, where the settings are careful.
    fn disputed(&self, found: &[Record]) -> Vec<RecordId> {
        if self.inner.settings.replay_trust != ReplayTrust::Careful {
            return Vec::new();
        }
        let all: Vec<&Record> = found.iter().collect();
        all.iter().filter(|record| is_disputed(record, &all)).map(|record| record.id.clone()).collect()
    }

    /// Whether a record may replay, as far as can be told without asking the host.
    pub(super) fn judged(&self, record: &Record, asked: &Asked<'_>) -> Result<WorldCheck, String> {
        let Asked { task, tools, values_decide, .. } = asked;
        let setting = self.inner.settings.replay_trust;
        may_replay(record, setting, self.now())?;
        let procedure = record.procedure().ok_or_else(|| "it holds no procedure".to_owned())?;
        if *values_decide && procedure.parameters != *task.parameters() {
            return Err(VALUES_DECIDE.to_owned());
        }
        procedure.fits_zone(&self.inner.settings.time_zone)?;
        preflight(procedure, *tools, task, asked.today).map_or(Ok(()), Err)?;
        self.permit().refusal(procedure, *tools).map_or(Ok(()), Err)?;
        self.has_secrets_for(procedure)?;
        let world_check = WorldCheck::of(procedure, task);
        // Where there is a precheck, its pass is the check.
        if !self.has_precheck() {
            world_check.is_enough(setting)?;
        }
        Ok(world_check)
    }

    /// Whether a replay of a record may begin; the host is asked last.
    pub(super) async fn may_begin(&self, record: &Record, asked: &mut Asked<'_>) -> Result<Cleared, String> {
        let mut cleared = Cleared { world_check: self.judged(record, asked)?, secrets: Supplied::new() };
        let takes_secrets = |procedure: &&Procedure| !procedure.secrets().is_empty();
        let Some(procedure) = record.procedure().filter(|own| self.has_precheck() || takes_secrets(own)) else {
            return Ok(cleared);
        };
        if let Some(reason) = &asked.broken_hook {
            return Err(reason.clone());
        }
        let declined = match self.ask_secrets(asked.task, procedure).await {
            Ok(secrets) => {
                cleared.secrets = secrets;
                self.ask_precheck(asked.task, procedure, asked.today).await.err()
            }
            Err(declined) => Some(declined),
        };
        match declined {
            None if self.has_precheck() => Ok(Cleared { world_check: cleared.world_check.after_precheck(), ..cleared }),
            None => Ok(cleared),
            Some(Declined::Refused(reason)) => Err(reason),
            Some(Declined::Broken(reason)) => {
                asked.broken_hook = Some(reason.clone());
                Err(reason)
            }
        }
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
}

/// The records of which the same calls failed in another scope: that one cannot be written to from here.
fn failed_elsewhere(found: &[Record]) -> Vec<RecordId> {
    let bad = || found.iter().filter(|other| matches!(other.status, Status::Retired | Status::Harmful));
    let is_same = |record: &Record, other: &Record| {
        let both = record.procedure().zip(other.procedure());
        record.scope != other.scope && both.is_some_and(|(own, other)| does_the_same(own, other))
    };
    let failed = found.iter().filter(|own| own.trust < Trust::Verified && bad().any(|other| is_same(own, other)));
    failed.map(|record| record.id.clone()).collect()
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
