//! A run into a folder on a real file system that gets full.
#![cfg(target_os = "linux")]

mod common;

use sourcecheck::{
    Begun, Disk, Error, FolderPlan, Input, RunFolder, RunKind, RunOptions, Settings, SettingsPart,
    TimingFile, check_corpus,
};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const NAMES: [&str; 5] = ["verdicts.jsonl", "summary.csv", "codes.csv", "timing.json", "run.json"];

/// A run with a journal that is written at every chance; says whether it went on where one had ended.
fn run(corpus: &Path, folder: &Path) -> Result<bool, Error> {
    let inputs = vec![Input::from_path(Arc::new(Disk), corpus)];
    let settings = Settings::default();
    let ticks = AtomicU64::new(0);
    let plan = FolderPlan {
        run: "",
        settings: SettingsPart::new(&settings),
        inputs: inputs.iter().map(Input::fingerprint).collect(),
        restart: false,
        kind: RunKind::Check,
        clock: Box::new(move || Duration::from_secs(ticks.fetch_add(2, Ordering::Relaxed))),
    };
    let (mut out, begun) = RunFolder::open(Arc::new(Disk), folder, plan)?;
    let mut options = RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::new(settings) };
    if let Begun::Resumed(checkpoint) = begun {
        options.start = Some(*checkpoint);
    }
    let went_on = options.start.is_some();
    let outcome = check_corpus(inputs, &options, &mut out)?;
    let timing = TimingFile { start: String::new(), seconds: 0.0, threads: 1, host: String::new() };
    out.finish(&outcome.report("", &options.settings), &timing)?;
    Ok(went_on)
}

fn files(folder: &Path) -> BTreeMap<&'static str, Vec<u8>> {
    NAMES.iter().filter_map(|name| Some((*name, fs::read(folder.join(name)).ok()?))).collect()
}

fn mount(options: &str, place: &Path) {
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(place).status();
    assert!(mounted.unwrap().success(), "a tmpfs can be mounted");
}

/// The same test again, as a process that may mount file systems of its own.
fn within_own_mounts(name: &str) -> bool {
    let unshare = |command: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount"]).arg(command);
        unshare
    };
    if !unshare("true").output().is_ok_and(|output| output.status.success()) {
        eprintln!("NOT RUN: this system lets nobody have mounts of their own (unshare --user --mount)");
        return false;
    }
    let this = std::env::current_exe().unwrap();
    let arguments = ["--exact", name, "--ignored", "--nocapture"];
    let status = unshare(this.to_str().unwrap()).args(arguments).status().unwrap();
    assert!(status.success());
    true
}

#[test]
fn a_full_disk_leaves_no_half_file() {
    within_own_mounts("on_a_small_tmpfs");
}

#[test]
#[ignore = "it is started by the test above, with mounts of its own"]
fn on_a_small_tmpfs() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tmpfs");
    fs::create_dir_all(place.join("disk")).unwrap();
    let corpus = place.join("corpus.jsonl");
    fs::write(&corpus, common::corpus(4_000)).unwrap();
    let whole = place.join("whole");
    run(&corpus, &whole).unwrap();
    let right = files(&whole);
    assert_eq!(right.len(), NAMES.len());
    let total: usize = right.values().map(Vec::len).sum();
    let disk = place.join("disk");
    let (mut full, mut went_on, mut size) = (0, 0, 4096);
    loop {
        mount(&format!("size={size}"), &disk);
        let out = disk.join("out");
        let result = run(&corpus, &out);
        for (name, found) in files(&out) {
            assert!(right[name] == found, "{name} is not whole on a disk of {size} bytes");
        }
        assert_eq!(result.is_ok(), files(&out).len() == NAMES.len(), "on a disk of {size} bytes");
        if result.is_err() {
            full += 1;
            mount("remount,size=64m", &disk);
            went_on += usize::from(run(&corpus, &out).unwrap());
            assert!(files(&out) == right, "after a disk of {size} bytes");
        }
        assert!(Command::new("umount").arg(&disk).status().unwrap().success());
        if result.is_ok() {
            break;
        }
        // Small steps at first, where files are made, and at the end, where they are finished.
        size += if size < 65_536 || size + 131_072 > total { 4096 } else { 40_960 };
    }
    println!("{full} disks were full, after {went_on} of them the run went on where it had ended");
    assert!(full > 20 && went_on > 10, "{full} {went_on}");
}
