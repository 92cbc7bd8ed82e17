//! Hand-over: what the planner is told after a replay stopped, so that nothing is done twice.

use std::fmt::Write as _;

use crate::run::{ToolCall, prefix};

/// A result in the hand-over is cut at so many bytes; the planner's own history has all of it.
const SHOWN_RESULT_BYTES: usize = 2_000;

/// The calls that are done, as text for a planner; empty when there are none.
pub fn render_done(done: &[ToolCall]) -> String {
    if done.is_empty() {
        return String::new();
    }
    let mut text = String::from("These calls of this run are done. Use their results and do not make them again:\n");
    for (index, call) in done.iter().enumerate() {
        let result = call.output.as_text();
        let shown = prefix(result, SHOWN_RESULT_BYTES);
        let cut = if shown.len() < result.len() { " … (cut)" } else { "" };
        let state = if call.status.is_ok() { "" } else { " (failed)" };
        let arguments = call.arguments.raw();
        let _ = writeln!(text, "{}. {}({arguments}){state} -> {shown}{cut}", index + 1, call.tool);
    }
    text
}
