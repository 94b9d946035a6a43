//! The files of a run: written beside their final names, and renamed when whole.

mod folder;
mod journal;

pub use folder::{Begun, FolderPlan, RunFolder};
pub use journal::Checkpoint;
