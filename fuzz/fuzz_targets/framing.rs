//! Any bytes as a corpus, plain or compressed: one and two threads give the same bytes however the
//! input comes in, lines balance, and a plain input has the lines that a naive twin finds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sourcecheck::{
    CheckedBatch, Code, Error, Input, InputFormat, RunOptions, Settings, Sink, Wants, check_corpus,
};
use std::io::{self, Read};
use std::num::NonZeroUsize;

/// What a run says.
#[derive(Debug, Default, PartialEq)]
struct Said {
    json: Vec<u8>,
    /// Input, line, and whether it was too large.
    lines: Vec<(usize, u64, bool)>,
    complete: Vec<bool>,
}

impl Sink for Said {
    fn wants(&self) -> Wants {
        Wants { json: true, verdicts: true, ..Wants::default() }
    }

    fn take(&mut self, batch: &CheckedBatch) -> Result<(), Error> {
        self.json.extend_from_slice(&batch.json);
        let line = |verdict: &sourcecheck::RecordVerdict| {
            (batch.input, verdict.line, verdict.has(Code::RecordTooLarge))
        };
        self.lines.extend(batch.verdicts.iter().map(line));
        Ok(())
    }
}

/// A reader that gives a few bytes at a time.
struct Dribble(io::Cursor<Vec<u8>>, usize);

impl Read for Dribble {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.1.min(into.len());
        self.0.read(&mut into[..size])
    }
}

/// Runs over several inputs, because each is at least one batch: only then do two threads meet.
fn run(inputs: &[&[u8]], settings: &Settings, threads: usize, piece: usize) -> Said {
    let mut options = RunOptions::new(settings.clone());
    options.threads = NonZeroUsize::new(threads).expect("not zero");
    let input = |data: &&[u8]| Input::from_reader("corpus", Dribble(io::Cursor::new(data.to_vec()), piece));
    let mut said = Said::default();
    let outcome = check_corpus(inputs.iter().map(input).collect(), &options, &mut said)
        .expect("bad input is no error, and the balance holds");
    assert_eq!(said.json.iter().filter(|byte| **byte == b'\n').count(), said.lines.len());
    assert_eq!(outcome.tally.records(), said.lines.len() as u64);
    said.complete = vec![true; inputs.len()];
    for problem in &outcome.problems {
        assert_eq!(problem.input, "corpus");
    }
    said.complete.truncate(inputs.len() - outcome.problems.len());
    said
}

/// The lines of a plain input that have a verdict, one record a line; `None` where it is compressed.
fn naive(data: &[u8], limit: usize) -> Option<Vec<(u64, bool)>> {
    let is_skippable = matches!(data, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    if data.starts_with(b"\x1f\x8b") || data.starts_with(b"\x28\xb5\x2f\xfd") || is_skippable {
        return None;
    }
    if data.starts_with(b"\xff\xfe") || data.starts_with(b"\xfe\xff") {
        return Some(vec![(1, false)]);
    }
    let data = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let lines = data.split(|byte| *byte == b'\n').enumerate();
    let is_blank = |line: &[u8]| line.iter().all(|byte| b" \t\r".contains(byte));
    let full = lines.filter(|(_, line)| !is_blank(line));
    Some(full.map(|(i, line)| (i as u64 + 1, line.len() > limit)).collect())
}

fuzz_target!(|data: &[u8]| {
    let (head, tail) = data.split_at(data.len() / 2);
    let inputs = [data, head, tail];
    for (max_record_bytes, input_format) in [(16, InputFormat::Jsonl), (1 << 20, InputFormat::Auto)] {
        let settings = Settings { max_record_bytes, input_format, ..Settings::default() };
        let one = run(&inputs, &settings, 1, usize::MAX);
        assert_eq!(one, run(&inputs, &settings, 2, 5));
        for (i, data) in inputs.iter().enumerate() {
            let Some(expected) = naive(data, max_record_bytes) else { continue };
            let found = one.lines.iter().filter(|line| line.0 == i).map(|line| (line.1, line.2));
            if input_format == InputFormat::Jsonl {
                assert_eq!(found.collect::<Vec<_>>(), expected, "input {i}");
            }
        }
    }
});
