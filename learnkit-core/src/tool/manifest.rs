//! What the tools at hand say about themselves, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Schema, ToolAnnotations};

/// What one tool says about itself: its part of the contract that a recorded call was made under.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolSpec {
    /// Its hints.
    pub annotations: ToolAnnotations,
    /// What it does, in the words that the planner reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments that it takes; absent where nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Schema>,
    /// The version of what is behind it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl ToolSpec {
    /// Adds a description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds the schema of its arguments.
    #[must_use]
    pub fn with_input_schema(mut self, schema: Schema) -> Self {
        self.input_schema = Some(schema);
        self
    }

    /// Adds a version.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }
}

impl From<ToolAnnotations> for ToolSpec {
    fn from(annotations: ToolAnnotations) -> Self {
        Self { annotations, ..Self::default() }
    }
}

/// The tools that can be called now, with what each says about itself. A cheap clone.
///
/// ```
/// use learnkit_core::tool::{ToolAnnotations, ToolManifest};
/// let tools = ToolManifest::from([("search", ToolAnnotations::default())]);
/// assert!(tools.get("search").is_some() && tools.get("refund").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolManifest(Arc<BTreeMap<String, ToolSpec>>);

impl ToolManifest {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// What a tool says about itself; absent when there is no such tool.
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.0.get(name)
    }

    /// The hints of a tool; none are stated for a tool that is not there.
    pub fn annotations(&self, name: &str) -> ToolAnnotations {
        self.get(name).map(|spec| spec.annotations).unwrap_or_default()
    }

    /// Adds a tool; one of the same name is replaced.
    pub fn insert(&mut self, name: impl Into<String>, spec: impl Into<ToolSpec>) {
        Arc::make_mut(&mut self.0).insert(name.into(), spec.into());
    }

    /// The tools in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ToolSpec)> {
        self.0.iter().map(|(name, spec)| (name.as_str(), spec))
    }

    /// Changes what tools say about themselves, in the order of their names.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut ToolSpec)> {
        Arc::make_mut(&mut self.0).iter_mut().map(|(name, spec)| (name.as_str(), spec))
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both say the same; the same list is known without looking at it.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self == other
    }
}

impl<N: Into<String>, S: Into<ToolSpec>> FromIterator<(N, S)> for ToolManifest {
    fn from_iter<I: IntoIterator<Item = (N, S)>>(tools: I) -> Self {
        Self(Arc::new(tools.into_iter().map(|(name, spec)| (name.into(), spec.into())).collect()))
    }
}

impl<N: Into<String>, S: Into<ToolSpec>, const COUNT: usize> From<[(N, S); COUNT]> for ToolManifest {
    fn from(tools: [(N, S); COUNT]) -> Self {
        tools.into_iter().collect()
    }
}

impl Serialize for ToolManifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolManifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Arc::new(BTreeMap::deserialize(deserializer)?)))
    }
}
