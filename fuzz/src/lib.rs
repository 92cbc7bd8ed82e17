//! Fuzz targets: what must hold for any input. `cargo xtask fuzz` runs them with coverage feedback, the
//! tests of this package run them once over the committed seeds.
//!
//! An input is text. The targets `distil` and `replay` read it as a script of a run ([`Script`]), so that
//! seeds stay readable and mutations stay meaningful.

mod replayed;
mod script;
#[cfg(test)]
mod tests;

use std::io::Cursor;
use std::sync::OnceLock;

use learnkit_core::LearnKit;
use learnkit_core::portable::{ExportSelection, Import, ImportOptions};
use learnkit_core::procedure::{Distilled, Procedure};
use learnkit_core::run::Arguments;
use learnkit_core::task::{self, Skeleton, Task};
use tokio::runtime::{Builder, Runtime};

pub use replayed::replay;
pub use script::Script;

/// A target by its name.
pub type Target = (&'static str, fn(&str));

/// Every target, in the order in which they run.
pub const TARGETS: [Target; 5] =
    [("canonical", canonical), ("align", align), ("distil", distil), ("replay", replay), ("import", import)];

/// Runs a target on the text that some bytes are.
pub fn run(target: fn(&str), data: &[u8]) {
    target(&String::from_utf8_lossy(data));
}

/// Canonical text: twice is once, and a task says the same.
pub fn canonical(text: &str) {
    let once = task::canonical(text);
    assert_eq!(task::canonical(&once), once);
    assert_eq!(Task::new(text).canonical(), once);
    assert!(!once.contains('\r'));
}

/// Alignment of the lines but the last, read back; the last is a text that nobody has seen.
pub fn align(text: &str) {
    let lines: Vec<String> = text.lines().map(task::canonical).collect();
    let Some((unseen, seen)) = lines.split_last() else { return };
    let mut seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    let Some(skeleton) = Skeleton::of(&seen) else { return };
    seen.reverse();
    assert_eq!(Skeleton::of(&seen).as_ref(), Some(&skeleton), "the order of texts matters");
    for text in &seen {
        let values = skeleton.read(text).expect("a text that was aligned reads back");
        assert_eq!(skeleton.fill(&values).as_deref(), Some(*text));
    }
    if let Some(values) = skeleton.read(unseen) {
        assert_eq!(skeleton.fill(&values).as_ref(), Some(unseen));
    }
    let json = serde_json::to_string(&skeleton).expect("a skeleton is JSON");
    assert_eq!(serde_json::from_str::<Skeleton>(&json).expect("and reads back"), skeleton);
}

/// Distilling: every call is kept as it was made or listed as dropped, and the procedure reads back.
pub fn distil(text: &str) {
    let script = Script::parse(text);
    let procedure = match script.distil() {
        Distilled::Nothing(dropped) => {
            assert_eq!(dropped.len(), script.calls.len());
            return;
        }
        Distilled::Procedure(procedure) => *procedure,
    };
    assert_eq!(script.distil(), Distilled::Procedure(Box::new(procedure.clone())), "distilling is deterministic");
    assert_eq!(procedure.steps.len() + procedure.dropped.len(), script.calls.len());
    let mut calls = script.calls.iter();
    for step in &procedure.steps {
        let is_as_made = |arguments: &Arguments| !procedure.may_replay() || *arguments == step.arguments;
        let made = calls.any(|call| call.tool == step.tool && is_as_made(&call.arguments));
        assert!(made, "`{}` was never called so, or not in this order", step.tool);
    }
    for (at, step) in procedure.steps.iter().enumerate() {
        let places = step.guards.iter().flat_map(|guard| &guard.places);
        assert!(places.into_iter().all(|place| place.step < at), "a guard looks at a later step");
    }
    let json = serde_json::to_string(&procedure).expect("a procedure is JSON");
    assert_eq!(serde_json::from_str::<Procedure>(&json).expect("and reads back"), procedure);
}

/// Import: all or nothing, and what came in goes out and comes in again the same.
pub fn import(text: &str) {
    runtime().block_on(async {
        let memory = store().await;
        let Ok(read) = Import::read(Cursor::new(text.to_owned())) else { return };
        let options = ImportOptions::default();
        let imported = memory.import(read, options).await;
        let first = exported(&memory).await;
        if imported.is_err() {
            assert_eq!(lines(&first), lines(&exported(&store().await).await), "a refused import stored something");
            return;
        }
        let other = store().await;
        let again = Import::read(Cursor::new(first.clone())).expect("an export is read");
        other.import(again, options).await.expect("an export is imported");
        assert_eq!(lines(&exported(&other).await), lines(&first));
    });
}

/// The lines of an export but the first, which has the time.
fn lines(export: &str) -> Vec<&str> {
    export.lines().skip(1).collect()
}

async fn store() -> LearnKit {
    LearnKit::builder().backend("memory:").build().await.expect("a store in memory opens")
}

async fn exported(memory: &LearnKit) -> String {
    let mut out = Vec::new();
    memory.export(&mut out, &ExportSelection::default()).await.expect("a store in memory is exported");
    String::from_utf8(out).expect("an export is text")
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Builder::new_current_thread().enable_all().build().expect("a runtime starts"))
}
