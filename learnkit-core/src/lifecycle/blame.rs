//! Which record a failed run speaks against (semantics §8). Pure: who followed what is the engine's affair.

use super::Event;
use crate::record::Record;
use crate::task::TaskKey;

/// What the failure of a run means for a record that guided it and was followed; `productive` are the tools
/// that worked in it.
///
/// A few first calls are shared by many tasks, so that another task is charged only where the run did all
/// of the procedure and nothing else.
pub(crate) fn blame(record: &Record, task: &TaskKey, productive: &[&str]) -> Option<Event> {
    if record.task.as_ref().is_some_and(|own| own.key == *task) {
        return Some(Event::Harmed);
    }
    let tools = record.procedure()?.tools();
    (!tools.is_empty() && tools == productive).then_some(Event::Misguided)
}
