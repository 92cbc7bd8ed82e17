//! Failures that leave open whether the call has acted: a server may have done what it was asked before its
//! answer was lost.

use super::{CallStatus, ToolCall, prefix};
use crate::json::Json;
use crate::tool::EffectClass;

/// Words of an answer that was lost or never came.
const LOST_ANSWER: &[&str] = &[
    "timed out",
    "timeout",
    "time-out",
    "deadline",
    "did not answer",
    "no answer",
    "no response",
    "connection reset",
    "connection closed",
    "connection aborted",
    "connection lost",
    "broken pipe",
    "the tool panicked",
    "the call was cancelled before it finished",
    "the call did not finish",
];
/// So much of what a tool says is looked at, in bytes.
const LOOKED_AT_BYTES: usize = 500;

impl ToolCall {
    /// Whether it failed in a way that leaves open whether it has acted, and making it again may act twice: no
    /// answer came, or one of the HTTP codes 408 and 5xx, and its tool is stated neither to only read nor to be
    /// idempotent. Told by the words of the failure, so it can be wrong either way.
    pub fn is_in_doubt(&self) -> bool {
        let CallStatus::Failed { reason } = &self.status else { return false };
        let may_act_twice = !matches!(self.annotations.effect(), EffectClass::ReadOnly | EffectClass::Idempotent);
        may_act_twice && (is_lost(reason) || is_lost(self.output.as_text()) || has_open_code(&self.output.to_json()))
    }
}

fn is_lost(text: &str) -> bool {
    let text = prefix(text, LOOKED_AT_BYTES).to_lowercase();
    LOST_ANSWER.iter().any(|words| text.contains(words))
}

/// A server that breaks down, or has waited too long, may have acted before (RFC 9110, 15.5.9 and 15.6).
fn has_open_code(json: &Json) -> bool {
    ["status", "code", "statusCode"].into_iter().any(|key| {
        let Some(Json::Number(text)) = json.get(key) else { return false };
        text.parse().is_ok_and(|code: u32| code == 408 || (500..600).contains(&code))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::SystemClock;
    use crate::run::{CallDraft, ToolOutput, ToolTracker};
    use crate::tool::ToolAnnotations;

    fn in_doubt(annotations: ToolAnnotations, result: Result<&str, &str>) -> bool {
        let tracker = ToolTracker::new(Arc::new(SystemClock));
        let pending = tracker.begin(CallDraft::new("pay", serde_json::json!({})).with_annotations(annotations));
        match result {
            Ok(text) => pending.finish(ToolOutput::text(text), None),
            Err(error) => pending.fail(error),
        }
        tracker.calls().iter().any(ToolCall::is_in_doubt)
    }

    #[test]
    fn f18_a_lost_answer_of_an_effect_leaves_its_outcome_open() {
        let unknown = ToolAnnotations::default();
        for (result, is_open) in [
            (Err("Operation timed out"), true),
            (Err("Connection reset by peer (os error 104)"), true),
            (Err("the tool panicked"), true),
            (Ok(r#"{"status": 504, "message": "upstream"}"#), true),
            (Ok(r#"{"code": 500}"#), true),
            (Ok(r#"{"isError": true, "content": "request timeout"}"#), true),
            (Err("card declined"), false),
            (Ok(r#"{"status": 404}"#), false),
            (Ok(r#"{"error": "no such order"}"#), false),
            (Ok(r#"{"state": "the last request timed out"}"#), false),
        ] {
            assert_eq!(in_doubt(unknown, result), is_open, "{result:?}");
        }
        let destructive = ToolAnnotations { destructive: Some(true), ..unknown };
        assert!(in_doubt(destructive, Err("timed out")));
        for harmless in [
            ToolAnnotations { read_only: Some(true), ..unknown },
            ToolAnnotations { idempotent: Some(true), ..unknown },
        ] {
            assert!(!in_doubt(harmless, Err("timed out")), "making it again changes nothing");
        }
    }
}
