//! The journal of a run that is under way: where it can go on if it is killed.
//!
//! One JSON value a line: first what the run is, then what came since the line before. A line that was cut
//! is as if it had never been written.

use super::folder::{FolderPlan, RunKind};
use crate::error::Error;
use crate::input::{Fingerprint, InputProblem, Position};
use crate::output::{BorderPart, CheckedBatch, GroupPart, SettingsPart, cluster_of, metrics_of};
use crate::summary::{FirstCluster, Grouping, InputTally, OpenCluster, Part, Tally};
use serde::{Deserialize, Serialize};

/// What two runs must have in common for one to go on where the other ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) version: String,
    pub(super) run: String,
    pub(super) settings: SettingsPart,
    pub(super) inputs: Vec<Fingerprint>,
    /// Whether it is of shards that are merged.
    #[serde(default)]
    pub(super) is_merge: bool,
}

impl Header {
    pub(super) fn new(plan: &FolderPlan<'_>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run: plan.run.to_owned(),
            settings: plan.settings.clone(),
            inputs: plan.inputs.clone().unwrap_or_default(),
            is_merge: plan.kind == RunKind::Merge,
        }
    }

    /// What is not the same, in words; `None` where everything is.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        if self.version != other.version {
            return Some(format!("it was begun by version {}, and this is {}", self.version, other.version));
        }
        if self.is_merge != other.is_merge {
            let (before, now) = if self.is_merge { ("merge", "check") } else { ("check", "merge") };
            return Some(format!("it was one of `{before}`, and this is one of `{now}`"));
        }
        if self.run != other.run {
            return Some(format!("its name was {:?}, and is {:?}", self.run, other.run));
        }
        if self.settings != other.settings {
            return Some(format!(
                "its settings were other ones: {}",
                settings_difference(&self.settings, &other.settings)
            ));
        }
        let (before, now) = (&self.inputs, &other.inputs);
        if let Some((before, now)) = before.iter().zip(now).find(|(before, now)| before != now) {
            return Some(input_difference(before, now));
        }
        let (before, now) = (before.len(), now.len());
        (before != now).then(|| format!("it had {before} inputs, and there are {now}"))
    }
}

pub(super) fn settings_difference(before: &SettingsPart, now: &SettingsPart) -> String {
    let fields = |part: &SettingsPart| match serde_json::to_value(part) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (before, now) = (fields(before), fields(now));
    let names = before.keys().chain(now.keys());
    let different = names.filter(|name| before.get(*name) != now.get(*name));
    let mut different: Vec<&str> = different.map(String::as_str).collect();
    different.dedup();
    different.join(", ")
}

fn input_difference(before: &Fingerprint, now: &Fingerprint) -> String {
    let name = &before.name;
    if before.name != now.name {
        return format!("one of its inputs was {name}, and {} stands in its place", now.name);
    }
    if before.bytes != now.bytes {
        return format!("{name} had {} bytes, and has {}", before.bytes, now.bytes);
    }
    if before.hash != now.hash {
        return format!("{name} holds other bytes than before");
    }
    format!("{name} was changed since")
}

/// One line of the journal after the first.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// Inputs that came to their end.
    ended: Vec<EndedPart>,
    /// What was read of the one that is being read.
    current: InputPart,
    offset: u64,
    line: u64,
    /// Bytes of the file of verdicts.
    verdict_bytes: u64,
    /// Verdicts that are not in the file yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pending: String,
    tally: GroupPart,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartPart>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    /// Written where it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<FirstPart>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct InputPart {
    stored_bytes: u64,
    lines: u64,
    blank: u64,
    records: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct EndedPart {
    #[serde(flatten)]
    count: InputPart,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<InputProblem>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PartPart {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pointer: Option<usize>,
    tally: GroupPart,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<OpenPart>,
}

/// A cluster to which more records may come: numerator, denominator and records of each metric.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct OpenPart(Vec<[u64; 3]>);

/// The first cluster of a run so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FirstPart {
    #[serde(flatten)]
    cluster: BorderPart,
    ended: bool,
}

impl InputPart {
    fn new(count: &InputTally) -> Self {
        let InputTally { stored_bytes, lines, blank, records, .. } = *count;
        Self { stored_bytes, lines, blank, records }
    }

    fn to_tally(&self, name: &str) -> InputTally {
        let Self { stored_bytes, lines, blank, records } = *self;
        InputTally { name: name.to_owned(), stored_bytes, lines, blank, records }
    }
}

impl OpenPart {
    fn new(open: &OpenCluster) -> Self {
        Self(metrics_of(open))
    }

    fn to_open(&self) -> Option<OpenCluster> {
        cluster_of(&self.0)
    }
}

impl PartPart {
    fn new(part: &Part, settings: &SettingsPart) -> Self {
        let tally = GroupPart::new(&part.name, settings, &part.tally);
        Self { pointer: part.pointer, tally, open: part.open.as_ref().map(OpenPart::new) }
    }

    fn to_part(&self) -> Option<Part> {
        let open = match &self.open {
            None => None,
            Some(open) => Some(open.to_open()?),
        };
        let (name, tally) = (self.tally.group.clone(), self.tally.tally().ok()?);
        Some(Part { pointer: self.pointer, name, tally, open })
    }
}

/// Where a run goes on that did not come to its end, and what it had counted by then.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    pub(crate) tally: Tally,
    pub(crate) grouping: Option<Grouping>,
    /// What was read of each input so far; the last one is gone on with.
    pub(crate) inputs: Vec<InputTally>,
    pub(crate) problems: Vec<InputProblem>,
    /// Where the last one is gone on with.
    pub(crate) position: Position,
}

impl Checkpoint {
    fn start(settings: &SettingsPart) -> Self {
        Self {
            tally: Tally::default(),
            grouping: settings.grouping(),
            inputs: Vec::new(),
            problems: Vec::new(),
            position: Position::START,
        }
    }

    /// The input that is gone on with: its name, and where.
    pub fn place(&self) -> (&str, Position) {
        (self.inputs.last().map_or("", |input| &input.name), self.position)
    }

    /// Inputs that came to their end before.
    pub fn inputs_behind(&self) -> usize {
        self.inputs.len().saturating_sub(1)
    }

    fn add(&mut self, entry: &Entry, header: &Header) -> Option<()> {
        let name = |i: usize| header.inputs.get(i).map(|input| input.name.as_str());
        self.inputs.pop();
        for ended in &entry.ended {
            self.inputs.push(ended.count.to_tally(name(self.inputs.len())?));
            self.problems.extend(ended.problem.clone());
        }
        self.inputs.push(entry.current.to_tally(name(self.inputs.len())?));
        self.position = Position { offset: entry.offset, line: entry.line };
        self.tally.merge(&entry.tally.tally().ok()?);
        if let Some(grouping) = &mut self.grouping {
            let parts = entry.parts.iter().map(PartPart::to_part).collect::<Option<Vec<Part>>>()?;
            grouping.add_parts(parts, entry.cluster.clone())?;
            if let Some(first) = &entry.first {
                let border = first.cluster.to_border(&header.settings.group_by)?;
                grouping.set_first(FirstCluster { border, ended: first.ended });
            }
        }
        Some(())
    }
}

/// What a journal says, as far as it was written.
pub(super) struct Read {
    pub(super) header: Header,
    /// Where the run goes on; `None` where nothing had been checked.
    pub(super) checkpoint: Option<Checkpoint>,
    /// Bytes of the file of verdicts at that time, and verdicts that were not in it yet.
    pub(super) verdict_bytes: u64,
    pub(super) pending: String,
    /// Bytes of the journal that are whole.
    pub(super) bytes: u64,
}

/// Reads a journal; `None` where not even its first line is whole.
pub(super) fn read(bytes: &[u8]) -> Option<Read> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let first = lines.next()?;
    let header: Header = crate::decode::json::read_own(first).ok()?;
    let mut read = Read {
        header,
        checkpoint: None,
        verdict_bytes: 0,
        pending: String::new(),
        bytes: first.len() as u64,
    };
    for line in lines {
        let Ok(entry) = crate::decode::json::read_own::<Entry>(line) else { break };
        let mut checkpoint =
            read.checkpoint.take().unwrap_or_else(|| Checkpoint::start(&read.header.settings));
        checkpoint.add(&entry, &read.header)?;
        read.checkpoint = Some(checkpoint);
        read.verdict_bytes = entry.verdict_bytes;
        read.pending = entry.pending;
        read.bytes += line.len() as u64;
    }
    Some(read)
}

/// What came since the last line of the journal.
pub(super) struct Since {
    tally: Tally,
    grouping: Option<Grouping>,
    /// Every input so far; the last one is being read.
    inputs: Vec<InputTally>,
    /// What kept inputs from being read, by their place.
    problems: Vec<Option<InputProblem>>,
    /// Inputs that the journal knows the end of.
    written: usize,
    /// The journal knows all of the first cluster.
    first_written: bool,
    next: Option<Position>,
}

impl Since {
    pub(super) fn new(settings: &SettingsPart, checkpoint: Option<&Checkpoint>) -> Self {
        let Some(checkpoint) = checkpoint else {
            let (tally, inputs, problems) = (Tally::default(), Vec::new(), Vec::new());
            return Self {
                tally,
                grouping: settings.grouping(),
                inputs,
                problems,
                written: 0,
                first_written: false,
                next: None,
            };
        };
        let mut grouping = checkpoint.grouping.clone();
        let first_written = grouping.as_ref().is_none_or(|grouping| grouping.first().ended);
        if let Some(grouping) = &mut grouping {
            grouping.keep_open();
        }
        let inputs = checkpoint.inputs.clone();
        let written = inputs.len().saturating_sub(1);
        let problems = vec![None; written];
        Self { tally: Tally::default(), grouping, problems, inputs, written, first_written, next: None }
    }

    /// Adds a batch.
    pub(super) fn add(&mut self, batch: &CheckedBatch) {
        for (i, ended) in (self.problems.len()..).zip(&batch.ended) {
            let counted = self.inputs.get(i).cloned().unwrap_or_default();
            let count = InputTally { blank: counted.blank, records: counted.records, ..ended.count.clone() };
            self.inputs.truncate(i);
            self.inputs.push(count);
            self.problems.push(ended.problem.clone());
        }
        if self.inputs.len() <= batch.input {
            self.inputs.resize_with(batch.input + 1, InputTally::default);
        }
        let current = &mut self.inputs[batch.input];
        current.stored_bytes = batch.input_stored_bytes;
        current.lines += batch.lines;
        current.blank += batch.blank;
        current.records += batch.tally.records();
        self.tally.merge(&batch.tally);
        if let Some(grouping) = &mut self.grouping {
            batch.records.iter().for_each(|record| grouping.add(batch.input, record));
        }
        self.next = batch.next;
    }

    /// Whether a run could go on after what was added last.
    pub(super) fn can_resume(&self) -> bool {
        self.next.is_some()
    }

    /// Groups that hold something the journal does not know.
    pub(super) fn groups(&self) -> usize {
        self.grouping.as_ref().map_or(0, Grouping::waiting)
    }

    /// A line of the journal with all that came; from then on nothing has.
    pub(super) fn take(
        &mut self,
        settings: &SettingsPart,
        verdict_bytes: u64,
        pending: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let position = self.next.unwrap_or(Position::START);
        let current = self.inputs.len().saturating_sub(1);
        let ended = self.inputs.iter().zip(&self.problems).take(current).skip(self.written);
        let ended = ended
            .map(|(count, problem)| EndedPart { count: InputPart::new(count), problem: problem.clone() });
        let parts = self.grouping.as_mut().map(Grouping::take_parts).unwrap_or_default();
        let first = self.grouping.as_ref().map(Grouping::first).filter(|first| !first.border.sums.is_empty());
        let first = first.filter(|_| !self.first_written).map(|first| FirstPart {
            cluster: BorderPart::new(&first.border, &settings.group_by),
            ended: first.ended,
        });
        self.first_written |= first.as_ref().is_some_and(|first| first.ended);
        let entry = Entry {
            ended: ended.collect(),
            current: InputPart::new(&self.inputs[current]),
            offset: position.offset,
            line: position.line,
            verdict_bytes,
            pending: String::from_utf8_lossy(pending).into_owned(),
            tally: GroupPart::new("", settings, &std::mem::take(&mut self.tally)),
            parts: parts.iter().map(|part| PartPart::new(part, settings)).collect(),
            cluster: self.grouping.as_ref().and_then(|grouping| grouping.last_cluster().map(str::to_owned)),
            first,
        };
        self.written = current;
        to_line(&entry)
    }
}

/// A value as one line.
pub(super) fn to_line(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let mut line = serde_json::to_vec(value).map_err(|error| Error::defect(error.to_string()))?;
    line.push(b'\n');
    Ok(line)
}
