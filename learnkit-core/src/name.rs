//! One grammar for every name a caller may choose, used on write and on read alike.

use crate::{Error, Result};

/// The longest name, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 200;

/// Checks a name: 1–200 characters, no control character, no space at either end.
///
/// Slashes, colons, dots and every script are fine, so that an id that one call accepts is never
/// refused by another.
pub(crate) fn checked(what: &'static str, text: &str) -> Result<()> {
    let fault = if text.is_empty() {
        "is empty"
    } else if text.chars().count() > MAX_NAME_CHARS {
        "is longer than 200 characters"
    } else if text.chars().any(char::is_control) {
        "holds a control character"
    } else if text.trim() != text {
        "starts or ends with a space"
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("{what} {fault}; use 1 to 200 characters without control characters or outer spaces")))
}

/// Defines a validated name type; five types share this one grammar.
macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks and wraps the text.
            ///
            /// # Errors
            /// `InvalidInput` when it is empty, longer than 200 characters, holds a control
            /// character, or starts or ends with a space.
            pub fn new(text: impl Into<String>) -> $crate::Result<Self> {
                let text = text.into();
                $crate::name::checked($what, &text)?;
                Ok(Self(text))
            }

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::Error;
            fn try_from(text: String) -> $crate::Result<Self> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Error;
            fn from_str(text: &str) -> $crate::Result<Self> {
                Self::new(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
pub(crate) use name_type;
