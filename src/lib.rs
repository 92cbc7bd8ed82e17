//! Procedural memory for tool-using AI agents.

pub use learnkit_backends as backends;
pub use learnkit_core::*;
pub use learnkit_embed as embedders;

// Cargo packs the file that `readme` names, so the path holds in the published crate too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
