//! The same for whole contents: every text of theirs says the same, or one fact contradicts the other.

use super::{Relation, Statement};
use crate::record::Content;

/// What a content is to another one of its kind.
pub(crate) fn relation(known: &Content, new: &Content) -> Option<Relation> {
    match (known, new) {
        (Content::Fact(known), Content::Fact(new)) => {
            Statement::of(&known.statement).relation(&Statement::of(&new.statement))
        }
        _ => says_the_same(known, new).then_some(Relation::Same),
    }
}

/// Equal for all contents that are related to each other; absent for those of kinds that runs teach, of which each
/// stands for itself.
pub(crate) fn key(content: &Content) -> Option<String> {
    let texts = texts(content)?;
    let keys = texts.iter().map(|text| text.map(|text| Statement::of(text).blocking_key()).unwrap_or_default());
    Some(keys.collect::<Vec<_>>().join("\u{1e}"))
}

fn says_the_same(known: &Content, new: &Content) -> bool {
    let (Some(known_texts), Some(new_texts)) = (texts(known), texts(new)) else { return known == new };
    let same = |known: Option<&str>, new: Option<&str>| match (known, new) {
        (Some(known), Some(new)) => {
            known == new || Statement::of(known).relation(&Statement::of(new)) == Some(Relation::Same)
        }
        (known, new) => known == new,
    };
    known.kind() == new.kind()
        && known_texts.len() == new_texts.len()
        && known_texts.iter().zip(&new_texts).all(|(known, new)| same(*known, *new))
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
