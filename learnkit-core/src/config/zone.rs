//! The time zone in which "today" is understood.

use std::fmt;
use std::str::FromStr;

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz;
use serde::Deserialize;

use crate::Error;

/// A time zone: an IANA name such as `Europe/Berlin`, or a fixed offset such as `+02:00`; the default is `UTC`.
///
/// Names are looked up in the time zone files of the operating system; fixed offsets and `UTC` work without them.
///
/// ```
/// use learnkit_core::config::TimeZone;
/// assert_eq!("+5:30".parse::<TimeZone>().is_ok(), false);
/// assert_eq!("+05:30".parse::<TimeZone>()?.name(), "+05:30");
/// # Ok::<(), learnkit_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct TimeZone {
    name: String,
    zone: tz::TimeZone,
}

impl TimeZone {
    /// The name or offset in its usual spelling.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn zone(&self) -> &tz::TimeZone {
        &self.zone
    }

    fn of(zone: tz::TimeZone) -> Option<Self> {
        let name = match (zone.iana_name(), zone.to_fixed_offset()) {
            (_, Ok(offset)) if offset.is_zero() => return Some(Self::default()),
            (Some(name), _) => name.to_owned(),
            (None, Ok(offset)) => offset_name(offset.seconds()),
            (None, Err(_)) => return None,
        };
        Some(Self { name, zone })
    }
}

/// An offset in seconds as `+02:00`.
fn offset_name(seconds: i32) -> String {
    let (sign, seconds) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest == 0 {
        format!("{sign}{hours:02}:{minutes:02}")
    } else {
        format!("{sign}{hours:02}:{minutes:02}:{rest:02}")
    }
}

impl Default for TimeZone {
    fn default() -> Self {
        Self { name: "UTC".to_owned(), zone: tz::TimeZone::UTC }
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for TimeZone {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let zone = DateTimeParser::new().parse_time_zone(text.trim()).ok().and_then(Self::of);
        zone.ok_or_else(|| {
            Error::invalid(
                "it is no time zone of this system; use an IANA name such as `Europe/Berlin`, or an offset such as `+02:00`",
            )
        })
    }
}

impl TryFrom<String> for TimeZone {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_zone_has_one_spelling() {
        for (text, name) in
            [("UTC", "UTC"), (" utc ", "UTC"), ("+00:00", "UTC"), ("+02", "+02:00"), ("-03:30", "-03:30")]
        {
            assert_eq!(text.parse::<TimeZone>().unwrap().to_string(), name, "{text}");
        }
    }

    #[test]
    fn what_is_no_zone_is_refused_with_the_way_out() {
        for text in ["", "Berlin time", "Europe/Nowhere", "EST5EDT4,M3.2.0,M11.1.0", "99:00"] {
            let error = text.parse::<TimeZone>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
            assert!(error.to_string().contains("`+02:00`"), "{error}");
        }
    }
}
