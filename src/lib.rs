//! Procedural memory for tool-using AI agents.

// A crate that nobody names is not linked, and what it registers is lost.
#[cfg(feature = "react")]
use learnkit_adapters as _;

pub use learnkit_adapters as adapters;
pub use learnkit_backends as backends;
pub use learnkit_core::*;
pub use learnkit_embed as embedders;

// Cargo packs the file that `readme` names, so the path holds in the published crate too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
