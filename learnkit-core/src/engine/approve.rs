//! Approvals inside a session: a step that needs one is handed out only with a grant for exactly this call,
//! and each grant is used up by one call.
//!
//! Not here: which steps need one ([`crate::replay`]'s permit) and how the host is asked (`ask`).

use super::ask::Unapproved;
use super::lock;
use super::session::Session;
use crate::hook::{ApprovalRequest, CallDigest};
use crate::replay::{DeclinedCall, Leave, Permit, PlannedCall, Replay};
use crate::run::{Arguments, ToolCall};
use crate::tool::{EffectClass, ToolManifest};

/// What was answered so far.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    /// Grants that no call has used yet.
    granted: Vec<Grant>,
    /// How many answers there were: who waited for another one looks again.
    answers: usize,
    declined: Option<Box<Declined>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    step: usize,
    digest: CallDigest,
}

impl Grant {
    fn of(call: &PlannedCall) -> Self {
        Self { step: call.step, digest: CallDigest::of(&call.tool, &call.arguments) }
    }
}

#[derive(Debug)]
struct Declined {
    call: DeclinedCall,
    /// Whether somebody said no, and not only nothing.
    is_denied: bool,
}

/// A call to ask about.
#[derive(Debug)]
pub(super) struct ToApprove {
    call: PlannedCall,
    effect: EffectClass,
    answers: usize,
}

/// Whether calls may be handed out.
pub(super) enum Clearance {
    /// They may.
    Given,
    /// One of them has to be approved first.
    Asked(Box<ToApprove>),
    /// One of them may not be made; the replay has stopped.
    Refused,
}

impl Approvals {
    /// Whether each of these calls needs no approval or has one of its own.
    pub(super) fn clearance(
        &self,
        replay: &mut Replay,
        permit: Permit,
        tools: Option<&ToolManifest>,
        calls: &[PlannedCall],
    ) -> Clearance {
        let mut left = self.granted.clone();
        for call in calls {
            let Some(step) = replay.procedure().steps.get(call.step) else { continue };
            match permit.leave(step, tools) {
                Leave::Given => {}
                Leave::Refused(reason) => {
                    replay.decline(call.step, reason);
                    return Clearance::Refused;
                }
                Leave::Asked => {
                    let own = Grant::of(call);
                    let Some(at) = left.iter().position(|grant| *grant == own) else {
                        let (effect, answers) = (step.effect, self.answers);
                        return Clearance::Asked(Box::new(ToApprove { call: call.clone(), effect, answers }));
                    };
                    left.swap_remove(at);
                }
            }
        }
        Clearance::Given
    }

    /// Takes the grant of a call that was made; a call that needed one and had none is no part of the replay.
    pub(super) fn use_up(&mut self, replay: &mut Replay, permit: Permit, call: &ToolCall) {
        let own = replay.procedure().steps.iter().position(|step| step.tool == call.tool);
        let Some(own) = own.filter(|_| call.parent.is_none()) else { return };
        let needs_one = replay.procedure().steps.get(own).is_some_and(|step| permit.leave(step, None) == Leave::Asked);
        if self.granted.is_empty() && !needs_one {
            return;
        }
        let digest = CallDigest::of(&call.tool, &call.arguments);
        match self.granted.iter().position(|grant| grant.digest == digest) {
            Some(at) => drop(self.granted.swap_remove(at)),
            None if needs_one => replay.decline(own, format!("`{}` was called without its approval", call.tool)),
            None => {}
        }
    }

    /// The call before which the replay stopped because nobody approved it.
    pub(super) fn declined(&self) -> Option<&DeclinedCall> {
        self.declined.as_ref().map(|declined| &declined.call)
    }

    fn decline(&mut self, asked: &ToApprove, reason: &str, is_denied: bool) {
        let PlannedCall { tool, arguments, .. } = asked.call.clone();
        self.granted.clear();
        let call = DeclinedCall { tool, arguments, reason: reason.to_owned() };
        self.declined = Some(Box::new(Declined { call, is_denied }));
    }
}

impl Session {
    /// Asks the host about one call and keeps its answer. Whoever waited for the answer to another question
    /// only looks again.
    pub(super) async fn ask_approval(&self, asked: &ToApprove) {
        let _turn = self.asking.lock().await;
        if lock(&self.state).approvals.answers != asked.answers {
            return;
        }
        let call = &asked.call;
        let request = ApprovalRequest { run_id: self.run_id(), task: self.task(), call, effect: asked.effect };
        let answer = self.kit.ask_approver(&request).await;
        let calls = self.tracker().call_count();
        let mut state = lock(&self.state);
        state.approvals.answers += 1;
        let (reason, is_denied) = match answer {
            Ok(()) => {
                state.approvals.granted.push(Grant::of(call));
                return state.note(calls, "ask", &format!("`{}` was approved", call.tool));
            }
            Err(Unapproved::Denied(reason)) => (reason, true),
            Err(Unapproved::Unanswered(reason)) => (reason, false),
        };
        state.approvals.decline(asked, &reason, is_denied);
        if let Some((_, replay)) = &mut state.replay {
            replay.decline(call.step, format!("`{}` was not approved: {reason}", call.tool));
        }
    }

    /// Why a call is not made in this run, whoever asks for it: somebody said no to this very call.
    pub(super) fn denied(&self, tool: &str, arguments: &Arguments) -> Option<String> {
        let state = lock(&self.state);
        let Declined { call, .. } = state.approvals.declined.as_deref().filter(|declined| declined.is_denied)?;
        let is_same = call.tool == tool && call.arguments.same_as(arguments);
        is_same.then(|| format!("it was not made in this run: {}", call.reason))
    }
}
