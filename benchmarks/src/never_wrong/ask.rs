//! Teaching one task and asking for another.

use learnkit::config::ReplayTrust;
use learnkit::engine::{Decision, Outcome, Session, SessionOptions, View};
use learnkit::run::{CallDraft, ToolOutput, Verdict};
use learnkit::{BoxError, LearnKit, Task};
use serde_json::Value;

use super::cases::{Case, Lesson, Lessons};
use crate::fresh::open;
use crate::stream::rows::key;
use crate::tools;

/// What LearnKit did when it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing was replayed, and why.
    Refused(String),
    /// A replay was left before it did anything wrong, and why.
    Left(String),
    /// A call that is wrong there was sent, or the end was reached with other effects.
    Wrong(String),
    /// Replayed to the end, with the right effects.
    Right,
}

/// Teaches a fresh memory and asks it.
pub(crate) async fn ask(case: &Case, lessons: Lessons, trust: ReplayTrust) -> Result<Asked, BoxError> {
    let kit = open(trust).await?;
    let taught = match lessons {
        Lessons::Twice => case.lessons.as_slice(),
        Lessons::Once | Lessons::Reported => case.lessons.get(..1).unwrap_or_default(),
    };
    for lesson in taught {
        teach(&kit, case, lesson, lessons == Lessons::Reported).await?;
    }
    let session = kit.session(Task::new(case.asked.as_str()), SessionOptions::default())?;
    let asked = follow(&session, case).await?;
    session.finish(&Outcome::answered("Done.")).await;
    Ok(asked)
}

/// One run, planned call by call; memory is not asked, so that a second run is planned too.
async fn teach(kit: &LearnKit, case: &Case, lesson: &Lesson, reported: bool) -> Result<(), BoxError> {
    let session = kit.session(Task::new(case.taught.as_str()), SessionOptions::default())?;
    for call in &lesson.calls {
        // The lesson's own word: the tools at hand later may be others.
        let own = tools::reads(call.write == Some(false));
        let draft = CallDraft::new(call.tool.as_str(), call.args.clone()).with_annotations(own);
        session.observe(draft, outcome(call.ok, &call.result));
    }
    let outcome = Outcome { answer: lesson.answer.clone(), ..Outcome::default() };
    session.finish(&outcome.with_verdict(reported.then_some(Verdict::Success))).await;
    Ok(())
}

async fn follow(session: &Session, case: &Case) -> Result<Asked, BoxError> {
    let mut effects: Vec<String> = Vec::new();
    let mut calls = 0;
    let view = View { tools: Some(&case.tools), can_synthesize: false };
    loop {
        match session.decide(&view).await {
            Decision::Replay(planned) => {
                for call in planned {
                    calls += 1;
                    let args: Value = serde_json::from_str(call.arguments.raw())?;
                    let key = key(&call.tool, &args);
                    let is_read = tools::annotations(&case.tools, &call.tool).read_only == Some(true);
                    if !is_read && !is_right_next(case, &effects, &key) {
                        return Ok(Asked::Wrong(format!("sent {key}")));
                    }
                    let result = case.there.result(&effects, &key);
                    let own = tools::annotations(&case.tools, &call.tool);
                    let draft = CallDraft::new(call.tool, call.arguments).with_annotations(own).with_group(call.group);
                    let unknown = (false, "nobody knows this call here".to_owned());
                    let (ok, text) = result.unwrap_or(&unknown);
                    session.observe(draft, outcome(*ok, text));
                    if !is_read && *ok {
                        effects.push(key);
                    }
                }
            }
            Decision::Forward { reason, .. } if calls == 0 => return Ok(Asked::Refused(reason)),
            Decision::Forward { reason, .. } => return Ok(Asked::Left(reason)),
            Decision::Answer { .. } | Decision::Synthesize { .. } => {
                let right = case.there.right.as_ref() == Some(&effects);
                return Ok(if right { Asked::Right } else { Asked::Wrong("came to its end".to_owned()) });
            }
        }
    }
}

/// Whether the next right effect there is this call.
fn is_right_next(case: &Case, effects: &[String], key: &str) -> bool {
    let right = case.there.right.as_ref().and_then(|right| right.get(effects.len()));
    right.is_some_and(|right| right == key)
}

fn outcome(ok: bool, text: &str) -> Result<ToolOutput, String> {
    if ok { Ok(ToolOutput::text(text)) } else { Err(text.to_owned()) }
}
