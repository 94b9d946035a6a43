//! Each stage, and the whole, over the generated corpora. Counts are asserted before anything is
//! timed.

mod corpus;

use corpus::{Counts, Kind, corpus};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sourcecheck::stages::{Decoder, frame};
use sourcecheck::{
    Boundary, Checker, Input, JsonLines, LineNumber, Metric, RecordVerdict, Ref, RunOptions, Settings,
    Status, check_corpus, find_once, resolve_ref, write_verdict,
};
use std::hint::black_box;
use std::io::Cursor;

const BYTES: usize = 4_000_000;
const SEED: u64 = 7;

struct Corpus {
    name: &'static str,
    bytes: Vec<u8>,
    counts: Counts,
}

fn corpora() -> Vec<Corpus> {
    [("small", Kind::Small), ("large", Kind::Large), ("many", Kind::Many), ("answers", Kind::Answers)]
        .into_iter()
        .map(|(name, kind)| {
            let (bytes, counts) = corpus(kind, BYTES, SEED);
            Corpus { name, bytes, counts }
        })
        .collect()
}

fn lines(corpus: &Corpus) -> Vec<&[u8]> {
    corpus.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

fn run(corpus: &Corpus) -> (u64, u64, u64, u64) {
    let mut sink = JsonLines::new(Vec::new(), "memory");
    let input = Input::from_reader("corpus", Cursor::new(corpus.bytes.clone()));
    let outcome =
        check_corpus(vec![input], &RunOptions::new(Settings::default()), &mut sink).expect("it runs");
    let refs = outcome.tally.metric(Metric::ValidityRefs);
    let malformed = outcome.tally.of_status(Status::Malformed);
    (outcome.tally.records(), malformed, refs.d as u64, (refs.d - refs.n) as u64)
}

/// The whole pipeline finds exactly what the generator made.
fn assert_counts(corpus: &Corpus) {
    let Counts { records, malformed, refs, broken_refs } = corpus.counts;
    assert_eq!(run(corpus), (records, malformed, refs, broken_refs), "{}", corpus.name);
    assert_eq!(frame(Cursor::new(corpus.bytes.clone()), usize::MAX), (records, 0), "{}", corpus.name);
    let mut decoder = Decoder::default();
    let decoded = lines(corpus).iter().filter(|line| decoder.decode(line)).count() as u64;
    assert_eq!(decoded, records - malformed, "{}", corpus.name);
}

fn stages(criterion: &mut Criterion) {
    for corpus in &corpora() {
        assert_counts(corpus);
        let bytes = corpus.bytes.len() as u64;
        let mut bench = |stage: &str, work: &mut dyn FnMut()| {
            let mut group = criterion.benchmark_group(stage);
            group.throughput(Throughput::Bytes(bytes)).sample_size(20);
            group
                .bench_function(BenchmarkId::from_parameter(corpus.name), |bencher| bencher.iter(&mut *work));
            group.finish();
        };
        bench("frame", &mut || {
            black_box(frame(Cursor::new(corpus.bytes.clone()), usize::MAX));
        });
        let records = lines(corpus);
        let mut decoder = Decoder::default();
        bench("decode", &mut || {
            for line in &records {
                black_box(decoder.decode(black_box(line)));
            }
        });
        let mut checker = Checker::new(Settings::default());
        let mut verdict = RecordVerdict::new(1);
        bench("check", &mut || {
            for line in &records {
                verdict.reset(1);
                checker.check_into(black_box(line), &mut verdict);
            }
        });
        let verdicts: Vec<RecordVerdict> = records.iter().map(|line| checker.check(line)).collect();
        let mut out = Vec::new();
        bench("write", &mut || {
            out.clear();
            verdicts.iter().for_each(|verdict| write_verdict("corpus.jsonl", black_box(verdict), &mut out));
        });
        bench("pipeline", &mut || {
            black_box(run(corpus));
        });
    }
}

fn resolve(criterion: &mut Criterion) {
    let (bytes, _) = corpus(Kind::Small, 4_000, SEED);
    let line = String::from_utf8_lossy(&bytes[200..320]).into_owned();
    let needle = &line[60..66];
    assert_eq!(find_once(line.as_bytes(), needle.as_bytes()), sourcecheck::Occurrence::Once(60));
    let mut group = criterion.benchmark_group("resolve");
    group.bench_function("find_once, 120 B", |bencher| {
        bencher.iter(|| find_once(black_box(line.as_bytes()), needle.as_bytes()));
    });
    let boundary = Boundary { line: LineNumber::Small(1), str: needle };
    let reference = Ref { path: "a", start: boundary, end: boundary };
    assert!(resolve_ref(&line, &reference).is_ok());
    group.bench_function("resolve_ref, one line", |bencher| {
        bencher.iter(|| resolve_ref(black_box(&line), &reference));
    });
    group.finish();
}

criterion_group!(benches, stages, resolve);
criterion_main!(benches);
