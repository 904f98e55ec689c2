//! The seam shared by all mergeable statistics: observe, merge, evaluate.

use crate::error::StatsError;

/// A mergeable state from which a final value is read.
///
/// `merge` appends a state that observed the *later* part of the plan. States that keep their observations (scores,
/// decode rates) are exactly associative under it; floating-point sums (moments) are associative to rounding and are
/// therefore folded over fixed blocks in plan order (see [`crate::moments`]).
pub trait Statistic {
    /// What is observed.
    type Observation: ?Sized;
    /// What comes out.
    type Value;

    /// Takes in one observation. On an error the state is as before.
    ///
    /// # Errors
    /// An observation that the statistic does not take, such as one that is not finite.
    fn push(&mut self, observation: &Self::Observation) -> Result<(), StatsError>;

    /// Takes in everything that `later` has seen, in its order, after everything seen here. On an error the state is
    /// as before.
    ///
    /// # Errors
    /// A state of another kind or width.
    fn merge(&mut self, later: &Self) -> Result<(), StatsError>;

    /// Returns the value over everything seen.
    ///
    /// # Errors
    /// Fewer observations than the definition needs.
    fn value(&self) -> Result<Self::Value, StatsError>;
}
