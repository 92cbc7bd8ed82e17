//! Slots: the values of an argument that each replay takes anew, and where it takes them from.
//!
//! A value that cannot be taken ends the replay before the step: neither the recorded value nor a guess is
//! sent. Not here: which values become slots when a run is distilled (`bind`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::guard::Results;
use super::{Step, Today};
use crate::config::TimeZone;
use crate::json::Json;
use crate::run::Arguments;
use crate::secret::{MASK, Sensitive};

/// How a value of an earlier result reads where only identity counts.
const FROM_RESULT: &str = "\u{1d}result";

/// An argument that is taken anew in each replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// The argument, a JSON pointer into the arguments.
    pub argument: String,
    /// What it is made of: one source, or several joined to one text.
    pub parts: Vec<Part>,
    /// For how many different values it was seen to hold.
    pub examples: u32,
}

/// A part of an argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case", deny_unknown_fields)]
pub enum Part {
    /// Always the same text.
    Text {
        /// That text.
        text: String,
    },
    /// A declared parameter of the task.
    Parameter {
        /// Its name.
        name: String,
    },
    /// The day of the replay, or one counted from it, as `YYYY-MM-DD`.
    Date {
        /// So many days on.
        days: i64,
        /// The time zone in which days begin.
        zone: String,
    },
    /// A secret that the host supplies, see [`SecretProvider`](crate::hook::SecretProvider).
    Secret {
        /// Its name: the tool and the argument, such as `search.api_key`.
        name: String,
    },
    /// The result of an earlier step: every candidate has to give one and the same value.
    Result {
        /// Every place where the value was seen.
        candidates: Vec<Candidate>,
    },
}

/// A place of an earlier result that a value may come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The index of the earlier step, from 0.
    pub step: usize,
    /// The leaf, with `*` for list positions.
    pub path: String,
    /// Where a list holds several values: the leaf with its position. Absent where only one value stands
    /// at the path, then and now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

impl Candidate {
    /// Whether it names a value without choosing one from a list.
    pub fn is_definite(&self) -> bool {
        self.position.is_none()
    }
}

impl Slot {
    /// The places of earlier results that it reads.
    pub fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.parts.iter().flat_map(Part::candidates)
    }

    pub(super) fn candidates_mut(&mut self) -> impl Iterator<Item = &mut Candidate> {
        let parts = self.parts.iter_mut().filter_map(|part| match part {
            Part::Result { candidates } => Some(candidates),
            Part::Text { .. } | Part::Parameter { .. } | Part::Secret { .. } | Part::Date { .. } => None,
        });
        parts.flatten()
    }

    /// Whether it reads the result of such a step.
    fn reads(&self, step: impl Fn(usize) -> bool) -> bool {
        self.candidates().any(|candidate| step(candidate.step))
    }

    /// Whether it takes the value of a parameter.
    pub(super) fn takes_parameter(&self, name: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Parameter { name: own } if own == name))
    }

    /// The time zone of a date that it counts from today.
    pub(super) fn zone(&self) -> Option<&str> {
        self.date().map(|(_, zone)| zone)
    }

    /// How far from today a date is that it counts.
    pub(super) fn days(&self) -> Option<i64> {
        self.date().map(|(days, _)| days)
    }

    fn date(&self) -> Option<(i64, &str)> {
        self.parts.iter().find_map(|part| match part {
            Part::Date { days, zone } => Some((*days, zone.as_str())),
            Part::Text { .. } | Part::Parameter { .. } | Part::Secret { .. } | Part::Result { .. } => None,
        })
    }

    /// The secrets that it takes.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Secret { name } => Some(name.as_str()),
            Part::Text { .. } | Part::Parameter { .. } | Part::Date { .. } | Part::Result { .. } => None,
        })
    }

    /// Visits every free text of it.
    pub(super) fn each_text(&mut self, visit: &impl Fn(&mut String)) {
        for part in &mut self.parts {
            if let Part::Text { text } = part {
                visit(text);
            }
        }
    }

    /// How it reads where only identity counts: what it takes, not from which of several places.
    fn signature(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text { text } => text.clone(),
            Part::Parameter { name } => format!("\u{1d}{{{name}}}"),
            Part::Date { days, zone } => format!("\u{1d}today{days:+}{zone}"),
            Part::Secret { name } => format!("\u{1d}secret {name}"),
            Part::Result { .. } => FROM_RESULT.to_owned(),
        });
        parts.collect()
    }

    /// Keeps the candidates that an older example of the same slot has, too. Without a definite one left
    /// the two contradict each other.
    pub(crate) fn narrow(&mut self, older: &Self, is_new_value: bool) -> Result<(), String> {
        self.examples = older.examples + u32::from(is_new_value);
        for (part, older) in self.parts.iter_mut().zip(&older.parts) {
            let (Part::Result { candidates }, Part::Result { candidates: known }) = (part, older) else { continue };
            if !candidates.iter().any(|own| own.is_definite() && known.contains(own)) {
                let argument = &self.argument;
                return Err(format!("two runs took the argument `{argument}` from different places"));
            }
            candidates.retain(|own| known.contains(own));
        }
        Ok(())
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| part.fmt(f))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { text } => f.write_str(text),
            Self::Parameter { name } => write!(f, "{{{name}}}"),
            Self::Date { days, zone } => write!(f, "{{{}{}}}", DaysOn(*days), in_zone(zone)),
            Self::Secret { name } => write!(f, "{{the secret `{name}`}}"),
            Self::Result { candidates } => {
                let places = candidates.iter().map(|candidate| {
                    let path = candidate.position.as_ref().unwrap_or(&candidate.path);
                    format!("result {} at `{path}`", candidate.step + 1)
                });
                f.write_str(&places.collect::<Vec<_>>().join(" and "))
            }
        }
    }
}

/// A day by its distance from today, in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DaysOn(pub(crate) i64);

impl fmt::Display for DaysOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(days) = self;
        let (sign, count) = (if *days < 0 { '-' } else { '+' }, days.unsigned_abs());
        match count {
            0 => f.write_str("today"),
            1 => write!(f, "today {sign} 1 day"),
            _ => write!(f, "today {sign} {count} days"),
        }
    }
}

/// That a zone is not the usual one.
fn in_zone(zone: &str) -> String {
    if zone == TimeZone::default().name() { String::new() } else { format!(" in {zone}") }
}

impl Part {
    fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        let candidates = match self {
            Self::Result { candidates } => candidates.as_slice(),
            Self::Text { .. } | Self::Parameter { .. } | Self::Secret { .. } | Self::Date { .. } => &[],
        };
        candidates.iter()
    }
}

/// What one replay takes its values from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// The results of the steps so far.
    pub(crate) results: &'a Results,
    /// The parameters of the task.
    pub(crate) parameters: &'a BTreeMap<String, String>,
    /// The day, the same for every step.
    pub(crate) today: &'a Today,
    /// The secrets that the host supplied, by their names.
    pub(crate) secrets: &'a Supplied,
}

/// The secrets that a host supplied for a replay, by their names.
pub(crate) type Supplied = BTreeMap<String, Sensitive>;

/// What a value is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    /// The tool.
    Tool,
    /// Whoever may see everything but secrets.
    Showing,
}

impl Sources<'_> {
    fn value(&self, slot: &Slot, whom: For) -> Result<String, String> {
        slot.parts.iter().map(|part| self.part(&slot.argument, part, whom)).collect()
    }

    fn part(&self, argument: &str, part: &Part, whom: For) -> Result<String, String> {
        match part {
            Part::Text { text } => Ok(text.clone()),
            Part::Secret { .. } if whom == For::Showing => Ok(MASK.to_owned()),
            Part::Secret { name } => {
                let value = self.secrets.get(name).map(|secret| secret.expose().to_owned());
                value.ok_or_else(|| format!("argument `{argument}` takes the secret `{name}`, which nobody supplied"))
            }
            Part::Parameter { name } => {
                let value = self.parameters.get(name).cloned();
                value.ok_or_else(|| format!("argument `{argument}` takes the parameter `{name}`, which has no value"))
            }
            Part::Date { days, zone } => self.today.date(*days, zone),
            Part::Result { candidates } => {
                let values: BTreeSet<String> = candidates
                    .iter()
                    .map(|candidate| self.results.read(argument, candidate))
                    .collect::<Result<_, _>>()?;
                let mut values = values.into_iter();
                match (values.next(), values.next()) {
                    (Some(value), None) => Ok(value),
                    _ => Err(format!("the places that argument `{argument}` came from give different values now")),
                }
            }
        }
    }
}

impl Step {
    /// The arguments with every slot filled.
    ///
    /// # Errors
    /// The reason in words why a value cannot be taken.
    pub(crate) fn bound(&self, sources: &Sources<'_>) -> Result<Arguments, String> {
        let arguments = self.filled(self.slots.iter(), sources)?;
        // Whatever the distiller overlooked: a placeholder is not sent.
        if arguments.raw().contains(MASK) {
            return Err(format!("an argument of `{}` is a secret that nothing supplies", self.tool));
        }
        Ok(arguments)
    }

    /// The arguments with some of their slots filled.
    fn filled<'s>(
        &self,
        slots: impl ExactSizeIterator<Item = &'s Slot>,
        sources: &Sources<'_>,
    ) -> Result<Arguments, String> {
        if slots.len() == 0 {
            return Ok(self.arguments.clone());
        }
        let json = self.arguments.json().map_err(|error| error.to_string())?;
        let recorded = json.leaves();
        let (mut new, mut shown) = (BTreeMap::new(), BTreeMap::new());
        for slot in slots {
            let leaf = recorded.iter().find(|leaf| leaf.pointer == slot.argument);
            let leaf = leaf.ok_or_else(|| format!("there is no argument `{}` to fill", slot.argument))?;
            let value = |whom| {
                of_kind(&leaf.value, sources.value(slot, whom)?).ok_or_else(|| {
                    format!("argument `{}` is a {}, and its new value is none", slot.argument, leaf.value.kind())
                })
            };
            if slot.secrets().next().is_some() {
                shown.insert(slot.argument.clone(), value(For::Showing)?);
            }
            let value = value(For::Tool)?;
            // What a result and the clock both give has to be the same.
            if *new.entry(slot.argument.clone()).or_insert_with(|| value.clone()) != value {
                return Err(format!("the sources of argument `{}` give different values now", slot.argument));
            }
        }
        new.retain(|pointer, value| recorded.iter().any(|leaf| leaf.pointer == *pointer && leaf.value != *value));
        // Arguments in which nothing changes are sent to the letter.
        if new.is_empty() {
            return Ok(self.arguments.clone());
        }
        let arguments = Arguments::from_raw(json.with_leaves(&new).to_text());
        if shown.is_empty() {
            return Ok(arguments);
        }
        new.append(&mut shown);
        Ok(arguments.shown_as(json.with_leaves(&new).to_text()))
    }

    /// The arguments before any step was taken: parameters and dates are filled in; what earlier results and the
    /// host's secrets have to give is as it was recorded and listed.
    ///
    /// # Errors
    /// The reason in words why a value of the task or a date cannot be taken.
    pub(crate) fn bound_to_task(
        &self,
        parameters: &BTreeMap<String, String>,
        today: &Today,
    ) -> Result<(Arguments, Vec<String>), String> {
        let sources = Sources { results: &Results::default(), parameters, today, secrets: &Supplied::new() };
        let is_open = |slot: &Slot| slot.reads(|_| true) || slot.secrets().next().is_some();
        self.bound_where(&sources, is_open)
    }

    /// The arguments with every slot filled but those that read the result of an `open` step or take a secret that
    /// is not there: these are as they were recorded, and listed.
    ///
    /// # Errors
    /// The reason in words why another value cannot be taken.
    pub(crate) fn bound_but(
        &self,
        sources: &Sources<'_>,
        open: impl Fn(usize) -> bool,
    ) -> Result<(Arguments, Vec<String>), String> {
        let is_missing = |slot: &Slot| slot.secrets().any(|name| !sources.secrets.contains_key(name));
        self.bound_where(sources, |slot| slot.reads(&open) || is_missing(slot))
    }

    fn bound_where(
        &self,
        sources: &Sources<'_>,
        is_open: impl Fn(&Slot) -> bool,
    ) -> Result<(Arguments, Vec<String>), String> {
        let (open, given): (Vec<&Slot>, Vec<&Slot>) = self.slots.iter().partition(|slot| is_open(slot));
        let arguments = self.filled(given.into_iter(), sources)?;
        Ok((arguments, open.iter().map(|slot| slot.argument.clone()).collect()))
    }

    /// Whether every date that it counts from today is the recorded one.
    pub(crate) fn is_of_day(&self, today: &Today) -> bool {
        let dated: Vec<&Slot> = self.slots.iter().filter(|slot| slot.zone().is_some()).collect();
        let (parameters, secrets) = (&BTreeMap::new(), &Supplied::new());
        let sources = Sources { results: &Results::default(), parameters, today, secrets };
        dated.is_empty()
            || self.filled(dated.into_iter(), &sources).is_ok_and(|arguments| arguments.same_as(&self.arguments))
    }

    /// The call as it decides identity: the tool, and the arguments with slots for what they take anew; what a
    /// list gives in turn counts as such.
    pub(crate) fn signature(&self, in_turn: Option<&str>) -> String {
        let arguments = match self.arguments.json() {
            Ok(json) if !self.slots.is_empty() || in_turn.is_some() => {
                let slots = self.slots.iter().map(|slot| (slot.argument.clone(), Json::Text(slot.signature())));
                let in_turn = in_turn.map(|argument| (argument.to_owned(), Json::Text(FROM_RESULT.to_owned())));
                json.with_leaves(&slots.chain(in_turn).collect()).to_text()
            }
            _ => self.arguments.stable(),
        };
        format!("{}\u{1f}{arguments}", self.tool)
    }

    /// Whether every slot of it and of another example has a certain place that both read.
    pub(super) fn shares_places(&self, other: &Self) -> bool {
        self.slots.iter().zip(&other.slots).all(|(own, other)| own.clone().narrow(other, false).is_ok())
    }

    /// Takes over what an older example of the same step showed.
    ///
    /// # Errors
    /// The reason in words where the two contradict each other.
    pub(crate) fn confirm(&mut self, older: &Self) -> Result<(), String> {
        self.shape.also_allow(&older.shape);
        let value = |step: &Self, pointer: &str| {
            let leaves = step.arguments.json().ok()?.leaves();
            leaves.into_iter().find(|leaf| leaf.pointer == pointer).map(|leaf| leaf.value)
        };
        let same: Vec<bool> =
            self.slots.iter().map(|slot| value(self, &slot.argument) == value(older, &slot.argument)).collect();
        for (slot, same) in self.slots.iter_mut().zip(same) {
            let known = older.slots.iter().find(|known| known.argument == slot.argument);
            if let Some(known) = known.filter(|known| known.signature() == slot.signature()) {
                slot.narrow(known, !same)?;
            }
        }
        Ok(())
    }
}

/// A text as a value of the same kind as another; absent where it is none.
pub(super) fn of_kind(recorded: &Json, text: String) -> Option<Json> {
    match recorded {
        Json::Text(_) => Some(Json::Text(text)),
        Json::Number(_) => Json::parse(&text).ok().filter(|json| matches!(json, Json::Number(_))),
        _ => None,
    }
}
