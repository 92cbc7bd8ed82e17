//! The stores of LearnKit. A feature, its URI scheme and its module share one name.

#[cfg(feature = "sqlite")]
pub use learnkit_backend_sqlite as sqlite;
