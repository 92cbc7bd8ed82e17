//! `key`: the canonical text and key of each task on the standard input. Opens no store.

use std::io::BufRead as _;

use learnkit::task::{Identity, TaskKey};
use learnkit::{Error, ErrorKind};
use serde_json::json;

use crate::args::KeyArgs;
use crate::failure::{Ending, Failure, Outcome};
use crate::{Context, memory, text};

pub(super) fn run(args: &KeyArgs, context: &mut Context<'_>) -> Outcome {
    let parameters = args.identity.parameters().map_err(|error| Failure::usage(&error))?;
    let layers = memory::layers(context, Some(&args.identity))?;
    let values = layers.values();
    let identity = Identity {
        tenant: values.tenant.clone().unwrap_or_default(),
        scope: values.scope.clone().unwrap_or_default(),
        agent: values.agent.clone().unwrap_or_default(),
    };
    let mut bytes = Vec::new();
    for number in 1u64.. {
        bytes.clear();
        let size =
            context.stdin.read_until(b'\n', &mut bytes).map_err(|error| unreadable(number).with_source(error))?;
        if size == 0 || context.out.is_closed() {
            break;
        }
        let line = std::str::from_utf8(&bytes).map_err(|error| unreadable(number).with_source(error))?;
        let words = decoded(line.strip_suffix('\n').unwrap_or(line));
        let task = memory::task(&words, &parameters).map_err(|failure| at_line(number, failure))?;
        let task = args.world.of(task);
        let (canonical, key) = (task.canonical(), TaskKey::of(&task, &identity));
        if context.out.is_json() {
            context.out.json(&json!({ "text": words, "canonical": canonical, "key": key }))?;
        } else {
            context.out.line(format_args!("{}\t{key}", on_one_line(&canonical)))?;
        }
    }
    Ok(Ending::Good)
}

/// A line that is a JSON string stands for the text in it.
fn decoded(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let string = line.starts_with('"').then(|| serde_json::from_str(line).ok()).flatten();
    string.unwrap_or_else(|| line.to_owned())
}

/// As a JSON string where the text itself would break the line or look like a JSON string.
fn on_one_line(canonical: &str) -> String {
    let needs_quotes = canonical.starts_with('"') || canonical.chars().any(text::acts);
    if needs_quotes { text::quoted(canonical) } else { canonical.to_owned() }
}

fn unreadable(line: u64) -> Error {
    let message = "the standard input cannot be read; it has to be UTF-8, one task a line";
    Error::new(ErrorKind::InvalidInput, message).with_context("line", line)
}

fn at_line(number: u64, failure: Failure) -> Failure {
    match failure {
        Failure::Usage(message) => Failure::Usage(format!("line {number}: {message}")),
        failure @ Failure::Failed(_) => failure,
    }
}
