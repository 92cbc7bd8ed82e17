//! The records of the older LearnKit for Python, as a JSON list or as rows of its database.
//!
//! That format is untyped, so what cannot be taken over is named and left out, and the rest is imported.
//! No key of ours can be proven from it, so none of its procedures replays: their calls become the steps
//! of a skill in words, which guides. Left behind without a word are `evolution_gen`, which counts what
//! we do not do, `transfer_confidence`, which nothing ever set, and embeddings.

use std::collections::BTreeMap;
use std::io::BufRead;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserialize as _;
use serde_json::value::RawValue;

use super::LeftOut;
use super::clean::mask_record;
use super::older_content::content;
use super::read::{Entry, OlderRow, next_byte, unreadable};
use crate::json::Json;
use crate::record::{
    AgentName, Confidence, Kind, Origin, Owner, Provenance, Record, RecordId, Scope, Status, Tenant, Usage,
};
use crate::{Error, ErrorKind, Result};

/// So many harms put a record into quarantine there.
const STRIKES: f64 = 3.0;

/// One record as it is written there.
#[derive(Debug)]
pub(super) struct Older {
    place: String,
    /// Its id, where that is known before the record is read.
    id: Option<String>,
    record: Result<String, String>,
}

impl Older {
    /// The record as ours, or why it was left out.
    pub(super) fn entry(self, tenant: &Tenant, agent: &AgentName) -> Entry {
        let Self { place, id, record } = self;
        let parsed = record.and_then(|text| Json::parse(&text).map_err(|error| error.chain()));
        let named = parsed.as_ref().ok().and_then(|json| json.get("id")?.scalar_text()).map(str::to_owned);
        let record = parsed.and_then(|json| match json {
            Json::Object(fields) => Fields(&fields).record(tenant, agent),
            _ => Err("it is no JSON object".to_owned()),
        });
        match record {
            Ok(record) => Entry::Item(record.into()),
            Err(reason) => Entry::LeftOut(LeftOut { place, id: named.or(id), reason }),
        }
    }
}

/// The rows of an older database.
pub(super) struct OlderRows {
    rows: Box<dyn Iterator<Item = Result<OlderRow>> + Send>,
    number: u64,
}

impl OlderRows {
    pub(super) fn of(rows: Box<dyn Iterator<Item = Result<OlderRow>> + Send>) -> Self {
        Self { rows, number: 0 }
    }
}

impl Iterator for OlderRows {
    type Item = Result<Older>;

    fn next(&mut self) -> Option<Self::Item> {
        self.number += 1;
        let row = self.rows.next()?;
        Some(row.map(|OlderRow { id, record }| Older { place: format!("row {}", self.number), id: Some(id), record }))
    }
}

/// The items of an older export, read one by one.
pub(super) struct OlderList {
    input: Box<dyn BufRead + Send>,
    /// Read already, to see whether it is an older export.
    first: Option<Older>,
    number: u64,
    is_done: bool,
}

impl OlderList {
    /// Reads the bracket and the first item.
    ///
    /// # Errors
    /// `InvalidInput` when the first item is no record of an older LearnKit, `Corrupt` when the list is cut off.
    pub(super) fn begin(input: Box<dyn BufRead + Send>) -> Result<Self> {
        let mut list = Self { input, first: None, number: 0, is_done: false };
        list.input.consume(1);
        if list.peek()? == b']' {
            list.end()?;
            return Ok(list);
        }
        let first = list.item()?;
        let is_record = |json: &Json| json.get("type").is_some() && json.get("content").is_some();
        if !first.record.as_ref().is_ok_and(|text| Json::parse(text).is_ok_and(|json| is_record(&json))) {
            let message =
                "the list holds no records of an older LearnKit; `learnkit learn` reads recorded conversations";
            return Err(Error::invalid(message));
        }
        list.first = Some(first);
        Ok(list)
    }

    /// The item that begins here.
    fn item(&mut self) -> Result<Older> {
        self.number += 1;
        let number = self.number;
        if self.peek()? != b'{' {
            return Err(Error::invalid(format!(
                "item {number} of the list is no object, so this is no export of LearnKit"
            )));
        }
        // From a reader, because the item ends where its last bracket closes and the rest stays unread.
        let mut reader = serde_json::Deserializer::from_reader(&mut self.input);
        let raw = Box::<RawValue>::deserialize(&mut reader).map_err(|error| {
            let message = format!("the list is damaged or cut off in item {number}; copy it again or export again");
            Error::new(ErrorKind::Corrupt, message).with_source(error)
        })?;
        Ok(Older { place: format!("item {number}"), id: None, record: Ok(raw.get().to_owned()) })
    }

    /// Goes on to the next item; `false` at the end of the list.
    fn has_next(&mut self) -> Result<bool> {
        match self.peek()? {
            b',' => {
                self.input.consume(1);
                Ok(true)
            }
            b']' => self.end().map(|()| false),
            _ => Err(self.cut_off("neither another item nor the end of the list follows")),
        }
    }

    /// The next byte that is no space, which stays unread.
    fn peek(&mut self) -> Result<u8> {
        let next = next_byte(&mut self.input).map_err(|error| unreadable(self.number, error))?;
        next.ok_or_else(|| self.cut_off("the input ends there"))
    }

    /// Nothing may follow the list.
    fn end(&mut self) -> Result<()> {
        self.is_done = true;
        self.input.consume(1);
        match next_byte(&mut self.input).map_err(|error| unreadable(self.number, error))? {
            Some(_) => Err(self.cut_off("something follows the end of the list")),
            None => Ok(()),
        }
    }

    fn cut_off(&self, what: &str) -> Error {
        let message =
            format!("the list is damaged or cut off at item {}: {what}; copy it again or export again", self.number);
        Error::new(ErrorKind::Corrupt, message)
    }
}

impl Iterator for OlderList {
    type Item = Result<Older>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        if self.is_done {
            return None;
        }
        let next = match self.has_next() {
            Ok(true) => self.item(),
            Ok(false) => return None,
            Err(error) => Err(error),
        };
        self.is_done = next.is_err();
        Some(next)
    }
}

/// The fields of a record or of its content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a BTreeMap<String, Json>);

impl<'a> Fields<'a> {
    /// A field that is there and not null.
    pub(super) fn get(self, key: &str) -> Option<&'a Json> {
        self.0.get(key).filter(|value| **value != Json::Null)
    }

    /// A text that says something.
    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        let Some(Json::Text(text)) = self.get(key) else { return None };
        Some(text.trim()).filter(|text| !text.is_empty())
    }

    /// A number.
    pub(super) fn number(self, key: &str) -> Option<f64> {
        let Some(Json::Number(text)) = self.get(key) else { return None };
        text.parse().ok()
    }

    /// A count; what is none counts as 0.
    fn count(self, key: &str) -> u64 {
        let Some(Json::Number(text)) = self.get(key) else { return 0 };
        text.parse().unwrap_or_default()
    }

    /// A number from 0 to 1.
    fn ratio(self, key: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match self.number(key) {
            Some(number) if (0.0..=1.0).contains(&number) => Ok(Some(number)),
            _ => Err(format!("`{key}` is {} and not a number from 0 to 1", value.to_text())),
        }
    }

    /// A time: without a zone it is UTC, as it was written there.
    fn time(self, key: &str) -> Result<Option<Timestamp>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let text = value.scalar_text().unwrap_or_default();
        let zoned = text.parse::<Timestamp>().ok();
        let naive = || TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok();
        zoned.or_else(naive).map(Some).ok_or_else(|| format!("`{key}` is {} and not a time", value.to_text()))
    }

    fn record(self, tenant: &Tenant, agent: &AgentName) -> Result<Record, String> {
        let id = self.text("id").ok_or("it has no id")?;
        let id = RecordId::new(id).map_err(|error| error.chain())?;
        let kind = self.text("type").ok_or("it has no type")?;
        let kind: Kind = kind.parse().map_err(|_| format!("records of type `{kind}` are not known"))?;
        let Some(Json::Object(inner)) = self.get("content") else { return Err("it has no content".to_owned()) };
        let inner = Fields(inner);
        let origin = Origin {
            tenant: tenant.clone(),
            scope: self.scope()?,
            agent: agent.clone(),
            provenance: Provenance { author: "import".to_owned(), run: None, model: None },
            at: self.time("created_at")?.ok_or("it has no `created_at`")?,
        };
        let mut record = Record::new(id, origin, content(kind, self, inner)?);
        if crate::text::terms(&record.content.search_text().title).is_empty() {
            return Err("it says nothing".to_owned());
        }
        self.standing(&mut record, inner)?;
        record.domains = self.domains();
        record.task_type = self.text("task_type").map(str::to_owned);
        record.transfer_domains = texts(self.get("transfer_domains"));
        record.last_reinforced = self.time("last_reinforced")?;
        // Null means never; only a field that is missing leaves the time to live of its kind.
        if self.0.contains_key("expires_at") {
            record.expires = self.time("expires_at")?;
        }
        mask_record(&mut record);
        Ok(record)
    }

    /// There were no owners, so all of a level becomes the default owner's.
    fn scope(self) -> Result<Scope, String> {
        match self.text("scope") {
            None | Some("team") => Ok(Scope::Team(Owner::default())),
            Some("user") => Ok(Scope::User(Owner::default())),
            Some("public") => Ok(Scope::Public),
            Some(other) => Err(format!("scope `{other}` is not known")),
        }
    }

    fn domains(self) -> BTreeMap<String, f64> {
        let Some(Json::Object(domains)) = self.get("domains") else { return BTreeMap::new() };
        let weights = Fields(domains);
        let weight = |name: &String| Some((name.clone(), weights.number(name)?.clamp(0.0, 1.0)));
        domains.keys().filter_map(weight).collect()
    }

    /// Status, trust and counters.
    fn standing(self, record: &mut Record, inner: Self) -> Result<(), String> {
        let harms = inner.number("_harmful_hits").unwrap_or_default();
        let status = self.text("status").unwrap_or("active");
        record.status = match status {
            "active" => Status::Active,
            "stale" => Status::Stale,
            "quarantine" if harms >= STRIKES => Status::Harmful,
            "quarantine" => Status::Probation,
            "deprecated" => Status::Retired,
            other => return Err(format!("status `{other}` is not known")),
        };
        record.status_reason = format!("imported; it was {status} there");
        record.pinned = inner.get("pinned") == Some(&Json::Bool(true));
        record.confidence = match self.ratio("confidence")? {
            Some(confidence) => Confidence::new(confidence).map_err(|error| error.chain())?,
            None => Confidence::START,
        };
        record.success_rate = self.ratio("success_rate")?;
        record.usage = self.usage(inner, record.success_rate);
        Ok(())
    }

    /// Procedures count what helped and harmed; of all else only the rate is known.
    fn usage(self, inner: Self, rate: Option<f64>) -> Usage {
        let reuse_count = self.count("reuse_count");
        let (mut help, mut harm) = (inner.count("success_count"), inner.count("failure_count"));
        if help + harm == 0
            && let Some(rate) = rate
        {
            help = share(reuse_count, rate);
            harm = reuse_count - help;
        }
        Usage { reuse_count, help, harm, successes: inner.count("success_count"), ..Usage::NEW }
    }
}

/// The part of a count, rounded, at most all of it.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the product is from 0 to the count")]
fn share(count: u64, rate: f64) -> u64 {
    ((count as f64 * rate).round() as u64).min(count)
}

/// The texts of a list; what is no text is written as JSON.
pub(super) fn texts(value: Option<&Json>) -> Vec<String> {
    let text = |item: &Json| match item {
        Json::Text(text) => text.trim().to_owned(),
        other => other.to_text(),
    };
    match value {
        Some(Json::List(items)) => items.iter().map(text).filter(|text| !text.is_empty()).collect(),
        Some(Json::Text(single)) if !single.trim().is_empty() => vec![single.trim().to_owned()],
        _ => Vec::new(),
    }
}
