//! Telling the formats apart, and turning one row into entries.

use jiff::Timestamp;
use learnkit_core::conversation::{Conversation, Label, RecordedRun};
use learnkit_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;

use super::fields::{Fields, is_list, is_object, is_text, list, text};
use super::message::Message;
use super::{Entry, anthropic, exchanges, label, message, openai_chat, tool_calls};

/// Where rows come from.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// The file or description that people know.
    pub(super) origin: String,
    /// The time that the runs are given.
    pub(super) at: Timestamp,
}

/// A place inside a source; the empty one is the whole document.
#[derive(Debug, Clone, Default)]
pub(super) struct Place(String);

impl Place {
    /// A line, from 1.
    pub(super) fn line(number: usize) -> Self {
        Self(format!("line {number}"))
    }

    /// The `number`th part of a kind, from 1.
    pub(super) fn part(&self, kind: &str, number: usize) -> Self {
        let comma = if self.0.is_empty() { "" } else { ", " };
        Self(format!("{}{comma}{kind} {number}", self.0))
    }

    fn name(&self) -> &str {
        if self.0.is_empty() { "document" } else { &self.0 }
    }

    /// An entry at this place.
    pub(super) fn entry(&self, outcome: Result<RecordedRun>, source: &Source) -> Entry {
        let origin = format!("{}: {}", source.origin, self.name());
        Entry { place: self.name().to_owned(), outcome: outcome.map(|run| RecordedRun { origin, ..run }) }
    }
}

/// The entries of one row or document.
pub(super) fn entries(raw: &RawValue, place: &Place, source: &Source) -> Vec<Entry> {
    let read = if is_list(raw) { of_list(raw, place, source) } else { of_object(raw, place, source) };
    or_refusal(read, place, source)
}

fn or_refusal(read: Result<Vec<Entry>>, place: &Place, source: &Source) -> Vec<Entry> {
    read.unwrap_or_else(|error| vec![place.entry(Err(error), source)])
}

/// An `Unsupported` error that names what was seen and what is read.
pub(super) fn unsupported(seen: &str) -> Error {
    let read = "OpenAI chat messages, Anthropic messages, recorded HTTP exchanges of these two, and tool-call lines";
    Error::new(ErrorKind::Unsupported, format!("{seen} is not read; the formats that are: {read}"))
}

/// A list of messages, or of rows.
fn of_list(raw: &RawValue, place: &Place, source: &Source) -> Result<Vec<Entry>> {
    let items = list(raw, "the document")?;
    if let Some(read) = of_messages(&items, place, source)? {
        return Ok(read);
    }
    let rows = items.into_iter().enumerate().flat_map(|(at, raw)| {
        let place = place.part("item", at + 1);
        or_refusal(of_row(raw, &place, source), &place, source)
    });
    Ok(rows.collect())
}

/// A row of a list. Rows hold no further rows, so the depth of what is read does not grow with the input.
fn of_row(raw: &RawValue, place: &Place, source: &Source) -> Result<Vec<Entry>> {
    if !is_list(raw) {
        return of_object(raw, place, source);
    }
    let refuse = || Error::invalid("a list inside a list of rows is read only as messages; put its rows in one list");
    of_messages(&list(raw, "the row")?, place, source)?.ok_or_else(refuse)
}

/// The entries of a list of messages; nothing where it is another list.
fn of_messages(items: &[&RawValue], place: &Place, source: &Source) -> Result<Option<Vec<Entry>>> {
    let Some(first) = items.first().filter(|raw| is_object(raw)) else { return Ok(None) };
    let fields = Fields::read(first, "the first item")?;
    if let Some(format) = foreign(&fields) {
        return Err(unsupported(format));
    }
    if !fields.has("role") {
        return Ok(None);
    }
    let label = Label::new(source.origin.as_str(), source.at);
    Ok(Some(runs(&messages(items)?, &label, place, source)))
}

fn of_object(raw: &RawValue, place: &Place, source: &Source) -> Result<Vec<Entry>> {
    if !is_object(raw) {
        return Err(Error::invalid("a row is a JSON object or a list of messages, not a single value"));
    }
    let row = Fields::read(raw, "the row")?;
    if let Some(format) = foreign(&row) {
        return Err(unsupported(format));
    }
    let label = label::read(&row, Label::new(source.origin.as_str(), source.at))?;
    if let Some(interactions) = row.list("interactions")? {
        return exchanges::entries(&interactions, &label, place, source);
    }
    if let Some(items) = row.list("messages")? {
        return Ok(runs(&messages(&items)?, &label, place, source));
    }
    if row.has("calls") {
        if label.task.is_none() {
            return Err(Error::invalid("a tool-call line names no `task`"));
        }
        return Ok(runs(&tool_calls::conversation(&row)?, &label, place, source));
    }
    let names: Vec<_> = row.names().take(5).collect();
    Err(unsupported(&format!("an unknown format with the fields `{}`", names.join("`, `"))))
}

/// The runs of a conversation, each with its place.
pub(super) fn runs(conversation: &Conversation, label: &Label, place: &Place, source: &Source) -> Vec<Entry> {
    let runs = conversation.runs(label);
    let alone = runs.len() == 1;
    let at = |at| if alone { place.clone() } else { place.part("turn", at + 1) };
    runs.into_iter().enumerate().map(|(turn, run)| at(turn).entry(run, source)).collect()
}

/// The two message formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    Anthropic,
}

impl Dialect {
    /// Tells by what only one of the formats has; plain texts read the same in both.
    ///
    /// # Errors
    /// `Unsupported` when a list has marks of both.
    pub(super) fn of(messages: &[&RawValue]) -> Result<Self> {
        let (mut open_ai, mut anthropic) = (false, false);
        for raw in messages {
            let message = Fields::read(raw, "a message")?;
            let role = message.text("role")?.unwrap_or_default();
            open_ai |= message.has("tool_calls") || message.has("function_call");
            open_ai |= matches!(role.as_str(), "tool" | "function");
            anthropic |= message.get("content").filter(|raw| is_list(raw)).is_some_and(has_own_block);
        }
        match (open_ai, anthropic) {
            (true, true) => Err(unsupported("a mixture of OpenAI tool calls and Anthropic content blocks")),
            (_, true) => Ok(Self::Anthropic),
            _ => Ok(Self::OpenAi),
        }
    }

    /// Reads one message.
    pub(super) fn message(self, raw: &RawValue) -> Result<Message> {
        match self {
            Self::OpenAi => openai_chat::message(raw),
            Self::Anthropic => anthropic::message(raw),
        }
    }

    /// Reads messages; errors say which one it was.
    pub(super) fn messages(self, items: &[&RawValue]) -> Result<Vec<Message>> {
        let numbered = items.iter().enumerate();
        numbered.map(|(at, raw)| self.message(raw).map_err(|error| error.with_context("message", at + 1))).collect()
    }
}

fn has_own_block(content: &RawValue) -> bool {
    let blocks = list(content, "the content").unwrap_or_default();
    let kinds = blocks.into_iter().filter_map(|raw| Fields::read(raw, "a block").ok()?.text("type").ok()?);
    kinds.into_iter().any(|kind| anthropic::is_own_block(&kind))
}

fn messages(items: &[&RawValue]) -> Result<Conversation> {
    message::conversation(Dialect::of(items)?.messages(items)?)
}

/// The formats that are known and not read.
pub(super) fn foreign(row: &Fields<'_>) -> Option<&'static str> {
    let is = |name: &str, test: fn(&str) -> bool| {
        let value = row.get(name).filter(|raw| is_text(raw)).and_then(|raw| text(raw, name).ok());
        value.is_some_and(|value| test(&value))
    };
    if ["resourceSpans", "resource_spans", "scopeSpans"].iter().any(|name| row.has(name)) {
        return Some("an OpenTelemetry (OTLP) trace");
    }
    if row.has("run_type") {
        return Some("a LangSmith run tree");
    }
    if is("object", |object| object == "chat.completion.chunk") || is("type", is_stream_event) {
        return Some("a streamed response (SSE)");
    }
    let has_messages = row.has("messages");
    let is_item = is("type", |kind| matches!(kind, "function_call" | "function_call_output" | "message"));
    if is("object", |object| object == "response") || (!has_messages && row.has("input") && row.has("model")) {
        return Some("the OpenAI Responses format");
    }
    if is_item && !row.has("messages") && !row.has("calls") {
        return Some("a list of OpenAI Responses items");
    }
    (!has_messages && row.has("conversations")).then_some("the ShareGPT format")
}

fn is_stream_event(kind: &str) -> bool {
    kind.starts_with("response.") || kind.starts_with("content_block_") || kind == "message_start"
}
