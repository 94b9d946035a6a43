//! Runs that write records: nothing is lost, nothing is changed but what should be, and no file is half there.

mod common;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "common/memory.rs"]
mod memory;

use common::{corpus, session};
use memory::{Failure, Files, Memory, Plan};
use proptest::prelude::*;
use sourcecheck::{
    Bound, Checker, Code, Error, Filter, FilterCounts, Input, Normalize, NormalizeCounts, Outcome,
    OutputPlace, Outputs, Rewrite, Rule, RunOptions, Settings, Status, check_corpus,
};
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A reader that gives a few bytes at a time.
struct Dribble(io::Cursor<Vec<u8>>, usize);

impl Read for Dribble {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.1.min(into.len());
        self.0.read(&mut into[..size])
    }
}

struct Run {
    counts: [u64; 4],
    outcome: Outcome,
    outputs: Vec<Vec<u8>>,
}

/// A run over some bytes on a file system that may fail.
fn try_run(
    memory: &Memory,
    rewrite: &Arc<dyn Rewrite>,
    settings: &Settings,
    names: &[&str],
    (bytes, piece, threads): (&[u8], usize, usize),
) -> Result<Run, Error> {
    let places = names.iter().map(|name| OutputPlace::File(PathBuf::from(name))).collect();
    let mut outputs = Outputs::create(Arc::new(memory.clone()), places)?;
    let mut options = RunOptions::new(settings.clone());
    options.threads = NonZeroUsize::new(threads).unwrap();
    options.rewrite = Some(Arc::clone(rewrite));
    let input = Input::from_reader("in.jsonl", Dribble(io::Cursor::new(bytes.to_vec()), piece));
    let outcome = check_corpus(vec![input], &options, &mut outputs)?;
    let counts = outputs.finish()?;
    let files = memory.files();
    let outputs = names.iter().map(|name| decompressed(&files[Path::new(name)])).collect();
    Ok(Run { counts, outcome, outputs })
}

fn run(rewrite: impl Rewrite + 'static, settings: &Settings, names: &[&str], bytes: &[u8]) -> Run {
    let rewrite: Arc<dyn Rewrite> = Arc::new(rewrite);
    try_run(&Memory::default(), &rewrite, settings, names, (bytes, 1 << 20, 2)).unwrap()
}

fn decompressed(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match bytes {
        [0x1f, 0x8b, ..] => flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut out).map(drop).unwrap(),
        [0x28, 0xb5, ..] => zstd::stream::copy_decode(bytes, &mut out).unwrap(),
        _ => out.extend_from_slice(bytes),
    }
    out
}

const NAMES: [&str; 3] = ["kept.jsonl", "rejected.jsonl", "reasons.jsonl"];

/// The naive twin: line by line. Kept, rejected, and how many lines say why.
fn naive(bytes: &[u8], filter: &Filter, settings: &Settings) -> (Vec<u8>, Vec<u8>, usize) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut checker = Checker::new(settings.clone());
    let (mut kept, mut rejected, mut reasons) = (Vec::new(), Vec::new(), 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.iter().all(|byte| b" \t\r".contains(byte)) {
            continue;
        }
        let is_too_large = line.len() > settings.max_record_bytes;
        let is_kept = !is_too_large && filter.reasons(&checker.check(line)).is_empty();
        reasons += usize::from(!is_kept);
        let into = if is_kept { &mut kept } else { &mut rejected };
        into.extend_from_slice(line);
        into.push(b'\n');
    }
    (kept, rejected, reasons)
}

fn filters() -> Vec<Filter> {
    let with_reasons = Filter { with_reasons: true, ..Filter::default() };
    vec![
        with_reasons.clone(),
        Filter { keep: vec![Status::Valid], ..with_reasons.clone() },
        Filter { keep: vec![Status::Invalid, Status::Malformed], ..with_reasons.clone() },
        Filter { bounds: vec![Bound::min("coverage.sentences=50%").unwrap()], ..with_reasons.clone() },
        Filter {
            bounds: vec![Bound::max("refs.invalid=0").unwrap(), Bound::min("confidence.mean=0.5").unwrap()],
            ..with_reasons.clone()
        },
        Filter {
            reject: vec![Rule::Code(Code::StrAmbiguous), Rule::Code(Code::InvalidJson)],
            ..with_reasons
        },
    ]
}

fn assert_like_naive(bytes: &[u8], filter: &Filter, limit: usize, piece: usize, threads: usize) {
    let mut settings = Settings { max_record_bytes: limit, ..Settings::default() };
    settings.input_format = sourcecheck::InputFormat::Jsonl;
    filter.prepare(&mut settings);
    let (kept, rejected, reasons) = naive(bytes, filter, &settings);
    let rewrite: Arc<dyn Rewrite> = Arc::new(filter.clone());
    let run = try_run(&Memory::default(), &rewrite, &settings, &NAMES, (bytes, piece, threads)).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&run.outputs[0]), text(&kept));
    assert_eq!(text(&run.outputs[1]), text(&rejected));
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines(&run.outputs[2]), reasons);
    let counts = FilterCounts::from(run.counts);
    assert_eq!(counts.kept + counts.rejected, run.outcome.tally.records());
    assert_eq!((counts.kept, counts.rejected), (lines(&kept) as u64, lines(&rejected) as u64));
}

#[test]
fn every_record_is_in_one_file_as_it_was() {
    let bytes = corpus(300);
    for filter in filters() {
        for threads in [1, 2, 7] {
            assert_like_naive(&bytes, &filter, 1_000_000, 1 << 20, threads);
        }
    }
}

proptest! {
    /// Lines around the limit, blank ones among them, read in pieces of any size.
    #[test]
    fn filtering_agrees_with_its_naive_twin(
        text in "(\u{feff})?([ \t\r\n]{0,9}|\\{[a\"]{0,9}\\}?|\\{\"documents\":\\[\\],\"annotations\":\\[\\]\\}|\n){0,9}",
        limit in 1usize..40,
        piece in 1usize..9,
        filter in 0usize..6,
    ) {
        assert_like_naive(text.as_bytes(), &filters()[filter], limit, piece, 1);
    }
}

/// Lines that are longer than the limit and than several reads.
fn giants() -> Vec<u8> {
    let line = |c: char, count: usize| format!("{}\n", c.to_string().repeat(count));
    let mut text = session(1, "cat") + "\n";
    text += &line('x', 3_000_000);
    text += &line(' ', 2_000_000);
    text += &session(2, "cat");
    text += "\r\n";
    text += &(" ".repeat(1_500_000) + &line('y', 1_200_000));
    text += &session(3, "the");
    text += "\n";
    text += line('z', 2_500_000).trim_end();
    text.into_bytes()
}

#[test]
fn records_beyond_the_limit_are_passed_on_in_pieces() {
    let bytes = giants();
    for (piece, threads) in [(1 << 20, 1), (70_001, 2), (1 << 20, 7)] {
        assert_like_naive(&bytes, &filters()[1], 2_000, piece, threads);
    }
    for ending in ["", ".gz", ".zst"] {
        let names = [format!("kept{ending}"), format!("rejected{ending}")];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let settings = Settings { max_record_bytes: 2_000, ..Settings::default() };
        let (kept, rejected, _) = naive(&bytes, &filters()[1], &settings);
        let filter = Filter { keep: vec![Status::Valid], ..Filter::default() };
        let run = run(filter, &settings, &names, &bytes);
        assert!(run.outputs[0] == kept && run.outputs[1] == rejected, "{ending}");
    }
}

#[test]
fn a_record_that_is_cut_is_in_no_file() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(&giants()).unwrap();
    let whole = encoder.finish().unwrap();
    let settings = Settings { max_record_bytes: 2_000, ..Settings::default() };
    for ending in ["", ".gz", ".zst"] {
        let names = [format!("kept{ending}"), format!("rejected{ending}")];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // In the second line, in the blank one, in the one with blanks before it, and in the last.
        for length in [1_500_000, 4_000_000, 6_000_000, 9_000_000] {
            let filter = Filter { keep: vec![Status::Valid], ..Filter::default() };
            let run = run(filter, &settings, &names, &whole[..length]);
            assert_eq!(run.outcome.problems.len(), 1);
            let lines = giants()[..length - 20_000].iter().filter(|byte| **byte == b'\n').count();
            let written: usize = run.outputs.iter().flatten().filter(|byte| **byte == b'\n').count();
            let blank = usize::from(lines > 2);
            assert_eq!(written, lines - blank, "{length}{ending}");
            assert!(run.outputs.iter().all(|bytes| bytes.last().is_none_or(|last| *last == b'\n')));
        }
    }
}

#[test]
fn an_input_that_is_one_record_keeps_its_lines() {
    let pretty = session(7, "cat").replace(",\"annotations\"", ",\r\n\n\"annotations\"");
    let run_on = |bytes: String, limit: usize| {
        let settings = Settings { max_record_bytes: limit, ..Settings::default() };
        run(Filter::default(), &settings, &NAMES[..2], bytes.as_bytes())
    };
    let given = |blank: &str| format!("\u{feff}\n \r\n  {pretty} \r\n{blank}");
    let kept = run_on(given("\n \n"), 1 << 20);
    assert_eq!(String::from_utf8_lossy(&kept.outputs[0]), format!("  {pretty} \r\n"));
    assert_eq!(
        FilterCounts::from(kept.counts),
        FilterCounts { kept: 1, several_lines: 1, ..Default::default() }
    );
    let rejected = run_on(given("\n \n"), 100);
    assert_eq!(String::from_utf8_lossy(&rejected.outputs[1]), format!("  {pretty} \r\n"));
    let long = format!("{{\n\"x\":\"{}\"\n}}\n\n{}", "y".repeat(3_000_000), " ".repeat(300_000));
    let rejected = run_on(long.clone(), 1_000_000);
    assert!(
        rejected.outputs[1] == long.trim_end().as_bytes().iter().chain(b"\n").copied().collect::<Vec<u8>>()
    );
    let blank = run_on(" \n".repeat(1_000_000), 1_000_000);
    assert_eq!((blank.outcome.tally.records(), blank.outputs[1].len()), (0, 0));
}

#[test]
fn of_utf_16_the_first_line_is_the_record() {
    let bytes = [&[0xff, 0xfe][..], b"{\0}\0\n\0[\0\n\0"].concat();
    let run = run(
        Filter { keep: vec![Status::Valid], ..Filter::default() },
        &Settings::default(),
        &NAMES[..2],
        &bytes,
    );
    assert_eq!(run.outputs, [b"".to_vec(), b"{\0}\0\n".to_vec()]);
    assert_eq!(FilterCounts::from(run.counts).rejected, run.outcome.tally.records());
}

#[test]
fn what_is_compressed_is_what_was_written() {
    let bytes = corpus(200);
    let filter = Filter { keep: vec![Status::Valid], ..Filter::default() };
    let plain = run(filter.clone(), &Settings::default(), &["a", "b"], &bytes);
    let names = ["a.jsonl.GZ", "b.jsonl.zst"];
    let memory = Memory::default();
    let rewrite: Arc<dyn Rewrite> = Arc::new(filter);
    let packed = try_run(&memory, &rewrite, &Settings::default(), &names, (&bytes, 1 << 20, 2)).unwrap();
    assert!(plain.outputs == packed.outputs);
    let files = memory.files();
    assert!(files[Path::new(names[0])].starts_with(&[0x1f, 0x8b]));
    assert!(files[Path::new(names[1])].starts_with(&[0x28, 0xb5]));
    let nothing = run(
        Filter { keep: vec![Status::Invalid], ..Filter::default() },
        &Settings::default(),
        &names,
        b"{}\n",
    );
    assert_eq!(nothing.outputs, [b"".to_vec(), b"{}\n".to_vec()]);
}

#[test]
fn invalid_annotations_are_dropped_and_nothing_else() {
    let two = |first: &str, second: &str| {
        let one = session(5, first);
        let other = session(5, second);
        let annotation = |text: &str| {
            text.split_once("\"annotations\":[").unwrap().1.strip_suffix("]}").unwrap().to_owned()
        };
        let head = one.split_once("\"annotations\":[").unwrap().0;
        format!(
            "{head}\"annotations\" : [ {} ,\t{} ], \"note\": 1e400}}",
            annotation(&one),
            annotation(&other)
        )
    };
    let good = two("cat", "cat");
    let half = two("cat", "the");
    let none = two("the", "nowhere");
    let answer = r#"{"status":"answered","answer":"x","citations":[],"context":{"sources":[]}}"#;
    let corpus = [&good, &half, &none, answer, "nonsense"].join("\n");
    let filter = Filter { drop_annotations: true, with_reasons: true, ..Filter::default() };
    let run_dropped = run(filter.clone(), &Settings::default(), &NAMES, corpus.as_bytes());
    let text = |i: usize| String::from_utf8(run_dropped.outputs[i].clone()).unwrap();
    let (before, after) = half.split_once(" ,\t").unwrap();
    let half_left = format!("{before}{}", &after[after.rfind(" ], \"note\"").unwrap()..]);
    let list = none.find("[ {\"claim\"").unwrap();
    let none_left = format!("{}[]{}", &none[..list], &none[none.rfind(", \"note\"").unwrap()..]);
    assert_eq!(text(0), [good.as_str(), &half_left, &none_left, answer, ""].join("\n"));
    assert_eq!(text(1), "nonsense\n");
    assert_eq!(
        text(2),
        "{\"file\":\"in.jsonl\",\"line\":5,\"reasons\":[{\"condition\":\"drop-annotations\",\"status\":\"malformed\"}]}\n"
    );
    // Conditions are about the record as it would be written; what is rejected is as it was.
    let strict = Filter {
        keep: vec![Status::Valid],
        bounds: vec![Bound::min("coverage.chars=0.01").unwrap()],
        ..filter
    };
    let run_strict = run(strict, &Settings::default(), &NAMES, corpus.as_bytes());
    let text = |i: usize| String::from_utf8(run_strict.outputs[i].clone()).unwrap();
    assert_eq!(text(0), [good.as_str(), &half_left, ""].join("\n"));
    assert_eq!(text(1), [none.as_str(), answer, "nonsense", ""].join("\n"));
    assert!(
        text(2)
            .contains("{\"condition\":\"min\",\"metric\":\"coverage.chars\",\"value\":null,\"wanted\":0.01}"),
        "{}",
        text(2)
    );
}

#[test]
fn a_failure_leaves_no_half_file() {
    let bytes = giants();
    let settings = Settings { max_record_bytes: 1_300_000, ..Settings::default() };
    let rewrite: Arc<dyn Rewrite> = Arc::new(filters()[1].clone());
    let names = ["kept.jsonl", "rejected.jsonl.zst", "reasons.jsonl"];
    let run = |memory: &Memory| try_run(memory, &rewrite, &settings, &names, (&bytes, 1 << 20, 1));
    let whole = Memory::default();
    run(&whole).unwrap();
    let right = whole.files();
    assert_eq!(right.len(), 3);
    for (failure, forever) in [
        (Failure::Error, false),
        (Failure::Error, true),
        (Failure::FullDisk, false),
        (Failure::FullDisk, true),
    ] {
        for at in 1.. {
            let memory = Memory::default();
            memory.plan(Some(Plan { at, failure, forever }));
            let result = run(&memory);
            let half = |files: &Files| {
                let is_half = |(path, bytes): &(&PathBuf, &Vec<u8>)| {
                    right.get(*path).is_some_and(|right| right != *bytes)
                };
                files.iter().find(is_half).map(|(path, _)| path.clone())
            };
            assert_eq!(half(&memory.files()), None, "{failure:?} at {at}");
            for files in memory.files_after_power_cuts() {
                assert_eq!(half(&files), None, "{failure:?} at {at}, and a power cut");
            }
            if memory.operations() < at {
                assert!(result.is_ok() && at > 10, "{at}");
                break;
            }
            // A full disk does not keep names from being changed.
            assert!(result.is_err() || memory.files() == right, "{failure:?} at {at}");
        }
    }
}

fn normalize(json: bool, bytes: &str) -> (NormalizeCounts, Vec<String>) {
    let run = run(
        Normalize { json },
        &Settings { sentences: false, ..Settings::default() },
        &NAMES[..2],
        bytes.as_bytes(),
    );
    let text = run.outputs.into_iter().map(|bytes| String::from_utf8(bytes).unwrap());
    (run.counts.into(), text.collect())
}

#[test]
fn contents_get_lf_and_what_no_longer_holds_is_told() {
    let record = |content: &str, line: u32, start: &str, end: &str| {
        format!(
            r#"{{"id":"q","x":"\r\n","session":{{"documents":[{{"path":"p\r","content":"{content}"}}]}},"annotations":[{{"claim":{{"path":"p\r","start":{{"line":{line},"str":"{start}"}},"end":{{"line":{line},"str":"{end}"}}}},"sources":[{{"path":"p\r","start":{{"line":1,"str":"one"}},"end":{{"line":1,"str":"one"}},"polarity":"supports","confidence":1}}]}}]}}"#
        )
    };
    let crlf = record(r"one\r\ntwo\u000d\u000a\\r", 2, "two", "two");
    let kept = record(r"one\ntwo\u000a\\r", 2, "two", "two");
    let (counts, outputs) = normalize(true, &crlf);
    assert_eq!(outputs, [format!("{kept}\n"), String::new()]);
    assert_eq!(counts, NormalizeCounts { records: 1, contents: 1, ..Default::default() });
    // With the CR in its boundary a ref is lost; behind a lone CR it stands on another line, or on another text.
    let (_, outputs) = normalize(true, &record(r"one\r\ntwo", 1, "one", r"e\r"));
    assert_eq!(
        outputs[1],
        "{\"file\":\"in.jsonl\",\"line\":1,\"id\":\"q\",\"pointer\":\"/annotations/0/claim\",\"lost\":\"str_not_found\",\"message\":\"`end.str` does not occur on line 1; copy it from the line, character for character\"}\n"
    );
    let (_, outputs) = normalize(false, &record(r"one\rtwo", 1, "two", "two"));
    assert!(
        outputs[1]
            .starts_with("in.jsonl:1, id \"q\": the ref at /annotations/0/claim is lost: str_not_found: "),
        "{}",
        outputs[1]
    );
    let (counts, outputs) = normalize(true, &record(r"one\ra b\na c\nd", 2, "a", "a"));
    assert_eq!(outputs[1], "");
    assert_eq!(counts.lost, 0);
    let (counts, outputs) = normalize(true, &record(r"one\rab\nac\nd", 2, "a", "c"));
    assert!(outputs[1].contains("\"lost\":\"str_not_found\""), "{}", outputs[1]);
    assert_eq!(counts.lost, 1);
}

#[test]
fn a_ref_that_holds_other_text_is_told() {
    let record = r#"{"documents":[{"path":"p","content":"x\rab\na-b"}],"annotations":[{"claim":{"path":"p","start":{"line":2,"str":"a"},"end":{"line":2,"str":"b"}},"sources":[{"path":"p","start":{"line":2,"str":"a"},"end":{"line":2,"str":"a"},"polarity":"refutes","confidence":0}]}]}"#;
    let (counts, outputs) = normalize(true, record);
    assert_eq!(counts.lost, 1);
    assert!(
        outputs[1].contains("\"pointer\":\"/annotations/0/claim\",\"lost\":\"other_text\""),
        "{}",
        outputs[1]
    );
}

#[test]
fn what_has_nothing_to_change_is_passed_on() {
    let bytes = corpus(100);
    let run = run(Normalize::default(), &Settings::default(), &NAMES[..2], &bytes);
    let (kept, _, _) = naive(&bytes, &Filter::default(), &Settings::default());
    assert!(run.outputs[0] == kept);
    assert_eq!(run.counts[1], 0);
    let giant = run_giants();
    let (_, rejected, _) = naive(
        &giants(),
        &Filter { keep: vec![Status::Malformed], ..Filter::default() },
        &Settings::default(),
    );
    assert!(giant.outputs[0].len() > rejected.len());
}

fn run_giants() -> Run {
    run(
        Normalize::default(),
        &Settings { max_record_bytes: 2_000, ..Settings::default() },
        &NAMES[..2],
        &giants(),
    )
}
