//! What was written elsewhere is checked and masked as if it had been captured here.

use std::cell::Cell;

use crate::record::{Content, Record, SCHEMA_VERSION};
use crate::run::StoredRun;
use crate::secret::mask_text;
use crate::{Error, ErrorKind, Result};

/// Why a procedure only guides after a secret was found in its record.
const MASKED: &str = "a secret was masked when it was imported";

/// Refuses a record that no LearnKit of this version can have written.
pub(super) fn check_record(record: &Record) -> Result<()> {
    check_form(record.schema_version)?;
    let ratio = |value: f64| (0.0..=1.0).contains(&value);
    if !record.success_rate.is_none_or(ratio) {
        return Err(Error::invalid("`success_rate` must be a number from 0 to 1"));
    }
    if !record.domains.values().copied().all(ratio) {
        return Err(Error::invalid("the weights in `domains` must be numbers from 0 to 1"));
    }
    Ok(())
}

/// Refuses a form of records that is newer than this build.
pub(super) fn check_form(version: u32) -> Result<()> {
    if version <= SCHEMA_VERSION {
        return Ok(());
    }
    let message = format!("the record has form {version} and this build knows up to {SCHEMA_VERSION}; update LearnKit");
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// Masks the secrets of a record. A procedure whose record held one may not send the mask in its place,
/// so it only guides.
pub(super) fn mask_record(record: &mut Record) {
    let found = Cell::new(0);
    let mask = |text: &mut String| mask(text, &found);
    record.each_text(&mask);
    each_written_text(&mut record.content, &mask);
    if found.get() > 0
        && let Content::Skill(skill) = &mut record.content
        && let Some(procedure) = &mut skill.procedure
        && !procedure.guide_only.iter().any(|reason| reason == MASKED)
    {
        procedure.guide_only.push(MASKED.to_owned());
    }
}

/// Masks the secrets of a run.
pub(super) fn mask_run(run: &mut StoredRun) {
    let found = Cell::new(0);
    run.each_text(&|text| mask(text, &found));
}

fn mask(text: &mut String, found: &Cell<usize>) {
    let masked = mask_text(text);
    if masked.found > 0 {
        found.set(found.get() + masked.found);
        *text = masked.text;
    }
}

/// Visits the texts that people write and that a capture never holds.
fn each_written_text(content: &mut Content, visit: &impl Fn(&mut String)) {
    match content {
        Content::Skill(skill) => {
            skill.steps.iter_mut().chain(&mut skill.constraints).chain(&mut skill.pitfalls).for_each(visit);
        }
        Content::Fact(fact) => {
            visit(&mut fact.statement);
            fact.source.iter_mut().chain(&mut fact.superseded).for_each(visit);
        }
        Content::Strategy(strategy) => {
            visit(&mut strategy.goal);
            strategy.phases.iter_mut().chain(&mut strategy.why).for_each(visit);
        }
        Content::Preference(preference) => {
            visit(&mut preference.key);
            visit(&mut preference.value);
        }
        Content::Heuristic(heuristic) => {
            visit(&mut heuristic.rule);
            heuristic.exception.iter_mut().for_each(visit);
        }
        Content::Failure(_) | Content::Trace(_) => {}
    }
}
