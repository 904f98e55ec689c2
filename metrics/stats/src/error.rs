//! What can go wrong in a statistic, with the facts a person needs to find the cause.
//!
//! Functions report the first offending place in input order, so the same input gives the same message everywhere.

/// Why a statistic could not be computed, or an input could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// Fewer observations than the definition needs.
    #[error("{what}: needs at least {needed} observations, found {found}")]
    TooFew {
        /// Name of the statistic.
        what: &'static str,
        /// The smallest number for which it is defined.
        needed: u64,
        /// How many there were.
        found: u64,
    },
    /// A subset of more rows than a set has.
    #[error(
        "a subset has {size} rows, the smaller set only {n_smaller}; take a smaller subset (`--subset-size`)"
    )]
    SubsetTooLarge {
        /// Rows of a subset.
        size: usize,
        /// Rows of the smaller set.
        n_smaller: usize,
    },
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    WrongSize {
        /// What was measured, with its unit ("features per row").
        what: &'static str,
        /// The size implied by the other input.
        expected: usize,
        /// The size given.
        found: usize,
    },
    /// An input is NaN or infinite.
    #[error("{what}: element {at} is {value}, expected a finite number")]
    NotFinite {
        /// Name of the input.
        what: &'static str,
        /// Flat index of the first such element.
        at: usize,
        /// What stood there.
        value: f64,
    },
    /// An input lies outside its range.
    #[error("{what}: element {at} is {value}, expected {range}")]
    OutOfRange {
        /// Name of the input.
        what: &'static str,
        /// Flat index of the element, 0 for a single number.
        at: usize,
        /// What stood there.
        value: f64,
        /// The range in words or interval notation.
        range: &'static str,
    },
    /// All observations are equal where the definition divides by their spread.
    #[error("{what}: the {found} observations have no spread, so no scale can be formed")]
    NoSpread {
        /// Name of the statistic.
        what: &'static str,
        /// How many observations there were.
        found: u64,
    },
    /// A matrix that must be a covariance is not one.
    #[error(
        "{what}: not a covariance matrix ({why}); was it written transposed, truncated or in half precision?"
    )]
    NotCovariance {
        /// The side that the covariance is of.
        what: &'static str,
        /// The property that fails, with numbers.
        why: String,
    },
    /// An iterative matrix factorization did not converge.
    #[error("{what}: the factorization did not converge on a matrix of {n_rows} x {n_columns}")]
    NoConvergence {
        /// The factorization.
        what: &'static str,
        /// Rows.
        n_rows: usize,
        /// Columns.
        n_columns: usize,
    },
    /// The two sides of a paired comparison do not cover the same ids.
    #[error("pairing: id `{id}` is on the {present} side only; compare runs over the same prompts")]
    Unpaired {
        /// The first such id in id order.
        id: String,
        /// The side that has it: `baseline` or `method`.
        present: &'static str,
    },
    /// An id occurs twice on one side of a paired comparison.
    #[error("pairing: id `{id}` occurs twice on the {side} side; average its repeats first")]
    DuplicateId {
        /// The first such id in id order.
        id: String,
        /// The side: `baseline` or `method`.
        side: &'static str,
    },
    /// Something was observed to which the model gives probability zero.
    #[error(
        "{what}: cell {cell} has expected probability 0 but {count} observations; the model is refuted outright"
    )]
    Impossible {
        /// The test.
        what: &'static str,
        /// Index of the cell.
        cell: usize,
        /// How often it was observed.
        count: u64,
    },
    /// Counts that contradict each other.
    #[error("{what}: {why}")]
    Inconsistent {
        /// The record.
        what: &'static str,
        /// The contradiction, with numbers.
        why: String,
    },
    /// Bytes that are not an array file this crate reads.
    #[error("npy: {what}: expected {expected}, found {found}")]
    Npy {
        /// The part of the file.
        what: &'static str,
        /// What the format or this reader asks for.
        expected: String,
        /// What the bytes hold.
        found: String,
    },
    /// Bytes that are not an archive of arrays, or an archive without the arrays asked for.
    #[error("npz: {what}: expected {expected}, found {found}")]
    Npz {
        /// The part of the file.
        what: &'static str,
        /// What the format or the reader asks for.
        expected: String,
        /// What the bytes hold.
        found: String,
    },
}

/// Fails on the first NaN or infinity of `values`.
pub(crate) fn require_finite(what: &'static str, values: &[f64]) -> Result<(), StatsError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(StatsError::NotFinite { what, at, value: values[at] }),
    }
}

/// Fails on the first element of `values` that is not a finite number above zero.
pub(crate) fn require_positive(what: &'static str, values: &[f64]) -> Result<(), StatsError> {
    require_finite(what, values)?;
    match values.iter().position(|&value| value <= 0.0) {
        None => Ok(()),
        Some(at) => Err(StatsError::OutOfRange { what, at, value: values[at], range: "a number above 0" }),
    }
}

/// Fails when `found` is below `needed`.
pub(crate) fn require_count(what: &'static str, needed: u64, found: u64) -> Result<(), StatsError> {
    if found < needed { Err(StatsError::TooFew { what, needed, found }) } else { Ok(()) }
}
