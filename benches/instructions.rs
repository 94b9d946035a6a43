//! How many instructions the full check, the sentences and the search take, counted under valgrind.
//! A count hardly differs from run to run, so that small steps backwards are seen too.
//!
//! It needs valgrind and `gungraun-runner` of gungraun's version; `scripts/guard` sees to both and
//! holds the counts to the committed ones.

#![allow(
    missing_docs,
    clippy::exit,
    reason = "gungraun's macros make items without docs, and a main that exits"
)]

#[allow(dead_code, reason = "the corpora are named one by one here")]
mod corpus;

use corpus::{Generator, Kind};
use gungraun::{Callgrind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};
use sourcecheck::{Checker, Occurrence, RecordVerdict, Sentences, Settings, find_once, write_verdict};
use std::hint::black_box;

const RECORDS: usize = 100;
const SEED: u64 = 7;

struct Corpus {
    records: Vec<String>,
    checker: Checker,
    verdict: RecordVerdict,
    out: Vec<u8>,
}

fn corpus(kind: Kind) -> Corpus {
    let mut generator = Generator::new(kind, SEED);
    Corpus {
        records: (0..RECORDS).map(|_| generator.record()).collect(),
        checker: Checker::new(Settings::default()),
        verdict: RecordVerdict::new(1),
        out: Vec::new(),
    }
}

#[library_benchmark]
#[bench::small(corpus(Kind::Small))]
#[bench::large(corpus(Kind::Large))]
#[bench::many(corpus(Kind::Many))]
#[bench::answers(corpus(Kind::Answers))]
fn check(mut corpus: Corpus) -> Corpus {
    for record in &corpus.records {
        corpus.verdict.reset(1);
        corpus.checker.check_into(black_box(record.as_bytes()), &mut corpus.verdict);
        write_verdict("corpus.jsonl", &corpus.verdict, &mut corpus.out);
    }
    corpus
}

/// Abbreviations, numbers, quotes, list labels, an ellipsis: every rule has something to do.
const ENGLISH: &str = "The U.S. figures, e.g. those of Dr. Smith, rose by 3.5 per cent in 2024. \"Why?\" \
    she asked. (Nobody knew.) It took two years... and then some! See section 4.2 for what came of it\n\
    1. The first item, which goes on for a while and says little.\n\
    b) The second; it has a semicolon, a comma and no end\n\n\
    A paragraph of plain words follows here, long enough that most of what is scanned is neither a full \
    stop nor a line end, as it is in most of what people write. It’s the rule – not the exception.\n";

const CHINESE: &str = "这是第一句话，里面有一个逗号。“为什么？”她问道。没有人知道！\
    二〇二四年的数字上升了3.5个百分点，其原因见第4.2节。\n后来又过了两年……然后就结束了。\n";

fn twenty_times(text: &str) -> String {
    text.repeat(20)
}

#[library_benchmark]
#[bench::english(twenty_times(ENGLISH))]
#[bench::chinese(twenty_times(CHINESE))]
fn sentences(text: String) -> (usize, String) {
    (Sentences::new(black_box(&text)).count(), text)
}

/// Lines of some lengths, and on each: a word that stands there once, one that stands there more
/// often, a letter, none, a longer string that is unique, and the line itself.
fn needles() -> Vec<(String, Vec<String>)> {
    [1, 4, 40, 400]
        .map(|times| {
            let line =
                format!("{}the unique end", "a line of words that come again and again, ".repeat(times));
            let unique = line[line.len() - 40..].to_owned();
            let words = ["unique", "words", "e", "zzqx"].map(str::to_owned);
            (line.clone(), words.into_iter().chain([unique, line]).collect())
        })
        .to_vec()
}

#[library_benchmark]
#[bench::lines(needles())]
fn find(needles: Vec<(String, Vec<String>)>) -> (usize, Vec<(String, Vec<String>)>) {
    let mut found = 0;
    for (line, needles) in &needles {
        for needle in needles {
            let occurrence = find_once(black_box(line.as_bytes()), black_box(needle.as_bytes()));
            found += usize::from(matches!(occurrence, Occurrence::Once(_)));
        }
    }
    (found, needles)
}

library_benchmark_group!(name = instructions, benchmarks = [check, sentences, find]);
// Without caches to simulate it takes half the time.
main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"]));
    library_benchmark_groups = instructions
);
