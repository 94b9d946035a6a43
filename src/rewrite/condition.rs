//! What a record must hold to, to be kept.

use crate::diagnostic::Rule;
use crate::error::Error;
use crate::output::write_verdict_place;
use crate::summary::parse_number;
use crate::verdict::{Facts, RecordVerdict, Share, Status};
use std::cmp::Ordering;

/// What is measured of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    CoverageChars,
    CoverageSentences,
    RefsInvalid,
    ConfidenceMean,
}

impl Measure {
    const ALL: [(&'static str, Self); 4] = [
        ("coverage.chars", Self::CoverageChars),
        ("coverage.sentences", Self::CoverageSentences),
        ("refs.invalid", Self::RefsInvalid),
        ("confidence.mean", Self::ConfidenceMean),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, measure)| *measure == self).map_or("", |(name, _)| name)
    }

    /// As a fraction; `None` where it is undefined.
    fn of(self, verdict: &RecordVerdict) -> Option<Share> {
        let facts = verdict.facts.as_ref()?;
        let share = match (self, facts) {
            (Self::CoverageChars, Facts::Session(facts)) => facts.chars,
            (Self::CoverageSentences, Facts::Session(facts)) => facts.sentences?,
            (Self::CoverageSentences, Facts::Answer(facts)) => facts.sentences?,
            (Self::RefsInvalid, Facts::Session(facts)) => {
                Share { part: facts.refs.whole - facts.refs.part, whole: 1 }
            }
            // An answer has no refs, and so none that is invalid.
            (Self::RefsInvalid, Facts::Answer(_)) => Share { part: 0, whole: 1 },
            (Self::ConfidenceMean, Facts::Session(facts)) => {
                // Far fewer sources than would not fit.
                Share {
                    part: facts.confidence,
                    whole: (facts.supports + facts.refutes).saturating_mul(1_000_000_000),
                }
            }
            (Self::CoverageChars | Self::ConfidenceMean, Facts::Answer(_)) => return None,
        };
        (share.whole > 0).then_some(share)
    }
}

/// A bound on something that is measured of each record: `METRIC=X`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    measure: Measure,
    is_min: bool,
    /// X as a whole number of parts of `scale`.
    number: u64,
    scale: u64,
}

impl Bound {
    /// Reads `METRIC=X`, X being a fraction or a percentage, and for `refs.invalid` a whole number.
    ///
    /// # Errors
    /// What of it cannot be read.
    pub fn min(text: &str) -> Result<Self, Error> {
        Self::parse(text, true)
    }

    /// The same for an upper bound.
    ///
    /// # Errors
    /// What of it cannot be read.
    pub fn max(text: &str) -> Result<Self, Error> {
        Self::parse(text, false)
    }

    fn parse(text: &str, is_min: bool) -> Result<Self, Error> {
        let flag = if is_min { "--min" } else { "--max" };
        let wrong = |why: String| {
            Error::setting(format!("{flag} {text}: {why}; write for example {flag} coverage.chars=0.5"))
        };
        let (name, number) = text.split_once('=').ok_or_else(|| wrong("it has no =".to_owned()))?;
        let name = name.trim();
        let measure = Measure::ALL.iter().find(|(known, _)| *known == name).map(|(_, measure)| *measure);
        let measure = measure.ok_or_else(|| {
            let names: Vec<&str> = Measure::ALL.iter().map(|(name, _)| *name).collect();
            wrong(format!("there is no {name:?} of a record, only {}", names.join(", ")))
        })?;
        let is_count = measure == Measure::RefsInvalid;
        let (number, scale) =
            parse_number(number.trim()).filter(|(_, scale)| *scale == 1 || !is_count).ok_or_else(|| {
                wrong(if is_count {
                    "a count is a whole number".to_owned()
                } else {
                    "its number is neither a fraction such as 0.99 nor a percentage such as 99%".to_owned()
                })
            })?;
        if number > scale && !is_count {
            return Err(wrong(format!("{name} is never above 1, which is 100%")));
        }
        Ok(Self { measure, is_min, number, scale })
    }

    /// Whether it is on the coverage of sentences, which must then be found.
    pub fn needs_sentences(&self) -> bool {
        self.measure == Measure::CoverageSentences
    }

    /// What is undefined is not high enough, and not too high.
    pub(super) fn holds(&self, verdict: &RecordVerdict) -> bool {
        let Some(share) = self.measure.of(verdict) else { return !self.is_min };
        // A part is below 2^64 and a scale is at most 10^18, so neither product overflows.
        let left = u128::from(share.part) * u128::from(self.scale);
        match left.cmp(&(u128::from(share.whole) * u128::from(self.number))) {
            Ordering::Equal => true,
            Ordering::Greater => self.is_min,
            Ordering::Less => !self.is_min,
        }
    }
}

/// Why a record was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its status is none of those that are kept.
    Status(Status),
    /// It is malformed, so that it has no annotations that could be dropped.
    Malformed,
    /// It is longer than the limit of the settings, in bytes.
    TooLarge(u64),
    /// A bound does not hold.
    Bound(Bound),
    /// It has findings that are not wanted, so many of them.
    Finding(Rule, u64),
}

impl Reason {
    /// Adds it as a JSON object.
    pub(super) fn write(&self, verdict: &RecordVerdict, out: &mut Vec<u8>) {
        let mut add = |text: &str| out.extend_from_slice(text.as_bytes());
        match self {
            Self::Status(status) => {
                add(&format!("{{\"condition\":\"keep\",\"status\":\"{}\"}}", status.name()));
            }
            Self::Malformed => add("{\"condition\":\"drop-annotations\",\"status\":\"malformed\"}"),
            Self::TooLarge(limit) => {
                add(&format!("{{\"condition\":\"max-record-bytes\",\"wanted\":{limit}}}"));
            }
            Self::Finding(Rule::Code(code), count) => {
                add(&format!(
                    "{{\"condition\":\"reject-code\",\"code\":\"{}\",\"count\":{count}}}",
                    code.name()
                ));
            }
            Self::Finding(Rule::Lint(lint), count) => {
                add(&format!(
                    "{{\"condition\":\"reject-lint\",\"lint\":\"{}\",\"count\":{count}}}",
                    lint.name()
                ));
            }
            Self::Bound(bound) => {
                let condition = if bound.is_min { "min" } else { "max" };
                add(&format!(
                    "{{\"condition\":\"{condition}\",\"metric\":\"{}\",\"value\":",
                    bound.measure.name()
                ));
                match bound.measure.of(verdict) {
                    None => out.extend_from_slice(b"null"),
                    Some(share) => write_number(share.part, share.whole, out),
                }
                out.extend_from_slice(b",\"wanted\":");
                write_number(bound.number, bound.scale, out);
                out.push(b'}');
            }
        }
    }
}

/// The shortest decimal that reads back as the fraction's double.
fn write_number(part: u64, whole: u64, out: &mut Vec<u8>) {
    out.extend_from_slice((part as f64 / whole as f64).to_string().as_bytes());
}

/// Adds the line that says why a record was not kept.
pub(super) fn write_reasons(file: &str, verdict: &RecordVerdict, reasons: &[Reason], out: &mut Vec<u8>) {
    write_verdict_place(file, verdict, out);
    out.extend_from_slice(b",\"reasons\":[");
    for (i, reason) in reasons.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        reason.write(verdict, out);
    }
    out.extend_from_slice(b"]}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::Checker;
    use crate::settings::Settings;

    #[test]
    fn a_bound_is_a_metric_and_a_number() {
        let bound = Bound::min("confidence.mean = 62.5%").unwrap();
        assert_eq!((bound.number, bound.scale, bound.is_min), (625, 1000, true));
        assert!(Bound::max("coverage.sentences=1").unwrap().needs_sentences());
        assert_eq!(Bound::max("refs.invalid=20").unwrap().number, 20);
        for wrong in [
            "",
            "coverage.chars",
            "coverage=1",
            "coverage.chars=",
            "coverage.chars=1.5",
            "refs.invalid=0.5",
            "refs.invalid=1%",
        ] {
            let message = Bound::max(wrong).unwrap_err().to_string();
            assert!(message.contains("write for example --max"), "{message}");
        }
    }

    #[test]
    fn bounds_are_exact_and_undefined_is_not_high_enough() {
        let of = |record: &str| Checker::new(Settings::default()).check(record.as_bytes());
        let holds = |text: &str, verdict: &RecordVerdict| {
            (Bound::min(text).unwrap().holds(verdict), Bound::max(text).unwrap().holds(verdict))
        };
        let reference = |start: &str| {
            format!(r#""path":"a","start":{{"line":1,"str":"{start}"}},"end":{{"line":1,"str":"{start}"}}"#)
        };
        let source = |start: &str, confidence: &str| {
            format!(r#"{{{},"polarity":"supports","confidence":{confidence}}}"#, reference(start))
        };
        let third = of(&format!(
            r#"{{"documents":[{{"path":"a","content":"abc"}}],"annotations":[{{"claim":{{{}}},"sources":[{},{}]}},{{"claim":{{{}}},"sources":[{}]}}]}}"#,
            reference("a"),
            source("b", "0.1"),
            source("c", "0.2"),
            reference("x"),
            source("b", "1")
        ));
        assert_eq!(holds("coverage.chars=0.3333333333333333", &third), (true, false));
        assert_eq!(holds("coverage.chars=0.333333333333333334", &third), (false, true));
        assert_eq!(holds("confidence.mean=0.15", &third), (true, true));
        assert_eq!(holds("refs.invalid=1", &third), (true, true));
        assert_eq!(holds("refs.invalid=0", &third), (true, false));
        for text in ["coverage.chars=0", "coverage.sentences=0", "confidence.mean=0"] {
            assert_eq!(holds(text, &of(r#"{"documents":[],"annotations":[]}"#)), (false, true));
        }
        assert_eq!(holds("refs.invalid=0", &of("nonsense")), (false, true));
    }
}
