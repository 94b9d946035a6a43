//! Inputs that were not read to their end.

use serde::{Deserialize, Serialize};

/// What happened to an input that was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputProblem {
    /// The input's name.
    pub input: String,
    /// Whether it could not be opened or not be read.
    pub trouble: Trouble,
    /// What the system or the decompressor said.
    pub reason: String,
}

/// At what an input failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// It could not be opened.
    Open,
    /// It could not be read further; every whole record before has its verdict.
    Read {
        /// The stored byte at which it happened.
        offset: u64,
    },
}
