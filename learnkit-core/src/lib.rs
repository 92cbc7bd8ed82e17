//! Model, traits and engine of LearnKit: procedural memory for tool-using AI agents.
//!
//! Applications use the facade crate `learnkit`; backends and adapters build on this crate.
//! No SQL, no HTTP and no async runtime of its own: backends bring those.

mod clock;
mod error;
mod hash;
mod json;
mod memory;
mod name;
mod secret;
mod statement;

pub mod adapter;
pub mod backend;
pub mod classify;
pub mod config;
pub mod conversation;
pub mod embed;
pub mod engine;
pub mod hook;
pub mod ledger;
pub mod lifecycle;
pub mod portable;
pub mod procedure;
pub mod record;
pub mod registry;
pub mod replay;
pub mod retrieve;
pub mod run;
pub mod skill_file;
pub mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod tool;

pub use async_trait::async_trait;
pub use clock::{Clock, SystemClock};
pub use engine::{LearnKit, RunReport, run_react_agent};
pub use error::{BoxError, Error, ErrorKind, Result};
#[doc(hidden)]
pub use inventory;
pub use json::{Json, JsonKind, Leaf};
pub use memory::MemoryStore;
pub use registry::{available_adapters, available_backends, get_adapter, get_backend, open_store};
pub use secret::{Masked, Sensitive, mask_json, mask_text};
pub use task::Task;
