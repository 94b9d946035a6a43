//! One line of `verdicts.jsonl`, read back. What it adds to the metrics is asked of the metrics themselves, so
//! that a comparison cannot count otherwise than the run did.

use crate::decode::json::{RawValue, read_own};
use crate::summary::{Clusters, Counted, GroupValue, Metric, RuleSet, rules};
use crate::verdict::{AnswerFacts, BANDS, Facts, Id, RecordVerdict, SessionFacts, Share, Status};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A record of a run, as its verdict tells it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) id: Option<Id>,
    /// The input, by its number among those that were met.
    pub(super) file: u32,
    pub(super) line: u64,
    pub(super) counted: Counted,
}

#[derive(Deserialize)]
struct VerdictLine<'l> {
    #[serde(borrow)]
    file: Cow<'l, str>,
    line: u64,
    #[serde(borrow)]
    id: Option<&'l RawValue>,
    status: StatusName,
    #[serde(borrow)]
    errors: Vec<ErrorPart<'l>>,
    groups: Option<BTreeMap<String, Option<String>>>,
    cluster: Option<String>,
    counts: Option<Counts>,
    #[serde(default)]
    coverage: Coverage,
    polarity: Option<Polarity>,
    #[serde(borrow)]
    confidence: Option<Confidence<'l>>,
    #[serde(default)]
    documents_cited: u64,
    #[serde(default)]
    spans_cited: u64,
    #[serde(default)]
    chunks_cited: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StatusName {
    Valid,
    Invalid,
    Malformed,
}

#[derive(Deserialize)]
struct ErrorPart<'l> {
    #[serde(borrow)]
    code: Cow<'l, str>,
}

#[derive(Deserialize)]
struct Counts {
    annotations: Option<Valid>,
    refs: Option<Valid>,
    citations: Option<Valid>,
}

#[derive(Clone, Copy, Deserialize)]
struct Valid {
    valid: u32,
    total: u32,
}

#[derive(Default, Deserialize)]
struct Coverage {
    chars: Option<Covered>,
    sentences: Option<Covered>,
}

#[derive(Clone, Copy, Deserialize)]
struct Covered {
    covered: u32,
    total: u32,
}

#[derive(Deserialize)]
struct Polarity {
    supports: u64,
    refutes: u64,
    claims: Claims,
}

#[derive(Deserialize)]
struct Claims {
    supported: u64,
    refuted: u64,
    contested: u64,
}

#[derive(Deserialize)]
struct Confidence<'l> {
    #[serde(borrow)]
    sum: &'l RawValue,
    bands: BTreeMap<Cow<'l, str>, u64>,
}

impl From<Valid> for Share {
    fn from(share: Valid) -> Self {
        Self { part: share.valid.into(), whole: share.total.into() }
    }
}

impl From<Covered> for Share {
    fn from(share: Covered) -> Self {
        Self { part: share.covered.into(), whole: share.total.into() }
    }
}

impl From<StatusName> for Status {
    fn from(name: StatusName) -> Self {
        match name {
            StatusName::Valid => Self::Valid,
            StatusName::Invalid => Self::Invalid,
            StatusName::Malformed => Self::Malformed,
        }
    }
}

/// Reads the lines of one run.
pub(super) struct LineReader<'r> {
    /// The pointers that the run is grouped by.
    pointers: &'r [String],
    clusters: Clusters,
    files: FileNames,
}

/// The inputs that were met, each once, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct FileNames {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl FileNames {
    fn number(&mut self, name: &str) -> u32 {
        // Mostly the same as before.
        if let Some(last) = self.names.len().checked_sub(1).filter(|last| &*self.names[*last] == name) {
            return last as u32;
        }
        let next = self.names.len() as u32;
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let name: Arc<str> = name.into();
        self.names.push(name.clone());
        self.numbers.insert(name, next);
        next
    }

    /// The name with a number.
    pub(super) fn name(&self, number: u32) -> Arc<str> {
        self.names.get(number as usize).cloned().unwrap_or_default()
    }
}

impl<'r> LineReader<'r> {
    pub(super) fn new(pointers: &'r [String]) -> Self {
        Self { pointers, clusters: Clusters::default(), files: FileNames::default() }
    }

    /// The inputs of the lines that were read.
    pub(super) fn files(&self) -> &FileNames {
        &self.files
    }

    /// The same, kept when all were read.
    pub(super) fn into_files(self) -> FileNames {
        self.files
    }

    /// Reads the next line of the run; what is wrong with it otherwise.
    pub(super) fn read(&mut self, line: &[u8]) -> Result<Record, String> {
        let line: VerdictLine<'_> = read_own(line).map_err(|error| error.to_string())?;
        let counted = Counted {
            status: line.status.into(),
            shares: shares(&line)?,
            rules: rule_set(&line.errors)?,
            groups: self.groups(line.groups),
            cluster: self.clusters.number(line.cluster.as_deref()),
        };
        let id = line.id.map(|id| read_id(id.get())).transpose()?;
        Ok(Record { id, file: self.files.number(&line.file), line: line.line, counted })
    }

    /// The values at the run's pointers; there are none where the record's JSON could not be read.
    fn groups(&self, groups: Option<BTreeMap<String, Option<String>>>) -> Vec<GroupValue> {
        let mut groups = groups.unwrap_or_default();
        let value = |pointer: &String| match groups.remove(pointer) {
            None => GroupValue::Unreadable,
            Some(None) => GroupValue::Absent,
            Some(Some(value)) => GroupValue::Is(value),
        };
        self.pointers.iter().map(value).collect()
    }
}

fn read_id(raw: &str) -> Result<Id, String> {
    if !raw.starts_with('"') {
        return Ok(Id::Number(raw.to_owned()));
    }
    read_own(raw.as_bytes()).map(Id::Text).map_err(|error| error.to_string())
}

fn rule_set(errors: &[ErrorPart<'_>]) -> Result<RuleSet, String> {
    let mut set = RuleSet::default();
    for error in errors {
        let rule = rules().find(|rule| rule.name() == error.code);
        set.insert(rule.ok_or_else(|| format!("this version knows no code {:?}", error.code))?);
    }
    Ok(set)
}

/// What the record adds to each metric.
fn shares(line: &VerdictLine<'_>) -> Result<[Share; Metric::ALL.len()], String> {
    let mut verdict = RecordVerdict::new(line.line);
    verdict.status = line.status.into();
    verdict.facts = match (&line.counts, &line.polarity) {
        (None, _) => None,
        (Some(counts), None) => Some(Facts::Answer(answer(line, counts)?)),
        (Some(counts), Some(polarity)) => Some(Facts::Session(session(line, counts, polarity)?)),
    };
    Ok(Metric::all_of(&verdict))
}

fn answer(line: &VerdictLine<'_>, counts: &Counts) -> Result<AnswerFacts, String> {
    Ok(AnswerFacts {
        citations: needed(counts.citations, "counts.citations")?.into(),
        sentences: line.coverage.sentences.map(Share::from),
        chunks_cited: line.chunks_cited,
        documents_cited: line.documents_cited,
    })
}

fn session(line: &VerdictLine<'_>, counts: &Counts, polarity: &Polarity) -> Result<SessionFacts, String> {
    let confidence = needed(line.confidence.as_ref(), "confidence")?;
    let band = |name: &str| confidence.bands.get(name).copied().unwrap_or(0);
    let sum = confidence.sum.get();
    Ok(SessionFacts {
        annotations: needed(counts.annotations, "counts.annotations")?.into(),
        refs: needed(counts.refs, "counts.refs")?.into(),
        chars: needed(line.coverage.chars, "coverage.chars")?.into(),
        sentences: line.coverage.sentences.map(Share::from),
        supports: polarity.supports,
        refutes: polarity.refutes,
        claims_supported: polarity.claims.supported,
        claims_refuted: polarity.claims.refuted,
        claims_contested: polarity.claims.contested,
        confidence: billionths(sum).ok_or_else(|| format!("{sum} is no sum of confidences"))?,
        bands: BANDS.map(band),
        documents_cited: line.documents_cited,
        spans_cited: line.spans_cited,
    })
}

fn needed<T>(part: Option<T>, name: &str) -> Result<T, String> {
    part.ok_or_else(|| format!("`{name}` is missing"))
}

/// A decimal as the whole number of billionths that it is.
fn billionths(text: &str) -> Option<u64> {
    const DIGITS: usize = 9;
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > DIGITS {
        return None;
    }
    format!("{whole}{decimals:0<DIGITS$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Code, Diagnostic, Lint, Pointer, Rule};
    use crate::output::write_verdict;
    use crate::verdict::{Group, Kind};
    use proptest::prelude::*;

    fn written(verdict: &RecordVerdict) -> Vec<u8> {
        let mut out = Vec::new();
        write_verdict("in\u{202e}.jsonl", verdict, &mut out);
        out
    }

    fn session_facts(n: &[u64]) -> SessionFacts {
        let share = |at: usize| Share { part: n[at], whole: n[at] + n[at + 1] };
        SessionFacts {
            annotations: share(0),
            refs: share(1),
            chars: share(2),
            sentences: n[0].is_multiple_of(2).then(|| share(3)),
            supports: n[4],
            refutes: n[5],
            claims_supported: n[6],
            claims_refuted: n[7],
            claims_contested: n[8],
            confidence: n[9] * 123_456_789,
            bands: [n[1], n[3], n[5], n[7]],
            documents_cited: n[2],
            spans_cited: n[4],
        }
    }

    fn verdicts() -> impl Strategy<Value = RecordVerdict> {
        let id = prop_oneof![
            Just(None),
            "[a-c\"\\\\\u{202e}]{0,3}".prop_map(|text| Some(Id::Text(text))),
            Just(Some(Id::Number("1.0".to_owned()))),
        ];
        let numbers = proptest::collection::vec(0u64..100, 10);
        (id, numbers, 0..3u8, 0..3u8).prop_map(|(id, n, kind, errors)| {
            let mut verdict = RecordVerdict::new(n[0] + 1);
            verdict.id = id;
            verdict.facts = match kind {
                0 => None,
                1 => Some(Facts::Session(session_facts(&n))),
                _ => Some(Facts::Answer(AnswerFacts {
                    citations: Share { part: n[1], whole: n[1] + n[2] },
                    sentences: n[0].is_multiple_of(2).then_some(Share { part: n[3], whole: n[3] + n[4] }),
                    chunks_cited: n[5],
                    documents_cited: n[6],
                })),
            };
            verdict.kind = [None, Some(Kind::Session), Some(Kind::Answer)][usize::from(kind)];
            let code = if kind == 0 { Code::MissingField } else { Code::StrEmpty };
            let error = Diagnostic::new(code, Pointer::ROOT.name("x"));
            let lint = Diagnostic::lint(Lint::SelfQuote, Pointer::ROOT);
            verdict.errors = [error.clone(), error, lint].into_iter().take(usize::from(errors) + 1).collect();
            if kind > 0 && errors == 0 {
                verdict.errors.clear();
            }
            verdict.settle();
            verdict
        })
    }

    proptest! {
        #[test]
        fn a_verdict_reads_back(verdict in verdicts()) {
            let record = LineReader::new(&[]).read(&written(&verdict)).unwrap();
            prop_assert_eq!(&record.id, &verdict.id);
            prop_assert_eq!((record.line, record.counted.status), (verdict.line, verdict.status));
            prop_assert_eq!(record.counted.shares, Metric::all_of(&verdict));
            let mut rules: Vec<Rule> = verdict.errors.iter().map(|error| error.rule).collect();
            rules.sort();
            rules.dedup();
            prop_assert_eq!(record.counted.rules.to_vec(), rules);
        }
    }

    #[test]
    fn groups_and_clusters_read_back() {
        let pointers = ["/a", "/b"].map(str::to_owned);
        let mut reader = LineReader::new(&pointers);
        let mut verdict = RecordVerdict::new(1);
        let group = |pointer, value: Option<&str>| Group { pointer, value: value.map(str::to_owned) };
        verdict.groups = Some(vec![group("/a", Some("x")), group("/b", None)]);
        verdict.cluster = Some("q".to_owned());
        let first = reader.read(&written(&verdict)).unwrap();
        assert_eq!(first.counted.groups, [GroupValue::Is("x".to_owned()), GroupValue::Absent]);
        verdict.groups = Some(Vec::new());
        let second = reader.read(&written(&verdict)).unwrap();
        assert_eq!(second.counted.groups, [GroupValue::Unreadable, GroupValue::Unreadable]);
        assert_eq!(first.counted.cluster, second.counted.cluster);
        assert_eq!(&*reader.files().name(second.file), "in\u{202e}.jsonl");
        verdict.cluster = None;
        assert_ne!(reader.read(&written(&verdict)).unwrap().counted.cluster, second.counted.cluster);
    }

    #[test]
    fn broken_lines_say_what_is_wrong() {
        let line = String::from_utf8(written(&RecordVerdict::new(1))).unwrap();
        for (from, to, word) in [
            ("\"status\":\"valid\"", "\"status\":\"fine\"", "fine"),
            ("\"errors\":[]", "\"errors\":[{\"code\":\"new_one\"}]", "new_one"),
            ("\"lints\":[]", "\"counts\":{}", "counts.citations"),
            ("}", "", "EOF"),
        ] {
            let broken = line.replace(from, to);
            let reason = LineReader::new(&[]).read(broken.as_bytes()).unwrap_err();
            assert!(reason.contains(word), "{reason}");
        }
    }

    #[test]
    fn decimals_are_exact() {
        for (text, units) in [
            ("0", Some(0)),
            ("5.6", Some(5_600_000_000)),
            ("0.000000001", Some(1)),
            ("12", Some(12_000_000_000)),
            ("0.0000000001", None),
            ("1e3", None),
            ("-1", None),
            ("1.", None),
            ("99999999999999", None),
        ] {
            assert_eq!(billionths(text), units, "{text}");
        }
    }
}
