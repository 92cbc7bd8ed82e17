//! Loops of a replay: a proven one makes a call for each element of its list, any other needs the very
//! elements that it was recorded with.

use std::sync::Arc;

use super::{Divergence, Replay, StopCause};
use crate::json::Json;
use crate::procedure::{Loop, Procedure, elements, list_of};

impl Replay {
    /// The next step of the plan, the loops that begin there laid out. Nothing when every step is done.
    ///
    /// # Errors
    /// The reason to stop before the first call of a loop.
    pub(super) fn come_to(&mut self) -> Result<Option<usize>, Divergence> {
        loop {
            let Some(next) = self.done.iter().position(|done| !done) else { return Ok(None) };
            let plan = Arc::clone(&self.plan);
            let Some(each) = plan.loop_at(next) else {
                return Ok(Some(next));
            };
            let elements = each.elements(|step| self.result(step));
            match elements {
                Ok(elements) if each.is_proven() => self.lay_out(each, &elements)?,
                Ok(elements) if elements == plan.recorded_elements(each) => return Ok(Some(next)),
                // One element is taken as any other value, and so is one that was chosen.
                Ok(elements) if each.count == 1 && elements.len() == 1 => return Ok(Some(next)),
                _ if each.count == 1 && each.contradicted.is_some() => return Ok(Some(next)),
                Ok(_) => return Err(self.stop(next, unproven(each), StopCause::Changed)),
                Err(reason) => return Err(self.stop(next, reason, StopCause::Changed)),
            }
        }
    }

    pub(super) fn result(&self, step: usize) -> Option<&Json> {
        self.fresh.get(step)?.as_ref().map(|fresh| &*fresh.json)
    }

    /// Puts one step for each element in the place of a loop.
    fn lay_out(&mut self, each: &Loop, elements: &[String]) -> Result<(), Divergence> {
        let plan = Arc::clone(&self.plan);
        if elements != plan.recorded_elements(each) {
            let named = plan.named_by_task(elements, &self.parameters);
            let named = named.map(|element| format!("the list has `{element}`, which the task itself names"));
            if let Some(reason) = named.or_else(|| each.unlike(|step| self.result(step))) {
                return Err(self.stop(each.first, reason, StopCause::Changed));
            }
        }
        let laid_out = match plan.expanded(each, elements) {
            Ok(laid_out) => laid_out,
            Err(reason) => return Err(self.stop(each.first, reason, StopCause::Changed)),
        };
        let (start, end) = (each.first, (each.first + each.count).min(self.done.len()));
        let last = end.saturating_sub(start).saturating_sub(1);
        let origin: Vec<usize> = (0..elements.len()).map(|at| self.origin_of(start + at.min(last))).collect();
        self.origin.splice(start..end, origin);
        self.done.splice(start..end, elements.iter().map(|_| false));
        self.fresh.splice(start..end, elements.iter().map(|_| None));
        self.is_resized |= elements.len() != each.count;
        self.plan = Arc::new(laid_out);
        Ok(())
    }
}

/// The list of a proven loop that a result gives without elements.
pub(super) fn empty_list<'p>(step: usize, fresh: &Json, plan: &'p Procedure) -> Option<&'p str> {
    let proven = plan.loops.iter().filter(|each| each.is_proven());
    let mut columns = proven.flat_map(|each| &each.over).filter(|column| column.step == step);
    let empty = columns.find(|column| elements(fresh, &column.path).is_some_and(|all| all.is_empty()))?;
    list_of(&empty.path)
}

fn unproven(each: &Loop) -> String {
    let why = each.contradicted.clone().unwrap_or_else(|| {
        let seen: Vec<String> = each.lengths.iter().map(ToString::to_string).collect();
        format!("only runs of {} calls were seen", seen.join(" and "))
    });
    format!("argument `{}` goes through a list that says something else now, and {why}", each.argument)
}
