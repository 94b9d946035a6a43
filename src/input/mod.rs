//! Files, directories and standard input to numbered raw lines.

mod compression;
mod framing;
mod sniff;
mod source;

pub(crate) use framing::{Batch, Buffer, Frame, Framer};
pub use source::{Input, expand};

/// The decompressed bytes of a reader, whatever its name.
///
/// # Errors
/// What the reader says.
pub(crate) fn decompress(reader: Box<dyn std::io::Read + Send>) -> std::io::Result<impl std::io::Read> {
    compression::Decompressed::new(reader)
}
