//! What a comparison of two runs has found, as values. BASE is the run that NEW is compared with.

use super::estimate::Estimate;
use super::gate::ALL;
use super::groups::{GroupValue, other_name};
use super::metric::{Metric, MetricSums};
use super::paired::{Difference, PairSums, exact_delta, unpaired_difference};
use super::pairs::PairGroups;
use super::significance::{holm, mcnemar_p};
use super::tally::Tally;
use crate::diagnostic::Rule;
use crate::limits::GROUPS_SHOWN;
use crate::verdict::{Id, Status};
use num_bigint::BigInt;
use std::cmp::Reverse;
use std::sync::Arc;

/// Two runs, compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The run that was there before.
    pub base: Side,
    /// The run that is compared with it.
    pub new: Side,
    /// Why the rows are over all records of each run, if they are; else they are over the pairs.
    pub unpaired: Option<Unpaired>,
    /// Which records are the same; `None` where that cannot be told.
    pub matching: Option<Matching>,
    /// A row a group and metric, every metric of `all` first.
    pub rows: Vec<Row>,
    /// The codes whose records became more or fewer; those that rose most first.
    pub codes: Vec<CodeChange>,
    /// What else differs between the runs, or is wrong with one.
    pub notes: Vec<Note>,
}

/// One of the two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its folder, as it was given.
    pub folder: String,
    /// The name that was given to the run; empty without one.
    pub run: String,
    /// Its records.
    pub records: u64,
}

/// Why runs are compared over all records of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpaired {
    /// Fewer than half of the smaller run's records are paired.
    FewPairs,
    /// A run has the verdicts of its problems only.
    OnlyProblems,
}

/// Which records of two runs are the same, and what became of them. For each run,
/// `records = pairs + only + repeated + without_id`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// Ids that stand exactly once in both.
    pub pairs: u64,
    /// Records of BASE that are in no pair.
    pub base: SideMatching,
    /// Records of NEW that are in no pair.
    pub new: SideMatching,
    /// Pairs whose record was valid in BASE and is not in NEW.
    pub no_longer_valid: Listed,
    /// Pairs whose record was not valid in BASE and is in NEW.
    pub now_valid: Listed,
}

/// The records of one run that are in no pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideMatching {
    /// Their id does not stand in the other run.
    pub only: Listed,
    /// Their id stands more than once in one of the runs.
    pub repeated: Listed,
    /// They have no id.
    pub without_id: Listed,
}

/// Records that were counted, of which the first are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// All of them.
    pub count: u64,
    /// The first, in the order of NEW for pairs and of their run for others.
    pub first: Vec<ListedRecord>,
}

impl Listed {
    /// How many are not listed.
    pub fn left_out(&self) -> u64 {
        self.count - self.first.len() as u64
    }
}

/// A record in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRecord {
    /// Its id, where it has one.
    pub id: Option<Id>,
    /// The input that it stands in: of NEW for pairs, of its run for others.
    pub file: Arc<str>,
    /// The line there, from 1.
    pub line: u64,
    /// Its status in BASE; `None` for a record of NEW alone.
    pub before: Option<Status>,
    /// Its status in NEW; `None` for a record of BASE alone.
    pub after: Option<Status>,
    /// The codes that it has in NEW and had not in BASE; none for records in no pair.
    pub new_codes: Vec<Rule>,
    /// The codes that it had in BASE and has no longer; none for records in no pair.
    pub gone_codes: Vec<Rule>,
}

/// How the difference of a row and its probability were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From the pairs, by the normal distribution.
    Paired,
    /// From all records of each run, by the normal distribution.
    Unpaired,
    /// From the pairs; the probability is that of McNemar's exact test. It is over pairs, not over clusters.
    McNemar,
}

impl Method {
    /// The name, as tables print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paired => "paired",
            Self::Unpaired => "unpaired",
            Self::McNemar => "mcnemar",
        }
    }
}

/// One metric of one group in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The group, as tables have it: `all` or one of NEW's.
    pub group: String,
    /// The metric.
    pub metric: Metric,
    /// Its value in BASE as a fraction of 1; `None` where the denominator is 0.
    pub base: Option<f64>,
    /// Its value in NEW.
    pub new: Option<f64>,
    /// The difference; `None` where one of the values is.
    pub difference: Option<Difference>,
    /// The difference's probability after Holm's correction over all rows that have one.
    pub p_holm: Option<f64>,
    /// What the error is taken over: pairs or clusters of pairs that the metric counts; of unpaired runs, the
    /// records or clusters of both.
    pub units: u64,
    /// How it was found.
    pub method: Method,
    /// NEW less BASE as a quotient of whole numbers, where both are defined.
    pub(super) exact: Option<(BigInt, BigInt)>,
}

impl Row {
    fn new(group: &str, metric: Metric, base: &MetricSums, new: &MetricSums, method: Method) -> Self {
        let value = |sums: &MetricSums| sums.estimate(metric).map(|Estimate { value, .. }| value);
        Self {
            group: group.to_owned(),
            metric,
            base: value(base),
            new: value(new),
            difference: None,
            p_holm: None,
            units: 0,
            method,
            exact: (base.d > 0 && new.d > 0).then(|| exact_delta(base, new, metric)),
        }
    }

    /// The probability of the difference by chance alone, before any correction.
    pub fn p(&self) -> Option<f64> {
        self.difference.and_then(|difference| difference.p)
    }
}

/// The row of a metric over pairs; `moved` are the pairs that lost and got what it counts, where it counts
/// records.
pub(super) fn paired_row(group: &str, metric: Metric, sums: &PairSums, moved: Option<[u64; 2]>) -> Row {
    let method = if moved.is_some() { Method::McNemar } else { Method::Paired };
    let mut row = Row::new(group, metric, &sums.base, &sums.new, method);
    row.units = sums.units;
    row.difference = sums.difference(metric);
    if let (Some(difference), Some([lost, got])) = (&mut row.difference, moved) {
        difference.p = Some(mcnemar_p(lost, got));
    }
    row
}

/// The rows over the pairs.
pub(crate) fn paired_rows(pairs: &PairGroups) -> Vec<Row> {
    corrected(pairs.rows())
}

/// The rows over all records, of `all` and of the groups that both runs have: by pointer, those with the most
/// records in NEW first, and the rest as one.
pub(crate) fn unpaired_rows(pointers: &[String], mut both: Vec<TwoTallies>) -> Vec<Row> {
    let all = take(&mut both, |name| name == ALL);
    let mut rows: Vec<Row> = all.iter().flat_map(rows_of).collect();
    for pointer in pointers {
        let other = other_name(pointer);
        let is_of = |name: &str| name == other || GroupValue::of_name(name, pointer).is_some();
        rows.extend(rows_of_pointer(&other, take(&mut both, is_of)));
    }
    corrected(rows)
}

/// A group's name, and its tallies in BASE and in NEW.
pub(crate) type TwoTallies = (String, Tally, Tally);

/// Takes out the groups whose name is wanted.
fn take(groups: &mut Vec<TwoTallies>, is_wanted: impl Fn(&str) -> bool) -> Vec<TwoTallies> {
    let (wanted, rest) = std::mem::take(groups).into_iter().partition(|(name, ..)| is_wanted(name));
    *groups = rest;
    wanted
}

/// The rows of the largest groups at one pointer, and those of the `other` ones together.
fn rows_of_pointer(other: &str, mut groups: Vec<TwoTallies>) -> Vec<Row> {
    groups.sort_by_cached_key(|(name, _, new)| (name == other, Reverse(new.records()), name.clone()));
    let rest = groups.split_off(groups.len().min(GROUPS_SHOWN));
    let mut rows: Vec<Row> = groups.iter().flat_map(rows_of).collect();
    if !rest.is_empty() {
        let mut sum = (other.to_owned(), Tally::default(), Tally::default());
        for (_, base, new) in &rest {
            sum.1.merge(base);
            sum.2.merge(new);
        }
        rows.extend(rows_of(&sum));
    }
    rows
}

fn rows_of((group, base, new): &TwoTallies) -> Vec<Row> {
    let row = |metric: &Metric| {
        let (base, new) = (base.metric(*metric), new.metric(*metric));
        let mut row = Row::new(group, *metric, base, new, Method::Unpaired);
        row.units = base.clusters + new.clusters;
        row.difference = unpaired_difference(base, new, *metric);
        row
    };
    Metric::ALL.iter().map(row).collect()
}

/// The rows with Holm's correction over those that have a probability.
fn corrected(mut rows: Vec<Row>) -> Vec<Row> {
    let found: Vec<f64> = rows.iter().filter_map(Row::p).collect();
    let with_p = rows.iter_mut().filter(|row| row.p().is_some());
    with_p.zip(holm(&found)).for_each(|(row, p)| row.p_holm = Some(p));
    rows
}

/// The records with a code in both runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeChange {
    /// The code, or a lint that was denied.
    pub rule: Rule,
    /// Records that have it in BASE.
    pub base: u64,
    /// Records that have it in NEW.
    pub new: u64,
}

impl CodeChange {
    /// Those that differ, largest rise first, ties in the order of the table.
    pub(crate) fn differing(mut changes: Vec<Self>) -> Vec<Self> {
        changes.retain(|change| change.base != change.new);
        changes.sort_by_key(|change| Reverse(i128::from(change.new) - i128::from(change.base)));
        changes
    }
}

/// What a reader of a comparison must know beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The runs are of different versions of sourcecheck.
    Version {
        /// The version of BASE.
        base: String,
        /// The version of NEW.
        new: String,
    },
    /// The runs are of different versions of Unicode.
    Unicode {
        /// The version of BASE.
        base: String,
        /// The version of NEW.
        new: String,
    },
    /// The runs have a setting that differs; values as JSON, `null` where it is not set.
    Setting {
        /// The setting, as `run.json` names it.
        name: String,
        /// Its value in BASE.
        base: String,
        /// Its value in NEW.
        new: String,
    },
    /// A run did not read all of its inputs: the folder, as it was given.
    Incomplete(String),
}
