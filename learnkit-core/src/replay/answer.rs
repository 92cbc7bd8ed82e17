//! The answer of a replay: the recorded one only when nothing that it rests on has changed.

use crate::json::{Json, Leaf};
use crate::procedure::{Procedure, Step, is_opaque, mentions, same_scalar};

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
    pub(crate) json: Json,
    /// Whether it is the recorded text to the byte.
    pub(crate) same_text: bool,
}

fn unchanged(step: &Step, fresh: &Fresh, answer: &str) -> bool {
    if fresh.same_text || step.result.truncated {
        return fresh.same_text;
    }
    let fresh = &fresh.json;
    let fresh = match fresh {
        Json::Text(text) => Json::Text(crate::secret::mask_text(text).text),
        other => Json::parse(&crate::secret::mask_json(&other.to_text()).text).unwrap_or_else(|_| other.clone()),
    };
    let recorded = Json::of_result(&step.result.text);
    recorded == fresh || same_but_ids(&recorded.leaves(), &fresh.leaves(), answer)
}

fn same_but_ids(recorded: &[Leaf], fresh: &[Leaf], answer: &str) -> bool {
    recorded.len() == fresh.len()
        && recorded.iter().zip(fresh).all(|(a, b)| {
            a.pointer == b.pointer
                && (same_scalar(&a.value, &b.value) || (unnamed_id(&a.value, answer) && unnamed_id(&b.value, answer)))
        })
}

/// An opaque id that the answer does not name. Numbers with a fraction are amounts, not ids.
fn unnamed_id(value: &Json, answer: &str) -> bool {
    let is_id = match value {
        Json::Number(text) => !text.contains(['.', 'e', 'E']),
        Json::Text(text) => !text.contains(char::is_whitespace),
        _ => false,
    };
    is_id && is_opaque(value) && value.scalar_text().is_some_and(|text| !mentions(answer, text))
}
