//! The rules, applied to one readable record.

mod answer;
mod columns;
mod coverage;
mod evidence;
mod lint;
mod long_lines;
mod pages;
mod session;

pub(crate) use answer::check_answer;
pub(crate) use evidence::attach_evidence;
pub(crate) use lint::check_lints;
pub(crate) use session::{SessionScratch, check_session};
