//! The runs that a recorded conversation holds.

use std::ops::Range;

use jiff::Timestamp;

use super::{Call, CallResult, Conversation, Item, Turn};
use crate::record::RunId;
use crate::run::{CallStatus, ToolCall, ToolOutput, Verdict};
use crate::{Error, ErrorKind, Result, Task};

/// What a recording says beside the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Where it was read, for people: file and place.
    pub origin: String,
    /// The time that its runs are given.
    pub at: Timestamp,
    /// The task where the recording names it; the whole conversation is then one run.
    pub task: Option<String>,
    /// The outcome of the whole conversation.
    pub verdict: Option<Verdict>,
    /// The recording's own id; equal recordings with two ids are two runs.
    pub id: Option<String>,
}

impl Label {
    /// A label that says nothing but origin and time.
    pub fn new(origin: impl Into<String>, at: Timestamp) -> Self {
        Self { origin: origin.into(), at, task: None, verdict: None, id: None }
    }
}

/// A finished run read from a recording.
#[derive(Clone, PartialEq)]
pub struct RecordedRun {
    /// Derived from what happened and not from the verdict, so one recording is one run however
    /// often, and from whichever file, it is read.
    pub run_id: RunId,
    /// The task; of a chat with the hash of its earlier turns.
    pub task: Task,
    /// The calls in order; all belong to user turn 0, because one run is one task.
    pub calls: Vec<ToolCall>,
    /// The last text after the last call. A text before or beside a call announces it.
    pub answer: Option<String>,
    /// The outcome, where the recording states one.
    pub verdict: Option<Verdict>,
    /// Where it was read.
    pub origin: String,
    /// When it started: the time of the label, because recordings state none.
    pub started: Timestamp,
}

impl Conversation {
    /// The runs of a recording, in order.
    ///
    /// Where the label names the task, the whole conversation is one run of it. Otherwise every user
    /// turn is a task of its own, with the earlier turns in its identity, and its run ends where the
    /// user speaks again. The outcome of a conversation counts for each of its turns, success as
    /// well as failure.
    ///
    /// # Errors
    /// Per run: `InvalidInput` when it is not finished, has no text or there is no user turn;
    /// `Unsupported` when the provider ran a tool itself, because the procedure would miss a step.
    pub fn runs(&self, label: &Label) -> Vec<Result<RecordedRun>> {
        let recording =
            Recording { label, turns: &self.turns, said: self.turns.iter().map(Turn::transcript).collect() };
        if let Some(task) = &label.task {
            return vec![recording.run(0..self.turns.len(), Task::new(task.as_str()))];
        }
        let turns = self.turns.iter().enumerate();
        let runs: Vec<_> = turns.filter_map(|(at, turn)| Some(recording.turn(at, turn.user.as_deref()?))).collect();
        if runs.is_empty() {
            return vec![Err(Error::invalid("there is no user turn, so no task; name it in a field `task`"))];
        }
        runs
    }
}

/// A labelled conversation with its transcript, one list a turn.
struct Recording<'a> {
    label: &'a Label,
    turns: &'a [Turn],
    said: Vec<Vec<(&'static str, String)>>,
}

impl Recording<'_> {
    /// The run of one user turn.
    fn turn(&self, at: usize, user: &str) -> Result<RecordedRun> {
        let earlier = self.said.iter().take(at).flatten().map(|(role, text)| (*role, text.as_str()));
        self.run(at..at + 1, Task::new(user).with_earlier_turns(earlier))
    }

    fn run(&self, turns: Range<usize>, task: Task) -> Result<RecordedRun> {
        if task.is_blank() {
            return Err(Error::invalid("the user turn has no text, so there is no task"));
        }
        let run_id = self.run_id(&turns, &task);
        let turns = self.turns.get(turns).unwrap_or_default();
        check_replayable(turns)?;
        check_finished(turns)?;
        let items: Vec<&Item> = turns.iter().flat_map(|turn| &turn.items).collect();
        let at = self.label.at;
        Ok(RecordedRun {
            run_id,
            task,
            calls: items.iter().filter_map(|item| item.as_call()).map(|call| call.recorded(at)).collect(),
            answer: items.iter().rev().map_while(|item| item.as_text()).next().map(str::to_owned),
            verdict: self.label.verdict,
            origin: self.label.origin.clone(),
            started: at,
        })
    }

    /// The same for the same turns after the same turns, whatever comes later.
    fn run_id(&self, turns: &Range<usize>, task: &Task) -> RunId {
        let said = self.said.iter().take(turns.end).flatten().flat_map(|(role, text)| [*role, text.as_str()]);
        let calls = self.turns.iter().take(turns.end).skip(turns.start).flat_map(|turn| &turn.items);
        let ids = calls.filter_map(Item::as_call).map(|call| call.requested.id.as_deref().unwrap_or_default());
        let head = [task.text(), self.label.id.as_deref().unwrap_or_default()];
        RunId::derived(&head.into_iter().chain(said).chain(ids).collect::<Vec<_>>())
    }
}

fn check_replayable(turns: &[Turn]) -> Result<()> {
    let Some(tool) = turns.iter().flat_map(|turn| &turn.hosted_tools).next() else { return Ok(()) };
    let message =
        format!("the provider ran `{tool}` itself, and a procedure without that step would be wrong; not learned");
    Err(Error::new(ErrorKind::Unsupported, message))
}

fn check_finished(turns: &[Turn]) -> Result<()> {
    if let Some(reason) = turns.last().and_then(|turn| turn.cut_off.as_deref()) {
        return Err(Error::invalid(format!("not finished: the model stopped with `{reason}`")));
    }
    if turns.iter().all(|turn| turn.items.is_empty()) {
        return Err(Error::invalid("not finished: nothing follows the user's words"));
    }
    let items = turns.iter().rev().flat_map(|turn| turn.items.iter().rev());
    let calls: Vec<&Call> = items.map_while(Item::as_call).collect();
    let last = calls.first().map(|call| call.batch);
    let open = calls.iter().filter(|call| Some(call.batch) == last && call.result.is_none()).count();
    match open {
        0 => Ok(()),
        1 => Err(Error::invalid("not finished: 1 call without a result")),
        more => Err(Error::invalid(format!("not finished: {more} calls without a result"))),
    }
}

impl Call {
    fn recorded(&self, at: Timestamp) -> ToolCall {
        let missing = || CallResult::of(ToolOutput::error("no result recorded"));
        let status = match &self.result {
            Some(result) => result.status(),
            None => CallStatus::Failed { reason: "no result recorded".to_owned() },
        };
        ToolCall {
            tool: self.requested.tool.clone(),
            arguments: self.requested.arguments.clone(),
            output: self.result.clone().unwrap_or_else(missing).output,
            status,
            annotations: crate::tool::ToolAnnotations::default(),
            started: at,
            duration_ms: 0,
            group: self.group,
            parent: None,
            turn: 0,
            replayed: false,
        }
    }
}
