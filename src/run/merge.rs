//! The runs of all shards of a corpus to the run that there would be without shards.

use super::finished::FinishedRun;
use super::folder::{FolderPlan, RUN, RunFolder, RunKind};
use super::journal::settings_difference;
use crate::error::Error;
use crate::output::{GroupPart, RunFile, RunReport, SettingsPart, ShardPart};
use crate::storage::Storage;
use crate::summary::{ALL, Gate, GateResult, Grouping, Groups, InputTally, Joiner, Part, Tally, judge_gates};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of verdicts that are read at a time.
const READ_BYTES: usize = 1 << 20;

/// Names of shards that a message lists.
const NAMED: usize = 8;

/// How shards are merged.
#[derive(Clone, Copy)]
pub struct MergeOptions<'a> {
    /// The name of the run; that of the shards, which must then have the same, if it is not given.
    pub run: Option<&'a str>,
    /// Starts over, even where an unfinished run in the folder could go on.
    pub restart: bool,
    /// Asked again and again; merging ends when it says yes.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// What the shards come to together.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// The name of the run.
    pub run: String,
    /// The settings that all shards have.
    pub settings: SettingsPart,
    /// What was read of each input.
    pub inputs: Vec<InputTally>,
    /// Whether every shard read its part to the end.
    pub complete: bool,
    /// The counts over all records.
    pub tally: Tally,
    /// The counts by group.
    pub groups: Groups,
}

impl Merged {
    /// What the files of the run say of it.
    pub fn report(&self) -> RunReport<'_> {
        let Self { run, settings, inputs, complete, tally, groups } = self;
        RunReport { run, settings: settings.clone(), inputs, complete: *complete, tally, groups, shard: None }
    }

    /// What gates come to.
    pub fn judge(&self, gates: &[Gate]) -> Vec<GateResult> {
        judge_gates(gates, &self.tally, &self.groups)
    }
}

/// Merges the shards in the folders `parts`, given in any order, into the folder `out`: with
/// [`RunFolder::finish`] its files are those of one run over everything, byte for byte.
///
/// # Errors
/// A folder that is not that of a finished shard; shards that overlap, are missing, or differ in version,
/// settings or inputs; more groups than are told apart; a file that cannot be read or written; the caller's
/// cancelling.
pub fn merge_runs(
    storage: &Arc<dyn Storage>,
    parts: &[PathBuf],
    out: &Path,
    options: &MergeOptions<'_>,
) -> Result<(RunFolder, Merged), Error> {
    let heads = parts.iter().map(|part| Head::read(storage.as_ref(), part)).collect::<Result<Vec<_>, _>>()?;
    let heads = in_order(heads, options.run.is_none())?;
    let Some(first) = heads.first() else {
        return Err(Error::setting("there is no shard to merge; name the folders of all of them"));
    };
    refuse_shard(storage.as_ref(), out)?;
    let run = options.run.unwrap_or(&first.run).to_owned();
    let plan = FolderPlan {
        run: &run,
        settings: first.settings.clone(),
        inputs: None,
        restart: options.restart,
        kind: RunKind::Merge,
        clock: Box::new(|| Duration::ZERO),
    };
    let (mut folder, _) = RunFolder::open(Arc::clone(storage), out, plan)?;
    let mut sum = Sum::new(run, &first.settings);
    for head in &heads {
        sum.add(storage.as_ref(), head, &mut folder, options)?;
    }
    Ok((folder, sum.finish()?))
}

/// What is known of a shard before its counts are read.
struct Head {
    folder: PathBuf,
    shard: ShardPart,
    run: String,
    version: String,
    /// Without which part it is.
    settings: SettingsPart,
    names: Vec<String>,
}

impl Head {
    fn read(storage: &dyn Storage, folder: &Path) -> Result<Self, Error> {
        let FinishedRun { file, .. } = FinishedRun::open(storage, folder)?;
        let shard = file.shard.ok_or_else(|| {
            let folder = folder.display();
            Error::setting(format!(
                "{folder} has a run over all of its inputs, not one of `check --shard K/N`"
            ))
        })?;
        Ok(Self {
            folder: folder.to_owned(),
            shard,
            run: file.run,
            version: format!("{} (Unicode {})", file.version, file.unicode),
            settings: SettingsPart { shard: None, ..file.settings },
            names: file.inputs.into_iter().map(|input| input.name).collect(),
        })
    }

    /// What keeps two shards from being of one run, in words.
    fn difference(&self, other: &Self, with_names: bool) -> Option<String> {
        let own = format!("{} (Unicode {})", env!("CARGO_PKG_VERSION"), crate::text::UNICODE_VERSION);
        if let Some(head) = [self, other].iter().find(|head| head.version != own) {
            let folder = head.folder.display();
            return Some(format!("{folder} is of version {}, and this is {own}", head.version));
        }
        if self.shard.of != other.shard.of {
            return Some(format!("one is of {} parts, the other of {}", self.shard.of, other.shard.of));
        }
        if self.settings != other.settings {
            return Some(format!(
                "their settings differ: {}",
                settings_difference(&self.settings, &other.settings)
            ));
        }
        if with_names && self.run != other.run {
            return Some(format!(
                "their names are {:?} and {:?}; --run NAME gives one to all",
                self.run, other.run
            ));
        }
        self.input_difference(other)
    }

    fn input_difference(&self, other: &Self) -> Option<String> {
        let (one, two) = (self.names.len(), other.names.len());
        if one != two {
            return Some(format!("one has {one} inputs, the other {two}"));
        }
        let both = self.names.iter().zip(&self.shard.inputs).zip(other.names.iter().zip(&other.shard.inputs));
        both.into_iter().find(|(one, two)| one != two).map(|((name, input), (other_name, other_input))| {
            if name != other_name {
                format!("where one has the input {name}, the other has {other_name}; give all shards the same inputs by the same names")
            } else if input.bytes != other_input.bytes {
                format!("{name} had {} bytes for one, and {} for the other", input.bytes, other_input.bytes)
            } else {
                format!("{name} held other bytes for one than for the other")
            }
        })
    }
}

/// The shards in their order, each there once, all of one run.
fn in_order(mut heads: Vec<Head>, with_names: bool) -> Result<Vec<Head>, Error> {
    if let [first, rest @ ..] = heads.as_slice() {
        // A single one may be of another version as well.
        for other in rest.iter().chain([first]) {
            if let Some(difference) = first.difference(other, with_names) {
                let (one, two) = (first.folder.display(), other.folder.display());
                return Err(Error::setting(format!(
                    "{one} and {two} are not shards of one run: {difference}"
                )));
            }
        }
    }
    heads.sort_by_key(|head| head.shard.number);
    if let Some([one, two]) = heads.windows(2).find(|two| two[0].shard.number == two[1].shard.number) {
        let (number, of) = (one.shard.number, one.shard.of);
        let (one, two) = (one.folder.display(), two.folder.display());
        return Err(Error::setting(format!(
            "{one} and {two} are both shard {number}/{of}; name each shard once"
        )));
    }
    let of = heads.first().map_or(0, |head| head.shard.of);
    if heads.len() as u64 != of {
        let mut there = heads.iter().map(|head| head.shard.number).peekable();
        let missing = (1..=of).filter(|number| there.next_if_eq(number).is_none());
        let mut named: Vec<String> = missing.take(NAMED).map(|number| format!("{number}/{of}")).collect();
        if of - heads.len() as u64 > NAMED as u64 {
            named.push("…".to_owned());
        }
        let named = named.join(", ");
        return Err(Error::setting(format!("shards are missing: {named}; name the folders of all {of}")));
    }
    Ok(heads)
}

/// A shard's own folder must not be written over: its verdicts are among those that are read.
fn refuse_shard(storage: &dyn Storage, out: &Path) -> Result<(), Error> {
    let mut bytes = Vec::new();
    let read = storage.open(&out.join(RUN)).and_then(|mut file| file.read_to_end(&mut bytes));
    let is_shard = read.is_ok() && RunFile::from_json(&bytes).is_ok_and(|file| file.shard.is_some());
    if is_shard {
        let why = "a shard's finished run is in it; merge into another folder, or remove that one first";
        return Err(Error::folder(out.display(), why));
    }
    Ok(())
}

/// What the shards so far come to.
struct Sum {
    merged: Merged,
    grouping: Option<Grouping>,
    joiner: Joiner,
}

impl Sum {
    fn new(run: String, settings: &SettingsPart) -> Self {
        let merged = Merged { run, settings: settings.clone(), complete: true, ..Merged::default() };
        Self { merged, grouping: settings.grouping(), joiner: Joiner::default() }
    }

    fn add(
        &mut self,
        storage: &dyn Storage,
        head: &Head,
        folder: &mut RunFolder,
        options: &MergeOptions<'_>,
    ) -> Result<(), Error> {
        let run = FinishedRun::open(storage, &head.folder)?;
        let broken = |why: &str| Error::read(head.folder.join(RUN).display(), why);
        if run.file.shard.as_ref() != Some(&head.shard) {
            return Err(broken("it was written anew while it was read; merge again"));
        }
        copy_verdicts(&run, folder, options)?;
        self.add_inputs(&run.file);
        self.merged.complete &= run.file.complete;
        self.add_tallies(&run.file, &head.shard).ok_or_else(|| broken("its tallies cannot be read"))?;
        Ok(())
    }

    fn add_inputs(&mut self, file: &RunFile) {
        self.merged.inputs.resize_with(file.inputs.len(), InputTally::default);
        for (sum, part) in self.merged.inputs.iter_mut().zip(&file.inputs) {
            sum.name.clone_from(&part.name);
            sum.stored_bytes += part.stored_bytes;
            sum.lines += part.lines;
            sum.blank += part.blank;
            sum.records += part.records;
        }
    }

    fn add_tallies(&mut self, file: &RunFile, shard: &ShardPart) -> Option<()> {
        let (all, groups) = file.tallies.split_first().filter(|(all, _)| all.group == ALL)?;
        self.merged.tally.merge(&all.tally().ok()?);
        let Some(grouping) = &mut self.grouping else { return Some(()) };
        let mut parts = parts_of(groups, &shard.groups)?;
        if self.merged.settings.cluster.is_some() {
            parts.push(part(None, all)?);
        }
        grouping.add_parts(parts, None)?;
        if let Some(borders) = &shard.borders {
            let borders = borders.to_borders(&self.merged.settings.group_by)?;
            self.joiner.add(borders).iter().for_each(|join| grouping.join(join));
        }
        Some(())
    }

    fn finish(self) -> Result<Merged, Error> {
        let Self { mut merged, grouping, .. } = self;
        if let Some(grouping) = grouping {
            let (groups, all) = grouping.finish();
            merged.groups = groups;
            merged.tally = all.unwrap_or(merged.tally);
        }
        if let Some(pointer) = merged.groups.overfull().next() {
            let most = crate::limits::GROUPS;
            return Err(Error::setting(format!(
                "there are more than {most} groups at {pointer}, which no merging can tell apart as one run would; run again without --group-by {pointer}"
            )));
        }
        let records: u64 = merged.inputs.iter().map(|input| input.records).sum();
        if records != merged.tally.records() {
            return Err(Error::defect("the balance of the merged records broke"));
        }
        Ok(merged)
    }
}

/// The tallies of groups, so many at each pointer.
fn parts_of(groups: &[GroupPart], sizes: &[usize]) -> Option<Vec<Part>> {
    let pointers = sizes.iter().enumerate().flat_map(|(pointer, size)| std::iter::repeat_n(pointer, *size));
    if sizes.iter().sum::<usize>() != groups.len() {
        return None;
    }
    pointers.zip(groups).map(|(pointer, group)| part(Some(pointer), group)).collect()
}

fn part(pointer: Option<usize>, group: &GroupPart) -> Option<Part> {
    Some(Part { pointer, name: group.group.clone(), tally: group.tally().ok()?, open: None })
}

/// Adds the verdicts of a shard, all of them there.
fn copy_verdicts(
    run: &FinishedRun<'_>,
    folder: &mut RunFolder,
    options: &MergeOptions<'_>,
) -> Result<(), Error> {
    let (path, mut reader) = run.open_verdicts()?;
    let balance = &run.file.balance;
    let wanted = if run.has_only_problems() { balance.records - balance.valid } else { balance.records };
    let mut buffer = vec![0; READ_BYTES];
    let (mut lines, mut last) = (0, b'\n');
    loop {
        if (options.is_cancelled)() {
            return Err(Error::cancelled());
        }
        let read = match reader.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(|error| Error::read(path.display(), error.to_string()))?,
        };
        let Some(end) = buffer[..read].last() else { break };
        last = *end;
        lines += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
        folder.add_verdicts(&buffer[..read])?;
    }
    if lines != wanted || last != b'\n' {
        let reason = format!("it has {lines} whole verdicts, and run.json speaks of {wanted}");
        return Err(Error::read(path.display(), reason));
    }
    Ok(())
}
