//! Tool-call lines: one run a line, for people and logs; described in [`crate::wire`].

use learnkit_core::conversation::{CallResult, Conversation, RequestedCall};
use learnkit_core::run::ToolOutput;
use learnkit_core::{Error, Result};
use serde_json::value::RawValue;

use super::fields::{Fields, arguments, output};

/// Reads the calls and the answer of a row; its task comes with the label.
pub(super) fn conversation(row: &Fields<'_>) -> Result<Conversation> {
    let mut conversation = Conversation::new();
    for (at, raw) in row.list("calls")?.unwrap_or_default().into_iter().enumerate() {
        let id = (at + 1).to_string();
        push_call(&mut conversation, raw, &id).map_err(|error| error.with_context("call", id))?;
    }
    if let Some(answer) = row.text("answer")? {
        conversation.push_text(answer);
    }
    Ok(conversation)
}

fn push_call(conversation: &mut Conversation, raw: &RawValue, id: &str) -> Result<()> {
    let call = Fields::read(raw, "a call")?;
    let tool = call.text("tool")?.or(call.text("name")?);
    let tool = tool.ok_or_else(|| Error::invalid("a call names no `tool`"))?;
    let written = call.raw("arguments").or_else(|| call.raw("args"));
    let written = written.ok_or_else(|| Error::invalid("a call has no `arguments`; write {} for none"))?;
    conversation.push_calls([RequestedCall::new(tool, arguments(written)?).with_id(id)]);
    match result(&call)? {
        Some(result) => conversation.push_result(Some(id), result),
        None => Ok(()),
    }
}

fn result(call: &Fields<'_>) -> Result<Option<CallResult>> {
    let ok = call.bool("ok")?;
    if let Some(error) = call.get("error").filter(|raw| !matches!(raw.get(), "\"\"" | "false")) {
        if ok == Some(true) {
            return Err(Error::invalid("a call says `ok: true` and has an `error`; keep one of them"));
        }
        return Ok(Some(CallResult { output: ToolOutput::error(output(error)?.as_text()), ok }));
    }
    match call.raw("result") {
        Some(result) => Ok(Some(CallResult { output: output(result)?, ok })),
        None => Ok(ok.map(|ok| CallResult { output: ToolOutput::text(""), ok: Some(ok) })),
    }
}
