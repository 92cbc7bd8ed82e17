//! Whether the calls of a run take the place of those whose replay stopped, and what speaks against it.

use super::super::changes::{Heal, otherwise};
use super::Lesson;
use crate::backend::RunFilter;
use crate::procedure::{Procedure, Today};
use crate::record::RecordId;
use crate::replay::{Recorded, StopCause};
use crate::run::{StoredRun, Verdict};

/// So many of the newest runs of a task are looked at for repeats of a procedure before another takes its place.
const LOOKED_AT: usize = 8;
/// So many of those repeats are rehearsed.
const REHEARSED: usize = 3;

impl Lesson<'_> {
    /// Finds out whether the new calls take the place of those whose replay stopped. Where a run that passed would
    /// not have been repeated by them, they do not, and only guide until another run has made them.
    pub(super) async fn find_heal(&mut self) {
        let Some((record, heal)) = self.procedure.as_ref().and_then(|own| self.moved_on(own)) else { return };
        let Some(procedure) = self.procedure.take() else { return };
        let differs = match otherwise(&procedure, &heal.base, &self.today()) {
            Some(reason) => Some(reason),
            None => self.otherwise_than_repeats(&procedure, &record).await,
        };
        let unsettled = procedure.unsettled.iter().cloned().chain(differs.clone()).collect();
        self.procedure = Some(Procedure { unsettled, ..procedure });
        if differs.is_none() {
            self.heal = Some(heal);
        }
    }

    /// The same against the newest runs that replayed the record and passed. What cannot be read says nothing.
    async fn otherwise_than_repeats(&mut self, procedure: &Procedure, record: &RecordId) -> Option<String> {
        // Which values a run had for its parameters is not stored.
        if !procedure.parameters.is_empty() {
            return None;
        }
        let key = Some(self.run.task.key.clone());
        let filter = RunFilter { key, ..RunFilter::newest(self.run.tenant.clone(), LOOKED_AT) };
        let found = match self.kit.runs(&filter).await {
            Ok(found) => found.items,
            Err(error) => {
                self.run.warnings.push(format!("earlier runs of the task could not be read: {}", error.chain()));
                return None;
            }
        };
        let settings = &self.kit.inner.settings;
        let passed = |run: &&StoredRun| {
            let is_withdrawn = run.reports.last() == Some(&Verdict::Failure);
            run.replayed
                && run.procedure.as_ref() == Some(record)
                && run.gate.passes(settings.quality_threshold)
                && !is_withdrawn
        };
        found.iter().filter(passed).take(REHEARSED).find_map(|run| {
            let day = Today::at(run.started, &settings.time_zone);
            let reason = Recorded::replayed(&run.calls, day).otherwise(procedure)?;
            Some(format!("given the results of run {}, which passed: {reason}", run.id))
        })
    }

    /// The record whose replay stopped because the world had changed, when the same tools solved the task again.
    fn moved_on(&self, procedure: &Procedure) -> Option<(RecordId, Heal)> {
        let (record, replay) = self.ended.state.replay.as_ref()?;
        // A template stands for other texts, too, as does a procedure of other values for those; and what a user
        // does is not written to the team. What this run needs becomes a record of its own.
        let is_own = record.template().is_none() && record.scope == self.run.scope;
        if !is_own || replay.procedure().parameters != procedure.parameters {
            return None;
        }
        let changed_world = replay.stopped()?.cause == StopCause::Changed;
        // What goes through a list in another way, or not at all, is another procedure.
        let is_other = replay.procedure().has_loops() || procedure.has_loops();
        let same_tools = !is_other && replay.procedure().tools() == procedure.tools();
        let heal = || Heal { record: record.id.clone(), base: replay.procedure().clone() };
        (changed_world && same_tools).then(|| (record.id.clone(), heal()))
    }
}
