//! A run's folder.

use crate::error::Error;
use crate::output::{
    CheckedBatch, RunReport, Sink, TimingFile, Wants, write_codes, write_run_file, write_summary,
};
use crate::storage::{OutputFile, Storage};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The names that verdicts may have: as they are, and compressed.
pub(crate) const VERDICTS: [&str; 2] = ["verdicts.jsonl", "verdicts.jsonl.zst"];

/// The file that says that a run is whole.
pub(crate) const RUN: &str = "run.json";

/// Bytes that are written at once, and that a frame of compressed verdicts holds.
const WRITE_BYTES: usize = 1 << 20;

/// zstd's own default.
const COMPRESSION_LEVEL: i32 = 3;

/// The folder of a run that is under way. `run.json` is removed first and written last, so that a
/// folder which has one is whole. Dropped before [`RunFolder::finish`], it leaves nothing of its own
/// behind.
pub struct RunFolder {
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    compress: bool,
    verdicts: Option<Box<dyn OutputFile>>,
    /// Bytes that wait for a large write.
    pending: Vec<u8>,
    finished: bool,
}

impl RunFolder {
    /// Makes the folder, and takes away what says that an earlier run in it was whole. With `compress`
    /// the verdicts are `verdicts.jsonl.zst`.
    ///
    /// # Errors
    /// The folder or a file in it cannot be made or removed.
    pub fn create(storage: Arc<dyn Storage>, folder: &Path, compress: bool) -> Result<Self, Error> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error| Error::create(path, error)
        };
        storage.create_dir(folder).map_err(failed(folder))?;
        // The verdicts of an earlier run under the other name would be taken for this one's.
        let other = VERDICTS[usize::from(!compress)];
        for name in [RUN, other] {
            let path = folder.join(name);
            match storage.remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&path)(error)),
                Err(_) => {}
                // Else a power cut may bring it back beside files of this run.
                Ok(()) => storage.sync_dir(folder).map_err(failed(folder))?,
            }
        }
        let partial = partial(folder, VERDICTS[usize::from(compress)]);
        let verdicts = storage.create(&partial).map_err(failed(&partial))?;
        Ok(Self {
            storage,
            folder: folder.to_owned(),
            compress,
            verdicts: Some(verdicts),
            pending: Vec::new(),
            finished: false,
        })
    }

    /// Puts every file under its final name, `run.json` last.
    ///
    /// # Errors
    /// A file cannot be written, synced or renamed. Then the folder has no `run.json`.
    pub fn finish(mut self, report: &RunReport<'_>, timing: &TimingFile) -> Result<(), Error> {
        self.write_pending(1)?;
        let verdicts = self.verdicts_name();
        if let Some(mut file) = self.verdicts.take() {
            let path = partial(&self.folder, verdicts);
            let synced = file.flush().and_then(|()| file.sync());
            synced.map_err(|error| Error::write(path.display(), error))?;
        }
        self.publish(verdicts)?;
        let table = |error: csv::Error| Error::defect(error.to_string());
        let (summary, codes) = (write_summary(report).map_err(table)?, write_codes(report).map_err(table)?);
        let timing = timing.to_json()?;
        self.write("summary.csv", |file| file.write_all(&summary))?;
        self.write("codes.csv", |file| file.write_all(&codes))?;
        self.write("timing.json", |file| file.write_all(&timing))?;
        self.write(RUN, |file| write_run_file(report, file))?;
        self.finished = true;
        Ok(())
    }

    fn verdicts_name(&self) -> &'static str {
        VERDICTS[usize::from(self.compress)]
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
        let name = self.verdicts_name();
        let Some(verdicts) = &mut self.verdicts else { return Ok(()) };
        let failed = |error| Error::write(partial(&self.folder, name).display(), error);
        let mut rest = self.pending.as_slice();
        while rest.len() >= least {
            let (now, later) = rest.split_at(rest.len().min(WRITE_BYTES));
            if self.compress {
                let frame = zstd::bulk::compress(now, COMPRESSION_LEVEL).map_err(failed)?;
                verdicts.write_all(&frame).map_err(failed)?;
            } else {
                verdicts.write_all(now).map_err(failed)?;
            }
            rest = later;
        }
        let written = self.pending.len() - rest.len();
        self.pending.drain(..written);
        Ok(())
    }
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
        self.write_pending(WRITE_BYTES)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // What was never finished is of no use; that it may be gone already is fine.
        for name in VERDICTS.into_iter().chain(["summary.csv", "codes.csv", "timing.json", RUN]) {
            let _ = self.storage.remove(&partial(&self.folder, name));
        }
    }
}
