//! Making calls with a tool set, recorded by the tracker.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use futures_util::future::join_all;

use super::session::Session;
use crate::error::BoxError;
use crate::hash::Fingerprint;
use crate::replay::PlannedCall;
use crate::run::{CallDraft, ToolOutput, ToolTracker};
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
/// error. A missing tool, an error and a panic count as failed calls.
pub(super) async fn execute(session: &Session, tools: &ToolSet, drafts: Vec<CallDraft>) {
    let equal = |a: &CallDraft, b: &CallDraft| a.tool() == b.tool() && a.arguments().same_as(b.arguments());
    // How many equal calls of the same decision stand before each.
    let before = |at: usize, draft: &CallDraft| drafts.iter().take(at).filter(|earlier| equal(earlier, draft)).count();
    let earlier: Vec<usize> = drafts.iter().enumerate().map(|(at, draft)| before(at, draft)).collect();
    join_all(drafts.into_iter().zip(earlier).map(|(draft, earlier)| execute_one(session, tools, draft, earlier))).await;
}

async fn execute_one(session: &Session, tools: &ToolSet, draft: CallDraft, earlier: usize) {
    let tool = match tools.find(draft.tool()) {
        Ok(tool) => tool,
        Err(error) => {
            session.tracker().begin(draft).fail(error.to_string());
            return;
        }
    };
    if session.done_before(draft.tool(), draft.arguments()).is_some() {
        return;
    }
    if let Some(reason) = session.denied(draft.tool(), draft.arguments()) {
        session.tracker().begin(draft).fail(reason);
        return;
    }
    let context = ToolContext { idempotency_key: idempotency_key(session, &draft, earlier) };
    make(session.tracker(), tool.as_ref(), draft, &context).await;
}

/// Makes one call and records it. A panic counts as an error.
pub(super) async fn make(tracker: &ToolTracker, tool: &dyn Tool, draft: CallDraft, context: &ToolContext) {
    let arguments = draft.arguments().clone();
    let work = async {
        let call = AssertUnwindSafe(tool.call(&arguments, context)).catch_unwind();
        call.await.unwrap_or_else(|_| Err(BoxError::from("the tool panicked")))
    };
    // The tracker holds the outcome, so the returned value has nothing to add.
    let recorded: Result<ToolOutput, BoxError> =
        tracker.call_judged(draft, work, |output| tool.success_when(output)).await;
    drop(recorded);
}

/// Equal for every attempt of the same call of the same run: what counts is how often it has worked.
fn idempotency_key(session: &Session, draft: &CallDraft, earlier: usize) -> String {
    let worked = session.tracker().count_ok(draft.tool(), draft.arguments());
    Fingerprint::new("call")
        .part(session.run_id().as_str())
        .part(draft.tool())
        .part(draft.arguments().raw())
        .part(&(worked + earlier).to_string())
        .short()
}
