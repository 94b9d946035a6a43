//! Integer tallies over records: they merge exactly and in any order.

mod estimate;
mod metric;
mod tally;

pub use estimate::{Estimate, Z};
pub use metric::{Metric, MetricSums};
pub use tally::{CodeTally, Histogram, InputTally, Place, Tally};
