//! One file a command.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod filter;
mod inputs;
pub(crate) mod merge;
pub(crate) mod normalize;
mod rewrite;
