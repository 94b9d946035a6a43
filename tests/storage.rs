//! A run into a folder on a file system that fails: nothing half-written stands under a final name.

mod common;
#[path = "common/memory.rs"]
mod memory;

use common::corpus;
use memory::{Failure, Files, Memory, Plan};
use sourcecheck::{
    Begun, Error, FolderPlan, Input, Key, Keys, RunFolder, RunKind, RunOptions, Settings, SettingsPart,
    TimingFile, check_corpus,
};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const NAMES: [&str; 5] = ["verdicts.jsonl", "summary.csv", "codes.csv", "timing.json", "run.json"];

fn path(name: &str) -> PathBuf {
    Path::new("out").join(name)
}

/// A run that writes its journal at every chance; its input never fails.
fn run(memory: &Memory, corpus: &[u8]) -> Result<(), Error> {
    run_with(memory, corpus, &Settings::default()).map(|_| ())
}

/// The same with other settings; says whether it went on where another one had ended.
fn run_with(memory: &Memory, corpus: &[u8], settings: &Settings) -> Result<bool, Error> {
    let inputs = Memory::holding(&Files::from([(PathBuf::from("in.jsonl"), corpus.to_vec())]));
    let inputs = vec![Input::from_path(Arc::new(inputs), Path::new("in.jsonl"))];
    let mut options = RunOptions::new(settings.clone());
    options.threads = NonZeroUsize::MIN;
    let ticks = AtomicU64::new(0);
    let plan = FolderPlan {
        run: "",
        settings: SettingsPart::new(settings),
        inputs: inputs.iter().map(Input::fingerprint).collect(),
        restart: false,
        kind: RunKind::Check,
        clock: Box::new(move || Duration::from_secs(ticks.fetch_add(2, Ordering::Relaxed))),
    };
    let (mut folder, begun) = RunFolder::open(Arc::new(memory.clone()), Path::new("out"), plan)?;
    if let Begun::Resumed(checkpoint) = begun {
        options.start = Some(*checkpoint);
    }
    let resumed = options.start.is_some();
    let outcome = check_corpus(inputs, &options, &mut folder)?;
    let timing = TimingFile { start: String::new(), seconds: 0.0, threads: 1, host: String::new() };
    folder.finish(&outcome.report("", &options.settings), &timing)?;
    Ok(resumed)
}

/// What an undisturbed run writes.
fn undisturbed(corpus: &[u8]) -> Files {
    let memory = Memory::default();
    run(&memory, corpus).unwrap();
    let files = memory.files();
    assert_eq!(files.len(), NAMES.len());
    files
}

/// Every final name holds nothing or a file of one of the runs; `run.json` stands only where all
/// files of its own run do.
fn assert_whole(files: &Files, runs: &[&Files], what: &str) {
    for name in NAMES {
        let found = files.get(&path(name));
        let is_whole = found.is_none() || runs.iter().any(|run| found == run.get(&path(name)));
        assert!(is_whole, "{what}: {name} is not whole");
    }
    let is_run = |run: &&&Files| NAMES.iter().all(|name| files.get(&path(name)) == run.get(&path(name)));
    assert!(
        !files.contains_key(&path("run.json")) || runs.iter().any(|run| is_run(&run)),
        "{what}: run.json is there, and other files are not those of its run"
    );
}

/// Whatever a file system holds after a run that failed, and after a power cut on top.
fn assert_whole_in_any_case(memory: &Memory, runs: &[&Files], what: &str) {
    assert_whole(&memory.files(), runs, what);
    for files in memory.files_after_power_cuts() {
        assert_whole(&files, runs, &format!("{what}, and a power cut"));
    }
}

/// Runs over and over, failing at the first operation, the second and so on, until a run comes to its
/// end before the failure. `after` sees the file system and how each run ended.
fn fail_at_each(
    make: impl Fn() -> Memory,
    corpus: &[u8],
    (failure, forever): (Failure, bool),
    after: impl Fn(&Memory, &Result<(), Error>, &str),
) {
    for at in 1.. {
        let memory = make();
        let plan = Plan { at, failure, forever };
        memory.plan(Some(plan));
        let result = run(&memory, corpus);
        if memory.operations() < at {
            result.unwrap();
            assert!(at > 20, "only {at} operations");
            return;
        }
        after(&memory, &result, &format!("{plan:?}"));
    }
}

const FAILURES: [(Failure, bool); 4] =
    [(Failure::Error, false), (Failure::Error, true), (Failure::FullDisk, false), (Failure::FullDisk, true)];

#[test]
fn no_failure_leaves_a_half_file_under_a_final_name() {
    let corpus = corpus(4_000);
    let right = undisturbed(&corpus);
    for kind in FAILURES {
        fail_at_each(Memory::default, &corpus, kind, |memory, result, what| {
            // A full disk does not keep names from being changed.
            assert!(result.is_err() || kind.0 == Failure::FullDisk, "{what}: the run did not fail");
            assert!(result.is_err() || memory.files() == right, "{what}: the run did not tell");
            assert_whole_in_any_case(memory, &[&right], what);
        });
    }
}

/// The folder holds an earlier run: its files may stand, but never beside a `run.json` that is not theirs.
#[test]
fn no_failure_mixes_two_runs() {
    let (old, new) = (corpus(40), corpus(4_000));
    let (before, right) = (undisturbed(&old), undisturbed(&new));
    let used = || {
        let memory = Memory::default();
        run(&memory, &old).unwrap();
        memory
    };
    for kind in FAILURES {
        fail_at_each(used, &new, kind, |memory, _, what| {
            assert_whole_in_any_case(memory, &[&before, &right], what);
        });
    }
}

/// Whatever failed, and whatever a power cut takes on top: the same command comes to the right end.
#[test]
fn a_failed_run_is_gone_on_with() {
    let corpus = corpus(400);
    let mut resumed = 0;
    for settings in [Settings::default(), Settings { compress: true, ..grouped() }] {
        let right = {
            let memory = Memory::default();
            run_with(&memory, &corpus, &settings).unwrap();
            memory.files()
        };
        for kind in FAILURES {
            for at in 1.. {
                let memory = Memory::default();
                memory.plan(Some(Plan { at, failure: kind.0, forever: kind.1 }));
                let result = run_with(&memory, &corpus, &settings);
                if memory.operations() < at {
                    assert!(at > 30, "only {at} operations");
                    break;
                }
                let after = memory.files_after_power_cuts().into_iter().chain([memory.files()]);
                for files in after {
                    let memory = Memory::holding(&files);
                    let again = run_with(&memory, &corpus, &settings);
                    let again =
                        again.unwrap_or_else(|error| panic!("{kind:?} at {at}: {error}, after {result:?}"));
                    resumed += usize::from(again);
                    let (found, right) = (memory.files(), &right);
                    assert!(found == *right, "{kind:?} at {at}: {:?}", found.keys());
                }
            }
        }
    }
    assert!(resumed > 100, "{resumed}");
}

/// Groups and clusters that go on from batch to batch.
fn grouped() -> Settings {
    let key = |text| Key::parse(text).unwrap();
    let keys =
        Keys { groups: vec![key("/id"), key("/status")], cluster: Some(key("/status")), ..Keys::default() };
    Settings { keys, ..Settings::default() }
}

#[test]
fn one_run_at_a_time() {
    use sourcecheck::Storage;
    let memory = Memory::default();
    let lock = memory.lock(&path(".lock")).unwrap();
    let error = run(&memory, b"").unwrap_err();
    assert!(error.to_string().contains("another run"), "{error}");
    drop(lock);
    run(&memory, b"").unwrap();
}

#[test]
fn a_short_write_is_gone_on_with() {
    let corpus = corpus(4_000);
    let right = undisturbed(&corpus);
    fail_at_each(Memory::default, &corpus, (Failure::ShortWrite, false), |memory, result, what| {
        assert!(result.is_ok() && memory.files() == right, "{what}");
    });
}

#[test]
fn a_finished_run_survives_a_power_cut_and_leaves_no_other_file() {
    let memory = Memory::default();
    for records in [40, 4_000] {
        run(&memory, &corpus(records)).unwrap();
        assert_eq!(memory.files_after_power_cuts(), [memory.files()]);
        assert_eq!(memory.files().len(), NAMES.len());
    }
}

/// The twin must be able to show what the other tests look for.
#[test]
fn the_twin_forgets_what_was_not_synced() {
    use sourcecheck::Storage;
    let memory = Memory::default();
    let mut file = memory.create(&path("a.partial")).unwrap();
    file.write_all(b"one").unwrap();
    file.sync().unwrap();
    file.write_all(b" two").unwrap();
    memory.rename(&path("a.partial"), &path("a")).unwrap();
    let file = |content: &[u8]| Files::from([(path("a"), content.to_vec())]);
    assert_eq!(memory.files(), file(b"one two"));
    let cuts = memory.files_after_power_cuts();
    assert!(cuts.contains(&Files::new()) && cuts.contains(&file(b"one")), "{cuts:?}");
    memory.sync_dir(Path::new("out")).unwrap();
    assert_eq!(memory.files_after_power_cuts(), [file(b"one")]);
    memory.plan(Some(Plan { at: 1, failure: Failure::Error, forever: false }));
    assert!(memory.remove(&path("a")).is_err());
    assert!(memory.remove(&path("a")).is_ok());
}
