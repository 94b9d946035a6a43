//! A run's folder.

use super::journal::{self, Checkpoint, Header, Read, Since, to_line};
use crate::error::Error;
use crate::input::Fingerprint;
use crate::output::{
    CheckedBatch, RunReport, SettingsPart, ShardPart, Sink, TimingFile, Wants, write_codes, write_run_file,
    write_summary,
};
use crate::shard::Shard;
use crate::storage::{Lock, OutputFile, Storage};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The names that verdicts may have: as they are, and compressed.
pub(crate) const VERDICTS: [&str; 2] = ["verdicts.jsonl", "verdicts.jsonl.zst"];

/// The file that says that a run is whole.
pub(crate) const RUN: &str = "run.json";

/// Bytes that are written at once, and that a frame of compressed verdicts holds.
const WRITE_BYTES: usize = 1 << 20;

/// zstd's own default.
const COMPRESSION_LEVEL: i32 = 3;

/// Where the run can go on if it is killed.
const JOURNAL: &str = "journal.jsonl";

/// Keeps other runs out.
const LOCK: &str = ".lock";

/// Between two lines of the journal, at least and at most: so much is done again, beside what was in hand. It
/// doubles from the least, so that a run that is killed soon gets on as well.
const CHECKPOINT: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// With so many groups changed a line of the journal is due: it holds them all.
const CHECKPOINT_GROUPS: usize = 20_000;

/// What a run into a folder is.
pub struct FolderPlan<'a> {
    /// The name that was given to the run; empty without one.
    pub run: &'a str,
    /// Its settings.
    pub settings: SettingsPart,
    /// Its inputs; `None` where one of them can be read but once, so that the run cannot go on.
    pub inputs: Option<Vec<Fingerprint>>,
    /// Starts over, even where an unfinished run could go on.
    pub restart: bool,
    /// Where its verdicts come from.
    pub kind: RunKind,
    /// Time since some moment.
    pub clock: Box<dyn Fn() -> Duration + Send>,
}

/// Where the verdicts of a run come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunKind {
    /// From checking records.
    #[default]
    Check,
    /// From the runs of shards. Such a run starts over, if it did not come to its end.
    Merge,
}

/// How a run into a folder begins.
#[derive(Clone, Debug)]
pub enum Begun {
    /// With the first input.
    Afresh,
    /// With the first input, although a run had been begun: its input can be read but once.
    Again,
    /// Where the run before ended.
    Resumed(Box<Checkpoint>),
}

/// The folder of a run that is under way. What says that an earlier run in it was whole is removed first,
/// and `run.json` is written last, so that a folder which has one is whole. Dropped before
/// [`RunFolder::finish`], it leaves what the run needs to go on: a journal, and the verdicts so far under a
/// name of their own.
pub struct RunFolder {
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    settings: SettingsPart,
    inputs: Vec<Fingerprint>,
    clock: Box<dyn Fn() -> Duration + Send>,
    verdicts: Box<dyn OutputFile>,
    journal: Box<dyn OutputFile>,
    /// Bytes of verdicts in the file.
    written: u64,
    /// Bytes that wait for a large write.
    pending: Vec<u8>,
    since: Since,
    last_checkpoint: Duration,
    interval: Duration,
    finished: bool,
    _lock: Box<dyn Lock>,
}

/// Names the path that could not be made.
fn cannot_create(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |error| Error::create(path, error)
}

fn another_run(difference: &str) -> String {
    format!(
        "a run in it did not come to its end, and this is another one: {difference}; give the same command to go on with it, or --restart to start over"
    )
}

fn exists(storage: &dyn Storage, path: &Path) -> Result<bool, Error> {
    match storage.stat(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::open(path.display(), error)),
    }
}

fn remove_if_there(storage: &dyn Storage, folder: &Path, name: &str) -> Result<(), Error> {
    let path = folder.join(name);
    match storage.remove(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot_create(&path)(error)),
        Err(_) => Ok(()),
        // Else a power cut may bring it back beside files of this run.
        Ok(()) => storage.sync_dir(folder).map_err(cannot_create(folder)),
    }
}

fn read_file(storage: &dyn Storage, path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    storage.open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl RunFolder {
    /// Makes the folder, keeps other runs out of it, and finds out where an unfinished run goes on.
    ///
    /// # Errors
    /// The folder or a file in it cannot be made or removed; another run has it; or an unfinished run in
    /// it is not this one.
    pub fn open(
        storage: Arc<dyn Storage>,
        folder: &Path,
        plan: FolderPlan<'_>,
    ) -> Result<(Self, Begun), Error> {
        storage.create_dir(folder).map_err(cannot_create(folder))?;
        let lock = storage.lock(&folder.join(LOCK)).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Error::held(folder.display()),
            _ => cannot_create(&folder.join(LOCK))(error),
        })?;
        let before = if plan.restart { None } else { unfinished(storage.as_ref(), folder)? };
        let header = Header::new(&plan);
        let begun = match before {
            Some(read) if plan.inputs.is_some() || plan.kind == RunKind::Merge => {
                if let Some(difference) = read.header.difference(&header) {
                    return Err(Error::folder(folder.display(), another_run(&difference)));
                }
                // Where nothing had been checked, the verdicts may never have been made.
                if read.checkpoint.is_some() && plan.kind == RunKind::Check {
                    return Self::resume(storage, folder, plan, lock, read);
                }
                Begun::Afresh
            }
            Some(_) => Begun::Again,
            None => Begun::Afresh,
        };
        Ok((Self::afresh(storage, folder, plan, lock, &header)?, begun))
    }

    fn afresh(
        storage: Arc<dyn Storage>,
        folder: &Path,
        plan: FolderPlan<'_>,
        lock: Box<dyn Lock>,
        header: &Header,
    ) -> Result<Self, Error> {
        // The journal goes before run.json: a folder without either has nothing to go on with. The
        // verdicts of an earlier run under the other name would be taken for this one's.
        let [verdicts, other] = names(plan.settings.compress);
        for name in [JOURNAL, RUN, other] {
            remove_if_there(storage.as_ref(), folder, name)?;
        }
        let partial = partial(folder, verdicts);
        let verdicts = storage.create(&partial).map_err(cannot_create(&partial))?;
        let path = folder.join(JOURNAL);
        let mut journal = storage.create(&path).map_err(cannot_create(&path))?;
        let written = journal.write_all(&to_line(header)?).and_then(|()| journal.sync());
        written.map_err(|error| Error::write(path.display(), error))?;
        storage.sync_dir(folder).map_err(cannot_create(folder))?;
        let since = Since::new(&plan.settings, None);
        Ok(Self::new(storage, folder, plan, lock, [verdicts, journal], since))
    }

    fn resume(
        storage: Arc<dyn Storage>,
        folder: &Path,
        plan: FolderPlan<'_>,
        lock: Box<dyn Lock>,
        read: Read,
    ) -> Result<(Self, Begun), Error> {
        let [name, _] = names(plan.settings.compress);
        let (partial, whole) = (partial(folder, name), folder.join(name));
        // A run that was killed in its last moments had given the verdicts their final name.
        if !exists(storage.as_ref(), &partial)? {
            storage.rename(&whole, &partial).map_err(cannot_create(&partial))?;
            storage.sync_dir(folder).map_err(cannot_create(folder))?;
        }
        let verdicts = storage.append(&partial, read.verdict_bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::folder(
                folder.display(),
                format!(
                    "{} is shorter than the run's journal says; --restart starts over",
                    partial.display()
                ),
            ),
            _ => cannot_create(&partial)(error),
        })?;
        let path = folder.join(JOURNAL);
        let journal = storage.append(&path, read.bytes).map_err(cannot_create(&path))?;
        let since = Since::new(&plan.settings, read.checkpoint.as_ref());
        let mut this = Self::new(storage, folder, plan, lock, [verdicts, journal], since);
        (this.written, this.pending) = (read.verdict_bytes, read.pending.into_bytes());
        let begun = read.checkpoint.map_or(Begun::Afresh, |checkpoint| Begun::Resumed(Box::new(checkpoint)));
        Ok((this, begun))
    }

    fn new(
        storage: Arc<dyn Storage>,
        folder: &Path,
        plan: FolderPlan<'_>,
        lock: Box<dyn Lock>,
        [verdicts, journal]: [Box<dyn OutputFile>; 2],
        since: Since,
    ) -> Self {
        Self {
            storage,
            folder: folder.to_owned(),
            settings: plan.settings,
            inputs: plan.inputs.unwrap_or_default(),
            last_checkpoint: (plan.clock)(),
            interval: CHECKPOINT[0],
            clock: plan.clock,
            verdicts,
            journal,
            written: 0,
            pending: Vec::new(),
            since,
            finished: false,
            _lock: lock,
        }
    }

    /// Adds verdicts that were made before: whole lines, or parts of them.
    pub(super) fn add_verdicts(&mut self, lines: &[u8]) -> Result<(), Error> {
        self.pending.extend_from_slice(lines);
        self.write_pending(WRITE_BYTES)
    }

    /// What the report says, and which part of the inputs it is of.
    fn with_shard<'a>(&self, report: &RunReport<'a>) -> Result<RunReport<'a>, Error> {
        let shard = self.settings.shard.as_deref().map(Shard::parse).transpose()?;
        let part = |shard| ShardPart::new(shard, &self.inputs, report.groups, &self.settings.group_by);
        Ok(RunReport { shard: shard.map(part), ..report.clone() })
    }

    /// Puts every file under its final name, `run.json` last.
    ///
    /// # Errors
    /// A file cannot be written, synced or renamed. Then the folder has no `run.json`.
    pub fn finish(mut self, report: &RunReport<'_>, timing: &TimingFile) -> Result<(), Error> {
        self.write_pending(1)?;
        self.sync_verdicts()?;
        let [verdicts, _] = names(self.settings.compress);
        self.publish(verdicts)?;
        let table = |error: csv::Error| Error::defect(error.to_string());
        let (summary, codes) = (write_summary(report).map_err(table)?, write_codes(report).map_err(table)?);
        let timing = timing.to_json()?;
        self.write("summary.csv", |file| file.write_all(&summary))?;
        self.write("codes.csv", |file| file.write_all(&codes))?;
        self.write("timing.json", |file| file.write_all(&timing))?;
        let report = self.with_shard(report)?;
        self.write(RUN, |file| write_run_file(&report, file))?;
        self.finished = true;
        remove_if_there(self.storage.as_ref(), &self.folder, JOURNAL)
    }

    fn sync_verdicts(&mut self) -> Result<(), Error> {
        let synced = self.verdicts.flush().and_then(|()| self.verdicts.sync());
        synced.map_err(|error| Error::write(self.verdicts_path().display(), error))
    }

    fn verdicts_path(&self) -> PathBuf {
        let [name, _] = names(self.settings.compress);
        partial(&self.folder, name)
    }

    /// Makes what was checked last, and tells the journal: in this order, so that the journal never knows of
    /// verdicts that a power cut can take away.
    fn checkpoint(&mut self) -> Result<(), Error> {
        self.write_pending(if self.settings.compress { WRITE_BYTES } else { 1 })?;
        self.sync_verdicts()?;
        let line = self.since.take(&self.settings, self.written, &self.pending)?;
        let noted = self.journal.write_all(&line).and_then(|()| self.journal.sync());
        noted.map_err(|error| Error::write(self.folder.join(JOURNAL).display(), error))?;
        self.last_checkpoint = (self.clock)();
        self.interval = (self.interval * 2).min(CHECKPOINT[1]);
        Ok(())
    }

    fn is_checkpoint_due(&self) -> bool {
        let is_late = || (self.clock)().saturating_sub(self.last_checkpoint) >= self.interval;
        self.since.can_resume() && (self.since.groups() > CHECKPOINT_GROUPS || is_late())
    }

    /// Writes one whole file.
    fn write(&self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        let path = partial(&self.folder, name);
        let file = self.storage.create(&path).map_err(|error| Error::create(path.display(), error))?;
        let mut file = BufWriter::with_capacity(WRITE_BYTES, file);
        let written = write(&mut file).and_then(|()| file.flush()).and_then(|()| file.get_mut().sync());
        written.map_err(|error| Error::write(path.display(), error))?;
        drop(file);
        self.publish(name)
    }

    /// Gives a whole file its final name, and makes the name last.
    fn publish(&self, name: &str) -> Result<(), Error> {
        let path = self.folder.join(name);
        let renamed = self.storage.rename(&partial(&self.folder, name), &path);
        let synced = renamed.and_then(|()| self.storage.sync_dir(&self.folder));
        synced.map_err(|error| Error::write(path.display(), error))
    }

    /// Writes what waits, if it is `least` bytes or more. A frame of compressed verdicts always holds the
    /// same part of them, however they came.
    fn write_pending(&mut self, least: usize) -> Result<(), Error> {
        let mut start = 0;
        while self.pending.len() - start >= least {
            let end = self.pending.len().min(start + WRITE_BYTES);
            let bytes = &self.pending[start..end];
            let written = if self.settings.compress {
                zstd::bulk::compress(bytes, COMPRESSION_LEVEL)
                    .and_then(|frame| self.verdicts.write_all(&frame).map(|()| frame.len()))
            } else {
                self.verdicts.write_all(bytes).map(|()| bytes.len())
            };
            self.written +=
                written.map_err(|error| Error::write(self.verdicts_path().display(), error))? as u64;
            start = end;
        }
        self.pending.drain(..start);
        Ok(())
    }
}

/// The name that the verdicts have, and the one that they do not.
fn names(compress: bool) -> [&'static str; 2] {
    if compress { [VERDICTS[1], VERDICTS[0]] } else { VERDICTS }
}

/// The journal of a run in the folder that did not come to its end.
fn unfinished(storage: &dyn Storage, folder: &Path) -> Result<Option<Read>, Error> {
    let path = folder.join(JOURNAL);
    if exists(storage, &folder.join(RUN))? || !exists(storage, &path)? {
        return Ok(None);
    }
    let bytes = read_file(storage, &path).map_err(|error| Error::open(path.display(), error))?;
    Ok(journal::read(&bytes))
}

/// The name of a file that is not whole yet.
fn partial(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.partial"))
}

impl Sink for RunFolder {
    fn wants(&self) -> Wants {
        Wants { json: true, ..Wants::default() }
    }

    fn take(&mut self, batch: &CheckedBatch) -> Result<(), Error> {
        self.pending.extend_from_slice(&batch.json);
        self.since.add(batch);
        self.write_pending(WRITE_BYTES)?;
        if self.is_checkpoint_due() { self.checkpoint() } else { Ok(()) }
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // What is made of the counts at the end is made again; that it may be gone already is fine.
        for name in ["summary.csv", "codes.csv", "timing.json", RUN] {
            let _ = self.storage.remove(&partial(&self.folder, name));
        }
    }
}
