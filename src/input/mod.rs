//! Files, directories and standard input to numbered raw lines.

mod compression;
mod framing;
mod problem;
mod sniff;
mod source;

pub use framing::Position;
pub(crate) use framing::{Batch, Buffer, Frame, Framer};
pub use problem::{InputProblem, Trouble};
pub use source::{Fingerprint, Input, expand};
