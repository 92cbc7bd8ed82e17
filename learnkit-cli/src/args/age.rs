//! An age on the command line: `30d`, `12h`.

use std::str::FromStr;
use std::time::Duration;

use learnkit::{Error, Result};

/// A number with `m`, `h`, `d` or `w`: minutes, hours, days of 24 hours, weeks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Age(pub(crate) Duration);

impl FromStr for Age {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::invalid("write a whole number and m, h, d or w, as in 30d or 12h");
        let unit = text.chars().last().ok_or_else(wrong)?;
        let seconds: u64 = match unit {
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            'w' => 7 * 24 * 60 * 60,
            _ => return Err(wrong()),
        };
        let count = text.strip_suffix(unit).unwrap_or_default();
        let is_number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
        let count = if is_number { count.parse::<u64>().ok() } else { None };
        let seconds = count.and_then(|count| count.checked_mul(seconds)).ok_or_else(wrong)?;
        Ok(Self(Duration::from_secs(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_whole_number_with_a_unit() {
        let seconds = |text: &str| text.parse::<Age>().ok().map(|age| age.0.as_secs());
        assert_eq!([seconds("90m"), seconds("12h")], [Some(5_400), Some(43_200)]);
        assert_eq!([seconds("30d"), seconds("2w"), seconds("0d")], [Some(2_592_000), Some(1_209_600), Some(0)]);
        for wrong in ["", "d", "30", "-1d", "+1d", "1.5d", "30 d", "30D", "1y", "３d", "99999999999999999999w"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
