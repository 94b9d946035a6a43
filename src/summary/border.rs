//! The clusters at the ends of a shard, which may go on in the shards beside it.

use super::groups::{GroupValue, OpenCluster};
use super::metric::Metric;
use super::tally::Tally;
use std::collections::BTreeMap;

/// A tally of a run: of all records where `pointer` is `None`, else of a group there.
pub(super) type Slot = (Option<usize>, GroupValue);

/// What the records of one cluster come to, by tally.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Border {
    /// The value at the cluster's pointer; `None` where a record has none, and is a cluster by itself.
    pub(crate) value: Option<String>,
    pub(crate) sums: BTreeMap<Slot, OpenCluster>,
}

/// The first and the last cluster of a shard.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Borders {
    pub(crate) first: Border,
    pub(crate) last: Border,
    /// They are one and the same.
    pub(crate) is_one: bool,
}

impl Border {
    pub(super) fn all() -> Slot {
        (None, GroupValue::Absent)
    }

    /// Whether the cluster goes on in one that stands right after it.
    fn goes_on_in(&self, next: &Self) -> bool {
        self.value.is_some() && self.value == next.value
    }

    /// The sums of both.
    fn join(&mut self, other: Self) {
        for (slot, sums) in other.sums {
            self.sums.entry(slot).or_insert_with(|| OpenCluster::new(0)).add(&sums);
        }
    }
}

/// Joins clusters that were cut by the borders of shards, which come in their order.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    /// The last cluster so far.
    last: Option<Border>,
}

impl Joiner {
    /// Takes the next shard's; gives what has been counted as two clusters and is one.
    pub(crate) fn add(&mut self, next: Borders) -> Vec<Join> {
        let Some(mut last) = self.last.take().filter(|last| last.goes_on_in(&next.first)) else {
            self.last = Some(next.last);
            return Vec::new();
        };
        let in_both = |(slot, one): (&Slot, &OpenCluster)| {
            let other = next.first.sums.get(slot)?.clone();
            Some(Join { slot: slot.clone(), parts: [one.clone(), other] })
        };
        let joins = last.sums.iter().filter_map(in_both).collect();
        self.last = Some(if next.is_one {
            last.join(next.first);
            last
        } else {
            next.last
        });
        joins
    }
}

/// Two clusters of one tally that are one.
#[derive(Debug)]
pub(crate) struct Join {
    pub(super) slot: Slot,
    parts: [OpenCluster; 2],
}

impl Join {
    /// Makes one cluster of the two that the tally has counted.
    pub(super) fn apply(&self, tally: &mut Tally) {
        let [one, other] = &self.parts;
        let mut both = one.clone();
        both.add(other);
        for (i, metric) in Metric::ALL.iter().enumerate() {
            let sums = tally.metric_mut(*metric);
            for part in &self.parts {
                sums.remove_cluster(part.shares[i], metric.unit(), part.records[i]);
            }
            sums.add_cluster(both.shares[i], metric.unit(), both.records[i]);
        }
    }
}

/// The first cluster of a run, as long as it grows and after.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstCluster {
    pub(crate) border: Border,
    /// No more records come to it.
    pub(crate) ended: bool,
}
