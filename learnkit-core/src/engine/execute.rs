//! Making calls with a tool set, recorded by the tracker.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use futures_util::future::join_all;

use super::journal::StepKey;
use super::session::Session;
use crate::error::BoxError;
use crate::hash::Fingerprint;
use crate::replay::PlannedCall;
use crate::run::{Arguments, CallDraft, ToolOutput, ToolTracker};
use crate::tool::{Tool, ToolContext, ToolManifest, ToolSet};

/// Makes the calls that memory planned.
pub(super) async fn execute_planned(
    session: &Session,
    tools: &ToolSet,
    manifest: &ToolManifest,
    calls: &[PlannedCall],
) {
    let drafts = calls.iter().map(|call| {
        let annotations = manifest.annotations(&call.tool);
        let draft = CallDraft::new(&call.tool, call.arguments.clone()).with_annotations(annotations);
        draft.with_group(call.group).planned_by_memory()
    });
    execute(session, tools, drafts.collect()).await;
}

/// Makes the calls of one decision side by side; every outcome is recorded, none is returned as an
/// error. A missing tool, an error and a panic count as failed calls. What was done before is not made again.
pub(super) async fn execute(session: &Session, tools: &ToolSet, drafts: Vec<CallDraft>) {
    // A replay makes what it plans; what a planner asks for may have been done by a replay or before a crash.
    let is_new = |draft: &CallDraft| {
        draft.is_planned_by_memory() || session.done_before(draft.tool(), draft.arguments()).is_none()
    };
    let drafts: Vec<CallDraft> = drafts.into_iter().filter(is_new).collect();
    let equal = |a: &CallDraft, b: &CallDraft| a.tool() == b.tool() && a.arguments().same_as(b.arguments());
    // How many equal calls of the same decision stand before each. All keys are made before any call, so that one that
    // is quick does not count for the others.
    let before = |at: usize, draft: &CallDraft| drafts.iter().take(at).filter(|earlier| equal(earlier, draft)).count();
    let keys: Vec<StepKey> =
        drafts.iter().enumerate().map(|(at, draft)| step_key(session, draft, before(at, draft))).collect();
    join_all(drafts.into_iter().zip(keys).map(|(draft, key)| execute_one(session, tools, draft, key))).await;
}

async fn execute_one(session: &Session, tools: &ToolSet, draft: CallDraft, key: StepKey) {
    let tool = match tools.find(draft.tool()) {
        Ok(tool) => tool,
        Err(error) => {
            session.tracker().begin(draft).fail(error.to_string());
            return;
        }
    };
    if let Some(reason) = session.denied(draft.tool(), draft.arguments()) {
        session.tracker().begin(draft).fail(reason);
        return;
    }
    let arguments = draft.arguments().clone();
    let context = ToolContext { idempotency_key: key.key.clone() };
    let work = call(tool.as_ref(), &arguments, &context);
    // The tracker holds the outcome, so the returned value has nothing to add.
    if let Err(not_made) = session.make(draft, key, work, |output| tool.success_when(output)).await {
        session.stop_replay(not_made.message());
    }
}

/// Makes one call and records it, without a journal.
pub(super) async fn make(tracker: &ToolTracker, tool: &dyn Tool, draft: CallDraft, context: &ToolContext) {
    let arguments = draft.arguments().clone();
    let work = call(tool, &arguments, context);
    let recorded = tracker.begin(draft).make(work, |output| tool.success_when(output)).await;
    drop(recorded);
}

/// The work of a call; a panic counts as an error.
async fn call(tool: &dyn Tool, arguments: &Arguments, context: &ToolContext) -> Result<ToolOutput, BoxError> {
    let call = AssertUnwindSafe(tool.call(arguments, context)).catch_unwind();
    call.await.unwrap_or_else(|_| Err(BoxError::from("the tool panicked")))
}

/// The key of a call: equal for every attempt of the same call of the same run. What counts is how often it has worked,
/// and how many equal calls of the same decision stand before it.
pub(super) fn step_key(session: &Session, draft: &CallDraft, earlier: usize) -> StepKey {
    let worked = session.tracker().count_ok(draft.tool(), draft.arguments());
    let key = |before: usize| {
        Fingerprint::new("call")
            .part(session.run_id().as_str())
            .part(draft.tool())
            .part(draft.arguments().raw())
            .part(&before.to_string())
            .short()
    };
    match &session.journal {
        Some(journal) => journal.key(worked + earlier, key),
        None => StepKey::new(key(worked + earlier)),
    }
}
