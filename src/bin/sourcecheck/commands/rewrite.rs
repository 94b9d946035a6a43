//! What `filter` and `normalize` have in common: a run that writes records.

use super::check::{fail, tell_problems};
use super::inputs::open_inputs;
use crate::args::InputArgs;
use crate::progress::Reporter;
use crate::signals;
use crate::terminal::note;
use sourcecheck::{
    Disk, Error, Input, OutputPlace, Outputs, Rewrite, RunOptions, Settings, check_corpus, exit,
};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An output of the command line: its flag, and where it goes.
pub(super) struct Named<'a> {
    pub(super) flag: &'static str,
    pub(super) path: Option<&'a Path>,
}

impl Named<'_> {
    pub(super) fn is_standard(&self) -> bool {
        self.path == Some(Path::new("-"))
    }

    fn place(&self) -> OutputPlace {
        match self.path {
            None => OutputPlace::Nowhere,
            Some(_) if self.is_standard() => {
                OutputPlace::Writer("standard output".to_owned(), Box::new(io::stdout()))
            }
            Some(path) => OutputPlace::File(path.to_owned()),
        }
    }
}

/// What a run that writes records has come to.
pub(super) struct Written {
    pub(super) counts: [u64; 4],
    code: u8,
}

/// Runs it, and says with what it ends. `last` is an output beside those that are named; `tell` prints what the
/// run has come to.
pub(super) fn run(
    args: &InputArgs,
    settings: Settings,
    rewrite: Arc<dyn Rewrite>,
    named: &[Named<'_>],
    last: Option<OutputPlace>,
    tell: impl Fn(&Written) -> io::Result<()>,
) -> u8 {
    let prepared = open_inputs(args).and_then(|inputs| different(&inputs, named).map(|()| inputs));
    let inputs = match prepared {
        Ok(inputs) => inputs,
        Err(error) => return fail(&error, None),
    };
    let reporter = Arc::new(Reporter::new(inputs.iter().map(Input::stored_bytes).sum()));
    let mut options = RunOptions::new(settings);
    options.rewrite = Some(rewrite);
    options.progress = Some(Arc::clone(&reporter) as _);
    options.threads = args.threads.unwrap_or(options.threads);
    let bar = Arc::clone(&reporter);
    let caught = signals::listen(options.cancel.clone(), move || bar.finish());
    let places = named.iter().map(Named::place).chain(last).collect();
    let result = write(inputs, &options, places, &reporter);
    reporter.finish();
    let told = result.and_then(|written| {
        tell(&written).map_err(|error| Error::write("standard output", error))?;
        Ok(written.code)
    });
    told.unwrap_or_else(|error| fail(&error, caught.exit_code()))
}

fn write(
    inputs: Vec<Input>,
    options: &RunOptions,
    places: Vec<OutputPlace>,
    reporter: &Reporter,
) -> Result<Written, Error> {
    let mut outputs = Outputs::create(Arc::new(Disk), places)?;
    let outcome = check_corpus(inputs, options, &mut outputs)?;
    reporter.finish();
    let counts = outputs.finish()?;
    tell_problems(&outcome);
    let code = exit::of_outcome(&outcome, &[], false);
    if outcome.tally.records() == 0 {
        note("no record was read");
    }
    // Whatever the records are like: the command did its whole job.
    Ok(Written { counts, code: if code < exit::USAGE { exit::OK } else { code } })
}

/// Outputs must be different files, and none of them an input.
fn different(inputs: &[Input], named: &[Named<'_>]) -> Result<(), Error> {
    let mut taken: Vec<(PathBuf, String)> = Vec::new();
    for input in inputs {
        taken.extend(std::fs::canonicalize(input.label()).ok().map(|path| (path, input.label().to_owned())));
    }
    for output in named {
        let Some(path) = output.path else { continue };
        let whole = if output.is_standard() { path.to_owned() } else { absolute(path) };
        if let Some((_, other)) = taken.iter().find(|(taken, _)| *taken == whole) {
            let (flag, path) = (output.flag, path.display());
            return Err(Error::setting(format!("{flag} {path} is {other} as well; give it another name")));
        }
        taken.push((whole, output.flag.to_owned()));
    }
    Ok(())
}

/// The path of a file that may not be there yet, without links on its way.
fn absolute(path: &Path) -> PathBuf {
    let whole = std::fs::canonicalize(path);
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let beside = || Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?));
    whole.ok().or_else(beside).unwrap_or_else(|| path.to_owned())
}

/// Says how many records were written on several lines.
pub(super) fn tell_several_lines(records: u64) {
    if records > 0 {
        note(&format!(
            "{records} of them stand on several lines, as their inputs have them: what reads the output line by line cannot read those"
        ));
    }
}

/// Prints the last words: to standard error where standard output is an output.
pub(super) fn say(named: &[Named<'_>], words: &str) -> io::Result<()> {
    if named.iter().any(Named::is_standard) {
        let _ = writeln!(io::stderr(), "{words}");
        return Ok(());
    }
    writeln!(io::stdout(), "{words}")
}
