//! `inspect`: what memory would do for a task, without changing anything.

use serde::{Deserialize, Serialize};

use super::LearnKit;
use super::choose::Choice;
use super::dry_run::{Foreseen, foreseen_at_rest};
use crate::backend::AgentFilter;
use crate::config::ReplayPolicy;
use crate::lifecycle::WorldCheck;
use crate::record::{AgentName, DomainVector, RecordId, Trust};
use crate::replay::Divergence;
use crate::retrieve::Playbook;
use crate::run::{Arguments, CandidateNote, Mode};
use crate::task::TaskKey;
use crate::tool::{EffectClass, ToolManifest};
use crate::{Result, Task};

/// So many near records of other agents are named.
const NEAR_RECORDS: usize = 5;

/// What memory would do for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// The canonical text, secrets masked.
    pub canonical: String,
    /// The key, for the scope that is written to.
    pub key: TaskKey,
    /// How a run would start.
    pub mode: Mode,
    /// Why.
    pub reason: String,
    /// The kind of task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// What the task is about.
    pub domains: DomainVector,
    /// The record that would be replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordId>,
    /// Its trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// What would speak for the world before its first effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_check: Option<WorldCheck>,
    /// What a replay may do on its own.
    pub replay_policy: ReplayPolicy,
    /// The calls that a replay would make; empty in a planned run.
    pub plan: Vec<PlanLine>,
    /// Where the replay is sure to stop after these calls, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stops: Option<Divergence>,
    /// Every record that was considered.
    pub candidates: Vec<CandidateNote>,
    /// The block that a planner would get.
    pub playbook: Playbook,
    /// Near records of other agents, which do not guide this one.
    pub near: Vec<NearRecord>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

/// One call of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanLine {
    /// The tool.
    pub tool: String,
    /// The arguments as they would be sent.
    pub arguments: Arguments,
    /// What the call may do to the world.
    pub effect: EffectClass,
    /// Whether an approval would be asked for.
    pub approval: bool,
    /// Whether a dry run has made it.
    pub is_made: bool,
    /// Arguments, as JSON pointers, that an earlier result or the host's secrets give anew; what stands there was
    /// recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// How many earlier results are checked before the call.
    pub guards: usize,
}

/// A near record of another agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearRecord {
    /// The record.
    pub id: RecordId,
    /// Whose it is.
    pub agent: AgentName,
    /// What it is.
    pub headline: String,
    /// Its relevance.
    pub score: f64,
}

impl LearnKit {
    /// What memory would do for a task: classify, retrieve, compose. Reads only.
    ///
    /// A precheck and a secret provider of the host are asked as before a replay. Tools are not known here, so a plan whose tool is gone is found only by a real run.
    ///
    /// # Errors
    /// `InvalidInput` for a blank task.
    pub async fn inspect(&self, task: impl Into<Task> + Send) -> Result<Inspection> {
        let task = task.into();
        let choice = self.choice_of(&task, None).await?;
        let foreseen = foreseen_at_rest(&choice, self.permit());
        Ok(self.inspection(&task, choice, foreseen).await)
    }

    /// How a run would start.
    ///
    /// # Errors
    /// `InvalidInput` for a blank task.
    pub(super) async fn choice_of(&self, task: &Task, tools: Option<&ToolManifest>) -> Result<Choice> {
        if task.is_blank() {
            return Err(crate::Error::invalid("the task is blank; write what the agent is asked to do"));
        }
        Ok(self.choose(task, tools).await)
    }

    /// Everything that is known of a choice, with what its replay would do.
    pub(super) async fn inspection(&self, task: &Task, choice: Choice, foreseen: Foreseen) -> Inspection {
        let mut warnings = choice.warnings;
        let mut guidance = choice.guidance;
        if choice.mode == Mode::Replay {
            match self.guidance(task).await {
                Ok(found) => guidance = found,
                Err(error) => warnings.push(format!("memory could not be searched: {}", error.chain())),
            }
        }
        let classification = match guidance.classification {
            Some(classification) => classification,
            None => self.classify(task).await,
        };
        let request = self.retrieval(task, &classification, AgentFilter::Except(self.agent.clone()));
        let near = self.within("search", self.inner.store.records.search(&request.search(NEAR_RECORDS))).await;
        let near = near.unwrap_or_default().into_iter().map(|scored| NearRecord {
            id: scored.item.id.clone(),
            agent: scored.item.agent.clone(),
            headline: scored.item.headline(),
            score: scored.score,
        });
        Inspection {
            canonical: crate::secret::mask_text(&task.canonical()).text,
            key: self.key(task),
            mode: choice.mode,
            reason: choice.reason,
            task_type: classification.task_type,
            domains: classification.domains,
            record: choice.record.as_ref().map(|record| record.id.clone()),
            trust: choice.record.as_ref().map(|record| record.trust),
            world_check: choice.world_check,
            replay_policy: self.inner.settings.replay_policy,
            plan: foreseen.plan,
            stops: foreseen.stops,
            candidates: choice.candidates,
            playbook: guidance.playbook,
            near: near.collect(),
            warnings,
        }
    }
}
