//! Two runs, compared record by record from the files of their folders.

mod compact;
mod findings;
mod line;
mod matching;
mod notes;
mod verdicts;

use super::finished::FinishedRun;
use super::sorter::Scratch;
use crate::diagnostic::Rule;
use crate::error::Error;
use crate::output::DocumentsPart;
use crate::storage::Storage;
use crate::summary::{
    CodeChange, Comparison, PairGroups, Side, Tally, TwoTallies, Unpaired, paired_rows, rules, unpaired_rows,
};
use std::collections::HashMap;
use std::path::Path;

/// How two runs are compared.
#[derive(Clone, Copy)]
pub struct CompareOptions<'a> {
    /// How many records each list of the comparison names.
    pub max_listed: usize,
    /// A folder of the caller's, for temporary files: needed where the runs are large. None is left there.
    pub scratch: &'a Path,
    /// Bytes that a sort holds in memory before it writes them there: [`SORT_BYTES`](crate::SORT_BYTES), or
    /// fewer. Of sorts two are under way at a time.
    pub sort_bytes: usize,
    /// Asked again and again; the comparison ends when it says yes.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

impl CompareOptions<'_> {
    fn go_on(&self) -> Result<(), Error> {
        if (self.is_cancelled)() { Err(Error::cancelled()) } else { Ok(()) }
    }
}

/// Compares the run in the folder `new` with that in the folder `base`.
///
/// Records are the same where their ids are, by type and text, and each stands once in its run. Memory does not
/// grow with the runs: where their order differs, records go through temporary files.
///
/// # Errors
/// A folder that is not that of a finished run; runs with different shared documents; a file in a folder that cannot be read or is not as a run writes it;
/// a temporary file that cannot be written; the caller's cancelling.
pub fn compare_runs(
    storage: &dyn Storage,
    base: &Path,
    new: &Path,
    options: &CompareOptions<'_>,
) -> Result<Comparison, Error> {
    let (base, new) = (FinishedRun::open(storage, base)?, FinishedRun::open(storage, new)?);
    refuse_other_documents(&base, &new)?;
    let mut comparison = Comparison {
        base: side(&base),
        new: side(&new),
        unpaired: None,
        matching: None,
        rows: Vec::new(),
        codes: Vec::new(),
        notes: notes::notes(&base, &new)?,
    };
    if base.has_only_problems() || new.has_only_problems() {
        return over_all(comparison, Unpaired::OnlyProblems, &base, &new);
    }
    let scratch = Scratch { storage, folder: options.scratch, limit: options.sort_bytes };
    let (pairs, matching) = matching::match_runs(&base, &new, scratch, options)?.finish();
    comparison.matching = Some(matching);
    if is_too_few(&pairs, &comparison) {
        return over_all(comparison, Unpaired::FewPairs, &base, &new);
    }
    comparison.rows = paired_rows(&pairs);
    comparison.codes = CodeChange::differing(pairs.codes());
    Ok(comparison)
}

/// What a ref points at is part of its verdict.
fn refuse_other_documents(base: &FinishedRun<'_>, new: &FinishedRun<'_>) -> Result<(), Error> {
    if base.file.settings.documents == new.file.settings.documents {
        return Ok(());
    }
    let told = |run: &FinishedRun<'_>| {
        let folder = run.folder.display();
        match &run.file.settings.documents {
            None => format!("{folder} has no shared documents"),
            Some(part) => {
                let DocumentsPart { hash, count, bytes } = part;
                format!("{folder} has {count} shared documents of {bytes} bytes, hash {hash}")
            }
        }
    };
    Err(Error::setting(format!(
        "the runs do not have the same shared documents, so their verdicts cannot be compared: {}; {}; check both with the same --documents",
        told(base),
        told(new)
    )))
}

/// Fewer than half of the smaller run's records say too little of the others.
fn is_too_few(pairs: &PairGroups, comparison: &Comparison) -> bool {
    let smaller = comparison.base.records.min(comparison.new.records);
    pairs.pairs() == 0 || pairs.pairs() < smaller.div_ceil(2)
}

fn side(run: &FinishedRun<'_>) -> Side {
    Side {
        folder: run.folder.display().to_string(),
        run: run.file.run.clone(),
        records: run.file.balance.records,
    }
}

/// Compares all records of each run, from the tallies of both.
fn over_all(
    mut comparison: Comparison,
    why: Unpaired,
    base: &FinishedRun<'_>,
    new: &FinishedRun<'_>,
) -> Result<Comparison, Error> {
    comparison.unpaired = Some(why);
    comparison.rows = unpaired_rows(&new.file.settings.group_by, tallies_of_both(base, new)?);
    let (before, after) = (base.file.tally()?, new.file.tally()?);
    let records = |run, tally: &Tally, rule| if is_error(run, rule) { tally.rule(rule).records } else { 0 };
    let change =
        |rule| CodeChange { rule, base: records(base, &before, rule), new: records(new, &after, rule) };
    comparison.codes = CodeChange::differing(rules().map(change).collect());
    Ok(comparison)
}

/// Whether a finding is an error in this run: a lint is one where it was denied.
fn is_error(run: &FinishedRun<'_>, rule: Rule) -> bool {
    match rule {
        Rule::Code(_) => true,
        Rule::Lint(lint) => run.file.settings.denies(lint),
    }
}

/// The tallies of the groups that both runs have.
fn tallies_of_both(base: &FinishedRun<'_>, new: &FinishedRun<'_>) -> Result<Vec<TwoTallies>, Error> {
    let before: HashMap<&str, _> = base.file.tallies.iter().map(|part| (part.group.as_str(), part)).collect();
    let mut both = Vec::new();
    for part in &new.file.tallies {
        if let Some(before) = before.get(part.group.as_str()) {
            both.push((part.group.clone(), before.tally()?, part.tally()?));
        }
    }
    Ok(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Input, expand};
    use crate::output::SettingsPart;
    use crate::pipeline::{RunOptions, check_corpus};
    use crate::run::{FolderPlan, RunFolder, RunKind};
    use crate::settings::{Level, Settings};
    use crate::storage::Disk;
    use crate::summary::{Metric, MetricSums};
    use std::sync::Arc;

    /// Writes a run over everything that lies about here: valid, invalid and malformed records of both kinds.
    fn run(folder: &Path, settings: &Settings) {
        let storage: Arc<dyn Storage> = Arc::new(Disk);
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let paths = ["datasets/samples", "tests/fixtures"].map(|path| here.join(path));
        let inputs: Vec<Input> =
            paths.iter().flat_map(|path| expand(&storage, path, false).unwrap()).collect();
        let clock = Box::new(|| std::time::Duration::ZERO);
        let plan = FolderPlan {
            run: "",
            settings: SettingsPart::new(settings),
            inputs: None,
            restart: true,
            kind: RunKind::Check,
            clock,
        };
        let (mut out, _) = RunFolder::open(storage, folder, plan).unwrap();
        let outcome = check_corpus(inputs, &RunOptions::new(settings.clone()), &mut out).unwrap();
        let timing =
            crate::output::TimingFile { start: String::new(), seconds: 0.0, threads: 1, host: String::new() };
        out.finish(&outcome.report("", settings), &timing).unwrap();
    }

    /// What the verdicts come to when they are counted again.
    fn recount(run: &FinishedRun<'_>) -> ([u64; 3], Vec<MetricSums>, Vec<u64>) {
        let mut statuses = [0; 3];
        let mut sums = vec![MetricSums::default(); Metric::ALL.len()];
        let mut codes = vec![0; rules().count()];
        let mut verdicts = run.verdicts().unwrap();
        while let Some(record) = verdicts.next().unwrap() {
            let counted = record.counted;
            statuses[counted.status as usize] += 1;
            for ((metric, share), sums) in Metric::ALL.iter().zip(counted.shares).zip(&mut sums) {
                sums.add(share, metric.unit());
            }
            rules()
                .zip(&mut codes)
                .for_each(|(rule, count)| *count += u64::from(counted.rules.contains(rule)));
        }
        (statuses, sums, codes)
    }

    #[test]
    fn verdicts_counted_again_are_the_tallies() {
        let folder = std::env::temp_dir().join(format!("sourcecheck-recount-{}", std::process::id()));
        let mut denied = Settings { sentences: false, compress: true, ..Settings::default() };
        crate::diagnostic::Lint::ALL.iter().for_each(|lint| denied.lints.set(*lint, Level::Deny));
        for settings in [Settings::default(), denied] {
            run(&folder, &settings);
            let run = FinishedRun::open(&Disk, &folder).unwrap();
            let (statuses, sums, codes) = recount(&run);
            let tally = run.file.tally().unwrap();
            assert_eq!(statuses, tally.statuses);
            assert!(statuses.iter().all(|count| *count > 0), "{statuses:?}");
            for (metric, sums) in Metric::ALL.iter().zip(&sums) {
                assert_eq!(sums, tally.metric(*metric), "{}", metric.name());
            }
            let is_error = |rule: &Rule| matches!(rule, Rule::Code(_)) || settings.compress;
            for (rule, records) in rules().zip(codes).filter(|(rule, _)| is_error(rule)) {
                assert_eq!(records, tally.rule(rule).records, "{}", rule.name());
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
