//! Check of `.pre-commit-config.yaml`: hooks of this checkout only, each a step of `.ci/run`.
//!
//! Reads as much YAML as that needs: one list of local hooks, one value on a line. Anything else is a
//! finding, so that nothing passes unread.

use super::Finding;
use crate::checkout::Checkout;

const CONFIG: &str = ".pre-commit-config.yaml";
const STEPS: &str = ".ci/run";
const HEAD: [&str; 2] = ["- repo: local", "hooks:"];
const REQUIRED: [&str; 4] = ["id", "name", "entry", "language"];
const OPTIONAL: [&str; 4] = ["pass_filenames", "always_run", "types", "stages"];

/// What is wrong with the hooks.
pub fn broken_hooks(checkout: &Checkout) -> Vec<Finding> {
    let config = match Config::parse(checkout.text(CONFIG)) {
        Ok(config) => config,
        Err((line, message)) => return vec![Finding::at_line(CONFIG, line, message)],
    };
    let mut findings = Vec::new();
    if config.hooks.is_empty() {
        findings.push(Finding::in_file(CONFIG, "holds no hook"));
    }
    let mut ids: Vec<&str> = Vec::new();
    for hook in &config.hooks {
        let messages = hook.messages(&config.types, checkout.text(STEPS));
        findings.extend(messages.into_iter().map(|message| Finding::at_line(CONFIG, hook.line, message)));
        if let Some(id) = hook.value("id") {
            if ids.contains(&id) {
                findings.push(Finding::at_line(CONFIG, hook.line, format!("two hooks have the id `{id}`")));
            }
            ids.push(id);
        }
    }
    findings
}

/// A line that is not understood, and why.
type Unread = (usize, String);

#[derive(Debug, Default)]
struct Config<'a> {
    /// The Git hooks that are installed.
    types: Vec<&'a str>,
    hooks: Vec<Hook<'a>>,
}

#[derive(Debug)]
struct Hook<'a> {
    line: usize,
    values: Vec<(&'a str, &'a str)>,
}

impl<'a> Config<'a> {
    fn parse(text: &'a str) -> Result<Self, Unread> {
        let mut config = Self::default();
        let mut head = HEAD.iter();
        for (index, line) in text.lines().enumerate() {
            let (number, words) = (index + 1, line.trim());
            let depth = line.len() - line.trim_start().len();
            if words.is_empty() || words.starts_with('#') {
                continue;
            }
            let unread = || (number, format!("`{words}` is not understood here; keep to the form of the other lines"));
            match depth {
                0 if words == "repos:" => {}
                0 => config.types = list(words.strip_prefix("default_install_hook_types: ").ok_or_else(unread)?),
                2 | 4 => drop(head.next().filter(|own| **own == words).ok_or_else(unread)?),
                6 => {
                    let value = words.strip_prefix("- ").and_then(pair).ok_or_else(unread)?;
                    config.hooks.push(Hook { line: number, values: vec![value] });
                }
                8 => config.hooks.last_mut().ok_or_else(unread)?.values.push(pair(words).ok_or_else(unread)?),
                _ => return Err(unread()),
            }
        }
        Ok(config)
    }
}

impl<'a> Hook<'a> {
    fn value(&self, key: &str) -> Option<&'a str> {
        self.values.iter().find(|(own, _)| *own == key).map(|(_, value)| *value)
    }

    fn messages(&self, types: &[&str], steps: &str) -> Vec<String> {
        let is_known = |key: &&str| REQUIRED.contains(key) || OPTIONAL.contains(key);
        let missing = REQUIRED.iter().filter(|key| self.value(key).is_none_or(str::is_empty));
        let unknown = self.values.iter().map(|(key, _)| *key).filter(|key| !is_known(key));
        let mut messages: Vec<String> = missing.map(|key| format!("the hook has no `{key}`")).collect();
        messages.extend(unknown.map(|key| format!("`{key}` is no key of a hook here")));
        if self.value("language").is_some_and(|language| language != "system") {
            messages.push("the language of a hook is `system`, so that nothing is downloaded".to_owned());
        }
        let entry = self.value("entry").unwrap_or_default();
        if !steps.lines().any(|line| line.trim() == format!("step {entry}")) {
            messages.push(format!("`{entry}` is no step of {STEPS}"));
        }
        let stages = list(self.value("stages").unwrap_or_default());
        let idle = stages.into_iter().filter(|stage| !types.contains(stage));
        messages.extend(idle.map(|stage| format!("`{stage}` is not among `default_install_hook_types`")));
        messages
    }
}

/// `key: value`.
fn pair(words: &str) -> Option<(&str, &str)> {
    words.split_once(": ").map(|(key, value)| (key.trim(), value.trim()))
}

/// `[a, b]`.
fn list(value: &str) -> Vec<&str> {
    let words = value.trim().trim_start_matches('[').trim_end_matches(']').split(',');
    words.map(str::trim).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
# a comment
default_install_hook_types: [pre-commit]
repos:
  - repo: local
    hooks:
      - id: fmt
        name: format
        entry: cargo fmt --check
        language: system
        stages: [pre-commit]
";

    fn places(config: &str) -> Vec<String> {
        let checkout = Checkout::of(&[(CONFIG, config), (STEPS, "set -e\nstep cargo fmt --check\n")]);
        broken_hooks(&checkout).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_hook_that_is_a_step_is_fine() {
        assert_eq!(places(GOOD), [""; 0]);
    }

    #[test]
    fn a_hook_that_names_nothing_is_found() {
        let finding = |from: &str, to: &str| places(&GOOD.replace(from, to)).join("; ");
        assert!(finding("fmt --check", "fmt").ends_with("`cargo fmt` is no step of .ci/run"));
        assert!(finding("language: system", "language: python").contains("nothing is downloaded"));
        assert!(finding("stages: [pre-commit]", "stages: [pre-push]").contains("`pre-push` is not among"));
        assert!(finding("        name: format\n", "").ends_with(":6: the hook has no `name`"));
        assert!(finding("name: format", "names: format").contains("`names` is no key"));
        let twice = format!("{GOOD}{}", GOOD.split("hooks:\n").nth(1).unwrap());
        assert!(places(&twice).join("; ").contains("two hooks have the id `fmt`"));
    }

    #[test]
    fn what_is_not_understood_is_a_finding_and_so_is_an_empty_file() {
        assert!(
            places(&GOOD.replace("repo: local", "repo: https://example.org/x"))[0]
                .starts_with(".pre-commit-config.yaml:4")
        );
        assert!(places(&GOOD.replace("        name", "       name"))[0].starts_with(".pre-commit-config.yaml:7"));
        assert_eq!(places(""), [".pre-commit-config.yaml: holds no hook"]);
    }
}
