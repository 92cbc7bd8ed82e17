//! `skills export`: skills as files for other agents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use learnkit::backend::AgentFilter;
use learnkit::engine::{SkillExport, SkillSelection};
use learnkit::skill_file::{ExportedSkill, SkillLibrary};
use learnkit::{Error, ErrorKind};
use serde_json::{Value, json};

use super::{EXISTING, as_count, counted, note_skipped};
use crate::args::{ExportArgs, LeastStatus, SkillFormat, WhoseArgs};
use crate::failure::{Ending, Failure, Outcome};
use crate::output::{Output, with_error};
use crate::skills::{Placed, Shelf, place_file};
use crate::{Context, memory, text};

/// Where Deep Agents looks for the skills of a project.
const DEEP_AGENTS: [&str; 2] = [".deepagents", "skills"];

pub(super) async fn run(args: &ExportArgs, whose: &WhoseArgs, context: &mut Context<'_>) -> Outcome {
    let target = Target::of(args)?;
    let identity = whose.identity();
    let agent = memory::named_agent(&memory::layers(context, Some(&identity))?);
    let memory = memory::open(context, Some(&identity), EXISTING).await?;
    let selection = SkillSelection {
        agents: agent.map_or(AgentFilter::Any, AgentFilter::Only),
        active_only: args.min_status == LeastStatus::Active,
    };
    let export = memory.export_skills(&selection).await?;
    let out = &mut context.out;
    note_skipped(&export.skipped, out);
    match target {
        Target::Stdout => to_stdout(export, out),
        Target::File(path) => to_file(export, path, args.force, out),
        Target::Folder(root) => to_folders(export, root, args.force, out),
    }
}

/// Where the skills go.
enum Target<'a> {
    Stdout,
    File(&'a Path),
    Folder(PathBuf),
}

impl<'a> Target<'a> {
    fn of(args: &'a ExportArgs) -> Outcome<Self> {
        let missing = || Failure::Usage("skill folders need a place; name one with --out".to_owned());
        Ok(match (args.format, args.out.as_deref()) {
            (SkillFormat::Json, Some(path)) if path.as_os_str() != "-" => Self::File(path),
            (SkillFormat::Json, _) => Self::Stdout,
            (SkillFormat::AgentSkills, path) => Self::Folder(path.ok_or_else(missing)?.to_owned()),
            (SkillFormat::Deepagents, path) => {
                let root = path.ok_or_else(missing)?.to_owned();
                Self::Folder(DEEP_AGENTS.iter().fold(root, |root, part| root.join(part)))
            }
        })
    }
}

fn to_stdout(export: SkillExport, out: &mut Output<'_>) -> Outcome {
    let left_out = told(&export.left_out);
    let library = SkillLibrary::of(export.skills);
    if out.is_json() {
        out.json(&library)?;
    } else {
        out.line(library.to_json()?.trim_end())?;
    }
    left_out.iter().for_each(|left_out| out.note(left_out));
    Ok(Ending::Good)
}

fn to_file(export: SkillExport, path: &Path, force: bool, out: &mut Output<'_>) -> Outcome {
    let skills: Vec<ExportedSkill> = export.skills.clone();
    let json = SkillLibrary::of(export.skills).to_json()?;
    let placed = place_file(path, &json, force, |text| SkillLibrary::parse(text).is_ok())?;
    let lines = skills.into_iter().map(|skill| Line { skill, placed, path: path.to_owned() }).collect();
    Report { place: path.to_owned(), lines, left_out: export.left_out }.print(out)
}

fn to_folders(export: SkillExport, root: PathBuf, force: bool, out: &mut Output<'_>) -> Outcome {
    let mut lines = Vec::new();
    if !export.skills.is_empty() {
        let shelf = Shelf::open(&root)?;
        for skill in export.skills {
            let placed = shelf.put(&skill, force)?;
            lines.push(Line { path: root.join(&skill.name), placed, skill });
        }
    }
    Report { place: root, lines, left_out: export.left_out }.print(out)
}

/// What became of a skill.
struct Line {
    skill: ExportedSkill,
    placed: Placed,
    path: PathBuf,
}

struct Report {
    place: PathBuf,
    lines: Vec<Line>,
    left_out: BTreeMap<&'static str, u64>,
}

impl Report {
    fn print(&self, out: &mut Output<'_>) -> Outcome {
        let refused = self.lines.iter().filter(|line| matches!(line.placed, Placed::Refused(_))).count();
        let refusal = (refused > 0).then(|| {
            let count = counted(as_count(refused), "skill was", "skills were");
            Error::new(ErrorKind::Conflict, format!("{count} not written, because of what is there already"))
        });
        if out.is_json() {
            let mut result = self.as_json();
            if let Some(refusal) = &refusal {
                with_error(&mut result, refusal);
            }
            out.json(&result)?;
        } else {
            self.print_lines(out)?;
        }
        if let Some(refusal) = refusal {
            out.error(&refusal.chain());
            return Ok(Ending::Bad);
        }
        Ok(Ending::Good)
    }

    fn as_json(&self) -> Value {
        let line = |Line { skill, placed, path }: &Line| {
            let (outcome, reason) = placed.words();
            json!({
                "name": skill.name, "record": skill.record, "agent": skill.agent, "status": skill.status,
                "outcome": outcome, "reason": reason, "path": path,
            })
        };
        let skills: Vec<Value> = self.lines.iter().map(line).collect();
        json!({ "out": self.place, "skills": skills, "left_out": self.left_out })
    }

    fn print_lines(&self, out: &mut Output<'_>) -> Outcome<()> {
        if self.lines.is_empty() {
            out.line("no skills to export")?;
        } else {
            let rows = self.lines.iter().map(|Line { skill, placed, .. }| {
                let (outcome, reason) = placed.words();
                let outcome = reason.map_or_else(|| outcome.to_owned(), |reason| format!("{outcome}: {reason}"));
                [skill.name.clone(), skill.status.to_string(), skill.record.to_string(), outcome]
            });
            out.table(["SKILL", "STATUS", "RECORD", "OUTCOME"], rows.collect())?;
            let count = counted(as_count(self.lines.len()), "skill", "skills");
            out.line(format_args!("{count} for {}", text::line(&self.place.display().to_string())))?;
        }
        if let Some(left_out) = told(&self.left_out) {
            out.line(left_out)?;
        }
        Ok(())
    }
}

fn told(left_out: &BTreeMap<&'static str, u64>) -> Option<String> {
    let reasons: Vec<String> = left_out.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    (!reasons.is_empty()).then(|| format!("left out: {}", reasons.join(", ")))
}
