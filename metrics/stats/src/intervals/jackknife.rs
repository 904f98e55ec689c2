//! Standard errors and intervals for statistics of rows, by leaving out groups of rows.
//!
//! Delete-a-group jackknife with groups of unequal size (Busing, Meijer and van der Leeden, Statistics and Computing 9,
//! 1999; Shao and Tu 1995, section 2.3). No row is ever drawn twice: a plain bootstrap of a distance between sets is
//! biased upward, because duplicates look like a poorer sample. Rows are dealt to groups at random by a seed.

use crate::blocks::map_in_order;
use crate::bootstrap::Interval;
use crate::counter_rng::CounterRng;
use crate::error::{StatsError, require_count, require_finite};
use crate::student::student_quantile;

/// The fewest groups accepted: below, Student's t widens intervals by more than a sixth.
const MIN_GROUPS: usize = 10;

/// How rows are dealt to groups. There is no default seed.
// Invariant: `n_groups >= MIN_GROUPS`, `0 < level < 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JackknifePlan {
    seed: u64,
    n_groups: usize,
    level: f64,
}

impl JackknifePlan {
    /// Takes a seed, the number of groups (at least `MIN_GROUPS`) and the two-sided level in (0, 1).
    ///
    /// # Errors
    /// Fewer groups, another level.
    pub fn new(seed: u64, n_groups: usize, level: f64) -> Result<Self, StatsError> {
        require_count("jackknife: groups", MIN_GROUPS as u64, n_groups as u64)?;
        if !(level > 0.0 && level < 1.0) {
            let (what, range) = ("jackknife: level", "(0, 1), such as 0.95");
            return Err(StatsError::OutOfRange { what, at: 0, value: level, range });
        }
        Ok(Self { seed, n_groups, level })
    }

    /// Returns the groups of `n` rows, each ascending, their sizes differing by one at most.
    ///
    /// # Errors
    /// Fewer rows than groups.
    pub fn groups(&self, n: usize) -> Result<Vec<Vec<usize>>, StatsError> {
        require_count(
            "interval: rows, at least one a group (the value alone needs none)",
            self.n_groups as u64,
            n as u64,
        )?;
        let order = CounterRng::new(self.seed).permutation(n);
        let mut groups = vec![Vec::new(); self.n_groups];
        for (place, row) in order.into_iter().enumerate() {
            groups[place % self.n_groups].push(row);
        }
        groups.iter_mut().for_each(|group| group.sort_unstable());
        Ok(groups)
    }

    /// Returns the estimate from the value of all rows and the value without each group.
    pub(crate) fn estimate(
        &self,
        value: f64,
        without: &[f64],
        groups: &[Vec<usize>],
    ) -> Result<JackknifeEstimate, StatsError> {
        require_finite("jackknife: statistic", &[value])?;
        require_finite("jackknife: statistic without a group", without)?;
        let n: usize = groups.iter().map(Vec::len).sum();
        let n_groups = groups.len() as f64;
        // How often a group fits into all rows.
        let shares: Vec<f64> = groups.iter().map(|group| n as f64 / group.len() as f64).collect();
        let pulled: f64 =
            without.iter().zip(&shares).map(|(x, share)| (1.0 - 1.0 / share) * (value - x)).sum();
        let centre = value + pulled;
        let variance = without.iter().zip(&shares).map(|(x, share)| {
            let pseudo_value = share * value - (share - 1.0) * x;
            (pseudo_value - centre).powi(2) / (share - 1.0)
        });
        let standard_error = (variance.sum::<f64>() / n_groups).sqrt();
        let reach = student_quantile(groups.len() as u64 - 1, 0.5 + self.level / 2.0)? * standard_error;
        let interval = Interval { lower: value - reach, upper: value + reach, level: self.level };
        Ok(JackknifeEstimate { value, standard_error, bias: -pulled, interval, n, n_groups: groups.len() })
    }
}

/// A statistic with its jackknife uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JackknifeEstimate {
    /// The statistic of all rows.
    pub value: f64,
    /// Standard error of the value.
    pub standard_error: f64,
    /// Estimated bias of the value against infinitely many rows; subtract it for a value of order `1/n^2` bias. For a
    /// Frechet distance this is the part of its bias that comes from the rows left out.
    pub bias: f64,
    /// Interval by Student's t about the value, for its expectation *at this number of rows*: two methods are compared
    /// at equal numbers, where their biases are alike.
    pub interval: Interval,
    /// Rows.
    pub n: usize,
    /// Groups.
    pub n_groups: usize,
}

/// Returns `statistic` of `n` rows with its uncertainty. `statistic` gets the rows kept, ascending; it runs on all
/// threads, and the digits do not depend on how many.
///
/// # Errors
/// Fewer rows than groups, where the statistic fails, and where it is not finite.
pub fn jackknife(
    n: usize,
    plan: &JackknifePlan,
    statistic: impl Fn(&[usize]) -> Result<f64, StatsError> + Sync,
) -> Result<JackknifeEstimate, StatsError> {
    let groups = plan.groups(n)?;
    let all: Vec<usize> = (0..n).collect();
    let value = statistic(&all)?;
    let without = map_in_order(&groups, |group| statistic(&kept(n, group)));
    plan.estimate(value, &without.into_iter().collect::<Result<Vec<f64>, _>>()?, &groups)
}

/// Like [`jackknife`], for `N` statistics that one pass over the rows computes together.
///
/// # Errors
/// As [`jackknife`].
pub fn jackknife_each<const N: usize>(
    n: usize,
    plan: &JackknifePlan,
    statistics: impl Fn(&[usize]) -> Result<[f64; N], StatsError> + Sync,
) -> Result<[JackknifeEstimate; N], StatsError> {
    let groups = plan.groups(n)?;
    let all: Vec<usize> = (0..n).collect();
    let values = statistics(&all)?;
    let without = map_in_order(&groups, |group| statistics(&kept(n, group)));
    let without = without.into_iter().collect::<Result<Vec<[f64; N]>, _>>()?;
    let estimate = |at: usize| {
        plan.estimate(values[at], &without.iter().map(|values| values[at]).collect::<Vec<f64>>(), &groups)
    };
    let estimates = (0..N).map(estimate).collect::<Result<Vec<JackknifeEstimate>, StatsError>>()?;
    Ok(estimates.try_into().expect("there is one estimate for each statistic"))
}

/// Returns the indices below `n` that are not in `group`, which ascends.
pub(crate) fn kept(n: usize, group: &[usize]) -> Vec<usize> {
    (0..n).filter(|row| group.binary_search(row).is_err()).collect()
}
