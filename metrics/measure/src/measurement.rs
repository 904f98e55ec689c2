//! A value with what it depends on, in the form that scripts rely on.

use serde::Serialize;
use serde_json::{Map, Value};
use specimen_stats::bootstrap::Interval;

/// The schema of [`Measurement`]'s JSON.
pub const SCHEMA: u32 = 1;

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The metric: `fid`, `precision`, …
    pub metric: &'static str,
    /// The value, finite.
    pub value: f64,
    /// Ends of the 95 % interval, where one was asked for.
    pub ci95: Option<[f64; 2]>,
    /// `NAME@DIGEST12` of the protocol.
    pub protocol: String,
    /// Pictures or rows of each side, real side first; absent where a statistics file does not say.
    pub n: Vec<Option<u64>>,
    /// The network that made the features here; absent when both sides were given as features or statistics, whose
    /// network is not known.
    pub extractor: Option<String>,
    /// What else the metric has to say; its keys differ from metric to metric.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

impl Measurement {
    /// The same with an interval.
    #[must_use]
    pub fn with_interval(mut self, interval: Option<Interval>) -> Self {
        self.ci95 = interval.map(|Interval { lower, upper, .. }| [lower, upper]);
        self
    }

    /// The same with another thing to say.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}
