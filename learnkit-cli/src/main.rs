//! The `learnkit` program.

fn main() {}
