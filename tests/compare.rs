//! Two runs compared: what moved is named, what did not move is not, and chance alone rings no bell.

mod common;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "common/memory.rs"]
mod memory;

use memory::{Failure, Memory, Plan};
use proptest::prelude::*;
use sourcecheck::{
    CompareOptions, Comparison, Error, FolderPlan, Id, Input, Key, Keys, Listed, Method, Metric, Regression,
    RunFolder, RunKind, RunOptions, Settings, SettingsPart, Status, TimingFile, Unpaired, Verdicts,
    check_corpus, comparison_csv, comparison_json, exit, judge_regressions, write_comparison,
};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Writes the folder of a run over the records.
fn run(memory: &Memory, folder: &str, records: &[String], settings: &Settings) {
    let mut options = RunOptions::new(settings.clone());
    options.threads = NonZeroUsize::MIN;
    let plan = FolderPlan {
        run: "",
        settings: SettingsPart::new(settings),
        inputs: None,
        restart: true,
        kind: RunKind::Check,
        clock: Box::new(|| Duration::ZERO),
    };
    let (mut out, _) = RunFolder::open(Arc::new(memory.clone()), Path::new(folder), plan).unwrap();
    let input = Input::from_reader("in.jsonl", std::io::Cursor::new(records.join("\n").into_bytes()));
    let outcome = check_corpus(vec![input], &options, &mut out).unwrap();
    let timing = TimingFile { start: String::new(), seconds: 0.0, threads: 1, host: String::new() };
    out.finish(&outcome.report("", settings), &timing).unwrap();
}

/// Sorts hold a few records only, so that small runs go through temporary files too.
const SORT_BYTES: usize = 2_000;

fn options(max_listed: usize, is_cancelled: &dyn Fn() -> bool) -> CompareOptions<'_> {
    CompareOptions { max_listed, scratch: Path::new("scratch"), sort_bytes: SORT_BYTES, is_cancelled }
}

fn scratch_files(memory: &Memory) -> usize {
    memory.files().into_keys().filter(|path| path.starts_with("scratch")).count()
}

fn try_compare(memory: &Memory, max_listed: usize) -> Result<Comparison, Error> {
    let options = options(max_listed, &|| false);
    sourcecheck::compare_runs(memory, Path::new("base"), Path::new("new"), &options)
}

fn compare_with(base: &[String], new: &[String], settings: &Settings) -> Comparison {
    let memory = Memory::default();
    run(&memory, "base", base, settings);
    run(&memory, "new", new, settings);
    let comparison = try_compare(&memory, 100).unwrap();
    assert_eq!(scratch_files(&memory), 0, "temporary files are left");
    comparison
}

fn compare(base: &[String], new: &[String]) -> Comparison {
    compare_with(base, new, &Settings::default())
}

/// Everything that is said of a comparison.
fn outputs(comparison: &Comparison) -> String {
    let mut text = Vec::new();
    write_comparison(&mut text, comparison).unwrap();
    text.extend(comparison_json(comparison));
    text.extend(comparison_csv(comparison).unwrap());
    String::from_utf8(text).unwrap()
}

/// A record whose fate is its status.
fn record(id: usize, status: Status) -> String {
    match status {
        Status::Valid => common::session(id, "cat"),
        Status::Invalid => common::session(id, "the"),
        Status::Malformed => format!("{{\"documents\":[{{}}],\"annotations\":[],\"id\":{id}}}"),
    }
}

fn records(count: usize, fate: impl Fn(usize) -> Status) -> Vec<String> {
    (0..count).map(|id| record(id, fate(id))).collect()
}

fn shuffled(mut records: Vec<String>, seed: u64) -> Vec<String> {
    fastrand::Rng::with_seed(seed).shuffle(&mut records);
    records
}

fn mixed(id: usize) -> Status {
    match id % 10 {
        0 => Status::Malformed,
        1 | 2 => Status::Invalid,
        _ => Status::Valid,
    }
}

fn ids(list: &Listed) -> Vec<String> {
    let id = |id: &Option<Id>| match id {
        Some(Id::Text(id) | Id::Number(id)) => id.clone(),
        None => "none".to_owned(),
    };
    list.first.iter().map(|record| id(&record.id)).collect()
}

fn judge(comparison: &Comparison, texts: &[&str]) -> bool {
    let conditions: Vec<_> = texts.iter().map(|text| Regression::parse(text).unwrap()).collect();
    judge_regressions(&conditions, comparison).iter().any(sourcecheck::RegressionResult::fails)
}

#[test]
fn the_same_data_has_not_changed() {
    let data = records(200, mixed);
    for (base, new) in [(data.clone(), data.clone()), (data.clone(), shuffled(data.clone(), 1))] {
        let comparison = compare(&base, &new);
        let matching = comparison.matching.as_ref().unwrap();
        assert_eq!((matching.pairs, matching.no_longer_valid.count, matching.now_valid.count), (200, 0, 0));
        assert!(comparison.codes.is_empty() && comparison.notes.is_empty());
        let mut defined = 0;
        for row in comparison.rows.iter().filter(|row| row.difference.is_some()) {
            let difference = row.difference.unwrap();
            assert_eq!((difference.delta, difference.p, row.p_holm), (0.0, Some(1.0), Some(1.0)), "{row:?}");
            assert_eq!(difference.std_error, Some(0.0));
            defined += 1;
        }
        assert_eq!(defined, 18);
        assert!(!judge(&comparison, &["validity.records", "coverage.chars", "malformed.records"]));
    }
}

#[test]
fn a_planted_regression_is_named_record_by_record() {
    let planted = |id: usize| id % 17 == 5 && mixed(id) == Status::Valid && id < 490;
    let base = records(500, mixed);
    let new = records(500, |id| if planted(id) { Status::Invalid } else { mixed(id) });
    let wanted: Vec<String> = (0..500).filter(|id| planted(*id)).map(|id| id.to_string()).collect();
    assert_eq!(wanted.len(), 20);
    let comparison = compare(&base, &new);
    let matching = comparison.matching.as_ref().unwrap();
    assert_eq!(ids(&matching.no_longer_valid), wanted);
    assert_eq!(matching.now_valid.count, 0);
    let code = comparison.codes[0];
    assert_eq!((code.rule.name(), code.new - code.base), ("str_ambiguous", 20));
    assert_eq!(matching.no_longer_valid.first[0].new_codes, [code.rule]);
    assert!(judge(&comparison, &["validity.records", "coverage.chars"]));
    assert!(judge(&comparison, &["validity.records=3.9"]) && !judge(&comparison, &["validity.records=4"]));
    assert!(!judge(&comparison, &["malformed.records"]));
    // McNemar: twenty of twenty in one direction.
    let row = &comparison.rows[0];
    assert_eq!((row.metric, row.method), (Metric::ValidityRecords, Method::McNemar));
    assert_eq!(row.p(), Some(2.0 * 0.5f64.powi(20)));
    // The other way round it is no regression.
    let back = compare(&new, &base);
    assert_eq!(ids(&back.matching.as_ref().unwrap().now_valid), wanted);
    assert!(!judge(&back, &["validity.records", "coverage.chars"]));
}

#[test]
fn noise_alone_rings_no_bell() {
    let mut random = fastrand::Rng::with_seed(20);
    let mut fired = 0;
    for _ in 0..200 {
        // Records are of different difficulty, which both runs share.
        let difficulty: Vec<f64> = (0..150).map(|_| random.f64() * 0.5).collect();
        let mut draw = || {
            let mut fate = |id: usize| match random.f64() {
                luck if luck < difficulty[id] / 4.0 => Status::Malformed,
                luck if luck < difficulty[id] => Status::Invalid,
                _ => Status::Valid,
            };
            (0..150).map(|id| record(id, fate(id))).collect::<Vec<_>>()
        };
        let (base, new) = (draw(), draw());
        let comparison = compare(&base, &new);
        let metrics = [
            "validity.records",
            "validity.refs",
            "validity.annotations",
            "malformed.records",
            "coverage.chars",
        ];
        fired += u32::from(judge(&comparison, &metrics));
    }
    assert!(fired <= 10, "{fired} of 200");
}

#[test]
fn the_order_of_base_changes_no_byte() {
    let base = records(300, mixed);
    let new = records(310, |id| mixed(id + id / 100));
    let keys = Keys { groups: vec![Key::parse("/id").unwrap()], ..Keys::default() };
    for settings in [Settings::default(), Settings { keys, compress: true, ..Settings::default() }] {
        let told = outputs(&compare_with(&base[..290], &new[..290], &settings));
        let from_shuffled =
            outputs(&compare_with(&shuffled(base[..290].to_vec(), 2), &new[..290], &settings));
        assert_eq!(told, from_shuffled);
    }
}

#[test]
fn few_pairs_are_not_a_sample() {
    let base = records(100, mixed);
    let new: Vec<String> = (51..151).map(|id| record(id, mixed(id * 3))).collect();
    let comparison = compare(&base, &new);
    assert_eq!(comparison.unpaired, Some(Unpaired::FewPairs));
    let matching = comparison.matching.as_ref().unwrap();
    assert_eq!((matching.pairs, matching.base.only.count, matching.new.only.count), (49, 51, 51));
    let row = &comparison.rows[0];
    assert_eq!((row.method, row.units, row.base), (Method::Unpaired, 200, Some(0.7)));
    let (r0, r1): (f64, f64) = (row.base.unwrap(), row.new.unwrap());
    let wanted = ((r0 * (1.0 - r0) + r1 * (1.0 - r1)) / 99.0).sqrt();
    assert!((row.difference.unwrap().std_error.unwrap() - wanted).abs() < 1e-12);
    assert!(outputs(&comparison).contains("unpaired: fewer than half"));
    // One pair more is half.
    let new: Vec<String> = (50..150).map(|id| record(id, mixed(id))).collect();
    assert_eq!(compare(&base, &new).unpaired, None);
}

#[test]
fn problems_only_cannot_be_matched() {
    let settings = Settings { verdicts: Verdicts::Problems, ..Settings::default() };
    let comparison = compare_with(&records(40, mixed), &records(40, |_| Status::Valid), &settings);
    assert_eq!((comparison.unpaired, comparison.matching.as_ref()), (Some(Unpaired::OnlyProblems), None));
    assert_eq!(comparison.codes.last().map(|code| (code.base, code.new)), Some((8, 0)));
    let text = outputs(&comparison);
    assert!(text.contains("--verdicts problems") && !text.contains("no_longer_valid"), "{text}");
}

#[test]
fn groups_are_those_of_new() {
    let with_model = |record: &String, model: &str| format!("{{\"m\":\"{model}\",{}", &record[1..]);
    let data = records(30, mixed);
    let base: Vec<String> = data.iter().map(|record| with_model(record, "old")).collect();
    let model = |i: usize| if i < 20 { "a" } else { "=b" };
    let mut new: Vec<String> =
        data.iter().enumerate().map(|(i, record)| with_model(record, model(i))).collect();
    new[3] = record(3, Status::Invalid);
    let keys = Keys { groups: vec![Key::parse("/m").unwrap()], ..Keys::default() };
    let comparison = compare_with(&base, &new, &Settings { keys, ..Settings::default() });
    let mut groups: Vec<&str> = comparison.rows.iter().map(|row| row.group.as_str()).collect();
    groups.dedup();
    assert_eq!(groups, ["all", "/m=a", "/m==b", "/m"]);
    let units = |group: &str| {
        comparison.rows.iter().find(|row| row.group == group).map(|row| (row.units, row.p())).unwrap()
    };
    assert_eq!([units("/m=a").0, units("/m==b").0, units("/m").0], [19, 10, 1]);
    assert_eq!(units("/m"), (1, Some(1.0)));
}

#[test]
fn a_cluster_is_one_unit() {
    let with_question = |record: &String, question: usize| format!("{{\"q\":{question},{}", &record[1..]);
    let data = |fate: fn(usize) -> Status| -> Vec<String> {
        records(60, fate).iter().enumerate().map(|(i, record)| with_question(record, i / 3)).collect()
    };
    let keys = Keys { cluster: Some(Key::parse("/q").unwrap()), ..Keys::default() };
    let settings = Settings { keys, ..Settings::default() };
    let moved = |id: usize| if id % 6 < 3 { Status::Invalid } else { Status::Valid };
    let comparison = compare_with(&data(|_| Status::Valid), &data(moved), &settings);
    assert_eq!(comparison.rows[0].units, 20);
    let clustered = comparison.rows[0].difference.unwrap();
    // Twenty clusters of three, of which half have moved as a whole.
    let wanted = (20.0f64 / 19.0 * 20.0 * 1.5 * 1.5).sqrt() / 60.0;
    assert!((clustered.std_error.unwrap() - wanted).abs() < 1e-12, "{clustered:?}");
    assert_eq!(clustered.p, Some(2.0 * 0.5f64.powi(30)));
    let alone = compare(&data(|_| Status::Valid), &data(moved));
    assert_eq!(alone.rows[0].units, 60);
}

#[test]
fn settings_that_differ_are_told() {
    let memory = Memory::default();
    let data = records(5, mixed);
    run(&memory, "base", &data, &Settings::default());
    let mut settings = Settings { sentences: false, compress: true, ..Settings::default() };
    settings.lints.set(sourcecheck::Lint::SelfQuote, sourcecheck::Level::Deny);
    run(&memory, "new", &data, &settings);
    let notes: Vec<String> =
        try_compare(&memory, 1).unwrap().notes.iter().map(sourcecheck::note_words).collect();
    assert_eq!(
        notes,
        [
            "the runs differ in a setting: lints.self_quote is \"warn\" in BASE and \"deny\" in NEW",
            "the runs differ in a setting: sentences is null in BASE and false in NEW",
        ]
    );
}

/// Replaces a file of a run.
fn put(memory: &Memory, path: &str, bytes: &[u8]) {
    use sourcecheck::Storage;
    memory.create(Path::new(path)).unwrap().write_all(bytes).unwrap();
}

#[test]
fn folders_that_are_no_run() {
    let memory = Memory::default();
    let data = records(5, mixed);
    run(&memory, "base", &data, &Settings::default());
    let told = |memory: &Memory| {
        let error = try_compare(memory, 1).unwrap_err();
        (exit::of_error(&error), error.to_string())
    };
    let missing = "new: not the folder of a finished run: run.json is missing; run again with --out";
    assert_eq!(told(&memory), (66, missing.to_owned()));
    run(&memory, "new", &data, &Settings::default());
    let verdicts = memory.files()[Path::new("new/verdicts.jsonl")].clone();
    let lines: Vec<&[u8]> = verdicts.split_inclusive(|byte| *byte == b'\n').collect();
    for (bytes, words) in [
        ([lines[0], b"{\"file\":\"a\",\n", lines[2]].concat(), "new/verdicts.jsonl:2: this is no verdict"),
        (lines[..4].concat(), "new/verdicts.jsonl: it has 4 verdicts, and run.json speaks of 5 records"),
        (verdicts[..verdicts.len() - 9].to_vec(), "new/verdicts.jsonl:5: this is no verdict"),
    ] {
        put(&memory, "new/verdicts.jsonl", &bytes);
        let (code, text) = told(&memory);
        assert_eq!(code, 74);
        assert!(text.starts_with(words), "{text}");
    }
    put(&memory, "new/run.json", b"{}");
    let (code, text) = told(&memory);
    assert!(code == 74 && text.starts_with("new/run.json: "), "{code} {text}");
}

#[test]
fn no_failure_of_the_disk_is_taken_for_a_result() {
    let base = records(60, mixed);
    let new = shuffled(records(60, |id| mixed(id * 7)), 3);
    let memory = Memory::default();
    run(&memory, "base", &base, &Settings::default());
    run(&memory, "new", &new, &Settings::default());
    assert_eq!(memory.files_after_power_cuts(), [memory.files()]);
    let right = outputs(&try_compare(&memory, 5).unwrap());
    for failure in [Failure::Error, Failure::FullDisk, Failure::ShortWrite] {
        for at in 1.. {
            memory.plan(Some(Plan { at, failure, forever: false }));
            let result = try_compare(&memory, 5);
            let operations = memory.operations();
            memory.plan(None);
            if operations < at {
                assert!(at > 20, "only {at} operations");
                break;
            }
            match result {
                Ok(comparison) => assert!(outputs(&comparison) == right, "{failure:?} {at}"),
                Err(error) => assert!(matches!(exit::of_error(&error), 66 | 73 | 74), "{error}"),
            }
            // What cannot be removed is left to the caller, whose folder it is.
            let left = scratch_files(&memory);
            assert!(
                left <= usize::from(failure == Failure::Error),
                "{failure:?} {at}: {left} files are left"
            );
            memory.files().into_keys().filter(|path| path.starts_with("scratch")).for_each(|path| {
                sourcecheck::Storage::remove(&memory, &path).unwrap();
            });
        }
    }
}

#[test]
fn records_of_every_sort_are_compared() {
    let records: Vec<String> =
        String::from_utf8(common::corpus(300)).unwrap().lines().map(str::to_owned).collect();
    let comparison = compare(&records, &records);
    let matching = comparison.matching.unwrap();
    let side = &matching.new;
    assert_eq!(comparison.new.records, matching.pairs + side.repeated.count + side.without_id.count);
    assert!(matching.pairs > 100 && side.repeated.count > 10 && side.without_id.count > 10, "{matching:?}");
}

#[test]
fn a_comparison_can_be_cancelled() {
    let memory = Memory::default();
    run(&memory, "base", &records(5, mixed), &Settings::default());
    run(&memory, "new", &records(5, mixed), &Settings::default());
    let result =
        sourcecheck::compare_runs(&memory, Path::new("base"), Path::new("new"), &options(1, &|| true));
    assert!(matches!(result.unwrap_err().kind(), sourcecheck::ErrorKind::Cancelled));
}

/// Some records: an id (a number, a text or none) and a status.
fn some_records() -> impl Strategy<Value = Vec<(Option<(bool, u8)>, u8)>> {
    proptest::collection::vec((proptest::option::weighted(0.9, (any::<bool>(), 0u8..12)), 0u8..3), 0..24)
}

fn written((id, status): &(Option<(bool, u8)>, u8)) -> String {
    let record = record(0, [Status::Valid, Status::Invalid, Status::Malformed][usize::from(*status)]);
    let id = match id {
        None => String::new(),
        Some((true, id)) => format!("\"id\":{id},"),
        Some((false, id)) => format!("\"id\":\"{id}\","),
    };
    // The id that the record has by itself, at its beginning or its end, goes.
    let record = record.replace("\"id\":0,", "").replace(",\"id\":0}", "}");
    format!("{{{id}{}", &record[1..])
}

type Records = [(Option<(bool, u8)>, u8)];

/// Places of the records with each id.
fn by_id(records: &Records) -> HashMap<(bool, u8), Vec<usize>> {
    let mut places: HashMap<_, Vec<usize>> = HashMap::new();
    for (i, (id, _)) in records.iter().enumerate() {
        id.iter().for_each(|id| places.entry(*id).or_default().push(i));
    }
    places
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn equals_a_join_in_memory(base in some_records(), new in some_records(), same in any::<bool>()) {
        let new = if same { base.iter().zip(new.iter().cycle()).map(|(a, b)| (a.0, b.1)).collect() } else { new };
        let texts = |records: &Records| records.iter().map(written).collect::<Vec<_>>();
        let comparison = compare(&texts(&base), &texts(&new));
        let matching = comparison.matching.unwrap();
        let (in_base, in_new) = (by_id(&base), by_id(&new));
        // The lines of the records of one run that a condition on how often an id stands in both holds for.
        let lines = |records: &Records, holds: &dyn Fn(usize, usize) -> bool| -> Vec<u64> {
            let is_wanted = |id: &Option<(bool, u8)>| {
                let count = |places: &HashMap<(bool, u8), Vec<usize>>| id.map_or(0, |id| places.get(&id).map_or(0, Vec::len));
                id.is_some() && holds(count(&in_base), count(&in_new))
            };
            let numbered = records.iter().zip(1u64..);
            numbered.filter(|((id, _), _)| is_wanted(id)).map(|(_, line)| line).collect()
        };
        let found = |list: &Listed| list.first.iter().map(|record| record.line).collect::<Vec<_>>();
        prop_assert_eq!(found(&matching.base.only), lines(&base, &|b, n| b == 1 && n == 0));
        prop_assert_eq!(found(&matching.new.only), lines(&new, &|b, n| b == 0 && n == 1));
        prop_assert_eq!(found(&matching.base.repeated), lines(&base, &|b, n| b > 1 || n > 1));
        prop_assert_eq!(found(&matching.new.repeated), lines(&new, &|b, n| b > 1 || n > 1));
        let pairs = lines(&new, &|b, n| b == 1 && n == 1);
        prop_assert_eq!(matching.pairs, pairs.len() as u64);
        prop_assert_eq!(matching.base.without_id.count, base.iter().filter(|record| record.0.is_none()).count() as u64);
        let status = |line: u64| {
            let (id, after) = new[line as usize - 1];
            (base[in_base[&id.unwrap()][0]].1, after)
        };
        let moved = |holds: fn((u8, u8)) -> bool| pairs.iter().copied().filter(|line| holds(status(*line))).collect::<Vec<_>>();
        prop_assert_eq!(found(&matching.no_longer_valid), moved(|(before, after)| before == 0 && after > 0));
        prop_assert_eq!(found(&matching.now_valid), moved(|(before, after)| before > 0 && after == 0));
    }
}
