//! Reading a `learnkit.toml`: an unknown key or a wrong value is an error with its line.

use std::path::Path;

use super::Config;
use crate::secret::mask_text;
use crate::{Error, ErrorKind, Result};

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// `NotFound` when it is not there, `Permission` or `Unavailable` when it cannot be read, `Config` for an
    /// unknown key or a wrong value; each names the file, and the last one the line.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(unreadable);
        let config = text.and_then(|text| Self::parse(&text));
        config.map_err(|error| error.with_context("path", path.display()))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// `Config` for an unknown key, a wrong value or a number out of range, with the line where there is one.
    pub fn parse(text: &str) -> Result<Self> {
        let config: Self = toml::from_str(text).map_err(|error| {
            let told = Error::new(ErrorKind::Config, mask_text(&told(error.message())).text);
            let line = error.span().and_then(|span| text.get(..span.start));
            match line {
                Some(before) => told.with_context("line", before.matches('\n').count() + 1),
                None => told,
            }
        })?;
        config.check().map_err(|error| Error::new(ErrorKind::Config, error.chain()))?;
        Ok(config)
    }
}

fn unreadable(error: std::io::Error) -> Error {
    let (kind, message) = match error.kind() {
        std::io::ErrorKind::NotFound => (ErrorKind::NotFound, "there is no such configuration file; check the path"),
        std::io::ErrorKind::PermissionDenied => {
            (ErrorKind::Permission, "the configuration file may not be read; check its permissions")
        }
        std::io::ErrorKind::InvalidData => (ErrorKind::Config, "the configuration file is not UTF-8; save it as such"),
        _ => (ErrorKind::Unavailable, "the configuration file cannot be read; check the path and the disk"),
    };
    Error::new(kind, message).with_source(error)
}

/// The parser's complaint; where it is an unknown key, with the key that was meant.
fn told(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(rest) = line.strip_prefix("unknown field `") else { return line };
    // The parser names the unknown key first and then each key that it expected, all in backticks.
    let mut names = rest.split('`').step_by(2);
    let unknown = names.next().unwrap_or_default();
    let known: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    match nearest(unknown, &known) {
        Some(near) => format!("unknown setting `{unknown}`; did you mean `{near}`?"),
        None => format!("unknown setting `{unknown}`; there are {}", known.join(", ")),
    }
}

/// The known name that is meant by a mistyped one: at most a third of its letters differ.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let far = known.iter().map(|other| (distance(name, other), *other));
    let (steps, near) = far.min()?;
    (steps <= name.chars().count().div_ceil(3)).then_some(near)
}

/// How many letters have to be put in, left out or replaced (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut above_left = at;
        let mut left = at + 1;
        let mut next = vec![left];
        for (other, above) in b.iter().zip(row.iter().skip(1)) {
            left = (above_left + usize::from(letter != *other)).min(left + 1).min(above + 1);
            above_left = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_every_setting_is_read() {
        let config = Config::parse(
            "backend = 'sqlite:x.db'\ntenant = 'acme'\nscope = 'user:ann'\nteam = 'ops'\nagent = 'clerk'\noffline = true\n\
             classifier_model = 'm'\ndistiller_model = 'n'\nreplay_trust = 'verified'\nreplay_policy = 'read_only'\ntemplate_replay = 'confirmed:3'\nquality_threshold = 4.0\n\
             stored_result_bytes = 10\nmemory_deadline_ms = 250\nhook_deadline_ms = 90\napproval_deadline_ms = 91\nrun_lease_ms = 80\nholdout_rate = 0.1\ntime_zone = '+02:00'\n\
             [budget]\nrecords = 3\ntokens = 400\n[maintain]\nweeks = 2\ndecay_rate = 0.1\nquarantine_hours = 1.5\n",
        )
        .unwrap();
        for setting in super::super::Setting::ALL {
            assert!(setting.show(&config).is_some(), "{} is not in the file above", setting.key);
        }
        assert_eq!(config.settings().memory_deadline.as_millis(), 250);
    }

    #[test]
    fn an_unknown_key_names_its_line_and_the_key_that_was_meant() {
        for (text, told) in [
            ("tenant = 'a'\nbakend = 'memory:'", "unknown setting `bakend`; did you mean `backend`? (line: 2)"),
            ("[budget]\ntokns = 5", "unknown setting `tokns`; did you mean `tokens`? (line: 2)"),
            (
                "[maintain]\nzzzzzz = 5",
                "unknown setting `zzzzzz`; there are weeks, decay_rate, quarantine_hours (line: 2)",
            ),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Config, told));
        }
    }

    #[test]
    fn a_wrong_value_is_told_with_its_line_and_without_a_secret() {
        for (text, part, line) in [
            ("\nbackend = 'hunter2 and more'", "is not a backend URI", "(line: 2)"),
            ("scope = 'everyone'", "unknown scope `everyone`", "(line: 1)"),
            ("a", "", "(line: 1)"),
            ("replay_trust = 'maybe'", "tool_outcome", "(line: 1)"),
            ("template_replay = 'confirmed:2'", "use `confirmed:3`", "(line: 1)"),
            ("tenant = 5", "string", "(line: 1)"),
            ("time_zone = 'Berlin time'", "`Europe/Berlin`", "(line: 1)"),
            ("quality_threshold = 9.0", "`quality_threshold` must be from 0 to 5", ""),
            ("[maintain]\nweeks = -5", "weeks must be at least 1", ""),
            ("memory_deadline_ms = 0", "longer than 0", ""),
            ("hook_deadline_ms = 0", "longer than 0", ""),
            ("approval_deadline_ms = 0", "`approval_deadline` must be longer than 0", ""),
            ("replay_policy = 'never'", "`read_only`", "(line: 1)"),
            ("run_lease_ms = 0", "longer than 0", ""),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{text}");
            let shown = error.to_string();
            assert!(shown.contains(part) && shown.ends_with(line) && !shown.contains('\n'), "{text}: {shown}");
        }
        let secret = Config::parse("backend = 'qdrant://me:hunter2@host/c'\nx = 1").unwrap_err().chain();
        assert!(!secret.contains("hunter2"), "{secret}");
        let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let misplaced = Config::parse(&format!("quality_threshold = '{token}'")).unwrap_err().chain();
        assert!(misplaced.contains("expected f64") && !misplaced.contains(token), "{misplaced}");
    }

    #[test]
    fn letters_that_differ_are_counted() {
        for (a, b, steps) in
            [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("bakend", "backend", 1), ("ab", "ba", 2)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (steps, steps), "{a} {b}");
        }
    }
}
