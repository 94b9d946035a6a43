//! The verdicts of a finished run, read one by one.

use super::line::{FileNames, LineReader, Record};
use crate::error::Error;
use crate::run::finished::FinishedRun;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

/// Bytes that are read at a time.
const READ_BYTES: usize = 256 * 1024;

impl FinishedRun<'_> {
    /// Begins to read the verdicts.
    pub(super) fn verdicts(&self) -> Result<Verdicts<'_>, Error> {
        let (path, reader) = self.open_verdicts()?;
        Ok(Verdicts {
            lines: BufReader::with_capacity(READ_BYTES, Box::new(reader)),
            reader: LineReader::new(&self.file.settings.group_by),
            path,
            wanted: self.file.balance.records,
            read: 0,
            line: Vec::new(),
        })
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
