//! Model, traits and engine of LearnKit: procedural memory for tool-using AI agents.
//!
//! Applications use the facade crate `learnkit`; backends and adapters build on this crate.
//! No SQL, no HTTP and no async runtime of its own: backends bring those.

mod clock;
mod error;
mod hash;
mod json;
mod name;
mod secret;

pub mod backend;
pub mod config;
pub mod conversation;
pub mod procedure;
pub mod record;
pub mod registry;
pub mod run;
pub mod task;
pub mod text;
pub mod tool;

pub use async_trait::async_trait;
pub use clock::{Clock, SystemClock};
pub use error::{BoxError, Error, ErrorKind, Result};
#[doc(hidden)]
pub use inventory;
pub use json::{Json, JsonKind, Leaf};
pub use registry::{available_backends, get_backend, open_store};
pub use secret::{Masked, mask_json, mask_text};
pub use task::Task;
