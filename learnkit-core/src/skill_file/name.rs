//! Folder names: of `a` to `z`, digits and single hyphens, the same for the same record wherever it is
//! exported.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization as _;

use super::MAX_NAME_CHARS;
use crate::hash::Fingerprint;
use crate::record::{Record, Skill};
use crate::secret::mask_text;

/// So many hex digits of a hash of the record's id end its name.
pub(super) const DIGITS: usize = 8;
/// So many where two records of one export would share a name.
const MORE_DIGITS: usize = 24;

/// A name for each skill, in their order, no two alike.
///
/// A name depends on its record alone, so that it stays when others come and go; only records whose names
/// would be equal get longer ones.
pub(crate) fn folder_names(skills: &[(&Record, &Skill)]) -> Vec<String> {
    let short: Vec<String> = skills.iter().map(|(record, skill)| folder_name(record, skill, DIGITS)).collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    short.iter().for_each(|name| *times.entry(name).or_default() += 1);
    let is_single = |name: &String| times.get(name.as_str()) == Some(&1);
    let each = skills.iter().zip(&short);
    each.map(
        |((record, skill), name)| {
            if is_single(name) { name.clone() } else { folder_name(record, skill, MORE_DIGITS) }
        },
    )
    .collect()
}

/// The words of the task, or of its tools where the task is in a script that a name cannot hold.
fn folder_name(record: &Record, skill: &Skill, digits: usize) -> String {
    let room = MAX_NAME_CHARS - digits - 1;
    let task = || slug(&mask_text(&skill.trigger).text, room);
    let own = skill.for_planners();
    let tools = || slug(&own.procedure.as_ref().map(|own| own.tools().join(" ")).unwrap_or_default(), room);
    let named = |slug: &String| !slug.is_empty();
    let words = Some(task()).filter(named).or_else(|| Some(tools()).filter(named));
    let hash = Fingerprint::new("skill folder").part(record.id.as_str()).hex();
    format!("{}-{}", words.unwrap_or_else(|| "skill".to_owned()), hash.get(..digits).unwrap_or(&hash))
}

/// The words of a text that ASCII can write, joined by hyphens; cut after a whole word where it is long.
fn slug(text: &str, room: usize) -> String {
    let ascii = |word: &str| -> String {
        let letters = word.nfkd().filter(char::is_ascii_alphanumeric);
        letters.map(|char| char.to_ascii_lowercase()).collect()
    };
    let mut slug = String::new();
    // Far more than fits, so that a pasted book costs nothing.
    let head = crate::run::prefix(text, 4 * MAX_NAME_CHARS);
    for word in head.split(|char: char| !char.is_alphanumeric()).map(ascii).filter(|word| !word.is_empty()) {
        let word = word.get(..word.len().min(room)).unwrap_or_default();
        let with_hyphen = usize::from(!slug.is_empty()) + word.len();
        if slug.len() + with_hyphen > room {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(word);
    }
    slug
}
