//! A checked replay without a session, for tests that let a world answer as it likes.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::Task;
use crate::procedure::{Procedure, Today};
use crate::replay::{Divergence, Next, PlannedCall, Replay};
use crate::run::{CallStatus, ToolCall, ToolOutput};
use crate::tool::ToolAnnotations;

/// Carries a procedure out: each planned call goes to `world`, and what it gives back is checked, until
/// every step is done or the replay stops, for the reason that is returned.
///
/// Preflight and trust are the engine's: this replays whatever it is given. Every call counts as one that
/// worked.
pub fn checked_replay(
    procedure: Procedure,
    asked: AskedAgain,
    mut world: impl FnMut(&PlannedCall) -> ToolOutput,
) -> Option<Divergence> {
    let mut replay = Replay::new(Arc::new(procedure), asked.parameters, asked.today);
    loop {
        match replay.next() {
            Next::Calls(calls) => calls.iter().for_each(|call| replay.observe(&made(call, world(call)))),
            Next::Complete => return None,
            Next::Diverged(divergence) => return Some(divergence),
        }
    }
}

/// What a task says when it is asked again.
#[derive(Debug, Clone)]
pub struct AskedAgain {
    /// The values of its parameters.
    pub parameters: BTreeMap<String, String>,
    /// The day.
    pub today: Today,
}

/// Whether a procedure may replay for the parameters of a task.
///
/// # Errors
/// The reason in words why not.
pub fn follows(procedure: &Procedure, task: &Task) -> Result<(), String> {
    procedure.follows(task)
}

fn made(call: &PlannedCall, output: ToolOutput) -> ToolCall {
    ToolCall {
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
        output,
        status: CallStatus::Ok,
        annotations: ToolAnnotations::default(),
        started: Timestamp::UNIX_EPOCH,
        duration_ms: 0,
        group: call.group,
        parent: None,
        turn: 0,
        replayed: true,
    }
}
