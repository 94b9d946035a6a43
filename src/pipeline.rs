//! A corpus through input → checker → summary → output. The only place that knows threads.
//!
//! Each worker takes its next batch under a lock, checks it alone, and hands it on; whoever has the
//! next batch in line gives it to the listener. So the order of the output is that of the input,
//! whatever the number of threads, and memory is bounded by the batches in flight.

use crate::checker::{Checker, Unreadable};
use crate::error::Error;
use crate::input::{Batch, Buffer, Frame, Framer, Input, InputProblem, Position, Trouble};
use crate::limits::WAITING_BATCHES;
use crate::output::{
    CheckedBatch, EndedInput, Rewritten, RunReport, SettingsPart, Sink, Wants, verdict_head,
    write_verdict_after,
};
use crate::rewrite::{RawRecord, Rewrite};
use crate::run::Checkpoint;
use crate::settings::{InputFormat, Settings, Verdicts};
use crate::shard::Cut;
use crate::summary::{
    Gate, GateResult, Grouping, Groups, InputTally, Place, RecordCounts, Tally, judge_gates,
};
use crate::verdict::{RecordVerdict, Status};
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Ends a run early, from any thread. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks the run to end; it does so after the batches in hand.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Is told how far a run has come, once a batch.
pub trait Progress: Send + Sync {
    /// `stored_bytes` of all inputs have been read; `tally` counts the records checked so far.
    fn advance(&self, stored_bytes: u64, tally: &Tally);
}

/// How a run is run. Nothing here changes a byte of the output but the settings.
#[derive(Clone)]
pub struct RunOptions {
    /// What to check, and how.
    pub settings: Settings,
    /// Worker threads.
    pub threads: NonZeroUsize,
    /// To end the run early.
    pub cancel: CancelToken,
    /// To be told how far it has come.
    pub progress: Option<Arc<dyn Progress>>,
    /// Where it goes on, if it did not come to its end before.
    pub start: Option<Checkpoint>,
    /// Writes records, beside checking them.
    pub rewrite: Option<Arc<dyn Rewrite>>,
}

impl RunOptions {
    /// A run with these settings on as many threads as the machine has cores.
    pub fn new(settings: Settings) -> Self {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { settings, threads, cancel: CancelToken::default(), progress: None, start: None, rewrite: None }
    }

    /// Whether a run with these options can be over such inputs.
    ///
    /// # Errors
    /// An input that can be read but once cannot be cut into shards.
    pub fn accept(&self, inputs: &[Input]) -> Result<(), Error> {
        let once = inputs.iter().find(|input| !input.is_seekable());
        match once.filter(|_| self.settings.shard.is_some()) {
            None => Ok(()),
            Some(input) => Err(Error::setting(format!(
                "{} can be read but once, so it cannot be cut into shards; put it into a file first",
                if input.label() == "-" { "standard input" } else { input.label() }
            ))),
        }
    }
}

/// What a run has found, once it has come to its end.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The counts over all records.
    pub tally: Tally,
    /// The counts by group, in a run that has groups.
    pub groups: Groups,
    /// What was read of each input.
    pub inputs: Vec<InputTally>,
    /// Inputs that were not read to their end.
    pub problems: Vec<InputProblem>,
}

impl Outcome {
    /// Whether every input was read to its end.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty()
    }

    /// What the gates of the run come to.
    pub fn judge(&self, gates: &[Gate]) -> Vec<GateResult> {
        judge_gates(gates, &self.tally, &self.groups)
    }

    /// What the files of a run say of it.
    pub fn report<'a>(&'a self, run: &'a str, settings: &Settings) -> RunReport<'a> {
        let Self { tally, groups, inputs, .. } = self;
        let settings = SettingsPart::new(settings);
        RunReport { run, settings, inputs, complete: self.is_complete(), tally, groups, shard: None }
    }
}

/// Checks every record of the inputs, in order, and gives the verdicts to `sink`.
///
/// ```
/// use sourcecheck::{Input, JsonLines, RunOptions, Settings, check_corpus};
///
/// let corpus: &[u8] = b"{\"documents\":[],\"annotations\":[]}\nnonsense\n";
/// let mut sink = JsonLines::new(Vec::new(), "memory");
/// let outcome = check_corpus(vec![Input::from_reader("corpus", corpus)], &RunOptions::new(Settings::default()), &mut sink)?;
/// assert_eq!(outcome.tally.records(), 2);
/// assert_eq!(sink.into_inner().iter().filter(|byte| **byte == b'\n').count(), 2);
/// # Ok::<(), sourcecheck::Error>(())
/// ```
///
/// # Errors
/// The run was cancelled, the sink failed, or the program broke one of its own promises. An input
/// that cannot be opened or read is told in the outcome instead.
pub fn check_corpus(inputs: Vec<Input>, options: &RunOptions, sink: &mut dyn Sink) -> Result<Outcome, Error> {
    options.accept(&inputs)?;
    let workers = Workers::new(inputs, options, sink);
    if options.threads.get() == 1 {
        workers.work();
    } else {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads.get())
            .thread_name(|i| format!("check-{i}"))
            .build()
            .map_err(|error| {
                Error::setting(format!(
                    "cannot start {} threads: {error}; ask for fewer with --threads",
                    options.threads
                ))
            })?;
        pool.broadcast(|_| workers.work());
    }
    workers.finish()
}

/// What the workers share.
struct Workers<'a> {
    options: &'a RunOptions,
    reader: Mutex<Reader>,
    line: Mutex<Line>,
    /// Someone's batch was given on, or the run stops.
    moved: Condvar,
    listener: Mutex<Listener<'a>>,
    wants: AtomicUsize,
    stop: AtomicBool,
}

/// Empties a batch for the next task, keeping its memory.
fn start_batch(task: &mut Task, into: &mut CheckedBatch) {
    let mut used = std::mem::take(into);
    used.json.clear();
    used.verdicts.clear();
    used.records.clear();
    used.rewritten.outputs.iter_mut().for_each(Vec::clear);
    *into = CheckedBatch {
        input: task.input,
        file: Arc::clone(&task.file),
        json: used.json,
        verdicts: used.verdicts,
        records: used.records,
        rewritten: Rewritten {
            outputs: used.rewritten.outputs,
            ends_pieces: task.batch.ends_pieces,
            ..Rewritten::default()
        },
        stored_bytes: task.stored_bytes,
        input_stored_bytes: task.input_stored_bytes,
        lines: task.batch.lines,
        next: task.batch.next,
        ended: std::mem::take(&mut task.ended),
        ..CheckedBatch::default()
    };
}

/// A lock that a panic elsewhere does not spoil: the run ends with an error anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Workers<'a> {
    fn new(inputs: Vec<Input>, options: &'a RunOptions, sink: &'a mut dyn Sink) -> Self {
        let wants = AtomicUsize::new(pack(sink.wants()));
        let (outcome, grouping) = match &options.start {
            None => (Outcome::default(), SettingsPart::new(&options.settings).grouping()),
            Some(start) => {
                let inputs = start.inputs.clone();
                (Outcome { tally: start.tally.clone(), inputs, ..Outcome::default() }, start.grouping.clone())
            }
        };
        Self {
            options,
            reader: Mutex::new(Reader::new(inputs, options)),
            line: Mutex::new(Line::default()),
            moved: Condvar::new(),
            listener: Mutex::new(Listener { sink, outcome, grouping, error: None }),
            wants,
            stop: AtomicBool::new(false),
        }
    }

    /// One thread's work, from the first batch to the last.
    fn work(&self) {
        let _guard = StopOnPanic(self);
        let mut checker = Checker::new(self.options.settings.clone());
        let mut buffer = Buffer::default();
        let mut checked = CheckedBatch::default();
        while !self.stopped() {
            let Some(mut task) = lock(&self.reader).next(std::mem::take(&mut buffer)) else { break };
            self.check(&mut checker, &mut task, &mut checked);
            buffer = task.batch.into_buffer();
            checked = self.hand_on(task.number, checked);
        }
    }

    fn stopped(&self) -> bool {
        if self.options.cancel.is_cancelled() {
            self.halt();
        }
        self.stop.load(Ordering::Relaxed)
    }

    fn halt(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let _line = lock(&self.line);
        self.moved.notify_all();
    }

    /// Checks the records of one batch.
    fn check(&self, checker: &mut Checker, task: &mut Task, into: &mut CheckedBatch) {
        let wants = unpack(self.wants.load(Ordering::Relaxed));
        checker.set_evidence(wants.evidence);
        start_batch(task, into);
        let settings = &self.options.settings;
        let is_grouped = !settings.keys.groups.is_empty() || settings.keys.cluster.is_some();
        let head = verdict_head(&task.file);
        let rewrite = self.options.rewrite.as_deref();
        let mut verdict = RecordVerdict::new(0);
        task.batch.frames(settings.max_record_bytes, |line, frame| {
            verdict.reset(line);
            let raw = match frame {
                Frame::Blank => {
                    into.blank += 1;
                    return;
                }
                Frame::Piece(bytes) => {
                    into.rewritten.is_piece = true;
                    return rewrite.into_iter().for_each(|rewrite| rewrite.piece(bytes, &mut into.rewritten));
                }
                Frame::Record(raw) => {
                    checker.check_into(raw, &mut verdict);
                    Some(raw)
                }
                Frame::TooLarge(raw) => {
                    checker.check_unreadable(Unreadable::TooLarge, &mut verdict);
                    raw
                }
                Frame::Utf16(raw) => {
                    checker.check_unreadable(Unreadable::Utf16, &mut verdict);
                    Some(raw)
                }
            };
            into.tally.add(&verdict, Place { input: task.input, line });
            into.errors += verdict.errors.len() as u64;
            if let Some(rewrite) = rewrite {
                rewrite.record(&RawRecord { file: &task.file, raw }, &verdict, checker, &mut into.rewritten);
            }
            if is_grouped {
                into.records.push(RecordCounts::of(&verdict));
            }
            if wants.json && (settings.verdicts == Verdicts::All || verdict.status != Status::Valid) {
                write_verdict_after(&head, &verdict, &mut into.json);
            }
            if wants.verdicts || (wants.errors && !verdict.errors.is_empty()) {
                into.verdicts.push(std::mem::replace(&mut verdict, RecordVerdict::new(0)));
            }
        });
    }

    /// Puts a batch in line, and, unless another thread is at it, gives on every batch whose turn it
    /// is. Returns memory for the next one.
    fn hand_on(&self, number: u64, checked: CheckedBatch) -> CheckedBatch {
        let window = WAITING_BATCHES * self.options.threads.get() as u64;
        let mut line = lock(&self.line);
        while number >= line.next + window && !self.stop.load(Ordering::Relaxed) {
            line = self.moved.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        line.waiting.insert(number, checked);
        if line.busy {
            return line.spare.pop().unwrap_or_default();
        }
        line.busy = true;
        while let Some(checked) = line.take_next() {
            drop(line);
            self.give(&checked);
            line = lock(&self.line);
            line.spare.push(checked);
            self.moved.notify_all();
        }
        line.busy = false;
        line.spare.pop().unwrap_or_default()
    }

    /// Gives one batch to the listener.
    fn give(&self, checked: &CheckedBatch) {
        let mut listener = lock(&self.listener);
        if listener.error.is_some() {
            return;
        }
        if let Err(error) = listener.take(checked) {
            listener.error = Some(error);
            drop(listener);
            return self.halt();
        }
        self.wants.store(pack(listener.sink.wants()), Ordering::Relaxed);
        if let Some(progress) = &self.options.progress {
            progress.advance(checked.stored_bytes, &listener.outcome.tally);
        }
    }

    fn finish(self) -> Result<Outcome, Error> {
        let listener = self.listener.into_inner().unwrap_or_else(PoisonError::into_inner);
        let reader = self.reader.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = listener.error {
            return Err(error);
        }
        if self.options.cancel.is_cancelled() {
            return Err(Error::cancelled());
        }
        let mut outcome = listener.outcome;
        if let Some(grouping) = listener.grouping {
            let (groups, all) = grouping.finish();
            outcome.groups = groups;
            outcome.tally = all.unwrap_or(outcome.tally);
        }
        reader.add_counts(&mut outcome);
        check_balance(&outcome)?;
        Ok(outcome)
    }
}

/// Every line is a blank one or a record, and every record has one verdict.
fn check_balance(outcome: &Outcome) -> Result<(), Error> {
    let unbalanced = outcome.inputs.iter().find(|input| input.lines != input.blank + input.records);
    let records: u64 = outcome.inputs.iter().map(|input| input.records).sum();
    match unbalanced {
        Some(input) => Err(Error::defect(format!(
            "the balance of {} broke: {} lines, {} blank, {} records",
            input.name, input.lines, input.blank, input.records
        ))),
        None if records != outcome.tally.records() => Err(Error::defect("the balance of records broke")),
        None => Ok(()),
    }
}

/// If a worker panics, the others must not wait for its batch.
struct StopOnPanic<'w, 'a>(&'w Workers<'a>);

impl Drop for StopOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt();
        }
    }
}

/// Batches that wait for their turn.
#[derive(Default)]
struct Line {
    next: u64,
    waiting: BTreeMap<u64, CheckedBatch>,
    /// A thread is giving batches on.
    busy: bool,
    spare: Vec<CheckedBatch>,
}

impl Line {
    fn take_next(&mut self) -> Option<CheckedBatch> {
        let checked = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(checked)
    }
}

/// The sink, and what the run has counted.
struct Listener<'a> {
    sink: &'a mut dyn Sink,
    outcome: Outcome,
    grouping: Option<Grouping>,
    error: Option<Error>,
}

impl Listener<'_> {
    fn take(&mut self, checked: &CheckedBatch) -> Result<(), Error> {
        let inputs = &mut self.outcome.inputs;
        if inputs.len() <= checked.input {
            inputs.resize_with(checked.input + 1, InputTally::default);
        }
        inputs[checked.input].blank += checked.blank;
        inputs[checked.input].records += checked.tally.records();
        self.outcome.tally.merge(&checked.tally);
        if let Some(grouping) = &mut self.grouping {
            checked.records.iter().for_each(|record| grouping.add(checked.input, record));
        }
        self.sink.take(checked)
    }
}

/// A batch and where it belongs.
struct Task {
    number: u64,
    input: usize,
    file: Arc<str>,
    batch: Batch,
    /// Of all inputs so far, and of this one.
    stored_bytes: u64,
    input_stored_bytes: u64,
    /// Inputs that came to their end since the task before.
    ended: Vec<EndedInput>,
}

/// Reads the inputs one after the other.
struct Reader {
    inputs: VecDeque<Input>,
    /// What a shard has of each of all inputs; `None` where everything is checked.
    cuts: Option<Vec<Option<Cut>>>,
    /// Where the first of them is gone on with, and what was read of it before.
    resumed: Option<(Position, InputTally)>,
    cancel: CancelToken,
    current: Option<(Framer, Arc<str>)>,
    counts: Vec<InputTally>,
    problems: Vec<InputProblem>,
    ended: Vec<EndedInput>,
    number: u64,
    stored_bytes: u64,
    format: InputFormat,
    limit: usize,
    /// The bytes of records that are too large are wanted.
    pieces: bool,
}

impl Reader {
    fn new(mut inputs: Vec<Input>, options: &RunOptions) -> Self {
        let sizes: Vec<u64> = inputs.iter().map(Input::stored_bytes).collect();
        let cuts = options.settings.shard.map(|shard| shard.cuts(&sizes));
        let (mut counts, mut problems, mut resumed) = (Vec::new(), Vec::new(), None);
        if let Some(start) = &options.start {
            (counts, problems) = (start.inputs.clone(), start.problems.clone());
            resumed = counts.pop().map(|count| (start.position, count));
            inputs.drain(..counts.len().min(inputs.len()));
        }
        Self {
            inputs: inputs.into(),
            cuts,
            resumed,
            cancel: options.cancel.clone(),
            current: None,
            stored_bytes: counts.iter().map(|count| count.stored_bytes).sum(),
            counts,
            problems,
            ended: Vec::new(),
            number: 0,
            format: options.settings.input_format,
            limit: options.settings.max_record_bytes,
            pieces: options.rewrite.is_some(),
        }
    }

    /// The next batch of any input; `None` when all are at their end.
    fn next(&mut self, mut buffer: Buffer) -> Option<Task> {
        loop {
            let Some((framer, file)) = &mut self.current else {
                let input = self.inputs.pop_front()?;
                self.open(input);
                continue;
            };
            let read = framer.next(buffer);
            let stored_bytes = framer.stored_bytes();
            let count = self.counts.last_mut()?;
            count.stored_bytes = stored_bytes;
            match read {
                Ok(Some(batch)) => {
                    count.lines += batch.lines;
                    let task = Task {
                        number: self.number,
                        input: self.counts.len() - 1,
                        file: Arc::clone(file),
                        batch,
                        stored_bytes: self.stored_bytes + stored_bytes,
                        input_stored_bytes: stored_bytes,
                        ended: std::mem::take(&mut self.ended),
                    };
                    self.number += 1;
                    return Some(task);
                }
                Ok(None) => self.end(None),
                Err(fault) => self.end(Some((Trouble::Read { offset: fault.offset }, fault.error))),
            }
            buffer = Buffer::default();
        }
    }

    /// Opens an input; one that cannot be opened is remembered, and the next one is read.
    fn open(&mut self, input: Input) {
        let name = input.label().to_owned();
        let cut = self.cuts.as_ref().map_or(Some(Cut::WHOLE), |cuts| cuts[self.counts.len()]);
        let resumed = self.resumed.take();
        let lines = resumed.as_ref().map_or(0, |(_, before)| before.lines);
        self.counts.push(InputTally { name: name.clone(), lines, ..InputTally::default() });
        let Some(cut) = cut else { return self.end(None) };
        let format = if self.format == InputFormat::Auto { input.seen_as() } else { self.format };
        let opened = match resumed {
            None => input.open_cut(cut, format, self.limit, &|| !self.cancel.is_cancelled()),
            Some((from, before)) => input.resume(cut, from, before.stored_bytes, self.limit).map(Some),
        };
        match opened {
            Ok(Some(framer)) => {
                let framer = if self.pieces { framer.with_pieces() } else { framer };
                self.current = Some((framer, name.into()));
            }
            Ok(None) => self.end(None),
            Err(fault) => self.end(Some(fault)),
        }
    }

    /// Closes an input, with what kept it from being read to its end.
    fn end(&mut self, trouble: Option<(Trouble, std::io::Error)>) {
        let count = self.counts.last().cloned().unwrap_or_default();
        self.stored_bytes += count.stored_bytes;
        self.current = None;
        let input = count.name.clone();
        let problem =
            trouble.map(|(trouble, error)| InputProblem { input, trouble, reason: error.to_string() });
        self.problems.extend(problem.clone());
        self.ended.push(EndedInput { count, problem });
    }

    /// Adds what the reader counted to what the workers did.
    fn add_counts(self, outcome: &mut Outcome) {
        outcome.problems = self.problems;
        outcome.inputs.resize_with(self.counts.len(), InputTally::default);
        for (input, count) in outcome.inputs.iter_mut().zip(self.counts) {
            *input = InputTally { blank: input.blank, records: input.records, ..count };
        }
    }
}

/// What is wanted, in a word that threads can share.
fn pack(wants: Wants) -> usize {
    let flags = usize::from(wants.json) | usize::from(wants.errors) << 1 | usize::from(wants.verdicts) << 2;
    flags | wants.evidence.min(usize::MAX >> 3) << 3
}

fn unpack(word: usize) -> Wants {
    let flag = |i: u8| word & (1 << i) != 0;
    Wants { json: flag(0), errors: flag(1), verdicts: flag(2), evidence: word >> 3 }
}
