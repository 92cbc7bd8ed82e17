//! A run as readable lines, and any text as such a run.
//!
//! ```text
//! task Refund the latest order
//! call find {"user":"bob"}
//! gives {"id":"order_1001"}
//! call refund {"order":"order_1001"}
//! gives done
//! answer Refunded order_1001
//! now {"id":"order_2002"}
//! ```
//!
//! `call` may be `look` (declared exploration), `kill` (destructive), `side` (side by side with its
//! neighbours) or `later` (of a later user turn); `gives` may be `fails`. Each `now` is what the next call
//! of a replay gives. Lines that are none of these are passed over.

use jiff::Timestamp;
use learnkit_core::procedure::{Distilled, Source, distil};
use learnkit_core::record::RunId;
use learnkit_core::run::{Arguments, CallStatus, ToolCall, ToolOutput};
use learnkit_core::tool::ToolAnnotations;

/// How much of a result is stored, in bytes: little, so that cutting is met often.
const STORED_BYTES: usize = 256;

/// A run, and what the world says when it is replayed.
#[derive(Debug, Default)]
pub struct Script {
    /// The task in words.
    pub task: String,
    /// The calls.
    pub calls: Vec<ToolCall>,
    /// The answer.
    pub answer: Option<String>,
    /// What the calls of a replay give, in order.
    pub now: Vec<String>,
}

impl Script {
    /// Reads any text.
    pub fn parse(text: &str) -> Self {
        let mut script = Self::default();
        for line in text.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "task" => rest.clone_into(&mut script.task),
                "call" | "look" | "kill" | "side" | "later" => script.calls.push(call(word, rest)),
                "gives" | "fails" => script.end_call(word, rest),
                "answer" => script.answer = Some(rest.to_owned()),
                "now" => script.now.push(rest.to_owned()),
                _ => {}
            }
        }
        script
    }

    fn end_call(&mut self, word: &str, rest: &str) {
        if let Some(call) = self.calls.last_mut() {
            call.output = ToolOutput::text(rest);
            if word == "fails" {
                call.status = CallStatus::Failed { reason: rest.to_owned() };
            }
        }
    }

    /// What is learned from it.
    pub fn distil(&self) -> Distilled {
        distil(&Source {
            task: &learnkit_core::Task::new(self.task.as_str()),
            calls: &self.calls,
            answer: self.answer.as_deref(),
            run: &RunId::derived(&["fuzz"]),
            stored_result_bytes: STORED_BYTES,
        })
    }
}

fn call(word: &str, rest: &str) -> ToolCall {
    let (tool, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
    let annotations = ToolAnnotations {
        exploration: word == "look",
        destructive: (word == "kill").then_some(true),
        ..ToolAnnotations::default()
    };
    ToolCall {
        tool: tool.to_owned(),
        arguments: Arguments::from_raw(arguments),
        output: ToolOutput::text(""),
        status: CallStatus::Ok,
        annotations,
        started: Timestamp::UNIX_EPOCH,
        duration_ms: 0,
        group: (word == "side").then_some(0),
        parent: None,
        turn: u32::from(word == "later"),
        replayed: false,
    }
}
