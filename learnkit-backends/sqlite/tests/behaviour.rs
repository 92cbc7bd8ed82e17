//! The behaviour suite of the core, on a file and in memory.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use learnkit_backend_sqlite::SqliteStore;
use learnkit_core::backend::{Capabilities, Store};
use learnkit_core::testing::Subject;

const IN_MEMORY: Capabilities = Capabilities {
    full_text: true,
    dense: false,
    metadata_filter: true,
    conditional_put: true,
    read_after_write: true,
    durable: false,
    shared: false,
    runs: true,
};

async fn on_disk() -> Subject {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("learnkit.db")).await.unwrap();
    Subject::keeping(Store::of(store), folder)
}

async fn in_memory() -> Store {
    Store::of(SqliteStore::open_in_memory().await.unwrap())
}

mod file {
    learnkit_core::testing::behaviour_suite! {
        backend: super::on_disk(),
        capabilities: super::Capabilities { durable: true, shared: true, ..super::IN_MEMORY },
    }
}

mod memory {
    learnkit_core::testing::behaviour_suite! {
        backend: super::in_memory(),
        capabilities: super::IN_MEMORY,
    }
}
