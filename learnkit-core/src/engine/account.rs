//! The account of a run: what the run store keeps of it, and the judgement of the gate.

use super::LearnKit;
use super::learn::{Ended, Outcome};
use crate::record::Record;
use crate::replay::Replay;
use crate::run::{AnswerSource, Gate, GateSource, Mode, ReplayNote, StoredRun, ToolCall, prefix, short_reason};
use crate::secret::mask_text;

/// The answer of a run and where it came from.
#[derive(Clone, Copy)]
pub(super) struct Answer<'a> {
    pub(super) text: Option<&'a str>,
    pub(super) source: Option<AnswerSource>,
}

/// The run as the store keeps it, before learning and without its calls.
pub(super) fn stored_run(kit: &LearnKit, ended: &Ended, outcome: &Outcome, answer: Answer<'_>) -> StoredRun {
    let state = &ended.state;
    let limit = kit.inner.settings.stored_result_bytes;
    let replayed = is_replayed(ended);
    let mut warnings = state.warnings.clone();
    if let Some((_, replay)) = &state.replay {
        warnings.extend(replay.warnings().iter().cloned());
    }
    if ended.calls.is_empty() {
        warnings.push("nothing captured: the run recorded no tool call".to_owned());
    }
    let masked = answer.text.map(|answer| mask_text(answer).text);
    if let Some(masked) = masked.as_ref().filter(|masked| masked.len() > limit) {
        warnings.push(format!("of the answer the first {limit} of {} bytes are stored", masked.len()));
    }
    let unfinished = state.mode == Mode::Replay && !replayed;
    StoredRun {
        id: ended.run_id.clone(),
        tenant: kit.inner.tenant.clone(),
        scope: kit.inner.reader.scope.clone(),
        agent: ended.agent.clone(),
        task: kit.link(&ended.task),
        text: mask_text(ended.task.text()).text,
        mode: if unfinished { Mode::Guide } else { state.mode },
        reason: if unfinished { "the plan of the replay was not carried out".to_owned() } else { state.reason.clone() },
        replayed,
        replay: state.replay.as_ref().map(|(record, replay)| Box::new(replay_note(ended, record, replay))),
        planning_calls: state.planning_calls,
        synthesis_calls: state.synthesis_calls,
        tokens: state.tokens,
        arm: state.arm,
        offer: state.offer.clone(),
        calls: Vec::new(),
        answer: masked.map(|masked| prefix(&masked, limit).to_owned()),
        answer_source: answer.source,
        gate: gate(ended, outcome, answer.text),
        reports: Vec::new(),
        trust: None,
        procedure: None,
        procedure_version: None,
        world_check: state.world_check,
        decisions: state.decisions.clone(),
        used: Vec::new(),
        learned: Vec::new(),
        warnings,
        started: ended.started,
        finished: kit.now(),
    }
}

/// Whether every step was made as planned and nobody planned meanwhile.
pub(super) fn is_replayed(ended: &Ended) -> bool {
    let state = &ended.state;
    let Some((_, replay)) = &state.replay else { return false };
    let complete = replay.stopped().is_none() && replay.is_complete();
    complete && state.planning_calls.unwrap_or(0) == 0
}

/// What a replay did, and what of it was for nothing.
fn replay_note(ended: &Ended, record: &Record, replay: &Replay) -> ReplayNote {
    let own = || replay.made().iter().filter_map(|place| Some((*place, ended.calls.get(*place)?)));
    // What was made after the stop, by whoever plans now.
    let after = ended.calls.get(ended.state.seen()..).unwrap_or_default();
    let is_in_vain = |call: &ToolCall| {
        let again = |later: &&ToolCall| later.tool == call.tool && later.arguments.same_as(&call.arguments);
        !call.status.is_ok() || after.iter().filter(|later| later.parent.is_none()).any(|later| again(&later))
    };
    ReplayNote {
        record: record.id.clone(),
        planned: count(replay.planned_count()),
        made: count(own().count()),
        duration_ms: own().map(|(_, call)| call.duration_ms).sum(),
        in_vain: own().filter(|(_, call)| is_in_vain(call)).map(|(place, _)| place).collect(),
        stopped: replay.stopped().cloned(),
    }
}

fn count(calls: usize) -> u32 {
    u32::try_from(calls).unwrap_or(u32::MAX)
}

fn gate(ended: &Ended, outcome: &Outcome, answer: Option<&str>) -> Gate {
    if let Some(verdict) = outcome.verdict {
        return Gate::of_verdict(verdict);
    }
    if let Some(verdict) = ended.verified {
        return Gate::of_verifier(verdict);
    }
    match &outcome.failure {
        Some(failure) if failure.is_environment => {
            Gate { score: None, source: GateSource::Abstained, reason: short_reason(&failure.message) }
        }
        Some(failure) => Gate::of_run_error(&failure.message),
        None => Gate::of_calls(&ended.calls, ended.turns, answer.is_some_and(|answer| !answer.trim().is_empty())),
    }
}
