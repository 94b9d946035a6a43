//! The files that records are written to: beside their final names, and renamed when all are whole.

use crate::error::Error;
use crate::output::{CheckedBatch, Sink, Wants};
use crate::storage::{OutputFile, Storage};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are written at once, and that a gzip member or a zstd frame holds.
const WRITE_BYTES: usize = 1 << 20;

/// zstd's own default.
const ZSTD_LEVEL: i32 = 3;

/// Where an output goes.
pub enum OutputPlace {
    /// To a file; one whose name ends in `.gz` or `.zst` is compressed.
    File(PathBuf),
    /// To a writer, which messages call by this name. What was written stays, whatever happens after.
    Writer(String, Box<dyn Write + Send>),
    /// Nowhere.
    Nowhere,
}

/// The outputs of a run that writes records. Dropped before [`Outputs::finish`], it leaves no file.
pub struct Outputs {
    storage: Arc<dyn Storage>,
    outputs: Vec<Option<Output>>,
    counts: [u64; 4],
    finished: bool,
}

/// How an output is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    Gzip,
    Zstd,
}

enum Target {
    File { path: PathBuf, partial: PathBuf, file: Box<dyn OutputFile> },
    Writer(String, Box<dyn Write + Send>),
}

struct Output {
    target: Target,
    coding: Coding,
    /// Bytes that wait for a large write.
    pending: Vec<u8>,
    /// Bytes that the file has.
    written: u64,
    /// How many it had before pieces of a record that may have to go again.
    before_pieces: Option<u64>,
}

impl Outputs {
    /// Makes the files, each under a name of its own until it is whole.
    ///
    /// # Errors
    /// A file cannot be made.
    pub fn create(storage: Arc<dyn Storage>, places: Vec<OutputPlace>) -> Result<Self, Error> {
        let mut this = Self { storage, outputs: Vec::new(), counts: [0; 4], finished: false };
        for place in places {
            let output = match place {
                OutputPlace::Nowhere => None,
                OutputPlace::Writer(name, writer) => {
                    Some(Output::new(Target::Writer(name, writer), Coding::Plain))
                }
                OutputPlace::File(path) => Some(Output::create(this.storage.as_ref(), path)?),
            };
            this.outputs.push(output);
        }
        Ok(this)
    }

    /// What was counted so far.
    pub fn counts(&self) -> [u64; 4] {
        self.counts
    }

    /// Gives every file its final name.
    ///
    /// # Errors
    /// A file cannot be written, synced or renamed. Then those that were not renamed yet go.
    pub fn finish(mut self) -> Result<[u64; 4], Error> {
        for output in self.outputs.iter_mut().flatten() {
            // What is left of pieces was cut: it is no record.
            output.end_pieces(self.storage.as_ref(), false)?;
            output.complete()?;
        }
        for output in self.outputs.iter().flatten() {
            output.publish(self.storage.as_ref())?;
        }
        self.finished = true;
        Ok(self.counts)
    }
}

impl Sink for Outputs {
    fn wants(&self) -> Wants {
        Wants::default()
    }

    fn take(&mut self, batch: &CheckedBatch) -> Result<(), Error> {
        let rewritten = &batch.rewritten;
        self.counts.iter_mut().zip(rewritten.counts).for_each(|(sum, count)| *sum += count);
        let is_record = batch.tally.records() > 0;
        for (i, output) in self.outputs.iter_mut().enumerate() {
            let Some(output) = output else { continue };
            if rewritten.ends_pieces {
                output.end_pieces(self.storage.as_ref(), is_record)?;
            }
            let bytes = rewritten.outputs.get(i).map_or(&[][..], Vec::as_slice);
            if rewritten.is_piece && !bytes.is_empty() {
                output.begin_pieces()?;
            }
            output.pending.extend_from_slice(bytes);
            output.write_pending(WRITE_BYTES)?;
        }
        Ok(())
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        for output in self.outputs.iter().flatten() {
            if let Target::File { partial, .. } = &output.target {
                // It may have its final name already, which is fine.
                let _ = self.storage.remove(partial);
            }
        }
    }
}

impl Output {
    fn new(target: Target, coding: Coding) -> Self {
        Self { target, coding, pending: Vec::new(), written: 0, before_pieces: None }
    }

    fn create(storage: &dyn Storage, path: PathBuf) -> Result<Self, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lower = name.to_ascii_lowercase();
        let coding = match () {
            () if lower.ends_with(".gz") => Coding::Gzip,
            () if lower.ends_with(".zst") => Coding::Zstd,
            () => Coding::Plain,
        };
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = storage.create(&partial).map_err(|error| Error::create(path.display(), error))?;
        Ok(Self::new(Target::File { path, partial, file }, coding))
    }

    fn name(&self) -> String {
        match &self.target {
            Target::File { path, .. } => path.display().to_string(),
            Target::Writer(name, _) => name.clone(),
        }
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::write(self.name(), error)
    }

    /// Writes what waits, if it is `least` bytes or more.
    fn write_pending(&mut self, least: usize) -> Result<(), Error> {
        let mut start = 0;
        while self.pending.len() - start >= least {
            let end = self.pending.len().min(start + WRITE_BYTES);
            self.write(start..end)?;
            start = end;
        }
        self.pending.drain(..start);
        Ok(())
    }

    fn write(&mut self, range: std::ops::Range<usize>) -> Result<(), Error> {
        let coded = self.coding.encode(&self.pending[range.clone()]).map_err(|error| self.failed(error))?;
        let bytes = coded.as_deref().unwrap_or(&self.pending[range]);
        let written = match &mut self.target {
            Target::File { file, .. } => file.write_all(bytes),
            Target::Writer(_, writer) => writer.write_all(bytes),
        };
        self.written += bytes.len() as u64;
        written.map_err(|error| self.failed(error))
    }

    /// What comes may have to go again.
    fn begin_pieces(&mut self) -> Result<(), Error> {
        if self.before_pieces.is_none() {
            self.write_pending(1)?;
            self.before_pieces = Some(self.written);
        }
        Ok(())
    }

    /// Whether it stays is known.
    fn end_pieces(&mut self, storage: &dyn Storage, stays: bool) -> Result<(), Error> {
        let Some(before) = self.before_pieces.take().filter(|_| !stays) else { return Ok(()) };
        self.pending.clear();
        if let Target::File { partial, file, path } = &mut self.target {
            let cut = file.flush().and_then(|()| storage.append(partial, before));
            *file = cut.map_err(|error| Error::write(path.display(), error))?;
            self.written = before;
        }
        Ok(())
    }

    /// Everything is written.
    fn complete(&mut self) -> Result<(), Error> {
        self.write_pending(1)?;
        if self.written == 0 && self.coding != Coding::Plain {
            // Nothing, compressed.
            self.write(0..0)?;
        }
        let done = match &mut self.target {
            Target::File { file, .. } => file.flush().and_then(|()| file.sync()),
            Target::Writer(_, writer) => writer.flush(),
        };
        done.map_err(|error| self.failed(error))
    }

    fn publish(&self, storage: &dyn Storage) -> Result<(), Error> {
        let Target::File { path, partial, .. } = &self.target else { return Ok(()) };
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let published = storage.rename(partial, path).and_then(|()| storage.sync_dir(folder));
        published.map_err(|error| self.failed(error))
    }
}

impl Coding {
    /// A gzip member or a zstd frame of the bytes; `None` where they are written as they are.
    fn encode(self, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Plain => Ok(None),
            Self::Zstd => zstd::bulk::compress(bytes, ZSTD_LEVEL).map(Some),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish().map(Some)
            }
        }
    }
}
