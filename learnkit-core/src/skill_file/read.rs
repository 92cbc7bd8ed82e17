//! Reading a skill file of any author into words. The front matter comes parsed; the body is read here.

use std::collections::BTreeMap;

use super::markdown::{CONSTRAINTS, NOT_ALLOWED, PITFALLS, STEPS, WHEN};
use super::sections::sections;
use super::words::SkillWords;
use super::{MARKER, MAX_COMPATIBILITY_CHARS, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, RECORD_KEY, TASK_KEY};
use crate::{Error, Result};

/// A skill file: the fields of its front matter that LearnKit reads, and its body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillFile {
    /// The name; it should be that of the folder.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// What it needs of its surroundings.
    pub compatibility: Option<String>,
    /// What its author adds.
    pub metadata: BTreeMap<String, String>,
    /// The Markdown after the front matter.
    pub body: String,
}

impl SkillFile {
    /// Parts the text of a file into its front matter, which is YAML, and its body.
    ///
    /// # Errors
    /// `InvalidInput` when it does not start with a front matter between two lines of `---`.
    pub fn split(text: &str) -> Result<(&str, &str)> {
        let text = text.trim_start_matches('\u{FEFF}');
        let unmarked =
            || Error::invalid("it has no front matter; a skill file starts with YAML between two lines of `---`");
        let (first, rest) = text.split_once('\n').ok_or_else(unmarked)?;
        if first.trim_end() != "---" {
            return Err(unmarked());
        }
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == "---" {
                let (front, body) = (rest.get(..at), rest.get(at + line.len()..));
                return Ok((front.unwrap_or_default(), body.unwrap_or_default()));
            }
            at += line.len();
        }
        Err(unmarked())
    }

    /// The record that it was exported from, where LearnKit wrote it.
    pub fn exported_record(&self) -> Option<&str> {
        self.metadata.get(MARKER).and(self.metadata.get(RECORD_KEY)).map(String::as_str)
    }

    /// Where it departs from the format, in a folder of this name; hosts may refuse it for that.
    pub fn departures(&self, folder: Option<&str>) -> Vec<String> {
        let mut departures = Vec::new();
        let plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        let hyphens = self.name.starts_with('-') || self.name.ends_with('-') || self.name.contains("--");
        if self.name.is_empty() || hyphens || !self.name.chars().all(plain) || self.name.len() > MAX_NAME_CHARS {
            departures.push("its name is not made of a-z, 0-9 and single hyphens, at most 64".to_owned());
        } else if folder.is_some_and(|folder| folder != self.name) {
            departures.push("its name is not that of its folder".to_owned());
        }
        if self.description.chars().count() > MAX_DESCRIPTION_CHARS {
            departures.push("its description is longer than 1,024 characters".to_owned());
        }
        if self.compatibility.as_ref().is_some_and(|note| note.chars().count() > MAX_COMPATIBILITY_CHARS) {
            departures.push("its compatibility note is longer than 500 characters".to_owned());
        }
        departures
    }

    /// The words of it: the description says what it is for, each item, paragraph and block of the body is
    /// a step. Of a file that LearnKit wrote, the task and the lists are read back.
    pub fn words(&self) -> SkillWords {
        let is_own = self.metadata.contains_key(MARKER);
        let mut words = SkillWords { task: self.description.trim().to_owned(), ..SkillWords::default() };
        if let Some(task) = self.metadata.get(TASK_KEY).filter(|_| is_own) {
            words.task.clone_from(task);
        }
        if let (Some(needs), false) = (&self.compatibility, is_own) {
            words.constraints.push(needs.trim().to_owned());
        }
        for section in sections(&self.body) {
            if section.is_called(&[CONSTRAINTS, "constraints", "known constraints"]) {
                words.constraints.extend(section.blocks);
            } else if section.is_called(&[
                PITFALLS,
                "pitfalls",
                "common pitfalls",
                "failure modes",
                "known failure modes",
            ]) {
                words.pitfalls.extend(section.blocks);
            } else if section.is_called(&[STEPS, ""]) {
                words.steps.extend(section.blocks);
            } else if !is_own || !section.is_called(&[&self.name, WHEN, NOT_ALLOWED]) {
                words.steps.extend(section.named_blocks());
            }
        }
        words
    }
}
