//! The same for whole contents: every text of theirs says the same, or one fact contradicts the other.

use super::{Relation, Statement};
use crate::record::{Content, Kind};

/// What a content says, read once to be compared with many.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Saying {
    kind: Kind,
    statements: Vec<Option<Statement>>,
}

impl Saying {
    /// What a content of the kinds that people write says; absent for those that runs teach, of which each stands
    /// for itself.
    pub(crate) fn of(content: &Content) -> Option<Self> {
        let statements = texts(content)?.into_iter().map(|text| text.map(Statement::of)).collect();
        Some(Self { kind: content.kind(), statements })
    }

    /// What it is to another one.
    pub(crate) fn relation(&self, other: &Self) -> Option<Relation> {
        if self.kind != other.kind || self.statements.len() != other.statements.len() {
            return None;
        }
        let pairs = self.statements.iter().zip(&other.statements).map(|pair| match pair {
            (Some(known), Some(new)) => known.relation(new),
            (known, new) => (known == new).then_some(Relation::Same),
        });
        let weakest = pairs.collect::<Option<Vec<_>>>()?.into_iter().min()?;
        // Only facts contradict each other.
        (weakest == Relation::Same || self.kind == Kind::Fact).then_some(weakest)
    }

    /// Equal for everything that is related to each other.
    pub(crate) fn key(&self) -> String {
        let keys = self.statements.iter().map(|said| said.as_ref().map(Statement::blocking_key).unwrap_or_default());
        keys.collect::<Vec<_>>().join("\u{1e}")
    }
}

fn texts(content: &Content) -> Option<Vec<Option<&str>>> {
    Some(match content {
        Content::Fact(fact) => vec![Some(&fact.statement)],
        Content::Strategy(strategy) => {
            let phases = strategy.phases.iter().map(|phase| Some(phase.as_str()));
            [Some(&*strategy.goal), strategy.why.as_deref()].into_iter().chain(phases).collect()
        }
        Content::Preference(preference) => vec![Some(&preference.key), Some(&preference.value)],
        Content::Heuristic(heuristic) => vec![Some(&heuristic.rule), heuristic.exception.as_deref()],
        Content::Skill(_) | Content::Failure(_) | Content::Trace(_) => return None,
    })
}
