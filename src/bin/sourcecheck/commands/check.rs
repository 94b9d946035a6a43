//! `sourcecheck check`: the main job.

use super::inputs::open_inputs;
use crate::args::CheckArgs;
use crate::progress::Reporter;
use crate::signals;
use crate::terminal::{Output, note};
use sourcecheck::{
    Begun, CheckedBatch, Checkpoint, Colours, Disk, Error, ErrorKind, FolderPlan, GROUPS, Gate, Input,
    JsonLines, Metric, Outcome, RunFolder, RunKind, RunOptions, Settings, SettingsPart, Sink, TextReport,
    TimingFile, Trouble, Wants, check_corpus, exit, write_gates, write_text_summary,
};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Runs the command and returns its exit code.
pub(crate) fn run(args: &CheckArgs) -> u8 {
    let reporter;
    let caught;
    let result = {
        let prepared = prepare(args);
        let Prepared { options, gates, inputs } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return fail(&error, None),
        };
        let sizes = inputs.iter().map(Input::stored_bytes);
        reporter = Arc::new(Reporter::new(match options.settings.shard {
            None => sizes.sum(),
            Some(shard) => shard.bytes(sizes),
        }));
        let options = RunOptions { progress: Some(Arc::clone(&reporter) as _), ..options };
        let bar = Arc::clone(&reporter);
        caught = signals::listen(options.cancel.clone(), move || bar.finish());
        check(args, options, &gates, inputs, &reporter)
    };
    reporter.finish();
    match result {
        Ok(code) => code,
        Err(error) => fail(&error, caught.exit_code()),
    }
}

struct Prepared {
    options: RunOptions,
    gates: Vec<Gate>,
    inputs: Vec<Input>,
}

/// Everything that can be wrong before the first byte is read.
fn prepare(args: &CheckArgs) -> Result<Prepared, Error> {
    let mut options = RunOptions::new(args.settings()?);
    if let Some(threads) = args.input.threads {
        options.threads = threads;
    }
    let inputs = open_inputs(&args.input)?;
    options.accept(&inputs)?;
    Ok(Prepared { options, gates: args.gates()?, inputs })
}

/// The run itself.
fn check(
    args: &CheckArgs,
    mut options: RunOptions,
    gates: &[Gate],
    inputs: Vec<Input>,
    reporter: &Reporter,
) -> Result<u8, Error> {
    let start = SystemTime::now();
    let mut listeners = Listeners::new(args, reporter);
    if let Some(folder) = &args.out {
        let (folder, begun) = open_folder(folder, || plan(args, &options.settings, &inputs))?;
        listeners.folder = Some(folder);
        options.start = go_on(begun);
    }
    let outcome = check_corpus(inputs, &options, &mut listeners)?;
    reporter.finish();
    if let Some(text) = listeners.text {
        text.finish(&outcome.report(&args.run, &options.settings))?;
    }
    if let Some(folder) = listeners.folder {
        let timing = timing(start, reporter.seconds(), options.threads.get());
        folder.finish(&outcome.report(&args.run, &options.settings), &timing)?;
        // A standard error that cannot be written is no reason to fail a run that is whole.
        let _ = write_text_summary(io::stderr(), &outcome.report(&args.run, &options.settings));
    }
    tell(&outcome, args, &options.settings);
    if options.settings.shard.is_some() {
        return Ok(end_shard(&outcome, gates));
    }
    let gates = outcome.judge(gates);
    let _ = write_gates(io::stderr(), &gates);
    Ok(exit::of_outcome(&outcome, &gates, args.allow_empty))
}

/// A shard may well be empty, and its counts are not those that a gate is about.
fn end_shard(outcome: &Outcome, gates: &[Gate]) -> u8 {
    let code = exit::of_outcome(outcome, &[], true);
    if gates.is_empty() {
        return code;
    }
    note("gates are not judged for one shard; give them to `sourcecheck merge`");
    if code < exit::USAGE { exit::OK } else { code }
}

/// What may differ between two runs of the same thing.
pub(super) fn timing(start: SystemTime, seconds: f64, threads: usize) -> TimingFile {
    TimingFile {
        start: humantime::format_rfc3339_seconds(start).to_string(),
        seconds,
        threads,
        host: gethostname::gethostname().to_string_lossy().into_owned(),
    }
}

/// Opens the folder of the run. A run that was killed just now may hold it for some moments yet.
fn open_folder<'a>(folder: &Path, plan: impl Fn() -> FolderPlan<'a>) -> Result<(RunFolder, Begun), Error> {
    const MOMENT: Duration = Duration::from_millis(50);
    for _ in 0..20 {
        match RunFolder::open(Arc::new(Disk), folder, plan()) {
            Err(error) if matches!(error.kind(), ErrorKind::Held { .. }) => std::thread::sleep(MOMENT),
            opened => return opened,
        }
    }
    RunFolder::open(Arc::new(Disk), folder, plan())
}

fn plan<'a>(args: &'a CheckArgs, settings: &'a Settings, inputs: &[Input]) -> FolderPlan<'a> {
    let started = Instant::now();
    FolderPlan {
        run: &args.run,
        settings: SettingsPart::new(settings),
        inputs: inputs.iter().map(Input::fingerprint).collect(),
        restart: args.restart,
        kind: RunKind::Check,
        clock: Box::new(move || started.elapsed()),
    }
}

/// Where a run goes on, said aloud.
fn go_on(begun: Begun) -> Option<Checkpoint> {
    match begun {
        Begun::Afresh => None,
        Begun::Again => {
            note(
                "the run in this folder did not come to its end; it starts over, since standard input can be read but once",
            );
            None
        }
        Begun::Resumed(checkpoint) => {
            let (name, position) = checkpoint.place();
            let behind = checkpoint.inputs_behind();
            note(&format!(
                "the run in this folder did not come to its end; it goes on at byte {} of {name} (line {}), with {behind} inputs behind it",
                position.offset, position.line
            ));
            Some(*checkpoint)
        }
    }
}

/// Those who listen to this run.
struct Listeners {
    folder: Option<RunFolder>,
    json: Option<JsonLines<Output<io::Stdout>>>,
    text: Option<TextReport<Output<anstream::AutoStream<io::Stdout>>>>,
}

impl Listeners {
    fn new(args: &CheckArgs, reporter: &Reporter) -> Self {
        let json = args.json.then(|| JsonLines::new(Output::plain(reporter.bar()), "standard output"));
        let text = (!args.json && args.out.is_none())
            .then(|| TextReport::new(Output::styled(reporter.bar()), args.max_diagnostics, Colours::Styled));
        Self { folder: None, json, text }
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
fn tell(outcome: &Outcome, args: &CheckArgs, settings: &Settings) {
    tell_problems(outcome);
    let known = outcome.tally.metric(Metric::CoverageKnown);
    let missing = known.d - known.n;
    if missing > 0 {
        note(&format!(
            "{missing} of {} readable records have nothing to cover, so coverage does not count them; --claim-path GLOB says which documents should be covered",
            known.d
        ));
    }
    for pointer in outcome.groups.overfull() {
        note(&format!(
            "--group-by {pointer}: there are more than {GROUPS} groups; those after the first {GROUPS} are counted together as `{pointer} (other)`, and this run cannot be merged with others"
        ));
    }
    if outcome.tally.records() == 0 && !args.allow_empty && settings.shard.is_none() {
        note("no record was read, and nothing checked is not a pass; --allow-empty makes it one");
    }
}

/// Names the inputs that were not read to their end.
pub(super) fn tell_problems(outcome: &Outcome) {
    for problem in &outcome.problems {
        let (name, reason) = (&problem.input, &problem.reason);
        note(&match problem.trouble {
            Trouble::Open => format!("{name}: cannot be opened: {reason}; the other inputs were checked"),
            Trouble::Read { offset } => format!(
                "{name}: cannot be read further at stored byte {offset}: {reason}; every whole record before it has its verdict, nothing after it has"
            ),
        });
    }
}

/// Says why a run failed, unless the reader of its output went away, which is quiet.
pub(super) fn fail(error: &Error, signal: Option<u8>) -> u8 {
    match (error.kind(), signal) {
        (ErrorKind::OutputClosed, _) => {}
        (ErrorKind::Cancelled, _) => {
            note("interrupted; with --out, the same command goes on where this run ended");
        }
        _ => note(&error.to_string()),
    }
    match (error.kind(), signal) {
        (ErrorKind::Cancelled, Some(code)) => code,
        _ => exit::of_error(error),
    }
}
