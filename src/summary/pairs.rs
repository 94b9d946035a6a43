//! Tallies of pairs: a record in BASE and the record with the same id in NEW.

use super::comparison::{CodeChange, Row, paired_row};
use super::gate::ALL;
use super::groups::{GroupValue, other_name};
use super::metric::{Metric, Shares};
use super::paired::PairSums;
use super::rule_set::{RuleSet, rules};
use crate::limits::{GROUPS, GROUPS_SHOWN};
use crate::verdict::{Share, Status};
use std::cmp::Reverse;
use std::collections::HashMap;

/// What of a record's verdict a comparison counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counted {
    pub(crate) status: Status,
    pub(crate) shares: Shares,
    pub(crate) rules: RuleSet,
    /// The record's groups, one for each pointer of its run.
    pub(crate) groups: Vec<GroupValue>,
    /// The number of its cluster in the order of its run.
    pub(crate) cluster: u64,
}

/// The numerators and denominators of a pair, or of a cluster of pairs.
#[derive(Clone, Debug)]
struct OpenUnit {
    cluster: u64,
    base: Shares,
    new: Shares,
}

/// The sums over some pairs. Pairs that follow each other and are of one cluster of NEW are one unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairTally {
    pairs: u64,
    /// By metric; empty until something is added.
    sums: Vec<PairSums>,
    /// Pairs that lost a status and pairs that got it: valid, malformed.
    moved: [[u64; 2]; 2],
    open: Option<Box<OpenUnit>>,
}

/// The statuses that McNemar's test is for, and the metrics that count them.
const STATUSES: [(Status, Metric); 2] =
    [(Status::Valid, Metric::ValidityRecords), (Status::Malformed, Metric::MalformedRecords)];

impl PairTally {
    fn add(&mut self, base: &Counted, new: &Counted) {
        self.pairs += 1;
        for ((status, _), moved) in STATUSES.iter().zip(&mut self.moved) {
            match (base.status == *status, new.status == *status) {
                (true, false) => moved[0] += 1,
                (false, true) => moved[1] += 1,
                _ => {}
            }
        }
        if self.open.as_ref().is_none_or(|open| open.cluster != new.cluster) {
            self.close();
        }
        let nothing = [Share::default(); Metric::ALL.len()];
        let empty = || Box::new(OpenUnit { cluster: new.cluster, base: nothing, new: nothing });
        let open = self.open.get_or_insert_with(empty);
        add_shares(&mut open.base, &base.shares);
        add_shares(&mut open.new, &new.shares);
    }

    /// No more pairs come to the last unit.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.sums.resize(Metric::ALL.len(), PairSums::default());
        for (i, metric) in Metric::ALL.iter().enumerate() {
            self.sums[i].add(open.base[i], open.new[i], metric.unit());
        }
    }

    fn merge(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.sums.resize(Metric::ALL.len(), PairSums::default());
        self.sums.iter_mut().zip(&other.sums).for_each(|(mine, theirs)| mine.merge(theirs));
        let moved = self.moved.iter_mut().flatten().zip(other.moved.iter().flatten());
        moved.for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The rows of every metric.
    fn rows(&self, group: &str) -> impl Iterator<Item = Row> {
        let row = |(i, metric): (usize, &Metric)| {
            let moved = STATUSES.iter().position(|(_, of)| of == metric).map(|at| self.moved[at]);
            let sums = self.sums.get(i).copied().unwrap_or_default();
            paired_row(group, *metric, &sums, moved)
        };
        Metric::ALL.iter().enumerate().map(row)
    }
}

fn add_shares(sums: &mut Shares, shares: &Shares) {
    for (sum, share) in sums.iter_mut().zip(shares) {
        sum.part += share.part;
        sum.whole += share.whole;
    }
}

/// The groups at one pointer.
#[derive(Clone, Debug, Default)]
struct PointerPairs {
    pointer: String,
    places: HashMap<GroupValue, usize>,
    tallies: Vec<PairTally>,
    /// Those beyond the limit.
    other: Option<PairTally>,
}

impl PointerPairs {
    fn tally(&mut self, value: &GroupValue) -> &mut PairTally {
        let place = match self.places.get(value) {
            Some(place) => *place,
            None if self.tallies.len() < GROUPS => {
                self.places.insert(value.clone(), self.tallies.len());
                self.tallies.push(PairTally::default());
                self.tallies.len() - 1
            }
            None => return self.other.get_or_insert_default(),
        };
        &mut self.tallies[place]
    }

    /// The groups with the most pairs, ties by name, and the rest as one.
    fn rows(&self) -> Vec<Row> {
        let named =
            |(value, place): (&GroupValue, &usize)| (value.name(&self.pointer), &self.tallies[*place]);
        let mut named: Vec<(String, &PairTally)> = self.places.iter().map(named).collect();
        named.sort_unstable_by(|a, b| (Reverse(a.1.pairs), &a.0).cmp(&(Reverse(b.1.pairs), &b.0)));
        let rest = named.split_off(named.len().min(GROUPS_SHOWN));
        let mut rows: Vec<Row> = named.iter().flat_map(|(name, tally)| tally.rows(name)).collect();
        let rest: Vec<&PairTally> = rest.iter().map(|(_, tally)| *tally).chain(&self.other).collect();
        if !rest.is_empty() {
            let mut other = PairTally::default();
            rest.iter().for_each(|tally| other.merge(tally));
            rows.extend(other.rows(&other_name(&self.pointer)));
        }
        rows
    }
}

/// The tallies of all pairs and of those of each group of NEW. Pairs come in the order of NEW.
#[derive(Clone, Debug)]
pub(crate) struct PairGroups {
    all: PairTally,
    groups: Vec<PointerPairs>,
    /// Records with each code, in BASE and in NEW.
    codes: Vec<(u64, u64)>,
}

impl PairGroups {
    /// For a run NEW that is grouped by these pointers.
    pub(crate) fn new(pointers: &[String]) -> Self {
        let groups = |pointer: &String| PointerPairs { pointer: pointer.clone(), ..Default::default() };
        Self {
            all: PairTally::default(),
            groups: pointers.iter().map(groups).collect(),
            codes: vec![(0, 0); rules().count()],
        }
    }

    pub(crate) fn add(&mut self, base: &Counted, new: &Counted) {
        self.all.add(base, new);
        for (groups, value) in self.groups.iter_mut().zip(&new.groups) {
            groups.tally(value).add(base, new);
        }
        if base.rules.is_empty() && new.rules.is_empty() {
            return;
        }
        for (rule, counts) in rules().zip(&mut self.codes) {
            counts.0 += u64::from(base.rules.contains(rule));
            counts.1 += u64::from(new.rules.contains(rule));
        }
    }

    pub(crate) fn pairs(&self) -> u64 {
        self.all.pairs
    }

    /// No more pairs come.
    pub(crate) fn close(&mut self) {
        let groups = self.groups.iter_mut();
        let tallies = groups.flat_map(|groups| groups.tallies.iter_mut().chain(&mut groups.other));
        tallies.chain([&mut self.all]).for_each(PairTally::close);
    }

    /// A row for each metric: of all pairs, then of each group.
    pub(super) fn rows(&self) -> Vec<Row> {
        self.all.rows(ALL).chain(self.groups.iter().flat_map(PointerPairs::rows)).collect()
    }

    /// The records with each code in BASE and in NEW.
    pub(crate) fn codes(&self) -> Vec<CodeChange> {
        let change = |(rule, counts): (_, &(u64, u64))| CodeChange { rule, base: counts.0, new: counts.1 };
        rules().zip(&self.codes).map(change).collect()
    }
}
