//! What records and runs share: bodies as JSON, times as integers.

use jiff::Timestamp;
use learnkit_core::{Error, ErrorKind};
use rusqlite::Row;
use rusqlite::types::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Outcome;

/// Named parameters of a statement.
pub(crate) type Params = Vec<(&'static str, Value)>;

/// A value or null.
pub(crate) fn optional(value: Option<impl Into<Value>>) -> Value {
    value.map_or(Value::Null, Into::into)
}

/// Nanoseconds since 1970, clamped to the years 1677 to 2262; the body keeps the exact time.
pub(crate) fn nanoseconds(time: Timestamp) -> i64 {
    let clamp = if time < Timestamp::UNIX_EPOCH { i64::MIN } else { i64::MAX };
    i64::try_from(time.as_nanosecond()).unwrap_or(clamp)
}

/// A value as readable JSON.
pub(crate) fn encode(value: &impl Serialize) -> Outcome<String> {
    let unwritable = |error| Error::new(ErrorKind::Internal, "a value cannot be written as JSON").with_source(error);
    Ok(serde_json::to_string(value).map_err(unwritable)?)
}

/// The body in a column of a row, or why it cannot be read.
pub(crate) fn decode<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Outcome<Result<T, String>> {
    Ok(match row.get_ref(column)?.as_str() {
        Ok(body) => serde_json::from_str(body).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    })
}

/// The error of a row that was asked for by id and cannot be read.
pub(crate) fn corrupt(id: &str, reason: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a stored row cannot be read: {reason}; delete it or restore a backup"))
        .with_context("id", id)
}

/// A count as SQLite takes it; what is beyond 64 bits is as good as no limit.
pub(crate) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
