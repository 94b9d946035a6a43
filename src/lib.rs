//! Checks whether the citations in model answers point at what they say they point at.
//!
//! A record is a *session* (documents, and annotations whose refs are `path + line + boundary
//! string`) or an *answer* (text with `[S1]` markers, the declared list, the retrieved context).
//!
//! # What to use when
//!
//! - One ref in one document: [`resolve_ref`].
//! - One record from its bytes: [`Checker`].
//! - A corpus, on all cores, in bounded memory: [`check_corpus`].
//!
//! ```
//! use sourcecheck::{Checker, Code, Settings};
//!
//! let record = br#"{
//!   "documents": [{"path": "a", "content": "the cat and the hat"}],
//!   "annotations": [{
//!     "claim": {"path": "a", "start": {"line": 1, "str": "the"}, "end": {"line": 1, "str": "cat"}},
//!     "sources": [{"path": "a", "start": {"line": 1, "str": "hat"}, "end": {"line": 1, "str": "hat"},
//!                  "polarity": "supports", "confidence": 0.9}]
//!   }]
//! }"#;
//! let verdict = Checker::new(Settings::default()).check(record);
//! assert!(verdict.has(Code::StrAmbiguous));
//! assert_eq!(verdict.errors[0].pointer.to_string(), "/annotations/0/claim/start/str");
//! ```
//!
//! Findings about the data are values ([`Diagnostic`]); an [`Error`] means that a run failed. No
//! input makes the library panic, exit, read a clock or look at the environment.

// Tests and benches may; the library may not. (The other lints are in Cargo.toml.)
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

// The order is the order of the house: a module uses only modules above it (see tests/walls.rs).
mod error;
mod limits;
mod hash;
mod storage;
mod text;
mod model;
mod diagnostic;
mod keys;
mod verdict;
mod shard;
mod shared;
mod settings;
mod input;
mod decode;
mod resolve;
mod check;
mod summary;
mod output;
mod run;
mod load;
mod checker;
mod rewrite;
mod pipeline;
pub mod exit;
#[doc(hidden)]
pub mod stages;

pub use checker::{Checker, Unreadable};
pub use diagnostic::{
    Code, Detail, Diagnostic, Evidence, Expected, JsonType, Lint, Origin, Pointer, Rule, Segment, Severity,
    SyntaxFault,
};
pub use error::{Error, ErrorKind};
pub use input::{Fingerprint, Input, InputProblem, Position, Trouble, expand};
pub use keys::{Key, Keys};
pub use limits::{
    DIAGNOSTICS, DOCUMENTS_BYTES, GROUPS, LISTED, RECORD_BYTES, RECORD_BYTES_CEILING, SORT_BYTES,
};
pub use model::{
    Annotation, Answer, AnswerStatus, Boundary, Content, ContextSource, Document, LineNumber, Marker,
    Polarity, Record, Ref, Session, SessionPlace, SourceRef,
};
pub use output::{
    BorderPart, BorderSums, BordersPart, CheckedBatch, DocumentsPart, EndedInput, GroupPart, JsonLines,
    RUN_SCHEMA, Rewritten, RunFile, RunReport, Safe, SettingsPart, ShardInput, ShardPart, Sink, TimingFile,
    Wants, comparison_csv, comparison_json, csv_cell, message, note_words, write_codes, write_comparison,
    write_regressions, write_run_file, write_summary, write_verdict, write_verdict_to_string,
};
#[cfg(feature = "cli")]
pub use output::{Colours, TextReport, write_gates, write_text_summary};
pub use pipeline::{CancelToken, Outcome, Progress, RunOptions, check_corpus};
pub use resolve::{BoundaryFault, OrderFault, RefFaults, inline_markers, resolve_ref};
pub use rewrite::{
    Bound, Filter, FilterCounts, Normalize, NormalizeCounts, OutputPlace, Outputs, RawRecord, Reason, Rewrite,
};
pub use run::{
    Begun, Checkpoint, CompareOptions, FolderPlan, MergeOptions, Merged, RunFolder, RunKind, compare_runs,
    merge_runs,
};
pub use settings::{ClaimPaths, InputFormat, Level, LintLevels, Settings, Verdicts};
pub use shard::Shard;
pub use shared::SharedDocuments;
pub use storage::{Disk, Lock, OutputFile, Stat, Storage};
pub use summary::{
    Better, CodeChange, CodeTally, Comparison, Difference, Estimate, Gate, GateOutcome, GateResult, Groups,
    Histogram, InputTally, Listed, ListedRecord, Matching, Method, Metric, MetricSums, Note, Place,
    RecordCounts, Regression, RegressionOutcome, RegressionResult, Row, Shares, Side, SideMatching, Tally,
    Unpaired, Z, judge_regressions,
};
pub use text::{LineIndex, Occurrence, Sentences, Span, UNICODE_VERSION, Units, find_once};
pub use verdict::{AnswerFacts, BANDS, Facts, Group, Id, Kind, RecordVerdict, SessionFacts, Share, Status};

/// The README's examples are run with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
