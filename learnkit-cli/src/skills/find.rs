//! Finding skill files: of a path, of the folders below it, of an exported document.

use std::fs;
use std::path::{Path, PathBuf};

use learnkit::{Error, Result};

use super::{SKILL_FILE, trouble};

/// Where a skill or a document of skills is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FoundSource {
    /// A `SKILL.md`.
    SkillFile(PathBuf),
    /// A document that was exported as JSON.
    Library(PathBuf),
    /// Such a document on the standard input.
    Stdin,
}

/// What a path led to, by the name that people know it by.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) source: Result<FoundSource>,
}

impl Found {
    fn of(path: &Path, source: Result<FoundSource>) -> Self {
        Self { name: path.display().to_string(), source }
    }
}

/// What the paths lead to, in their order, folders by name; what cannot be looked at is listed with its error.
pub(crate) fn find(paths: &[PathBuf]) -> Vec<Found> {
    let mut found = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            found.push(Found::of(path, Ok(FoundSource::Stdin)));
        } else if path.is_dir() {
            let before = found.len();
            walk(path, &mut found);
            if found.len() == before {
                let error = Error::invalid("no folder in it holds a SKILL.md; name one that does");
                found.push(Found::of(path, Err(error.with_context("path", path.display()))));
            }
        } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            found.push(Found::of(path, Ok(FoundSource::Library(path.clone()))));
        } else {
            found.push(Found::of(path, Ok(FoundSource::SkillFile(path.clone()))));
        }
    }
    found
}

/// The skills of a folder: itself where it holds a skill file, else those of the folders in it.
fn walk(folder: &Path, found: &mut Vec<Found>) {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return found.push(Found::of(folder, Err(trouble(folder, "read", error)))),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    let is_skill = |entry: &&fs::DirEntry| entry.file_name().eq_ignore_ascii_case(SKILL_FILE) && entry.path().is_file();
    if let Some(entry) = entries.iter().find(is_skill) {
        return found.push(Found::of(folder, Ok(FoundSource::SkillFile(entry.path()))));
    }
    // A link to a folder is not followed: it may lead back here.
    let folders = entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.filter(|entry| entry.file_name() != ".git").for_each(|entry| walk(&entry.path(), found));
}
