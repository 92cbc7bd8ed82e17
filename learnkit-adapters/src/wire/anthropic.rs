//! Anthropic messages: content blocks with `tool_use` and `tool_result`.

use learnkit_core::conversation::{CallResult, RequestedCall};
use learnkit_core::run::ToolOutput;
use learnkit_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;

use super::fields::{Fields, arguments, is_text, list, text};
use super::message::{Message, content, note};

/// Block types that only this format has.
pub(super) fn is_own_block(kind: &str) -> bool {
    matches!(kind, "tool_use" | "tool_result" | "thinking" | "redacted_thinking") || is_hosted(kind)
}

/// Calls that the provider runs itself (`server_tool_use`, `mcp_tool_use`), and their results.
fn is_hosted(kind: &str) -> bool {
    kind.ends_with("_tool_use") || kind.ends_with("_tool_result")
}

/// Reads one message. Thinking is not part of what was said.
pub(super) fn message(raw: &RawValue) -> Result<Message> {
    let fields = Fields::read(raw, "a message")?;
    let role = fields.required_text("role")?;
    let blocks = match fields.get("content") {
        None => Blocks::default(),
        Some(content) if is_text(content) => Blocks { texts: vec![text(content, "content")?], ..Blocks::default() },
        Some(content) => Blocks::read(content)?,
    };
    match role.as_str() {
        "system" => Ok(Message::default()),
        "user" => Ok(blocks.of_user()),
        "assistant" => Ok(blocks.of_assistant()),
        other => {
            let message = format!("role `{other}` is not read; roles are system, user and assistant");
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

#[derive(Debug, Default)]
struct Blocks {
    texts: Vec<String>,
    message: Message,
}

impl Blocks {
    fn read(content: &RawValue) -> Result<Self> {
        let mut blocks = Self::default();
        for raw in list(content, "the field `content`")? {
            blocks.push(raw)?;
        }
        Ok(blocks)
    }

    fn push(&mut self, raw: &RawValue) -> Result<()> {
        let block = Fields::read(raw, "a content block")?;
        match block.required_text("type")?.as_str() {
            "text" => self.texts.push(block.required_text("text")?),
            "thinking" | "redacted_thinking" => {}
            "tool_use" => self.push_call(&block)?,
            "tool_result" => self.message.results.push(result(&block)?),
            kind if kind.ends_with("_tool_use") => self.message.hosted.push(block.required_text("name")?),
            // The result of a hosted call follows in the same message, after its call.
            kind if is_hosted(kind) => {}
            kind => self.texts.push(note(kind, raw)),
        }
        Ok(())
    }

    /// A call that code of the provider made (`caller`) is a step of that code and not of the plan.
    fn push_call(&mut self, block: &Fields<'_>) -> Result<()> {
        let tool = block.required_text("name")?;
        let caller = block.object("caller")?.map(|caller| caller.required_text("type")).transpose()?;
        if let Some(caller) = caller.filter(|caller| caller != "direct") {
            self.message.hosted.push(caller);
        }
        let input = block.raw("input").ok_or_else(|| Error::invalid(format!("the call of `{tool}` has no `input`")))?;
        self.message.calls.push(RequestedCall { id: block.text("id")?, tool, arguments: arguments(input)? });
        Ok(())
    }

    /// A message of nothing but results is not a turn of the user.
    fn of_user(self) -> Message {
        let speaks = !self.texts.is_empty() || self.message.results.is_empty();
        Message { user: speaks.then(|| self.texts.join("\n")), ..self.message }
    }

    /// Citations split one sentence into several blocks, so the texts follow each other directly.
    fn of_assistant(self) -> Message {
        let text = (!self.texts.is_empty()).then(|| self.texts.concat());
        Message { text, ..self.message }
    }
}

fn result(block: &Fields<'_>) -> Result<(Option<String>, CallResult)> {
    let content = block.get("content").map(content).transpose()?.unwrap_or_default();
    let is_error = block.bool("is_error")?.unwrap_or_default();
    let output = if is_error { ToolOutput::error(content) } else { ToolOutput::text(content) };
    Ok((block.text("tool_use_id")?, CallResult { output, ok: None }))
}
