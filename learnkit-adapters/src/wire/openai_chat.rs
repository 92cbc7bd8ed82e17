//! OpenAI chat messages: `tool_calls` and role `tool`, and the older `function_call` and `function`.

use learnkit_core::conversation::{CallResult, RequestedCall};
use learnkit_core::run::{Arguments, ToolOutput};
use learnkit_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;

use super::fields::{Fields, arguments};
use super::message::{Message, content};

/// Reads one message. Roles `system` and `developer` say nothing about the turns.
pub(super) fn message(raw: &RawValue) -> Result<Message> {
    let fields = Fields::read(raw, "a message")?;
    let role = fields.required_text("role")?;
    let content = fields.get("content").map(content).transpose()?;
    Ok(match role.as_str() {
        "system" | "developer" => Message::default(),
        "user" => Message { user: Some(content.unwrap_or_default()), ..Message::default() },
        "assistant" => Message { text: content, calls: calls(&fields)?, ..Message::default() },
        "tool" | "function" => {
            Message { results: vec![result(&fields, content.unwrap_or_default())?], ..Message::default() }
        }
        other => {
            let message = format!("role `{other}` is not read; roles are system, developer, user, assistant and tool");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    })
}

fn calls(message: &Fields<'_>) -> Result<Vec<RequestedCall>> {
    let mut calls = Vec::new();
    for raw in message.list("tool_calls")?.unwrap_or_default() {
        calls.push(call(&Fields::read(raw, "a tool call")?)?);
    }
    if let Some(function) = message.object("function_call")? {
        calls.push(RequestedCall::new(function.required_text("name")?, function_arguments(&function)?));
    }
    Ok(calls)
}

fn call(fields: &Fields<'_>) -> Result<RequestedCall> {
    let id = fields.text("id")?;
    if let Some(custom) = fields.object("custom")? {
        let input = Arguments::from_raw(custom.required_text("input")?);
        return Ok(RequestedCall { id, tool: custom.required_text("name")?, arguments: input });
    }
    let function =
        fields.object("function")?.ok_or_else(|| Error::invalid("a tool call has neither `function` nor `custom`"))?;
    Ok(RequestedCall { id, tool: function.required_text("name")?, arguments: function_arguments(&function)? })
}

/// Absent arguments are kept as the empty text, `null` as `null`: neither is `{}`.
fn function_arguments(function: &Fields<'_>) -> Result<Arguments> {
    function.raw("arguments").map_or_else(|| Ok(Arguments::from_raw("")), arguments)
}

fn result(fields: &Fields<'_>, content: String) -> Result<(Option<String>, CallResult)> {
    let is_error = fields.bool("is_error")?.unwrap_or_default();
    let output = if is_error { ToolOutput::error(content) } else { ToolOutput::text(content) };
    Ok((fields.text("tool_call_id")?, CallResult { output, ok: None }))
}
