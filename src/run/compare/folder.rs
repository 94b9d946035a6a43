//! The folder of a finished run, read.

use super::line::{FileNames, LineReader, Record};
use crate::error::Error;
use crate::input::decompress;
use crate::output::RunFile;
use crate::run::folder::{RUN, VERDICTS};
use crate::storage::Storage;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes that are read at a time.
const READ_BYTES: usize = 256 * 1024;

/// A run that came to its end.
pub(super) struct FinishedRun<'s> {
    storage: &'s dyn Storage,
    pub(super) folder: &'s Path,
    pub(super) file: RunFile,
}

impl<'s> FinishedRun<'s> {
    /// Reads `run.json`.
    pub(super) fn open(storage: &'s dyn Storage, folder: &'s Path) -> Result<Self, Error> {
        let path = folder.join(RUN);
        let mut file = storage.open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::no_run(
                folder.display(),
                "not the folder of a finished run: run.json is missing; run again with --out",
            ),
            _ => Error::open(path.display(), error),
        })?;
        let failed = |reason: String| Error::read(path.display(), reason);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
        let file = RunFile::from_json(&bytes).map_err(|error| failed(error.to_string()))?;
        Ok(Self { storage, folder, file })
    }

    /// Whether it has the verdicts of its problems only.
    pub(super) fn has_only_problems(&self) -> bool {
        self.file.settings.verdicts.as_deref() == Some("problems")
    }

    /// Begins to read the verdicts.
    pub(super) fn verdicts(&self) -> Result<Verdicts<'_>, Error> {
        let (path, file) = self.open_verdicts()?;
        let reader = decompress(file).map_err(|error| Error::read(path.display(), error.to_string()))?;
        Ok(Verdicts {
            lines: BufReader::with_capacity(READ_BYTES, Box::new(reader)),
            reader: LineReader::new(&self.file.settings.group_by),
            path,
            wanted: self.file.balance.records,
            read: 0,
            line: Vec::new(),
        })
    }

    fn open_verdicts(&self) -> Result<(PathBuf, Box<dyn Read + Send>), Error> {
        let [plain, compressed] = VERDICTS.map(|name| self.folder.join(name));
        match self.storage.open(&plain) {
            Ok(file) => Ok((plain, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = self.storage.open(&compressed);
                let file = file.map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound => Error::no_run(
                        self.folder.display(),
                        "verdicts.jsonl is missing, though run.json is there; run again with --out",
                    ),
                    _ => Error::open(compressed.display(), error),
                })?;
                Ok((compressed, file))
            }
            Err(error) => Err(Error::open(plain.display(), error)),
        }
    }
}

/// The verdicts of a run, in its order.
pub(super) struct Verdicts<'r> {
    lines: BufReader<Box<dyn Read + 'r>>,
    reader: LineReader<'r>,
    path: PathBuf,
    /// The records that `run.json` speaks of.
    wanted: u64,
    read: u64,
    line: Vec<u8>,
}

impl Verdicts<'_> {
    /// The next record; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Record>, Error> {
        self.line.clear();
        let read = self.lines.read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| Error::read(self.place(), error.to_string()))?;
        if read == 0 {
            return self.end().map(|()| None);
        }
        self.read += 1;
        let record = self.reader.read(&self.line);
        let broken = |reason| Error::read(format!("{}:{}", self.path.display(), self.read), reason);
        record.map(Some).map_err(|reason| broken(format!("this is no verdict that can be read: {reason}")))
    }

    /// The position of the record that was read last, from 0.
    pub(super) fn position(&self) -> u64 {
        self.read.saturating_sub(1)
    }

    /// The inputs of the records that were read.
    pub(super) fn files(&self) -> &FileNames {
        self.reader.files()
    }

    /// The same, kept when all were read.
    pub(super) fn into_files(self) -> FileNames {
        self.reader.into_files()
    }

    fn place(&self) -> String {
        format!("{}:{}", self.path.display(), self.read + 1)
    }

    /// There is a verdict for each record, and no more.
    fn end(&self) -> Result<(), Error> {
        if self.read == self.wanted {
            return Ok(());
        }
        let reason = format!("it has {} verdicts, and run.json speaks of {} records", self.read, self.wanted);
        Err(Error::read(self.path.display(), reason))
    }
}
