//! Whether the times of a run can be trusted: how many images are outliers of their cell,
//! whether the machine became slower or faster, what else it did. Reported, never acted upon: outliers
//! stay in every mean.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rows::metric::check_reasoned;
use crate::{ItemKey, PlainStep};

/// Most outliers of a cell that are named.
pub const MOST_OUTLIERS: usize = 20;

/// The machine over the course of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingQuality {
    /// The baseline's median decode time in the last third of the blocks over that in the first; 1 on a
    /// machine that keeps its speed.
    pub drift: Option<f64>,
    /// Sessions (a start of a worker) that timed the baseline in fewer than three blocks, whose drift is not known.
    /// Absent in runs that were summarised before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_sessions: Option<u64>,
    /// Share of all cores that other processes took, mean over blocks, in [0, 1].
    pub others_busy_mean: Option<f64>,
    /// How fast each timed baseline decodes, of the attempts the middle one. Absent in runs that did not measure it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plain_steps: Vec<PlainStep>,
    /// Why a quantity is null.
    pub why: BTreeMap<TimingQuantity, String>,
}

/// A quantity of the machine over the course of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimingQuantity {
    /// The drift of the baseline.
    Drift,
    /// The share of other processes.
    OthersBusyMean,
}

impl TimingQuantity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drift => "drift",
            Self::OthersBusyMean => "others_busy_mean",
        }
    }
}

/// The times of one cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellTimingQuality {
    /// Images that were timed, without warm-ups.
    pub n_timed: u64,
    /// Those of them that are outliers.
    pub n_outliers: u64,
    /// The first of these in plan order, at most [`MOST_OUTLIERS`].
    pub outliers: Vec<ItemKey>,
}

impl TimingQuality {
    /// The drift in words, of the baseline's times that `whose` names ("the baseline's"), with its direction; `None` where none
    /// is known. It says what was measured and no cause: the prompts of the two thirds differ, and there is no interval.
    pub fn drift_in_words(&self, whose: &str) -> Option<String> {
        let percent = 100.0 * (self.drift? - 1.0);
        // A run that was continued, or made by several workers, has several sessions.
        let course = "from the first third of the blocks to the last, in the session in which it moved most";
        let unknown = match self.short_sessions {
            None | Some(0) => String::new(),
            Some(1) => " (of 1 session of fewer than three blocks it is not known)".to_owned(),
            Some(n) => format!(" (of {n} sessions of fewer than three blocks it is not known)"),
        };
        Some(match percent.abs() < 0.05 {
            true => format!("{whose} median time did not change {course}{unknown}"),
            false => {
                let went = if percent > 0.0 { "rose" } else { "fell" };
                format!("{whose} median time {went} by {:.1} % {course}{unknown}", percent.abs())
            }
        })
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let check = |quantity: TimingQuantity, has_value| {
            check_reasoned(quantity.name(), has_value, self.why.get(&quantity).map(String::as_str))
        };
        self.plain_steps.iter().try_for_each(PlainStep::check)?;
        check(TimingQuantity::Drift, self.drift.is_some())?;
        check(TimingQuantity::OthersBusyMean, self.others_busy_mean.is_some())
    }
}

impl CellTimingQuality {
    pub(crate) fn check(&self) -> Result<(), String> {
        let (n_timed, n_outliers, n_named) = (self.n_timed, self.n_outliers, self.outliers.len());
        if n_outliers > n_timed {
            return Err(format!("{n_outliers} outliers among {n_timed} times"));
        }
        if n_named as u64 != n_outliers.min(MOST_OUTLIERS as u64) {
            return Err(format!(
                "{n_named} of {n_outliers} outliers are named, not the first {MOST_OUTLIERS}"
            ));
        }
        Ok(())
    }
}
