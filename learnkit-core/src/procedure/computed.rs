//! Amounts that a planner computed from earlier results: a sum of a column, or the sum, difference or product of
//! two numbers. They stand nowhere, so what they were computed from has to be as it was.

use std::collections::BTreeMap;

use super::bind::Taken;
use super::guard::{Check, Given, Guard, Holds, Place, Results};
use crate::json::Json;
use crate::run::Arguments;

/// Smaller amounts are too often the result of something else.
const MIN_AMOUNT: f64 = 10.0;
/// Among more numbers, two that fit are found by chance.
const MAX_NUMBERS: usize = 64;

/// The numbers at one place of a result, in order.
type Columns = BTreeMap<(usize, String), Vec<f64>>;

impl Results {
    /// The guards of amounts that neither the task gives nor a result says, but that results add up to.
    pub(super) fn computed(&self, arguments: &Arguments, given: &Given, taken: &Taken) -> Vec<Guard> {
        let Ok(json) = arguments.json() else { return Vec::new() };
        let leaves = json.leaves();
        let mut amounts = leaves
            .iter()
            .filter_map(|leaf| {
                let Json::Number(text) = &leaf.value else { return None };
                let amount = text.parse::<f64>().ok().filter(|amount| amount.abs() >= MIN_AMOUNT)?;
                (!taken.holds(&leaf.pointer) && !given.gives(text)).then_some((leaf, text, amount))
            })
            .peekable();
        if amounts.peek().is_none() {
            return Vec::new();
        }
        let columns = self.numbers();
        let guards = amounts.filter_map(|(leaf, text, amount)| {
            let place = |(step, path): &(usize, String)| Place {
                step: *step,
                path: path.clone(),
                holds: Holds::ChosenFrom { all: self.all_at(*step, path, false, text) },
            };
            let places: Vec<Place> = sources(&columns, amount).into_iter().map(place).collect();
            let guard = Guard { argument: leaf.pointer.clone(), value: text.clone(), check: Check::All, places };
            (!guard.places.is_empty()).then_some(guard)
        });
        guards.collect()
    }
}

/// The columns that an amount may have been computed from.
fn sources(columns: &Columns, amount: f64) -> Vec<&(usize, String)> {
    let is_it = |value: f64| (value - amount).abs() <= 1e-9 * amount.abs().max(1.0);
    let is_sum = |numbers: &[f64]| numbers.len() > 1 && is_it(numbers.iter().sum());
    let mut sources: Vec<_> = columns.iter().filter(|(_, numbers)| is_sum(numbers)).map(|(place, _)| place).collect();
    let numbers: Vec<(&(usize, String), f64)> =
        columns.iter().flat_map(|(place, numbers)| numbers.iter().map(move |number| (place, *number))).collect();
    if numbers.len() > MAX_NUMBERS {
        return sources;
    }
    for (at, (place, one)) in numbers.iter().enumerate() {
        for (other_place, other) in numbers.iter().skip(at + 1) {
            let is_product = one.abs() > 1.0 && other.abs() > 1.0 && is_it(one * other);
            let is_difference = is_it(one - other) || is_it(other - one);
            let adds = *one != 0.0 && *other != 0.0 && (is_it(one + other) || is_difference);
            if is_product || adds {
                sources.extend([*place, *other_place]);
            }
        }
    }
    sources.sort_unstable();
    sources.dedup();
    sources
}
