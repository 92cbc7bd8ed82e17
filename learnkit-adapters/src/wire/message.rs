//! One message in neutral form, between a format and the conversation.

use learnkit_core::Result;
use learnkit_core::conversation::{CallResult, Conversation, RequestedCall};
use learnkit_core::run::ToolOutput;
use serde_json::value::RawValue;

use super::fields::{Fields, is_list, list, text};

/// A message; what a format does not have stays empty.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// Results of earlier calls.
    pub(super) results: Vec<(Option<String>, CallResult)>,
    /// What the user says.
    pub(super) user: Option<String>,
    /// What the assistant writes.
    pub(super) text: Option<String>,
    /// What the assistant calls.
    pub(super) calls: Vec<RequestedCall>,
    /// What the provider ran itself.
    pub(super) hosted: Vec<String>,
}

impl Message {
    /// Adds the message to a conversation: results complete the turn before the user speaks again,
    /// and the text of a message that also calls is no answer, so it comes first.
    pub(super) fn push_to(self, conversation: &mut Conversation) -> Result<()> {
        for (id, result) in self.results {
            conversation.push_result(id.as_deref(), result)?;
        }
        if let Some(user) = self.user {
            conversation.push_user(user);
        }
        if let Some(text) = self.text {
            conversation.push_text(text);
        }
        if !self.calls.is_empty() {
            conversation.push_calls(self.calls);
        }
        for tool in self.hosted {
            conversation.push_hosted_tool(tool);
        }
        Ok(())
    }

    /// Whether it says nothing about the turns, as a system message.
    pub(super) fn is_empty(&self) -> bool {
        self.same_as(&Self::default())
    }

    /// Whether two messages say the same; the key order of arguments does not count.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        let calls = self.calls.iter().zip(&other.calls);
        let same_call = |a: &RequestedCall, b: &RequestedCall| {
            a.id == b.id && a.tool == b.tool && a.arguments.same_as(&b.arguments)
        };
        self.results == other.results
            && self.user == other.user
            && self.text.as_deref().unwrap_or_default() == other.text.as_deref().unwrap_or_default()
            && self.calls.len() == other.calls.len()
            && calls.into_iter().all(|(a, b)| same_call(a, b))
            && self.hosted == other.hosted
    }
}

/// A conversation made of messages in order.
pub(super) fn conversation(messages: impl IntoIterator<Item = Message>) -> Result<Conversation> {
    let mut conversation = Conversation::new();
    messages.into_iter().try_for_each(|message| message.push_to(&mut conversation))?;
    Ok(conversation)
}

/// A text, or parts of which the texts are joined and the others noted, whatever they hold.
pub(super) fn content(raw: &RawValue) -> Result<String> {
    if !is_list(raw) {
        return text(raw, "content");
    }
    let parts = list(raw, "the field `content`")?.into_iter().map(|raw| {
        let part = Fields::read(raw, "a content part")?;
        match part.required_text("type")?.as_str() {
            "text" => part.required_text("text"),
            other => Ok(note(other, raw)),
        }
    });
    Ok(parts.collect::<Result<Vec<_>>>()?.join("\n"))
}

/// What stands for a part that is no text: its type, size and hash, so that another picture makes
/// another task.
pub(super) fn note(kind: &str, part: &RawValue) -> String {
    ToolOutput::binary(kind, part.get().as_bytes()).as_text().to_owned()
}
