//! Values: which are opaque, which are equal, which stand in a text.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::json::Json;

/// Whether a value is opaque (semantics §6): at least 6 characters with a digit, an integer of at
/// least 10,000, or a number with a fraction and at least 4 significant digits.
pub fn is_opaque(value: &Json) -> bool {
    match value {
        Json::Text(text) => text.chars().count() >= 6 && text.chars().any(|char| char.is_ascii_digit()),
        Json::Number(text) => is_opaque_number(text),
        _ => false,
    }
}

fn is_opaque_number(text: &str) -> bool {
    let digits = text.trim_start_matches('-');
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.trim_start_matches('0').len() >= 5;
    }
    let mantissa = digits.split(['e', 'E']).next().unwrap_or_default();
    let significant = mantissa.chars().filter(char::is_ascii_digit).collect::<String>();
    significant.trim_start_matches('0').len() >= 4
}

/// Whether two scalars are the same value: equal text, or numbers that are equal.
///
/// A number and a text that reads the same are equal here, because planners often quote ids.
pub(crate) fn same_scalar(a: &Json, b: &Json) -> bool {
    match (a.scalar_text(), b.scalar_text()) {
        (Some(a), Some(b)) => same_text(a, b),
        _ => a == b,
    }
}

/// Whether two scalars read the same, as text or as numbers.
pub(crate) fn same_text(a: &str, b: &str) -> bool {
    a == b || same_number(a, b)
}

/// Equal as numbers; beyond 15 digits floats would lie, so only equal text counts there.
fn same_number(a: &str, b: &str) -> bool {
    let is_short = |text: &str| text.bytes().filter(u8::is_ascii_digit).count() <= 15;
    let is_plain = |text: &str| is_short(text) && is_plain_number(text);
    is_plain(a)
        && is_plain(b)
        && matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a.total_cmp(&b).is_eq())
}

/// Whether a text is a number as people write one; `007` and `12e4` are codes.
fn is_plain_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole) && are_digits(fraction) && (whole == "0" || !whole.starts_with('0'))
}

/// Whether a text mentions a value as a whole word: no letter or digit touches it, and a number is not
/// a fragment of a longer one (`15` is not mentioned in `15.99`, `1,500` or `-15`).
pub(crate) fn mentions(text: &str, value: &str) -> bool {
    whole_mentions(text, value).next().is_some()
}

/// Where a text mentions a value as a whole word, in bytes.
pub(super) fn whole_mentions(text: &str, value: &str) -> impl Iterator<Item = usize> {
    let ends = value.chars().next().zip(value.chars().next_back());
    let found = ends.into_iter().flat_map(move |ends| text.match_indices(value).map(move |(at, _)| (at, ends)));
    found.filter_map(move |(at, (first, last))| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + value.len()..).unwrap_or_default();
        (!runs_on_before(before, first) && !runs_on_after(after, last)).then_some(at)
    })
}

/// Whether what stands before a value belongs to the same word or number.
fn runs_on_before(before: &str, first: char) -> bool {
    let mut back = before.chars().rev();
    let (Some(near), far) = (back.next(), back.next()) else { return false };
    if near.is_alphanumeric() {
        return first.is_alphanumeric();
    }
    let digit_beyond = far.is_some_and(|char| char.is_ascii_digit());
    match near {
        '.' | ',' => first.is_ascii_digit() && digit_beyond,
        // A hyphen inside an identifier (`ticket-7`) is no sign.
        '-' | '+' | '−' => first.is_ascii_digit() && !far.is_some_and(char::is_alphanumeric),
        _ => false,
    }
}

/// Whether what stands after a value belongs to the same word or number.
fn runs_on_after(after: &str, last: char) -> bool {
    let mut ahead = after.chars();
    let (Some(near), far) = (ahead.next(), ahead.next()) else { return false };
    if near.is_alphanumeric() {
        return last.is_alphanumeric();
    }
    matches!(near, '.' | ',') && last.is_ascii_digit() && far.is_some_and(|char| char.is_ascii_digit())
}

/// Whether a value reads as a date or a time of day, such as `2026-05-01`, `01/05/2026` or `08:30`.
pub(crate) fn is_date_or_time(value: &str) -> bool {
    static SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\b|\b\d{1,2}:\d{2}\b|^\d{4}-\d{2}-\d{2}T").ok()
    });
    SHAPES.as_ref().is_some_and(|shapes| shapes.is_match(value))
}

/// The words, numbers, dates and times of a text in one spelling, so that two texts that share one can
/// be told: lowercase, numbers without thousands marks and trailing zeros, a timestamp as its date and
/// its time, and runs of at least three digits also by themselves (`T1001` has `t1001` and `1001`).
pub(crate) fn atoms(text: &str) -> BTreeSet<String> {
    let mut atoms = BTreeSet::new();
    // Signs, points, commas and colons may belong to a number or time; everything else parts.
    let joins = |char: char| char.is_alphanumeric() || matches!(char, '.' | ',' | ':' | '-' | '+' | '−' | '_');
    for chunk in text.split(|char: char| !joins(char)) {
        let chunk = chunk.trim_end_matches(['.', ',', ':', '-', '+', '−']).trim_start_matches(['.', ',', ':']);
        if chunk.is_empty() {
            continue;
        }
        match number(chunk) {
            Some(number) => {
                atoms.insert(number);
            }
            None => parts(chunk, &mut atoms),
        }
    }
    atoms
}

/// A chunk as a number in one spelling.
fn number(chunk: &str) -> Option<String> {
    static NUMBER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?$").ok());
    if !NUMBER.as_ref()?.is_match(chunk) {
        return None;
    }
    let plain = chunk.replace(',', "").replace('−', "-");
    let plain = plain.trim_start_matches('+');
    Some(match plain.split_once('.') {
        Some((whole, fraction)) => match fraction.trim_end_matches('0') {
            "" => whole.to_owned(),
            fraction => format!("{whole}.{fraction}"),
        },
        None => plain.to_owned(),
    })
}

/// Dates, times, words and digit runs of a chunk that is no number.
fn parts(chunk: &str, atoms: &mut BTreeSet<String>) {
    static MOMENTS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(\d{4}-\d{2}-\d{2})|(\d{1,2}:\d{2})(:\d{2})?").ok());
    let mut rest = chunk.to_owned();
    if let Some(moments) = MOMENTS.as_ref() {
        for found in moments.captures_iter(chunk) {
            let whole = found.get(0).map_or("", |whole| whole.as_str());
            atoms.insert(whole.to_owned());
            atoms.extend(found.get(2).map(|minutes| minutes.as_str().to_owned()));
            rest = rest.replacen(whole, " ", 1);
        }
    }
    // An identifier such as `order_1001` counts as a whole, too.
    let ids = rest.split(['.', ',', ':', '+', ' ']).map(|id| id.trim_matches(['-', '_']).to_lowercase());
    atoms
        .extend(ids.filter(|id| id.contains(['-', '_']) && id.chars().any(char::is_alphabetic) && is_numeric_atom(id)));
    for word in words(&rest) {
        let digits = word.split(|char: char| !char.is_ascii_digit()).filter(|run| run.len() >= 3);
        atoms.extend(digits.map(str::to_owned));
        atoms.insert(word);
    }
}

/// Whether an atom says enough to be recognised inside a longer text: two digits at least.
pub(crate) fn is_numeric_atom(atom: &str) -> bool {
    atom.chars().filter(char::is_ascii_digit).count() >= 2
}

/// A text without its times of day and instants, which tell when it was made and not what it says.
pub(crate) fn without_clock(text: &str) -> Cow<'_, str> {
    static CLOCK: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:\d{4}-\d{2}-\d{2}[T ])?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?").ok()
    });
    CLOCK.as_ref().map_or(Cow::Borrowed(text), |clock| clock.replace_all(text, "⏱"))
}

/// The words of a text, lowercase: maximal runs of letters and digits.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_values_are_long_with_digits_or_large_numbers() {
        let text = |text: &str| is_opaque(&Json::Text(text.into()));
        let number = |text: &str| is_opaque(&Json::Number(text.into()));
        assert!(text("order_1001") && text("W75946") && !text("users") && !text("a1b2") && !text("reservation"));
        assert!(number("10000") && number("-12345") && number("12.34") && number("0.1234"));
        assert!(!number("9999") && !number("1.50") && !number("0.012") && !number("00042"));
    }

    #[test]
    fn a_value_is_mentioned_only_as_a_whole_word() {
        assert!(mentions("refund order_1001.", "order_1001"));
        assert!(!mentions("refund order_10012", "order_1001"));
        assert!(!mentions("in 15 days", "5"));
        assert!(mentions("total $5, paid", "$5"));
        assert!(!mentions("x", ""));
        for text in ["the fee is 15.99", "1,15", "15,500", "-15", "(+15)", "0.15"] {
            assert!(!mentions(text, "15"), "{text}");
        }
        for text in ["15.", "15, 16", "(15)", "a-15", "#15", "15-20", "15%"] {
            assert!(mentions(text, "15"), "{text}");
        }
    }

    #[test]
    fn atoms_bring_every_spelling_to_one() {
        let has = |text: &str, atom: &str| atoms(text).contains(atom);
        for (text, atom) in [
            ("$152", "152"),
            ("152.0", "152"),
            ("1,500 EUR", "1500"),
            ("(-15)", "-15"),
            ("T1001", "1001"),
            ("/exports/order_1001.json", "1001"),
            ("Seat A12.", "a12"),
            ("2026-05-01T10:00:00Z", "2026-05-01"),
            ("2026-05-01T10:00:00Z", "10:00"),
        ] {
            assert!(has(text, atom), "{atom} in {text}: {:?}", atoms(text));
        }
        for (text, atom) in [("15.99", "15"), ("1,500", "500"), ("-15", "15"), ("10012", "1001")] {
            assert!(!has(text, atom), "{atom} in {text}");
        }
        assert_eq!(without_clock("As of 10:03:22 there is order_1001"), "As of ⏱ there is order_1001");
    }

    #[test]
    fn dates_and_times_are_recognised() {
        for text in ["2026-05-01", "2026-05-01T08:30:00Z", "1/5/2026", "08:30", "at 8:30 pm"] {
            assert!(is_date_or_time(text), "{text}");
        }
        assert!(!is_date_or_time("1.5") && !is_date_or_time("10.0.0.1") && !is_date_or_time("order_1001"));
    }

    #[test]
    fn numbers_compare_by_value_and_big_ones_by_text() {
        let number = |text: &str| Json::Number(text.into());
        assert!(same_scalar(&number("3"), &number("3.0")));
        assert!(!same_scalar(&number("9007199254740993"), &number("9007199254740992")));
        assert!(same_scalar(&number("41"), &Json::Text("41".into())));
        assert!(same_scalar(&number("152.0"), &Json::Text("152".into())));
    }
}
