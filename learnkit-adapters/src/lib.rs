//! Adapters of LearnKit to agent frameworks.

pub mod wire;
