//! `--fail-on-regression`: which metrics must not have moved for the worse.

use super::comparison::{Comparison, Row};
use super::gate::{ALL, parse_number};
use super::metric::{Better, Metric};
use super::significance::holm;
use crate::error::Error;
use num_bigint::{BigInt, Sign};

/// Below this probability a difference is not put down to chance.
const SIGNIFICANT: f64 = 0.05;

/// A metric that must not move for the worse by more than some percentage points: `METRIC[=POINTS]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regression {
    text: String,
    metric: Metric,
    better: Better,
    /// What is let through, as a fraction of 1: a whole number of parts of `scale`.
    number: u64,
    scale: u64,
}

/// What became of a metric that must not move for the worse.
#[derive(Clone, Debug, PartialEq)]
pub struct RegressionResult {
    /// The condition, as it was given.
    pub condition: String,
    /// The difference of the metric; `None` where it is undefined in one of the runs.
    pub delta: Option<f64>,
    /// Its probability by chance alone, after Holm's correction over the metrics that were named.
    pub p_holm: Option<f64>,
    /// How it ended.
    pub outcome: RegressionOutcome,
}

/// How a condition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegressionOutcome {
    /// The metric did not move for the worse by more than it may.
    None,
    /// It did, and that may be chance.
    MayBeChance,
    /// It did, and that is not put down to chance: fails.
    Regressed,
    /// The metric is undefined in one of the runs: fails.
    Undefined,
}

impl RegressionResult {
    /// Whether the condition fails.
    pub fn fails(&self) -> bool {
        matches!(self.outcome, RegressionOutcome::Regressed | RegressionOutcome::Undefined)
    }
}

impl Regression {
    /// Reads `METRIC` or `METRIC=POINTS`; POINTS are percentage points, 0 where they are not given.
    ///
    /// # Errors
    /// A metric that is not known or of which neither more nor less is better, or points that cannot be read.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (name, points) = text.split_once('=').unwrap_or((text, "0"));
        let found = Metric::ALL.iter().copied().find(|metric| metric.name() == name);
        let Some((metric, better)) = found.and_then(|metric| Some((metric, metric.better()?))) else {
            return Err(Error::setting(format!(
                "--fail-on-regression {text:?}: {name:?} cannot be used; use one of {}",
                usable_names()
            )));
        };
        // Points are hundredths.
        let (number, scale) = parse_number(&format!("{points}%")).ok_or_else(|| {
            Error::setting(format!(
                "--fail-on-regression {text:?}: {points:?} is no number of percentage points; write for example {name}=0.5"
            ))
        })?;
        Ok(Self { text: text.to_owned(), metric, better, number, scale })
    }

    /// The metric that it is about.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    fn judge(&self, row: Option<&Row>, p_holm: Option<f64>) -> RegressionResult {
        let outcome = match row.and_then(|row| row.exact.as_ref()) {
            None => RegressionOutcome::Undefined,
            Some(exact) if !self.is_worse(exact) => RegressionOutcome::None,
            Some(_) if p_holm.is_some_and(|p| p < SIGNIFICANT) => RegressionOutcome::Regressed,
            Some(_) => RegressionOutcome::MayBeChance,
        };
        let delta = row.and_then(|row| row.difference).map(|difference| difference.delta);
        RegressionResult { condition: self.text.clone(), delta, p_holm, outcome }
    }

    /// Whether a difference is for the worse by more than it may be, without rounding.
    fn is_worse(&self, (numerator, denominator): &(BigInt, BigInt)) -> bool {
        let worse = match self.better {
            Better::Higher => -numerator,
            Better::Lower => numerator.clone(),
        };
        worse.sign() == Sign::Plus && worse * self.scale > denominator * self.number
    }
}

/// The metrics that can be used.
fn usable_names() -> String {
    let usable = Metric::ALL.iter().filter(|metric| metric.better().is_some());
    usable.map(|metric| metric.name()).collect::<Vec<_>>().join(", ")
}

/// What every condition comes to. Probabilities are corrected over the metrics that are named.
pub fn judge_regressions(conditions: &[Regression], comparison: &Comparison) -> Vec<RegressionResult> {
    let row = |condition: &Regression| {
        comparison.rows.iter().find(|row| row.group == ALL && row.metric == condition.metric)
    };
    let p = |condition: &Regression| row(condition).and_then(Row::p);
    let found: Vec<f64> = conditions.iter().filter_map(p).collect();
    let mut corrected = holm(&found).into_iter();
    let judge = |condition: &Regression| {
        let p_holm = p(condition).and_then(|_| corrected.next());
        condition.judge(row(condition), p_holm)
    };
    conditions.iter().map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_named() {
        let condition = Regression::parse("coverage.chars=0.5").unwrap();
        assert_eq!((condition.metric, condition.number, condition.scale), (Metric::CoverageChars, 5, 1000));
        assert_eq!(Regression::parse("malformed.records").unwrap().number, 0);
        for (text, word) in [
            ("confidence.mean", "validity.records, validity.annotations"),
            ("support.agreed", "coverage.known"),
            ("", "malformed.records"),
            ("validity.refs=", "percentage points"),
            ("validity.refs=-1", "percentage points"),
            ("validity.refs=1%", "percentage points"),
            ("validity.refs=1e2", "percentage points"),
        ] {
            let message = Regression::parse(text).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn points_are_exact() {
        let is_worse = |text: &str, numerator: i64| {
            Regression::parse(text).unwrap().is_worse(&(BigInt::from(numerator), BigInt::from(1000)))
        };
        assert!(!is_worse("validity.refs=5", -50) && is_worse("validity.refs=5", -51));
        assert!(is_worse("validity.refs=4.99", -50) && !is_worse("validity.refs", 51));
        assert!(is_worse("malformed.records", 1) && !is_worse("malformed.records", 0));
        assert!(!is_worse("malformed.records=0.1", 1) && !is_worse("malformed.records", -1));
    }
}
