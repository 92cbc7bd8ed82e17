//! What the agent of a campaign can do without the planted record, and with it.

use learnkit::ledger::Class;
use learnkit::run::Verdict;

use crate::random::Random;

/// What is planted.
pub(crate) const PLANTED: [Class; 3] = [Class::Helpful, Class::Neutral, Class::Harmful];
/// Tasks that take turns; each is asked by another user every time.
pub(crate) const TASKS: usize = 20;
/// The effect: ten of a hundred points.
const EFFECT: f64 = 0.1;
/// Of the runs that are judged by tool outcomes, so many are left with an error whatever memory said.
const STANDING: f64 = 0.01;
/// A run makes at most so many errors that it overcomes.
const ERRORS: usize = 3;

/// A kind of agent and of outcome.
#[derive(Debug)]
pub(crate) struct Design {
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    /// How many runs a campaign has.
    pub(crate) runs: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The gate judges tool outcomes: each error that is overcome costs ten points.
    Scores,
    /// The caller says success or failure; every task is solved as often as any other.
    Alike,
    /// The caller says success or failure; a task is one that the agent can do, or one that it cannot.
    Decided,
}

/// What is played; the first has to hold.
pub(crate) const DESIGNS: [Design; 3] = [
    Design {
        name: "scores",
        words: "the gate judges tool outcomes: 1.2 overcome errors a run (-10 points each), one more or less with the \
                record; 1 % of the runs are left with an error",
        runs: 200,
        kind: Kind::Scores,
    },
    Design {
        name: "verdicts_decided_tasks",
        words: "the caller says success or failure: 16 of 20 tasks are always solved, 4 never; with the record 2 more \
                or 2 fewer",
        runs: 800,
        kind: Kind::Decided,
    },
    Design {
        name: "verdicts_alike_tasks",
        words: "the caller says success or failure: every task is solved in 85 % of the runs; with the record in 95 % \
                or in 75 %",
        runs: 800,
        kind: Kind::Alike,
    },
];

/// What happens in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Course {
    /// Errors that are overcome.
    pub(crate) errors: usize,
    /// Whether the last call fails for good.
    pub(crate) is_left_standing: bool,
    pub(crate) verdict: Option<Verdict>,
}

impl Design {
    /// What happens in a run of a task, with what a planted record does to it.
    pub(crate) fn course(&self, task: usize, planted: Option<Class>, random: &mut Random) -> Course {
        let effect = match planted {
            Some(Class::Helpful) => EFFECT,
            Some(Class::Harmful) => -EFFECT,
            Some(Class::Neutral | Class::NotYet) | None => 0.0,
        };
        let verdict = |solved: bool| {
            let verdict = if solved { Verdict::Success } else { Verdict::Failure };
            Course { errors: 0, is_left_standing: false, verdict: Some(verdict) }
        };
        match self.kind {
            Kind::Scores => {
                // Ten points are one error of three more or less; tasks are not equally hard.
                let hard = if task.is_multiple_of(2) { 0.05 } else { -0.05 };
                let often = 0.4 + hard - effect / 0.3;
                let errors = (0..ERRORS).filter(|_| random.share() < often).count();
                Course { errors, is_left_standing: random.share() < STANDING, verdict: None }
            }
            Kind::Alike => verdict(random.share() < 0.85 + effect),
            Kind::Decided => {
                let solved = match planted {
                    Some(Class::Helpful) => TASKS - 2,
                    Some(Class::Harmful) => TASKS - 6,
                    Some(Class::Neutral | Class::NotYet) | None => TASKS - 4,
                };
                verdict(task < solved)
            }
        }
    }
}
