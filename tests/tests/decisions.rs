//! What the decision pages promise about making a procedure and about templates.

use std::sync::Arc;

use learnkit::procedure::{Distilled, Procedure, Source, distil};
use learnkit::record::RunId;
use learnkit::run::{CallDraft, STORED_RESULT_BYTES, ToolTracker};
use learnkit::tool::ToolAnnotations;
use learnkit::{ErrorKind, SystemClock, Task};
use serde_json::{Value, json};

/// The procedure of calls of one tool, each with its arguments and result.
fn procedure(task: &Task, annotations: ToolAnnotations, calls: &[(Value, &str)]) -> Procedure {
    let tracker = ToolTracker::new(Arc::new(SystemClock));
    for (arguments, result) in calls {
        let draft = CallDraft::new("tool", arguments.clone()).with_annotations(annotations);
        tracker.begin(draft).finish((*result).into(), None);
    }
    let source = Source {
        task,
        calls: &tracker.calls(),
        answer: None,
        run: &RunId::fresh(),
        stored_result_bytes: STORED_RESULT_BYTES,
        today: None,
    };
    match distil(&source) {
        Distilled::Procedure(procedure) => *procedure,
        Distilled::Nothing(dropped) => panic!("nothing is left: {dropped:?}"),
    }
}

#[test]
fn a_repeat_is_dropped_only_where_repeating_changes_nothing() {
    let steps = |annotations: ToolAnnotations, second: &str| {
        let calls = [(json!({"sku": "pen"}), "added"), (json!({"sku": "pen"}), second)];
        procedure(&Task::new("Add two pens"), annotations, &calls).steps.len()
    };
    let unknown = ToolAnnotations::default();
    let read_only = ToolAnnotations { read_only: Some(true), ..unknown };
    let idempotent = ToolAnnotations { idempotent: Some(true), ..unknown };
    let destructive = ToolAnnotations { destructive: Some(true), ..unknown };
    assert_eq!((steps(unknown, "added"), steps(destructive, "added")), (2, 2));
    assert_eq!((steps(read_only, "added"), steps(idempotent, "added")), (1, 1));
    assert_eq!(steps(read_only, "added again"), 2, "a poll whose result changed is no repeat");
}

#[test]
fn a_secret_is_refused_as_a_task_parameter() {
    for (name, value) in [("password", "x-1"), ("api_key", "y-2"), ("who", "ghp_16C7e42F292c6912E7710c838347Ae178B4a")]
    {
        let built = Task::template(format!("Sign in with {{{name}}}")).with(name, value).build();
        let error = built.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains(name) && !error.message().contains(value), "{error}");
    }
}

#[test]
fn a_date_that_depends_on_when_the_task_was_asked_only_guides() {
    let may_replay = |task: &str| {
        let calls = [(json!({"on": "2026-05-01"}), "booked")];
        procedure(&Task::new(task), ToolAnnotations::default(), &calls).may_replay()
    };
    assert!(!may_replay("Book a table for tomorrow"));
    assert!(may_replay("Book a table"));
    assert!(may_replay("Book a table for 2026-05-01, as I said today"));
}
