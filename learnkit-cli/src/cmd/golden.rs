//! `drift golden`: procedures as files of a repository, and whether they are still what is stored.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use learnkit::engine::{Golden, GoldenSelection};
use learnkit::tool::ReadManifest;
use learnkit::{Error, ErrorKind, LearnKit, Result};
use serde_json::{Value, json};

use super::{EXISTING, as_count, counted, drift, note_skipped};
use crate::args::{GoldenCheckArgs, GoldenExportArgs, WhoseArgs};
use crate::failure::{Ending, Outcome};
use crate::output::{Output, with_error};
use crate::skills::{Placed, place_file};
use crate::source::open;
use crate::{Context, memory, text};

/// Longer golden files are refused, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// So many differences of a procedure are shown to people.
const SHOWN: usize = 20;

pub(super) async fn export(args: &GoldenExportArgs, whose: &WhoseArgs, context: &mut Context<'_>) -> Outcome {
    let agents = drift::agents(whose, context)?;
    let memory = memory::open(context, Some(&whose.identity()), EXISTING).await?;
    let records = args.records.clone();
    let selection = GoldenSelection { records, pinned: args.pinned, verified: args.verified, agents };
    let export = memory.golden(&selection).await?;
    let out = &mut context.out;
    note_skipped(&export.skipped, out);
    if !export.goldens.is_empty() {
        fs::create_dir_all(&args.path).map_err(|error| unmade(&args.path, error))?;
    }
    let is_own = |text: &str| Golden::parse(text).is_ok();
    let mut placed = Vec::new();
    for golden in export.goldens {
        let path = args.path.join(golden.file_name());
        placed.push((place_file(&path, &golden.to_text(), args.force, is_own)?, path, golden));
    }
    print_export(&placed, &args.path, out)
}

fn unmade(path: &Path, error: std::io::Error) -> Error {
    let message = "the folder cannot be made; check the path and its permissions";
    let kind = if error.kind() == std::io::ErrorKind::PermissionDenied {
        ErrorKind::Permission
    } else {
        ErrorKind::Unavailable
    };
    Error::new(kind, message).with_context("path", path.display()).with_source(error)
}

fn print_export(placed: &[(Placed, PathBuf, Golden)], folder: &Path, out: &mut Output<'_>) -> Outcome {
    let refused = placed.iter().filter(|(placed, ..)| matches!(placed, Placed::Refused(_))).count();
    let refusal = (refused > 0).then(|| {
        let count = counted(as_count(refused), "file was", "files were");
        Error::new(ErrorKind::Conflict, format!("{count} not written, because of what is there already"))
    });
    if out.is_json() {
        let line = |(placed, path, golden): &(Placed, PathBuf, Golden)| {
            let (outcome, reason) = placed.words();
            json!({ "record": golden.record, "task": golden.task(), "path": path, "outcome": outcome, "reason": reason })
        };
        let mut object = json!({ "out": folder, "goldens": placed.iter().map(line).collect::<Vec<Value>>() });
        if let Some(refusal) = &refusal {
            with_error(&mut object, refusal);
        }
        out.json(&object)?;
    } else if placed.is_empty() {
        out.line("no procedure is chosen")?;
    } else {
        let rows = placed.iter().map(|(placed, _, golden)| {
            let (outcome, reason) = placed.words();
            let outcome = reason.map_or_else(|| outcome.to_owned(), |reason| format!("{outcome}: {reason}"));
            [golden.file_name(), text::short(golden.task()), outcome]
        });
        out.table(["FILE", "TASK", "OUTCOME"], rows.collect())?;
    }
    Ok(refusal.map_or(Ending::Good, |refusal| {
        out.error(&refusal.chain());
        Ending::Bad
    }))
}

pub(super) async fn check(args: &GoldenCheckArgs, whose: &WhoseArgs, context: &mut Context<'_>) -> Outcome {
    let manifest = args.tools.as_ref().map(|path| drift::manifest(path, context)).transpose()?;
    let files = files(&args.path)?;
    let memory = memory::open(context, Some(&whose.identity()), EXISTING).await?;
    let mut checked = Vec::new();
    for path in files {
        checked.push(Checked::of(path, &memory, manifest.as_ref()).await?);
    }
    print_check(&checked, &mut context.out)
}

/// A golden file, and what is wrong with it.
struct Checked {
    path: PathBuf,
    golden: Option<Golden>,
    faults: Vec<String>,
}

impl Checked {
    async fn of(path: PathBuf, memory: &LearnKit, manifest: Option<&ReadManifest>) -> Result<Self> {
        let golden = match read(&path) {
            Ok(golden) => golden,
            Err(error) => return Ok(Self { path, golden: None, faults: vec![error.chain()] }),
        };
        let differences = memory.check_golden(&golden).await?;
        let mut faults: Vec<String> = differences.iter().map(ToString::to_string).collect();
        match manifest.map(|manifest| golden.broken_by(manifest)).transpose() {
            Ok(broken) => {
                let broken = broken.into_iter().flatten();
                faults.extend(broken.map(|(tool, change)| format!("the tool `{tool}`: {change}")));
            }
            Err(error) => faults.push(error.chain()),
        }
        Ok(Self { path, golden: Some(golden), faults })
    }

    fn as_json(&self) -> Value {
        let (record, task) =
            (self.golden.as_ref().map(|golden| &golden.record), self.golden.as_ref().map(Golden::task));
        json!({ "path": self.path, "record": record, "task": task, "faults": self.faults })
    }
}

fn read(path: &Path) -> Result<Golden> {
    let mut text = String::new();
    let size = open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text);
    let size = size.map_err(|error| Error::invalid("it is no text; export it again").with_source(error))?;
    if as_count(size) > MAX_BYTES {
        return Err(Error::invalid("it is longer than 64 MiB, as no golden procedure is; remove it"));
    }
    Golden::parse(&text)
}

/// The golden files of a path in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error: std::io::Error| {
        let (kind, message) = match error.kind() {
            std::io::ErrorKind::NotFound => (ErrorKind::NotFound, "there is no such file or folder; check the path"),
            std::io::ErrorKind::PermissionDenied => {
                (ErrorKind::Permission, "it may not be read; check its permissions")
            }
            _ => (ErrorKind::Unavailable, "it cannot be read; check the path and the disk"),
        };
        Error::new(kind, message).with_context("path", path.display()).with_source(error)
    };
    let entries = fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(unreadable)?;
    let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json") && path.is_file();
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(is_json).collect();
    files.sort();
    if files.is_empty() {
        let message = "the folder holds no golden procedure; `learnkit drift golden export` writes them";
        return Err(Error::new(ErrorKind::NotFound, message).with_context("path", path.display()));
    }
    Ok(files)
}

fn print_check(checked: &[Checked], out: &mut Output<'_>) -> Outcome {
    let wrong = checked.iter().filter(|checked| !checked.faults.is_empty()).count();
    let failure = (wrong > 0).then(|| {
        let count = counted(as_count(wrong), "golden procedure does not", "golden procedures do not");
        let message = format!("{count} hold; restore what changed, or export again with --force");
        Error::new(ErrorKind::Conflict, message)
    });
    if out.is_json() {
        let files: Vec<Value> = checked.iter().map(Checked::as_json).collect();
        let mut object = json!({ "checked": checked.len(), "wrong": wrong, "files": files });
        if let Some(failure) = &failure {
            with_error(&mut object, failure);
        }
        out.json(&object)?;
    } else {
        print_faults(checked, out)?;
        let count = counted(as_count(checked.len()), "golden procedure", "golden procedures");
        out.line(format_args!("{count} checked, {wrong} wrong"))?;
    }
    Ok(failure.map_or(Ending::Good, |failure| {
        out.error(&failure.chain());
        Ending::Bad
    }))
}

fn print_faults(checked: &[Checked], out: &mut Output<'_>) -> Outcome<()> {
    for checked in checked.iter().filter(|checked| !checked.faults.is_empty()) {
        let task = checked.golden.as_ref().map_or_else(String::new, |golden| format!(": {}", golden.task()));
        out.line(text::line(&format!("{}{task}", checked.path.display())))?;
        for fault in checked.faults.iter().take(SHOWN) {
            out.line(format_args!("  {}", text::line(fault)))?;
        }
        let more = checked.faults.len().saturating_sub(SHOWN);
        if more > 0 {
            out.line(format_args!("  and {more} more; --json shows all"))?;
        }
    }
    Ok(())
}
