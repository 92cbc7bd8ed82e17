//! Several processes on one file, and processes that end badly. A test starts itself again as the others.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper that fails is a failed test"
)]

mod child;
mod counting;
mod crashes;
mod crowd;
mod journal;
mod limits;
