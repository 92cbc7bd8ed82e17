//! Adapters of LearnKit to agent frameworks.
