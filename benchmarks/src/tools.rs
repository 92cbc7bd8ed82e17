//! Manifests of tools, made in one place.

use learnkit::tool::{ToolAnnotations, ToolManifest};

/// A manifest of tools with what they say about themselves.
pub(crate) fn manifest<'t>(tools: impl Iterator<Item = (&'t str, ToolAnnotations)>) -> ToolManifest {
    tools.map(|(tool, annotations)| (tool.to_owned(), annotations)).collect()
}

/// What a tool says about itself that is known as a read, or not.
pub(crate) fn reads(reads: bool) -> ToolAnnotations {
    ToolAnnotations { read_only: reads.then_some(true), ..ToolAnnotations::default() }
}
