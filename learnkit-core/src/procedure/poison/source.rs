//! Where the values of arguments came from: the task, a record in a result, or free text in one.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::guard::Given;
use super::super::value::{mentions, same_text, words};
use super::{loose, target};
use crate::json::Json;
use crate::run::{CallStatus, Reading, ToolCall};

/// Texts in JSON under these names are read as results of their own: hosts wrap what a tool said so.
const WRAPPERS: [&str; 9] = ["content", "data", "json", "output", "payload", "response", "result", "results", "text"];
/// A sentence has at least so many words.
const MIN_SENTENCE_WORDS: usize = 3;
/// Shorter values are not looked for across spaces and signs, in letters and digits.
const MIN_SQUEEZED: usize = 6;

/// Where a value came from, the best of its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The task or a parameter gives it.
    Task,
    /// It is a value or key of a result as a whole.
    Record,
    /// It only stands inside a longer text of a result.
    Text,
    /// Nothing recorded has it.
    Nowhere,
}

/// What free text in results says of the effect of a tool.
#[derive(Debug, Default)]
pub(super) struct Asked {
    verb: String,
    /// A sentence has the verb.
    pub(super) anywhere: bool,
    /// Values that stand in a text with the verb.
    with: HashSet<usize>,
}

/// The results so far, as far as they have values that are looked for.
#[derive(Debug)]
pub(super) struct Sources<'g> {
    given: &'g Given,
    /// What is looked for, in lowercase.
    wanted: Vec<String>,
    by_text: HashMap<String, usize>,
    by_word: HashMap<String, Vec<usize>>,
    numbers: Vec<usize>,
    /// Letters and digits only, of values that may be written apart.
    squeezed: Vec<(String, usize)>,
    in_records: HashSet<usize>,
    in_texts: HashSet<usize>,
    asked: BTreeMap<String, Asked>,
}

impl<'g> Sources<'g> {
    pub(super) fn new(given: &'g Given) -> Self {
        Self {
            given,
            wanted: Vec::new(),
            by_text: HashMap::new(),
            by_word: HashMap::new(),
            numbers: Vec::new(),
            squeezed: Vec::new(),
            in_records: HashSet::new(),
            in_texts: HashSet::new(),
            asked: BTreeMap::new(),
        }
    }

    /// Looks for a value in lowercase from now on.
    pub(super) fn want(&mut self, text: &str) -> usize {
        if let Some(known) = self.by_text.get(text) {
            return *known;
        }
        let id = self.wanted.len();
        self.wanted.push(text.to_owned());
        self.by_text.insert(text.to_owned(), id);
        if text.parse::<f64>().is_ok() {
            self.numbers.push(id);
        }
        if let Some(word) = words(text).next() {
            self.by_word.entry(word).or_default().push(id);
        }
        id
    }

    /// Looks for a value also where spaces and signs part it: `GB29 NWBK …` is `GB29NWBK…`.
    pub(super) fn want_squeezed(&mut self, text: &str) {
        let id = self.want(text);
        let squeezed = squeezed(text);
        let is_name = text.chars().all(char::is_alphabetic);
        if !is_name && squeezed.len() >= MIN_SQUEEZED && !self.squeezed.iter().any(|(_, known)| *known == id) {
            self.squeezed.push((squeezed, id));
        }
    }

    /// Notes from now on which texts speak of what a tool does.
    pub(super) fn watch(&mut self, tool: &str, verb: String) {
        self.asked.insert(tool.to_owned(), Asked { verb, ..Asked::default() });
    }

    /// What texts said of the effect of a tool; nothing where it is not watched.
    pub(super) fn asked(&self, tool: &str) -> Option<&Asked> {
        self.asked.get(tool)
    }

    /// Whether a text that spoke of the effect of a tool has a value.
    pub(super) fn is_asked_with(&self, asked: &Asked, text: &str) -> bool {
        self.by_text.get(text).is_some_and(|id| asked.with.contains(id))
    }

    /// Whether the task speaks of what a tool does.
    pub(super) fn task_asks(&self, asked: &Asked) -> bool {
        self.given.atoms.iter().any(|word| is_form_of(word, &asked.verb))
    }

    /// Where a value in lowercase came from.
    pub(super) fn origin(&self, text: &str) -> Origin {
        if self.given.gives(text) {
            return Origin::Task;
        }
        let id = self.by_text.get(text);
        let is_in = |found: &HashSet<usize>| id.is_some_and(|id| found.contains(id));
        if is_in(&self.in_records) {
            Origin::Record
        } else if is_in(&self.in_texts) {
            Origin::Text
        } else {
            Origin::Nowhere
        }
    }

    /// Where an address in lowercase came from; one that is nowhere came from where its domain did.
    pub(super) fn origin_of_address(&self, address: &str) -> Origin {
        let mut all = std::iter::once(address).chain(target::domains(address)).map(|text| self.origin(text));
        all.find(|origin| *origin != Origin::Nowhere).unwrap_or(Origin::Nowhere)
    }

    /// Adds the result of a call. What a failed call said, and a call that only free text directed, is no record.
    pub(super) fn add(&mut self, call: &ToolCall, reading: &Reading, directed: bool) {
        let trusted = call.status.is_ok() && !directed;
        let mut visit = Visit { sources: self, tool: &call.tool, trusted };
        visit.value(&reading.result, None);
        if let CallStatus::Failed { reason } = &call.status {
            visit.prose(reason);
        }
    }
}

/// One result on its way in.
struct Visit<'v, 'g> {
    sources: &'v mut Sources<'g>,
    tool: &'v str,
    trusted: bool,
}

impl Visit<'_, '_> {
    fn value(&mut self, json: &Json, key: Option<&str>) {
        match json {
            Json::Object(fields) => {
                for (key, value) in fields {
                    self.whole(key);
                    self.value(value, Some(key));
                }
            }
            Json::List(items) => items.iter().for_each(|item| self.value(item, key)),
            Json::Text(text) if key.is_none_or(|key| WRAPPERS.contains(&key)) => self.result(text),
            Json::Text(text) => self.whole(text),
            Json::Number(number) => self.whole(number),
            Json::Null | Json::Bool(_) => {}
        }
    }

    /// A text that is a result of its own.
    fn result(&mut self, text: &str) {
        if let Some(inner) = Json::opened(text) {
            return self.value(&inner, None);
        }
        if let Some(read) = loose::literal(text) {
            read.values.iter().for_each(|value| self.whole(value));
            return read.prose.iter().for_each(|prose| self.prose(prose));
        }
        match loose::lines(text) {
            Some(read) => {
                // Anyone can write `IBAN: …` into a page: a line gives names, an address only where it is the whole text.
                let is_name = |value: &&String| {
                    value.trim() == text.trim() || target::addresses(&value.to_lowercase()).is_empty()
                };
                read.values.iter().filter(is_name).for_each(|value| self.whole(value));
                self.prose(text);
            }
            None => self.whole(text),
        }
    }

    /// A value that stands by itself, in which others may stand.
    fn whole(&mut self, text: &str) {
        if self.trusted {
            self.record(&text.trim().to_lowercase());
        }
        self.prose(text);
    }

    fn record(&mut self, text: &str) {
        let sources = &mut *self.sources;
        if let Some(id) = sources.by_text.get(text) {
            sources.in_records.insert(*id);
        }
        // 98.70 is 98.7.
        if !sources.numbers.is_empty() && text.parse::<f64>().is_ok() {
            let is_equal = |id: &&usize| sources.wanted.get(**id).is_some_and(|wanted| same_text(wanted, text));
            sources.in_records.extend(sources.numbers.iter().filter(is_equal));
        }
        if text.contains(['@', '/', '.']) && target::addresses(text).first() == Some(&text) {
            let domains = target::domains(text);
            sources.in_records.extend(domains.iter().filter_map(|domain| sources.by_text.get(*domain)));
        }
    }

    /// A text in which values may stand.
    fn prose(&mut self, text: &str) {
        let text = text.trim().to_lowercase();
        let own: HashSet<&str> =
            text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let mut found: HashSet<usize> = HashSet::new();
        let candidates = own.iter().filter_map(|word| self.sources.by_word.get(*word)).flatten();
        found.extend(candidates.filter(|id| {
            let wanted = self.sources.wanted.get(**id);
            wanted.is_some_and(|wanted| wanted.len() <= text.len() && mentions(&text, wanted))
        }));
        if !self.sources.squeezed.is_empty() && text.len() >= MIN_SQUEEZED {
            let plain = squeezed(&text);
            let apart = self.sources.squeezed.iter().filter(|(wanted, _)| plain.contains(wanted.as_str()));
            found.extend(apart.map(|(_, id)| *id));
        }
        if own.len() >= MIN_SENTENCE_WORDS {
            self.note_asked(&own, &found);
        }
        self.sources.in_texts.extend(found);
    }

    /// Notes which effects a sentence speaks of. What a tool says of its own doing asks for nothing.
    fn note_asked(&mut self, own: &HashSet<&str>, found: &HashSet<usize>) {
        for (_, asked) in self.sources.asked.iter_mut().filter(|(tool, _)| tool.as_str() != self.tool) {
            if own.iter().any(|word| is_form_of(word, &asked.verb)) {
                asked.anywhere = true;
                asked.with.extend(found);
            }
        }
    }
}

/// Whether a word is a form of a verb: `reservations` of `reserve`.
fn is_form_of(word: &str, verb: &str) -> bool {
    const ENDINGS: [&str; 12] = ["", "e", "ed", "es", "s", "ing", "ion", "ions", "ation", "ations", "ment", "ments"];
    let stem = verb.strip_suffix('e').unwrap_or(verb);
    let double = stem.chars().next_back().map(String::from).unwrap_or_default();
    let ending = word.strip_prefix(stem);
    ending.is_some_and(|ending| {
        ENDINGS.contains(&ending) || ENDINGS.contains(&ending.trim_start_matches(double.as_str()))
    })
}

/// Only the letters and digits of a text in lowercase.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).collect()
}
