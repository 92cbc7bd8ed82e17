//! Embedders of LearnKit.
//!
//! [`HashingEmbedder`] needs no model and no network. Embedders with a model come with a feature of
//! their own.

mod hashing;

pub use hashing::HashingEmbedder;
