//! Runs that write the records themselves: those that are kept of a corpus, or those that were changed.

mod annotations;
mod condition;
mod filter;
mod normalize;
mod outputs;

pub use condition::{Bound, Reason};
pub use filter::{Filter, FilterCounts};
pub use normalize::{Normalize, NormalizeCounts};
pub use outputs::{OutputPlace, Outputs};

use crate::checker::Checker;
use crate::output::Rewritten;
use crate::verdict::RecordVerdict;

/// A record as its input has it.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'b> {
    /// The input's name.
    pub file: &'b str,
    /// Its bytes without the LF at its end; `None` where they came before, piece by piece.
    pub raw: Option<&'b [u8]>,
}

/// Decides what is written of each record. Called from every worker; what it writes comes out in the order of
/// the inputs.
pub trait Rewrite: Send + Sync {
    /// Takes a record and its verdict, and adds to the outputs. `checker` has checked it, and may check again.
    fn record(
        &self,
        record: &RawRecord<'_>,
        verdict: &RecordVerdict,
        checker: &mut Checker,
        out: &mut Rewritten,
    );

    /// Takes some bytes of a record that is too large, before its verdict is known.
    fn piece(&self, bytes: &[u8], out: &mut Rewritten);
}

/// The output at this place.
fn output(out: &mut Rewritten, place: usize) -> &mut Vec<u8> {
    if out.outputs.len() <= place {
        out.outputs.resize_with(place + 1, Vec::new);
    }
    &mut out.outputs[place]
}

/// The lines that a record takes, of an input that is one record: without the blank ones around it.
fn lines_of(raw: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| crate::text::is_json_white_space(*byte);
    let last = raw.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
    let end = memchr::memchr(b'\n', &raw[last..]).map_or(raw.len(), |lf| last + lf);
    &raw[..end]
}

/// Adds a record's lines, with an LF at the end.
fn add_line(raw: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(raw);
    into.push(b'\n');
}
