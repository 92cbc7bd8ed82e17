//! The one error type of every LearnKit library, with a kind to branch on.

use std::fmt;

/// Result with LearnKit's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A boxed error of any origin, kept as the source of an [`Error`].
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// What went wrong, for code that branches on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller's input breaks a documented rule.
    InvalidInput,
    /// The named thing is not there.
    NotFound,
    /// The thing changed since it was read, exists already, or two packages claim one name.
    Conflict,
    /// The backend or build cannot do this.
    Unsupported,
    /// A setting, URI or feature is wrong or missing.
    Config,
    /// The store or service cannot be reached, is locked or is full.
    Unavailable,
    /// A deadline passed.
    Timeout,
    /// Stored data cannot be read.
    Corrupt,
    /// The operating system or the service refuses access.
    Permission,
    /// A call began before a crash and nobody knows whether it was made; somebody has to say so.
    InDoubt,
    /// A tool failed.
    Tool,
    /// The planner or the wrapped agent function failed.
    Agent,
    /// A broken invariant of LearnKit itself.
    Internal,
}

impl ErrorKind {
    /// The kind in snake case, as machine output shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Unsupported => "unsupported",
            Self::Config => "config",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Corrupt => "corrupt",
            Self::Permission => "permission",
            Self::InDoubt => "in_doubt",
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Internal => "internal",
        }
    }
}

/// An error that says what failed and the way out.
///
/// `Display` prints the message and the context; the source is reachable through
/// [`std::error::Error::source`] and is not printed twice.
///
/// ```
/// use learnkit_core::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::Conflict, "record changed since it was read; read it again")
///     .with_context("id", "skl_1");
/// assert_eq!(error.kind(), ErrorKind::Conflict);
/// assert_eq!(error.to_string(), "record changed since it was read; read it again (id: skl_1)");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    operation: Option<&'static str>,
    context: Vec<(&'static str, String)>,
    retryable: bool,
    source: Option<BoxError>,
}

impl Error {
    /// Makes an error of a kind; `message` is lowercase, without a full stop, and names the way out.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            operation: None,
            context: Vec::new(),
            retryable: false,
            source: None,
        }))
    }

    /// An [`ErrorKind::InvalidInput`] error.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// Adds a name and value that help to find the cause, once; never a secret, prompt or payload.
    #[must_use]
    pub fn with_context(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        let pair = (name, value.to_string());
        if !self.0.context.contains(&pair) {
            self.0.context.push(pair);
        }
        self
    }

    /// Names the operation that failed, such as `search`.
    #[must_use]
    pub fn with_operation(mut self, operation: &'static str) -> Self {
        self.0.operation = Some(operation);
        self
    }

    /// Keeps the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Marks the error as transient: the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.0.retryable = true;
        self
    }

    /// The kind to branch on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The operation that failed, where it was named.
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Message, context and every source on one line, for people.
    pub fn chain(&self) -> String {
        let mut line = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            line.push_str(": ");
            line.push_str(&cause.to_string());
            source = cause.source();
        }
        line
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.0.operation {
            write!(f, "{operation}: ")?;
        }
        f.write_str(&self.0.message)?;
        for (index, (name, value)) in self.0.context.iter().enumerate() {
            let open = if index == 0 { " (" } else { ", " };
            write!(f, "{open}{name}: {value}")?;
        }
        if self.0.context.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("operation", &self.0.operation)
            .field("context", &self.0.context)
            .field("retryable", &self.0.retryable)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
