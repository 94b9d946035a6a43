//! Same input, same bytes out: for any number of threads, however the bytes come in.

mod common;

use common::corpus;
use flate2::Compression;
use flate2::write::GzEncoder;
use sourcecheck::{
    CheckedBatch, Error, Input, JsonLines, Outcome, RunFile, RunOptions, Settings, Sink, Tally, Wants,
    check_corpus, write_codes, write_run_file, write_summary,
};
use std::io::{Read, Write};
use std::num::NonZeroUsize;

/// Everything that a run gives.
#[derive(Clone, Debug, PartialEq)]
struct Outputs {
    verdicts: Vec<u8>,
    run: Vec<u8>,
    summary: Vec<u8>,
    codes: Vec<u8>,
}

fn settings() -> Settings {
    Settings { max_record_bytes: 1_000_000, ..Settings::default() }
}

fn run(inputs: Vec<Input>, threads: usize) -> (Outputs, Outcome) {
    let mut options = RunOptions::new(settings());
    options.threads = NonZeroUsize::new(threads).unwrap();
    let mut sink = JsonLines::new(Vec::new(), "memory");
    let outcome = check_corpus(inputs, &options, &mut sink).unwrap();
    let report = outcome.report("r", &options.settings);
    let mut file = Vec::new();
    write_run_file(&report, &mut file).unwrap();
    let outputs = Outputs {
        verdicts: sink.into_inner(),
        run: file,
        summary: write_summary(&report).unwrap(),
        codes: write_codes(&report).unwrap(),
    };
    (outputs, outcome)
}

/// Gives a few bytes at a time.
struct Dribble<R>(R, usize);

impl<R: Read> Read for Dribble<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let size = self.1.min(into.len());
        self.0.read(&mut into[..size])
    }
}

/// An encoding that keeps what it encodes: none, or one in two parts, members or frames.
type Encoding = fn(&[u8]) -> Vec<u8>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let member = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    in_two_parts(bytes, member)
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    in_two_parts(bytes, |bytes| zstd::encode_all(bytes, 1).unwrap())
}

fn in_two_parts(bytes: &[u8], encode: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let (one, two) = bytes.split_at(bytes.len() / 3);
    [encode(one), encode(two)].concat()
}

const ENCODINGS: [(&str, Encoding); 3] = [("plain", <[u8]>::to_vec), ("gzip", gzip), ("zstd", zstd)];

/// Three inputs, the first one large.
fn inputs(encode: impl Fn(&[u8]) -> Vec<u8>, piece: usize) -> Vec<Input> {
    let read = |bytes: &[u8]| Dribble(std::io::Cursor::new(encode(bytes)), piece);
    vec![
        Input::from_reader("one", read(&corpus(9_000))),
        Input::from_reader("two", read(b"")),
        Input::from_reader("three", read(&corpus(23))),
    ]
}

#[test]
fn threads_and_read_sizes_change_no_byte() {
    let (expected, outcome) = run(inputs(<[u8]>::to_vec, usize::MAX), 1);
    assert!(outcome.tally.records() > 8_000);
    assert!(outcome.tally.statuses.iter().all(|count| *count > 0), "{:?}", outcome.tally.statuses);
    for threads in [1, 2, 7] {
        for piece in [4096, 100_003, usize::MAX] {
            let (outputs, _) = run(inputs(<[u8]>::to_vec, piece), threads);
            assert!(outputs == expected, "{threads} threads, reads of {piece}");
        }
    }
}

/// `run.json` without the one thing that compression may change.
fn without_stored_bytes(run: &[u8]) -> RunFile {
    let mut file = RunFile::from_json(run).unwrap();
    file.inputs.iter_mut().for_each(|input| input.stored_bytes = 0);
    file
}

fn assert_same_but_stored_bytes(found: &Outputs, expected: &Outputs, what: &str) {
    assert!(found.verdicts == expected.verdicts, "{what}");
    assert_eq!(found.summary, expected.summary, "{what}");
    assert_eq!(found.codes, expected.codes, "{what}");
    assert_eq!(without_stored_bytes(&found.run), without_stored_bytes(&expected.run), "{what}");
}

#[test]
fn small_reads_of_every_encoding_change_nothing() {
    let run = |encode: Encoding, piece, threads| {
        let read = Dribble(std::io::Cursor::new(encode(&corpus(60))), piece);
        run(vec![Input::from_reader("one", read)], threads).0
    };
    for (name, encode) in ENCODINGS {
        let whole = run(encode, usize::MAX, 1);
        assert_same_but_stored_bytes(&whole, &run(<[u8]>::to_vec, usize::MAX, 1), name);
        for (piece, threads) in [(1, 2), (7, 7), (4096, 2)] {
            assert!(run(encode, piece, threads) == whole, "{name}, reads of {piece}");
        }
    }
}

#[test]
fn compression_changes_only_the_stored_bytes() {
    let (plain, _) = run(inputs(<[u8]>::to_vec, usize::MAX), 2);
    for (name, encode) in ENCODINGS {
        let (outputs, outcome) = run(inputs(encode, 9973), 7);
        assert!(outcome.is_complete(), "{name}");
        assert_same_but_stored_bytes(&outputs, &plain, name);
    }
}

/// The corpus has something of every sort, or the other tests prove less than they say.
#[test]
fn the_corpus_has_lines_of_every_sort() {
    let (outputs, outcome) = run(inputs(<[u8]>::to_vec, usize::MAX), 1);
    let text = String::from_utf8(outputs.verdicts).unwrap();
    for code in
        ["record_too_large", "invalid_json", "missing_field", "str_ambiguous", "citation_not_declared"]
    {
        assert!(text.contains(code), "{code}");
    }
    assert!(outcome.inputs[0].blank > 0);
    assert!(outcome.inputs.iter().all(|input| input.lines == input.blank + input.records));
}

#[test]
fn run_json_reads_back_what_was_counted() {
    let (outputs, outcome) = run(inputs(<[u8]>::to_vec, usize::MAX), 2);
    let file = RunFile::from_json(&outputs.run).unwrap();
    assert_eq!(file.tally().unwrap(), outcome.tally);
    assert_eq!(file.balance.lines, file.balance.blank + file.balance.records);
    assert_eq!(file.balance.records, file.balance.valid + file.balance.invalid + file.balance.malformed);
    assert!(RunFile::from_json(b"{}").is_err());
}

/// Keeps the tally of each batch.
struct Parts(Vec<Tally>);

impl Sink for Parts {
    fn wants(&self) -> Wants {
        Wants::default()
    }

    fn take(&mut self, batch: &CheckedBatch) -> Result<(), Error> {
        self.0.push(batch.tally.clone());
        Ok(())
    }
}

#[test]
fn tallies_merge_in_any_order() {
    let mut parts = Parts(Vec::new());
    let outcome =
        check_corpus(inputs(<[u8]>::to_vec, 70_000), &RunOptions::new(settings()), &mut parts).unwrap();
    assert!(parts.0.len() > 3, "{}", parts.0.len());
    let merge = |parts: &mut dyn Iterator<Item = &Tally>| {
        parts.fold(Tally::default(), |mut whole, part| {
            whole.merge(part);
            whole
        })
    };
    assert_eq!(merge(&mut parts.0.iter()), outcome.tally);
    assert_eq!(merge(&mut parts.0.iter().rev()), outcome.tally);
    let (even, odd): (Vec<_>, Vec<_>) = parts.0.iter().enumerate().partition(|(i, _)| i % 2 == 0);
    let mut whole = merge(&mut even.into_iter().map(|(_, part)| part));
    whole.merge(&merge(&mut odd.into_iter().map(|(_, part)| part)));
    assert_eq!(whole, outcome.tally);
}

#[test]
fn a_listener_that_fails_ends_the_run_with_its_error() {
    struct Failing(usize);
    impl Sink for Failing {
        fn wants(&self) -> Wants {
            Wants { json: true, ..Wants::default() }
        }
        fn take(&mut self, _: &CheckedBatch) -> Result<(), Error> {
            self.0 -= 1;
            if self.0 == 0 { Err(Error::write("memory", std::io::Error::other("full"))) } else { Ok(()) }
        }
    }
    for threads in [1, 7] {
        let mut options = RunOptions::new(settings());
        options.threads = NonZeroUsize::new(threads).unwrap();
        let error = check_corpus(inputs(<[u8]>::to_vec, 70_000), &options, &mut Failing(3)).unwrap_err();
        assert!(error.to_string().contains("full"), "{error}");
    }
}
