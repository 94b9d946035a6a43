//! `run.json`: what a run was, whether it is whole, and its tallies, for whatever merges, compares
//! or draws runs. `timing.json`: what may differ between two runs of the same thing.

use super::tables::status_of;
use crate::diagnostic::{Code, Lint, Rule};
use crate::error::Error;
use crate::settings::{InputFormat, Level, Settings};
use crate::summary::{CodeTally, Histogram, InputTally, Metric, MetricSums, Place, Tally};
use crate::text::UNICODE_VERSION;
use crate::verdict::Status;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// The balance of lines and records.
    pub balance: Balance,
    /// The tallies, a group each; `all` comes first.
    pub tallies: Vec<GroupPart>,
}

/// The settings of a run, as `run.json` has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The tallies of one group. Sums are decimal strings: they pass 64 bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPart {
    /// The group's name, as in the CSV.
    pub group: String,
    /// The sums of every metric, by name.
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
    pub n: String,
    /// Σd.
    pub d: String,
    /// Σn².
    pub nn: String,
    /// Σnd.
    pub nd: String,
    /// Σd².
    pub dd: String,
    /// Records with d > 0.
    pub records: String,
    /// Of those, with n < d.
    pub below: String,
    /// Of those, with n > 0.
    pub above_zero: String,
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

impl RunFile {
    /// The file of a run.
    pub fn new(run: &str, settings: &Settings, inputs: &[InputTally], complete: bool, tally: &Tally) -> Self {
        let sum = |count: fn(&InputTally) -> u64| inputs.iter().map(count).sum();
        Self {
            schema: RUN_SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            unicode: UNICODE_VERSION.to_owned(),
            run: run.to_owned(),
            settings: SettingsPart::new(settings),
            inputs: inputs.iter().map(InputPart::new).collect(),
            complete,
            balance: Balance {
                lines: sum(|input| input.lines),
                blank: sum(|input| input.blank),
                records: sum(|input| input.records),
                valid: tally.of_status(Status::Valid),
                invalid: tally.of_status(Status::Invalid),
                malformed: tally.of_status(Status::Malformed),
            },
            tallies: vec![GroupPart::new("all", settings, tally)],
        }
    }

    /// The file's bytes.
    ///
    /// # Errors
    /// None in practice: it writes to memory.
    pub fn to_json(&self) -> Result<Vec<u8>, Error> {
        to_json(self)
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
        let all = self.tallies.iter().find(|part| part.group == "all");
        let all = all.ok_or_else(|| Error::setting("this run.json has no tallies of `all`"))?;
        let mut tally =
            all.to_tally().ok_or_else(|| Error::setting("this run.json has tallies that cannot be read"))?;
        tally.statuses = [self.balance.valid, self.balance.invalid, self.balance.malformed];
        Ok(tally)
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

impl SettingsPart {
    fn new(settings: &Settings) -> Self {
        let level = |lint: &Lint| match settings.lints.get(*lint) {
            Level::Allow => "allow",
            Level::Warn => "warn",
            Level::Deny => "deny",
        };
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
        }
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

fn rules() -> impl Iterator<Item = Rule> {
    Code::ALL.iter().copied().map(Rule::Code).chain(Lint::ALL.iter().copied().map(Rule::Lint))
}

fn histograms(tally: &Tally) -> [(Metric, &Histogram); 2] {
    [(Metric::CoverageChars, &tally.coverage_chars), (Metric::CoverageSentences, &tally.coverage_sentences)]
}

impl GroupPart {
    fn new(group: &str, settings: &Settings, tally: &Tally) -> Self {
        Self {
            group: group.to_owned(),
            metrics: Metric::ALL
                .iter()
                .map(|metric| MetricPart::new(*metric, tally.metric(*metric)))
                .collect(),
            codes: rules()
                .map(|rule| CodePart::new(rule, status_of(rule, &settings.lints), tally.rule(rule)))
                .collect(),
            coverage_histogram: histograms(tally)
                .into_iter()
                .map(|(metric, histogram)| (metric.name().to_owned(), histogram.0.to_vec()))
                .collect(),
        }
    }

    fn to_tally(&self) -> Option<Tally> {
        let mut tally = Tally::default();
        for part in &self.metrics {
            let metric = Metric::ALL.iter().find(|metric| metric.name() == part.metric)?;
            *tally.metric_mut(*metric) = part.to_sums()?;
        }
        for part in &self.codes {
            let rule = rules().find(|rule| rule.name() == part.code)?;
            let first = part.first.as_ref().map(|first| Place { input: first.input, line: first.line });
            *tally.rule_mut(rule) = CodeTally { count: part.count, records: part.records, first };
        }
        let bins = |metric: Metric| self.coverage_histogram.get(metric.name())?.as_slice().try_into().ok();
        tally.coverage_chars = Histogram(bins(Metric::CoverageChars)?);
        tally.coverage_sentences = Histogram(bins(Metric::CoverageSentences)?);
        Some(tally)
    }
}

impl MetricPart {
    fn new(metric: Metric, sums: &MetricSums) -> Self {
        Self {
            metric: metric.name().to_owned(),
            n: sums.n.to_string(),
            d: sums.d.to_string(),
            nn: sums.nn.to_string(),
            nd: sums.nd.to_string(),
            dd: sums.dd.to_string(),
            records: sums.records.to_string(),
            below: sums.below.to_string(),
            above_zero: sums.above_zero.to_string(),
        }
    }

    fn to_sums(&self) -> Option<MetricSums> {
        Some(MetricSums {
            n: self.n.parse().ok()?,
            d: self.d.parse().ok()?,
            nn: self.nn.parse().ok()?,
            nd: self.nd.parse().ok()?,
            dd: self.dd.parse().ok()?,
            records: self.records.parse().ok()?,
            clusters: self.records.parse().ok()?,
            below: self.below.parse().ok()?,
            above_zero: self.above_zero.parse().ok()?,
        })
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
