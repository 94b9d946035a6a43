//! One file a format: verdicts as JSON lines, tables as CSV, the run as JSON, reports for people.

mod comparison;
mod comparison_tables;
mod json;
mod run_json;
mod sanitize;
mod shard_json;
mod sink;
mod tables;
#[cfg(feature = "cli")]
mod text;
mod words;

pub use comparison::{note_words, write_comparison, write_regressions};
pub use comparison_tables::{comparison_csv, comparison_json};
pub(crate) use json::{verdict_head, write_string, write_verdict_after, write_verdict_place};
pub use json::{write_verdict, write_verdict_to_string};
pub use run_json::{
    DocumentsPart, GroupPart, RUN_SCHEMA, RunFile, RunReport, SettingsPart, TimingFile, write_run_file,
};
pub use sanitize::{Safe, csv_cell};
pub use shard_json::{BorderPart, BorderSums, BordersPart, ShardInput, ShardPart};
pub(crate) use shard_json::{cluster_of, metrics_of};
pub use sink::{CheckedBatch, EndedInput, JsonLines, Rewritten, Sink, Wants};
pub use tables::{write_codes, write_summary};
#[cfg(feature = "cli")]
pub use text::{Colours, TextReport, write_gates, write_text_summary};
pub use words::message;
