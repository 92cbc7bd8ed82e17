//! Adapters of LearnKit to agent frameworks, one module and feature each, and the wire formats of
//! recorded conversations.

#[cfg(feature = "react")]
pub mod react;
pub mod wire;
