//! What is said of one record.

use crate::diagnostic::{Code, Diagnostic, Rule, Severity};

/// The status of a record (contract, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Everything in it holds.
    Valid,
    /// It can be read; something in it does not hold.
    Invalid,
    /// It cannot be read as a record.
    Malformed,
}

impl Status {
    /// The name, as verdicts print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Malformed => "malformed",
        }
    }
}

/// The two kinds of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Documents and annotations.
    Session,
    /// An answer with markers and its context.
    Answer,
}

impl Kind {
    /// The name, as verdicts print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Answer => "answer",
        }
    }
}

/// A record's `id`, as it was given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// A string.
    Text(String),
    /// A number, digit for digit.
    Number(String),
}

/// What a record is grouped by at one pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The pointer, as it was given.
    pub pointer: &'static str,
    /// The value there: a string as it is, others as JSON text, cut at 256 bytes; `None` where there
    /// is none.
    pub value: Option<String>,
}

/// Two counts: those that hold, and all. Never a quotient: 0 of 0 is neither 0 nor 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Those that hold.
    pub part: u64,
    /// All.
    pub whole: u64,
}

impl Share {
    /// Counts one more, which holds or not.
    pub fn add(&mut self, holds: bool) {
        self.part += u64::from(holds);
        self.whole += 1;
    }
}

/// The bands of confidence (spec, "Confidence"), from the best to the weakest.
pub const BANDS: [&str; 4] = ["primary", "secondary", "anecdotal", "weak"];

/// What is counted of a readable session (contract, section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// Valid annotations of all.
    pub annotations: Share,
    /// Valid refs of all.
    pub refs: Share,
    /// Covered characters of the claim documents: code points without White_Space.
    pub chars: Share,
    /// Covered sentences of the claim documents; `None` where sentences are not counted.
    pub sentences: Option<Share>,
    /// Sources of valid annotations that support.
    pub supports: u64,
    /// Sources of valid annotations that refute.
    pub refutes: u64,
    /// Valid annotations that are only supported.
    pub claims_supported: u64,
    /// Valid annotations that are only refuted.
    pub claims_refuted: u64,
    /// Valid annotations with both.
    pub claims_contested: u64,
    /// The sum of the confidences of sources of valid annotations, in units of 1e-9.
    pub confidence: u64,
    /// Those sources by band, in the order of [`BANDS`].
    pub bands: [u64; 4],
    /// Distinct documents that sources of valid annotations point into.
    pub documents_cited: u64,
    /// Distinct spans that they point at.
    pub spans_cited: u64,
}

/// What is counted of a readable answer (contract, section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerFacts {
    /// Distinct markers, inline or declared: those in the context, of all.
    pub citations: Share,
    /// Sentences that hold a known marker, of all; `None` where sentences are not counted.
    pub sentences: Option<Share>,
    /// Distinct chunks that known inline markers name.
    pub chunks_cited: u64,
    /// Distinct documents that they name.
    pub documents_cited: u64,
}

/// The counts of a readable record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facts {
    /// Of a session.
    Session(SessionFacts),
    /// Of an answer.
    Answer(AnswerFacts),
}

/// The verdict on one record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordVerdict {
    /// The physical line that the record starts on, from 1.
    pub line: u64,
    /// The record's `id`, where it is known.
    pub id: Option<Id>,
    /// What kind of record it is, where that is known.
    pub kind: Option<Kind>,
    /// What the record is grouped by, pointer by pointer; `None` where the run has no groups, empty where
    /// the record's JSON cannot be read.
    pub groups: Option<Vec<Group>>,
    /// What it has in common with the records of its cluster.
    pub cluster: Option<String>,
    /// The status; follows from `errors`.
    pub status: Status,
    /// What is wrong, in document order; denied lints last.
    pub errors: Vec<Diagnostic>,
    /// Advice, lint by lint in the order of the table, within a lint in document order.
    pub lints: Vec<Diagnostic>,
    /// The counts; `None` where the record is malformed.
    pub facts: Option<Facts>,
}

impl RecordVerdict {
    /// A verdict on the record at `line` that has nothing to say yet.
    pub fn new(line: u64) -> Self {
        Self {
            line,
            id: None,
            kind: None,
            groups: None,
            cluster: None,
            status: Status::Valid,
            errors: Vec::new(),
            lints: Vec::new(),
            facts: None,
        }
    }

    /// Makes this a verdict on the record at `line`, keeping the memory of its lists.
    pub fn reset(&mut self, line: u64) {
        self.errors.clear();
        self.lints.clear();
        let (errors, lints) = (std::mem::take(&mut self.errors), std::mem::take(&mut self.lints));
        *self = Self { errors, lints, ..Self::new(line) };
    }

    /// Derives the status from the errors. A denied lint makes a record invalid.
    pub fn settle(&mut self) {
        let severity = |error: &Diagnostic| match error.rule {
            Rule::Code(code) => code.severity(),
            Rule::Lint(_) => Severity::Invalid,
        };
        self.status = match self.errors.iter().map(severity).max() {
            None => Status::Valid,
            Some(Severity::Invalid) => Status::Invalid,
            Some(Severity::Malformed) => Status::Malformed,
        };
    }

    /// The limit that the record is longer than, if it is.
    pub(crate) fn too_large(&self) -> Option<u64> {
        let [error] = self.errors.as_slice() else { return None };
        error.offset.filter(|_| error.rule == Rule::Code(Code::RecordTooLarge))
    }

    /// Whether a code stands among the errors.
    pub fn has(&self, code: Code) -> bool {
        self.errors.iter().any(|error| error.rule == Rule::Code(code))
    }
}
