//! Skill files on the disk: finding and reading those of any author, and writing our own without touching
//! anything else. What they mean is decided in the core.

mod find;
mod front_matter;
mod read;
mod write;

pub(crate) use self::find::{Found, FoundSource, find};
pub(crate) use self::read::{ReadSkill, read};
pub(crate) use self::write::{Placed, Shelf, place_file};

use std::path::Path;

use learnkit::{Error, ErrorKind};

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";
/// The file in which LearnKit keeps a whole skill for programs.
const REFERENCE: [&str; 2] = ["references", "skill.json"];
/// The folder in which an export makes its files begins with this.
const STAGING: &str = ".learnkit-export-";
/// Longer skill files are refused, and longer JSON, which holds every argument; in bytes.
const MAX_SKILL_BYTES: u64 = 1024 * 1024;
const MAX_JSON_BYTES: u64 = 256 * 1024 * 1024;

/// What the system says about a path, with the way out.
fn trouble(path: &Path, action: &'static str, error: std::io::Error) -> Error {
    let (kind, message) = match error.kind() {
        std::io::ErrorKind::NotFound => {
            (ErrorKind::NotFound, "there is no such file or folder; check the path".to_owned())
        }
        std::io::ErrorKind::PermissionDenied => {
            (ErrorKind::Permission, format!("it may not be {action}; check its permissions"))
        }
        _ => (ErrorKind::Unavailable, format!("it cannot be {action}; check the path and the disk")),
    };
    Error::new(kind, message).with_context("path", path.display()).with_source(error)
}
