//! Integer tallies over records: they merge exactly and in any order.

mod estimate;
mod gate;
mod groups;
mod metric;
mod tally;

pub use estimate::{Estimate, Z};
pub(crate) use gate::{ALL, judge_gates};
pub use gate::{Gate, GateOutcome, GateResult};
pub(crate) use groups::{Grouping, OpenCluster, Part};
pub use groups::{Groups, RecordCounts};
pub use metric::{Metric, MetricSums, Shares};
pub use tally::{CodeTally, Histogram, InputTally, Place, Tally};
