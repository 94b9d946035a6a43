//! Files, directories and standard input to numbered raw lines.

mod compression;
mod framing;
mod sniff;
mod source;

pub(crate) use framing::{Batch, Buffer, Frame, Framer};
pub use source::{Input, expand};
