//! What the `run.json` of a shard has beside that of a run over everything: what merging needs to know.

use crate::input::Fingerprint;
use crate::shard::Shard;
use crate::summary::{Border, Borders, GroupValue, Groups, Metric, OpenCluster};
use crate::verdict::Share;
use serde::{Deserialize, Serialize};

/// Which part of which inputs a run is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardPart {
    /// K of K/N, from 1.
    pub number: u64,
    /// N.
    pub of: u64,
    /// All inputs, in the order of the run.
    pub inputs: Vec<ShardInput>,
    /// How many groups there are at each pointer; written where there are pointers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<usize>,
    /// The clusters that may go on in the shards beside it; written in a run with clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borders: Option<BordersPart>,
}

/// What tells whether an input is the same on another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardInput {
    /// Bytes as they are stored.
    pub bytes: u64,
    /// A hash of the first and the last 64 KiB.
    pub hash: String,
}

/// The first and the last cluster of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BordersPart {
    /// The first.
    pub first: BorderPart,
    /// The last; none where it is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<BorderPart>,
}

/// One cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BorderPart {
    /// The value at the cluster's pointer, as groups are named; none where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What its records come to.
    pub sums: Vec<BorderSums>,
}

/// What the records of a cluster come to in one tally.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BorderSums {
    /// The place of the group's pointer in `group_by`; none for `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<usize>,
    /// The group's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Σn, Σd and the records with d > 0 of each metric, in the order of `summary.csv`.
    pub metrics: Vec<[u64; 3]>,
}

impl ShardPart {
    pub(crate) fn new(shard: Shard, inputs: &[Fingerprint], groups: &Groups, group_by: &[String]) -> Self {
        let input =
            |input: &Fingerprint| ShardInput { bytes: input.bytes, hash: format!("{:016x}", input.hash) };
        Self {
            number: shard.number(),
            of: shard.of(),
            inputs: inputs.iter().map(input).collect(),
            groups: groups.sizes(),
            borders: groups.borders().map(|borders| BordersPart::new(borders, group_by)),
        }
    }
}

impl BordersPart {
    fn new(borders: &Borders, group_by: &[String]) -> Self {
        let last = (!borders.is_one).then(|| BorderPart::new(&borders.last, group_by));
        Self { first: BorderPart::new(&borders.first, group_by), last }
    }

    /// `None` where it is not of a run with these pointers.
    pub(crate) fn to_borders(&self, group_by: &[String]) -> Option<Borders> {
        let first = self.first.to_border(group_by)?;
        let last = match &self.last {
            Some(last) => last.to_border(group_by)?,
            None => first.clone(),
        };
        Some(Borders { first, last, is_one: self.last.is_none() })
    }
}

impl BorderPart {
    pub(crate) fn new(border: &Border, group_by: &[String]) -> Self {
        let name = |pointer: Option<usize>, value: &GroupValue| {
            pointer.and_then(|i| group_by.get(i)).map(|pointer| value.name(pointer)).unwrap_or_default()
        };
        let sums = border.sums.iter().map(|((pointer, value), sums)| BorderSums {
            pointer: *pointer,
            group: name(*pointer, value),
            metrics: metrics_of(sums),
        });
        Self { value: border.value.clone(), sums: sums.collect() }
    }

    pub(crate) fn to_border(&self, group_by: &[String]) -> Option<Border> {
        let mut border = Border { value: self.value.clone(), ..Border::default() };
        for part in &self.sums {
            let value = match part.pointer {
                None => GroupValue::Absent,
                Some(i) => GroupValue::of_name(&part.group, group_by.get(i)?)?,
            };
            border.sums.insert((part.pointer, value), cluster_of(&part.metrics)?);
        }
        Some(border)
    }
}

/// Numerator, denominator and records of each metric.
pub(crate) fn metrics_of(cluster: &OpenCluster) -> Vec<[u64; 3]> {
    let shares = cluster.shares.iter().zip(cluster.records);
    shares.map(|(share, records)| [share.part, share.whole, records]).collect()
}

/// The same, read back; `None` where it is of other metrics.
pub(crate) fn cluster_of(metrics: &[[u64; 3]]) -> Option<OpenCluster> {
    let mut cluster = OpenCluster::new(0);
    if metrics.len() != Metric::ALL.len() {
        return None;
    }
    for (i, [part, whole, records]) in metrics.iter().enumerate() {
        cluster.shares[i] = Share { part: *part, whole: *whole };
        cluster.records[i] = *records;
    }
    Some(cluster)
}
