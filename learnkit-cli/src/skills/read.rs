//! Reading what was found into the words of skills.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use learnkit::skill_file::{ExportedSkill, SkillFile, SkillLibrary, SkillWords};
use learnkit::{Error, ErrorKind, Result};

use super::front_matter::{Parsed, parse};
use super::{FoundSource, MAX_JSON_BYTES, MAX_SKILL_BYTES, REFERENCE, SKILL_FILE, trouble};

/// A skill that was read.
#[derive(Debug)]
pub(crate) struct ReadSkill {
    pub(crate) name: String,
    pub(crate) words: SkillWords,
    /// What of it is not taken over, and where it departs from the format.
    pub(crate) notes: Vec<String>,
}

/// Reads the skills of a source.
///
/// # Errors
/// `NotFound`, `Permission` or `Unavailable` for the file; `InvalidInput` or `Unsupported` for what is in it.
pub(crate) fn read(source: &FoundSource, stdin: &mut dyn Read) -> Result<Vec<ReadSkill>> {
    match source {
        FoundSource::SkillFile(path) => Ok(vec![skill_file(path)?]),
        FoundSource::Library(path) => library(&text(path, MAX_JSON_BYTES)?),
        FoundSource::Stdin => library(&utf8(stdin, MAX_JSON_BYTES).map_err(|error| at(error, Path::new("-")))?),
    }
}

fn library(json: &str) -> Result<Vec<ReadSkill>> {
    let read = |skill: ExportedSkill| ReadSkill { name: skill.name, words: skill.words, notes: Vec::new() };
    Ok(SkillLibrary::parse(json)?.skills.into_iter().map(read).collect())
}

fn skill_file(path: &Path) -> Result<ReadSkill> {
    let markdown = text(path, MAX_SKILL_BYTES)?;
    let Parsed { file, left_out } = parse(&markdown)?;
    let folder = path.canonicalize().ok();
    let folder = folder.as_deref().and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str());
    let mut notes = file.departures(folder);
    if !left_out.is_empty() && file.exported_record().is_none() {
        notes.push(format!("left out: {}", left_out.join(", ")));
    }
    let others = other_files(path, &file);
    if others > 0 {
        notes.push(format!("other files, which are not read: {others}"));
    }
    let name = Some(&file.name).filter(|name| !name.is_empty()).cloned();
    Ok(ReadSkill {
        name: name.or_else(|| folder.map(str::to_owned)).unwrap_or_else(|| path.display().to_string()),
        words: whole(path, &file, &markdown).unwrap_or_else(|| file.words()),
        notes,
    })
}

/// The words of a skill file that LearnKit wrote and nobody changed: those of its reference, which are not cut.
fn whole(path: &Path, file: &SkillFile, markdown: &str) -> Option<SkillWords> {
    file.exported_record()?;
    let json = text(&reference(path.parent()?), MAX_JSON_BYTES).ok()?;
    let skill = ExportedSkill::parse(&json).ok()?;
    (skill.skill_md() == markdown).then_some(skill.words)
}

pub(super) fn reference(folder: &Path) -> std::path::PathBuf {
    REFERENCE.iter().fold(folder.to_owned(), |path, part| path.join(part))
}

/// How many entries stand beside a skill file, without what LearnKit writes itself.
fn other_files(path: &Path, file: &SkillFile) -> usize {
    // A single file that was named may stand in any folder.
    if !path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE)) {
        return 0;
    }
    let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let own = |name: &std::ffi::OsStr| {
        name.eq_ignore_ascii_case(SKILL_FILE) || (file.exported_record().is_some() && name == REFERENCE[0])
    };
    entries.filter(|entry| !own(&entry.file_name())).count()
}

/// The text of a file.
pub(super) fn text(path: &Path, limit: u64) -> Result<String> {
    let mut file = File::open(path).map_err(|error| trouble(path, "read", error))?;
    utf8(&mut file, limit).map_err(|error| at(error, path))
}

fn at(error: Error, path: &Path) -> Error {
    error.with_context("path", path.display())
}

fn utf8(input: &mut dyn Read, limit: u64) -> Result<String> {
    let mut bytes = Vec::new();
    input.take(limit + 1).read_to_end(&mut bytes).map_err(|error| {
        Error::new(ErrorKind::Unavailable, "it cannot be read; check the path and the disk").with_source(error)
    })?;
    if bytes.len() as u64 > limit {
        return Err(Error::invalid(format!("it is longer than {} MiB; a skill is short", limit / (1024 * 1024))));
    }
    String::from_utf8(bytes).map_err(|error| Error::invalid("it is not UTF-8; save it as such").with_source(error))
}
