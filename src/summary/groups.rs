//! The tallies of a run's groups, and of its clusters.

use super::border::{Border, Borders, FirstCluster, Join, Slot};
use super::metric::{Metric, MetricSums, Shares};
use super::tally::{Place, Tally};
use crate::diagnostic::{Diagnostic, Rule};
use crate::limits::{GROUPS, GROUPS_SHOWN};
use crate::verdict::{Group, RecordVerdict, Share, Status};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

/// What one record adds to the tallies of its groups.
#[derive(Clone, Debug)]
pub struct RecordCounts {
    line: u64,
    status: Status,
    shares: Shares,
    findings: Vec<Rule>,
    groups: Option<Vec<Group>>,
    cluster: Option<String>,
}

impl RecordCounts {
    /// What the record with this verdict adds.
    pub fn of(verdict: &RecordVerdict) -> Self {
        let rule = |finding: &Diagnostic| finding.rule;
        Self {
            line: verdict.line,
            status: verdict.status,
            shares: Metric::all_of(verdict),
            findings: verdict.errors.iter().chain(&verdict.lints).map(rule).collect(),
            groups: verdict.groups.clone(),
            cluster: verdict.cluster.clone(),
        }
    }

    fn group(&self, pointer: usize) -> GroupValue {
        // Where the JSON could not be read there are no groups.
        match self.groups.as_ref().and_then(|groups| groups.get(pointer)) {
            None => GroupValue::Unreadable,
            Some(Group { value: None, .. }) => GroupValue::Absent,
            Some(Group { value: Some(value), .. }) => GroupValue::Is(value.clone()),
        }
    }
}

/// What the records of a group have at its pointer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum GroupValue {
    Absent,
    Unreadable,
    Is(String),
}

impl GroupValue {
    /// The group's name, as tables have it.
    pub(crate) fn name(&self, pointer: &str) -> String {
        match self {
            Self::Absent => pointer.to_owned(),
            Self::Unreadable => format!("{pointer} (unreadable)"),
            Self::Is(value) => format!("{pointer}={value}"),
        }
    }

    /// The value of the group with this name at the pointer.
    pub(crate) fn of_name(name: &str, pointer: &str) -> Option<Self> {
        match name.strip_prefix(pointer)? {
            "" => Some(Self::Absent),
            " (unreadable)" => Some(Self::Unreadable),
            rest => rest.strip_prefix('=').map(|value| Self::Is(value.to_owned())),
        }
    }
}

/// The name of the groups at a pointer that are not told apart.
pub(super) fn other_name(pointer: &str) -> String {
    format!("{pointer} (other)")
}

/// Tallies by group: a pointer each on its own, none crossed.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    pointers: Vec<PointerGroups>,
    borders: Option<Box<Borders>>,
}

#[derive(Clone, Debug, Default)]
struct PointerGroups {
    pointer: String,
    places: HashMap<GroupValue, usize>,
    /// In the order in which they came first; `None` where nothing came since they were taken.
    tallies: Vec<Option<Box<ClusteredTally>>>,
    /// Those beyond the limit.
    other: Option<Box<ClusteredTally>>,
}

impl Groups {
    /// Every group that is told apart, by pointer and then by name, with its tally; last of a pointer the
    /// rest, if there were more than 100,000.
    pub fn held(&self) -> Vec<(String, &Tally)> {
        self.pointers.iter().flat_map(PointerGroups::held).collect()
    }

    /// The groups that tables show: of each pointer the 1,000 with the most records, ties by name, and the
    /// rest as one.
    pub fn shown(&self) -> Vec<(String, Cow<'_, Tally>)> {
        self.pointers.iter().flat_map(PointerGroups::shown).collect()
    }

    /// The tally of the group with this name; `POINTER (other)` is the one that tables show.
    pub fn find(&self, name: &str) -> Option<Cow<'_, Tally>> {
        self.pointers.iter().find_map(|groups| groups.find(name))
    }

    /// The pointers at which there were more than 100,000 groups.
    pub fn overfull(&self) -> impl Iterator<Item = &str> {
        self.pointers.iter().filter(|groups| groups.other.is_some()).map(|groups| groups.pointer.as_str())
    }

    /// How many groups are told apart at each pointer, in the order of [`Groups::held`].
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.pointers.iter().map(|groups| groups.held().len()).collect()
    }

    /// The clusters at the ends of the run; `None` where there are none.
    pub(crate) fn borders(&self) -> Option<&Borders> {
        self.borders.as_deref()
    }
}

impl PointerGroups {
    /// The tally of a group; of the rest, where there are too many.
    fn tally(&mut self, value: GroupValue) -> &mut ClusteredTally {
        let place = match self.places.get(&value) {
            Some(place) => *place,
            None if self.tallies.len() < GROUPS => {
                self.places.insert(value, self.tallies.len());
                self.tallies.push(None);
                self.tallies.len() - 1
            }
            None => return self.other.get_or_insert_default(),
        };
        self.tallies[place].get_or_insert_default()
    }

    fn named(&self) -> Vec<(String, &Tally)> {
        let named = |(value, place): (&GroupValue, &usize)| {
            self.tallies[*place].as_ref().map(|clustered| (value.name(&self.pointer), &clustered.tally))
        };
        self.places.iter().filter_map(named).collect()
    }

    fn held(&self) -> Vec<(String, &Tally)> {
        let mut named = self.named();
        named.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        named.extend(self.other.as_ref().map(|other| (other_name(&self.pointer), &other.tally)));
        named
    }

    fn shown(&self) -> Vec<(String, Cow<'_, Tally>)> {
        let mut named = self.named();
        named.sort_unstable_by(|a, b| (Reverse(a.1.records()), &a.0).cmp(&(Reverse(b.1.records()), &b.0)));
        let rest = named.split_off(named.len().min(GROUPS_SHOWN));
        let mut shown: Vec<_> = named.into_iter().map(|(name, tally)| (name, Cow::Borrowed(tally))).collect();
        let rest =
            rest.into_iter().map(|(_, tally)| tally).chain(self.other.iter().map(|other| &other.tally));
        let mut rest = rest.peekable();
        if rest.peek().is_some() {
            let mut other = Tally::default();
            rest.for_each(|tally| other.merge(tally));
            shown.push((other_name(&self.pointer), Cow::Owned(other)));
        }
        shown
    }

    fn find(&self, name: &str) -> Option<Cow<'_, Tally>> {
        if name == other_name(&self.pointer) {
            return self.shown().pop().filter(|(last, _)| last == name).map(|(_, tally)| tally);
        }
        let value = GroupValue::of_name(name, &self.pointer)?;
        let found = self.tallies[*self.places.get(&value)?].as_ref()?;
        Some(Cow::Borrowed(&found.tally))
    }

    fn each(&mut self) -> impl Iterator<Item = &mut ClusteredTally> {
        self.tallies.iter_mut().chain([&mut self.other]).flatten().map(Box::as_mut)
    }
}

/// Counts records one after the other, in the order of the run, where batches cannot be counted alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grouping {
    clusters: Option<Clusters>,
    all: ClusteredTally,
    groups: Groups,
    first: FirstCluster,
}

impl Grouping {
    /// `None` where a run has neither groups nor clusters.
    pub(crate) fn new<'p>(pointers: impl Iterator<Item = &'p str>, is_clustered: bool) -> Option<Self> {
        let groups = |pointer: &str| PointerGroups { pointer: pointer.to_owned(), ..Default::default() };
        let groups = Groups { pointers: pointers.map(groups).collect(), borders: None };
        let clusters = is_clustered.then(Clusters::default);
        (clusters.is_some() || !groups.pointers.is_empty()).then(|| Self {
            clusters,
            groups,
            ..Self::default()
        })
    }

    pub(crate) fn add(&mut self, input: usize, record: &RecordCounts) {
        let last = self.clusters.as_ref().map(|clusters| clusters.number);
        let cluster = self.clusters.as_mut().map(|clusters| clusters.number(record.cluster.as_deref()));
        self.first.ended |= cluster != last && !self.first.border.sums.is_empty();
        let place = Place { input, line: record.line };
        if cluster.is_some() {
            self.all.add(record, place, cluster);
            self.add_to_first(record);
        }
        for (i, groups) in self.groups.pointers.iter_mut().enumerate() {
            groups.tally(record.group(i)).add(record, place, cluster);
        }
    }

    fn add_to_first(&mut self, record: &RecordCounts) {
        if self.first.ended {
            return;
        }
        let FirstCluster { border, .. } = &mut self.first;
        border.value.clone_from(&record.cluster);
        let slots = (0..self.groups.pointers.len()).map(|i| (Some(i), record.group(i)));
        for slot in slots.chain([Border::all()]) {
            border.sums.entry(slot).or_insert_with(|| OpenCluster::new(0)).add_record(&record.shares);
        }
    }

    /// The clusters at both ends, as long as the last one is open.
    fn borders(&self) -> Option<Borders> {
        let clusters = self.clusters.as_ref().filter(|_| !self.first.border.sums.is_empty())?;
        let of_last = |slot, tally: &ClusteredTally| {
            let open = tally.open.as_deref().filter(|open| open.number == clusters.number)?;
            Some((slot, OpenCluster { number: 0, ..open.clone() }))
        };
        let groups = self.groups.pointers.iter().enumerate().flat_map(|(i, groups)| {
            let slot = move |(value, place): (&GroupValue, &usize)| {
                of_last((Some(i), value.clone()), groups.tallies[*place].as_deref()?)
            };
            groups.places.iter().filter_map(slot)
        });
        let sums = groups.chain(of_last(Border::all(), &self.all)).collect();
        let last = Border { value: clusters.value.clone(), sums };
        Some(Borders { first: self.first.border.clone(), last, is_one: !self.first.ended })
    }

    /// The groups; and the tally of all records, where there are clusters.
    pub(crate) fn finish(mut self) -> (Groups, Option<Tally>) {
        self.groups.borders = self.borders().map(Box::new);
        self.groups.pointers.iter_mut().flat_map(PointerGroups::each).for_each(ClusteredTally::close);
        self.all.close();
        (self.groups, self.clusters.map(|_| self.all.tally))
    }
}

/// What came to one tally since the last time: of all records where `pointer` is `None`, else of the group
/// with this name there.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) pointer: Option<usize>,
    pub(crate) name: String,
    pub(crate) tally: Tally,
    /// A cluster to which more records may come.
    pub(crate) open: Option<OpenCluster>,
}

/// For journals: what came since the last time, and a grouping that goes on from there.
impl Grouping {
    /// Takes what came since the last time, in the order in which groups came first.
    pub(crate) fn take_parts(&mut self) -> Vec<Part> {
        let number = self.clusters.as_ref().map(|clusters| clusters.number);
        let mut parts = Vec::new();
        if number.is_some() {
            parts.extend(self.all.take_part(number, None, String::new()));
        }
        for (pointer, groups) in self.groups.pointers.iter_mut().enumerate() {
            let mut names: Vec<(usize, String)> =
                groups.places.iter().map(|(value, place)| (*place, value.name(&groups.pointer))).collect();
            names.sort_unstable();
            let names = names.into_iter().map(|(_, name)| name).chain([other_name(&groups.pointer)]);
            for (slot, name) in groups.tallies.iter_mut().chain([&mut groups.other]).zip(names) {
                let Some(tally) = slot else { continue };
                parts.extend(tally.take_part(number, Some(pointer), name));
                if tally.open.is_none() {
                    *slot = None;
                }
            }
        }
        parts
    }

    /// How many tallies hold something that was not taken yet.
    pub(crate) fn waiting(&self) -> usize {
        self.groups.pointers.iter().map(|groups| groups.tallies.iter().flatten().count()).sum()
    }

    /// Adds what was taken before, and the cluster that was the last one then. `None` where a part is of
    /// no group of this run.
    pub(crate) fn add_parts(&mut self, parts: Vec<Part>, cluster: Option<String>) -> Option<()> {
        let number = self.clusters.as_mut().map(|clusters| {
            clusters.value = cluster;
            clusters.number
        });
        for part in parts {
            let slot = match part.pointer {
                None => &mut self.all,
                Some(pointer) => {
                    let groups = self.groups.pointers.get_mut(pointer)?;
                    if part.name == other_name(&groups.pointer) {
                        groups.other.get_or_insert_default()
                    } else {
                        groups.tally(GroupValue::of_name(&part.name, &groups.pointer)?)
                    }
                }
            };
            slot.tally.merge(&part.tally);
            slot.open = part.open.map(|open| Box::new(OpenCluster { number: number.unwrap_or(0), ..open }));
        }
        Some(())
    }

    /// Makes one cluster of two, if their tally is held.
    pub(crate) fn join(&mut self, join: &Join) {
        let tally = self.slot(&join.slot);
        tally.into_iter().for_each(|tally| join.apply(&mut tally.tally));
    }

    fn slot(&mut self, slot: &Slot) -> Option<&mut ClusteredTally> {
        match slot {
            (None, _) => Some(&mut self.all),
            (Some(pointer), value) => {
                let groups = self.groups.pointers.get_mut(*pointer)?;
                let place = *groups.places.get(value)?;
                groups.tallies.get_mut(place)?.as_deref_mut()
            }
        }
    }

    /// The first cluster so far; empty in a run without clusters.
    pub(crate) fn first(&self) -> &FirstCluster {
        &self.first
    }

    pub(crate) fn set_first(&mut self, first: FirstCluster) {
        self.first = first;
    }

    /// The value that the last record has at the cluster's pointer.
    pub(crate) fn last_cluster(&self) -> Option<&str> {
        self.clusters.as_ref()?.value.as_deref()
    }

    /// Forgets every count but those of clusters to which more records may come.
    pub(crate) fn keep_open(&mut self) {
        self.take_parts();
    }
}

/// Numbers clusters: adjacent records with one value are one, a record without a value is its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    value: Option<String>,
    number: u64,
}

impl Clusters {
    pub(crate) fn number(&mut self, value: Option<&str>) -> u64 {
        if value.is_none() || self.value.as_deref() != value {
            self.number += 1;
            self.value = value.map(str::to_owned);
        }
        self.number
    }
}

/// A tally whose last cluster may still grow.
#[derive(Clone, Debug, Default)]
struct ClusteredTally {
    tally: Tally,
    open: Option<Box<OpenCluster>>,
}

/// What the records of one cluster come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenCluster {
    number: u64,
    pub(crate) shares: Shares,
    /// Records with a denominator above 0, for each metric.
    pub(crate) records: [u64; Metric::ALL.len()],
}

impl ClusteredTally {
    fn add(&mut self, record: &RecordCounts, place: Place, cluster: Option<u64>) {
        self.tally.add_status(record.status);
        self.tally.add_findings(record.findings.iter().copied(), place);
        self.tally.add_to_histograms(&record.shares);
        let Some(number) = cluster else { return self.tally.add_shares(&record.shares) };
        if self.open.as_ref().is_none_or(|open| open.number != number) {
            self.close();
        }
        let open = self.open.get_or_insert_with(|| Box::new(OpenCluster::new(number)));
        open.add_record(&record.shares);
    }

    /// Takes what came to it; a cluster with this number stays, since more records may come to it.
    fn take_part(&mut self, number: Option<u64>, pointer: Option<usize>, name: String) -> Option<Part> {
        if self.open.as_ref().is_some_and(|open| Some(open.number) != number) {
            self.close();
        }
        let tally = std::mem::take(&mut self.tally);
        let open = self.open.as_deref().cloned();
        (open.is_some() || tally != Tally::default()).then_some(Part { pointer, name, tally, open })
    }

    /// No more records come to the last cluster.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        for (i, metric) in Metric::ALL.iter().enumerate() {
            let sums: &mut MetricSums = self.tally.metric_mut(*metric);
            sums.add_cluster(open.shares[i], metric.unit(), open.records[i]);
        }
    }
}

impl OpenCluster {
    pub(crate) fn new(number: u64) -> Self {
        Self { number, shares: [Share::default(); Metric::ALL.len()], records: [0; Metric::ALL.len()] }
    }

    fn add_record(&mut self, shares: &Shares) {
        for ((sum, records), share) in self.shares.iter_mut().zip(&mut self.records).zip(shares) {
            sum.part += share.part;
            sum.whole += share.whole;
            *records += u64::from(share.whole > 0);
        }
    }

    /// Adds what other records of the same cluster come to.
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, share) in self.shares.iter_mut().zip(&other.shares) {
            sum.part += share.part;
            sum.whole += share.whole;
        }
        self.records.iter_mut().zip(other.records).for_each(|(mine, theirs)| *mine += theirs);
    }
}
