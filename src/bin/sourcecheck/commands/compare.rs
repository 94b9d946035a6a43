//! `sourcecheck compare`: two runs, and what changed.

use super::check::fail;
use crate::args::CompareArgs;
use crate::signals;
use crate::terminal::note;
use sourcecheck::{
    CancelToken, CompareOptions, Comparison, Disk, Error, Regression, RegressionResult, SORT_BYTES,
    compare_runs, comparison_csv, comparison_json, exit, judge_regressions, note_words, write_comparison,
    write_regressions,
};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs the command and returns its exit code.
pub(crate) fn run(args: &CompareArgs) -> u8 {
    let cancel = CancelToken::default();
    let regressions = match args.regressions() {
        Ok(regressions) => regressions,
        Err(error) => return fail(&error, None),
    };
    let scratch = match Scratch::new() {
        Ok(scratch) => scratch,
        Err(error) => return fail(&error, None),
    };
    let folder = scratch.0.clone();
    // The process may be ended before it can take its own files away.
    let caught = signals::listen(cancel.clone(), move || remove(&folder));
    let result = compare(args, &regressions, &scratch, &cancel);
    match result {
        Ok(code) => code,
        Err(error) => fail(&error, caught.exit_code()),
    }
}

fn compare(
    args: &CompareArgs,
    regressions: &[Regression],
    scratch: &Scratch,
    cancel: &CancelToken,
) -> Result<u8, Error> {
    let options = CompareOptions {
        max_listed: args.max_listed,
        scratch: &scratch.0,
        sort_bytes: SORT_BYTES,
        is_cancelled: &|| cancel.is_cancelled(),
    };
    let comparison = compare_runs(&Disk, &args.base, &args.new, &options)?;
    print(args, &comparison)?;
    comparison.notes.iter().for_each(|words| note(&note_words(words)));
    let results = judge_regressions(regressions, &comparison);
    // A standard error that cannot be written is no reason to fail.
    let _ = write_regressions(io::stderr(), &results);
    Ok(if results.iter().any(RegressionResult::fails) { exit::INVALID } else { exit::OK })
}

fn print(args: &CompareArgs, comparison: &Comparison) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    let written = if args.json {
        stdout.write_all(&comparison_json(comparison))
    } else if args.csv {
        let table = comparison_csv(comparison).map_err(|error| Error::defect(error.to_string()))?;
        stdout.write_all(&table)
    } else {
        write_comparison(&mut stdout, comparison)
    };
    written.and_then(|()| stdout.flush()).map_err(|error| Error::write("standard output", error))
}

/// A folder for temporary files, which goes when the command ends.
struct Scratch(PathBuf);

impl Scratch {
    /// Makes a folder that was not there before, and that nobody else may look into.
    fn new() -> Result<Self, Error> {
        let place = std::env::temp_dir();
        let mut number = 0u32;
        loop {
            let path = place.join(format!("sourcecheck-{}-{number}", std::process::id()));
            match make(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => number += 1,
                Err(error) => return Err(Error::create(path.display(), error)),
            }
        }
    }
}

fn make(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn remove(path: &Path) {
    // What cannot be removed is left to whoever cleans the place of temporary files.
    let _ = fs::remove_dir_all(path);
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.0);
    }
}
