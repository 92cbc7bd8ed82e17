//! Embedded SQLite store of LearnKit: records, full-text search and runs in one file.
//!
//! The scheme is `sqlite`: `sqlite:learnkit.db` for a file, `sqlite::memory:` for a store that ends
//! with the process. Everything after the first colon is the path, `?` and `#` included.

mod connection;
mod error;
mod fts;
mod journal;
mod load;
mod migrate;
mod near;
mod older;
mod records;
mod row;
mod runs;
mod search;
mod store;
mod upkeep;
mod workers;

pub use older::OlderDatabase;
pub use store::SqliteStore;

use learnkit_core::backend::Store;
use learnkit_core::config::BackendUri;
use learnkit_core::register_backend;
use learnkit_core::registry::{OpenFuture, OpenMode};

register_backend!("sqlite", "One SQLite file, or `:memory:`.", open, SqliteStore::ON_DISK);

fn open(uri: BackendUri, mode: OpenMode) -> OpenFuture {
    Box::pin(async move { Ok(Store::of(SqliteStore::open_with(uri.rest(), mode).await?)) })
}
