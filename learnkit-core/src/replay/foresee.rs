//! What a replay would call, as far as it can be told before its next calls are made.

use std::sync::Arc;

use super::{Divergence, PlannedCall, Replay, StopCause, planned};
use crate::procedure::{Sources, Step};

impl Replay {
    /// The calls that are left, in order, as far as the results so far give them; what the result of a call
    /// that was not made has to give is open and shown as it was recorded. Ends before the call where the
    /// replay is sure to stop.
    ///
    /// Afterwards nothing is left to do: this is for a look ahead, not for a replay that goes on.
    pub(crate) fn foresee(&mut self) -> (Vec<PlannedCall>, Option<Divergence>) {
        let mut calls = Vec::new();
        while let Some(next) = self.done.iter().position(|done| !done) {
            let is_open =
                self.plan.loop_at(next).is_some_and(|each| each.over.iter().any(|over| self.is_open(over.step)));
            // A list that is not there yet may still be the recorded one.
            let index = match if is_open { Ok(Some(next)) } else { self.come_to() } {
                Ok(Some(index)) => index,
                Ok(None) => break,
                Err(divergence) => return (calls, Some(divergence)),
            };
            let plan = Arc::clone(&self.plan);
            let Some(step) = plan.steps.get(index) else { break };
            let (arguments, mut open) = match self.bound_so_far(step) {
                Ok(bound) => bound,
                Err(reason) => return (calls, Some(self.stop(index, reason, StopCause::Changed))),
            };
            open.extend(plan.proven_argument(index).filter(|own| !open.contains(own)));
            calls.push(PlannedCall { open, ..planned(step, self.origin_of(index), arguments) });
            if let Some(done) = self.done.get_mut(index) {
                *done = true;
            }
        }
        (calls, None)
    }

    /// The arguments of a step and which of them are open; guards count where all that they look at is there.
    fn bound_so_far(&self, step: &Step) -> Result<(crate::run::Arguments, Vec<String>), String> {
        let Self { results, parameters, today, secrets, .. } = self;
        let is_told = |guard: &&crate::procedure::Guard| guard.places.iter().all(|place| !self.is_open(place.step));
        match step.guards.iter().filter(is_told).find_map(|guard| results.broken(guard)) {
            Some(reason) => Err(reason),
            None => step.bound_but(&Sources { results, parameters, today, secrets }, |step| self.is_open(step)),
        }
    }

    /// Whether the result of a step is not there.
    fn is_open(&self, step: usize) -> bool {
        self.result(step).is_none()
    }
}
