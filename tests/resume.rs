//! Runs that are killed, again and again, and come to the end that an undisturbed one comes to.

#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use sourcecheck::{
    Begun, Disk, FolderPlan, Input, Lock, OutputFile, RunFolder, RunKind, RunOptions, Settings, SettingsPart,
    Stat, Storage, TimingFile, check_corpus,
};
use std::fs;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A disk whose inputs are read slowly, and that notes how much of them was read.
struct SlowDisk {
    bytes_a_second: u64,
    noted: PathBuf,
}

struct SlowReader {
    inner: Box<dyn Read + Send>,
    pause: Duration,
    read: u64,
    noted: PathBuf,
}

const PIECE_BYTES: usize = 16 * 1024;

impl Read for SlowReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = into.len().min(PIECE_BYTES);
        std::thread::sleep(self.pause);
        let read = self.inner.read(&mut into[..size])?;
        self.read += read as u64;
        fs::write(&self.noted, self.read.to_string())?;
        Ok(read)
    }
}

impl SlowDisk {
    fn slow(&self, inner: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        let pause = Duration::from_secs_f64(PIECE_BYTES as f64 / self.bytes_a_second as f64);
        Box::new(SlowReader { inner, pause, read: 0, noted: self.noted.clone() })
    }
}

/// Only inputs are slow: they end in `.jsonl` or `.gz` and are opened to be read.
impl Storage for SlowDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Disk.open(path).map(|reader| self.slow(reader))
    }
    fn open_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        Disk.open_at(path, offset).map(|reader| self.slow(reader))
    }
    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn OutputFile>> {
        Disk.append(path, length)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        Disk.lock(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        Disk.create(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        Disk.list(path)
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Disk.stat(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        Disk.create_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        Disk.sync_dir(path)
    }
}

/// Runs over the corpus in a folder; says at which byte it began.
fn run(folder: &Path, corpus: &Path, bytes_a_second: u64, noted: &Path) {
    let input = |storage: Arc<dyn Storage>| Input::from_path(storage, corpus);
    let slow = Arc::new(SlowDisk { bytes_a_second, noted: noted.to_owned() });
    let (settings, started) = (Settings::default(), Instant::now());
    let plan = FolderPlan {
        run: "",
        settings: SettingsPart::new(&settings),
        inputs: input(Arc::new(Disk)).fingerprint().map(|input| vec![input]),
        restart: false,
        kind: RunKind::Check,
        clock: Box::new(move || started.elapsed()),
    };
    let (mut out, begun) = RunFolder::open(Arc::new(Disk), folder, plan).unwrap();
    let mut options = RunOptions::new(settings);
    options.threads = NonZeroUsize::new(2).unwrap();
    if let Begun::Resumed(checkpoint) = begun {
        println!("begins at {}", checkpoint.place().1.offset);
        options.start = Some(*checkpoint);
    } else {
        println!("begins at 0");
    }
    io::stdout().flush().unwrap();
    let outcome = check_corpus(vec![input(slow)], &options, &mut out).unwrap();
    let timing = TimingFile { start: String::new(), seconds: 0.0, threads: 1, host: String::new() };
    out.finish(&outcome.report("", &options.settings), &timing).unwrap();
}

/// What the tests below start as a process of its own, to kill it.
#[test]
#[ignore = "it is one attempt of the other tests"]
fn attempt() {
    let Ok(arguments) = std::env::var("ATTEMPT") else { return };
    let arguments: Vec<&str> = arguments.split('\n').collect();
    run(
        Path::new(arguments[0]),
        Path::new(arguments[1]),
        arguments[2].parse().unwrap(),
        Path::new(arguments[3]),
    );
}

/// One attempt that lives for so long: where it began, how many bytes it read, and whether it came to the end.
fn live(folder: &Path, corpus: &Path, bytes_a_second: u64, life: Duration) -> (u64, u64, bool) {
    let noted = folder.with_extension("noted");
    let _ = fs::remove_file(&noted);
    let said = folder.with_extension("said");
    let arguments = [folder, corpus, Path::new(&bytes_a_second.to_string()), &noted]
        .map(|path| path.to_str().unwrap().to_owned());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "attempt", "--ignored", "--nocapture"])
        .env("ATTEMPT", arguments.join("\n"))
        .stdout(fs::File::create(&said).unwrap())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if started.elapsed() >= life => break None,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let _ = child.kill();
    child.wait().unwrap();
    assert!(ended.is_none_or(|status| status.success()), "an attempt failed");
    let number = |text: &str| text.split_whitespace().next().and_then(|word| word.parse().ok());
    let said = fs::read_to_string(said).unwrap();
    let began = said.split("begins at ").nth(1).and_then(number).unwrap_or(0);
    let read = fs::read_to_string(&noted).ok().and_then(|text| number(&text)).unwrap_or(0);
    (began, read, ended.is_some())
}

/// The files of a run that may not differ.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "timing.json").collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

fn corpus() -> Vec<u8> {
    (0..40_000)
        .map(|i| common::session(i, if i % 5 == 0 { "the" } else { "cat" }) + "\n")
        .collect::<String>()
        .into_bytes()
}

/// A fresh folder with a corpus in it, and what an undisturbed run over it gives.
fn prepare(name: &str, corpus: &[u8]) -> (PathBuf, PathBuf, Vec<(String, Vec<u8>)>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("corpus.jsonl.gz");
    fs::write(&path, corpus).unwrap();
    run(&folder.join("undisturbed"), &path, u64::MAX, &folder.join("noted"));
    let right = files(&folder.join("undisturbed"));
    assert_eq!(right.len(), 4);
    (folder.join("killed"), path, right)
}

#[test]
fn fifty_kills_cost_no_more_than_two_seconds_each() {
    const KILLS: u32 = 50;
    let corpus = corpus();
    let (folder, path, right) = prepare("kills", &corpus);
    let bytes_a_second = corpus.len() as u64 / 30;
    let mut random = fastrand::Rng::with_seed(7);
    let (mut kills, mut total, mut last) = (0, 0, 0);
    loop {
        // From before anything was done to some seconds of work; the last attempt may live.
        let life =
            if kills < KILLS { Duration::from_millis(random.u64(50..900)) } else { Duration::from_secs(60) };
        let (began, read, ended) = live(&folder, &path, bytes_a_second, life);
        assert!(began >= last, "it started over: {began} after {last}");
        (total, last) = (total + read, began);
        if ended {
            break;
        }
        kills += 1;
    }
    assert_eq!(kills, KILLS);
    assert!(last > 0);
    let most = corpus.len() as u64 + 2 * bytes_a_second * u64::from(kills);
    println!("{kills} kills, {total} bytes read of {}, at most {most}", corpus.len());
    assert!(total <= most, "{total} bytes read, at most {most}");
    assert!(files(&folder) == right);
}

#[test]
fn a_compressed_input_is_gone_on_with() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&corpus()).unwrap();
    let corpus = encoder.finish().unwrap();
    let (folder, path, right) = prepare("kills-gzip", &corpus);
    // It is read from its beginning each time, so that a life must reach further than the one before.
    let bytes_a_second = corpus.len() as u64 / 4;
    let mut last = 0;
    for life in [300, 900, 600, 1500, 1200, 2500, 2000, 60_000] {
        let (began, _, ended) = live(&folder, &path, bytes_a_second, Duration::from_millis(life));
        assert!(began >= last, "it started over: {began} after {last}");
        last = began;
        assert_eq!(ended, life == 60_000);
    }
    assert!(last > 0);
    assert!(files(&folder) == right);
}
