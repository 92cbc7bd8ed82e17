//! Recorded HTTP exchanges: several requests of one growing conversation are one conversation.

use learnkit_core::conversation::Label;
use learnkit_core::{Error, Result};
use serde_json::value::RawValue;

use super::Entry;
use super::fields::{Fields, is_text, text};
use super::message::{Message, conversation};
use super::row::{Dialect, Place, Source, foreign, runs, unsupported};

/// One exchange, read.
#[derive(Debug)]
struct Exchange {
    number: usize,
    asked: Vec<Message>,
    reply: Reply,
}

#[derive(Debug)]
enum Reply {
    Message {
        message: Message,
        cut_off: Option<String>,
    },
    /// What was streamed is not read; a later request may repeat it.
    Streamed,
}

/// The entries of all exchanges.
///
/// An exchange is left out where a later one repeats its messages and its reply, because the later
/// one says it all. If all are refused for one reason, that is one entry.
///
/// # Errors
/// The reason that all exchanges share, or `InvalidInput` for a task or outcome that could belong to
/// several conversations.
pub(super) fn entries(interactions: &[&RawValue], label: &Label, place: &Place, source: &Source) -> Result<Vec<Entry>> {
    let (mut exchanges, mut refused) = (Vec::new(), Vec::new());
    for (at, raw) in interactions.iter().enumerate() {
        match Exchange::read(raw, at + 1) {
            Ok(exchange) => exchanges.push(exchange),
            Err(error) => refused.push((at + 1, error)),
        }
    }
    let mut last = keep_last(exchanges);
    if last.is_empty() && refused.windows(2).all(|pair| matches!(pair, [a, b] if a.1.message() == b.1.message())) {
        return refused.pop().map_or_else(|| Ok(Vec::new()), |(_, error)| Err(error));
    }
    if last.len() > 1 && (label.task.is_some() || label.verdict.is_some()) {
        let message = "a task or outcome stands beside several conversations; give each conversation its own row";
        return Err(Error::invalid(message).with_context("conversations", last.len()));
    }
    let single = interactions.len() == 1 || (last.len() == 1 && refused.is_empty());
    let place_of = |number| if single { place.clone() } else { place.part("interaction", number) };
    let mut entries: Vec<(usize, Vec<Entry>)> = Vec::new();
    for (number, error) in refused {
        entries.push((number, vec![place_of(number).entry(Err(error), source)]));
    }
    for exchange in last.drain(..) {
        let (number, place) = (exchange.number, place_of(exchange.number));
        let read = exchange.entries(label, &place, source);
        entries.push((number, read.unwrap_or_else(|error| vec![place.entry(Err(error), source)])));
    }
    entries.sort_by_key(|(number, _)| *number);
    Ok(entries.into_iter().flat_map(|(_, entries)| entries).collect())
}

/// The exchanges that no later one continues.
fn keep_last(exchanges: Vec<Exchange>) -> Vec<Exchange> {
    let continued =
        |at: usize, exchange: &Exchange| exchanges.iter().skip(at + 1).any(|later| later.continues(exchange));
    let keep: Vec<bool> = exchanges.iter().enumerate().map(|(at, exchange)| !continued(at, exchange)).collect();
    exchanges.into_iter().zip(keep).filter_map(|(exchange, keep)| keep.then_some(exchange)).collect()
}

impl Exchange {
    fn read(raw: &RawValue, number: usize) -> Result<Self> {
        let exchange = Fields::read(raw, "an interaction")?;
        let missing = |what: &str| Error::invalid(format!("an interaction has no {what}"));
        let request = exchange.object("request")?.ok_or_else(|| missing("`request`"))?;
        if let Some(format) = foreign(&request) {
            return Err(unsupported(format));
        }
        let Some(items) = request.list("messages")? else { return Err(unsupported("a request without `messages`")) };
        let response = exchange.get("response").ok_or_else(|| missing("`response`"))?;
        let dialect = Dialect::of(&items)?;
        if is_text(response) {
            let asked = spoken(dialect.messages(&items)?);
            return streamed(&text(response, "response")?).map(|reply| Self { number, asked, reply });
        }
        let response = Fields::read(response, "the response")?;
        let (dialect, reply) = if response.has("choices") {
            (Dialect::OpenAi, choice(&response)?)
        } else if response.has("content") {
            (Dialect::Anthropic, anthropic_reply(exchange.get("response"), &response)?)
        } else {
            return Err(unsupported("a response that is neither a chat completion nor an Anthropic message"));
        };
        Ok(Self { number, asked: spoken(dialect.messages(&items)?), reply })
    }

    fn continues(&self, earlier: &Self) -> bool {
        let said = earlier.asked.len();
        let Some(next) = self.asked.get(said) else { return false };
        let same = self.asked.iter().zip(&earlier.asked).all(|(a, b)| a.same_as(b));
        same && match &earlier.reply {
            Reply::Streamed => true,
            Reply::Message { message, .. } => next.same_as(message),
        }
    }

    fn entries(self, label: &Label, place: &Place, source: &Source) -> Result<Vec<Entry>> {
        let Reply::Message { message, cut_off } = self.reply else {
            return Err(unsupported("a streamed response (SSE)"));
        };
        let mut conversation = conversation(self.asked.into_iter().chain([message]))?;
        if let Some(reason) = cut_off {
            conversation.cut_off(reason);
        }
        Ok(runs(&conversation, label, place, source))
    }
}

/// The messages that say something, so that a changed system prompt is no other conversation.
fn spoken(messages: Vec<Message>) -> Vec<Message> {
    messages.into_iter().filter(|message| !message.is_empty()).collect()
}

fn streamed(text: &str) -> Result<Reply> {
    if text.starts_with("data:") || text.starts_with("event:") {
        return Ok(Reply::Streamed);
    }
    Err(unsupported("a response that is plain text"))
}

fn choice(response: &Fields<'_>) -> Result<Reply> {
    let choices = response.list("choices")?.unwrap_or_default();
    let [choice] = choices.as_slice() else {
        let message = "the response has not exactly one choice, so it is open which one was used";
        return Err(Error::invalid(message).with_context("choices", choices.len()));
    };
    let choice = Fields::read(choice, "a choice")?;
    let message = choice.get("message").ok_or_else(|| Error::invalid("a choice has no `message`"))?;
    let reason = choice.text("finish_reason")?;
    let cut_off = reason.filter(|reason| !matches!(reason.as_str(), "stop" | "tool_calls" | "function_call"));
    Ok(Reply::Message { message: Dialect::OpenAi.message(message)?, cut_off })
}

fn anthropic_reply(raw: Option<&RawValue>, response: &Fields<'_>) -> Result<Reply> {
    let raw = raw.ok_or_else(|| Error::invalid("an interaction has no `response`"))?;
    let reason = response.text("stop_reason")?;
    let cut_off = reason.filter(|reason| !matches!(reason.as_str(), "end_turn" | "tool_use" | "stop_sequence"));
    Ok(Reply::Message { message: Dialect::Anthropic.message(raw)?, cut_off })
}
