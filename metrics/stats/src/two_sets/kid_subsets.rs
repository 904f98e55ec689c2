//! KID as the published tools estimate it: the mean of the unbiased discrepancy over random subsets.
//!
//! torch-fidelity draws from `RandomState(2020)` and reports mean and population deviation over subsets (Binkowski et
//! al. 2018, section 4); clean-fid draws from NumPy's global generator, which it does not seed, and reports the mean.
//! Both take 100 subsets of 1000. They compute in f32, so their last digits are theirs; here all is f64.
//! The spread over subsets is no standard error of the KID: for intervals see [`crate::jackknife`].

use crate::blocks::map_in_order;
use crate::error::{StatsError, require_count};
use crate::features::{FeatureRows, same_width};
use crate::kernel_sums::widen;
use crate::kid::unbiased_discrepancy;
use crate::numpy_random::NumpyRandom;

/// The tool whose way of drawing subsets is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubsetRule {
    /// torch-fidelity: a subset of the first set, then one of the second, of exactly the size asked for; a smaller set
    /// is an error.
    TorchFidelity,
    /// clean-fid: a subset of the second set, then one of the first, of the size asked for or of the smaller set.
    CleanFid,
}

/// How subsets are drawn. There is no default seed.
// Invariant: `n_subsets >= 1`, `subset_size >= 2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubsetPlan {
    rule: SubsetRule,
    n_subsets: usize,
    subset_size: usize,
    seed: u32,
}

impl SubsetPlan {
    /// Takes a rule, the number of subsets (at least 1), their size (at least 2) and the seed of NumPy's generator.
    ///
    /// # Errors
    /// No subsets, or subsets of fewer than two rows.
    pub fn new(
        rule: SubsetRule,
        n_subsets: usize,
        subset_size: usize,
        seed: u32,
    ) -> Result<Self, StatsError> {
        require_count("kid over subsets: subsets", 1, n_subsets as u64)?;
        require_count("kid over subsets: rows of a subset", 2, subset_size as u64)?;
        Ok(Self { rule, n_subsets, subset_size, seed })
    }

    /// Returns the subsets for sets of `n_first` and `n_second` rows, in the order in which they are drawn.
    fn draw(&self, n_first: usize, n_second: usize) -> Result<Vec<SubsetPair>, StatsError> {
        let n_smaller = n_first.min(n_second);
        let size = match self.rule {
            SubsetRule::TorchFidelity => {
                if n_smaller < self.subset_size {
                    return Err(StatsError::SubsetTooLarge { size: self.subset_size, n_smaller });
                }
                self.subset_size
            }
            SubsetRule::CleanFid => {
                require_count("kid over subsets: rows of the smaller set", 2, n_smaller as u64)?;
                self.subset_size.min(n_smaller)
            }
        };
        let mut rng = NumpyRandom::new(self.seed);
        let pairs = (0..self.n_subsets).map(|_| match self.rule {
            SubsetRule::TorchFidelity => {
                let first = rng.choice(n_first, size);
                (first, rng.choice(n_second, size))
            }
            SubsetRule::CleanFid => {
                let second = rng.choice(n_second, size);
                (rng.choice(n_first, size), second)
            }
        });
        Ok(pairs.collect())
    }
}

/// The rows of one subset of the first set and of one of the second.
type SubsetPair = (Vec<usize>, Vec<usize>);

/// KID over subsets.
#[derive(Clone, Debug, PartialEq)]
pub struct KidOverSubsets {
    /// Mean over subsets; about 0 for equal distributions, not scaled by 1000.
    pub mean: f64,
    /// Population deviation over subsets (divisor `n_subsets`), as torch-fidelity prints it.
    pub deviation: f64,
    /// The value of each subset, in the order drawn.
    pub values: Vec<f64>,
    /// Rows of a subset, which clean-fid's rule may have lowered.
    pub subset_size: usize,
}

/// Returns the KID between `first` and `second` over random subsets. The sets have an order, because subsets are
/// drawn from the two in turn: torch-fidelity's input 1 and 2, clean-fid's reference and generated features.
///
/// # Errors
/// Unequal widths and a set too small for the rule.
pub fn kid_over_subsets(
    first: &FeatureRows,
    second: &FeatureRows,
    plan: &SubsetPlan,
) -> Result<KidOverSubsets, StatsError> {
    same_width("kid over subsets: features per row", first, second)?;
    let subsets = plan.draw(first.n(), second.n())?;
    let values = map_in_order(&subsets, |(i, j)| {
        unbiased_discrepancy(&widen(&first.select(i)), &widen(&second.select(j)))
    });
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt();
    Ok(KidOverSubsets { mean, deviation, values, subset_size: subsets[0].0.len() })
}
