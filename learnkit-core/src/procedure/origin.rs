//! Where the arguments of a step came from, for planners and people.

use super::Step;
use super::slot::Part;

/// Where an argument, or a part of it, came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The argument, a JSON pointer into the arguments.
    pub argument: &'a str,
    /// Where from.
    pub source: OriginSource<'a>,
}

/// What gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginSource<'a> {
    /// A declared parameter.
    Parameter(&'a str),
    /// A secret that the host supplies.
    Secret(&'a str),
    /// The day of the run.
    Clock {
        /// So many days on.
        days: i64,
    },
    /// An earlier result.
    Result {
        /// The index of the step, from 0.
        step: usize,
        /// The leaf, with `*` for list positions.
        path: &'a str,
    },
}

impl Step {
    /// Where its arguments came from, as far as that is known: what is taken anew in a replay, then what is
    /// guarded, each result once for an argument.
    pub fn origins(&self) -> Vec<Origin<'_>> {
        let mut origins: Vec<Origin<'_>> = Vec::new();
        for slot in &self.slots {
            origins.extend(
                slot.parts.iter().filter_map(|part| Some(Origin { argument: &slot.argument, source: source(part)? })),
            );
        }
        for guard in self.guards.iter().filter(|guard| !guard.argument.is_empty()) {
            let Some(place) = guard.places.first() else { continue };
            let source = OriginSource::Result { step: place.step, path: &place.path };
            let is_known = |origin: &Origin<'_>| {
                origin.argument == guard.argument && matches!(origin.source, OriginSource::Result { .. })
            };
            if !origins.iter().any(is_known) {
                origins.push(Origin { argument: &guard.argument, source });
            }
        }
        origins
    }
}

/// A definite place says more than a position in a list.
fn source(part: &Part) -> Option<OriginSource<'_>> {
    match part {
        Part::Text { .. } => None,
        Part::Parameter { name } => Some(OriginSource::Parameter(name)),
        Part::Secret { name } => Some(OriginSource::Secret(name)),
        Part::Date { days, .. } => Some(OriginSource::Clock { days: *days }),
        Part::Result { candidates } => {
            let best = candidates.iter().find(|candidate| candidate.is_definite()).or_else(|| candidates.first())?;
            Some(OriginSource::Result { step: best.step, path: &best.path })
        }
    }
}
