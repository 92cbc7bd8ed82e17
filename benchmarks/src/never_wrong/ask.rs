//! Teaching one task and asking for another.

use learnkit::config::ReplayTrust;
use learnkit::engine::{Decision, Outcome, Session, SessionOptions, View};
use learnkit::replay::PlannedCall;
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
    let mut has_called = false;
    let view = View { tools: Some(&case.tools), can_synthesize: false };
    loop {
        match session.decide(&view).await {
            Decision::Replay(planned) => {
                has_called = true;
                for call in planned {
                    if let Some(wrong) = send(session, case, call, &mut effects)? {
                        return Ok(wrong);
                    }
                }
            }
            Decision::Forward { reason, .. } if has_called => return Ok(Asked::Left(reason)),
            Decision::Forward { reason, .. } => return Ok(Asked::Refused(reason)),
            Decision::Answer { .. } | Decision::Synthesize { .. } => {
                let right = case.there.right.as_ref() == Some(&effects);
                return Ok(if right { Asked::Right } else { Asked::Wrong("came to its end".to_owned()) });
            }
        }
    }
}

/// Makes a planned call there, unless it is an effect that is wrong there.
fn send(
    session: &Session,
    case: &Case,
    call: PlannedCall,
    effects: &mut Vec<String>,
) -> Result<Option<Asked>, BoxError> {
    let args: Value = serde_json::from_str(call.arguments.raw())?;
    let key = key(&call.tool, &args);
    let own = case.tools.annotations(&call.tool);
    let is_read = own.read_only == Some(true);
    if !is_read && !is_right_next(case, effects, &key) {
        return Ok(Some(Asked::Wrong(format!("sent {key}"))));
    }
    let unknown = (false, "nobody knows this call here".to_owned());
    let (ok, text) = case.there.result(effects, &key).unwrap_or(&unknown);
    let draft = CallDraft::new(call.tool, call.arguments).with_annotations(own).with_group(call.group);
    session.observe(draft, outcome(*ok, text));
    if !is_read && *ok {
        effects.push(key);
    }
    Ok(None)
}

/// Whether the next right effect there is this call.
fn is_right_next(case: &Case, effects: &[String], key: &str) -> bool {
    let right = case.there.right.as_ref().and_then(|right| right.get(effects.len()));
    right.is_some_and(|right| right == key)
}

fn outcome(ok: bool, text: &str) -> Result<ToolOutput, String> {
    if ok { Ok(ToolOutput::text(text)) } else { Err(text.to_owned()) }
}
