//! Tools: what an agent can call, and what a tool says about itself.

mod manifest;
mod read;
mod schema;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
pub use manifest::{ToolManifest, ToolSpec};
pub use read::{ManifestForm, ReadManifest};
pub use schema::Schema;
use serde::{Deserialize, Serialize};

use crate::error::BoxError;
use crate::run::{Arguments, ToolOutput};
use crate::{Error, Result};

/// What a tool says about itself; an absent hint is unknown and handled as a possible effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolAnnotations {
    /// It changes nothing (MCP `readOnlyHint`).
    pub read_only: Option<bool>,
    /// It may destroy (MCP `destructiveHint`).
    pub destructive: Option<bool>,
    /// Calling it twice with the same arguments is like calling it once (MCP `idempotentHint`).
    pub idempotent: Option<bool>,
    /// A person has to approve each call.
    pub requires_approval: bool,
    /// It only looks around; its calls are dropped unless a later step needs them.
    pub exploration: bool,
}

/// What a call of a tool may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Nothing.
    ReadOnly,
    /// Something that repeating does not change.
    Idempotent,
    /// Something that cannot be undone.
    Destructive,
    /// Not stated: handled as a possible effect, never as destructive.
    Unknown,
}

impl EffectClass {
    /// The class in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Idempotent => "idempotent",
            Self::Destructive => "destructive",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for EffectClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ToolAnnotations {
    /// The effect class. As in MCP, `destructive` and `idempotent` mean nothing beside `read_only`; of the two,
    /// a stated `destructive` wins. What is absent or `false` states no class.
    pub fn effect(self) -> EffectClass {
        match (self.read_only, self.destructive, self.idempotent) {
            (Some(true), ..) => EffectClass::ReadOnly,
            (_, Some(true), _) => EffectClass::Destructive,
            (_, _, Some(true)) => EffectClass::Idempotent,
            _ => EffectClass::Unknown,
        }
    }

    /// Whether calling it once more with the same arguments changes nothing.
    pub(crate) fn may_repeat(self) -> bool {
        self.exploration || matches!(self.effect(), EffectClass::ReadOnly | EffectClass::Idempotent)
    }
}

/// What a tool is told beside its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolContext {
    /// Equal for every attempt of the same step of the same run, in every process that goes on with it.
    pub idempotency_key: String,
}

/// Something an agent can call.
///
/// Applications implement it, or use [`ToolSet::with_fn`]. The engine calls it during a replay and
/// [`crate::run_react_agent`] during planned runs. A tool may fail by `Err` or by an error result;
/// both count as failed.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// The name that planners use.
    fn name(&self) -> &str;

    /// What the tool says about itself.
    fn annotations(&self) -> ToolAnnotations {
        ToolAnnotations::default()
    }

    /// What it does, in the words that the planner reads; absent where nobody says.
    fn description(&self) -> Option<String> {
        None
    }

    /// The arguments that it takes; absent where nobody says.
    fn input_schema(&self) -> Option<Schema> {
        None
    }

    /// The version of what is behind it; another version is another tool to a recorded procedure.
    fn version(&self) -> Option<String> {
        None
    }

    /// The tool's own word on a result; absent leaves it to the error envelopes.
    fn success_when(&self, _output: &ToolOutput) -> Option<bool> {
        None
    }

    /// Does the work.
    async fn call(&self, arguments: &Arguments, context: &ToolContext) -> Result<ToolOutput, BoxError>;
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type CallFn = Box<dyn Fn(Arguments) -> BoxFuture<Result<ToolOutput, BoxError>> + Send + Sync>;

/// A tool made of a closure.
struct FnTool {
    name: String,
    spec: ToolSpec,
    call: CallFn,
}

#[async_trait]
impl Tool for FnTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn annotations(&self) -> ToolAnnotations {
        self.spec.annotations
    }

    fn description(&self) -> Option<String> {
        self.spec.description.clone()
    }

    fn input_schema(&self) -> Option<Schema> {
        self.spec.input_schema.clone()
    }

    fn version(&self) -> Option<String> {
        self.spec.version.clone()
    }

    async fn call(&self, arguments: &Arguments, _context: &ToolContext) -> Result<ToolOutput, BoxError> {
        (self.call)(arguments.clone()).await
    }
}

/// The tools of an agent, by name. A cheap clone.
///
/// ```
/// use learnkit_core::tool::{ToolAnnotations, ToolSet};
/// let tools = ToolSet::new().with_fn("now", ToolAnnotations::default(), |_| async { Ok("12:00".into()) });
/// assert!(tools.get("now").is_some());
/// ```
#[derive(Clone, Default)]
pub struct ToolSet(BTreeMap<String, Arc<dyn Tool>>);

impl ToolSet {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool; a tool of the same name is replaced.
    #[must_use]
    pub fn with(mut self, tool: impl Tool) -> Self {
        self.0.insert(tool.name().to_owned(), Arc::new(tool));
        self
    }

    /// Adds a closure as a tool.
    #[must_use]
    pub fn with_fn<F, Fut>(self, name: impl Into<String>, annotations: ToolAnnotations, call: F) -> Self
    where
        F: Fn(Arguments) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ToolOutput, BoxError>> + Send + 'static,
    {
        self.with_spec(name, annotations.into(), call)
    }

    /// Adds a closure as a tool that says more about itself than its hints.
    #[must_use]
    pub fn with_spec<F, Fut>(self, name: impl Into<String>, spec: ToolSpec, call: F) -> Self
    where
        F: Fn(Arguments) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ToolOutput, BoxError>> + Send + 'static,
    {
        let call: CallFn = Box::new(move |arguments| Box::pin(call(arguments)));
        self.with(FnTool { name: name.into(), spec, call })
    }

    /// A tool by name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.get(name)
    }

    /// A tool by name.
    ///
    /// # Errors
    /// `NotFound`, listing the names there are.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn Tool>> {
        self.get(name).ok_or_else(|| {
            let names = self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            Error::new(crate::ErrorKind::NotFound, format!("no tool `{name}`; there are: {names}"))
        })
    }

    /// The tools in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.values()
    }

    /// What each of them says about itself.
    pub fn manifest(&self) -> ToolManifest {
        self.0.iter().map(|(name, tool)| (name.as_str(), spec_of(tool.as_ref()))).collect()
    }
}

fn spec_of(tool: &dyn Tool) -> ToolSpec {
    ToolSpec {
        annotations: tool.annotations(),
        description: tool.description(),
        input_schema: tool.input_schema(),
        version: tool.version(),
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
