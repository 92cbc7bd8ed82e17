//! How far a record is trusted to help, and how sure the gate was of what it saw.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(f64);

impl Confidence {
    /// Where records start (semantics §8).
    pub const START: Self = Self(0.5);
    /// Where a distilled skill starts.
    pub const DISTILLED: Self = Self(0.75);
    /// Where a failure starts.
    pub const FAILURE: Self = Self(0.7);
    /// The highest value that reinforcement reaches.
    pub const CEILING: Self = Self(0.95);
    /// Below this a record is stale and is not retrieved.
    pub const FLOOR: Self = Self(0.30);

    /// Checks and wraps a number.
    ///
    /// # Errors
    /// `InvalidInput` for NaN and anything outside 0 to 1.
    pub fn new(value: f64) -> Result<Self> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(Error::invalid("confidence must be a number from 0 to 1").with_context("value", value))
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The higher of two.
    #[must_use]
    pub(crate) fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// More by `step`, at most [`Self::CEILING`] (never lowered by reaching it).
    #[must_use]
    pub(crate) fn raised(self, step: f64) -> Self {
        Self((self.0 + step).min(Self::CEILING.0.max(self.0)))
    }

    /// Less by `step`, at least 0.
    #[must_use]
    pub(crate) fn lowered(self, step: f64) -> Self {
        // Rounded to 1e-12 so that repeated steps of 0.02 meet the documented thresholds exactly.
        Self(((self.0 - step).max(0.0) * 1e12).round() / 1e12)
    }
}

impl TryFrom<f64> for Confidence {
    type Error = Error;
    fn try_from(value: f64) -> Result<Self> {
        Self::new(value)
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> Self {
        confidence.0
    }
}

/// How the outcome of what a record came from was known; ordered, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trust {
    /// Tool outcomes only.
    #[default]
    Unverified,
    /// A second run that was planned, not replayed, made the same calls or had the same effects.
    Confirmed,
    /// The caller reported success, or a verifier read it back.
    Verified,
}

impl Trust {
    /// The word shown everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Confirmed => "confirmed",
            Self::Verified => "verified",
        }
    }
}

impl std::fmt::Display for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c10_nan_and_out_of_range_numbers_are_refused() {
        for value in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
            assert!(Confidence::new(value).is_err());
        }
        assert!(serde_json::from_str::<Confidence>("1.5").is_err());
    }
}
