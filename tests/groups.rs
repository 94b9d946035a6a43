//! Groups, clusters and gates: what they count is what all records count.

mod common;

use proptest::prelude::*;
use sourcecheck::{
    CheckedBatch, Error, Gate, Input, JsonLines, Key, Keys, Metric, MetricSums, Outcome, RecordVerdict,
    RunFile, RunOptions, Settings, Shares, Sink, Verdicts, Wants, check_corpus, write_codes, write_run_file,
    write_summary,
};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

fn key(text: &'static str) -> Key {
    Key::parse(text).unwrap()
}

fn settings(groups: &[&'static str], cluster: Option<&'static str>) -> Settings {
    let keys = Keys {
        groups: groups.iter().map(|text| key(text)).collect(),
        cluster: cluster.map(key),
        id: Key::ID,
    };
    Settings { keys, ..Settings::default() }
}

/// Keeps every verdict.
#[derive(Default)]
struct Keep(Vec<RecordVerdict>);

impl Sink for Keep {
    fn wants(&self) -> Wants {
        Wants { verdicts: true, ..Wants::default() }
    }

    fn take(&mut self, batch: &CheckedBatch) -> Result<(), Error> {
        self.0.extend_from_slice(&batch.verdicts);
        Ok(())
    }
}

fn run(corpus: &[u8], settings: &Settings) -> (Outcome, Vec<RecordVerdict>) {
    let mut options = RunOptions::new(settings.clone());
    options.threads = NonZeroUsize::MIN;
    let mut keep = Keep::default();
    let input = Input::from_reader("memory", std::io::Cursor::new(corpus.to_vec()));
    let outcome = check_corpus(vec![input], &options, &mut keep).unwrap();
    (outcome, keep.0)
}

/// Records with a model and a question, some of them broken in one way or another.
fn records() -> impl Strategy<Value = Vec<u8>> {
    let record = (0..9usize, 0..4u8, 0..5u8, 0..8u8).prop_map(|(id, model, question, fate)| {
        let start = if fate == 0 { "the" } else { "cat" };
        let record = common::session(id, start);
        let model = match model {
            0 => String::new(),
            1 => "\"model\":7,".to_owned(),
            _ => format!("\"model\":\"m{model}\","),
        };
        let question = if question == 0 { String::new() } else { format!("\"q\":\"{question}\",") };
        let record = format!("{{{model}{question}{}", &record[1..]);
        match fate {
            1 => record.replace("\"documents\"", "\"document\""),
            2 => record[..record.len() / 2].to_owned(),
            3 => "[1]".to_owned(),
            _ => record,
        }
    });
    proptest::collection::vec(record, 0..40).prop_map(|lines| (lines.join("\n") + "\n").into_bytes())
}

/// The sums as the contract has them, cluster by cluster.
fn naive_sums(clusters: &[Vec<Shares>], metric: Metric) -> MetricSums {
    let mut sums = MetricSums::default();
    for cluster in clusters {
        let shares: Vec<_> = cluster.iter().map(|shares| shares[metric as usize]).collect();
        let n: u128 = shares.iter().map(|share| u128::from(share.part)).sum();
        let d: u128 = shares.iter().map(|share| u128::from(share.whole)).sum();
        if d == 0 {
            continue;
        }
        let records = shares.iter().filter(|share| share.whole > 0).count() as u64;
        sums = MetricSums {
            n: sums.n + n,
            d: sums.d + d,
            nn: sums.nn + n * n,
            nd: sums.nd + n * d,
            dd: sums.dd + d * d,
            records: sums.records + records,
            clusters: sums.clusters + 1,
            below: sums.below + u64::from(n < d * u128::from(metric.unit())),
            above_zero: sums.above_zero + u64::from(n > 0),
        };
    }
    sums
}

/// The name of the group that a verdict belongs to at the first pointer.
fn group_of(verdict: &RecordVerdict) -> String {
    match verdict.groups.as_ref().unwrap().first() {
        None => "/model (unreadable)".to_owned(),
        Some(group) => group.value.as_ref().map_or("/model".to_owned(), |value| format!("/model={value}")),
    }
}

proptest! {
    #[test]
    fn sums_over_groups_are_those_of_all(corpus in records()) {
        let (outcome, verdicts) = run(&corpus, &settings(&["/model", "/q"], None));
        for pointer in ["/model", "/q"] {
            let groups: Vec<_> =
                outcome.groups.held().into_iter().filter(|(name, _)| name.starts_with(pointer)).collect();
            for metric in Metric::ALL {
                let whole = outcome.tally.metric(*metric);
                let sum = |part: fn(&MetricSums) -> u128| groups.iter().map(|(_, tally)| part(tally.metric(*metric))).sum::<u128>();
                prop_assert_eq!(sum(|sums| sums.n), whole.n, "{} {}", pointer, metric.name());
                prop_assert_eq!(sum(|sums| sums.d), whole.d);
                prop_assert_eq!(sum(|sums| sums.nn), whole.nn);
                prop_assert_eq!(sum(|sums| sums.records.into()), u128::from(whole.records));
            }
            prop_assert_eq!(groups.iter().map(|(_, tally)| tally.records()).sum::<u64>(), verdicts.len() as u64);
        }
    }

    #[test]
    fn clusters_are_runs_of_one_value(corpus in records()) {
        let (outcome, verdicts) = run(&corpus, &settings(&["/model"], Some("/q")));
        // Of all, and of each group: the shares of each run of adjacent records with one value.
        let mut clusters: BTreeMap<String, Vec<(usize, Vec<Shares>)>> = BTreeMap::new();
        let (mut number, mut last) = (0, None);
        for verdict in &verdicts {
            number += usize::from(verdict.cluster.is_none() || verdict.cluster != last);
            last.clone_from(&verdict.cluster);
            for group in ["all".to_owned(), group_of(verdict)] {
                let list = clusters.entry(group).or_default();
                if list.last().is_none_or(|(other, _)| *other != number) {
                    list.push((number, Vec::new()));
                }
                list.last_mut().unwrap().1.push(Metric::all_of(verdict));
            }
        }
        for (group, clusters) in clusters {
            let clusters: Vec<Vec<Shares>> = clusters.into_iter().map(|(_, shares)| shares).collect();
            let found = outcome.groups.find(&group);
            let tally = found.as_deref().unwrap_or(&outcome.tally);
            for metric in Metric::ALL {
                prop_assert_eq!(*tally.metric(*metric), naive_sums(&clusters, *metric), "{} {}", group, metric.name());
            }
        }
    }
}

/// A long corpus in which groups, clusters and broken records go on from batch to batch.
fn long_corpus() -> Vec<u8> {
    let mut text = String::new();
    for i in 0..4000 {
        let record = common::session(i, if i % 5 == 0 { "the" } else { "cat" });
        let record = format!("{{\"model\":\"m{}\",\"q\":{},{}", i % 7, i / 3, &record[1..]);
        text += if i % 11 == 3 { &record[..50] } else { &record };
        text.push('\n');
    }
    text.into_bytes()
}

#[test]
fn threads_change_nothing() {
    let outputs = |threads: usize| {
        let settings = Settings { verdicts: Verdicts::Problems, ..settings(&["/model", "/id"], Some("/q")) };
        let mut options = RunOptions::new(settings);
        options.threads = NonZeroUsize::new(threads).unwrap();
        let mut sink = JsonLines::new(Vec::new(), "memory");
        let corpora = [long_corpus(), common::corpus(300)];
        let inputs = corpora.map(|corpus| Input::from_reader("one", std::io::Cursor::new(corpus)));
        let outcome = check_corpus(inputs.into(), &options, &mut sink).unwrap();
        let report = outcome.report("r", &options.settings);
        let mut file = Vec::new();
        write_run_file(&report, &mut file).unwrap();
        (sink.into_inner(), file, write_summary(&report).unwrap(), write_codes(&report).unwrap())
    };
    let one = outputs(1);
    assert!(one == outputs(2));
    assert!(one == outputs(7));
    let verdicts = String::from_utf8(one.0).unwrap();
    assert!(!verdicts.contains("\"status\":\"valid\"") && verdicts.contains("\"status\":\"invalid\""));
}

#[test]
fn run_json_reads_every_group_back() {
    let settings = settings(&["/model"], Some("/q"));
    let (outcome, _) = run(&long_corpus(), &settings);
    let mut file = Vec::new();
    write_run_file(&outcome.report("r", &settings), &mut file).unwrap();
    let file = RunFile::from_json(&file).unwrap();
    let read: Vec<_> = file.tallies.iter().map(|part| (part.group.clone(), part.tally().unwrap())).collect();
    let held = outcome.groups.held().into_iter().map(|(name, tally)| (name, tally.clone()));
    let counted: Vec<_> = std::iter::once(("all".to_owned(), outcome.tally.clone())).chain(held).collect();
    assert_eq!(read, counted);
}

/// One record for each number.
fn numbered(numbers: impl Iterator<Item = usize>) -> Vec<u8> {
    let line = |i| format!("{{\"n\":{i},\"documents\":[],\"annotations\":[]}}\n");
    numbers.map(line).collect::<String>().into_bytes()
}

#[test]
fn the_first_hundred_thousand_groups_are_told_apart() {
    let (outcome, _) = run(&numbered((0..100_002).chain([0, 100_001])), &settings(&["/n"], None));
    assert_eq!(outcome.groups.overfull().collect::<Vec<_>>(), ["/n"]);
    let held = outcome.groups.held();
    assert_eq!(held.len(), 100_001);
    assert_eq!((held[100_000].0.as_str(), held[100_000].1.records()), ("/n (other)", 3));
    assert!(outcome.groups.find("/n=100000").is_none());
    assert_eq!(outcome.groups.find("/n=0").unwrap().records(), 2);
    let shown = outcome.groups.shown();
    // The one with the most records first, the others by name.
    assert_eq!(shown.len(), 1001);
    assert_eq!((shown[0].0.as_str(), shown[1].0.as_str()), ("/n=0", "/n=1"));
    assert_eq!((shown[1000].0.as_str(), shown[1000].1.records()), ("/n (other)", 100_004 - 2 - 999));
    assert_eq!(outcome.groups.find("/n (other)").unwrap().records(), 100_004 - 2 - 999);
}

#[test]
fn gates_on_coverage_ask_for_all_that_is_known() {
    let corpus = common::session(1, "cat") + "\n{\"documents\":[],\"annotations\":[]}\n";
    let (outcome, _) = run(corpus.as_bytes(), &Settings::default());
    let holds = |gates: &[&str]| {
        let gates: Vec<Gate> = gates.iter().map(|gate| Gate::parse(gate).unwrap()).collect();
        outcome.judge(&gates).iter().map(sourcecheck::GateResult::holds).collect::<Vec<_>>()
    };
    assert_eq!(holds(&["coverage.chars>=0", "coverage.sentences>=0"]), [false, false]);
    assert_eq!(holds(&["coverage.chars>=0", "coverage.known>=50%"]), [true, true]);
    assert_eq!(holds(&["coverage.chars>=0", "coverage.known>50%"]), [true, false]);
}
