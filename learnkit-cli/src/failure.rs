//! How a command ends, and what a wrong command line says.

use learnkit::{Error, ErrorKind};

/// How a command that printed its result ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Exit code 0.
    Good,
    /// Exit code 1; the command said why.
    Bad,
}

/// Why a command gave no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong: exit code 2.
    Usage(String),
    /// The command failed: exit code 1.
    Failed(Error),
}

/// What a command gives.
pub(crate) type Outcome<T = Ending> = Result<T, Failure>;

impl Failure {
    /// An error that the command line is to blame for.
    pub(crate) fn usage(error: &Error) -> Self {
        Self::Usage(error.chain())
    }

    /// The kind in snake case.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => ErrorKind::InvalidInput.as_str(),
            Self::Failed(error) => error.kind().as_str(),
        }
    }

    /// The message in one line.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Usage(message) => message.clone(),
            Self::Failed(error) => error.chain(),
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Clap's complaint in one line: what is wrong and its tips, without the usage.
pub(crate) fn complaint(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let told = text.split("\n\nUsage:").next().unwrap_or_default();
    let told = told.split("\n\nFor more information").next().unwrap_or_default();
    let parts = told.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    let told = parts.join("; ");
    format!("{}; see `learnkit --help`", told.strip_prefix("error: ").unwrap_or(&told))
}
