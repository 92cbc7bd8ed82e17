//! Writing exported skills: each appears whole or not at all, and only what LearnKit wrote is replaced.

use std::fs;
use std::io::ErrorKind as IoKind;
use std::path::{Path, PathBuf};

use learnkit::Result;
use learnkit::skill_file::ExportedSkill;

use super::front_matter::parse;
use super::read::{reference, text};
use super::{MAX_JSON_BYTES, MAX_SKILL_BYTES, REFERENCE, SKILL_FILE, STAGING, trouble};

/// What became of something that was to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    Written,
    Replaced,
    /// The same bytes are there.
    Unchanged,
    /// It was not written, for this reason.
    Refused(&'static str),
}

impl Placed {
    /// The outcome in one word, and why nothing was written.
    pub(crate) fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Written => ("written", None),
            Self::Replaced => ("replaced", None),
            Self::Unchanged => ("unchanged", None),
            Self::Refused(reason) => ("refused", Some(reason)),
        }
    }
}

const CHANGED: Placed = Placed::Refused("it differs from what is there; --force replaces it");
const FOREIGN: Placed = Placed::Refused("LearnKit did not write what is there; move it away or choose another place");

const NO_FILE: Placed = Placed::Refused("what is there is no file; `--out -` writes to the standard output");

/// A folder of skill folders. What is written is made in a folder of its own first, two levels below, where
/// no host looks for skills, and goes with it.
#[derive(Debug)]
pub(crate) struct Shelf {
    root: PathBuf,
    staging: PathBuf,
}

impl Shelf {
    /// Makes the folder where it is missing.
    ///
    /// # Errors
    /// `Permission` or `Unavailable` when it cannot be made or written.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let staging = root.join(format!("{STAGING}{}", std::process::id()));
        fs::create_dir_all(root).map_err(|error| trouble(root, "made", error))?;
        // What a process of the same id left behind when it was killed.
        let _ = fs::remove_dir_all(&staging);
        fs::create_dir(&staging).map_err(|error| trouble(root, "written", error))?;
        Ok(Self { root: root.to_owned(), staging })
    }

    /// Writes the folder of a skill; `replace` allows it to take the place of an older one of the same record.
    ///
    /// # Errors
    /// `Permission` or `Unavailable` when it cannot be written; nothing of it is there then, or the older one.
    pub(crate) fn put(&self, skill: &ExportedSkill, replace: bool) -> Result<Placed> {
        let folder = self.root.join(&skill.name);
        let (markdown, json) = (skill.skill_md(), skill.reference()?);
        match fs::symlink_metadata(&folder) {
            Err(error) if error.kind() == IoKind::NotFound => {
                let staged = self.stage(&skill.name, &markdown, &json)?;
                fs::rename(&staged, &folder).map_err(|error| trouble(&folder, "written", error))?;
                return Ok(Placed::Written);
            }
            Err(error) => return Err(trouble(&folder, "read", error)),
            Ok(there) if !there.is_dir() => return Ok(FOREIGN),
            Ok(_) => {}
        }
        let Some(older) = own(&folder, skill) else { return Ok(FOREIGN) };
        let is_same = older == markdown && text(&reference(&folder), MAX_JSON_BYTES).is_ok_and(|there| there == json);
        match (is_same, replace) {
            (true, _) => Ok(Placed::Unchanged),
            (false, false) => Ok(CHANGED),
            (false, true) => self.replace(&folder, skill, &markdown, &json),
        }
    }

    /// The files of a skill in the staging folder.
    fn stage(&self, name: &str, markdown: &str, json: &str) -> Result<PathBuf> {
        let staged = self.staging.join(name);
        let references = staged.join(REFERENCE[0]);
        let write = |path: &Path, text: &str| fs::write(path, text).map_err(|error| trouble(path, "written", error));
        fs::create_dir_all(&references).map_err(|error| trouble(&references, "made", error))?;
        write(&reference(&staged), json)?;
        write(&staged.join(SKILL_FILE), markdown)?;
        Ok(staged)
    }

    /// Exchanges the two files of a skill one by one; what else is in its folder stays.
    fn replace(&self, folder: &Path, skill: &ExportedSkill, markdown: &str, json: &str) -> Result<Placed> {
        let references = folder.join(REFERENCE[0]);
        match fs::symlink_metadata(&references) {
            Ok(there) if !there.is_dir() => return Ok(FOREIGN),
            Ok(_) => {}
            Err(_) => fs::create_dir(&references).map_err(|error| trouble(&references, "made", error))?,
        }
        let staged = self.stage(&skill.name, markdown, json)?;
        for (from, to) in [(reference(&staged), reference(folder)), (staged.join(SKILL_FILE), folder.join(SKILL_FILE))]
        {
            fs::rename(&from, &to).map_err(|error| trouble(&to, "written", error))?;
        }
        Ok(Placed::Replaced)
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        // Only what was staged is in it; what stays of it is skipped by an import.
        let _ = fs::remove_dir_all(&self.staging);
    }
}

/// The skill file of a folder, where LearnKit wrote it of the same record.
fn own(folder: &Path, skill: &ExportedSkill) -> Option<String> {
    let markdown = text(&folder.join(SKILL_FILE), MAX_SKILL_BYTES).ok()?;
    let parsed = parse(&markdown).ok()?;
    (parsed.file.exported_record() == Some(skill.record.as_str())).then_some(markdown)
}

/// Writes a document; `replace` allows it to take the place of an older one, which `is_own` knows.
///
/// # Errors
/// `Permission` or `Unavailable` when it cannot be written; what was there is there still.
pub(crate) fn place_file(path: &Path, json: &str, replace: bool, is_own: fn(&str) -> bool) -> Result<Placed> {
    let is_there = match fs::symlink_metadata(path) {
        // A pipe, a device or a folder: reading it may wait for ever, and a file cannot take its place.
        Ok(_) if !path.is_file() => return Ok(NO_FILE),
        Ok(_) => true,
        Err(error) if error.kind() == IoKind::NotFound => false,
        Err(error) => return Err(trouble(path, "read", error)),
    };
    if is_there {
        match text(path, MAX_JSON_BYTES) {
            Ok(older) if older == json => return Ok(Placed::Unchanged),
            Ok(older) if is_own(&older) && replace => {}
            Ok(older) if is_own(&older) => return Ok(CHANGED),
            _ => return Ok(FOREIGN),
        }
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let staged = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = fs::write(&staged, json).and_then(|()| fs::rename(&staged, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&staged);
        trouble(path, "written", error)
    })?;
    Ok(if is_there { Placed::Replaced } else { Placed::Written })
}
