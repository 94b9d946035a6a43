//! Integer tallies over records: they merge exactly and in any order.

mod border;
mod comparison;
mod estimate;
mod gate;
mod groups;
mod metric;
mod paired;
mod pairs;
mod regression;
mod rule_set;
mod significance;
mod tally;

pub(crate) use border::{Border, Borders, FirstCluster, Joiner};
pub use comparison::{
    CodeChange, Comparison, Listed, ListedRecord, Matching, Method, Note, Row, Side, SideMatching, Unpaired,
};
pub(crate) use comparison::{TwoTallies, paired_rows, unpaired_rows};
pub use estimate::{Estimate, Z};
pub(crate) use gate::{ALL, judge_gates, parse_number};
pub use gate::{Gate, GateOutcome, GateResult};
pub(crate) use groups::{Clusters, GroupValue, Grouping, OpenCluster, Part};
pub use groups::{Groups, RecordCounts};
pub use metric::{Better, Metric, MetricSums, Shares};
pub use paired::Difference;
pub(crate) use pairs::{Counted, PairGroups};
pub use regression::{Regression, RegressionOutcome, RegressionResult, judge_regressions};
pub(crate) use rule_set::{RuleSet, rules};
pub use tally::{CodeTally, Histogram, InputTally, Place, Tally};
