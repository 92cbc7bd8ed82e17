//! How sure a mean is, however often somebody looks: a confidence sequence by betting.
//!
//! Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting": whoever bets
//! against a value that is the mean gains 1 / α times his stake, ever, with a probability of at most α. What
//! such a bet has beaten is not the mean. It holds for every number of observations and every bounded
//! distribution; how boldly is bet decides only how soon something is known.

/// A bet never stakes more than this share of what it could lose.
const BOLDNESS: f64 = 0.9;
/// What the variance of values from 0 to 1 is taken for at first; a bet on the scale of gate scores.
const FIRST_VARIANCE: f64 = 0.01;

/// The range of means of values from −1 to 1 that no bet has beaten, at an error of `alpha` over all looks.
pub(super) fn mean_range(values: &[f64], alpha: f64) -> [f64; 2] {
    let up: Vec<f64> = values.iter().map(|value| f64::midpoint(*value, 1.0)).collect();
    let down: Vec<f64> = up.iter().map(|value| 1.0 - value).collect();
    // Half of the error for each side.
    let enough = (2.0 / alpha).ln();
    [2.0 * beaten(&up, enough) - 1.0, 1.0 - 2.0 * beaten(&down, enough)]
}

/// The greatest mean of values from 0 to 1 that a bet on a greater one has beaten.
fn beaten(values: &[f64], enough: f64) -> f64 {
    let stakes = stakes(values, enough);
    let gain = |mean: f64| -> f64 {
        let each = values.iter().zip(&stakes).map(|(value, stake)| {
            let stake = stake.min(BOLDNESS / mean.max(f64::MIN_POSITIVE));
            (stake * (value - mean)).ln_1p()
        });
        each.sum()
    };
    let (mut low, mut high) = (0.0, 1.0);
    // To a tenth of a point.
    for _ in 0..14 {
        let middle = f64::midpoint(low, high);
        if gain(middle) >= enough { low = middle } else { high = middle }
    }
    low
}

/// The stake of each bet, from the values before it alone (equation 26 there).
fn stakes(values: &[f64], enough: f64) -> Vec<f64> {
    let (mut count, mut sum, mut squares) = (1.0, 0.5, FIRST_VARIANCE);
    let mut stakes = Vec::with_capacity(values.len());
    for value in values {
        let variance = squares / count;
        stakes.push((2.0 * enough / (variance * count * (1.0 + count).ln())).sqrt());
        count += 1.0;
        sum += value;
        squares += (value - sum / count).powi(2);
    }
    stakes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that a seed gives, from 0 to 1.
    fn shares(seed: u64) -> impl Iterator<Item = f64> {
        let next = move |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        std::iter::successors(Some(seed), next)
            .skip(3)
            .map(|state| f64::from((state >> 33) as u32) / f64::from(1_u32 << 31))
    }

    #[test]
    fn nothing_is_known_of_nothing_and_more_is_known_of_more() {
        assert_eq!(mean_range(&[], 0.05).map(|end| format!("{end:.3}")), ["-1.000", "1.000"]);
        let wide = mean_range(&[0.1; 10], 0.05);
        let narrow = mean_range(&[0.1; 100], 0.05);
        assert!(
            wide[0] < narrow[0] && narrow[0] < 0.1 && 0.1 < narrow[1] && narrow[1] < wide[1],
            "{wide:?} {narrow:?}"
        );
        assert!(narrow[0] > 0.0, "{narrow:?}");
    }

    #[test]
    fn the_mean_is_in_the_range_at_every_look_in_all_but_a_few_of_many_tries() {
        // A difference of successes at rates of 0.9 and 0.8: 10 points. Looked at after every tenth pair.
        let lost = (0..200).filter(|seed| {
            let mut share = shares(*seed);
            let mut draw = |rate: f64| f64::from(u8::from(share.next().unwrap() < rate));
            let values: Vec<f64> = (0..300).map(|_| draw(0.9) - draw(0.8)).collect();
            (10..=300).step_by(10).any(|looked| {
                let [low, high] = mean_range(&values[..looked], 0.05);
                low > 0.1 || high < 0.1
            })
        });
        let lost = lost.count();
        assert!(lost <= 10, "the mean was missed in {lost} of 200 tries");
    }
}
