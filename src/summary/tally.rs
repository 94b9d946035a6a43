//! What a run counts.

use super::metric::{Metric, MetricSums, Shares};
use crate::diagnostic::{Code, Lint, Rule};
use crate::limits::HISTOGRAM_BINS;
use crate::verdict::{RecordVerdict, Share, Status};

/// Where a record stands: which input, by its place in the run, and which line of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The input's place in the order of the run, from 0.
    pub input: usize,
    /// The physical line, from 1.
    pub line: u64,
}

/// How often a code or lint was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeTally {
    /// Findings.
    pub count: u64,
    /// Records with at least one.
    pub records: u64,
    /// The least place at which one was found, whichever was seen first.
    pub first: Option<Place>,
}

impl CodeTally {
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.records += other.records;
        self.first = [self.first, other.first].into_iter().flatten().min();
    }
}

/// Records by their share, in 20 equal bins; a share of 1 falls into the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram(pub [u64; HISTOGRAM_BINS]);

impl Histogram {
    fn add(&mut self, share: Share) {
        // A record's counts are far below 2^64 / 20.
        if let Some(bin) = share.part.saturating_mul(HISTOGRAM_BINS as u64).checked_div(share.whole) {
            self.0[(bin as usize).min(HISTOGRAM_BINS - 1)] += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Everything that a run counts over its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Records by status: valid, invalid, malformed.
    pub statuses: [u64; 3],
    metrics: Vec<MetricSums>,
    /// By code, then by lint; empty until one is found.
    rules: Vec<CodeTally>,
    /// Records by their coverage in characters.
    pub coverage_chars: Histogram,
    /// Records by their coverage in sentences.
    pub coverage_sentences: Histogram,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            statuses: [0; 3],
            metrics: vec![MetricSums::default(); Metric::ALL.len()],
            rules: Vec::new(),
            coverage_chars: Histogram::default(),
            coverage_sentences: Histogram::default(),
        }
    }
}

/// The place of a code, or of a lint after the codes.
pub(super) fn index(rule: Rule) -> usize {
    match rule {
        Rule::Code(code) => code as usize,
        Rule::Lint(lint) => Code::ALL.len() + lint as usize,
    }
}

impl Tally {
    /// Counts one record.
    pub fn add(&mut self, verdict: &RecordVerdict, place: Place) {
        let shares = Metric::all_of(verdict);
        self.add_status(verdict.status);
        self.add_shares(&shares);
        self.add_to_histograms(&shares);
        self.add_findings(verdict.errors.iter().chain(&verdict.lints).map(|finding| finding.rule), place);
    }

    pub(super) fn add_status(&mut self, status: Status) {
        self.statuses[status as usize] += 1;
    }

    pub(super) fn add_shares(&mut self, shares: &Shares) {
        for ((metric, share), sums) in Metric::ALL.iter().zip(shares).zip(&mut self.metrics) {
            sums.add(*share, metric.unit());
        }
    }

    pub(super) fn add_to_histograms(&mut self, shares: &Shares) {
        self.coverage_chars.add(shares[Metric::CoverageChars as usize]);
        self.coverage_sentences.add(shares[Metric::CoverageSentences as usize]);
    }

    pub(super) fn add_findings(&mut self, findings: impl Iterator<Item = Rule>, place: Place) {
        // A bit for each code, then for each lint, that this record has had.
        let mut seen = 0u128;
        for rule in findings {
            let bit = 1 << index(rule);
            let is_first = seen & bit == 0;
            seen |= bit;
            self.rule_mut(rule).merge(&CodeTally {
                count: 1,
                records: u64::from(is_first),
                first: Some(place),
            });
        }
    }

    /// Adds what another tally counted over other records.
    pub fn merge(&mut self, other: &Self) {
        self.statuses.iter_mut().zip(other.statuses).for_each(|(mine, theirs)| *mine += theirs);
        self.metrics.iter_mut().zip(&other.metrics).for_each(|(mine, theirs)| mine.merge(theirs));
        if self.rules.len() < other.rules.len() {
            self.rules.resize(other.rules.len(), CodeTally::default());
        }
        self.rules.iter_mut().zip(&other.rules).for_each(|(mine, theirs)| mine.merge(theirs));
        self.coverage_chars.merge(&other.coverage_chars);
        self.coverage_sentences.merge(&other.coverage_sentences);
    }

    /// All records.
    pub fn records(&self) -> u64 {
        self.statuses.iter().sum()
    }

    /// Records of one status.
    pub fn of_status(&self, status: Status) -> u64 {
        self.statuses[status as usize]
    }

    /// The sums of one metric.
    pub fn metric(&self, metric: Metric) -> &MetricSums {
        &self.metrics[metric as usize]
    }

    /// The tally of one code.
    pub fn code(&self, code: Code) -> &CodeTally {
        self.rule(Rule::Code(code))
    }

    /// The tally of one lint, denied or not.
    pub fn lint(&self, lint: Lint) -> &CodeTally {
        self.rule(Rule::Lint(lint))
    }

    /// The tally of a code or lint.
    pub fn rule(&self, rule: Rule) -> &CodeTally {
        const NONE: &CodeTally = &CodeTally { count: 0, records: 0, first: None };
        self.rules.get(index(rule)).unwrap_or(NONE)
    }

    pub(crate) fn metric_mut(&mut self, metric: Metric) -> &mut MetricSums {
        &mut self.metrics[metric as usize]
    }

    pub(crate) fn rule_mut(&mut self, rule: Rule) -> &mut CodeTally {
        if self.rules.is_empty() {
            self.rules.resize(Code::ALL.len() + Lint::ALL.len(), CodeTally::default());
        }
        &mut self.rules[index(rule)]
    }
}

/// What was read of one input. `lines = blank + records`, always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputTally {
    /// The name as it was given.
    pub name: String,
    /// Bytes as they are stored: compressed ones where the input is compressed.
    pub stored_bytes: u64,
    /// Lines, as the reader counted them. The lines of one pretty-printed record count as one.
    pub lines: u64,
    /// Blank lines, as the workers counted them.
    pub blank: u64,
    /// Records, as the workers counted them.
    pub records: u64,
}
