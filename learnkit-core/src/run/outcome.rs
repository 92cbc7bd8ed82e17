//! Whether a call worked, and whether a run did: the gate.

use serde::{Deserialize, Serialize};

use super::{CallStatus, ToolCall, ToolOutput, short_reason};
use crate::json::Json;

/// A gate score from here on passes (semantics §5).
pub const QUALITY_THRESHOLD: f64 = 3.5;

/// Why a result counts as a failure, or nothing when it does not.
///
/// Failures are an error the tool reported, and error envelopes: `isError: true`, `success: false`,
/// `ok: false`, non-blank `error` or `errors`, a top-level integer `status`, `code` or `statusCode`
/// of 400 to 599, and a text that starts with `Error:`.
pub fn failure_of(output: &ToolOutput) -> Option<String> {
    if output.is_error() {
        return Some("the tool returned an error".to_owned());
    }
    match output.to_json() {
        Json::Text(text) if text.trim_start().starts_with("Error:") => {
            Some("the result starts with `Error:`".to_owned())
        }
        json @ Json::Object(_) => envelope(&json),
        _ => None,
    }
}

fn envelope(json: &Json) -> Option<String> {
    let is = |key: &str, value: bool| json.get(key) == Some(&Json::Bool(value));
    if is("isError", true) {
        return Some("the result says `isError: true`".to_owned());
    }
    for key in ["success", "ok"] {
        if is(key, false) {
            return Some(format!("the result says `{key}: false`"));
        }
    }
    for key in ["error", "errors"] {
        if json.get(key).is_some_and(|value| !value.is_blank()) {
            return Some(format!("the result has a non-empty `{key}`"));
        }
    }
    ["status", "code", "statusCode"].into_iter().find_map(|key| {
        let Some(Json::Number(text)) = json.get(key) else { return None };
        let code: u32 = text.parse().ok()?;
        (400..600).contains(&code).then(|| format!("the result says `{key}: {code}`"))
    })
}

/// What the caller knows of a run's outcome: tests passed, the user confirmed, a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It solved the task.
    Success,
    /// It did not.
    Failure,
}

/// Where a gate score came from, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateSource {
    /// The caller reported the outcome.
    Caller,
    /// A verifier read back what the run did.
    Verifier,
    /// The outcomes of the tool calls.
    ToolOutcomes,
    /// The run itself ended with an error.
    RunError,
    /// No signal at all.
    Abstained,
}

impl GateSource {
    /// Whether somebody who knows the true outcome said so.
    pub fn is_verdict(self) -> bool {
        matches!(self, Self::Caller | Self::Verifier)
    }
}

/// The judgement of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// 0 to 5; absent when the gate abstains.
    pub score: Option<f64>,
    /// What the score rests on.
    pub source: GateSource,
    /// Why, in words.
    pub reason: String,
}

impl Gate {
    /// The score of an outcome that the caller reported: 5 or 0.
    pub fn of_verdict(verdict: Verdict) -> Self {
        let (score, reason) = match verdict {
            Verdict::Success => (5.0, "the caller reported success"),
            Verdict::Failure => (0.0, "the caller reported failure"),
        };
        Self { score: Some(score), source: GateSource::Caller, reason: reason.to_owned() }
    }

    /// The score of what a verifier found: 5 or 0.
    pub fn of_verifier(verdict: Verdict) -> Self {
        let (score, reason) = match verdict {
            Verdict::Success => (5.0, "the verifier found a success"),
            Verdict::Failure => (0.0, "the verifier found a failure"),
        };
        Self { score: Some(score), source: GateSource::Verifier, reason: reason.to_owned() }
    }

    /// The score of tool outcomes alone; see [`outcome_score`]. Where only the environment failed, the gate
    /// abstains.
    pub fn of_calls(calls: &[ToolCall], turns: u32, has_answer: bool) -> Self {
        let Some(tally) = Tally::of(calls, turns) else {
            return Self { score: None, source: GateSource::Abstained, reason: "nothing captured".to_owned() };
        };
        if let Some(tool) = tally.outage() {
            let reason = format!("the environment failed: `{tool}` was out of reach");
            return Self { score: None, source: GateSource::Abstained, reason };
        }
        let (score, reason) = tally.score(has_answer);
        Self { score: Some(score), source: GateSource::ToolOutcomes, reason }
    }

    /// The score of a run that ended with an error.
    pub fn of_run_error(message: &str) -> Self {
        let reason = format!("the run failed: {}", short_reason(message));
        Self { score: Some(0.0), source: GateSource::RunError, reason }
    }

    /// Whether the run passes; an abstaining gate neither passes nor fails.
    pub fn passes(&self, threshold: f64) -> bool {
        self.score.is_some_and(|score| score >= threshold)
    }

    /// Whether the run fails.
    pub fn fails(&self, threshold: f64) -> bool {
        self.score.is_some_and(|score| score < threshold)
    }
}

/// The score of a run by its tool outcomes, 0 to 5; absent without any call, and where every error that was
/// left standing is one of the environment: a network that is down, an overloaded service (semantics §5).
///
/// 5 when every error was later overcome by the same tool, something productive was called in every
/// user turn, and an answer was given. Each overcome error costs 0.5, not below 3.5. An error left
/// standing or a turn with nothing productive gives at most 2, no answer at most 3. `turns` is the
/// number of user turns, at least 1.
pub fn outcome_score(calls: &[ToolCall], turns: u32, has_answer: bool) -> Option<f64> {
    Gate::of_calls(calls, turns, has_answer).score
}

/// What the score counts.
#[derive(Debug)]
struct Tally {
    standing: Vec<String>,
    /// Errors of the environment that no later call of the same tool overcame.
    outages: Vec<String>,
    overcome: usize,
    idle_turn: Option<u32>,
}

impl Tally {
    fn of(calls: &[ToolCall], turns: u32) -> Option<Self> {
        let calls: Vec<&ToolCall> = calls.iter().filter(|call| call.parent.is_none()).collect();
        calls.first()?;
        let mut tally = Self { standing: Vec::new(), outages: Vec::new(), overcome: 0, idle_turn: None };
        for (at, call) in calls.iter().enumerate() {
            if call.status.is_ok() {
                continue;
            }
            let mut later = calls.iter().skip(at + 1);
            if later.any(|next| next.tool == call.tool && next.status.is_ok()) {
                tally.overcome += 1;
            } else if call.is_outage() {
                tally.outages.push(call.tool.clone());
            } else {
                tally.standing.push(call.tool.clone());
            }
        }
        tally.idle_turn =
            (0..turns.max(1)).find(|turn| !calls.iter().any(|call| call.turn == *turn && call.is_productive()));
        Some(tally)
    }

    /// The tool that was out of reach, where nothing else failed.
    fn outage(&self) -> Option<&String> {
        self.outages.first().filter(|_| self.standing.is_empty())
    }

    fn score(&self, has_answer: bool) -> (f64, String) {
        if let Some(tool) = self.standing.first() {
            return (2.0, format!("the error of `{tool}` was left standing"));
        }
        if self.idle_turn.is_some() {
            return (2.0, "nothing productive was called in a user turn".to_owned());
        }
        if !has_answer {
            return (3.0, "no answer was given".to_owned());
        }
        #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^52 calls")]
        let score = (5.0 - 0.5 * self.overcome as f64).max(QUALITY_THRESHOLD);
        let reason = match self.overcome {
            0 => "every tool call succeeded".to_owned(),
            count => format!("{count} failed calls were overcome by the same tool"),
        };
        (score, reason)
    }
}

impl CallStatus {
    /// Judges a result: an error envelope fails it, and so does the tool's own `success_when`.
    pub fn of(output: &ToolOutput, success_when: Option<bool>) -> Self {
        let own = (success_when == Some(false)).then(|| "the tool's own `success_when` says so".to_owned());
        failure_of(output).or(own).map_or(Self::Ok, |reason| Self::Failed { reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str) -> bool {
        failure_of(&ToolOutput::text(text)).is_some()
    }

    #[test]
    fn error_envelopes_fail_and_look_alikes_do_not() {
        for text in [
            r#"{"isError": true}"#,
            r#"{"success": false}"#,
            r#"{"ok": false}"#,
            r#"{"error": "x"}"#,
            r#"{"errors": [1]}"#,
            r#"{"status": 404}"#,
            r#"{"statusCode": 599}"#,
            "Error: no such user",
            r#""Error: quoted""#,
        ] {
            assert!(failed(text), "{text}");
        }
        for text in [
            r#"{"error": null, "errors": []}"#,
            r#"{"error": ""}"#,
            r#"{"status": 200}"#,
            r#"{"status": "404"}"#,
            r#"{"status": 404.5}"#,
            r#"{"data": {"status": 404}}"#,
            "An Error: later",
            "[]",
        ] {
            assert!(!failed(text), "{text}");
        }
    }
}
