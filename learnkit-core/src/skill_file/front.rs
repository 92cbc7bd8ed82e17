//! The front matter of a skill file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::export::ExportedSkill;
use super::plain::{cut, plain};
use super::yaml::quoted;
use super::{FORMAT_VERSION, MARKER, MAX_COMPATIBILITY_CHARS, RECORD_KEY, TASK_KEY};

/// The metadata holds so much of the task, in characters.
const METADATA_TASK: usize = 1_000;

/// The front matter between its two lines of `---`.
pub(super) fn front_matter(skill: &ExportedSkill) -> String {
    let mut front = format!("---\nname: {}\ndescription: {}\n", name(&skill.name), quoted(&skill.description));
    // A String takes every write.
    if !skill.calls.is_empty() {
        let names = skill.tools().iter().map(|tool| plain(tool)).collect::<Vec<_>>().join(", ");
        let needs = cut(&format!("Needs these tools: {names}"), MAX_COMPATIBILITY_CHARS);
        let _ = writeln!(front, "compatibility: {}", quoted(&needs));
    }
    let allowed: Vec<String> = skill.tools().into_iter().filter(|tool| skill.objection(tool).is_none()).collect();
    if !allowed.is_empty() {
        let _ = writeln!(front, "allowed-tools: {}", quoted(&allowed.join(" ")));
    }
    front.push_str("metadata:\n");
    for (key, value) in metadata(skill) {
        let _ = writeln!(front, "  {key}: {}", quoted(&value));
    }
    front + "---\n"
}

/// The name, quoted only where a parser could take it for a number, as in `1e-12345678`.
fn name(name: &str) -> String {
    if name.starts_with(|char: char| char.is_ascii_digit()) { quoted(name) } else { name.to_owned() }
}

/// What the format has no field for, as texts.
fn metadata(skill: &ExportedSkill) -> BTreeMap<&'static str, String> {
    let mut metadata = BTreeMap::from([
        (MARKER, FORMAT_VERSION.to_string()),
        (RECORD_KEY, skill.record.to_string()),
        (TASK_KEY, cut(&skill.words.task, METADATA_TASK)),
        ("learnkit-scope", skill.scope.to_string()),
        ("learnkit-agent", skill.agent.to_string()),
        ("learnkit-status", skill.status.as_str().to_owned()),
        ("learnkit-trust", skill.trust.to_string()),
        ("learnkit-confidence", format!("{:.2}", skill.confidence)),
        ("learnkit-reuse-count", skill.reuse_count.to_string()),
    ]);
    if !skill.calls.is_empty() {
        let sequence: Vec<&str> = skill.calls.iter().map(|call| call.tool.as_str()).collect();
        metadata.insert("learnkit-tool-sequence", serde_json::json!(sequence).to_string());
    }
    let unlisted: Vec<String> = skill.tools().into_iter().filter(|tool| skill.objection(tool).is_some()).collect();
    if !unlisted.is_empty() {
        metadata.insert("learnkit-tools-not-allowed", serde_json::json!(unlisted).to_string());
    }
    metadata
}
