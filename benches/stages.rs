//! Each stage, and the whole, over the generated corpora. Counts are asserted before anything is
//! timed.

mod corpus;

use corpus::{Counts, Kind, corpus};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use icu_segmenter::SentenceSegmenter;
use icu_segmenter::options::SentenceBreakInvariantOptions;
use serde_json::Value;
use sourcecheck::stages::{Decoder, frame};
use sourcecheck::{
    Checker, Input, JsonLines, LineIndex, Metric, Occurrence, RecordVerdict, RunOptions, Sentences, Settings,
    Status, check_corpus, find_once, write_verdict,
};
use std::hint::black_box;
use std::io::{self, Cursor};
use std::sync::Arc;

const BYTES: usize = 4_000_000;
const SEED: u64 = 7;

struct Corpus {
    name: &'static str,
    /// Shared, so that a run that is timed need not copy them.
    bytes: Arc<[u8]>,
    counts: Counts,
}

impl Corpus {
    fn new(kind: Kind) -> Self {
        let (bytes, counts) = corpus(kind, BYTES, SEED);
        Self { name: kind.name(), bytes: bytes.into(), counts }
    }

    fn lines(&self) -> Vec<&[u8]> {
        self.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
    }

    fn reader(&self) -> Cursor<Arc<[u8]>> {
        Cursor::new(Arc::clone(&self.bytes))
    }
}

/// A whole run on every core, its verdicts written to nowhere.
fn run(corpus: &Corpus) -> Counts {
    let mut sink = JsonLines::new(io::sink(), "nowhere");
    let inputs = vec![Input::from_reader("corpus", corpus.reader())];
    let outcome =
        check_corpus(inputs, &RunOptions::new(Settings::default()), &mut sink).expect("the run succeeds");
    let (refs, citations) =
        (outcome.tally.metric(Metric::ValidityRefs), outcome.tally.metric(Metric::ValidityCitations));
    Counts {
        records: outcome.tally.records(),
        malformed: outcome.tally.of_status(Status::Malformed),
        refs: refs.d as u64,
        broken_refs: (refs.d - refs.n) as u64,
        citations: citations.d as u64,
        unknown_citations: (citations.d - citations.n) as u64,
    }
}

/// Everything that is timed finds exactly what the generator made.
fn assert_counts(corpus: &Corpus, sessions: &[Session]) {
    let Corpus { name, counts, .. } = corpus;
    let readable = counts.records - counts.malformed;
    assert_eq!(run(corpus), *counts, "{name}");
    assert_eq!(frame(corpus.reader(), usize::MAX), (counts.records, 0), "{name}");
    let mut decoder = Decoder::default();
    let decoded = corpus.lines().into_iter().filter(|line| decoder.decode(line)).count() as u64;
    assert_eq!(decoded, readable, "{name}");
    let mut lines = LineIndex::default();
    let resolved: u64 = sessions.iter().map(|session| session.resolve(&mut lines)).sum();
    assert_eq!(resolved, counts.refs - counts.broken_refs, "{name}");
}

/// A readable session's texts and refs, read by another reader than the checker's.
struct Session {
    contents: Vec<String>,
    /// The refs into each of the contents.
    refs: Vec<Vec<[Boundary; 2]>>,
}

struct Boundary {
    line: i64,
    str: String,
}

impl Session {
    /// `None` for a record that is malformed or no session.
    fn parse(line: &[u8], checker: &mut Checker) -> Option<Self> {
        if checker.check(line).status == Status::Malformed {
            return None;
        }
        let record: Value = serde_json::from_slice(line).ok()?;
        let documents = record["documents"].as_array()?;
        let contents: Vec<String> =
            documents.iter().map(|document| text(&document["content"])).collect::<Option<_>>()?;
        let mut refs: Vec<Vec<[Boundary; 2]>> = documents.iter().map(|_| Vec::new()).collect();
        for annotation in record["annotations"].as_array()? {
            for reference in annotation["sources"].as_array()?.iter().chain([&annotation["claim"]]) {
                let path = &reference["path"];
                if let Some(document) = documents.iter().position(|document| document["path"] == *path) {
                    refs[document].push([boundary(&reference["start"])?, boundary(&reference["end"])?]);
                }
            }
        }
        Some(Self { contents, refs })
    }

    /// How many refs resolve: the work of the resolver, document by document, from its public parts.
    fn resolve(&self, lines: &mut LineIndex) -> u64 {
        let mut resolved = 0;
        for (content, refs) in self.contents.iter().zip(&self.refs) {
            lines.rebuild(content);
            for [start, end] in refs {
                let places = (find(content, lines, start), find(content, lines, end));
                let (Some(from), Some(to)) = places else { continue };
                resolved += u64::from(from <= to && from + start.str.len() <= to + end.str.len());
            }
        }
        resolved
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn boundary(value: &Value) -> Option<Boundary> {
    Some(Boundary { line: value["line"].as_i64()?, str: text(&value["str"])? })
}

/// Where a boundary begins, in bytes of the content. Places on later lines are greater, so that
/// comparing them finds reversed lines too.
fn find(content: &str, lines: &LineIndex, boundary: &Boundary) -> Option<usize> {
    let line = lines.line(boundary.line)?;
    match find_once(&content.as_bytes()[line.clone()], boundary.str.as_bytes()) {
        Occurrence::Once(at) => Some(line.start + at),
        Occurrence::None | Occurrence::Many(..) => None,
    }
}

fn bench(criterion: &mut Criterion, stage: &str, corpus: &Corpus, mut work: impl FnMut()) {
    let mut group = criterion.benchmark_group(stage);
    group.throughput(Throughput::Bytes(corpus.bytes.len() as u64)).sample_size(20);
    group.bench_function(BenchmarkId::from_parameter(corpus.name), |bencher| bencher.iter(&mut work));
    group.finish();
}

fn stages(criterion: &mut Criterion) {
    for corpus in &Kind::ALL.map(Corpus::new) {
        let records = corpus.lines();
        let mut checker = Checker::new(Settings::default());
        let sessions: Vec<Session> =
            records.iter().filter_map(|line| Session::parse(line, &mut checker)).collect();
        assert_counts(corpus, &sessions);

        bench(criterion, "frame", corpus, || {
            black_box(frame(corpus.reader(), usize::MAX));
        });
        let mut decoder = Decoder::default();
        bench(criterion, "decode", corpus, || {
            for line in &records {
                black_box(decoder.decode(black_box(line)));
            }
        });
        let mut lines = LineIndex::default();
        if !sessions.is_empty() {
            bench(criterion, "resolve", corpus, || {
                for session in &sessions {
                    black_box(black_box(session).resolve(&mut lines));
                }
            });
        }
        let mut verdict = RecordVerdict::new(1);
        bench(criterion, "check", corpus, || {
            for line in &records {
                verdict.reset(1);
                checker.check_into(black_box(line), &mut verdict);
                black_box(&verdict);
            }
        });
        let verdicts: Vec<RecordVerdict> = records.iter().map(|line| checker.check(line)).collect();
        let mut out = Vec::new();
        bench(criterion, "write", corpus, || {
            out.clear();
            verdicts.iter().for_each(|verdict| write_verdict("corpus.jsonl", black_box(verdict), &mut out));
        });
        bench(criterion, "pipeline", corpus, || {
            black_box(run(corpus));
        });
    }
}

/// Jane Austen, "Pride and Prejudice", 1813: sentences long and short, and speech.
const ENGLISH: &str = "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be \
    in want of a wife.\n\nHowever little known the feelings or views of such a man may be on his first entering a \
    neighbourhood, this truth is so well fixed in the minds of the surrounding families, that he is considered as the \
    rightful property of some one or other of their daughters.\n\n\"My dear Mr. Bennet,\" said his lady to him one day, \
    \"have you heard that Netherfield Park is let at last?\"\n\nMr. Bennet replied that he had not.\n\n\"But it is,\" \
    returned she; \"for Mrs. Long has just been here, and she told me all about it.\"\n\nMr. Bennet made no answer.\n\n\
    \"Do not you want to know who has taken it?\" cried his wife impatiently.\n\n\"You want to tell me, and I have no \
    objection to hearing it.\"\n\nThis was invitation enough.\n\n";

/// Lu Xun, "My Old Home", 1921.
const CHINESE: &str = "我冒了严寒，回到相隔二千余里，别了二十余年的故乡去。\n\n时候既然是深冬；渐近故乡时，天气又阴晦了，\
    冷风吹进船舱中，呜呜的响，从篷隙向外一望，苍黄的天底下，远近横着几个萧索的荒村，没有一些活气。我的心禁不住悲凉起来了。\n\n\
    阿！这不是我二十年来时时记得的故乡？\n\n我所记得的故乡全不如此。我的故乡好得多了。但要我记起他的美丽，说出他的佳处来，\
    却又没有影像，没有言辞了。仿佛也就如此。\n\n";

/// The sentences of prose, beside the segmenter that the tests hold them to.
fn sentences(criterion: &mut Criterion) {
    for (language, prose) in [("english", ENGLISH), ("chinese", CHINESE)] {
        let text = prose.repeat(1_000_000 / prose.len());
        let segmenter = SentenceSegmenter::new(SentenceBreakInvariantOptions::default());
        // The segmenter begins with the break before the text.
        let expected = segmenter.segment_str(&text).count() - 1;
        assert_eq!(Sentences::uax29(&text).count(), expected, "{language}");
        let mut group = criterion.benchmark_group("sentences");
        group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(20);
        group.bench_function(BenchmarkId::new("ours", language), |bencher| {
            bencher.iter(|| Sentences::new(black_box(&text)).count());
        });
        group.bench_function(BenchmarkId::new("icu_segmenter", language), |bencher| {
            bencher.iter(|| segmenter.segment_str(black_box(&text)).count());
        });
        group.finish();
    }
}

criterion_group!(benches, stages, sentences);
criterion_main!(benches);
