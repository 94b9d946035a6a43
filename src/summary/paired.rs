//! The difference of a metric between two runs over the same records.
//!
//! Each pair is a unit with four numbers: numerator and denominator in BASE and in NEW. The error of
//! R1 − R0 follows from each unit's own part in it, eᵢ = (n1ᵢ − R1·d1ᵢ)/D1 − (n0ᵢ − R0·d0ᵢ)/D0: what a record
//! has in common in both runs cancels (linearization; Cochran, *Sampling Techniques*, 1977, 6.18).

use super::estimate::Z;
use super::metric::{Metric, MetricSums};
use super::significance::{all_alike_p, normal_p};
use crate::verdict::Share;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// What a metric is in NEW less what it is in BASE, as fractions of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The value in NEW less that in BASE.
    pub delta: f64,
    /// The standard error of that; `None` for fewer than two units.
    pub std_error: Option<f64>,
    /// The two-sided probability of a difference as large by chance alone; `None` for fewer than two units.
    /// Where no unit differs from the others, so that the error is 0: 1 if nothing moved, else that of the
    /// sign test, min(1, 2·2^−m) for m units that all moved alike.
    pub p: Option<f64>,
}

impl Difference {
    /// A difference whose error is the root of `squared_error`, over so many units.
    fn new(delta: f64, squared_error: Option<f64>, units: u64) -> Self {
        let std_error = squared_error.map(|squared| squared.max(0.0).sqrt());
        let p = std_error.map(|error| match (delta, error) {
            (0.0, _) => 1.0,
            (_, 0.0) => all_alike_p(units),
            (delta, error) => normal_p(delta / error),
        });
        Self { delta, std_error, p }
    }

    /// The 95 % interval; `None` without a standard error.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.std_error.map(|error| (self.delta - Z * error, self.delta + Z * error))
    }
}

/// The sums of one metric over pairs, from which the difference and its error follow exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PairSums {
    pub(super) base: MetricSums,
    pub(super) new: MetricSums,
    /// Σn1·n0, Σd1·n0, Σn1·d0 and Σd1·d0.
    n1_n0: u128,
    d1_n0: u128,
    n1_d0: u128,
    d1_d0: u128,
    /// Pairs, or clusters of pairs, with a denominator above 0 in one of the runs.
    pub(super) units: u64,
}

impl PairSums {
    /// Adds a pair, or the sums of a cluster of pairs.
    pub(super) fn add(&mut self, base: Share, new: Share, unit: u64) {
        if base.whole == 0 && new.whole == 0 {
            return;
        }
        self.base.add(base, unit);
        self.new.add(new, unit);
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        self.n1_n0 += product(new.part, base.part);
        self.d1_n0 += product(new.whole, base.part);
        self.n1_d0 += product(new.part, base.whole);
        self.d1_d0 += product(new.whole, base.whole);
        self.units += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.base.merge(&other.base);
        self.new.merge(&other.new);
        self.n1_n0 += other.n1_n0;
        self.d1_n0 += other.d1_n0;
        self.n1_d0 += other.n1_d0;
        self.d1_d0 += other.d1_d0;
        self.units += other.units;
    }

    /// The difference; `None` where a denominator is 0.
    pub(super) fn difference(&self, metric: Metric) -> Option<Difference> {
        let delta = delta(&self.base, &self.new, metric)?;
        let unit = metric.unit() as f64;
        let squared = self.squared_error().map(|squared| squared / (unit * unit));
        Some(Difference::new(delta, squared, self.units))
    }

    /// m/(m−1) · Σeᵢ², in whole numbers up to the last division. With the residuals' sums of squares A0/D0² and
    /// A1/D1² and their sum of products C/(D0·D1), Σeᵢ² = (A1·D0⁴ + A0·D1⁴ − 2C·D0²·D1²) / (D0⁴·D1⁴).
    fn squared_error(&self) -> Option<f64> {
        if self.units < 2 || self.base.d == 0 || self.new.d == 0 {
            return None;
        }
        let (base, new) = (BigInt::from(self.base.d).pow(2), BigInt::from(self.new.d).pow(2));
        let own = self.new.residuals() * base.pow(2) + self.base.residuals() * new.pow(2);
        let both = self.residual_products() * 2 * &base * &new;
        let numerator = (own - both) * self.units;
        let denominator = (base * new).pow(2) * (self.units - 1);
        quotient(&numerator, &denominator)
    }

    /// D0·D1 times the sum of the products of the residuals n0ᵢ − R0·d0ᵢ and n1ᵢ − R1·d1ᵢ.
    fn residual_products(&self) -> BigInt {
        let (n0, d0) = (BigInt::from(self.base.n), BigInt::from(self.base.d));
        let (n1, d1) = (BigInt::from(self.new.n), BigInt::from(self.new.d));
        &d1 * &d0 * self.n1_n0 - &n0 * &d1 * self.n1_d0 - &n1 * &d0 * self.d1_n0 + &n0 * &n1 * self.d1_d0
    }
}

/// R1 − R0 as one quotient of whole numbers; `None` where a denominator is 0.
fn delta(base: &MetricSums, new: &MetricSums, metric: Metric) -> Option<f64> {
    if base.d == 0 || new.d == 0 {
        return None;
    }
    let (numerator, denominator) = exact_delta(base, new, metric);
    quotient(&numerator, &denominator)
}

/// The numerator and the denominator of R1 − R0.
pub(super) fn exact_delta(base: &MetricSums, new: &MetricSums, metric: Metric) -> (BigInt, BigInt) {
    let numerator = BigInt::from(new.n) * base.d - BigInt::from(base.n) * new.d;
    (numerator, BigInt::from(base.d) * new.d * metric.unit())
}

fn quotient(numerator: &BigInt, denominator: &BigInt) -> Option<f64> {
    Some(numerator.to_f64()? / denominator.to_f64()?)
}

/// The difference between two runs over records of their own: their errors add up. Where both are 0, the sign
/// test is of the units of the smaller run, which is on the safe side.
pub(super) fn unpaired_difference(base: &MetricSums, new: &MetricSums, metric: Metric) -> Option<Difference> {
    let delta = delta(base, new, metric)?;
    let unit = metric.unit() as f64;
    let squared = base.squared_error().zip(new.squared_error());
    let squared = squared.map(|(base, new)| (base + new) / (unit * unit));
    Some(Difference::new(delta, squared, base.clusters.min(new.clusters)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Pair = ((u64, u64), (u64, u64));

    fn share((part, whole): (u64, u64)) -> Share {
        Share { part, whole }
    }

    fn sums(pairs: &[Pair]) -> PairSums {
        let mut sums = PairSums::default();
        pairs.iter().for_each(|(base, new)| sums.add(share(*base), share(*new), 1));
        sums
    }

    /// The formula as it is written, in doubles: Δ and its squared error.
    fn naive(pairs: &[Pair]) -> (f64, f64) {
        let pairs = pairs.iter().filter(|(base, new)| base.1 + new.1 > 0);
        let pairs: Vec<[f64; 4]> =
            pairs.map(|(base, new)| [base.0, base.1, new.0, new.1].map(|number| number as f64)).collect();
        let sum = |at: usize| pairs.iter().map(|pair| pair[at]).sum::<f64>();
        let (d0, d1, m) = (sum(1), sum(3), pairs.len() as f64);
        let (r0, r1) = (sum(0) / d0, sum(2) / d1);
        let part = |pair: &[f64; 4]| (pair[2] - r1 * pair[3]) / d1 - (pair[0] - r0 * pair[1]) / d0;
        let squares: f64 = pairs.iter().map(|pair| part(pair).powi(2)).sum();
        (r1 - r0, m / (m - 1.0) * squares)
    }

    #[test]
    fn equal_runs_differ_by_nothing() {
        let pairs: Vec<Pair> = (1..50).map(|i| ((i % 7, i), (i % 7, i))).collect();
        let found = sums(&pairs).difference(Metric::ValidityRefs).unwrap();
        assert_eq!(found, Difference { delta: 0.0, std_error: Some(0.0), p: Some(1.0) });
    }

    #[test]
    fn all_moved_alike() {
        let found = sums(&[((4, 4), (3, 4)); 6]).difference(Metric::ValidityRefs).unwrap();
        assert_eq!(found, Difference { delta: -0.25, std_error: Some(0.0), p: Some(1.0 / 32.0) });
    }

    #[test]
    fn what_cannot_be_told() {
        let one = sums(&[((1, 2), (2, 2))]).difference(Metric::ValidityRefs).unwrap();
        assert_eq!(one, Difference { delta: 0.5, std_error: None, p: None });
        assert_eq!(sums(&[((0, 0), (2, 2)); 3]).difference(Metric::ValidityRefs), None);
        assert_eq!(sums(&[]).difference(Metric::ValidityRefs), None);
        // A record that only one of the runs counts is a unit.
        assert_eq!(sums(&[((0, 0), (2, 2)), ((1, 1), (0, 0)), ((0, 0), (0, 0))]).units, 2);
    }

    #[test]
    fn runs_of_different_records_add_their_errors() {
        let (base, new) = (sums(&[((3, 4), (1, 4)), ((2, 2), (1, 2)), ((0, 5), (5, 5))]), 0.0);
        let found = unpaired_difference(&base.base, &base.new, Metric::ValidityRefs).unwrap();
        let wanted = base.base.squared_error().unwrap() + base.new.squared_error().unwrap();
        assert!((found.std_error.unwrap().powi(2) / wanted - 1.0).abs() < 1e-12);
        assert!((found.delta - new - (7.0 / 11.0 - 5.0 / 11.0)).abs() < 1e-15);
    }

    #[test]
    fn billionths_are_parts_of_one() {
        let mut sums = PairSums::default();
        for (base, new) in [(500_000_000, 750_000_000), (900_000_000, 800_000_000)] {
            sums.add(share((base, 1)), share((new, 1)), 1_000_000_000);
        }
        let found = sums.difference(Metric::ConfidenceMean).unwrap();
        assert!((found.delta - 0.075).abs() < 1e-15);
        // Two differences, 0.25 and −0.1: half of 0.35 is their standard error.
        assert!((found.std_error.unwrap() - 0.175).abs() < 1e-12, "{found:?}");
    }

    proptest! {
        #[test]
        fn equals_the_formula_in_doubles(
            pairs in proptest::collection::vec((0u64..20, 0u64..20, 0u64..20, 0u64..20), 2..80),
        ) {
            let pairs: Vec<Pair> = pairs.into_iter().map(|(a, b, c, d)| ((a, a + b), (c, c + d))).collect();
            let sums = sums(&pairs);
            prop_assume!(sums.units > 1 && sums.base.d > 0 && sums.new.d > 0);
            let found = sums.difference(Metric::ValidityRefs).unwrap();
            let (delta, squared) = naive(&pairs);
            prop_assert!((found.delta - delta).abs() < 1e-12);
            let found = found.std_error.unwrap();
            prop_assert!((found - squared.sqrt()).abs() <= 1e-9 * squared.sqrt().max(1e-3), "{found} {squared}");
        }

        #[test]
        fn sums_merge(pairs in proptest::collection::vec((0u64..9, 0u64..9, 0u64..9, 0u64..9), 1..40), at in 0usize..40) {
            let pairs: Vec<Pair> = pairs.into_iter().map(|(a, b, c, d)| ((a, a + b), (c, c + d))).collect();
            let (left, right) = pairs.split_at(at.min(pairs.len()));
            let mut merged = sums(left);
            merged.merge(&sums(right));
            prop_assert_eq!(merged, sums(&pairs));
        }
    }
}
