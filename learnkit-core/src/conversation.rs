//! The neutral model of a conversation, and the runs that a recording holds.
//!
//! Doors and importers translate what a host says into a [`Conversation`]; nothing here knows a wire
//! format, and nothing here judges or learns.

use std::ops::Range;

use jiff::Timestamp;

use crate::record::RunId;
use crate::run::{Arguments, CallStatus, ToolCall, ToolOutput, Verdict};
use crate::{Error, ErrorKind, Result, Task};

/// A conversation between a user, an assistant and its tools, oldest turn first.
///
/// ```
/// use learnkit_core::conversation::{CallResult, Conversation, RequestedCall};
/// use learnkit_core::run::Arguments;
/// let mut chat = Conversation::new();
/// chat.push_user("What is the weather in Paris?");
/// chat.push_calls([RequestedCall::new("weather", Arguments::from_raw(r#"{"city":"Paris"}"#)).with_id("c1")]);
/// chat.push_result(Some("c1"), CallResult::of("sunny"))?;
/// chat.push_text("It is sunny.");
/// assert_eq!(chat.turns().len(), 1);
/// # Ok::<(), learnkit_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    turns: Vec<Turn>,
    batches: u32,
}

/// What the user said and all that happened until the user spoke again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Turn {
    /// The user's words; absent for what an assistant did before the first user turn.
    pub user: Option<String>,
    /// What happened, in order.
    pub items: Vec<Item>,
    /// Tools that the model's provider ran by itself, which no host can replay.
    pub hosted_tools: Vec<String>,
    /// Why the model stopped before it was done, such as `max_tokens`.
    pub cut_off: Option<String>,
}

/// One thing an assistant did.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// It wrote a text.
    Text(String),
    /// It called a tool.
    Call(Call),
}

/// A call with its result, once that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What was asked for.
    pub requested: RequestedCall,
    /// Calls of one assistant message share a number, unless there is only one.
    pub group: Option<u32>,
    /// What came back.
    pub result: Option<CallResult>,
    batch: u32,
}

/// A call that an assistant asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedCall {
    /// The host's id of the call; hosts do reuse ids once a call is answered.
    pub id: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// The arguments as written.
    pub arguments: Arguments,
}

impl RequestedCall {
    /// A call without an id.
    pub fn new(tool: impl Into<String>, arguments: Arguments) -> Self {
        Self { id: None, tool: tool.into(), arguments }
    }

    /// Gives the call the host's id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// What a tool gave back, and the host's word on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The result.
    pub output: ToolOutput,
    /// Whether the host says that it worked; absent leaves it to the error envelopes.
    pub ok: Option<bool>,
}

impl CallResult {
    /// A result that the host says nothing about.
    pub fn of(output: impl Into<ToolOutput>) -> Self {
        Self { output: output.into(), ok: None }
    }

    fn status(&self) -> CallStatus {
        match self.ok {
            Some(false) if !self.output.is_error() => {
                CallStatus::Failed { reason: "the recording says that the call failed".to_owned() }
            }
            ok => CallStatus::of(&self.output, ok),
        }
    }
}

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
#[derive(Debug, Clone, PartialEq)]
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
    /// A conversation in which nothing was said yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The turns; the first has no user text where the assistant spoke first.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The user speaks. Messages that follow each other without anything between are one turn.
    pub fn push_user(&mut self, text: impl Into<String>) {
        let text = text.into();
        match self.turns.last_mut() {
            Some(Turn { user: Some(before), items, .. }) if items.is_empty() => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            _ => self.turns.push(Turn { user: Some(text), ..Turn::default() }),
        }
    }

    /// The assistant writes; a blank text is nothing.
    pub fn push_text(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.current().items.push(Item::Text(text));
        }
    }

    /// The assistant calls tools in one message: side by side if there are several.
    pub fn push_calls(&mut self, calls: impl IntoIterator<Item = RequestedCall>) {
        let calls: Vec<_> = calls.into_iter().collect();
        let batch = self.batches;
        self.batches += 1;
        let group = (calls.len() > 1).then_some(batch);
        let calls = calls.into_iter().map(|requested| Item::Call(Call { requested, group, result: None, batch }));
        self.current().items.extend(calls);
    }

    /// A tool answers. A result belongs to the open call with its id, the newest message first;
    /// without an id to the oldest open call.
    ///
    /// # Errors
    /// `InvalidInput` when no call waits for it, naming the id.
    pub fn push_result(&mut self, id: Option<&str>, result: CallResult) -> Result<()> {
        let items = self.turns.iter_mut().flat_map(|turn| &mut turn.items);
        let mut open = items.filter_map(Item::open_call);
        let found = match id {
            None => open.next(),
            Some(id) => open.filter(|call| call.requested.id.as_deref() == Some(id)).fold(None, newest_message),
        };
        let call = found.ok_or_else(|| match id {
            Some(id) => Error::invalid(format!(
                "a result names call `{id}`, but no such call waits for one; keep call and result in one recording"
            )),
            None => Error::invalid("a result names no call and none waits for one; give it the id of its call"),
        })?;
        call.result = Some(result);
        Ok(())
    }

    /// The model's provider ran a tool by itself.
    pub fn push_hosted_tool(&mut self, tool: impl Into<String>) {
        self.current().hosted_tools.push(tool.into());
    }

    /// The model stopped before it was done.
    pub fn cut_off(&mut self, reason: impl Into<String>) {
        self.current().cut_off = Some(reason.into());
    }

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
        let recording = Recording { label, turns: &self.turns, said: self.turns.iter().map(Turn::transcript).collect() };
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

    /// The turn that things happen in now.
    fn current(&mut self) -> &mut Turn {
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        let last = self.turns.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "a turn was pushed if there was none")]
        &mut self.turns[last]
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

/// Of the open calls with one id the first of the newest message.
fn newest_message<'a>(best: Option<&'a mut Call>, call: &'a mut Call) -> Option<&'a mut Call> {
    match best {
        Some(best) if best.batch >= call.batch => Some(best),
        _ => Some(call),
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

impl Turn {
    /// All that was said and done as role and text; a call and its result stand together.
    fn transcript(&self) -> Vec<(&'static str, String)> {
        let mut said: Vec<_> = self.user.iter().map(|text| ("user", text.clone())).collect();
        said.extend(self.hosted_tools.iter().map(|tool| ("hosted_tool", tool.clone())));
        for item in &self.items {
            match item {
                Item::Text(text) => said.push(("assistant", text.clone())),
                Item::Call(call) => said.extend(call.transcript()),
            }
        }
        said
    }
}

impl Item {
    fn as_call(&self) -> Option<&Call> {
        if let Self::Call(call) = self { Some(call) } else { None }
    }

    fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn open_call(&mut self) -> Option<&mut Call> {
        if let Self::Call(call) = self { call.result.is_none().then_some(call) } else { None }
    }
}

impl Call {
    fn transcript(&self) -> Vec<(&'static str, String)> {
        let call = format!("{}({})", self.requested.tool, self.requested.arguments.stable());
        let result = self.result.as_ref().map(|result| {
            let role = if result.status().is_ok() { "result" } else { "failed_result" };
            (role, result.output.as_text().to_owned())
        });
        std::iter::once(("call", call)).chain(result).collect()
    }

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

#[cfg(test)]
mod tests;
