//! Secrets in arguments: what was masked becomes a named slot that the host fills, or a binding where an earlier
//! result gave it. Where it is not certain which text is the secret, the procedure only guides.

use super::bind::Taken;
use super::guard::{Given, Results};
use super::slot::{Part, Slot};
use crate::Task;
use crate::json::{Json, Leaf};
use crate::run::{Arguments, StoredCall, ToolCall};
use crate::secret::{MASK, Secrets, is_wrapped};

const HOLDS: &str = "hold a secret";
const NUMBER: &str = "hold a secret that is a number; declare it as text";
const MASKED: &str = "hold `[secret]`, which stands for a secret and is none";
const WRAPPED: &str = "hold a secret inside encoded text";
const NAMED_BY_TASK: &str = "hold a secret that the task names; take it out of the task";
const UNCERTAIN: &str = "hold a secret that an earlier result gave, from a place that is not certain";

/// A call whose arguments may hold secrets.
pub(super) struct Hiding<'a> {
    pub(super) call: &'a ToolCall,
    /// The same as it is stored.
    pub(super) stored: &'a StoredCall,
    /// Every secret of the run.
    pub(super) secrets: &'a Secrets,
    pub(super) task: &'a Task,
    pub(super) given: &'a Given,
    /// The results before it.
    pub(super) results: &'a Results,
    pub(super) usable: &'a dyn Fn(usize) -> bool,
}

/// What became of the secrets of a call.
#[derive(Debug)]
pub(super) struct Hidden {
    /// The arguments without them.
    pub(super) arguments: Arguments,
    /// Why the procedure only guides.
    pub(super) fault: Option<&'static str>,
}

impl Hiding<'_> {
    /// Adds slots for the secrets in the arguments; absent where there are none.
    pub(super) fn hide(&self, taken: &mut Taken) -> Option<Hidden> {
        let raw = self.call.arguments.raw();
        let mut masked = match self.stored {
            StoredCall { arguments_cut: None, arguments, .. } => arguments.raw().to_owned(),
            _ => self.call.arguments.masked(),
        };
        self.secrets.scrub(&mut masked);
        let arguments = Arguments::from_raw(masked);
        if arguments.same_as(&self.call.arguments) && !raw.contains(MASK) {
            return None;
        }
        let fault = self.slots(&arguments, taken).err();
        Some(Hidden { arguments, fault })
    }

    fn slots(&self, masked: &Arguments, taken: &mut Taken) -> Result<(), &'static str> {
        let leaves = |arguments: &Arguments| arguments.json().map(|json| json.leaves()).map_err(|_| HOLDS);
        let (own, masked) = (leaves(&self.call.arguments)?, leaves(masked)?);
        let is_alike = own.len() == masked.len() && own.iter().zip(&masked).all(|(a, b)| a.pointer == b.pointer);
        if !is_alike {
            return Err(HOLDS);
        }
        let hidden = own.iter().zip(&masked).filter(|(own, masked)| own.value != masked.value || has_mask(&own.value));
        hidden.into_iter().try_for_each(|(own, masked)| self.leaf(own, masked, taken))
    }

    fn leaf(&self, own: &Leaf, masked: &Leaf, taken: &mut Taken) -> Result<(), &'static str> {
        let (Json::Text(text), Json::Text(masked)) = (&own.value, &masked.value) else { return Err(NUMBER) };
        if text.contains(MASK) {
            return Err(MASKED);
        }
        let pointer = own.pointer.as_str();
        let known = taken.slots.iter().position(|slot| slot.argument == pointer);
        let parts = known.and_then(|at| taken.slots.get(at)).map(|slot| slot.parts.clone());
        if matches!(parts.as_deref(), Some([Part::Result { .. }])) {
            // A token that an earlier result gave is taken anew.
            return Ok(());
        }
        let values = hidden_in(text, masked).ok_or(HOLDS)?;
        let mut sources = Vec::new();
        for (before, value) in &values {
            sources.push((*value, self.source(before, value, pointer, sources.len(), taken)?));
        }
        let parts = parts.unwrap_or_else(|| vec![Part::Text { text: text.clone() }]);
        let (parts, found) = split(&parts, &sources);
        if found < sources.len() {
            return Err(HOLDS);
        }
        let slot = Slot { argument: pointer.to_owned(), parts, examples: 1 };
        match known.and_then(|at| taken.slots.get_mut(at)) {
            Some(known) => *known = slot,
            None => taken.slots.push(slot),
        }
        Ok(())
    }

    /// Where a secret comes from in a replay. Guards for parts of it are dropped: it is taken as a whole.
    fn source(
        &self,
        before: &str,
        value: &str,
        pointer: &str,
        number: usize,
        taken: &mut Taken,
    ) -> Result<Part, &'static str> {
        if is_wrapped(value) && !before.trim_end().to_lowercase().ends_with("basic") {
            return Err(WRAPPED);
        }
        let is_around = |guard: &&super::Guard| guard.argument == pointer && guard.value.len() > value.len();
        if taken.guards.iter().filter(is_around).any(|guard| guard.value.contains(value)) {
            return Err(UNCERTAIN);
        }
        let lower = value.to_lowercase();
        taken.guards.retain(|guard| guard.argument != pointer || !lower.contains(&guard.value.to_lowercase()));
        if self.task.text().contains(value) || self.given.gives(value) {
            return Err(NAMED_BY_TASK);
        }
        let alone = Json::Object([("secret".to_owned(), Json::Text(value.to_owned()))].into());
        let from = self.results.taken(&Arguments::from_raw(alone.to_text()), self.given, self.usable);
        match from.slots.into_iter().next() {
            Some(slot) => slot.parts.into_iter().next().ok_or(UNCERTAIN),
            None if !from.guards.is_empty() => Err(UNCERTAIN),
            None => Ok(Part::Secret { name: name_of(&self.call.tool, pointer, number) }),
        }
    }
}

fn has_mask(value: &Json) -> bool {
    matches!(value, Json::Text(text) if text.contains(MASK))
}

/// The texts that were masked, each with what stands before it; absent where that is not certain.
fn hidden_in<'t>(text: &'t str, masked: &str) -> Option<Vec<(&'t str, &'t str)>> {
    let mut literals = masked.split(MASK);
    let mut rest = text.strip_prefix(literals.next()?)?;
    let mut before = text.get(..text.len() - rest.len())?;
    let literals: Vec<&str> = literals.collect();
    let mut hidden = Vec::new();
    for (at, literal) in literals.iter().enumerate() {
        let is_last = at + 1 == literals.len();
        let end = if is_last { rest.len().checked_sub(literal.len())? } else { rest.find(literal)? };
        let (value, after) = (rest.get(..end)?, rest.get(end..)?);
        let after_literal = after.strip_prefix(literal)?;
        // Between two secrets that touch nobody can tell.
        if value.is_empty() || (!is_last && literal.is_empty()) {
            return None;
        }
        hidden.push((before, value));
        before = after.get(..literal.len())?;
        rest = after_literal;
    }
    (!hidden.is_empty() && hidden.iter().all(|(_, value)| text.matches(value).count() == 1)).then_some(hidden)
}

/// The parts with what is secret of their texts taken from elsewhere, and how many secrets were found.
fn split(parts: &[Part], sources: &[(&str, Part)]) -> (Vec<Part>, usize) {
    let (mut split, mut found) = (Vec::new(), 0);
    for part in parts {
        let Part::Text { text } = part else {
            split.push(part.clone());
            continue;
        };
        let mut rest = text.as_str();
        for (value, source) in sources {
            if let Some((before, after)) = rest.split_once(value) {
                split.extend(literal(before));
                split.push(source.clone());
                found += 1;
                rest = after;
            }
        }
        split.extend(literal(rest));
    }
    (split, found)
}

fn literal(text: &str) -> Option<Part> {
    (!text.is_empty()).then(|| Part::Text { text: text.to_owned() })
}

/// The name of a secret: the tool and the argument, and from the second one of an argument on its number.
fn name_of(tool: &str, pointer: &str, number: usize) -> String {
    let steps = pointer.split('/').skip(1).filter(|step| *step != "#");
    let path = steps.map(|step| step.replace("~1", "/").replace("~2", "*").replace("~3", "#").replace("~0", "~"));
    let number = (number > 0).then(|| (number + 1).to_string());
    std::iter::once(tool.to_owned()).chain(path).chain(number).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_masked_is_told_from_what_stands_around_it() {
        assert_eq!(hidden_in("Bearer abc", "Bearer [secret]"), Some(vec![("Bearer ", "abc")]));
        assert_eq!(hidden_in("a=1x&b=2y!", "a=[secret]&b=[secret]!"), Some(vec![("a=", "1x"), ("&b=", "2y")]));
        for (text, masked) in [("abcd", "[secret][secret]"), ("aa", "a[secret]"), ("xyz", "x[secret]q"), ("x", "x")] {
            assert_eq!(hidden_in(text, masked), None, "{text} {masked}");
        }
    }

    #[test]
    fn a_secret_is_named_by_tool_and_argument() {
        assert_eq!(name_of("search", "/api_key", 0), "search.api_key");
        assert_eq!(name_of("http", "/headers/#/X~1Key", 1), "http.headers.X/Key.2");
    }
}
