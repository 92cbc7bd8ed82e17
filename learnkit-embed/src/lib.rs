//! Embedders of LearnKit.
