//! Gates without LearnKit: the first run of a task that a gate admits is replayed for ever.

use std::collections::HashMap;

use super::order::{Order, Turn};
use super::rows::Recorded;
use super::score::Tally;
use super::world::{Truth, World, effects, made_by};

/// A gate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gate {
    pub(crate) name: &'static str,
    rule: Rule,
    /// The share of wrong runs and replays that somebody reports.
    pub(crate) reports: f64,
}

/// Which runs are admitted; one without a call never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Never,
    /// The true outcome.
    Truth,
    AnyCall,
    NoError,
    LastOk,
    HalfOk,
    Overcome,
    SameCallsTwice,
    SameEffectsTwice,
    NoErrorSameCallsTwice,
    NoErrorSameEffectsTwice,
    NoErrorAndEffect,
}

const fn gate(name: &'static str, rule: Rule) -> Gate {
    Gate { name, rule, reports: 0.0 }
}

/// No memory.
pub(crate) const NONE: Gate = gate("none", Rule::Never);
/// The ceiling: the first true success that made a call is replayed for ever.
pub(crate) const ORACLE: Gate = gate("oracle", Rule::Truth);
/// The gates to compare with.
pub(crate) const GATES: [Gate; 12] = [
    gate("any_call", Rule::AnyCall),
    gate("no_error", Rule::NoError),
    gate("last_ok", Rule::LastOk),
    gate("half_ok", Rule::HalfOk),
    gate("overcome", Rule::Overcome),
    gate("same_calls_twice", Rule::SameCallsTwice),
    gate("same_effects_twice", Rule::SameEffectsTwice),
    gate("no_error_same_calls_twice", Rule::NoErrorSameCallsTwice),
    gate("no_error_same_effects_twice", Rule::NoErrorSameEffectsTwice),
    gate("no_error_and_effect", Rule::NoErrorAndEffect),
    Gate { name: "no_error_report_50", rule: Rule::NoError, reports: 0.5 },
    Gate { name: "no_error_report_100", rule: Rule::NoError, reports: 1.0 },
];

impl Gate {
    /// Plays one order, where a share of the runs skips memory.
    pub(crate) fn play(&self, world: &World<'_>, order: &Order, holdout: f64) -> Tally {
        let mut tally = Tally::default();
        let mut tasks: HashMap<&str, Known<'_>> = HashMap::new();
        for turn in &order.turns {
            let Some(run) = world.runs.get(turn.run) else { continue };
            let known = tasks.entry(run.task.as_str()).or_default();
            match known.admitted.filter(|_| turn.holdout >= holdout) {
                Some(admitted) => self.replay(run, admitted, turn, known, &mut tally),
                None => self.plan(run, turn, known, &mut tally),
            }
        }
        tally
    }

    fn replay<'r>(
        &self,
        run: &Recorded,
        admitted: &'r Recorded,
        turn: &Turn,
        known: &mut Known<'r>,
        tally: &mut Tally,
    ) {
        let truth = if admitted.state_ok { Truth::Right } else { Truth::Wrong };
        tally.replayed(run, truth, effects(&made_by(admitted)).next().is_some());
        if truth == Truth::Wrong && turn.report < self.reports {
            known.admitted = None;
        }
    }

    fn plan<'r>(&self, run: &'r Recorded, turn: &Turn, known: &mut Known<'r>, tally: &mut Tally) {
        tally.planned(run, false);
        let reported = !run.verdict && turn.report < self.reports;
        if known.admitted.is_none() && !reported && !run.calls.is_empty() && self.rule.admits(run, &known.planned) {
            known.admitted = Some(run);
        }
        known.planned.push(run);
    }
}

/// What is known of a task.
#[derive(Debug, Default)]
struct Known<'r> {
    admitted: Option<&'r Recorded>,
    planned: Vec<&'r Recorded>,
}

impl Rule {
    fn admits(self, run: &Recorded, earlier: &[&Recorded]) -> bool {
        let calls = &run.calls;
        let no_error = calls.iter().all(|call| call.ok);
        let ok = calls.iter().filter(|call| call.ok).count();
        match self {
            Self::Never => false,
            Self::Truth => run.verdict,
            Self::AnyCall => true,
            Self::NoError => no_error,
            Self::LastOk => calls.last().is_some_and(|call| call.ok),
            Self::HalfOk => 2 * ok >= calls.len(),
            Self::Overcome => calls.iter().enumerate().all(|(index, call)| {
                call.ok || calls.iter().skip(index + 1).any(|later| later.ok && later.tool == call.tool)
            }),
            Self::SameCallsTwice => earlier.iter().any(|other| same_calls(other, run)),
            Self::SameEffectsTwice => earlier.iter().any(|other| same_effects(other, run)),
            Self::NoErrorSameCallsTwice => no_error && earlier.iter().any(|other| same_calls(other, run)),
            Self::NoErrorSameEffectsTwice => no_error && earlier.iter().any(|other| same_effects(other, run)),
            Self::NoErrorAndEffect => no_error && calls.iter().any(super::rows::Call::is_effect),
        }
    }
}

fn same_calls(a: &Recorded, b: &Recorded) -> bool {
    made_by(a) == made_by(b)
}

fn same_effects(a: &Recorded, b: &Recorded) -> bool {
    !a.calls.is_empty() && effects(&made_by(a)).eq(effects(&made_by(b)))
}
