//! What a run reads: a label and a reader each.

use super::compression::Decompressed;
use crate::hash::Fnv;
use crate::settings::InputFormat;
use crate::storage::Storage;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One input of a run: a label for verdicts and messages, and what is read when its turn comes.
pub struct Input {
    label: String,
    source: Source,
    stored_bytes: u64,
    seen_as: InputFormat,
}

enum Source {
    Reader(Box<dyn Read + Send>),
    File(Arc<dyn Storage>, PathBuf),
}

/// What tells whether a file is still the one that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The name as it was given.
    pub name: String,
    /// Bytes as they are stored.
    pub bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified: Option<u64>,
    /// A hash of its first and its last 64 KiB; 0 where it cannot be read.
    pub hash: u64,
}

/// Bytes at either end of a file that its fingerprint is made of.
const FINGERPRINT_BYTES: u64 = 64 * 1024;

impl Input {
    /// An input from any reader. How its records are told apart follows from what it holds.
    pub fn from_reader(label: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self {
            label: label.into(),
            source: Source::Reader(Box::new(reader)),
            stored_bytes: 0,
            seen_as: InputFormat::Auto,
        }
    }

    /// A file. Names that end in `.jsonl` or `.ndjson`, before `.gz` or `.zst`, hold one record a
    /// line.
    pub fn from_path(storage: Arc<dyn Storage>, path: &Path) -> Self {
        let stored_bytes = storage.stat(path).map_or(0, |stat| stat.bytes);
        let label = path.to_string_lossy().into_owned();
        let seen_as =
            if base_ends_in(&label, &[".jsonl", ".ndjson"]) { InputFormat::Jsonl } else { InputFormat::Auto };
        Self { label, source: Source::File(storage, path.to_owned()), stored_bytes, seen_as }
    }

    /// The name that verdicts and messages give.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The size as stored, in bytes; 0 where it is not known.
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// What tells whether it is still the same at another time; `None` for a reader or a pipe, which can be
    /// read but once.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        let Source::File(storage, path) = &self.source else { return None };
        let stat = storage.stat(path).ok();
        if stat.is_some_and(|stat| !stat.is_file && !stat.is_dir) {
            return None;
        }
        let bytes = stat.map_or(0, |stat| stat.bytes);
        let last = bytes.saturating_sub(FINGERPRINT_BYTES);
        let hash = [0, last].iter().try_fold(Fnv::default(), |mut hash, from| {
            let mut part = Vec::new();
            storage.open_at(path, *from)?.take(FINGERPRINT_BYTES).read_to_end(&mut part)?;
            hash.write(&part);
            Ok::<Fnv, io::Error>(hash)
        });
        let hash = hash.map_or(0, Fnv::finish);
        Some(Fingerprint {
            name: self.label.clone(),
            bytes,
            modified: stat.and_then(|stat| stat.modified),
            hash,
        })
    }

    /// The file that it is; an error for a reader, which can be read but once.
    pub(super) fn file(&self) -> io::Result<(&Arc<dyn Storage>, &Path)> {
        match &self.source {
            Source::File(storage, path) => Ok((storage, path)),
            Source::Reader(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }

    /// Whether it can be opened at any byte, again and again: it is a file, or is not there at all.
    pub(crate) fn is_seekable(&self) -> bool {
        self.file()
            .is_ok_and(|(storage, path)| storage.stat(path).map_or(true, |stat| stat.is_file || stat.is_dir))
    }

    /// What the name says about how records are told apart.
    pub(crate) fn seen_as(&self) -> InputFormat {
        self.seen_as
    }

    pub(crate) fn open(self) -> io::Result<Box<dyn Read + Send>> {
        match self.source {
            Source::Reader(reader) => Ok(reader),
            Source::File(storage, path) => storage.open(&path),
        }
    }

    /// Opens it at a byte of what it holds: a plain file there, a compressed one from its beginning.
    pub(crate) fn open_at(self, offset: u64) -> io::Result<Decompressed> {
        let Source::File(storage, path) = self.source else { return Err(io::ErrorKind::NotSeekable.into()) };
        let mut input = Decompressed::new(storage.open(&path)?)?;
        if input.is_plain() {
            return Ok(Decompressed::plain(storage.open_at(&path, offset)?, offset));
        }
        input.skip(offset)?;
        Ok(input)
    }
}

/// The inputs that a path stands for: itself, or, for a directory, the `.json`, `.jsonl` and
/// `.ndjson` files directly in it and their `.gz` and `.zst` forms, in the order of their paths'
/// bytes. Names that start with a dot are skipped.
///
/// With `recursive` the directories in it count too, but for those that symbolic links lead to.
///
/// # Errors
/// A directory that cannot be listed. A path that cannot be opened, or a directory below that cannot be
/// listed, is found out later, when its turn comes.
pub fn expand(storage: &Arc<dyn Storage>, path: &Path, recursive: bool) -> io::Result<Vec<Input>> {
    if !storage.stat(path).is_ok_and(|stat| stat.is_dir) {
        return Ok(vec![Input::from_path(Arc::clone(storage), path)]);
    }
    let mut paths = Vec::new();
    let mut folders = storage.list(path).map(|found| sort_out(storage, found, &mut paths))?;
    while let Some(folder) = folders.pop().filter(|_| recursive) {
        match storage.list(&folder) {
            Ok(found) => folders.extend(sort_out(storage, found, &mut paths)),
            // To open it fails as well, and then it is told.
            Err(_) => paths.push(folder),
        }
    }
    paths.sort_by(|a, b| a.as_os_str().as_encoded_bytes().cmp(b.as_os_str().as_encoded_bytes()));
    Ok(paths.iter().map(|path| Input::from_path(Arc::clone(storage), path)).collect())
}

/// Adds the corpus files among the paths in a directory to `files`; gives the directories.
fn sort_out(storage: &Arc<dyn Storage>, found: Vec<PathBuf>, files: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for path in found.into_iter().filter(|path| !is_hidden(path)) {
        match storage.stat(&path) {
            Ok(stat) if stat.is_dir && !stat.is_link => folders.push(path),
            Ok(stat) if stat.is_dir => {}
            _ if is_corpus_file(&path) => files.push(path),
            _ => {}
        }
    }
    folders
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn is_corpus_file(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let name = name.to_string_lossy();
    base_ends_in(&name, &[".json", ".jsonl", ".ndjson"])
}

/// Whether a name, without the ending of a compression, has one of the endings.
fn base_ends_in(name: &str, endings: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    let base = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    endings.iter().any(|ending| base.ends_with(ending))
}
