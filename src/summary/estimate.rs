//! Error bars of a ratio of sums. What varies from run to run is which records there are, so the records
//! are the units that are drawn (clusters, in the words of survey sampling), not the refs in them.
//!
//! The standard error is that of a ratio estimator under cluster sampling (Cochran, *Sampling Techniques*,
//! 1977, 6.3 and 9A.1); it equals a regression on a constant with cluster-robust covariance. The interval is
//! Wilson's (1927) on the sample size that would give this error without clusters (Korn and Graubard, 1998).

use super::metric::{Metric, MetricSums};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// The 97.5 % point of the normal distribution: 95 % lie between it and its negative.
pub const Z: f64 = 1.959963984540054;

/// With fewer records on one side the correlation within records cannot be told from the data.
const FEW: u64 = 10;

/// A ratio with its error bars, as fractions of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The ratio.
    pub value: f64,
    /// Its standard error; `None` for fewer than two records (or clusters).
    pub std_error: Option<f64>,
    /// The 95 % interval; `None` where it cannot be told.
    pub interval: Option<(f64, f64)>,
}

impl MetricSums {
    /// The ratio and its error bars; `None` where the denominator is 0.
    pub fn estimate(&self, metric: Metric) -> Option<Estimate> {
        if self.d == 0 {
            return None;
        }
        let unit = metric.unit() as f64;
        let value = self.n as f64 / (self.d as f64 * unit);
        let std_error = self.squared_error().map(|squared| squared.sqrt() / unit);
        let interval = if metric.is_in_billionths() {
            std_error.map(|error| ((value - Z * error).max(0.0), (value + Z * error).min(1.0)))
        } else {
            let complement = (self.d - self.n.min(self.d)) as f64 / self.d as f64;
            Some(wilson(value, complement, self.effective_size(value * complement, std_error)))
        };
        Some(Estimate { value, std_error, interval })
    }

    /// The square of the standard error of Σn/Σd: m/(m−1) · Σ(nᵢ − R·dᵢ)² / D².
    ///
    /// With R = N/D the sum is (D²Σn² − 2NDΣnd + N²Σd²) / D²: a small difference of large numbers, of which
    /// doubles would lose the digits, so it is taken in integers.
    pub(crate) fn squared_error(&self) -> Option<f64> {
        if self.clusters < 2 || self.d == 0 {
            return None;
        }
        let squared_d = BigInt::from(self.d) * self.d;
        let numerator = self.residuals() * self.clusters;
        let denominator = &squared_d * &squared_d * (self.clusters - 1);
        Some(numerator.to_f64()? / denominator.to_f64()?)
    }

    /// D² times the sum of the squared residuals nᵢ − R·dᵢ.
    pub(crate) fn residuals(&self) -> BigInt {
        let (n, d) = (BigInt::from(self.n), BigInt::from(self.d));
        &d * &d * self.nn - &n * &d * self.nd * 2 + &n * &n * self.dd
    }

    /// How many independent units would give this error: at most every single one, and at most one a
    /// record (of their mean size) where the data cannot tell.
    fn effective_size(&self, variance: f64, std_error: Option<f64>) -> f64 {
        let every = self.d as f64;
        let error = std_error.unwrap_or(0.0);
        let cannot_tell = error == 0.0 || self.below < FEW || self.above_zero < FEW;
        let once_a_record = if cannot_tell { every * every / self.dd as f64 } else { every };
        let from_error = if error == 0.0 { every } else { variance / (error * error) };
        from_error.min(every).min(once_a_record)
    }
}

/// Wilson's score interval for a share of `size` draws; `complement` is one less the share.
fn wilson(share: f64, complement: f64, size: f64) -> (f64, f64) {
    let squared = Z * Z;
    let middle = (share + squared / (2.0 * size)) / (1.0 + squared / size);
    let half =
        Z / (1.0 + squared / size) * (share * complement / size + squared / (4.0 * size * size)).sqrt();
    // At the ends the bound is exact, and rounding must not take it off.
    let low = if share == 0.0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if complement == 0.0 { 1.0 } else { (middle + half).min(1.0) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Share;
    use proptest::prelude::*;

    fn sums(shares: &[(u64, u64)]) -> MetricSums {
        let mut sums = MetricSums::default();
        shares.iter().for_each(|(part, whole)| sums.add(Share { part: *part, whole: *whole }, 1));
        sums
    }

    /// The formula as it is written, in doubles.
    fn naive_error(shares: &[(u64, u64)]) -> f64 {
        let shares: Vec<(f64, f64)> = shares.iter().map(|(n, d)| (*n as f64, *d as f64)).collect();
        let shares: Vec<(f64, f64)> = shares.into_iter().filter(|(_, d)| *d > 0.0).collect();
        let (n, d) = shares.iter().fold((0.0, 0.0), |sum, share| (sum.0 + share.0, sum.1 + share.1));
        let m = shares.len() as f64;
        let squares: f64 = shares.iter().map(|share| (share.0 - n / d * share.1).powi(2)).sum();
        (m / (m - 1.0) * squares).sqrt() / d
    }

    #[test]
    fn known_values() {
        // Ten records of one ref each have the error of nine draws: m - 1 stands in it.
        let estimate = sums(&[[(1, 1); 8].as_slice(), &[(0, 1); 2]].concat()).estimate(Metric::ValidityRefs);
        let (low, high) = estimate.unwrap().interval.unwrap();
        assert!((low - 0.473788504245).abs() < 1e-9 && (high - 0.946724466703).abs() < 1e-9, "{low} {high}");
        assert_eq!(sums(&[]).estimate(Metric::ValidityRefs), None);
        assert_eq!(sums(&[(1, 2)]).estimate(Metric::ValidityRefs).unwrap().std_error, None);
    }

    #[test]
    fn all_or_nothing_is_not_certain() {
        let all = sums(&[(5, 5); 100]).estimate(Metric::ValidityRefs).unwrap();
        let (low, high) = all.interval.unwrap();
        // A hundred records, not five hundred refs.
        assert_eq!((all.std_error, high), (Some(0.0), 1.0));
        assert!((low - 0.963).abs() < 0.001, "{low}");
        let nothing = sums(&[(0, 5); 100]).estimate(Metric::ValidityRefs).unwrap().interval.unwrap();
        assert_eq!(nothing.0, 0.0);
        assert!((nothing.1 - 0.037).abs() < 0.001, "{}", nothing.1);
    }

    #[test]
    fn no_digits_are_lost_at_ten_million_records() {
        // All records but one have all of a billion: the difference of the sums is in their 20th digit.
        let (m, d) = (10_000_000u128, 1_000_000_000u128);
        let n = m * d - 1;
        let sums = MetricSums {
            n,
            d: m * d,
            nn: (m - 1) * d * d + (d - 1) * (d - 1),
            nd: (m - 1) * d * d + (d - 1) * d,
            dd: m * d * d,
            records: m as u64,
            clusters: m as u64,
            below: 1,
            above_zero: m as u64,
        };
        // One residual of nearly 1, the others of nearly 0.
        let wanted = 1.0 / (m as f64 * d as f64);
        let error = sums.squared_error().unwrap().sqrt();
        assert!((error / wanted - 1.0).abs() < 1e-6, "{error} {wanted}");
    }

    proptest! {
        #[test]
        fn equals_the_formula_in_doubles(shares in proptest::collection::vec((0u64..50, 0u64..50), 2..60)) {
            let shares: Vec<_> = shares.into_iter().map(|(part, rest)| (part, part + rest)).collect();
            prop_assume!(shares.iter().filter(|share| share.1 > 0).count() > 1);
            let found = sums(&shares).estimate(Metric::ValidityRefs).unwrap();
            let (found_error, wanted) = (found.std_error.unwrap(), naive_error(&shares));
            prop_assert!((found_error - wanted).abs() <= 1e-9 * wanted.max(1e-3), "{found_error} {wanted}");
            let (low, high) = found.interval.unwrap();
            prop_assert!(0.0 <= low && low <= found.value && found.value <= high && high <= 1.0);
        }
    }
}
