//! Exported skills in one JSON document.

use serde::{Deserialize, Serialize};

use super::FORMAT_VERSION;
use super::export::{ExportedSkill, unwritable};
use super::plain::inert_json;
use crate::{Error, ErrorKind, Result};

/// Exported skills in one document.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillLibrary {
    /// Always `learnkit-skills`.
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// The skills, in the order of their records' ids.
    pub skills: Vec<ExportedSkill>,
}

impl SkillLibrary {
    /// The name of the format.
    pub const FORMAT: &'static str = "learnkit-skills";

    /// A document of skills.
    pub fn of(skills: Vec<ExportedSkill>) -> Self {
        Self { format: Self::FORMAT.to_owned(), version: FORMAT_VERSION, skills }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// `InvalidInput` when it is none, `Unsupported` when a newer LearnKit wrote it.
    pub fn parse(json: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let foreign = |error: serde_json::Error| {
            let message = "it is no library of exported skills; `learnkit skills export --format json` writes one";
            Error::invalid(message).with_source(error)
        };
        let head: Head = serde_json::from_str(json).map_err(foreign)?;
        if head.format == Self::FORMAT && head.version > FORMAT_VERSION {
            let message = format!("the skills are of format version {}; update LearnKit to read them", head.version);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if head.format != Self::FORMAT {
            return Err(Error::invalid("it is no library of exported skills; its `format` is not `learnkit-skills`"));
        }
        serde_json::from_str(json).map_err(foreign)
    }

    /// The document, the same bytes for the same skills.
    ///
    /// # Errors
    /// `Internal` when it cannot be written as JSON.
    pub fn to_json(&self) -> Result<String> {
        Ok(inert_json(&serde_json::to_string_pretty(self).map_err(unwritable)?) + "\n")
    }
}
