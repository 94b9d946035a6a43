//! The files of a run: written beside their final names, and renamed when whole.

mod compare;
mod folder;
mod journal;
mod sorter;

pub use compare::{CompareOptions, compare_runs};
pub use folder::{Begun, FolderPlan, RunFolder};
pub use journal::Checkpoint;
