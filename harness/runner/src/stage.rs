//! What a driver tells whoever watches it.

use crate::worker::Progress;

/// What the driver is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Workers are about to run.
    Generating {
        /// Items of the plan.
        n_items: u64,
    },
    /// A worker reports.
    Worker(Progress),
    /// A metric of a cell is computed.
    Scoring {
        /// The metric.
        metric: String,
        /// The cell.
        cell: String,
    },
}
