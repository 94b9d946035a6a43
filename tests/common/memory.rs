//! A file system in memory that fails on demand and forgets what was not synced.

use sourcecheck::{Lock, OutputFile, Stat, Storage};
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Names and what a reader finds under them.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What an operation does instead of its work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure {
    /// It fails, whatever it is.
    Error,
    /// Half of the bytes are written, then there is no room; nothing can be created or synced.
    FullDisk,
    /// A write takes half of the bytes and says so, which is no error.
    ShortWrite,
}

/// Which operations fail.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first one, from 1.
    pub at: usize,
    pub failure: Failure,
    /// Whether all those after it fail too.
    pub forever: bool,
}

/// A change of names that a power cut may undo.
#[derive(Clone)]
enum Change {
    Create(PathBuf, usize),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf, usize),
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Self::Create(path, file) => drop(names.insert(path.clone(), *file)),
            Self::Remove(path) => drop(names.remove(path)),
            Self::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
        }
    }
}

#[derive(Clone, Default)]
struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
}

#[derive(Default)]
struct State {
    contents: Vec<Content>,
    names: BTreeMap<PathBuf, usize>,
    synced_names: BTreeMap<PathBuf, usize>,
    /// Changes of names since the last sync of the folder.
    pending: Vec<Change>,
    operations: usize,
    plan: Option<Plan>,
    locked: Vec<PathBuf>,
}

impl State {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.pending.push(change);
    }

    fn file(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Counts an operation, and tells what happens to it.
    fn operate(&mut self) -> Option<Failure> {
        self.operations += 1;
        let now = self.operations;
        self.plan.filter(|plan| now == plan.at || plan.forever && now > plan.at).map(|plan| plan.failure)
    }
}

/// The file system. Clones share one state.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<State>>);

impl Memory {
    /// A file system that holds these files, all of them synced.
    pub fn holding(files: &Files) -> Self {
        let memory = Self::default();
        {
            let mut state = memory.state();
            for (path, content) in files {
                let file = state.contents.len();
                state.contents.push(Content { now: content.clone(), synced: content.clone() });
                state.names.insert(path.clone(), file);
                state.synced_names.insert(path.clone(), file);
            }
        }
        memory
    }

    /// Counts operations anew, some of which will fail.
    pub fn plan(&self, plan: Option<Plan>) {
        let mut state = self.state();
        state.plan = plan;
        state.operations = 0;
    }

    /// Operations since the last plan.
    pub fn operations(&self) -> usize {
        self.state().operations
    }

    /// What a reader finds now.
    pub fn files(&self) -> Files {
        let state = self.state();
        let content = |file: &usize| state.contents[*file].now.clone();
        state.names.iter().map(|(path, file)| (path.clone(), content(file))).collect()
    }

    /// What a reader may find after a power cut. Of the changes of names since the last sync each may
    /// have reached the disk or not: nothing promises their order.
    pub fn files_after_power_cuts(&self) -> Vec<Files> {
        let state = self.state();
        assert!(state.pending.len() < 10, "{} changes were never synced", state.pending.len());
        let content = |file: &usize| state.contents[*file].synced.clone();
        let after = |survivors: usize| {
            let mut names = state.synced_names.clone();
            let changes = state.pending.iter().enumerate();
            changes.filter(|(i, _)| survivors >> i & 1 == 1).for_each(|(_, change)| change.apply(&mut names));
            names.iter().map(|(path, file)| (path.clone(), content(file))).collect()
        };
        (0..1 << state.pending.len()).map(after).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// An operation that needs room on the disk, or none.
    fn operate<T>(&self, needs_room: bool, work: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state();
        match state.operate() {
            Some(Failure::Error) => Err(io::Error::other("the disk failed")),
            Some(Failure::FullDisk) if needs_room => Err(io::ErrorKind::StorageFull.into()),
            _ => work(&mut state),
        }
    }
}

struct MemoryFile {
    memory: Memory,
    file: usize,
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.memory.state();
        let failure = state.operate();
        let written = match failure {
            None => bytes.len(),
            Some(Failure::Error) => return Err(io::Error::other("the disk failed")),
            Some(Failure::FullDisk | Failure::ShortWrite) => bytes.len().div_ceil(2),
        };
        state.contents[self.file].now.extend_from_slice(&bytes[..written]);
        if failure == Some(Failure::FullDisk) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(written) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        self.memory.operate(true, |state| {
            let content = &mut state.contents[self.file];
            content.synced.clone_from(&content.now);
            Ok(())
        })
    }
}

/// Out of the way when it is dropped, as a lock of a process that ended.
struct MemoryLock(Memory, PathBuf);

impl Lock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.0.state().locked.retain(|path| *path != self.1);
    }
}

impl Storage for Memory {
    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn OutputFile>> {
        let file = self.operate(true, |state| {
            let file = state.file(path)?;
            let content = &mut state.contents[file].now;
            let length = usize::try_from(length).unwrap();
            if content.len() < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            content.truncate(length);
            Ok(file)
        })?;
        Ok(Box::new(MemoryFile { memory: self.clone(), file }))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        self.operate(true, |state| {
            if state.locked.iter().any(|locked| locked == path) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            state.locked.push(path.to_owned());
            Ok(())
        })?;
        Ok(Box::new(MemoryLock(self.clone(), path.to_owned())))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.operate(false, |state| {
            let content = state.contents[state.file(path)?].now.clone();
            Ok(Box::new(Cursor::new(content)) as Box<dyn Read + Send>)
        })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        let file = self.operate(true, |state| {
            state.contents.push(Content::default());
            let file = state.contents.len() - 1;
            state.change(Change::Create(path.to_owned(), file));
            Ok(file)
        })?;
        Ok(Box::new(MemoryFile { memory: self.clone(), file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate(false, |state| {
            let file = state.file(from)?;
            state.change(Change::Rename(from.to_owned(), to.to_owned(), file));
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.operate(false, |state| {
            state.file(path)?;
            state.change(Change::Remove(path.to_owned()));
            Ok(())
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.operate(false, |state| {
            Ok(state.names.keys().filter(|path| path.parent() == Some(folder)).cloned().collect())
        })
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.operate(false, |state| {
            let bytes = state.contents[state.file(path)?].now.len() as u64;
            Ok(Stat { is_dir: false, is_file: true, is_link: false, bytes, modified: Some(0) })
        })
    }

    fn create_dir(&self, _: &Path) -> io::Result<()> {
        self.operate(true, |_| Ok(()))
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        self.operate(true, |state| {
            state.synced_names = state.names.clone();
            state.pending.clear();
            Ok(())
        })
    }
}
