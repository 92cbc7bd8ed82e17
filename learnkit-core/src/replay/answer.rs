//! The answer of a replay: the recorded one only when nothing that it rests on has changed.

use std::sync::Arc;

use crate::json::{Json, Leaf};
use crate::procedure::{Procedure, Step, is_date_or_time, is_opaque, mentions, same_scalar};
use crate::secret::MASK;

/// A shorter id without `_` could be an amount with its unit, such as `EUR5000`.
const MIN_PLAIN_ID: usize = 12;
/// With fewer digits it could be a grade, such as `tier_2`.
const MIN_ID_DIGITS: usize = 4;

/// The recorded answer, when every result equals the recorded one, apart from opaque ids that the
/// answer does not name.
pub(crate) fn recorded_answer<'p>(procedure: &'p Procedure, fresh: &[Option<Fresh>]) -> Option<&'p str> {
    let answer = procedure.answer.as_deref()?;
    let mut pairs = procedure.steps.iter().zip(fresh);
    pairs.all(|(step, fresh)| fresh.as_ref().is_some_and(|fresh| unchanged(step, fresh, answer))).then_some(answer)
}

/// A fresh result of a step.
#[derive(Debug, Clone)]
pub(crate) struct Fresh {
    /// The result.
    pub(crate) json: Arc<Json>,
    /// Whether it is the recorded text to the byte.
    pub(crate) same_text: bool,
}

fn unchanged(step: &Step, fresh: &Fresh, answer: &str) -> bool {
    // Of a cut or masked result only the hash of the whole text is known.
    if fresh.same_text || step.result.truncated || step.result.text.contains(MASK) {
        return fresh.same_text;
    }
    let fresh = &fresh.json;
    let recorded = Json::of_result(&step.result.text);
    recorded == **fresh || same_but_ids(&recorded.leaves(), &fresh.leaves(), answer)
}

fn same_but_ids(recorded: &[Leaf], fresh: &[Leaf], answer: &str) -> bool {
    recorded.len() == fresh.len()
        && recorded.iter().zip(fresh).all(|(a, b)| {
            a.pointer == b.pointer
                && (same_scalar(&a.value, &b.value) || (unnamed_id(&a.value, answer) && unnamed_id(&b.value, answer)))
        })
}

/// An opaque id that the answer does not name. Numbers, dates and amounts are never ids: an answer may
/// rest on them in other words.
fn unnamed_id(value: &Json, answer: &str) -> bool {
    let Json::Text(text) = value else { return false };
    let has = |test: fn(&char) -> bool| text.chars().any(|char| test(&char));
    let is_plain = text.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-'));
    let is_mixed = has(char::is_ascii_alphabetic) && has(char::is_ascii_digit);
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_id = is_plain && is_mixed && ((text.contains('_') && digits >= MIN_ID_DIGITS) || text.len() >= MIN_PLAIN_ID);
    is_id && is_opaque(value) && !is_date_or_time(text) && !mentions(answer, text)
}
