//! One file a command.

pub(crate) mod check;
pub(crate) mod compare;
mod inputs;
pub(crate) mod merge;
