//! Shards that are merged are one run, byte for byte, wherever the cuts fall.

mod common;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "common/memory.rs"]
mod memory;

use common::{corpus, session};
use flate2::Compression;
use flate2::write::GzEncoder;
use memory::{Failure, Files, Memory, Plan};
use proptest::prelude::*;
use sourcecheck::{
    Begun, Error, FolderPlan, Input, Key, Keys, MergeOptions, Merged, RunFolder, RunKind, RunOptions,
    Settings, SettingsPart, Shard, Storage, TimingFile, Verdicts, check_corpus, merge_runs,
};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The files that a merge must give as one run does; `timing.json` may differ.
const FILES: [&str; 5] = ["verdicts.jsonl", "verdicts.jsonl.zst", "summary.csv", "codes.csv", "run.json"];

type Inputs = Vec<(&'static str, Vec<u8>)>;

fn timing() -> TimingFile {
    TimingFile { start: String::new(), seconds: 0.0, threads: 1, host: String::new() }
}

fn holding(inputs: &Inputs) -> Memory {
    let files: Files = inputs.iter().map(|(name, bytes)| (PathBuf::from(name), bytes.clone())).collect();
    Memory::holding(&files)
}

/// Runs over the inputs and one that is not there, into a folder.
fn run(memory: &Memory, inputs: &Inputs, settings: &Settings, folder: &str) {
    let went_on = try_run(memory, holding(inputs), inputs, settings, folder).unwrap();
    assert!(!went_on);
}

/// The same on a file system that may fail, with a journal that is written at every chance; says whether the
/// run went on where one before had ended. Inputs do not fail.
fn try_run(
    memory: &Memory,
    readable: Memory,
    inputs: &Inputs,
    settings: &Settings,
    folder: &str,
) -> Result<bool, Error> {
    let (storage, readable): (Arc<dyn Storage>, Arc<dyn Storage>) =
        (Arc::new(memory.clone()), Arc::new(readable));
    let ticks = AtomicU64::new(0);
    let names = inputs.iter().map(|(name, _)| *name).chain(["missing.jsonl"]);
    let inputs: Vec<Input> =
        names.map(|name| Input::from_path(Arc::clone(&readable), Path::new(name))).collect();
    let plan = FolderPlan {
        run: "a run",
        settings: SettingsPart::new(settings),
        inputs: inputs.iter().map(Input::fingerprint).collect(),
        restart: false,
        kind: RunKind::Check,
        clock: Box::new(move || Duration::from_secs(ticks.fetch_add(2, Ordering::Relaxed))),
    };
    let (mut out, begun) = RunFolder::open(storage, Path::new(folder), plan)?;
    let mut options = RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::new(settings.clone()) };
    if let Begun::Resumed(checkpoint) = begun {
        options.start = Some(*checkpoint);
    }
    let went_on = options.start.is_some();
    let outcome = check_corpus(inputs, &options, &mut out)?;
    out.finish(&outcome.report("a run", settings), &timing())?;
    Ok(went_on)
}

fn run_shard(memory: &Memory, inputs: &Inputs, settings: &Settings, number: usize, of: usize) {
    let shard = Some(Shard::parse(&format!("{number}/{of}")).unwrap());
    run(memory, inputs, &Settings { shard, ..settings.clone() }, &format!("part-{number}"));
}

fn merge(memory: &Memory, parts: &[PathBuf], out: &str) -> Result<Merged, Error> {
    let options = MergeOptions { run: None, restart: false, is_cancelled: &|| false };
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let (folder, merged) = merge_runs(&storage, parts, Path::new(out), &options)?;
    folder.finish(&merged.report(), &timing())?;
    Ok(merged)
}

fn parts(of: usize) -> Vec<PathBuf> {
    // Not in their order.
    (1..=of).rev().map(|number| format!("part-{number}").into()).collect()
}

/// That so many shards come to the run that there would be without them.
fn assert_one_run(inputs: &Inputs, settings: &Settings, of: usize) {
    let memory = holding(inputs);
    run(&memory, inputs, settings, "whole");
    (1..=of).for_each(|number| run_shard(&memory, inputs, settings, number, of));
    let merged = merge(&memory, &parts(of), "merged").unwrap();
    assert!(!merged.complete, "one input is not there");
    let files = memory.files();
    for name in FILES {
        let text = |folder: &str| {
            files.get(&Path::new(folder).join(name)).map(|bytes| String::from_utf8_lossy(bytes))
        };
        assert_eq!(text("merged"), text("whole"), "{name} of {of} shards");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Inputs of every sort: one that is cut, a compressed one, a cut-short one, a pretty-printed one, an empty
/// one, one in UTF-16, one of blank lines, and lines that are too long.
fn inputs() -> Inputs {
    let pretty = session(7, "cat").replace(",\"annotations\"", ",\n\n\"annotations\"");
    let cut_short = gzip(&corpus(40));
    vec![
        ("plain.jsonl", corpus(60)),
        ("gone.jsonl.gz", cut_short[..cut_short.len() - 20].to_vec()),
        ("empty.jsonl", Vec::new()),
        ("packed.json", gzip(&corpus(30))),
        ("pretty.json", format!("\n{pretty}\n\n").into_bytes()),
        ("utf-16.jsonl", "\u{feff}{}\n{}".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("blank.jsonl", b"\xef\xbb\xbf\n \n\r\n\n".to_vec()),
        ("last.json", [corpus(25), b"\n\n{}".to_vec()].concat()),
    ]
}

fn key(text: &'static str) -> Key {
    Key::parse(text).unwrap()
}

#[test]
fn shards_of_inputs_of_every_sort_are_one_run() {
    let plain = Settings { max_record_bytes: 1_000_000, ..Settings::default() };
    for of in [1, 2, 3, 7, 16] {
        assert_one_run(&inputs(), &plain, of);
    }
}

#[test]
fn shards_with_other_settings_are_one_run() {
    let keys = Keys { groups: vec![key("/status"), key("/id")], ..Keys::default() };
    let settings = Settings {
        keys,
        compress: true,
        verdicts: Verdicts::Problems,
        sentences: false,
        ..Settings::default()
    };
    assert_one_run(&inputs(), &settings, 5);
}

/// Every line stands alone, and every cut is at another byte: whatever a cut can fall on, it falls on.
#[test]
fn a_cut_may_fall_on_any_byte() {
    let text = b"\xef\xbb\xbf{}\r\n\n[1]\n \n{\"id\":1}\nx\n\n".to_vec();
    let inputs = vec![("a.jsonl", text.clone()), ("b.jsonl", text[3..].to_vec())];
    for of in 1..=60 {
        assert_one_run(&inputs, &Settings::default(), of);
    }
}

/// Records with a question and a model, as lines.
fn records() -> impl Strategy<Value = Vec<u8>> {
    let record = (0..3u8, 0..3u8, 0..6u8).prop_map(|(question, model, fate)| match fate {
        0 => "\n".to_owned(),
        1 => "{\"documents\":\n".to_owned(),
        2 => format!("{{\"q\":\"q{question}\",\"documents\":[]}}\n"),
        3 => format!("{}\n", session(1, "the")),
        _ => format!(
            "{{\"m\":\"m{model}\",\"q\":\"q{question}\",{}\n",
            &session(usize::from(fate), "cat")[1..]
        ),
    });
    proptest::collection::vec(record, 0..14).prop_map(|records| records.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Clusters go on over the borders of shards, over several of them too.
    #[test]
    fn clusters_are_joined_across_shards(one in records(), other in records(), of in 1usize..12) {
        let keys = Keys { groups: vec![key("/m"), key("/q")], cluster: Some(key("/q")), ..Keys::default() };
        let inputs = vec![("one.jsonl", one), ("other.jsonl", other)];
        assert_one_run(&inputs, &Settings { keys, ..Settings::default() }, of);
    }
}

/// A corpus whose first question goes on for several batches, and whose last one does.
fn long_questions() -> Inputs {
    let question = |i: usize| if i < 3_000 { 0 } else { i.min(3_500) };
    let record =
        |i| format!("{{\"m\":{},\"q\":\"q{}\",{}\n", i % 3, question(i), &session(i % 7, "cat")[1..]);
    let text: String = (0..9_000).map(record).collect();
    vec![("a.jsonl", text.into_bytes()), ("b.jsonl.gz", gzip(&corpus(100)))]
}

#[test]
fn a_shard_that_failed_goes_on_to_the_same_end() {
    let keys = Keys { groups: vec![key("/m")], cluster: Some(key("/q")), ..Keys::default() };
    let settings = |number: usize| Settings {
        keys: keys.clone(),
        shard: Some(Shard::parse(&format!("{number}/3")).unwrap()),
        ..Settings::default()
    };
    let inputs = long_questions();
    for number in 1..=3 {
        let whole = Memory::default();
        try_run(&whole, holding(&inputs), &inputs, &settings(number), "out").unwrap();
        let mut went_on = 0;
        for at in 1.. {
            let memory = Memory::default();
            memory.plan(Some(Plan { at, failure: Failure::Error, forever: true }));
            if try_run(&memory, holding(&inputs), &inputs, &settings(number), "out").is_ok() {
                break;
            }
            memory.plan(None);
            went_on +=
                usize::from(try_run(&memory, holding(&inputs), &inputs, &settings(number), "out").unwrap());
            let (files, expected) = (memory.files(), whole.files());
            let differing = expected.keys().find(|path| files.get(*path) != expected.get(*path));
            assert_eq!(differing, None, "shard {number}, failing at {at}");
        }
        assert!(went_on > 8, "shard {number} went on only {went_on} times");
    }
}

/// What merging says to folders after something was done to the shards.
fn refusal(folders: &[&str], change: impl Fn(&Memory, &Inputs)) -> String {
    let inputs = vec![("a.jsonl", corpus(20))];
    let memory = holding(&inputs);
    (1..=3).for_each(|number| run_shard(&memory, &inputs, &Settings::default(), number, 3));
    change(&memory, &inputs);
    let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    let refused = merge(&memory, &folders, "out");
    let files = memory.files();
    assert!(!files.contains_key(Path::new("out/run.json")));
    refused.unwrap_err().to_string()
}

fn edit(memory: &Memory, path: &str, from: &str, to: &str) {
    let text = String::from_utf8(memory.files()[Path::new(path)].clone()).unwrap();
    assert!(text.contains(from), "{text}");
    memory.create(Path::new(path)).unwrap().write_all(text.replacen(from, to, 1).as_bytes()).unwrap();
}

#[test]
fn what_is_not_all_shards_of_one_run_is_refused() {
    let all = ["part-1", "part-2", "part-3"];
    let nothing = |_: &Memory, _: &Inputs| {};
    let of =
        |settings: Settings| move |memory: &Memory, inputs: &Inputs| run(memory, inputs, &settings, "part-2");
    let shard = |text: &str| Settings { shard: Some(Shard::parse(text).unwrap()), ..Settings::default() };
    let cases: [(&[&str], String, &str); 9] = [
        (&["part-3", "part-1"], refusal(&["part-3", "part-1"], nothing), "shards are missing: 2/3"),
        (&all, refusal(&["part-1", "part-2", "part-2"], nothing), "both shard 2/3"),
        (&all, refusal(&["part-1", "nowhere"], nothing), "run.json is missing"),
        (&all, refusal(&all, of(Settings::default())), "not one of `check --shard K/N`"),
        (&all, refusal(&all, of(shard("2/4"))), "one is of 3 parts, the other of 4"),
        (
            &all,
            refusal(&all, of(Settings { sentences: false, ..shard("2/3") })),
            "settings differ: sentences",
        ),
        (
            &all,
            refusal(&all, |memory, _| edit(memory, "part-3/run.json", "a run", "b run")),
            "their names are",
        ),
        (
            &all,
            refusal(&all, |memory, _| edit(memory, "part-3/run.json", env!("CARGO_PKG_VERSION"), "0.0.1")),
            "is of version 0.0.1",
        ),
        (
            &all,
            refusal(&all, |memory, _| {
                let inputs = vec![("a.jsonl", corpus(21))];
                let memory_of_another = holding(&inputs);
                run_shard(&memory_of_another, &inputs, &Settings::default(), 3, 3);
                for (path, bytes) in memory_of_another.files() {
                    memory.create(&path).unwrap().write_all(&bytes).unwrap();
                }
            }),
            "bytes for one",
        ),
    ];
    for (_, message, expected) in cases {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn verdicts_that_are_missing_are_not_merged() {
    let all = ["part-1", "part-2", "part-3"];
    let message = refusal(&all, |memory, _| edit(memory, "part-2/verdicts.jsonl", "\n", " "));
    assert!(message.contains("whole verdicts"), "{message}");
}

#[test]
fn a_shard_is_not_written_over() {
    let inputs = vec![("a.jsonl", corpus(20))];
    let memory = holding(&inputs);
    (1..=2).for_each(|number| run_shard(&memory, &inputs, &Settings::default(), number, 2));
    let before = memory.files();
    let message = merge(&memory, &parts(2), "part-1").unwrap_err().to_string();
    assert!(message.contains("a shard's finished run is in it"), "{message}");
    assert!(memory.files() == before);
}

#[test]
fn merging_that_fails_leaves_no_half_file() {
    let inputs = vec![("a.jsonl", corpus(400))];
    let shards = holding(&inputs);
    (1..=2).for_each(|number| run_shard(&shards, &inputs, &Settings::default(), number, 2));
    let with_shards = shards.files();
    merge(&shards, &parts(2), "out").unwrap();
    let right = shards.files();
    for (failure, forever) in [(Failure::Error, true), (Failure::Error, false), (Failure::FullDisk, true)] {
        for at in 1.. {
            let memory = Memory::holding(&with_shards);
            memory.plan(Some(Plan { at, failure, forever }));
            let result = merge(&memory, &parts(2), "out");
            for files in memory.files_after_power_cuts().into_iter().chain([memory.files()]) {
                let is_final = |path: &Path| path.starts_with("out") && right.contains_key(path);
                let half =
                    files.iter().find(|(path, bytes)| is_final(path) && right.get(*path) != Some(bytes));
                assert!(half.is_none(), "{failure:?} at {at}: {half:?}");
                let is_run = right.keys().all(|path| files.contains_key(path));
                assert!(is_run || !files.contains_key(Path::new("out/run.json")), "{failure:?} at {at}");
            }
            if memory.operations() < at {
                break;
            }
            memory.plan(None);
            merge(&memory, &parts(2), "out").unwrap();
            assert!(result.is_ok() || memory.files() == right, "{failure:?} at {at}");
        }
    }
}

#[test]
fn what_can_be_read_but_once_is_not_cut() {
    let options =
        RunOptions::new(Settings { shard: Some(Shard::parse("1/2").unwrap()), ..Settings::default() });
    let input = Input::from_reader("-", std::io::empty());
    let refused = check_corpus(vec![input], &options, &mut sourcecheck::JsonLines::new(Vec::new(), "memory"));
    assert!(refused.unwrap_err().to_string().contains("standard input can be read but once"));
}
