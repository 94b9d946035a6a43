//! How likely a difference is that is due to chance alone.

use statrs::function::erf::erfc;
use std::f64::consts::{PI, SQRT_2};

/// The probability that a normal variable is as far from its mean as `deviations` standard deviations, on
/// either side.
pub(super) fn normal_p(deviations: f64) -> f64 {
    erfc(deviations.abs() / SQRT_2)
}

/// The sign test (Arbuthnott, 1710) for units that have all moved alike: the probability that so many coins
/// fall on one side, twice for the two sides.
pub(super) fn all_alike_p(units: u64) -> f64 {
    (2.0 * 0.5f64.powf(units as f64)).min(1.0)
}

/// McNemar's exact test (1947) of two counts of pairs that moved, one way and the other: min(1, 2·P(X ≤ least))
/// with X binomial(one + other, ½); 1 where none moved.
pub(super) fn mcnemar_p(one: u64, other: u64) -> f64 {
    let (draws, least) = (one + other, one.min(other));
    if one == other {
        return 1.0;
    }
    if draws <= EXACT_DRAWS {
        return (2.0 * ways(draws, least) as f64 * 0.5f64.powi(draws as i32)).min(1.0);
    }
    // From the largest term down: each is the one above it times k / (n − k + 1), which is below 1.
    let (mut sum, mut term, mut k) = (0.0, 1.0, least);
    while term > sum * f64::EPSILON {
        sum += term;
        term *= k as f64 / (draws - k + 1) as f64;
        k = k.saturating_sub(1);
    }
    (2.0 * sum * half_binomial(draws, least)).min(1.0)
}

/// Up to so many coins every number of ways is exact in a double.
const EXACT_DRAWS: u64 = 52;

/// The ways in which at most `most` of so many coins show heads.
fn ways(coins: u64, most: u64) -> u64 {
    let next = |(term, sum): (u64, u64), k: u64| (term * (coins - k) / (k + 1), sum + term);
    (0..=most).fold((1, 0), next).1
}

/// The probability that `k` of `n` coins show heads, by Loader's saddle point (*Fast and Accurate Computation
/// of Binomial Probabilities*, 2000): no large numbers cancel, so that small tails keep their digits.
fn half_binomial(n: u64, k: u64) -> f64 {
    if k == 0 || k == n {
        return 0.5f64.powf(n as f64);
    }
    let (count, heads, tails) = (n as f64, k as f64, (n - k) as f64);
    let half = count / 2.0;
    let exponent = stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(heads, half)
        - deviance(tails, half);
    exponent.exp() * (count / (2.0 * PI * heads * tails)).sqrt()
}

/// ln(n!) less Stirling's formula for it.
fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        let factorial: f64 = (1..=n).map(|factor| factor as f64).product();
        return factorial.ln() - (x + 0.5) * x.ln() + x - (2.0 * PI).ln() / 2.0;
    }
    let squared = x * x;
    let series = [1.0 / 12.0, 1.0 / 360.0, 1.0 / 1260.0, 1.0 / 1680.0, 1.0 / 1188.0];
    series.iter().rev().fold(0.0, |rest, term| term - rest / squared) / x
}

/// x·ln(x/mean) + mean − x. Near the mean this is a small difference of large numbers, so its series is taken.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() + mean - x;
    }
    let ratio = difference / (x + mean);
    let mut sum = difference * ratio;
    let mut power = 2.0 * x * ratio;
    for odd in (3u32..).step_by(2) {
        power *= ratio * ratio;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// Holm's correction (1979) of the probabilities for having looked at all of them, in their order.
pub(super) fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut corrected = vec![0.0; probabilities.len()];
    let mut least = 0.0f64;
    for (rank, i) in order.into_iter().enumerate() {
        let left = (probabilities.len() - rank) as f64;
        least = least.max((left * probabilities[i]).min(1.0));
        corrected[i] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use num_traits::ToPrimitive;
    use proptest::prelude::*;

    #[track_caller]
    fn assert_near(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-9, "{found} is not {wanted}");
    }

    /// From mpmath with 40 digits, and from scipy.special.erfc, which agree.
    #[test]
    fn tails_of_the_normal_distribution() {
        for (deviations, p) in [
            (0.0, 1.0),
            (0.1, 0.920344325445942),
            (0.5, 0.6170750774519738),
            (1.0, 0.3173105078629141),
            (1.959963984540054, 0.05),
            (-3.0, 0.002699796063260189),
            (5.0, 5.733031437583878e-7),
            (10.0, 1.523970604832105e-23),
            (20.0, 5.507248237212467e-89),
            (30.0, 9.813427854296374e-198),
            (37.0, 1.1451142445049154e-299),
        ] {
            assert_near(normal_p(deviations), p);
        }
    }

    /// From mpmath with 40 digits; scipy.stats.binom.cdf agrees to its own 1e-12.
    #[test]
    fn tails_of_the_binomial_distribution() {
        for (one, other, p) in [
            (0, 0, 1.0),
            (0, 1, 1.0),
            (5, 0, 0.0625),
            (1, 9, 0.021484375),
            (17, 3, 0.0025768280029296875),
            (10, 10, 1.0),
            (40, 60, 0.05688793364098079),
            (400, 600, 2.7284641560660184e-10),
            (0, 1000, 1.8665272370064378e-301),
            (13, 1013, 5.852434509093699e-280),
            (499_000, 501_000, 0.04560829986538209),
            (490_000, 510_000, 5.544363287699225e-89),
            (482_000, 518_000, 7.538991619469985e-284),
            (518_500, 481_500, 1.0164156538835261e-299),
        ] {
            assert_near(mcnemar_p(one, other), p);
        }
    }

    #[test]
    fn small_counts_are_exact() {
        for (one, other, p) in
            [(1, 8, 0.0390625), (3, 17, 2702.0 / 1048576.0), (2, 3, 1.0), (0, 52, 0.5f64.powi(51))]
        {
            assert_eq!(mcnemar_p(one, other), p);
        }
    }

    #[test]
    fn all_alike_is_what_mcnemar_says() {
        for units in [1, 2, 7, 300] {
            assert_near(all_alike_p(units), mcnemar_p(0, units));
        }
        assert_eq!(all_alike_p(0), 1.0);
    }

    /// From statsmodels, multipletests(method="holm").
    #[test]
    fn holm_as_statsmodels_has_it() {
        for (given, wanted) in [
            (vec![], vec![]),
            (vec![0.01, 0.04, 0.03, 0.005, 0.5, 0.04], vec![0.05, 0.12, 0.12, 0.03, 0.5, 0.12]),
            (
                vec![1e-5, 0.2, 0.9, 1.0, 0.011, 0.0125, 0.012],
                vec![7.000000000000001e-05, 0.6000000000000001, 1.0, 1.0, 0.066, 0.066, 0.066],
            ),
        ] {
            let found = holm(&given);
            assert_eq!(found.len(), wanted.len());
            found.iter().zip(wanted).for_each(|(found, wanted)| assert_near(*found, wanted));
        }
    }

    /// The sum as it is written, in whole numbers.
    fn naive_mcnemar(one: u64, other: u64) -> f64 {
        let n = one + other;
        let (mut term, mut sum) = (BigUint::from(1u32), BigUint::from(0u32));
        for k in 0..=one.min(other) {
            sum += &term;
            term = term * (n - k) / (k + 1);
        }
        let shift = n.saturating_sub(900);
        let (sum, all) = (sum >> shift << 1u32, BigUint::from(1u32) << (n - shift));
        (sum.to_f64().unwrap() / all.to_f64().unwrap()).min(1.0)
    }

    proptest! {
        #[test]
        fn equals_the_sum_in_whole_numbers(one in 0u64..700, other in 0u64..700) {
            let (found, wanted) = (mcnemar_p(one, other), naive_mcnemar(one, other));
            prop_assert!((found - wanted).abs() <= 1e-11 * wanted, "{found} {wanted}");
        }
    }
}
