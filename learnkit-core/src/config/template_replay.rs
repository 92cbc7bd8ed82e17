//! Whether learned templates replay, and how many texts confirm one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// Whether templates that runs confirmed replay for texts that nobody asked before: `off`, or
/// `confirmed:3` with the number of distinct texts that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum TemplateReplay {
    /// None is learned, and none replays.
    #[default]
    Off,
    /// A template replays once the runs of so many distinct texts follow it and none contradicts it.
    Confirmed {
        /// From [`Self::LEAST`] to [`Self::MOST`].
        min_distinct: u32,
    },
}

impl TemplateReplay {
    /// Two texts show what differs, a third one that it differs alike.
    pub const LEAST: u32 = 3;
    /// No more texts are compared.
    pub const MOST: u32 = 16;

    /// Whether the number is in its range.
    ///
    /// # Errors
    /// `Config`, saying what to use instead.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Confirmed { min_distinct } if !(Self::LEAST..=Self::MOST).contains(&min_distinct) => {
                let (least, most) = (Self::LEAST, Self::MOST);
                let message = format!(
                    "`template_replay` takes from {least} to {most} distinct texts, not {min_distinct}; use `confirmed:{least}` or `off`"
                );
                Err(Error::new(ErrorKind::Config, message))
            }
            _ => Ok(()),
        }
    }

    /// How many distinct texts confirm a template; absent where none is learned.
    pub(crate) fn min_distinct(self) -> Option<usize> {
        match self {
            Self::Off => None,
            Self::Confirmed { min_distinct } => usize::try_from(min_distinct).ok(),
        }
    }
}

impl fmt::Display for TemplateReplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Confirmed { min_distinct } => write!(f, "confirmed:{min_distinct}"),
        }
    }
}

impl FromStr for TemplateReplay {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::invalid("unknown template replay; use `off` or `confirmed:3`");
        let replay = match text.split_once(':') {
            None if text == "off" => Self::Off,
            Some(("confirmed", number)) => {
                Self::Confirmed { min_distinct: number.trim().parse().map_err(|_| unknown())? }
            }
            _ => return Err(unknown()),
        };
        replay.check()?;
        Ok(replay)
    }
}

impl TryFrom<String> for TemplateReplay {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<TemplateReplay> for String {
    fn from(replay: TemplateReplay) -> Self {
        replay.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_than_three_texts_never_confirm() {
        for text in ["confirmed:2", "confirmed:0", "confirmed:17"] {
            let error = text.parse::<TemplateReplay>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.to_string().contains("use `confirmed:3` or `off`"), "{error}");
        }
        for text in ["", "on", "confirmed", "confirmed:", "confirmed:x", "Off"] {
            assert_eq!(text.parse::<TemplateReplay>().unwrap_err().kind(), ErrorKind::InvalidInput, "{text}");
        }
        for text in ["off", "confirmed:3", "confirmed:16"] {
            assert_eq!(text.parse::<TemplateReplay>().unwrap().to_string(), text);
        }
    }
}
