//! Backend URIs: `scheme:rest`, parsed here because general URL parsers mangle file paths.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::{Error, Result};

/// Where a store is, such as `sqlite:learnkit.db`, `sqlite::memory:` or `memory:`.
///
/// `Debug` and `Display` leave out passwords and query values.
///
/// ```
/// use learnkit_core::config::BackendUri;
/// let uri: BackendUri = "sqlite:data/my store.db".parse()?;
/// assert_eq!((uri.scheme(), uri.rest()), ("sqlite", "data/my store.db"));
/// # Ok::<(), learnkit_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct BackendUri {
    scheme: String,
    rest: String,
}

impl BackendUri {
    /// The part before the first colon, lowercase; it names the backend.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Everything after the first colon, as written.
    pub fn rest(&self) -> &str {
        &self.rest
    }

    /// The URI without passwords and query values.
    pub fn redacted(&self) -> String {
        let (path, query) =
            self.rest.split_once('?').map_or((self.rest.as_str(), None), |(path, query)| (path, Some(query)));
        let path = match (path.strip_prefix("//"), path.rsplit_once('@')) {
            (Some(_), Some((_, host))) => format!("//…@{host}"),
            _ => path.to_owned(),
        };
        let query = query.map(|query| {
            let names = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
            format!("?{}", names.map(|name| format!("{name}=…")).collect::<Vec<_>>().join("&"))
        });
        format!("{}:{path}{}", self.scheme, query.unwrap_or_default())
    }
}

impl FromStr for BackendUri {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unreadable = || {
            Error::new(
                crate::ErrorKind::Config,
                format!(
                    "`{}` is not a backend URI; write `scheme:location`, such as `sqlite:learnkit.db`",
                    shorten(text)
                ),
            )
        };
        let (scheme, rest) = text.split_once(':').ok_or_else(unreadable)?;
        let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-');
        // A single letter is a Windows drive, not a scheme.
        if scheme.len() < 2 || !scheme.chars().all(plain) {
            return Err(unreadable());
        }
        Ok(Self { scheme: scheme.to_ascii_lowercase(), rest: rest.to_owned() })
    }
}

impl TryFrom<String> for BackendUri {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

/// Keeps a mistyped secret out of the message.
fn shorten(text: &str) -> &str {
    crate::run::prefix(text, 24)
}

impl fmt::Display for BackendUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted())
    }
}

impl fmt::Debug for BackendUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackendUri({})", self.redacted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn passwords_and_query_values_are_not_shown() {
        let uri: BackendUri = "qdrant://me:pw@host:6334/c?api_key=k&tls=true".parse().unwrap();
        let shown = format!("{uri} {uri:?}");
        assert!(!shown.contains("pw") && !shown.contains("=k"), "{shown}");
        assert!(shown.contains("host:6334"));
    }

    #[test]
    fn paths_stay_as_written_and_other_text_is_refused() {
        for rest in ["a b.db", "/x/ä?.db", ":memory:", ""] {
            assert_eq!(format!("sqlite:{rest}").parse::<BackendUri>().unwrap().rest(), rest);
        }
        for text in ["learnkit.db", "", ":x", "C:\\data.db", "a b:c"] {
            assert!(text.parse::<BackendUri>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_keeps_the_rest(rest in any::<String>()) {
            let uri: BackendUri = format!("sqlite:{rest}").parse().unwrap();
            prop_assert_eq!(uri.rest(), rest);
            let _ = uri.redacted();
        }
    }
}
