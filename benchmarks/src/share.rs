//! Shares of counts.

/// A part of a whole, from 0 to 1; of nothing it is 0.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    count(part) / count(whole).max(1.0)
}

/// The same in percent.
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    100.0 * share(part, whole)
}
