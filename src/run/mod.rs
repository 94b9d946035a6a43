//! The files of a run: written beside their final names, and renamed when whole.

mod folder;

pub use folder::RunFolder;
