//! What a command ends with (contract, section 9): pure functions of what happened.

use crate::error::{Error, ErrorKind};
use crate::input::Trouble;
use crate::pipeline::Outcome;
use crate::run::Merged;
use crate::summary::GateResult;
use crate::verdict::Status;

/// Every record is valid.
pub const OK: u8 = 0;
/// At least one record is invalid; or a gate failed.
pub const INVALID: u8 = 1;
/// At least one record is malformed.
pub const MALFORMED: u8 = 2;
/// Wrong usage.
pub const USAGE: u8 = 64;
/// An input cannot be opened, or nothing was checked.
pub const NO_INPUT: u8 = 66;
/// A defect in the program.
pub const DEFECT: u8 = 70;
/// An output cannot be created.
pub const CANNOT_CREATE: u8 = 73;
/// Reading or writing failed.
pub const IO: u8 = 74;
/// Interrupted by SIGINT.
pub const INTERRUPTED: u8 = 130;
/// The reader of the output went away.
pub const OUTPUT_CLOSED: u8 = 141;
/// Ended by SIGTERM.
pub const TERMINATED: u8 = 143;

/// The exit code of a run that came to its end. A defect wins over all, then the highest of 64 and
/// above, then 2, 1, 0. Where there are gates, they alone decide between 0 and 1.
pub fn of_outcome(outcome: &Outcome, gates: &[GateResult], allow_empty: bool) -> u8 {
    let troubles = outcome.problems.iter().map(|problem| match problem.trouble {
        Trouble::Open => NO_INPUT,
        Trouble::Read { .. } => IO,
    });
    let empty = (outcome.tally.records() == 0 && !allow_empty).then_some(NO_INPUT);
    if let Some(code) = troubles.chain(empty).max() {
        return code;
    }
    if !gates.is_empty() {
        return if gates.iter().all(GateResult::holds) { OK } else { INVALID };
    }
    let found = |status| outcome.tally.of_status(status) > 0;
    if found(Status::Malformed) {
        MALFORMED
    } else if found(Status::Invalid) {
        INVALID
    } else {
        OK
    }
}

/// The exit code of shards that were merged. Where there are gates, they decide between 0 and 1.
pub fn of_merged(merged: &Merged, gates: &[GateResult], allow_empty: bool) -> u8 {
    if !merged.complete {
        return IO;
    }
    if merged.tally.records() == 0 && !allow_empty {
        return NO_INPUT;
    }
    if gates.iter().all(GateResult::holds) { OK } else { INVALID }
}

/// The exit code of a run that failed.
pub fn of_error(error: &Error) -> u8 {
    match error.kind() {
        ErrorKind::Setting(_) => USAGE,
        ErrorKind::OpenInput { .. } | ErrorKind::NoRun { .. } => NO_INPUT,
        ErrorKind::CreateOutput { .. } | ErrorKind::Held { .. } | ErrorKind::Folder { .. } => CANNOT_CREATE,
        ErrorKind::ReadInput { .. } | ErrorKind::WriteOutput { .. } => IO,
        ErrorKind::OutputClosed => OUTPUT_CLOSED,
        ErrorKind::Cancelled => INTERRUPTED,
        ErrorKind::Defect(_) => DEFECT,
    }
}
