//! Stable hashes of structured input: every part is length-prefixed, so parts never run together.

use sha2::{Digest as _, Sha256};

/// Collects parts and gives their SHA-256 in lowercase hex.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    /// Starts a fingerprint of one purpose; equal parts under two purposes differ.
    pub(crate) fn new(purpose: &str) -> Self {
        Self(Sha256::new()).part(purpose)
    }

    /// Adds one part.
    #[must_use]
    pub(crate) fn part(mut self, part: &str) -> Self {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
        self
    }

    /// Adds a part that may be absent; absent and empty differ.
    #[must_use]
    pub(crate) fn optional(self, part: Option<&str>) -> Self {
        match part {
            Some(part) => self.part("+").part(part),
            None => self.part("-"),
        }
    }

    /// The whole hash, 64 hex digits.
    pub(crate) fn hex(self) -> String {
        to_hex(&self.0.finalize())
    }

    /// The first 32 hex digits (128 bits), enough for ids.
    pub(crate) fn short(self) -> String {
        let mut hex = self.hex();
        hex.truncate(32);
        hex
    }
}

/// SHA-256 of bytes in lowercase hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

fn to_hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
