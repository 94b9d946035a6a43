//! `sourcecheck check`: the main job.

use crate::args::CheckArgs;
use crate::progress::Reporter;
use crate::signals;
use crate::terminal::{Output, note, standard_input};
use sourcecheck::{
    CheckedBatch, Colours, Disk, Error, ErrorKind, Input, JsonLines, Metric, Outcome, RunFolder, RunOptions,
    Sink, Storage, TextReport, TimingFile, Trouble, Wants, check_corpus, exit, expand, write_text_summary,
};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// Runs the command and returns its exit code.
pub(crate) fn run(args: &CheckArgs) -> u8 {
    let reporter;
    let caught;
    let result = {
        let prepared = prepare(args);
        let (options, inputs) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return fail(&error, None),
        };
        reporter = Arc::new(Reporter::new(inputs.iter().map(Input::stored_bytes).sum()));
        let options = RunOptions { progress: Some(Arc::clone(&reporter) as _), ..options };
        let bar = Arc::clone(&reporter);
        let unfinished = args.out.as_ref().map(|folder| folder.join("verdicts.jsonl.partial"));
        caught = signals::listen(options.cancel.clone(), unfinished, move || bar.finish());
        check(args, &options, inputs, &reporter)
    };
    reporter.finish();
    match result {
        Ok(code) => code,
        Err(error) => fail(&error, caught.exit_code()),
    }
}

/// Everything that can be wrong before the first byte is read.
fn prepare(args: &CheckArgs) -> Result<(RunOptions, Vec<Input>), Error> {
    let mut options = RunOptions::new(args.settings()?);
    if let Some(threads) = args.threads {
        options.threads = threads;
    }
    Ok((options, open_inputs(args)))
}

fn open_inputs(args: &CheckArgs) -> Vec<Input> {
    let storage: Arc<dyn Storage> = Arc::new(Disk);
    let standard = || Input::from_reader("-", standard_input());
    if args.inputs.is_empty() {
        return vec![standard()];
    }
    let mut inputs = Vec::new();
    for path in &args.inputs {
        if path == Path::new("-") {
            inputs.push(standard());
            continue;
        }
        // A directory that cannot be listed fails again, and is told of, when it is opened.
        let found = expand(&storage, path);
        inputs.extend(found.unwrap_or_else(|_| vec![Input::from_path(Arc::clone(&storage), path)]));
    }
    inputs
}

/// The run itself.
fn check(
    args: &CheckArgs,
    options: &RunOptions,
    inputs: Vec<Input>,
    reporter: &Reporter,
) -> Result<u8, Error> {
    let start = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let mut listeners = Listeners::new(args, reporter)?;
    let outcome = check_corpus(inputs, options, &mut listeners)?;
    reporter.finish();
    if let Some(text) = listeners.text {
        text.finish(&outcome.tally, &outcome.inputs)?;
    }
    if let Some(folder) = listeners.folder {
        let timing = TimingFile {
            start,
            seconds: reporter.seconds(),
            threads: options.threads.get(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
        };
        let complete = outcome.is_complete();
        folder.finish(&args.run, &options.settings, &outcome.inputs, complete, &outcome.tally, &timing)?;
        // A standard error that cannot be written is no reason to fail a run that is whole.
        let _ = write_text_summary(io::stderr(), &outcome.tally, &outcome.inputs);
    }
    tell(&outcome, args);
    Ok(exit::of_outcome(&outcome, args.allow_empty))
}

/// Those who listen to this run.
struct Listeners {
    folder: Option<RunFolder>,
    json: Option<JsonLines<Output<io::Stdout>>>,
    text: Option<TextReport<Output<anstream::AutoStream<io::Stdout>>>>,
}

impl Listeners {
    fn new(args: &CheckArgs, reporter: &Reporter) -> Result<Self, Error> {
        let folder = match &args.out {
            Some(folder) => Some(RunFolder::create(Arc::new(Disk), folder)?),
            None => None,
        };
        let json = args.json.then(|| JsonLines::new(Output::plain(reporter.bar()), "standard output"));
        let text = (!args.json && folder.is_none())
            .then(|| TextReport::new(Output::styled(reporter.bar()), args.max_diagnostics, Colours::Styled));
        Ok(Self { folder, json, text })
    }

    fn each(&mut self) -> impl Iterator<Item = &mut dyn Sink> {
        let folder = self.folder.as_mut().map(|sink| sink as &mut dyn Sink);
        let json = self.json.as_mut().map(|sink| sink as &mut dyn Sink);
        let text = self.text.as_mut().map(|sink| sink as &mut dyn Sink);
        [folder, json, text].into_iter().flatten()
    }
}

impl Sink for Listeners {
    fn wants(&self) -> Wants {
        let folder = self.folder.as_ref().map(Sink::wants);
        let json = self.json.as_ref().map(Sink::wants);
        let text = self.text.as_ref().map(Sink::wants);
        [folder, json, text].into_iter().flatten().fold(Wants::default(), Wants::or)
    }

    fn take(&mut self, batch: &CheckedBatch) -> Result<(), Error> {
        self.each().try_for_each(|sink| sink.take(batch))
    }
}

/// What a person must know beside the report, on standard error.
fn tell(outcome: &Outcome, args: &CheckArgs) {
    for problem in &outcome.problems {
        let (name, reason) = (&problem.input, &problem.reason);
        note(&match problem.trouble {
            Trouble::Open => format!("{name}: cannot be opened: {reason}; the other inputs were checked"),
            Trouble::Read { offset } => format!(
                "{name}: cannot be read further at stored byte {offset}: {reason}; every whole record before it has its verdict, nothing after it has"
            ),
        });
    }
    let known = outcome.tally.metric(Metric::CoverageKnown);
    let missing = known.d - known.n;
    if missing > 0 {
        note(&format!(
            "{missing} of {} readable records have nothing to cover, so coverage does not count them; --claim-path GLOB says which documents should be covered",
            known.d
        ));
    }
    if outcome.tally.records() == 0 && !args.allow_empty {
        note("no record was read, and nothing checked is not a pass; --allow-empty makes it one");
    }
}

/// Says why a run failed, unless the reader of its output went away, which is quiet.
fn fail(error: &Error, signal: Option<u8>) -> u8 {
    match (error.kind(), signal) {
        (ErrorKind::OutputClosed, _) => {}
        (ErrorKind::Cancelled, _) => note("interrupted; nothing was left half-written"),
        _ => note(&error.to_string()),
    }
    match (error.kind(), signal) {
        (ErrorKind::Cancelled, Some(code)) => code,
        _ => exit::of_error(error),
    }
}
