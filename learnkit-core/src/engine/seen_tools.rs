//! What a run saw of its tools, for the contracts of the procedure that is made of it.

use std::collections::BTreeSet;

use crate::procedure::{Contract, ContractChange, Procedure};
use crate::run::{Arguments, Reading, ToolCall};
use crate::tool::{Schema, ToolManifest, ToolSpec};

/// The tool lists of a run, each with how many calls had been started when it was seen first.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenTools(Vec<(usize, ToolManifest)>);

impl SeenTools {
    /// Keeps a list that differs from the last one, and says whether it does.
    pub(super) fn note(&mut self, started: usize, tools: &ToolManifest) -> bool {
        let is_new = self.0.last().is_none_or(|(_, last)| !last.same_as(tools));
        if is_new {
            self.0.push((started, tools.clone()));
        }
        is_new
    }

    /// What a tool said about itself when a call of it was made; what it said later where it was not seen before.
    fn spec_at(&self, tool: &str, call: usize) -> Option<&ToolSpec> {
        let before = self.0.iter().rev().filter(|(started, _)| *started <= call);
        let after = self.0.iter().filter(|(started, _)| *started > call);
        before.chain(after).find_map(|(_, tools)| tools.get(tool))
    }

    /// Gives a procedure the contracts that its calls were made under. A tool that changed while the run was
    /// under way leaves no one contract to hold it to, so that the procedure only guides.
    pub(super) fn bind(&self, procedure: &mut Procedure, calls: usize) {
        if self.0.is_empty() {
            return;
        }
        let dropped: BTreeSet<usize> = procedure.dropped.iter().map(|dropped| dropped.call).collect();
        let kept = (0..calls).filter(|call| !dropped.contains(call));
        for (step, call) in procedure.steps.iter().zip(kept) {
            let Some(spec) = self.spec_at(&step.tool, call) else { continue };
            let Some(earlier) = procedure.contracts.get(&step.tool) else {
                procedure.contracts.insert(step.tool.clone(), Contract::of(&step.tool, spec));
                continue;
            };
            if earlier.changes(spec).iter().any(ContractChange::blocks) {
                let reason = format!("the tool `{}` changed while the run was under way", step.tool);
                if !procedure.guide_only.contains(&reason) {
                    procedure.guide_only.push(reason);
                }
            }
        }
    }

    /// The calls with `{}` where nothing was given to a tool that requires nothing; absent where no call is
    /// like that. What was written stays in the run itself.
    pub(super) fn normal_arguments(
        &self,
        calls: &[ToolCall],
        readings: &[Reading],
    ) -> Option<(Vec<ToolCall>, Vec<Reading>)> {
        let is_bare = |(at, call): &(usize, &ToolCall)| {
            let spec = call.arguments.is_blank().then(|| self.spec_at(&call.tool, *at)).flatten();
            spec.and_then(|spec| spec.input_schema.as_ref()).is_some_and(Schema::requires_nothing)
        };
        let bare: Vec<usize> = calls.iter().enumerate().filter(is_bare).map(|(at, _)| at).collect();
        if bare.is_empty() {
            return None;
        }
        let (mut calls, mut readings) = (calls.to_vec(), readings.to_vec());
        for at in bare {
            if let (Some(call), Some(reading)) = (calls.get_mut(at), readings.get_mut(at)) {
                call.arguments = Arguments::none();
                reading.stored.arguments = Arguments::none();
            }
        }
        Some((calls, readings))
    }
}
