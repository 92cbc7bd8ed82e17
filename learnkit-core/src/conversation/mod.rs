//! The neutral model of a conversation, and the runs that a recording holds.
//!
//! Doors and importers translate what a host says into a [`Conversation`]; nothing here knows a wire
//! format, and nothing here judges or learns.

mod recording;

pub use recording::{Label, RecordedRun};

use crate::run::{Arguments, CallStatus, ToolOutput};
use crate::{Error, Result};

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
#[derive(Clone, PartialEq, Default)]
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
#[derive(Clone, PartialEq)]
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
            Some(true) => CallStatus::Ok,
            Some(false) if !self.output.is_error() => {
                CallStatus::Failed { reason: "the recording says that the call failed".to_owned() }
            }
            ok => CallStatus::of(&self.output, ok),
        }
    }
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
            Some(id) => open.filter(|call| call.requested.id.as_deref() == Some(id)).reduce(newer_message),
        };
        let call = found.ok_or_else(|| no_open_call(id))?;
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

/// Of two open calls the one of the newer message; of one message the first.
fn newer_message<'a>(best: &'a mut Call, call: &'a mut Call) -> &'a mut Call {
    if call.batch > best.batch { call } else { best }
}

fn no_open_call(id: Option<&str>) -> Error {
    Error::invalid(match id {
        Some(id) => {
            format!("a result names call `{id}`, but no such call waits for one; keep call and result in one recording")
        }
        None => "a result names no call and none waits for one; give it the id of its call".to_owned(),
    })
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
}

#[cfg(test)]
mod tests;
