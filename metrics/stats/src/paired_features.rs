//! Comparisons of two runs by a statistic of their features, prompt by prompt.
//!
//! Both runs made their pictures from the same prompts, so what is left out is a group of prompts, on both sides at
//! once: what makes a prompt hard for both cancels in the difference. Rows are kept in id order, so the digits do not
//! depend on the order of records.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::error::{StatsError, require_count};
use crate::features::{FeatureRows, same_width};
use crate::frechet_interval::distances_without_groups;
use crate::gaussian::FactoredGaussian;
use crate::jackknife::{JackknifeEstimate, JackknifePlan, jackknife};

/// The features of two runs on the same ids.
// Invariant: ids ascend strictly, at least one; both sides have one row an id, in id order, of one width.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedFeatures<K> {
    ids: Vec<K>,
    baseline: FeatureRows,
    method: FeatureRows,
}

impl<K: Ord + Display> PairedFeatures<K> {
    /// Pairs the rows of two runs by id, each side a list of ids and its rows in that order.
    ///
    /// # Errors
    /// An id that is missing on a side or occurs twice on one, where ids and rows differ in number, unequal widths,
    /// and empty sides.
    pub fn join(
        baseline: (Vec<K>, &FeatureRows),
        method: (Vec<K>, &FeatureRows),
    ) -> Result<Self, StatsError> {
        same_width("pairing: features per row", baseline.1, method.1)?;
        let (baseline, baseline_rows) = (rows_by_id(baseline.0, baseline.1.n(), "baseline")?, baseline.1);
        let (mut method, method_rows) = (rows_by_id(method.0, method.1.n(), "method")?, method.1);
        let (mut ids, mut of_baseline, mut of_method) = (Vec::new(), Vec::new(), Vec::new());
        for (id, row) in baseline {
            let Some(other) = method.remove(&id) else {
                return Err(StatsError::Unpaired { id: id.to_string(), present: "baseline" });
            };
            ids.push(id);
            of_baseline.push(row);
            of_method.push(other);
        }
        if let Some(id) = method.keys().next() {
            return Err(StatsError::Unpaired { id: id.to_string(), present: "method" });
        }
        require_count("pairing", 1, ids.len() as u64)?;
        let (baseline, method) = (baseline_rows.select(&of_baseline), method_rows.select(&of_method));
        Ok(Self { ids, baseline, method })
    }
}

impl<K> PairedFeatures<K> {
    /// The ids, ascending.
    #[must_use]
    pub fn ids(&self) -> &[K] {
        &self.ids
    }

    /// The baseline's rows in id order.
    #[must_use]
    pub fn baseline(&self) -> &FeatureRows {
        &self.baseline
    }

    /// The method's rows in id order.
    #[must_use]
    pub fn method(&self) -> &FeatureRows {
        &self.method
    }

    /// Returns `statistic(method) - statistic(baseline)` with its uncertainty over prompts.
    ///
    /// # Errors
    /// As the statistic; fewer ids than groups.
    pub fn difference(
        &self,
        plan: &JackknifePlan,
        statistic: impl Fn(&FeatureRows) -> Result<f64, StatsError> + Sync,
    ) -> Result<JackknifeEstimate, StatsError> {
        // Ids need not be shared between threads, so the closure holds the rows only.
        let (baseline, method) = (&self.baseline, &self.method);
        jackknife(self.ids.len(), plan, |kept| {
            Ok(statistic(&method.select(kept))? - statistic(&baseline.select(kept))?)
        })
    }

    /// Returns the method's Frechet distance from `reference` less the baseline's, with its uncertainty over
    /// prompts; the upward bias of both is alike and cancels.
    ///
    /// # Errors
    /// As [`crate::frechet_interval::frechet_interval`].
    pub fn frechet_difference(
        &self,
        reference: &FactoredGaussian,
        plan: &JackknifePlan,
    ) -> Result<JackknifeEstimate, StatsError> {
        let groups = plan.groups(self.ids.len())?;
        let (baseline, without_baseline) = distances_without_groups(reference, &self.baseline, &groups)?;
        let (method, without_method) = distances_without_groups(reference, &self.method, &groups)?;
        let without: Vec<f64> = without_method.iter().zip(&without_baseline).map(|(m, b)| m - b).collect();
        plan.estimate(method - baseline, &without, &groups)
    }
}

/// Returns the row of each id.
fn rows_by_id<K: Ord + Display>(
    ids: Vec<K>,
    n_rows: usize,
    side: &'static str,
) -> Result<BTreeMap<K, usize>, StatsError> {
    if ids.len() != n_rows {
        let what = "pairing: rows (one an id)";
        return Err(StatsError::WrongSize { what, expected: ids.len(), found: n_rows });
    }
    let mut rows = BTreeMap::new();
    for (row, id) in ids.into_iter().enumerate() {
        if rows.contains_key(&id) {
            return Err(StatsError::DuplicateId { id: id.to_string(), side });
        }
        rows.insert(id, row);
    }
    Ok(rows)
}
