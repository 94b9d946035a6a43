//! The one trait between a run and whatever listens to it.

use crate::error::Error;
use crate::input::{InputProblem, Position};
use crate::summary::{InputTally, RecordCounts, Tally};
use crate::verdict::RecordVerdict;
use std::sync::Arc;

/// What a listener needs of each batch. What nobody wants is not made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// The verdicts as JSON lines.
    pub json: bool,
    /// The verdicts with errors, as values.
    pub errors: bool,
    /// All verdicts, as values.
    pub verdicts: bool,
    /// How many errors must carry what people need to see of the texts.
    pub evidence: usize,
}

impl Wants {
    /// What either of two listeners wants.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            json: self.json || other.json,
            errors: self.errors || other.errors,
            verdicts: self.verdicts || other.verdicts,
            evidence: self.evidence.max(other.evidence),
        }
    }
}

/// The verdicts on consecutive records of one input.
#[derive(Clone, Debug, Default)]
pub struct CheckedBatch {
    /// The input's place in the run, from 0.
    pub input: usize,
    /// The input's name.
    pub file: Arc<str>,
    /// JSON lines, if they were wanted.
    pub json: Vec<u8>,
    /// Verdicts, as far as they were wanted.
    pub verdicts: Vec<RecordVerdict>,
    /// What the batch adds to the run's tally.
    pub tally: Tally,
    /// What each record adds to its groups, in a run that has groups or clusters.
    pub records: Vec<RecordCounts>,
    /// Errors in the batch, denied lints among them.
    pub errors: u64,
    /// Blank lines in the batch.
    pub blank: u64,
    /// Stored bytes of all inputs that had been read when this batch was.
    pub stored_bytes: u64,
    /// Those of this input.
    pub input_stored_bytes: u64,
    /// Lines in the batch.
    pub lines: u64,
    /// Where in the input the next batch begins, if a run can go on there.
    pub next: Option<Position>,
    /// Inputs before this one that came to their end since the batch before.
    pub ended: Vec<EndedInput>,
    /// What is written of its records, in a run that writes records.
    pub rewritten: Rewritten,
}

/// What a batch adds to the outputs of a run that writes records.
#[derive(Clone, Debug, Default)]
pub struct Rewritten {
    /// Bytes for each output.
    pub outputs: Vec<Vec<u8>>,
    /// Counts, of what is the writer's own affair.
    pub counts: [u64; 4],
    /// The bytes are of a record that is too large, or of a blank line: which, and whether it is whole, is
    /// known in a later batch.
    pub is_piece: bool,
    /// This batch ends such pieces: they stay if it has a record, and else they go.
    pub ends_pieces: bool,
}

/// An input that came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedInput {
    /// What the reader counted; blank lines and records are counted in batches.
    pub count: InputTally,
    /// What kept it from being read to its end.
    pub problem: Option<InputProblem>,
}

/// Listens to a run. Batches come in the order of the inputs, one call at a time, from any thread.
pub trait Sink: Send {
    /// What is needed from now on. Asked before the first batch and after each; a listener may want
    /// less as the run goes on, never more.
    fn wants(&self) -> Wants;

    /// Takes the next batch.
    ///
    /// # Errors
    /// A failed write. It ends the run.
    fn take(&mut self, batch: &CheckedBatch) -> Result<(), Error>;
}

/// Verdicts as JSON lines to any writer.
#[derive(Debug)]
pub struct JsonLines<W> {
    writer: W,
    name: String,
}

impl<W: std::io::Write + Send> JsonLines<W> {
    /// Writes to `writer`, which messages call `name`.
    pub fn new(writer: W, name: impl Into<String>) -> Self {
        Self { writer, name: name.into() }
    }

    /// The writer.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

impl<W: std::io::Write + Send> Sink for JsonLines<W> {
    fn wants(&self) -> Wants {
        Wants { json: true, ..Wants::default() }
    }

    fn take(&mut self, batch: &CheckedBatch) -> Result<(), Error> {
        let written = self.writer.write_all(&batch.json).and_then(|()| self.writer.flush());
        written.map_err(|error| Error::write(&self.name, error))
    }
}
