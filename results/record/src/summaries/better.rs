//! Which value of a metric is better for a cell. It depends on what the cell promises: among methods that
//! sample from the target's distribution there is nothing to win, and one that does not can draw tokens that
//! are too likely as well as too unlikely.

use crate::{CellSummary, Guarantee, MetricSummary, Summary, VsBaseline};

/// The metric that says how likely the target finds a cell's tokens. Its expectation under the target's own
/// distribution is an entropy, so a lower value is a difference, no gain.
pub const TARGET_NLL: &str = "target-nll";

/// Which value is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The higher one.
    Higher,
    /// The lower one.
    Lower,
    /// The one that differs less from the baseline's.
    NearerToBaseline,
}

impl Better {
    /// Which of two values is better where `higher_is_better` says so.
    fn of(higher_is_better: bool) -> Better {
        if higher_is_better { Better::Higher } else { Better::Lower }
    }
}

impl MetricSummary {
    /// Which value is better for a cell with this promise; `None` where no direction is. Exact cells share the baseline's
    /// distribution, so that a difference of theirs in likelihood is chance.
    pub fn better(&self, guarantee: Guarantee) -> Option<Better> {
        match guarantee {
            Guarantee::Exact if self.metric == TARGET_NLL => None,
            Guarantee::Relaxed | Guarantee::Unknown if self.metric == TARGET_NLL => {
                Some(Better::NearerToBaseline)
            }
            _ => self.higher_is_better.map(Better::of),
        }
    }
}

impl Summary {
    /// Which value of a metric is better among all cells: nearer to the baseline's where it is so for one of
    /// them.
    pub fn better(&self, metric: &str) -> Option<Better> {
        let of_cell = |cell: &CellSummary| {
            let scored = cell.metrics.iter().find(|scored| scored.metric == metric)?;
            scored.better(cell.guarantee)
        };
        let found: Vec<Better> = self.cells.iter().filter_map(of_cell).collect();
        found.iter().copied().find(|better| *better == Better::NearerToBaseline).or(found.first().copied())
    }
}

impl VsBaseline {
    /// The absolute difference, with the interval of it that [`ci95`](Self::ci95) implies: from 0 where that
    /// holds 0.
    pub fn distance(&self) -> (f64, Option<[f64; 2]>) {
        (self.difference.abs(), self.ci95.map(distances))
    }
}

/// Distances from 0 that an interval holds, the least and the largest.
pub fn distances([low, high]: [f64; 2]) -> [f64; 2] {
    let [near, far] = [low.abs().min(high.abs()), low.abs().max(high.abs())];
    if low <= 0.0 && 0.0 <= high { [0.0, far] } else { [near, far] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_on_both_sides_of_0_holds_the_distance_0() {
        assert_eq!(distances([-0.5, 0.25]), [0.0, 0.5]);
        assert_eq!(distances([-0.5, -0.25]), [0.25, 0.5]);
        assert_eq!(distances([0.25, 0.5]), [0.25, 0.5]);
        assert_eq!(distances([0.0, 0.5]), [0.0, 0.5]);
    }

    #[test]
    fn of_likelihoods_under_the_target_the_lower_is_never_better() {
        let metric = |name: &str| MetricSummary {
            metric: name.to_owned(),
            protocol: name.to_owned(),
            value: None,
            ci95: None,
            n: 0,
            why: None,
            notes: Vec::new(),
            unit: String::new(),
            higher_is_better: Some(false),
            vs_baseline: None,
        };
        let nearer = Some(Better::NearerToBaseline);
        assert_eq!(metric(TARGET_NLL).better(Guarantee::Exact), None);
        assert_eq!(metric(TARGET_NLL).better(Guarantee::Relaxed), nearer);
        assert_eq!(metric(TARGET_NLL).better(Guarantee::Unknown), nearer);
        assert_eq!(metric("fid").better(Guarantee::Relaxed), Some(Better::Lower));
    }
}
