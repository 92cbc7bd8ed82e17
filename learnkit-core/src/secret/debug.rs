//! `Debug` of the public types that hold what a user, a tool or an agent said: with the secrets masked that the
//! finder sees. What a session is made of is not shown at all, because it may hold secrets that only a name gave away.

use std::fmt::{Debug, Formatter, Result};

use super::{Veiled, mask_json};
use crate::conversation::{Item, RecordedRun, Turn};
use crate::engine::{Decision, Outcome, PlannerReply, PlanningTurn, RunFailure, RunReport, Session};
use crate::json::Json;
use crate::run::CallStatus;
use crate::task::{Task, TaskTemplate};

impl Debug for Json {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "Json({})", mask_json(&self.to_text()).text)
    }
}

impl Debug for Task {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_tuple("Task").field(&Veiled(self.text())).finish()
    }
}

impl Debug for TaskTemplate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        // A value that is a secret is refused only when the task is built.
        f.debug_struct("TaskTemplate").finish_non_exhaustive()
    }
}

impl Debug for CallStatus {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Ok => f.write_str("Ok"),
            Self::Failed { reason } => f.debug_struct("Failed").field("reason", &Veiled(reason)).finish(),
        }
    }
}

impl Debug for Turn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { user, items, hosted_tools, cut_off } = self;
        let mut shown = f.debug_struct("Turn");
        shown.field("user", &user.as_deref().map(Veiled)).field("items", items);
        shown.field("hosted_tools", hosted_tools).field("cut_off", cut_off).finish()
    }
}

impl Debug for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Text(text) => f.debug_tuple("Text").field(&Veiled(text)).finish(),
            Self::Call(call) => f.debug_tuple("Call").field(call).finish(),
        }
    }
}

impl Debug for RecordedRun {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut shown = f.debug_struct("RecordedRun");
        shown.field("run_id", &self.run_id).field("task", &self.task).field("calls", &self.calls);
        shown.field("answer", &self.answer.as_deref().map(Veiled)).field("verdict", &self.verdict);
        shown.field("origin", &self.origin).field("started", &self.started).finish()
    }
}

impl Debug for Session {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Session").field("run_id", self.run_id()).finish_non_exhaustive()
    }
}

impl Debug for Decision {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Replay(calls) => f.debug_tuple("Replay").field(calls).finish(),
            Self::Answer { text, source } => {
                f.debug_struct("Answer").field("text", &Veiled(text)).field("source", source).finish()
            }
            Self::Forward { playbook, done, reason } => {
                let mut shown = f.debug_struct("Forward");
                shown.field("playbook", &Veiled(playbook)).field("done", done).field("reason", &Veiled(reason)).finish()
            }
            Self::Synthesize { done } => f.debug_struct("Synthesize").field("done", done).finish(),
        }
    }
}

impl Debug for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { answer, verdict, failure, model } = self;
        let mut shown = f.debug_struct("Outcome");
        shown.field("answer", &answer.as_deref().map(Veiled)).field("verdict", verdict);
        shown.field("failure", failure).field("model", model).finish()
    }
}

impl Debug for RunFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { message, is_environment } = self;
        let mut shown = f.debug_struct("RunFailure");
        shown.field("message", &Veiled(message)).field("is_environment", is_environment).finish()
    }
}

impl Debug for PlannerReply {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { tool_calls, answer, tokens } = self;
        let mut shown = f.debug_struct("PlannerReply");
        shown.field("tool_calls", tool_calls).field("answer", &answer.as_deref().map(Veiled));
        shown.field("tokens", tokens).finish()
    }
}

impl Debug for PlanningTurn<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { task, playbook, history, answer_only } = self;
        let mut shown = f.debug_struct("PlanningTurn");
        shown.field("task", task).field("playbook", &Veiled(playbook));
        shown.field("history", history).field("answer_only", answer_only).finish()
    }
}

impl Debug for RunReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut shown = f.debug_struct("RunReport");
        shown.field("run_id", &self.run_id).field("mode", &self.mode).field("replayed", &self.replayed);
        shown.field("reason", &Veiled(&self.reason)).field("answer", &self.answer.as_deref().map(Veiled));
        shown.field("gate", &self.gate).field("learned", &self.learned).field("warnings", &self.warnings);
        shown.finish_non_exhaustive()
    }
}
