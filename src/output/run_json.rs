//! `run.json`: what a run was, whether it is whole, and its tallies, for whatever merges, compares
//! or draws runs. `timing.json`: what may differ between two runs of the same thing.

use super::shard_json::ShardPart;
use super::tables::status_of;
use crate::diagnostic::{Lint, Rule};
use crate::error::Error;
use crate::keys::Key;
use crate::settings::{InputFormat, Level, Settings, Verdicts};
use crate::shared::SharedDocuments;
use crate::summary::{
    ALL, CodeTally, Grouping, Groups, Histogram, InputTally, Metric, MetricSums, Place, Tally, rules,
};
use crate::text::UNICODE_VERSION;
use crate::verdict::Status;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The version of the shape of `run.json`.
pub const RUN_SCHEMA: u32 = 1;

/// The content of `run.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    /// The version of this shape: [`RUN_SCHEMA`].
    pub schema: u32,
    /// The version of sourcecheck.
    pub version: String,
    /// The version of the Unicode data and rules.
    pub unicode: String,
    /// The name that was given to the run; empty without one.
    pub run: String,
    /// The settings that can change a byte.
    pub settings: SettingsPart,
    /// What was read.
    pub inputs: Vec<InputPart>,
    /// Whether every input was read to its end.
    pub complete: bool,
    /// Which part of the inputs it is of; written where it is of a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardPart>,
    /// The balance of lines and records.
    pub balance: Balance,
    /// The tallies, a group each; `all` comes first.
    pub tallies: Vec<GroupPart>,
}

/// The settings of a run, as `run.json` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsPart {
    /// `auto`, `json` or `jsonl`.
    pub input_format: String,
    /// The longest record in bytes.
    pub max_record_bytes: u64,
    /// The globs of `--claim-path`.
    pub claim_paths: Vec<String>,
    /// Whether sentences were counted; written where they were not.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub sentences: bool,
    /// The level of every lint: `allow`, `warn` or `deny`.
    pub lints: BTreeMap<String, String>,
    /// Where an `id` stands; written where that is not `/id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The pointers that the run is grouped by; written where there are some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_by: Vec<String>,
    /// The pointer whose value makes adjacent records one cluster; written where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// `problems` where only the verdicts on records that are not valid were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<String>,
    /// Whether the verdicts are compressed; written where they are.
    #[serde(default, skip_serializing_if = "is_false")]
    pub compress: bool,
    /// K/N, where the run is of a part of its inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The shared documents; written where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<DocumentsPart>,
}

/// The shared documents of a run, as `run.json` has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentsPart {
    /// The FNV-1a hash of their file's decompressed bytes, in 16 hexadecimal digits.
    pub hash: String,
    /// How many there are.
    pub count: u64,
    /// Bytes of contents and paths.
    pub bytes: u64,
}

/// One input, as `run.json` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputPart {
    /// The name as it was given.
    pub name: String,
    /// Bytes as they are stored.
    pub stored_bytes: u64,
    /// Lines; the lines of one pretty-printed record count as one.
    pub lines: u64,
    /// Blank lines.
    pub blank: u64,
    /// Records.
    pub records: u64,
}

/// `lines = blank + records`, and `records = valid + invalid + malformed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// Lines of all inputs.
    pub lines: u64,
    /// Blank lines.
    pub blank: u64,
    /// Records.
    pub records: u64,
    /// Valid records.
    pub valid: u64,
    /// Invalid records.
    pub invalid: u64,
    /// Malformed records.
    pub malformed: u64,
}

/// The tallies of one group. Sums are decimal strings: they pass 64 bits. What is zero is written for
/// `all` alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPart {
    /// The group's name, as in the CSV.
    pub group: String,
    /// Records by status: valid, invalid, malformed.
    #[serde(default)]
    pub statuses: [u64; 3],
    /// The sums of the metrics, by name.
    pub metrics: Vec<MetricPart>,
    /// The tally of every code, then of every lint.
    pub codes: Vec<CodePart>,
    /// Records by coverage, in 20 bins, by metric.
    pub coverage_histogram: BTreeMap<String, Vec<u64>>,
}

/// The sums of one metric over the records of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricPart {
    /// The metric's name.
    pub metric: String,
    /// Σn; of `confidence.mean` in units of 1e-9.
    #[serde(with = "decimal")]
    pub n: u128,
    /// Σd.
    #[serde(with = "decimal")]
    pub d: u128,
    /// Σn².
    #[serde(with = "decimal")]
    pub nn: u128,
    /// Σnd.
    #[serde(with = "decimal")]
    pub nd: u128,
    /// Σd².
    #[serde(with = "decimal")]
    pub dd: u128,
    /// Records with d > 0.
    #[serde(with = "decimal")]
    pub records: u64,
    /// Clusters with d > 0; written in a run with clusters, whose squares and products are of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<String>,
    /// Of the records (or clusters), those with n < d.
    #[serde(with = "decimal")]
    pub below: u64,
    /// Of the records (or clusters), those with n > 0.
    #[serde(with = "decimal")]
    pub above_zero: u64,
}

/// Whole numbers as decimal strings.
mod decimal {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::fmt::Display;
    use std::str::FromStr;

    pub(super) fn serialize<T: Display, S: Serializer>(number: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(super) fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom(format!("{text:?} is no whole number that fits")))
    }
}

/// The tally of one code or lint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePart {
    /// The code's or lint's name.
    pub code: String,
    /// `malformed`, `invalid` or `lint`.
    pub status: String,
    /// Findings.
    pub count: u64,
    /// Records with at least one.
    pub records: u64,
    /// The first place.
    pub first: Option<FirstPart>,
}

/// The first place of a code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstPart {
    /// The input's place in `inputs`, from 0.
    pub input: usize,
    /// The line, from 1.
    pub line: u64,
}

/// The content of `timing.json`. The caller has the clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingFile {
    /// When the run started, RFC 3339 in UTC.
    pub start: String,
    /// How long it took.
    pub seconds: f64,
    /// Worker threads.
    pub threads: usize,
    /// The machine's name; empty where it is not known.
    pub host: String,
}

/// What a run has come to, for the files of its folder.
#[derive(Clone, Debug)]
pub struct RunReport<'a> {
    /// The name that was given to the run; empty without one.
    pub run: &'a str,
    /// Its settings.
    pub settings: SettingsPart,
    /// What was read.
    pub inputs: &'a [InputTally],
    /// Whether every input was read to its end.
    pub complete: bool,
    /// The counts over all records.
    pub tally: &'a Tally,
    /// The counts by group.
    pub groups: &'a Groups,
    /// Which part of the inputs it is of; `None` where it is of all of them.
    pub shard: Option<ShardPart>,
}

/// Writes `run.json`: `all` and what stands before it laid out for people, then a line for each group.
///
/// # Errors
/// What `out` says.
pub fn write_run_file(report: &RunReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    const END: &str = "\n  ]\n}";
    let head = serde_json::to_string_pretty(&RunFile::of_all(report))?;
    // The list of tallies comes last, and `all` is in it.
    let (head, end) = head.strip_suffix(END).map_or((head.as_str(), ""), |head| (head, END));
    out.write_all(head.as_bytes())?;
    for (name, tally) in report.groups.held() {
        out.write_all(b",\n    ")?;
        serde_json::to_writer(&mut *out, &GroupPart::new(&name, &report.settings, tally))?;
    }
    writeln!(out, "{end}")
}

impl RunFile {
    /// The file with the tallies of `all` alone.
    fn of_all(report: &RunReport<'_>) -> Self {
        let RunReport { run, settings, inputs, complete, tally, shard, .. } = report;
        let sum = |count: fn(&InputTally) -> u64| inputs.iter().map(count).sum();
        Self {
            schema: RUN_SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            unicode: UNICODE_VERSION.to_owned(),
            run: (*run).to_owned(),
            settings: settings.clone(),
            inputs: inputs.iter().map(InputPart::new).collect(),
            complete: *complete,
            shard: shard.clone(),
            balance: Balance {
                lines: sum(|input| input.lines),
                blank: sum(|input| input.blank),
                records: sum(|input| input.records),
                valid: tally.of_status(Status::Valid),
                invalid: tally.of_status(Status::Invalid),
                malformed: tally.of_status(Status::Malformed),
            },
            tallies: vec![GroupPart::new(ALL, settings, tally)],
        }
    }

    /// Reads a file back.
    ///
    /// # Errors
    /// What is wrong with the bytes, or that their schema is a later one.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Error> {
        let file: Self = crate::decode::json::read_own(bytes)
            .map_err(|error| Error::setting(format!("this is no run.json that can be read: {error}")))?;
        if file.schema != RUN_SCHEMA {
            return Err(Error::setting(format!(
                "this run.json has schema {}, and this version reads schema {RUN_SCHEMA}; use the version that wrote it ({})",
                file.schema, file.version
            )));
        }
        Ok(file)
    }

    /// The tally of the group `all`, as it was counted.
    ///
    /// # Errors
    /// A number or name that this version does not know.
    pub fn tally(&self) -> Result<Tally, Error> {
        let all = self.tallies.iter().find(|part| part.group == ALL);
        all.ok_or_else(|| Error::setting("this run.json has no tallies of `all`"))?.tally()
    }
}

impl GroupPart {
    /// The group's tally, as it was counted.
    ///
    /// # Errors
    /// A number or name that this version does not know.
    pub fn tally(&self) -> Result<Tally, Error> {
        self.to_tally().ok_or_else(|| Error::setting("this run.json has tallies that cannot be read"))
    }
}

impl TimingFile {
    /// The file's bytes.
    ///
    /// # Errors
    /// None in practice: it writes to memory.
    pub fn to_json(&self) -> Result<Vec<u8>, Error> {
        to_json(self)
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| Error::defect(error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn yes() -> bool {
    true
}

fn is_false(value: &bool) -> bool {
    !value
}

impl SettingsPart {
    /// The groups and clusters of a run with these settings, empty.
    pub(crate) fn grouping(&self) -> Option<Grouping> {
        Grouping::new(self.group_by.iter().map(String::as_str), self.cluster.is_some())
    }

    /// Whether a lint is an error; one that was not known yet is none.
    pub(crate) fn denies(&self, lint: Lint) -> bool {
        self.lints.get(lint.name()).is_some_and(|level| level == "deny")
    }

    /// These settings.
    pub fn new(settings: &Settings) -> Self {
        let level = |lint: &Lint| match settings.lints.get(*lint) {
            Level::Allow => "allow",
            Level::Warn => "warn",
            Level::Deny => "deny",
        };
        let (keys, text) = (&settings.keys, |key: &Key| key.text().to_owned());
        let input_format = match settings.input_format {
            InputFormat::Auto => "auto",
            InputFormat::Json => "json",
            InputFormat::Jsonl => "jsonl",
        };
        Self {
            input_format: input_format.to_owned(),
            max_record_bytes: settings.max_record_bytes as u64,
            claim_paths: settings.claim_paths.globs().map(str::to_owned).collect(),
            sentences: settings.sentences,
            lints: Lint::ALL.iter().map(|lint| (lint.name().to_owned(), level(lint).to_owned())).collect(),
            id: (keys.id != Key::ID).then(|| text(&keys.id)),
            group_by: keys.groups.iter().map(text).collect(),
            cluster: keys.cluster.as_ref().map(text),
            verdicts: (settings.verdicts == Verdicts::Problems).then(|| "problems".to_owned()),
            compress: settings.compress,
            shard: settings.shard.map(|shard| shard.to_string()),
            documents: settings.documents.as_deref().map(DocumentsPart::new),
        }
    }
}

impl DocumentsPart {
    fn new(documents: &SharedDocuments) -> Self {
        let (count, bytes) = (documents.len() as u64, documents.bytes());
        Self { hash: format!("{:016x}", documents.hash()), count, bytes }
    }
}

impl InputPart {
    fn new(input: &InputTally) -> Self {
        Self {
            name: input.name.clone(),
            stored_bytes: input.stored_bytes,
            lines: input.lines,
            blank: input.blank,
            records: input.records,
        }
    }
}

fn histograms(tally: &Tally) -> [(Metric, &Histogram); 2] {
    [(Metric::CoverageChars, &tally.coverage_chars), (Metric::CoverageSentences, &tally.coverage_sentences)]
}

impl GroupPart {
    pub(crate) fn new(group: &str, settings: &SettingsPart, tally: &Tally) -> Self {
        let (is_all, is_clustered) = (group == ALL, settings.cluster.is_some());
        let metrics = Metric::ALL.iter().map(|metric| (*metric, tally.metric(*metric)));
        let codes = rules().map(|rule| (rule, tally.rule(rule)));
        let bins = histograms(tally).into_iter();
        Self {
            group: group.to_owned(),
            statuses: tally.statuses,
            metrics: metrics
                .filter(|(_, sums)| is_all || sums.d > 0)
                .map(|(metric, sums)| MetricPart::new(metric, sums, is_clustered))
                .collect(),
            codes: codes
                .filter(|(_, found)| is_all || found.count > 0)
                .map(|(rule, found)| CodePart::new(rule, status_of(rule, settings), found))
                .collect(),
            coverage_histogram: bins
                .filter(|(_, histogram)| is_all || **histogram != Histogram::default())
                .map(|(metric, histogram)| (metric.name().to_owned(), histogram.0.to_vec()))
                .collect(),
        }
    }

    fn to_tally(&self) -> Option<Tally> {
        let mut tally = Tally::default();
        tally.statuses = self.statuses;
        for part in &self.metrics {
            let metric = Metric::ALL.iter().find(|metric| metric.name() == part.metric)?;
            *tally.metric_mut(*metric) = part.to_sums()?;
        }
        for part in self.codes.iter().filter(|part| part.count > 0) {
            let rule = rules().find(|rule| rule.name() == part.code)?;
            let first = part.first.as_ref().map(|first| Place { input: first.input, line: first.line });
            *tally.rule_mut(rule) = CodeTally { count: part.count, records: part.records, first };
        }
        let bins = |metric: Metric| match self.coverage_histogram.get(metric.name()) {
            None => Some(Histogram::default()),
            Some(bins) => bins.as_slice().try_into().ok().map(Histogram),
        };
        tally.coverage_chars = bins(Metric::CoverageChars)?;
        tally.coverage_sentences = bins(Metric::CoverageSentences)?;
        Some(tally)
    }
}

impl MetricPart {
    fn new(metric: Metric, sums: &MetricSums, is_clustered: bool) -> Self {
        let MetricSums { n, d, nn, nd, dd, records, clusters, below, above_zero } = *sums;
        let clusters = is_clustered.then(|| clusters.to_string());
        Self { metric: metric.name().to_owned(), n, d, nn, nd, dd, records, clusters, below, above_zero }
    }

    fn to_sums(&self) -> Option<MetricSums> {
        let Self { n, d, nn, nd, dd, records, below, above_zero, .. } = *self;
        let clusters = self.clusters.as_ref().map_or(Some(records), |clusters| clusters.parse().ok())?;
        Some(MetricSums { n, d, nn, nd, dd, records, clusters, below, above_zero })
    }
}

impl CodePart {
    fn new(rule: Rule, status: &str, found: &CodeTally) -> Self {
        Self {
            code: rule.name().to_owned(),
            status: status.to_owned(),
            count: found.count,
            records: found.records,
            first: found.first.map(|place| FirstPart { input: place.input, line: place.line }),
        }
    }
}
