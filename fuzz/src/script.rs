//! A run as readable lines, and any text as such a run.
//!
//! ```text
//! task Refund the latest order of {user}
//! with user bob
//! call find {"user":"bob"}
//! gives {"id":"order_1001"}
//! call refund {"order":"order_1001"}
//! gives done
//! answer Refunded order_1001
//! then user ann
//! now {"id":"order_2002"}
//! ```
//!
//! `call` may be `look` (declared exploration), `kill` (destructive), `side` (side by side with its
//! neighbours) or `later` (of a later user turn); `gives` may be `fails`. Each `now` is what the next call
//! of a replay gives. `with` declares a parameter, for which the task has a placeholder, and `then` is its value
//! in the replay, which happens [`Script::DAYS_LATER`] days after the run. Lines that are none of these are passed over.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use learnkit_core::Task;
use learnkit_core::config::TimeZone;
use learnkit_core::procedure::{Distilled, Source, Today, distil};
use learnkit_core::record::RunId;
use learnkit_core::run::{Arguments, CallStatus, ToolCall, ToolOutput};
use learnkit_core::tool::ToolAnnotations;

/// How much of a result is stored, in bytes: little, so that cutting is met often.
const STORED_BYTES: usize = 256;

/// A run, and what the world says when it is replayed.
#[derive(Debug, Default)]
pub struct Script {
    /// The task in words, with placeholders where there are parameters.
    pub task: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, String>,
    /// Those that are others in the replay.
    pub changed: BTreeMap<String, String>,
    /// The calls.
    pub calls: Vec<ToolCall>,
    /// The answer.
    pub answer: Option<String>,
    /// What the calls of a replay give, in order.
    pub now: Vec<String>,
}

impl Script {
    /// The replay happens so many days after the run.
    pub const DAYS_LATER: i32 = 3;

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
                "with" => script.parameters.extend(pair(rest)),
                "then" => script.changed.extend(pair(rest)),
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
            task: &self.task_with(&self.parameters),
            calls: &self.calls,
            answer: self.answer.as_deref(),
            run: &RunId::derived(&["fuzz"]),
            stored_result_bytes: STORED_BYTES,
            today: Some(&day(0)),
        })
    }

    /// The task as it is asked again; absent where its parameters are no others of the same template.
    pub fn task_again(&self) -> Option<Task> {
        let mut parameters = self.parameters.clone();
        for (name, value) in &self.changed {
            parameters.get_mut(name)?.clone_from(value);
        }
        Some(self.task_with(&parameters))
    }

    /// The day of the replay.
    pub fn day_again() -> Today {
        day(Self::DAYS_LATER)
    }

    /// The task with parameters, or in its bare words where they do not fit.
    fn task_with(&self, parameters: &BTreeMap<String, String>) -> Task {
        let template = Task::template(self.task.as_str());
        let filled = parameters.iter().fold(template, |template, (name, value)| template.with(name, value));
        filled.build().unwrap_or_else(|_| Task::new(self.task.as_str()))
    }
}

/// So many days after the runs of all scripts.
fn day(days: i32) -> Today {
    let at = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * i64::from(days));
    Today::at(at, &TimeZone::default())
}

fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(' ')?;
    Some((name.to_owned(), value.to_owned()))
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
