//! Embedded SQLite store of LearnKit.
