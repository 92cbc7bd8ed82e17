//! What a tool call gave back.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::hash::sha256;
use crate::json::Json;
use crate::secret::{Veiled, holds_secret, mask_text};
use crate::{Error, Result};

/// Results longer than this are stored as a prefix, in bytes (semantics §5).
pub const STORED_RESULT_BYTES: usize = 64 * 1024;

/// The result of a tool, as text; JSON stays the JSON text the tool wrote.
///
/// `Debug` shows it with its secrets masked.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolOutput {
    // Shared, because planners are given the whole history at every step.
    text: Arc<str>,
    media_type: Option<String>,
    is_error: bool,
}

impl ToolOutput {
    /// A text, or JSON as text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into().into(), media_type: None, is_error: false }
    }

    /// A value written as JSON.
    ///
    /// # Errors
    /// `InvalidInput` when the value cannot be written as JSON.
    pub fn json(value: &impl Serialize) -> Result<Self> {
        let text = serde_json::to_string(value)
            .map_err(|error| Error::invalid("the tool's result cannot be written as JSON").with_source(error))?;
        Ok(Self::text(text))
    }

    /// Bytes, kept as a typed reference: media type, size and hash.
    pub fn binary(media_type: impl Into<String>, bytes: &[u8]) -> Self {
        let media_type = media_type.into();
        let reference = serde_json::json!({
            "media_type": media_type, "bytes": bytes.len(), "sha256": sha256(bytes),
        });
        Self { text: reference.to_string().into(), media_type: Some(media_type), is_error: false }
    }

    /// An error that the tool reported as its result.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into().into(), media_type: None, is_error: true }
    }

    /// The text.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// Whether the tool itself said that this is an error.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// The result as JSON where it is JSON, else one text.
    pub fn to_json(&self) -> Json {
        Json::of_result(&self.text)
    }

    /// What is stored of it, secrets masked: all of it up to `limit` bytes, else a prefix with size
    /// and hash.
    pub fn stored(&self, limit: usize) -> StoredOutput {
        self.stored_as(&self.to_json(), limit)
    }

    /// The same of a result that was read already.
    pub(super) fn stored_as(&self, read: &Json, limit: usize) -> StoredOutput {
        let is_nested = matches!(read, Json::Object(_) | Json::List(_));
        let masked = if is_nested && !holds_secret(read) {
            Cow::Borrowed(&*self.text)
        } else {
            Cow::Owned(mask_text(&self.text).text)
        };
        StoredOutput {
            text: prefix(&masked, limit).to_owned(),
            bytes: self.text.len(),
            sha256: sha256(self.text.as_bytes()),
            truncated: masked.len() > limit,
            media_type: self.media_type.clone(),
        }
    }
}

impl std::fmt::Debug for ToolOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolOutput")
            .field("text", &Veiled(&self.text))
            .field("media_type", &self.media_type)
            .field("is_error", &self.is_error)
            .finish()
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<serde_json::Value> for ToolOutput {
    /// A JSON string becomes its text; everything else its JSON text.
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::String(text) => Self::text(text),
            other => Self::text(other.to_string()),
        }
    }
}

impl From<ToolOutput> for String {
    fn from(output: ToolOutput) -> Self {
        output.text.as_ref().to_owned()
    }
}

impl From<ToolOutput> for serde_json::Value {
    /// An object or a list is read as JSON; everything else is one text.
    fn from(output: ToolOutput) -> Self {
        let is_nested = output.text.trim_start().starts_with(['{', '[']);
        let read = is_nested.then(|| serde_json::from_str(&output.text).ok()).flatten();
        read.unwrap_or_else(|| Self::String(output.into()))
    }
}

/// A result as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredOutput {
    /// The text, or its prefix; secrets masked.
    pub text: String,
    /// The size of the whole text in bytes.
    pub bytes: usize,
    /// The hash of the whole text as the tool gave it.
    pub sha256: String,
    /// Whether `text` is only a prefix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The media type of a binary result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// The longest prefix of at most `limit` bytes that ends at a character boundary.
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f79_a_result_of_10_mb_is_cut_at_a_character_and_says_so() {
        let stored = ToolOutput::text("é".repeat(5_000_000)).stored(STORED_RESULT_BYTES - 1);
        assert!(stored.truncated);
        assert_eq!(stored.bytes, 10_000_000);
        assert_eq!(stored.text.len(), STORED_RESULT_BYTES - 2);
    }

    #[test]
    fn bytes_become_a_typed_reference() {
        let output = ToolOutput::binary("image/png", b"\x89PNG");
        assert_eq!(output.to_json().get("bytes"), Some(&Json::Number("4".into())));
        assert_eq!(output.stored(99).media_type.as_deref(), Some("image/png"));
    }
}
