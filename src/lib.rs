//! Procedural memory for tool-using AI agents.

pub use learnkit_backends as backends;
pub use learnkit_core::*;
pub use learnkit_embed as embedders;
