//! `records add`: what people and programs write themselves, beside what runs teach.

use learnkit::engine::Remembered;
use learnkit::record::{Content, Fact, Heuristic, Origin, Preference, Provenance, Record, RecordId, Strategy};
use learnkit::{ErrorKind, LearnKit};
use serde_json::json;

use crate::args::AddCommand;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

pub(super) async fn run(what: &AddCommand, memory: &LearnKit, out: &mut Output<'_>) -> Outcome<()> {
    let content = content(what);
    let kind = content.kind();
    let record = Record::new(RecordId::fresh(kind.as_str()), origin(memory), content);
    let remembered = memory.remember(record).await.map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => Failure::usage(&error),
        _ => error.into(),
    })?;
    let (id, outcome, old) = match &remembered {
        Remembered::Stored(id) => (id, "stored", None),
        Remembered::Known(id) => (id, "known", None),
        Remembered::Supersedes { id, old } => (id, "supersedes", Some(old)),
    };
    if out.is_json() {
        let mut result = json!({ "id": id, "kind": kind, "outcome": outcome });
        if let (Some(old), Some(fields)) = (old, result.as_object_mut()) {
            fields.insert("old".to_owned(), json!(old));
        }
        out.json(&result)?;
        return Ok(());
    }
    match old {
        Some(old) => out.line(format_args!("{id} supersedes {old}, which is kept as history"))?,
        None if outcome == "known" => out.line(format_args!("{id} is known and reinforced"))?,
        None => out.line(format_args!("stored {id}"))?,
    }
    Ok(())
}

fn content(what: &AddCommand) -> Content {
    match what.clone() {
        AddCommand::Fact { statement, source } => Content::Fact(Fact { statement, source, superseded: Vec::new() }),
        AddCommand::Preference { key, value } => Content::Preference(Preference { key, value }),
        AddCommand::Heuristic { rule, exception } => Content::Heuristic(Heuristic { rule, exception }),
        AddCommand::Strategy { goal, phases, why } => Content::Strategy(Strategy { goal, phases, why }),
    }
}

fn origin(memory: &LearnKit) -> Origin {
    Origin {
        tenant: memory.tenant().clone(),
        scope: memory.reader().scope.clone(),
        agent: memory.agent().clone(),
        provenance: Provenance::caller(),
        at: jiff::Timestamp::now(),
    }
}
