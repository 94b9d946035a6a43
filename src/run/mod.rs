//! The files of a run: written beside their final names, and renamed when whole.

mod compare;
mod finished;
mod folder;
mod journal;
mod merge;
mod sorter;

pub use compare::{CompareOptions, compare_runs};
pub use folder::{Begun, FolderPlan, RunFolder, RunKind};
pub use journal::Checkpoint;
pub use merge::{MergeOptions, Merged, merge_runs};
