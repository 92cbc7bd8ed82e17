//! Checks of source text: length, markers of unfinished work, paths of somebody's machine.
//!
//! The words that are looked for are put together at run time, so that this file passes its own
//! checks.

use super::Finding;
use crate::checkout::{Checkout, TextFile};

/// From here on a file has to be split.
const MAX_LINES: usize = 800;
/// From here on a file is worth a discussion.
const DISCUSSED_LINES: usize = 500;
/// The facade re-exports and does nothing else.
const MAX_FACADE_LINES: usize = 150;
/// Data that other people wrote may hold any path.
const VENDORED: &str = "tests/data/";

/// Rust files that are too long.
pub fn too_long(checkout: &Checkout) -> Vec<Finding> {
    longer_than(checkout, MAX_LINES, usize::MAX)
}

/// Rust files that soon are.
pub fn long(checkout: &Checkout) -> Vec<Finding> {
    longer_than(checkout, DISCUSSED_LINES, MAX_LINES)
}

fn longer_than(checkout: &Checkout, limit: usize, end: usize) -> Vec<Finding> {
    let lengths = rust(checkout).map(|file| (file, file.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > limit && *lines <= end);
    long.map(|(file, lines)| Finding::in_file(&file.path, format!("{lines} lines, over {limit}"))).collect()
}

/// A facade that does more than re-export.
pub fn long_facade(checkout: &Checkout) -> Vec<Finding> {
    let path = "src/lib.rs";
    let lines = checkout.text(path).lines().count();
    let message = format!("{lines} lines; the facade stays under {MAX_FACADE_LINES}");
    if lines < MAX_FACADE_LINES { Vec::new() } else { vec![Finding::in_file(path, message)] }
}

/// Code and comments that say they are not finished.
pub fn unfinished(checkout: &Checkout) -> Vec<Finding> {
    let words = ["to|do!", "unim|plemented!", "FIX|ME", "TO|DO"].map(joined);
    found(rust(checkout), |line| words.iter().find(|word| holds_word(line, word)).cloned())
}

/// Lints and tests that are switched off.
pub fn silenced(checkout: &Checkout) -> Vec<Finding> {
    let openings = ["#[al|low(", "#![al|low(", "#[ig|nore"].map(joined);
    found(rust(checkout), |line| openings.iter().find(|opening| line.contains(opening.as_str())).cloned())
}

/// Absolute paths of a machine.
pub fn machine_paths(checkout: &Checkout) -> Vec<Finding> {
    let folders = ["ho|me", "ro|ot", "wo|rk"].map(|folder| format!("/{}/", joined(folder)));
    let own = checkout.files().iter().filter(|file| !file.path.starts_with(VENDORED));
    found(own, |line| folders.iter().find(|folder| starts_a_path(line, folder)).cloned())
}

fn rust(checkout: &Checkout) -> impl Iterator<Item = &TextFile> {
    checkout.files().iter().filter(|file| file.has_extension("rs"))
}

fn found<'a>(files: impl Iterator<Item = &'a TextFile>, find: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let hits = file.lines().filter_map(|(number, line)| find(line).map(|word| (number, word)));
        findings.extend(hits.map(|(number, word)| Finding::at_line(&file.path, number, format!("`{word}`"))));
    }
    findings
}

fn joined(parts: &str) -> String {
    parts.replace('|', "")
}

/// Whether a line holds the word by itself.
fn holds_word(line: &str, word: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && (word.ends_with('!') || !after.is_some_and(is_part))
    })
}

/// Whether a line holds the folder at the start of a path, not in the middle of one.
fn starts_a_path(line: &str, folder: &str) -> bool {
    let continues = |char: char| char.is_alphanumeric() || matches!(char, '.' | '_' | '-' | '~' | '*' | '}');
    line.match_indices(folder).any(|(at, _)| !line[..at].chars().next_back().is_some_and(continues))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(find: fn(&Checkout) -> Vec<Finding>, path: &str, text: &str) -> usize {
        find(&Checkout::of(&[(path, text)])).len()
    }

    #[test]
    fn long_files_are_named_by_weight() {
        let lines = |count: usize| "x\n".repeat(count);
        assert_eq!(count(too_long, "a.rs", &lines(801)), 1);
        assert_eq!(count(too_long, "a.rs", &lines(800)), 0);
        assert_eq!(count(long, "a.rs", &lines(501)), 1);
        assert_eq!(count(long, "a.rs", &lines(801)), 0);
        assert_eq!(count(too_long, "a.md", &lines(801)), 0);
        assert_eq!(count(long_facade, "src/lib.rs", &lines(150)), 1);
    }

    #[test]
    fn unfinished_and_silenced_code_is_found_with_its_line() {
        let marker = joined("fine\n// TO|DO later");
        assert_eq!(unfinished(&Checkout::of(&[("a.rs", &marker)]))[0].place, "a.rs:2");
        assert_eq!(count(unfinished, "a.rs", &joined("unim|plemented!()")), 1);
        assert_eq!(count(unfinished, "a.rs", &joined("let TO|DOS = 1;")), 0);
        assert_eq!(count(silenced, "a.rs", &joined("#![al|low(dead_code)]")), 1);
        assert_eq!(count(silenced, "a.rs", &joined("    #[ig|nore = \"slow\"]")), 1);
        assert_eq!(count(silenced, "a.rs", "#[expect(dead_code, reason = \"x\")]"), 0);
    }

    #[test]
    fn only_the_start_of_an_absolute_path_counts() {
        assert_eq!(count(machine_paths, "a.md", &joined("see /ho|me/me/x")), 1);
        assert_eq!(count(machine_paths, "a.md", &joined("`/wo|rk/x`")), 1);
        assert_eq!(count(machine_paths, "a.md", &joined("docs/wo|rk/x, ~/ro|ot/y")), 0);
        assert_eq!(count(machine_paths, "tests/data/a.jsonl", &joined("/ho|me/me/x")), 0);
    }
}
