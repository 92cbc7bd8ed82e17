//! Backends and adapters that are linked into the program, found by name.
//!
//! Entries are descriptions, collected by `inventory`. A crate that is only listed in Cargo.toml is
//! not linked: name it once with `use my_adapter as _;`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::adapter::AdapterEntry;
use crate::backend::{Capabilities, Store};
use crate::config::BackendUri;
use crate::{Error, ErrorKind, Result};

/// Whether opening may make a new store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OpenMode {
    /// Make it when it is missing.
    #[default]
    CreateIfMissing,
    /// Only open what is there; `NotFound` otherwise.
    ExistingOnly,
}

/// A store on its way to being opened.
pub type OpenFuture = Pin<Box<dyn Future<Output = Result<Store>> + Send>>;

/// A backend that [`get_backend`] finds by the scheme of a URI.
#[derive(Clone, Copy)]
pub struct BackendEntry {
    /// The URI scheme, lowercase; unique among linked crates.
    pub scheme: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The package that registered it, `env!("CARGO_PKG_NAME")`.
    pub package: &'static str,
    /// What a store in its usual place can do, where that is known without opening one.
    pub capabilities: Option<Capabilities>,
    /// Opens a store.
    pub open: fn(BackendUri, OpenMode) -> OpenFuture,
}

impl fmt::Debug for BackendEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackendEntry({} from {})", self.scheme, self.package)
    }
}

inventory::collect!(BackendEntry);

/// Schemes of LearnKit's own backends with the feature that links each, for the error message.
const KNOWN_BACKENDS: [(&str, &str); 1] = [("sqlite", "sqlite")];

/// Every linked backend, sorted by scheme.
pub fn available_backends() -> Vec<&'static BackendEntry> {
    sorted(inventory::iter::<BackendEntry>(), |entry| entry.scheme)
}

/// The backend of a URI.
///
/// # Errors
/// `NotFound` when no linked crate has the scheme, naming the linked ones and the feature to
/// enable; `Conflict` when two packages claim it, naming both.
pub fn get_backend(uri: &BackendUri) -> Result<&'static BackendEntry> {
    let scheme = uri.scheme();
    let found: Vec<_> = available_backends().into_iter().filter(|entry| entry.scheme == scheme).collect();
    match found.as_slice() {
        [entry] => Ok(entry),
        [] => Err(unknown("backend", scheme, available_backends().iter().map(|entry| entry.scheme), &KNOWN_BACKENDS)),
        [first, second, ..] => Err(claimed_twice("backend", scheme, first.package, second.package)),
    }
}

/// Opens the store of a URI.
///
/// # Errors
/// As for [`get_backend`], and what the backend's `open` reports.
pub async fn open_store(uri: &BackendUri, mode: OpenMode) -> Result<Store> {
    (get_backend(uri)?.open)(uri.clone(), mode).await
}

/// LearnKit's own adapters with the feature that links each, for the error message.
const KNOWN_ADAPTERS: [(&str, &str); 1] = [("react", "react")];

/// Every linked adapter, sorted by name.
pub fn available_adapters() -> Vec<&'static AdapterEntry> {
    sorted(inventory::iter::<AdapterEntry>(), |entry| entry.name)
}

/// An adapter by name.
///
/// # Errors
/// `NotFound` when no linked crate registers the name, listing the linked ones and what to do;
/// `Conflict` when two packages claim it, naming both.
pub fn get_adapter(name: &str) -> Result<&'static AdapterEntry> {
    let found: Vec<_> = available_adapters().into_iter().filter(|entry| entry.name == name).collect();
    match found.as_slice() {
        [entry] => Ok(entry),
        [] => Err(unknown("adapter", name, available_adapters().iter().map(|entry| entry.name), &KNOWN_ADAPTERS)),
        [first, second, ..] => Err(claimed_twice("adapter", name, first.package, second.package)),
    }
}

/// Registers an adapter under a name, so that `get_adapter` finds it.
///
/// The constructor takes `&LearnKit` and gives `Result<Arc<dyn BaseAdapter>>`. The crate has to be
/// linked: whoever uses it writes `use my_adapter as _;` once.
#[macro_export]
macro_rules! register_adapter {
    ($name:literal, $summary:literal, $build:expr) => {
        $crate::inventory::submit! {
            $crate::adapter::AdapterEntry {
                name: $name,
                summary: $summary,
                package: env!("CARGO_PKG_NAME"),
                build: $build,
            }
        }
    };
}

/// Registers a backend under a URI scheme, so that `get_backend` finds it; a fourth argument says what a
/// store in its usual place can do.
///
/// ```
/// # mod example {
/// use learnkit_core::registry::{OpenFuture, OpenMode};
/// use learnkit_core::{config::BackendUri, register_backend};
///
/// register_backend!("null", "Keeps nothing.", open);
///
/// fn open(_uri: BackendUri, _mode: OpenMode) -> OpenFuture {
///     Box::pin(async { Err(learnkit_core::Error::invalid("nothing here")) })
/// }
/// # }
/// ```
#[macro_export]
macro_rules! register_backend {
    ($scheme:literal, $summary:literal, $open:expr) => {
        $crate::register_backend!(@entry $scheme, $summary, $open, None);
    };
    ($scheme:literal, $summary:literal, $open:expr, $capabilities:expr) => {
        $crate::register_backend!(@entry $scheme, $summary, $open, Some($capabilities));
    };
    (@entry $scheme:literal, $summary:literal, $open:expr, $capabilities:expr) => {
        $crate::inventory::submit! {
            $crate::registry::BackendEntry {
                scheme: $scheme,
                summary: $summary,
                package: env!("CARGO_PKG_NAME"),
                capabilities: $capabilities,
                open: $open,
            }
        }
    };
}

fn sorted<T: Copy, K: Ord>(entries: impl Iterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut entries: Vec<T> = entries.collect();
    entries.sort_by_key(|entry| key(entry));
    entries
}

fn unknown<'a>(what: &str, name: &str, linked: impl Iterator<Item = &'a str>, known: &[(&str, &str)]) -> Error {
    let linked = linked.collect::<Vec<_>>().join(", ");
    let way_out = match known.iter().find(|(own, _)| *own == name) {
        Some((_, feature)) => format!("enable the feature `{feature}` of `learnkit`"),
        None => "list its crate in Cargo.toml and name it once: `use my_crate as _;`".to_owned(),
    };
    Error::new(ErrorKind::NotFound, format!("no {what} `{name}` is linked (linked: {linked}); {way_out}"))
}

fn claimed_twice(what: &str, name: &str, first: &str, second: &str) -> Error {
    let message = format!("two packages claim the {what} `{name}`: `{first}` and `{second}`; remove one");
    Error::new(ErrorKind::Conflict, message)
}
