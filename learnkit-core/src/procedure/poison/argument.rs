//! The arguments of a call as poison looks at them.

use super::source::{Origin, Sources, squeezed};
use super::{target, unfit};
use crate::json::{Json, Seen};
use crate::run::ToolCall;

/// Longer arguments make a procedure guide-only anyway, in bytes.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;
/// So many arguments without a source are looked at as pieces of one value.
const MAX_PIECES: usize = 8;
/// A value in pieces has at least so many letters and digits.
const MIN_JOINED: usize = 8;

/// Words of tool names that say what a tool does, where it is not the first word.
const VERBS: [&str; 40] = [
    "add", "append", "approve", "book", "buy", "cancel", "change", "create", "delete", "deploy", "execute", "forward",
    "grant", "install", "invite", "merge", "modify", "move", "order", "pay", "post", "publish", "purchase", "push",
    "refund", "remove", "rename", "reply", "reserve", "revoke", "run", "schedule", "send", "share", "submit",
    "transfer", "update", "upload", "wire", "write",
];
/// Tools whose names begin so look; a sentence with such a word asks for nothing.
const LOOKING: [&str; 20] = [
    "check", "count", "describe", "download", "export", "fetch", "find", "get", "has", "inspect", "is", "list", "load",
    "look", "lookup", "query", "read", "search", "show", "view",
];

/// One value among the arguments of a call.
#[derive(Debug)]
pub(super) struct Argument {
    /// A JSON pointer.
    pub(super) pointer: String,
    /// The pointer with `*` for list positions.
    pub(super) pattern: String,
    /// The value in lowercase.
    pub(super) text: String,
    /// Whether it is a key that is an address, and no value.
    pub(super) is_key: bool,
    /// Whether it is a target by its name.
    pub(super) is_named: bool,
    /// Whether it is a path by its shape.
    pub(super) is_path: bool,
    /// The addresses in it.
    pub(super) addresses: Vec<String>,
    /// The parts of it that look made for one run.
    pub(super) volatile: Vec<String>,
}

impl Argument {
    /// The arguments of a call; from now on they are looked for in results.
    pub(super) fn of_call(call: &ToolCall, sources: &mut Sources<'_>) -> Vec<Self> {
        let is_small = call.arguments.raw().len() <= MAX_ARGUMENT_BYTES;
        let Some(json) = is_small.then(|| call.arguments.json().ok()).flatten() else { return Vec::new() };
        let arguments = Self::of_json(&json);
        for argument in &arguments {
            sources.want(&argument.text);
            if argument.is_target() {
                sources.want_squeezed(&argument.text);
            }
            argument.volatile.iter().for_each(|text| {
                sources.want(text);
            });
            for address in &argument.addresses {
                sources.want_squeezed(address);
                target::domains(address).into_iter().for_each(|domain| {
                    sources.want(domain);
                });
            }
        }
        let is_open = |argument: &Argument| sources.origin(&argument.text) != Origin::Task;
        joined(&arguments, is_open).iter().for_each(|joined| sources.want_squeezed(joined));
        arguments
    }

    fn of_json(json: &Json) -> Vec<Self> {
        let mut arguments = Vec::new();
        json.walk(|place, seen| match seen {
            Seen::Leaf(value) => {
                if let Some(text) = value.scalar_text() {
                    arguments.push(Self::new(place.pointer().to_owned(), place.pattern().to_owned(), text));
                }
            }
            Seen::Object(fields) => {
                let keys = fields.keys().map(|key| Self::new(format!("{}/{key}", place.pointer()), String::new(), key));
                let addresses = keys.filter(|key| !key.addresses.is_empty());
                arguments.extend(addresses.map(|key| Self { is_key: true, ..key }));
            }
            Seen::List(_) => {}
        });
        arguments
    }

    fn new(pointer: String, pattern: String, text: &str) -> Self {
        let text = text.trim().to_lowercase();
        Self {
            is_named: target::is_named(&pattern),
            is_path: target::is_path(&text),
            addresses: target::addresses(&text).into_iter().map(str::to_owned).collect(),
            volatile: unfit::volatile(&text),
            is_key: false,
            pointer,
            pattern,
            text,
        }
    }

    /// Whether it says where an effect goes.
    pub(super) fn is_target(&self) -> bool {
        self.is_named || self.is_path || self.addresses.first() == Some(&self.text)
    }
}

/// What two arguments make together, as far as it looks like an address.
fn joined(arguments: &[Argument], is_open: impl Fn(&Argument) -> bool) -> Vec<String> {
    let is_piece =
        |argument: &&Argument| !argument.is_key && !argument.text.contains(char::is_whitespace) && is_open(argument);
    let pieces: Vec<&Argument> = arguments.iter().filter(is_piece).take(MAX_PIECES).collect();
    let pairs = pieces.iter().flat_map(|first| pieces.iter().map(move |second| (first, second)));
    let joined = pairs.filter(|(first, second)| first.pointer != second.pointer);
    joined
        .map(|(first, second)| format!("{}{}", first.text, second.text))
        .filter(|text| is_like_an_address(text))
        .collect()
}

fn is_like_an_address(text: &str) -> bool {
    let has_letter = text.chars().any(char::is_alphabetic);
    has_letter && text.contains(|char: char| char.is_ascii_digit() || char == '@') && squeezed(text).len() >= MIN_JOINED
}

/// Whether two arguments are pieces of a value that only stands in free text, while none of them has a better source.
pub(super) fn is_split(arguments: &[Argument], sources: &Sources<'_>) -> bool {
    let is_open = |argument: &Argument| matches!(sources.origin(&argument.text), Origin::Text | Origin::Nowhere);
    joined(arguments, is_open).iter().any(|text| sources.origin(text) == Origin::Text)
}

/// What a tool does, in one word; nothing for a tool that looks by its name.
pub(super) fn verb(tool: &str) -> Option<String> {
    let words = target::name_words(tool);
    let is_known = |word: &&String| VERBS.contains(&word.as_str()) || LOOKING.contains(&word.as_str());
    let verb = words.iter().find(is_known).or(words.first())?;
    (!LOOKING.contains(&verb.as_str())).then(|| verb.clone())
}
