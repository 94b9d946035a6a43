//! A run's folder.

use crate::error::Error;
use crate::output::{CheckedBatch, RunFile, Sink, TimingFile, Wants, write_codes, write_summary};
use crate::settings::Settings;
use crate::storage::{OutputFile, Storage};
use crate::summary::{InputTally, Tally};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const VERDICTS: &str = "verdicts.jsonl";
const RUN: &str = "run.json";

/// The folder of a run that is under way. `run.json` is removed first and written last, so that a
/// folder which has one is whole. Dropped before [`RunFolder::finish`], it leaves nothing of its own
/// behind.
pub struct RunFolder {
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    verdicts: Option<Box<dyn OutputFile>>,
    /// Bytes that wait for a large write.
    pending: Vec<u8>,
    finished: bool,
}

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;

impl RunFolder {
    /// Makes the folder, and takes away what says that an earlier run in it was whole.
    ///
    /// # Errors
    /// The folder or a file in it cannot be made or removed.
    pub fn create(storage: Arc<dyn Storage>, folder: &Path) -> Result<Self, Error> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error| Error::create(path, error)
        };
        storage.create_dir(folder).map_err(failed(folder))?;
        let run = folder.join(RUN);
        match storage.remove(&run) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&run)(error)),
            Err(_) => {}
            // Else a power cut may bring it back beside files of this run.
            Ok(()) => storage.sync_dir(folder).map_err(failed(folder))?,
        }
        let partial = partial(folder, VERDICTS);
        let verdicts = storage.create(&partial).map_err(failed(&partial))?;
        Ok(Self {
            storage,
            folder: folder.to_owned(),
            verdicts: Some(verdicts),
            pending: Vec::new(),
            finished: false,
        })
    }

    /// Puts every file under its final name, `run.json` last.
    ///
    /// # Errors
    /// A file cannot be written, synced or renamed. Then the folder has no `run.json`.
    pub fn finish(
        mut self,
        run: &str,
        settings: &Settings,
        inputs: &[InputTally],
        complete: bool,
        tally: &Tally,
        timing: &TimingFile,
    ) -> Result<(), Error> {
        self.write_pending()?;
        if let Some(mut verdicts) = self.verdicts.take() {
            let path = partial(&self.folder, VERDICTS);
            verdicts
                .flush()
                .and_then(|()| verdicts.sync())
                .map_err(|error| Error::write(path.display(), error))?;
        }
        self.publish(VERDICTS)?;
        let table = |error: csv::Error| Error::defect(error.to_string());
        self.write("summary.csv", &write_summary(run, tally).map_err(table)?)?;
        self.write("codes.csv", &write_codes(run, tally, &settings.lints, inputs).map_err(table)?)?;
        self.write("timing.json", &timing.to_json()?)?;
        self.write(RUN, &RunFile::new(run, settings, inputs, complete, tally).to_json()?)?;
        self.finished = true;
        Ok(())
    }

    /// Writes one whole file.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = partial(&self.folder, name);
        let mut file = self.storage.create(&path).map_err(|error| Error::create(path.display(), error))?;
        let written = file.write_all(bytes).and_then(|()| file.flush()).and_then(|()| file.sync());
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

    fn write_pending(&mut self) -> Result<(), Error> {
        let Some(verdicts) = &mut self.verdicts else { return Ok(()) };
        let path = partial(&self.folder, VERDICTS);
        verdicts.write_all(&self.pending).map_err(|error| Error::write(path.display(), error))?;
        self.pending.clear();
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
        if self.pending.len() < WRITE_BYTES {
            return Ok(());
        }
        self.write_pending()
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // What was never finished is of no use; that it may be gone already is fine.
        for name in [VERDICTS, "summary.csv", "codes.csv", "timing.json", RUN] {
            let _ = self.storage.remove(&partial(&self.folder, name));
        }
    }
}
