//! The folder of a finished run.

use super::folder::{RUN, VERDICTS};
use crate::error::Error;
use crate::input::decompress;
use crate::output::RunFile;
use crate::storage::Storage;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A run that came to its end.
pub(in crate::run) struct FinishedRun<'s> {
    storage: &'s dyn Storage,
    pub(in crate::run) folder: &'s Path,
    pub(in crate::run) file: RunFile,
}

impl<'s> FinishedRun<'s> {
    /// Reads `run.json`.
    pub(in crate::run) fn open(storage: &'s dyn Storage, folder: &'s Path) -> Result<Self, Error> {
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
    pub(in crate::run) fn has_only_problems(&self) -> bool {
        self.file.settings.verdicts.as_deref() == Some("problems")
    }

    /// The file of verdicts and its bytes as they were before they were compressed, if they were.
    pub(in crate::run) fn open_verdicts(&self) -> Result<(PathBuf, impl Read + use<>), Error> {
        let (path, file) = self.verdicts_file()?;
        let reader = decompress(file).map_err(|error| Error::read(path.display(), error.to_string()))?;
        Ok((path, reader))
    }

    fn verdicts_file(&self) -> Result<(PathBuf, Box<dyn Read + Send>), Error> {
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
