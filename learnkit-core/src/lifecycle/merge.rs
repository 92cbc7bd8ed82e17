//! One record takes over what another one counted that says the same. Pure: what says the same, and that
//! nothing crosses scopes, is the engine's affair.

use super::rate;
use crate::record::{Content, Record};

/// Adds the counts of another record. Confidence and trust stay the record's own: they were earned by it.
pub(crate) fn absorb(record: &mut Record, other: &Record) {
    let (own, theirs) = (&mut record.usage, &other.usage);
    own.reuse_count += theirs.reuse_count;
    own.help += theirs.help;
    own.harm += theirs.harm;
    own.successes += theirs.successes;
    own.harms_in_a_row = own.harms_in_a_row.max(theirs.harms_in_a_row);
    rate(record);
    record.pinned |= other.pinned;
    let later = record.expires.zip(other.expires).map(|(own, theirs)| own.max(theirs));
    record.expires = later.filter(|_| !record.pinned);
    record.last_reinforced = record.last_reinforced.max(other.last_reinforced);
    if let (Content::Fact(fact), Content::Fact(known)) = (&mut record.content, &other.content) {
        let new = known.superseded.iter().filter(|statement| !fact.superseded.contains(statement));
        let new: Vec<String> = new.cloned().collect();
        fact.superseded.splice(0..0, new);
        fact.source = fact.source.take().or_else(|| known.source.clone());
    }
}
