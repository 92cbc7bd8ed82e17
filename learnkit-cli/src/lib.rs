//! The command line of LearnKit.
