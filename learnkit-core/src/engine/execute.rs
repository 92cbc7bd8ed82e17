//! Making calls with a tool set, recorded by the tracker.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use futures_util::future::join_all;

use super::session::Session;
use crate::error::BoxError;
use crate::hash::Fingerprint;
use crate::replay::PlannedCall;
use crate::run::{Arguments, CallDraft, ToolOutput};
use crate::tool::{ToolAnnotations, ToolContext, ToolSet};

/// A call to make.
pub(super) struct Request {
    pub(super) draft: CallDraft,
    pub(super) tool: String,
    pub(super) arguments: Arguments,
}

impl Request {
    /// A call that memory planned.
    pub(super) fn planned(call: &PlannedCall, annotations: ToolAnnotations) -> Self {
        let draft =
            CallDraft::new(&call.tool, call.arguments.clone()).with_annotations(annotations).with_group(call.group);
        Self { draft: draft.planned_by_memory(), tool: call.tool.clone(), arguments: call.arguments.clone() }
    }
}

/// Makes the calls of one decision side by side; every outcome is recorded, none is returned as an
/// error. A missing tool, an error and a panic count as failed calls.
pub(super) async fn execute(session: &Session, tools: &ToolSet, requests: Vec<Request>) {
    let mut made: Vec<(String, Arguments)> = Vec::new();
    let mut calls = Vec::new();
    for request in requests {
        let call = (request.tool.clone(), request.arguments.clone());
        let earlier = made.iter().filter(|(tool, arguments)| *tool == call.0 && arguments.same_as(&call.1)).count();
        made.push(call);
        calls.push(execute_one(session, tools, request, earlier));
    }
    join_all(calls).await;
}

/// `earlier` is how many equal calls of the same decision stand before this one.
async fn execute_one(session: &Session, tools: &ToolSet, request: Request, earlier: usize) {
    let Some(tool) = tools.get(&request.tool) else {
        let message = tools.find(&request.tool).err().map(|error| error.to_string()).unwrap_or_default();
        session.tracker().begin(request.draft).fail(message);
        return;
    };
    if session.done_before(&request.tool, &request.arguments).is_some() {
        return;
    }
    let context = ToolContext { idempotency_key: idempotency_key(session, &request, earlier) };
    let work = async {
        let call = AssertUnwindSafe(tool.call(&request.arguments, &context)).catch_unwind();
        call.await.unwrap_or_else(|_| Err(BoxError::from("the tool panicked")))
    };
    // The tracker holds the outcome, so the returned value has nothing to add.
    let recorded: Result<ToolOutput, BoxError> =
        session.tracker().call_tool(request.draft, work, |output| tool.success_when(output)).await;
    drop(recorded);
}

/// Equal for every attempt of the same call of the same run: what counts is how often it has worked.
fn idempotency_key(session: &Session, request: &Request, earlier: usize) -> String {
    let worked = session.tracker().count_ok(&request.tool, &request.arguments);
    Fingerprint::new("call")
        .part(session.run_id().as_str())
        .part(&request.tool)
        .part(request.arguments.raw())
        .part(&(worked + earlier).to_string())
        .short()
}
