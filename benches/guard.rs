//! The price of the full check, in simd-json's tapes: both run by turns, in one process and on one
//! thread, over the same bytes. Times are CPU time of the process, also in criterion's report.
//!
//! For each corpus it prints a line `guard: {JSON}`, which `scripts/guard` holds to the committed
//! ratio. Counts are asserted before anything is timed.

mod corpus;

use corpus::{Counts, Kind, corpus};
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use serde_json::json;
use sourcecheck::{Input, JsonLines, Metric, Outcome, RunOptions, Settings, Status, check_corpus};
use std::hint::black_box;
use std::io::{self, BufRead as _, Cursor, Write};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

const BYTES: usize = 8_000_000;
const SEED: u64 = 7;

struct Corpus {
    name: &'static str,
    bytes: Arc<[u8]>,
    counts: Counts,
}

impl Corpus {
    fn new(kind: Kind) -> Self {
        let (bytes, counts) = corpus(kind, BYTES, SEED);
        Self { name: kind.name(), bytes: bytes.into(), counts }
    }

    fn reader(&self) -> Cursor<Arc<[u8]>> {
        Cursor::new(Arc::clone(&self.bytes))
    }
}

/// simd-json's tape for every line, all memory reused: the least that reading the JSON can cost.
struct Tape {
    line: Vec<u8>,
    buffers: simd_json::Buffers,
    tape: simd_json::Tape<'static>,
}

impl Tape {
    fn new() -> Self {
        Self {
            line: Vec::new(),
            buffers: simd_json::Buffers::new(1 << 20),
            tape: simd_json::Tape(Vec::new()),
        }
    }

    /// How many lines are JSON, and how many are not.
    fn run(&mut self, corpus: &Corpus) -> (u64, u64) {
        let (mut good, mut bad) = (0, 0);
        let mut reader = corpus.reader();
        loop {
            self.line.clear();
            if reader.read_until(b'\n', &mut self.line).expect("memory is readable") == 0 {
                return (good, bad);
            }
            let mut tape = std::mem::replace(&mut self.tape, simd_json::Tape(Vec::new())).reset();
            match simd_json::fill_tape(&mut self.line, &mut self.buffers, &mut tape) {
                Ok(()) => good += 1,
                Err(_) => bad += 1,
            }
            self.tape = black_box(tape).reset();
        }
    }
}

/// Counts what is written to it.
#[derive(Default)]
struct Written(usize);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += black_box(bytes).len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The full check, from bytes to verdicts as JSON lines, and how many bytes those have.
fn check(corpus: &Corpus) -> (Outcome, usize) {
    let options = RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::new(Settings::default()) };
    let mut sink = JsonLines::new(Written::default(), "nowhere");
    let inputs = vec![Input::from_reader("corpus", corpus.reader())];
    let outcome = check_corpus(inputs, &options, &mut sink).expect("the run succeeds");
    (outcome, sink.into_inner().0)
}

/// Both find exactly what the generator made. Not every record that is malformed is broken JSON.
fn assert_counts(corpus: &Corpus, tape: &mut Tape) {
    let Corpus { name, counts, .. } = corpus;
    let (good, bad) = tape.run(corpus);
    assert_eq!(good + bad, counts.records, "{name}");
    assert!(bad <= counts.malformed, "{name}: {bad} lines are no JSON");
    let (outcome, written) = check(corpus);
    let of = |metric| {
        let sums = outcome.tally.metric(metric);
        (sums.d as u64, (sums.d - sums.n) as u64)
    };
    let ((refs, broken_refs), (citations, unknown_citations)) =
        (of(Metric::ValidityRefs), of(Metric::ValidityCitations));
    let (records, malformed) = (outcome.tally.records(), outcome.tally.of_status(Status::Malformed));
    let found = Counts { records, malformed, refs, broken_refs, citations, unknown_citations };
    assert_eq!(found, *counts, "{name}");
    assert!(written as u64 > counts.records, "{name}: {written} bytes of verdicts");
}

/// CPU time of the process so far.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(now).expect("time since the start of the process")
}

/// Where there is no CPU time to be had, the time that passes stands in for it.
#[cfg(not(unix))]
fn cpu_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = cpu_time();
    black_box(work());
    cpu_time().saturating_sub(start)
}

/// One run of each, the one right after the other.
struct Turn {
    tape: Duration,
    check: Duration,
}

/// Runs turns for as long as criterion asks for them; it is told of one side.
fn bench(
    group: &mut BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    side: impl Fn(&Turn) -> Duration,
    mut turn: impl FnMut() -> Turn,
) -> Vec<Turn> {
    let mut turns = Vec::new();
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let before = turns.len();
            turns.extend((0..times).map(|_| turn()));
            turns[before..].iter().map(&side).sum()
        });
    });
    turns
}

/// The median, and the quartiles around it. The list is not empty.
fn quartiles(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}

fn guard(criterion: &mut Criterion) {
    for corpus in &Kind::ALL.map(Corpus::new) {
        let mut tape = Tape::new();
        assert_counts(corpus, &mut tape);
        let mut turn = || Turn { tape: timed(|| tape.run(corpus)), check: timed(|| check(corpus)) };

        let mut group = criterion.benchmark_group(format!("guard/{}", corpus.name));
        group.throughput(Throughput::Bytes(corpus.bytes.len() as u64));
        group.sampling_mode(SamplingMode::Flat).sample_size(10);
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(1500));
        let mut turns = bench(&mut group, "tape", |turn| turn.tape, &mut turn);
        turns.extend(bench(&mut group, "check", |turn| turn.check, &mut turn));
        group.finish();

        // None where a filter left both sides out.
        if !turns.is_empty() {
            report(corpus, &turns);
        }
    }
}

fn report(corpus: &Corpus, turns: &[Turn]) {
    let [low, ratio, high] =
        quartiles(turns.iter().map(|turn| turn.check.as_secs_f64() / turn.tape.as_secs_f64()));
    let [_, tape, _] = quartiles(turns.iter().map(|turn| turn.tape.as_secs_f64()));
    let [_, check, _] = quartiles(turns.iter().map(|turn| turn.check.as_secs_f64()));
    let found = json!({
        "corpus": corpus.name,
        "bytes": corpus.bytes.len(),
        "turns": turns.len(),
        "ratio": ratio,
        "quartiles": [low, high],
        "tape_seconds": tape,
        "check_seconds": check,
    });
    println!("guard: {found}");
}

criterion_group!(benches, guard);
criterion_main!(benches);
