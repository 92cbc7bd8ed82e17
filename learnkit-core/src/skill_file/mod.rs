//! Skills as files that other agents read: folders of the Agent Skills format
//! (<https://agentskills.io/specification>), and one JSON document.
//!
//! Rendering and the reading of a body are here. Not here: which skills may leave a store
//! ([`LearnKit::export_skills`](crate::LearnKit::export_skills)), parsing the YAML of other authors, and
//! writing files: the core links no YAML crate, and quotes what it writes itself.

mod export;
mod front;
mod library;
mod markdown;
mod name;
mod plain;
mod read;
mod sections;
mod words;
mod yaml;

#[cfg(test)]
mod tests;

pub use export::{ExportedCall, ExportedSkill, TakenFrom};
pub use library::SkillLibrary;
pub(crate) use name::folder_names;
pub use read::SkillFile;
pub use words::SkillWords;

/// The longest name, in characters; it is the name of the folder too.
pub const MAX_NAME_CHARS: usize = 64;
/// The longest description, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 1024;
/// The longest compatibility note, in characters.
pub const MAX_COMPATIBILITY_CHARS: usize = 500;
/// A body stays below so many lines; the format recommends 500 for the whole file.
pub const MAX_BODY_LINES: usize = 400;
/// A body stays below so many tokens; the format recommends 5,000.
pub const MAX_BODY_TOKENS: usize = 4_000;
/// The key of the metadata that says that LearnKit wrote a skill file.
pub const MARKER: &str = "learnkit-format";
/// The key of the metadata that names the record a skill file was made of.
pub const RECORD_KEY: &str = "learnkit-record";
/// The version of what is written.
pub const FORMAT_VERSION: u32 = 1;
/// The key of the metadata that holds the task in words.
const TASK_KEY: &str = "learnkit-task";
