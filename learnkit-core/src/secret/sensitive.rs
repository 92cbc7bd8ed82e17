//! Values that must not be shown, and texts that are shown without their secrets.

use std::fmt;

use super::shown;

/// A secret: shown as `[secret]` by `Debug`, and never written as JSON.
#[derive(Clone, PartialEq, Eq)]
pub struct Sensitive(String);

impl Sensitive {
    /// Takes a value into safe keeping.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for whoever has to send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(super::MASK)
    }
}

impl From<String> for Sensitive {
    fn from(value: String) -> Self {
        Self(value)
    }
}

impl From<&str> for Sensitive {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

/// A text that `Debug` shows without its secrets.
pub(crate) struct Veiled<'t>(pub(crate) &'t str);

impl fmt::Debug for Veiled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*shown(self.0), f)
    }
}
