//! What became of the runs of an input, counted.

use learnkit::record::Kind;
use learnkit::{Error, ErrorKind, RunReport};
use serde_json::{Value, json};

use super::as_count;
use crate::failure::Outcome;
use crate::output::Output;
use crate::text;

/// So many places are named for people; `--json` names every one.
const NAMED_PLACES: usize = 8;

/// Counts of one input, or of all.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Runs that were read.
    pub(super) runs: u64,
    learned: u64,
    repeated: u64,
    failures: u64,
    known: u64,
    reasons: Vec<Reason>,
}

/// How something was not learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotLearned {
    /// Its format, or a part of it, is not read.
    Refused,
    /// It is broken or not finished.
    Skipped,
    /// It was read and stored, and taught nothing.
    NoLesson,
}

/// Why places were not learned.
#[derive(Debug)]
struct Reason {
    how: NotLearned,
    words: String,
    places: Vec<String>,
}

impl NotLearned {
    /// What an error of the reader means for its place.
    pub(super) fn because_of(error: &Error) -> Self {
        if error.kind() == ErrorKind::Unsupported { Self::Refused } else { Self::Skipped }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Skipped => "skipped",
            Self::NoLesson => "no_lesson",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Skipped => "skipped",
            Self::NoLesson => "without a lesson",
        }
    }
}

impl Tally {
    /// Counts a run that was stored.
    pub(super) fn learned(&mut self, report: &RunReport, place: String) {
        self.runs += 1;
        let note = |kind| report.learned.iter().find(|note| note.kind == kind);
        match (note(Kind::Skill), note(Kind::Failure)) {
            (Some(skill), _) if skill.change == "learned" => self.learned += 1,
            (Some(_), _) => self.repeated += 1,
            (None, Some(_)) => self.failures += 1,
            (None, None) => {
                let reason = report.warnings.first().unwrap_or(&report.gate.reason).clone();
                self.not_learned(NotLearned::NoLesson, reason, place);
            }
        }
    }

    /// Counts a run that was learned before.
    pub(super) fn known(&mut self) {
        self.runs += 1;
        self.known += 1;
    }

    /// Counts a place that was not learned.
    pub(super) fn not_learned(&mut self, how: NotLearned, reason: String, place: String) {
        match self.reasons.iter_mut().find(|known| known.how == how && known.words == reason) {
            Some(known) => known.places.push(place),
            None => self.reasons.push(Reason { how, words: reason, places: vec![place] }),
        }
    }

    /// Whether nothing was counted.
    pub(super) fn is_empty(&self) -> bool {
        self.runs == 0 && self.reasons.is_empty()
    }

    /// Adds the counts and reasons of an input.
    pub(super) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.learned += other.learned;
        self.repeated += other.repeated;
        self.failures += other.failures;
        self.known += other.known;
        self.reasons.extend(other.reasons);
    }

    fn count(&self, how: NotLearned) -> u64 {
        self.reasons.iter().filter(|reason| reason.how == how).map(|reason| as_count(reason.places.len())).sum()
    }

    /// The counts for programs.
    pub(super) fn counts(&self) -> Value {
        json!({
            "runs": self.runs, "learned": self.learned, "repeated": self.repeated, "failures": self.failures,
            "already_learned": self.known, "no_lesson": self.count(NotLearned::NoLesson),
            "skipped": self.count(NotLearned::Skipped), "refused": self.count(NotLearned::Refused),
        })
    }

    /// The counts of an input with its reasons.
    pub(super) fn as_json(&self, name: &str) -> Value {
        let reason = |reason: &Reason| {
            json!({
                "how": reason.how.as_str(), "reason": reason.words,
                "count": reason.places.len(), "places": reason.places,
            })
        };
        let mut value = self.counts();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("path".to_owned(), name.into());
            fields.insert("reasons".to_owned(), self.reasons.iter().map(reason).collect());
        }
        value
    }

    /// The counts in one line.
    fn line(&self) -> String {
        let counts = [
            (self.learned, "learned"),
            (self.repeated, "repeated"),
            (self.failures, if self.failures == 1 { "failure stored" } else { "failures stored" }),
            (self.known, "already learned"),
            (self.count(NotLearned::NoLesson), NotLearned::NoLesson.words()),
            (self.count(NotLearned::Skipped), NotLearned::Skipped.words()),
            (self.count(NotLearned::Refused), NotLearned::Refused.words()),
        ];
        let told = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let told = told.collect::<Vec<_>>().join(", ");
        if told.is_empty() { "nothing in it".to_owned() } else { told }
    }

    /// Prints the totals for people.
    pub(super) fn print_total(&self, out: &mut Output<'_>) -> Outcome<()> {
        if !out.is_json() {
            out.line(format_args!("total: {}", self.line()))?;
        }
        Ok(())
    }

    /// Prints what became of an input, for people: the counts, and each reason with its places.
    pub(super) fn print(&self, name: &str, out: &mut Output<'_>) -> Outcome<()> {
        if out.is_json() {
            return Ok(());
        }
        out.line(format_args!("{}: {}", text::line(name), self.line()))?;
        for reason in &self.reasons {
            let named = reason.places.iter().take(NAMED_PLACES).cloned().collect::<Vec<_>>().join("; ");
            let more = reason.places.len().saturating_sub(NAMED_PLACES);
            let more = if more == 0 { String::new() } else { format!("; {more} more") };
            let (count, how) = (reason.places.len(), reason.how.words());
            out.line(format_args!("  {count} {how}: {} ({named}{more})", text::line(&reason.words)))?;
        }
        Ok(())
    }
}
