//! `import`: an export, or what an older LearnKit left, into the store.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use learnkit::backend::{LoadCounts, OnExisting, Store};
use learnkit::engine::Settled;
use learnkit::portable::{ImportFormat, ImportOptions, Imported, LeftOut, OtherTenant};
use learnkit::registry::OpenMode;
use learnkit::{Error, ErrorKind, MemoryStore};
use serde_json::{Value, json};

use super::{as_count, counted};
use crate::args::{IdentityArgs, ImportMemoryArgs};
use crate::failure::{Ending, Failure, Outcome};
use crate::input::Input;
use crate::output::{Output, with_error};
use crate::{Context, memory, text};

/// So many ids and places are named for people; `--json` names every one.
const NAMED: usize = 8;

pub(super) async fn run(args: &ImportMemoryArgs, context: &mut Context<'_>) -> Outcome {
    let input = Input::open(&args.path, &mut context.stdin)?;
    let progress = progress(&input, &context.out);
    let done = import(args, &input, &progress, context).await;
    progress.finish_and_clear();
    let imported = done?;
    let report = Report { name: &input.name, imported: &imported, dry_run: args.dry_run };
    if context.out.is_json() { report.print_json(&mut context.out) } else { report.print(&mut context.out) }
}

async fn import(
    args: &ImportMemoryArgs,
    input: &Input,
    progress: &ProgressBar,
    context: &mut Context<'_>,
) -> Outcome<Imported> {
    let import = input.read(progress)?;
    if args.agent.is_some() && matches!(import.format(), ImportFormat::Export { .. }) {
        let message = "--agent is for what an older LearnKit left; an export names the agent of every record";
        return Err(Failure::Usage(message.to_owned()));
    }
    // Only a flag moves an export to another tenant, never a setting that was made for other commands.
    let is_tenant_given = context.global.tenant.is_some();
    if let Some(own) = import.tenant().filter(|_| !is_tenant_given) {
        context.global.tenant = Some(own.clone());
    }
    let identity = IdentityArgs { scope: None, team: None, agent: args.agent.clone(), parameters: Vec::new() };
    let options = ImportOptions {
        existing: if args.replace { OnExisting::Replace } else { OnExisting::Keep },
        other_tenant: if is_tenant_given { OtherTenant::Adopt } else { OtherTenant::Refuse },
    };
    let of_file = |error: Error| error.with_context("file", &input.name);
    if let Some(memory) = memory::open_if_there(context, &identity).await? {
        let imported = if args.dry_run {
            memory.check_import(import, options).await
        } else {
            memory.import(import, options).await
        };
        return Ok(imported.map_err(of_file)?);
    }
    // Checked against nothing first: what cannot be imported makes no store.
    let nothing = memory::of_store(context, &identity, Store::of(MemoryStore::new())).await?;
    let checked = nothing.check_import(import, options).await.map_err(of_file)?;
    if args.dry_run {
        return Ok(checked);
    }
    let memory = memory::open(context, Some(&identity), OpenMode::CreateIfMissing).await?;
    Ok(memory.import(input.read(progress)?, options).await.map_err(of_file)?)
}

/// What was imported, or would be.
struct Report<'a> {
    name: &'a str,
    imported: &'a Imported,
    dry_run: bool,
}

impl Report<'_> {
    /// What an incomplete import says last.
    fn incomplete(&self) -> Option<Error> {
        let left_out = self.imported.left_out.len();
        (left_out > 0).then(|| {
            let records = counted(as_count(left_out), "record", "records");
            let message = format!("{records} could not be taken over; keep the old file until that is settled");
            Error::new(ErrorKind::InvalidInput, message)
        })
    }

    /// Whether the import came to another tenant than it came from.
    fn is_moved(&self) -> bool {
        self.imported.from.as_ref().is_some_and(|from| *from != self.imported.tenant)
    }

    fn print_json(&self, out: &mut Output<'_>) -> Outcome {
        let Imported { format, from, tenant, loaded, left_out, settled } = self.imported;
        let mut result = json!({
            "path": self.name, "format": as_json(format), "from_tenant": from, "tenant": tenant,
            "dry_run": self.dry_run, "records": loaded.records, "runs": loaded.runs, "left_out": left_out,
            "merged": settled.merged, "superseded": settled.superseded,
        });
        let incomplete = self.incomplete();
        if let Some(error) = &incomplete {
            out.error(&error.chain());
            with_error(&mut result, error);
        }
        out.json(&result)?;
        Ok(if incomplete.is_some() { Ending::Bad } else { Ending::Good })
    }

    fn print(&self, out: &mut Output<'_>) -> Outcome {
        let Imported { format, from, tenant, loaded, left_out, settled } = self.imported;
        let (done, name) = (if self.dry_run { "would import" } else { "imported" }, text::line(self.name));
        out.line(format_args!("{done} {name}, {format}, into tenant `{tenant}`"))?;
        let row = |what: &str, counts: &LoadCounts| {
            let LoadCounts { added, replaced, unchanged, kept } = counts;
            let counts = [*added, *replaced, *unchanged, as_count(kept.len())].map(|count| count.to_string());
            let [added, replaced, unchanged, kept] = counts;
            [what.to_owned(), added, replaced, unchanged, kept]
        };
        let rows = vec![row("records", &loaded.records), row("runs", &loaded.runs)];
        out.table(["", "ADDED", "REPLACED", "UNCHANGED", "KEPT"], rows)?;
        if let Some(from) = from.as_ref().filter(|_| self.is_moved()) {
            out.note(format_args!("it came from tenant `{from}`, so its procedures only guide here"));
        }
        if *settled != Settled::default() {
            let Settled { merged, superseded } = settled;
            out.note(format_args!(
                "merged {merged} records with others that say the same; {superseded} facts are superseded by newer ones"
            ));
        }
        let kept: Vec<&str> =
            [&loaded.records, &loaded.runs].into_iter().flat_map(|counts| &counts.kept).map(String::as_str).collect();
        if !kept.is_empty() {
            out.note(format_args!(
                "stored with another content, and kept: {}; --replace takes those of the file",
                named(&kept)
            ));
        }
        for LeftOut { place, id, reason } in left_out.iter().take(NAMED) {
            let id = id.as_ref().map(|id| format!(" `{id}`")).unwrap_or_default();
            out.note(format_args!("left out {place}{id}: {reason}"));
        }
        if left_out.len() > NAMED {
            out.note(format_args!("left out {} more; --json names every one", left_out.len() - NAMED));
        }
        let Some(error) = self.incomplete() else { return Ok(Ending::Good) };
        out.error(error.message());
        Ok(Ending::Bad)
    }
}

fn as_json(format: &ImportFormat) -> Value {
    match format {
        ImportFormat::Export { version, learnkit, exported } => {
            json!({ "name": "export", "version": version, "learnkit": learnkit, "exported": exported })
        }
        ImportFormat::OlderList => json!({ "name": "older_list" }),
        ImportFormat::OlderDatabase => json!({ "name": "older_database" }),
    }
}

fn named(ids: &[&str]) -> String {
    let more = ids.len().saturating_sub(NAMED);
    let named = ids.iter().take(NAMED).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

/// Progress by bytes read; drawn only on a terminal.
fn progress(input: &Input, out: &Output<'_>) -> ProgressBar {
    let target = if out.shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(input.size(), target);
    let style = ProgressStyle::with_template("{bar:30} {percent:>3}% {bytes} of {total_bytes}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
