//! Classifiers: what a task is about. Domains rank; they never hide a record.

mod heuristic;

use std::fmt::Debug;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use heuristic::HeuristicClassifier;

use crate::record::DomainVector;
use crate::{Result, Task};

/// What a task is about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classification {
    /// The kind of task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// Labels with weights from 0 to 1.
    pub domains: DomainVector,
}

/// Says what a task is about.
///
/// The engine asks before retrieval, never on a replay. A classifier that fails falls back to the
/// heuristic one.
#[async_trait]
pub trait Classifier: Debug + Send + Sync + 'static {
    /// Classifies a task.
    ///
    /// # Errors
    /// `Unavailable` when a model cannot be reached.
    async fn classify(&self, task: &Task) -> Result<Classification>;
}
