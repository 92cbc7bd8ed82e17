//! `skills import`: skill files of any author become prose that guides.

use learnkit::engine::ImportedSkill;
use learnkit::record::RecordId;
use learnkit::registry::OpenMode;
use learnkit::{Error, ErrorKind, LearnKit};
use serde_json::{Value, json};

use super::{as_count, counted};
use crate::args::{ImportArgs, WhoseArgs};
use crate::failure::{Ending, Outcome};
use crate::output::{Output, error_object, with_error};
use crate::skills::{Found, ReadSkill, find, read};
use crate::{Context, memory, text};

pub(super) async fn run(args: &ImportArgs, whose: &WhoseArgs, context: &mut Context<'_>) -> Outcome {
    let mut report = Report::default();
    // Opened for the first skill that was read, so that an import of nothing makes no store.
    let mut memory: Option<LearnKit> = None;
    for Found { name: path, source } in find(&args.paths) {
        let skills = match source.and_then(|source| read(&source, &mut context.stdin)) {
            Ok(skills) => skills,
            Err(error) => {
                report.failed(path, error, &mut context.out);
                continue;
            }
        };
        for skill in skills {
            let memory = match &mut memory {
                Some(memory) => memory,
                none => none.insert(memory::open(context, Some(&whose.identity()), OpenMode::CreateIfMissing).await?),
            };
            match memory.import_skill(skill.words.clone()).await {
                Ok(imported) => report.lines.push(Line { path: path.clone(), skill, imported }),
                Err(error) if error.kind() == ErrorKind::InvalidInput => {
                    report.failed(format!("{path}, {}", skill.name), error, &mut context.out);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    report.print(&mut context.out)
}

/// What became of a skill that was read.
struct Line {
    path: String,
    skill: ReadSkill,
    imported: ImportedSkill,
}

impl Line {
    fn outcome(&self) -> (&'static str, &RecordId) {
        match &self.imported {
            ImportedSkill::Stored(id) => ("stored", id),
            ImportedSkill::Known(id) => ("known", id),
        }
    }
}

#[derive(Default)]
struct Report {
    lines: Vec<Line>,
    failed: Vec<(String, Error)>,
}

impl Report {
    /// Names what could not be read; the others go on.
    fn failed(&mut self, path: String, error: Error, out: &mut Output<'_>) {
        let told = error.chain();
        if told.contains(&path) {
            out.error(&told);
        } else {
            out.error(&format!("{path}: {told}"));
        }
        self.failed.push((path, error));
    }

    fn print(self, out: &mut Output<'_>) -> Outcome {
        let nothing = self.lines.is_empty();
        let verdict = Error::invalid("not a single skill was read; `learnkit skills import --help` says what is");
        if out.is_json() {
            let mut result = self.as_json();
            if nothing {
                with_error(&mut result, &verdict);
            }
            out.json(&result)?;
        } else if !nothing {
            self.print_lines(out)?;
        }
        if nothing {
            out.error(&verdict.chain());
        }
        Ok(if nothing { Ending::Bad } else { Ending::Good })
    }

    fn stored(&self) -> usize {
        self.lines.iter().filter(|line| matches!(line.imported, ImportedSkill::Stored(_))).count()
    }

    fn as_json(&self) -> Value {
        let line = |line: &Line| {
            let (outcome, id) = line.outcome();
            let ReadSkill { name, notes, .. } = &line.skill;
            json!({ "path": line.path, "name": name, "outcome": outcome, "id": id, "notes": notes })
        };
        let failure = |(path, error): &(String, Error)| json!({ "path": path, "error": error_object(error.kind().as_str(), &error.chain()) });
        let (stored, read) = (self.stored(), self.lines.len());
        json!({
            "skills": self.lines.iter().map(line).collect::<Vec<Value>>(),
            "failed": self.failed.iter().map(failure).collect::<Vec<Value>>(),
            "total": { "stored": stored, "known": read - stored, "failed": self.failed.len() },
        })
    }

    fn print_lines(&self, out: &mut Output<'_>) -> Outcome<()> {
        let rows = self.lines.iter().map(|line| {
            let (outcome, id) = line.outcome();
            let name = text::short(&line.skill.name);
            [name, outcome.to_owned(), id.to_string(), line.skill.notes.join("; ")]
        });
        out.table(["SKILL", "OUTCOME", "RECORD", "NOTES"], rows.collect())?;
        let stored = self.stored();
        let known = self.lines.len() - stored;
        let failed = counted(as_count(self.failed.len()), "failure", "failures");
        out.line(format_args!("{stored} stored, {known} known, {failed}"))?;
        Ok(())
    }
}
