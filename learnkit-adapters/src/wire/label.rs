//! What a row says beside the conversation: task, outcome, id.

use learnkit_core::conversation::Label;
use learnkit_core::run::Verdict;
use learnkit_core::{Error, Result};
use serde_json::value::RawValue;

use super::fields::{Fields, is_text, text};

/// Fills in what the row states; fields that contradict each other are refused.
pub(super) fn read(row: &Fields<'_>, label: Label) -> Result<Label> {
    Ok(Label { task: task(row)?, verdict: verdict(row)?, id: id(row)?, ..label })
}

fn task(row: &Fields<'_>) -> Result<Option<String>> {
    match (row.text("task")?, row.text("instruction")?) {
        (Some(task), Some(instruction)) if task != instruction => {
            Err(Error::invalid("the fields `task` and `instruction` name two tasks; keep one of them"))
        }
        (task, instruction) => Ok(task.or(instruction)),
    }
}

fn id(row: &Fields<'_>) -> Result<Option<String>> {
    let scalar = row.get("id").filter(|raw| !raw.get().starts_with(['{', '[']));
    scalar.map(|raw| if is_text(raw) { text(raw, "id") } else { Ok(raw.get().to_owned()) }).transpose()
}

fn verdict(row: &Fields<'_>) -> Result<Option<Verdict>> {
    let success = row.bool("success")?.map(of_bool);
    let mut found: Option<(&str, Verdict)> = None;
    for (name, stated) in [
        ("reward", row.get("reward").map(reward).transpose()?),
        ("success", success),
        ("outcome", row.text("outcome")?.map(|word| word_of("outcome", &word)).transpose()?),
        ("verdict", row.text("verdict")?.map(|word| word_of("verdict", &word)).transpose()?),
    ] {
        let Some(verdict) = stated else { continue };
        if let Some((other, before)) = found
            && before != verdict
        {
            return Err(Error::invalid(format!("the fields `{other}` and `{name}` contradict each other")));
        }
        found = Some((name, verdict));
    }
    Ok(found.map(|(_, verdict)| verdict))
}

fn of_bool(success: bool) -> Verdict {
    if success { Verdict::Success } else { Verdict::Failure }
}

/// The whole reward is a success, as in tau-bench; a part of it is not.
fn reward(raw: &RawValue) -> Result<Verdict> {
    let reward: Option<f64> = serde_json::from_str(raw.get()).ok().filter(|reward: &f64| reward.is_finite());
    let refuse = || Error::invalid("the field `reward` is not a number; write 1.0 for success and less for failure");
    reward.map(|reward| of_bool(reward >= 1.0)).ok_or_else(refuse)
}

fn word_of(name: &str, word: &str) -> Result<Verdict> {
    match word {
        "success" | "passed" => Ok(Verdict::Success),
        "failure" | "failed" => Ok(Verdict::Failure),
        _ => {
            let word: String = word.chars().take(40).collect();
            Err(Error::invalid(format!("the field `{name}` says `{word}`; write `success` or `failure`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_of(json: &str) -> Result<Option<Verdict>> {
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        verdict(&Fields::read(raw, "row").unwrap())
    }

    #[test]
    fn outcomes_are_read_from_four_fields() {
        for json in [r#"{"reward": 1}"#, r#"{"reward": 1.0}"#, r#"{"success": true}"#, r#"{"outcome": "passed"}"#] {
            assert_eq!(verdict_of(json).unwrap(), Some(Verdict::Success), "{json}");
        }
        for json in [r#"{"reward": 0.99}"#, r#"{"reward": -1}"#, r#"{"success": false}"#, r#"{"verdict": "failed"}"#] {
            assert_eq!(verdict_of(json).unwrap(), Some(Verdict::Failure), "{json}");
        }
        assert_eq!(verdict_of(r#"{"reward": null}"#).unwrap(), None);
    }

    #[test]
    fn c10_an_outcome_that_is_none_is_refused_and_never_guessed() {
        for json in [
            r#"{"reward": "4/5"}"#,
            r#"{"reward": [1]}"#,
            r#"{"reward": true}"#,
            r#"{"reward": 1e999}"#,
            r#"{"success": "yes"}"#,
            r#"{"success": 1}"#,
            r#"{"outcome": "mostly"}"#,
            r#"{"outcome": "Success"}"#,
            r#"{"reward": 1, "success": false}"#,
        ] {
            assert!(verdict_of(json).is_err(), "{json}");
        }
        let error = verdict_of(r#"{"outcome": "mostly"}"#).unwrap_err();
        assert_eq!(error.to_string(), "the field `outcome` says `mostly`; write `success` or `failure`");
    }
}
