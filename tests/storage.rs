//! A run into a folder on a file system that fails: nothing half-written stands under a final name.

mod common;

use common::corpus;
use sourcecheck::{
    Error, Input, OutputFile, RunFolder, RunOptions, Settings, Stat, Storage, TimingFile, check_corpus,
};
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// What the Nth operation does instead of its work.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Failure {
    Error,
    /// Half of the bytes are written, then the disk is full.
    FullDisk,
}

#[derive(Default)]
struct State {
    /// The content under each name, as a reader would see it now.
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// The content and names that would survive a power cut.
    synced_content: BTreeMap<PathBuf, Vec<u8>>,
    on_disk: BTreeMap<PathBuf, Vec<u8>>,
    operations: usize,
    fails_at: Option<(usize, Failure)>,
}

/// A file system in memory that forgets what was not synced.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<State>>);

struct MemoryFile {
    memory: Memory,
    path: PathBuf,
}

impl Memory {
    fn failing(at: usize, failure: Failure) -> Self {
        let memory = Self::default();
        memory.state().fails_at = Some((at, failure));
        memory
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Counts an operation; the failure that it must have, from the Nth on for ever.
    fn operate(&self) -> Option<Failure> {
        let mut state = self.state();
        state.operations += 1;
        let now = state.operations;
        state.fails_at.filter(|(at, _)| *at <= now).map(|(_, failure)| failure)
    }

    fn fail_or<T>(&self, work: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        match self.operate() {
            Some(_) => Err(io::Error::other("the disk failed")),
            None => work(&mut self.state()),
        }
    }
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let failure = self.memory.operate();
        let mut state = self.memory.state();
        let content = state.files.get_mut(&self.path).ok_or(io::ErrorKind::NotFound)?;
        match failure {
            None => content.extend_from_slice(bytes),
            Some(Failure::Error) => return Err(io::Error::other("the disk failed")),
            Some(Failure::FullDisk) => {
                content.extend_from_slice(&bytes[..bytes.len() / 2]);
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        let path = self.path.clone();
        self.memory.fail_or(|state| {
            let content = state.files.get(&path).cloned().ok_or(io::ErrorKind::NotFound)?;
            state.synced_content.insert(path, content);
            Ok(())
        })
    }
}

impl Storage for Memory {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.fail_or(|state| {
            let content = state.files.get(path).cloned().ok_or(io::ErrorKind::NotFound)?;
            Ok(Box::new(Cursor::new(content)) as Box<dyn Read + Send>)
        })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        self.fail_or(|state| {
            state.files.insert(path.to_owned(), Vec::new());
            state.synced_content.remove(path);
            Ok(())
        })?;
        Ok(Box::new(MemoryFile { memory: self.clone(), path: path.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fail_or(|state| {
            for files in [&mut state.files, &mut state.synced_content] {
                if let Some(content) = files.remove(from) {
                    files.insert(to.to_owned(), content);
                }
            }
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.fail_or(|state| {
            state.synced_content.remove(path);
            state.files.remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into())
        })
    }

    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        self.fail_or(|state| Ok(state.files.keys().cloned().collect()))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.fail_or(|state| {
            let content = state.files.get(path).ok_or(io::ErrorKind::NotFound)?;
            Ok(Stat { is_dir: false, bytes: content.len() as u64 })
        })
    }

    fn create_dir(&self, _: &Path) -> io::Result<()> {
        self.fail_or(|_| Ok(()))
    }

    /// The names that there are now survive, with what was synced of their content.
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        self.fail_or(|state| {
            let content = |path: &PathBuf| state.synced_content.get(path).cloned().unwrap_or_default();
            state.on_disk = state.files.keys().map(|path| (path.clone(), content(path))).collect();
            Ok(())
        })
    }
}

fn run(memory: &Memory) -> Result<(), Error> {
    let options = RunOptions::new(Settings::default());
    let mut folder = RunFolder::create(Arc::new(memory.clone()), Path::new("out"))?;
    let outcome =
        check_corpus(vec![Input::from_reader("in", Cursor::new(corpus(4_000)))], &options, &mut folder)?;
    let timing = TimingFile { start: String::new(), seconds: 0.0, threads: 1, host: String::new() };
    folder.finish("", &options.settings, &outcome.inputs, outcome.is_complete(), &outcome.tally, &timing)
}

const NAMES: [&str; 5] = ["verdicts.jsonl", "summary.csv", "codes.csv", "timing.json", "run.json"];

/// Every final name holds nothing or the whole; `run.json` only where all the others are whole.
fn assert_whole(files: &BTreeMap<PathBuf, Vec<u8>>, right: &BTreeMap<PathBuf, Vec<u8>>, what: &str) {
    let is_there = |name: &str| files.contains_key(&Path::new("out").join(name));
    for name in NAMES.into_iter().filter(|name| is_there(name)) {
        let path = Path::new("out").join(name);
        assert!(files[&path] == right[&path], "{what}: {name} is not whole");
    }
    assert!(
        !is_there("run.json") || NAMES.into_iter().all(is_there),
        "{what}: run.json is there, others are not"
    );
}

#[test]
fn no_failure_leaves_a_half_file_under_a_final_name() {
    let undisturbed = Memory::default();
    run(&undisturbed).unwrap();
    let right = undisturbed.state().files.clone();
    assert_eq!(right.keys().count(), NAMES.len());
    let operations = undisturbed.state().operations;
    assert!(operations > 20, "{operations}");
    for failure in [Failure::Error, Failure::FullDisk] {
        for at in 1..=operations {
            let memory = Memory::failing(at, failure);
            let what = format!("{failure:?} at operation {at}");
            assert!(run(&memory).is_err(), "{what}: the run did not fail");
            let state = memory.state();
            assert_whole(&state.files, &right, &what);
            assert_whole(&state.on_disk, &right, &format!("{what}, and a power cut"));
        }
    }
}

#[test]
fn a_finished_run_survives_a_power_cut_and_leaves_no_other_file() {
    let memory = Memory::default();
    run(&memory).unwrap();
    run(&memory).unwrap();
    let state = memory.state();
    assert_eq!(state.on_disk, state.files);
    assert_eq!(state.files.len(), NAMES.len());
}
