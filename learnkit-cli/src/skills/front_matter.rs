//! The YAML of a front matter, of any author: fields of a known type are taken, the others are named.

use std::collections::BTreeMap;

use learnkit::skill_file::SkillFile;
use learnkit::{Error, Result};
use serde_json::Value;

/// A skill file, and what of it is not taken over.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) file: SkillFile,
    pub(super) left_out: Vec<String>,
}

/// Parses the text of a skill file.
///
/// # Errors
/// `InvalidInput` without a front matter, for YAML that cannot be read, and without a description.
pub(super) fn parse(text: &str) -> Result<Parsed> {
    let (front, body) = SkillFile::split(text)?;
    let options = serde_saphyr::options! { with_snippet: false };
    // The line before it, so that the lines of a complaint are those of the file.
    let yaml = format!("\n{front}");
    let fields: BTreeMap<String, Value> = serde_saphyr::from_str_with_options(&yaml, options).map_err(|error| {
        let reason = error.to_string();
        Error::invalid(format!("its front matter is no YAML mapping: {}", reason.lines().next().unwrap_or_default()))
    })?;
    let mut parsed = Parsed { file: SkillFile { body: body.to_owned(), ..SkillFile::default() }, left_out: Vec::new() };
    for (key, value) in fields {
        parsed.take(&key, value);
    }
    if parsed.file.description.trim().is_empty() {
        return Err(Error::invalid("it has no description; a skill needs one that says when to use it"));
    }
    Ok(parsed)
}

impl Parsed {
    fn take(&mut self, key: &str, value: Value) {
        match (key, scalar(&value)) {
            ("name", Some(text)) => self.file.name = text,
            ("description", Some(text)) => self.file.description = text,
            ("compatibility", Some(text)) => {
                self.file.compatibility = Some(text).filter(|text| !text.trim().is_empty());
            }
            ("metadata", _) => self.take_metadata(value),
            // An import gives no tool a permission, and what it licenses are the files that stay where they are.
            _ => self.left_out.push(format!("`{key}`")),
        }
    }

    fn take_metadata(&mut self, value: Value) {
        let Value::Object(fields) = value else { return self.left_out.push("`metadata`".to_owned()) };
        self.file.metadata = fields.iter().filter_map(|(key, value)| Some((key.clone(), scalar(value)?))).collect();
    }
}

/// A scalar as text; hosts read `version: 1.0` as text too.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(front: &str) -> Result<Parsed> {
        parse(&format!("---\n{front}\n---\n# Body\n"))
    }

    #[test]
    fn fields_of_any_spelling_are_read_and_the_rest_is_named() {
        let front = "name: pdf\ndescription: >-\n  Handles\n  PDFs: all\nlicense: MIT\nallowed-tools: [a, b]\nmodel: x\n\
                     compatibility: 'needs: git'\nmetadata:\n  version: 1.0\n  nested: {a: b}";
        let Parsed { file, left_out } = parsed(front).unwrap();
        assert_eq!((file.name.as_str(), file.description.as_str()), ("pdf", "Handles PDFs: all"));
        assert_eq!(file.compatibility.as_deref(), Some("needs: git"));
        assert_eq!(left_out, ["`allowed-tools`", "`license`", "`model`"]);
        assert_eq!(file.metadata.len(), 1);
    }

    #[test]
    fn what_is_no_front_matter_is_refused_in_one_line() {
        for front in [
            "description: Deploy: prod",
            "description: a\ndescription: b",
            "- a",
            "just text",
            "description:",
            "description: ' '",
            "a: &x [*x, *x]",
            "description: \"open",
            "? [a]\n: b",
        ] {
            let error = parsed(front).unwrap_err();
            assert_eq!(error.kind(), learnkit::ErrorKind::InvalidInput, "{front}");
            assert!(!error.chain().contains('\n'), "{front}: {error}");
        }
    }

    #[test]
    fn a_bomb_of_aliases_is_refused() {
        let level = |level: usize| {
            let of = vec![format!("*a{}", level - 1); 10].join(", ");
            format!("a{level}: &a{level} [{of}]")
        };
        let levels: Vec<String> = (1..9).map(level).collect();
        let front = format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{}", levels.join("\n"));
        assert!(parsed(&format!("{front}\ndescription: x")).is_err());
    }
}
