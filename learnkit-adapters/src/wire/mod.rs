//! Wire formats of recorded conversations, read into runs.
//!
//! | Format | Shape of a row |
//! |---|---|
//! | OpenAI chat | `{"messages": [...]}` with `tool_calls` and role `tool` (or the older `function_call`), or the bare list |
//! | Anthropic messages | the same with `tool_use` and `tool_result` blocks |
//! | recorded HTTP | `{"interactions": [{"uri", "request", "response"}]}` of one of the two APIs |
//! | tool-call lines | `{"task": "...", "calls": [...], "answer": "..."}`, see below |
//!
//! A file is JSON Lines (a row a line), one JSON document (a row) or a JSON list of rows, which
//! holds no further list of rows. What cannot
//! be read is refused by name, row by row, and nothing is guessed. A row that both formats would
//! read the same way is read as OpenAI chat. Arguments and results never pass through a float.
//!
//! # Beside the conversation
//! Any row may carry
//! - `task` or `instruction`: the task in words. The whole row is then one run of it; without it each
//!   user turn of a chat is a task of its own.
//! - `reward` (a number; 1.0 or more is success), `success` (true or false), `outcome` or `verdict`
//!   (`success`, `passed`, `failure` or `failed`): the outcome of the whole row. In a chat it counts
//!   for every turn.
//! - `id` (text or number): tells rows apart that are equal otherwise; without one they are the same run.
//!
//! # Tool-call lines
//! The format to write by hand or from a log, one run a line:
//! ```json
//! {"task": "Email the report", "calls": [{"tool": "query", "arguments": {"table": "users"}, "result": [1, 2]}, {"tool": "send", "arguments": {}, "ok": false, "error": "busy"}], "answer": "Sent.", "success": true}
//! ```
//! A call has `tool` (or `name`), `arguments` (or `args`: any JSON, or a string that holds the raw
//! text), and what came of it: `result` (any JSON), `ok` (true or false), `error` (a text). A call
//! with none of the three counts as failed. Without an outcome and a result the last call is open,
//! and the run is skipped as not finished unless an `answer` follows.

mod anthropic;
mod exchanges;
mod fields;
mod label;
mod message;
mod openai_chat;
mod reader;
mod row;
mod tool_calls;

use learnkit_core::Result;
use learnkit_core::conversation::RecordedRun;

pub use jiff::Timestamp;
pub use reader::{Reader, read};

/// What one place of a recording holds: a run, or the reason why there is none.
#[derive(Debug)]
pub struct Entry {
    /// Where, such as `line 3` or `line 3, turn 2`.
    pub place: String,
    /// The run, or why it was refused (`Unsupported`: the format or a part of it is not read) or
    /// skipped (`InvalidInput`: broken, or not finished).
    pub outcome: Result<RecordedRun>,
}
