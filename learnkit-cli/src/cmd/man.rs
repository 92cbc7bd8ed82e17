//! `man`: manual pages, one for each command.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use learnkit::{Error, ErrorKind, Result};
use serde_json::json;

use super::{as_count, counted};
use crate::args::{Cli, ManArgs};
use crate::failure::{Ending, Outcome};
use crate::output::Output;

pub(super) fn run(args: &ManArgs, out: &mut Output<'_>) -> Outcome {
    let Some(folder) = &args.out else {
        let page = rendered(Cli::command())?;
        let page = String::from_utf8_lossy(&page);
        if out.is_json() {
            out.json(&json!({ "page": page }))?;
        } else {
            out.line(page.trim_end())?;
        }
        return Ok(Ending::Good);
    };
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, error))?;
    let mut pages = Vec::new();
    // Built once, so that every page has the whole name of its command.
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    write_pages(&program, folder, &mut pages)?;
    if out.is_json() {
        out.json(&json!({ "pages": pages }))?;
    } else {
        let count = counted(as_count(pages.len()), "page", "pages");
        out.line(format_args!("wrote {count} to {}", crate::text::line(&folder.display().to_string())))?;
    }
    Ok(Ending::Good)
}

/// Writes the page of a command, then those of the commands below it.
fn write_pages(command: &Command, folder: &Path, pages: &mut Vec<PathBuf>) -> Result<()> {
    let page = Man::new(command.clone()).generate_to(folder);
    pages.push(page.map_err(|error| unwritable(folder, error))?);
    command.get_subcommands().try_for_each(|below| write_pages(below, folder, pages))
}

fn rendered(command: Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(|error| {
        Error::new(ErrorKind::Internal, "the manual page cannot be rendered; report this").with_source(error)
    })?;
    Ok(page)
}

fn unwritable(path: &Path, error: std::io::Error) -> Error {
    let message = "the manual pages cannot be written; name a folder of your own with --out";
    Error::new(ErrorKind::Unavailable, message).with_context("path", path.display()).with_source(error)
}
