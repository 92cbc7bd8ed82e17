//! Adapters of LearnKit to agent frameworks, one module and feature each.

#[cfg(feature = "react")]
pub mod react;
