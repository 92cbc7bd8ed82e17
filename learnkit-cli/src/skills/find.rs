//! Finding skill files: of a path, of the folders below it, of an exported document.

use std::fs;
use std::path::{Path, PathBuf};

use learnkit::{Error, Result};

use super::{SKILL_FILE, STAGING, trouble};

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
    let entries = match entries(folder) {
        Ok(entries) => entries,
        Err(error) => return found.push(Found::of(folder, Err(trouble(folder, "read", error)))),
    };
    if let Some(path) = skill_file(&entries) {
        return found.push(Found::of(folder, Ok(FoundSource::SkillFile(path))));
    }
    for entry in entries.iter().filter(|entry| !is_passed_over(entry)) {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
            walk(&path, found);
        } else if kind.is_ok_and(|kind| kind.is_symlink()) {
            // Installers link skill folders; other links are not followed, because they may lead back here.
            let linked = self::entries(&path).ok().and_then(|entries| skill_file(&entries));
            found.extend(linked.map(|file| Found::of(&path, Ok(FoundSource::SkillFile(file)))));
        }
    }
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> std::io::Result<Vec<fs::DirEntry>> {
    let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    Ok(entries)
}

/// The skill file among the entries of a folder.
fn skill_file(entries: &[fs::DirEntry]) -> Option<PathBuf> {
    let is_skill = |path: &PathBuf| path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE));
    entries.iter().map(fs::DirEntry::path).find(|path| is_skill(path) && path.is_file())
}

/// Whether no skill is looked for in a folder.
fn is_passed_over(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    name == ".git" || name.to_string_lossy().starts_with(STAGING)
}
