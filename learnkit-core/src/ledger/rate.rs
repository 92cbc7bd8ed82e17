//! Rates with intervals: the posterior of a rate (Jeffreys' prior) and the difference of two rates
//! (Newcombe 1998, method 10). No dependency: the incomplete beta function takes a page.

use serde::{Deserialize, Serialize};

/// A figure and the range that holds it with a probability of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The figure.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The share of the normal distribution within ± this many deviations is 95 %.
const Z95: f64 = 1.959_963_984_540_054;

/// A rate of successes: the share of them, and the middle 95 % of Beta(½ + successes, ½ + failures), whose
/// end is 0 or 1 where all are alike (Brown and others 2001). Absent for nothing.
pub(super) fn rate(successes: u64, failures: u64) -> Option<Interval> {
    if successes + failures == 0 {
        return None;
    }
    let (a, b) = (as_f64(successes) + 0.5, as_f64(failures) + 0.5);
    Some(Interval {
        estimate: as_f64(successes) / as_f64(successes + failures),
        low: if successes == 0 { 0.0 } else { beta_quantile(a, b, 0.025) },
        high: if failures == 0 { 1.0 } else { beta_quantile(a, b, 0.975) },
    })
}

/// The difference of two rates, each as successes and failures. Absent where one is of nothing.
pub(super) fn difference(with: [u64; 2], without: [u64; 2]) -> Option<Interval> {
    let (a, b) = (wilson(with)?, wilson(without)?);
    let estimate = a.estimate - b.estimate;
    let down = (a.estimate - a.low).hypot(b.high - b.estimate);
    let up = (a.high - a.estimate).hypot(b.estimate - b.low);
    Some(Interval { estimate, low: estimate - down, high: estimate + up })
}

/// Wilson's score interval.
fn wilson([successes, failures]: [u64; 2]) -> Option<Interval> {
    let n = as_f64(successes + failures);
    if n == 0.0 {
        return None;
    }
    let p = as_f64(successes) / n;
    let z2 = Z95 * Z95;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z95 / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    Some(Interval { estimate: p, low: (middle - half).max(0.0), high: (middle + half).min(1.0) })
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs stay far below 2^52")]
pub(super) fn as_f64(count: u64) -> f64 {
    count as f64
}

/// Where the distribution Beta(a, b) reaches a share, by halving.
fn beta_quantile(a: f64, b: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if incomplete_beta(a, b, middle) < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The regularised incomplete beta function `I_x(a, b)`, by its continued fraction.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on this side of the mean; the other side is its mirror image.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// Lentz's method for the continued fraction of the incomplete beta function (Numerical Recipes §6.4).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let kept = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / kept(1.0 - (a + b) * x / (a + 1.0));
    let mut product = below;
    for step in 1..400 {
        let n = f64::from(step);
        let even = n * (b - n) * x / ((a + 2.0 * n - 1.0) * (a + 2.0 * n));
        let odd = -(a + n) * (a + b + n) * x / ((a + 2.0 * n) * (a + 2.0 * n + 1.0));
        for term in [even, odd] {
            below = 1.0 / kept(1.0 + term * below);
            above = kept(1.0 + term / above);
            product *= below * above;
        }
        if (below * above - 1.0).abs() < 1e-14 {
            break;
        }
    }
    product
}

/// The logarithm of the gamma function for positive numbers (Lanczos, g = 7, 9 terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let places = std::iter::successors(Some(1.0), |place| Some(place + 1.0));
    let sum = TERMS.iter().zip(places).fold(0.999_999_999_999_809_9, |sum, (term, place)| sum + term / (x + place));
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_incomplete_beta_function_gives_what_it_is_for_whole_numbers() {
        // For whole numbers it is a tail of the binomial distribution, here counted by hand.
        for (a, b, x, value) in [
            (1.0, 1.0, 0.3, 0.3),
            (2.0, 3.0, 0.5, 11.0 / 16.0),
            (3.0, 1.0, 0.9, 0.729),
            (1.0, 4.0, 0.1, 1.0 - 0.6561),
            (5.0, 5.0, 0.5, 0.5),
            // The arcsine distribution.
            (0.5, 0.5, 0.25, 1.0 / 3.0),
        ] {
            assert!(near(incomplete_beta(a, b, x), value), "{a} {b} {x}: {}", incomplete_beta(a, b, x));
        }
        for x in [0.01, 0.2, 0.77] {
            assert!(near(incomplete_beta(200.5, 3.5, x) + incomplete_beta(3.5, 200.5, 1.0 - x), 1.0));
        }
    }

    #[test]
    fn ln_gamma_gives_factorials_and_the_root_of_pi() {
        assert!(near(ln_gamma(5.0), 24.0_f64.ln()) && near(ln_gamma(11.0), 3_628_800.0_f64.ln()));
        assert!(near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln()));
    }

    #[test]
    fn a_rate_has_the_interval_of_jeffreys() {
        let shown = |successes, failures| {
            let rate = rate(successes, failures).unwrap();
            format!("{:.3} {:.3} {:.3}", rate.estimate, rate.low, rate.high)
        };
        // Brown, Cai, DasGupta 2001, table 5 (n = 7, 10, 20).
        assert_eq!(shown(0, 10), "0.000 0.000 0.217");
        assert_eq!(shown(5, 5), "0.500 0.224 0.776");
        assert_eq!(shown(1, 6), "0.143 0.016 0.501");
        assert_eq!(shown(20, 0), "1.000 0.883 1.000");
        assert_eq!(rate(0, 0), None);
    }

    #[test]
    fn a_difference_of_rates_has_the_interval_of_newcombe() {
        // Newcombe 1998, table II: 56/70 against 48/80.
        let of = |with, without| {
            let found = difference(with, without).unwrap();
            format!("{:.4} {:.4} {:.4}", found.estimate, found.low, found.high)
        };
        assert_eq!(of([56, 14], [48, 32]), "0.2000 0.0524 0.3339");
        // The same table: 9/10 against 3/10, and 10/10 against 0/20.
        assert_eq!(of([9, 1], [3, 7]), "0.6000 0.1705 0.8090");
        assert_eq!(of([10, 0], [0, 20]), "1.0000 0.6791 1.0000");
        assert_eq!(difference([0, 0], [1, 1]), None);
    }
}
