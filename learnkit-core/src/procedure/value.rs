//! Values: which are opaque, which are equal, which stand in a text.

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
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || same_number(a, b),
        _ => match (a.scalar_text(), b.scalar_text()) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

/// Equal as numbers; beyond 15 digits floats would lie, so only equal text counts there.
fn same_number(a: &str, b: &str) -> bool {
    let short = |text: &str| text.bytes().filter(u8::is_ascii_digit).count() <= 15;
    short(a) && short(b) && matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a.total_cmp(&b).is_eq())
}

/// Whether a text mentions a value as a whole word: no letter or digit touches it.
pub(crate) fn mentions(text: &str, value: &str) -> bool {
    if value.is_empty() {
        return false;
    }
    let edge = |char: Option<char>, own: Option<char>| {
        // Beside a sign or bracket of its own a value ends anyway.
        !(char.is_some_and(char::is_alphanumeric) && own.is_some_and(char::is_alphanumeric))
    };
    text.match_indices(value).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + value.len()..).and_then(|after| after.chars().next());
        edge(before, value.chars().next()) && edge(after, value.chars().next_back())
    })
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
    }

    #[test]
    fn numbers_compare_by_value_and_big_ones_by_text() {
        let number = |text: &str| Json::Number(text.into());
        assert!(same_scalar(&number("3"), &number("3.0")));
        assert!(!same_scalar(&number("9007199254740993"), &number("9007199254740992")));
        assert!(same_scalar(&number("41"), &Json::Text("41".into())));
    }
}
