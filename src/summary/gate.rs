//! Gates: what a run's metrics must hold to (contract, section 9).

use super::estimate::Estimate;
use super::groups::Groups;
use super::metric::{Metric, MetricSums};
use super::tally::Tally;
use crate::error::Error;
use num_bigint::BigUint;
use std::borrow::Cow;
use std::cmp::Ordering;

/// The group that holds every record.
pub(crate) const ALL: &str = "all";

/// Decimals that a number of a gate may have.
const DECIMALS: usize = 18;

/// A condition on one metric of one group: `[GROUP:]METRIC OP NUMBER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    text: String,
    group: String,
    metric: Metric,
    operator: Operator,
    /// The number as a whole number of parts of `scale`.
    number: u64,
    scale: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    AtLeast,
    AtMost,
    Above,
    Below,
}

impl Operator {
    const ALL: [(&'static str, Self); 4] =
        [(">=", Self::AtLeast), ("<=", Self::AtMost), (">", Self::Above), ("<", Self::Below)];

    fn holds(self, found: Ordering) -> bool {
        match self {
            Self::AtLeast => found.is_ge(),
            Self::AtMost => found.is_le(),
            Self::Above => found.is_gt(),
            Self::Below => found.is_lt(),
        }
    }
}

/// What a gate came to.
#[derive(Clone, Debug, PartialEq)]
pub struct GateResult {
    /// The gate, as it was given.
    pub gate: String,
    /// What the metric is; `None` where it is undefined or the group did not occur.
    pub estimate: Option<Estimate>,
    /// The records it is of.
    pub records: u64,
    /// How it ended.
    pub outcome: GateOutcome,
}

/// How a gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    /// The condition holds.
    Holds,
    /// It does not.
    Fails,
    /// The group did not occur: fails.
    NoGroup,
    /// The metric is undefined, since its denominator is 0: fails.
    Undefined,
    /// `coverage.known` is below 1 and has no gate of its own, so that the coverage is not that of every
    /// record: fails.
    NotAllKnown,
}

impl GateResult {
    /// Whether the gate lets the run through.
    pub fn holds(&self) -> bool {
        self.outcome == GateOutcome::Holds
    }
}

impl Gate {
    /// Reads `[GROUP:]METRIC OP NUMBER`, with or without blanks around OP; NUMBER is a fraction or a
    /// percentage.
    ///
    /// # Errors
    /// What of it cannot be read.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why: String| {
            Error::setting(format!("{text:?} is no gate: {why}; write for example `validity.refs >= 99%`"))
        };
        // A group may hold anything, so the operator is the last one.
        let at = text.rfind(['<', '>']).ok_or_else(|| wrong("it has no >=, <=, > or <".to_owned()))?;
        let (left, right) = text.split_at(at);
        let (sign, operator) = Operator::ALL
            .into_iter()
            .find(|(sign, _)| right.starts_with(sign))
            .ok_or_else(|| wrong("it has no >=, <=, > or <".to_owned()))?;
        let (number, scale) = parse_number(right[sign.len()..].trim()).ok_or_else(|| {
            wrong("its number is neither a fraction such as 0.99 nor a percentage such as 99%".to_owned())
        })?;
        if number > scale {
            return Err(wrong("no metric is above 1, which is 100%".to_owned()));
        }
        let (group, name) = left.rsplit_once(':').unwrap_or((ALL, left));
        let name = name.trim();
        let metric = Metric::ALL.iter().copied().find(|metric| metric.name() == name);
        let metric = metric.ok_or_else(|| {
            let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
            wrong(format!("there is no metric {name:?}, only {}", names.join(", ")))
        })?;
        Ok(Self {
            text: text.to_owned(),
            group: group.trim_start().to_owned(),
            metric,
            operator,
            number,
            scale,
        })
    }

    /// What the gate comes to, beside the other gates of the run.
    fn judge(&self, tally: &Tally, groups: &Groups, gates: &[Self]) -> GateResult {
        let result =
            |estimate, records, outcome| GateResult { gate: self.text.clone(), estimate, records, outcome };
        let tally = if self.group == ALL { Some(Cow::Borrowed(tally)) } else { groups.find(&self.group) };
        let Some(tally) = tally else { return result(None, 0, GateOutcome::NoGroup) };
        let sums = tally.metric(self.metric);
        let known = tally.metric(Metric::CoverageKnown);
        let outcome = if sums.d == 0 {
            GateOutcome::Undefined
        } else if !self.operator.holds(self.compare(sums)) {
            GateOutcome::Fails
        } else if self.needs_all_known(gates) && known.n < known.d {
            GateOutcome::NotAllKnown
        } else {
            GateOutcome::Holds
        };
        result(sums.estimate(self.metric), sums.records, outcome)
    }

    /// Coverage of what could be covered is no coverage of all.
    fn needs_all_known(&self, gates: &[Self]) -> bool {
        let is_on_known = |gate: &Self| gate.metric == Metric::CoverageKnown && gate.group == self.group;
        matches!(self.metric, Metric::CoverageChars | Metric::CoverageSentences)
            && !gates.iter().any(is_on_known)
    }

    /// The metric beside the number, without rounding: n / (d · unit) beside number / scale.
    fn compare(&self, sums: &MetricSums) -> Ordering {
        let left = BigUint::from(sums.n) * self.scale;
        let right = BigUint::from(sums.d) * self.metric.unit() * self.number;
        left.cmp(&right)
    }
}

/// What every gate of a run comes to.
pub(crate) fn judge_gates(gates: &[Gate], tally: &Tally, groups: &Groups) -> Vec<GateResult> {
    gates.iter().map(|gate| gate.judge(tally, groups, gates)).collect()
}

/// A decimal, with or without `%`, as a whole number of parts of a power of ten.
pub(crate) fn parse_number(text: &str) -> Option<(u64, u64)> {
    let (text, shift) = text.strip_suffix('%').map_or((text, 0), |text| (text.trim_end(), 2));
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let decimals = decimals.trim_end_matches('0');
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || text.trim_matches('.').is_empty() {
        return None;
    }
    if decimals.len() + shift > DECIMALS {
        return None;
    }
    let scale = 10u64.pow((decimals.len() + shift) as u32);
    let digits = format!("{whole}{decimals}");
    digits.parse().ok().map(|number| (number, scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Place;
    use crate::verdict::RecordVerdict;

    fn gate(text: &str) -> Gate {
        Gate::parse(text).unwrap()
    }

    /// Two valid records of three.
    fn tally() -> Tally {
        let mut tally = Tally::default();
        for valid in [true, false, true] {
            let mut verdict = RecordVerdict::new(1);
            if !valid {
                verdict.status = crate::verdict::Status::Malformed;
            }
            tally.add(&verdict, Place { input: 0, line: 1 });
        }
        tally
    }

    fn outcome(text: &str) -> GateOutcome {
        let gates = [gate(text)];
        judge_gates(&gates, &tally(), &Groups::default())[0].outcome
    }

    #[test]
    fn parts_of_a_gate() {
        let long = gate("/a=x>=1:y:coverage.chars<=99.5%");
        assert_eq!((long.group.as_str(), long.metric), ("/a=x>=1:y", Metric::CoverageChars));
        assert_eq!((long.operator, long.number, long.scale), (Operator::AtMost, 995, 1000));
        assert_eq!(gate("validity.refs > .50").group, "all");
        assert_eq!(gate("all:validity.refs<1").number, 1);
        assert_eq!(parse_number("100.0%"), Some((100, 100)));
        for text in [
            "",
            "validity.refs",
            "validity.refs=1",
            "validity.refs>=",
            "validity.refs>=x",
            "nothing>=1",
            "validity.refs>=1e-3",
            "validity.refs>=-1",
            "validity.refs>=.",
            "validity.refs>=%",
            "validity.refs>=101%",
            "validity.refs>=0.1234567890123456789",
        ] {
            let message = Gate::parse(text).unwrap_err().to_string();
            assert!(message.contains("no gate"), "{message}");
        }
    }

    #[test]
    fn gates_are_exact() {
        assert_eq!(outcome("validity.records>=66.6666666666666666%"), GateOutcome::Holds);
        assert_eq!(outcome("validity.records>=66.6666666666666667%"), GateOutcome::Fails);
        assert_eq!(outcome("malformed.records<1"), GateOutcome::Holds);
        assert_eq!(outcome("malformed.records<=0"), GateOutcome::Fails);
    }

    #[test]
    fn what_is_not_there_fails() {
        assert_eq!(outcome("validity.refs>=0"), GateOutcome::Undefined);
        assert_eq!(outcome("/m=x:validity.records>=0"), GateOutcome::NoGroup);
    }
}
