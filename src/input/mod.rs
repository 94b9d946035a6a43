//! Files, directories and standard input to numbered raw lines.

mod compression;
mod cut;
mod framing;
mod pieces;
mod problem;
mod sniff;
mod source;

pub use framing::Position;
pub(crate) use framing::{Batch, Buffer, Frame, Framer};
pub use problem::{InputProblem, Trouble};
pub use source::{Fingerprint, Input, expand};

/// The decompressed bytes of a reader, whatever its name.
///
/// # Errors
/// What the reader says.
pub(crate) fn decompress(reader: Box<dyn std::io::Read + Send>) -> std::io::Result<impl std::io::Read> {
    compression::Decompressed::new(reader)
}
