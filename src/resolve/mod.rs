//! Coordinates to places: a ref to the span that it names, a marker to its source.

mod marker;
mod page;
mod reference;

pub use marker::inline_markers;
pub(crate) use page::{LineMemory, Page};
pub(crate) use reference::resolve_on;
pub use reference::{BoundaryFault, OrderFault, RefFaults, resolve_ref};
