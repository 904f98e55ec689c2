//! First and second moments of feature vectors, mergeable across blocks.
//!
//! A block is centred on its own mean and reduced in f64; blocks are combined by the update of Chan, Golub and LeVeque
//! (The American Statistician 37, 1983, eq. 2.1). That keeps the centred second moment positive semidefinite to
//! rounding, where sums of raw products cancel. [`MomentsAccumulator`] cuts blocks at fixed row numbers, so the digits
//! depend on the rows and their order only, never on how a loader, a thread or a shard happened to group them.

use faer::Mat;
use serde::{Deserialize, Serialize};

use crate::blocks::{lower_gram, lower_gram_into};
use crate::error::{StatsError, require_count, require_finite};
use crate::gaussian::Gaussian;
use crate::statistic::Statistic;

/// Rows in one block of [`MomentsAccumulator`]. Part of the meaning of the last digits: changing it is a new recipe.
pub const BLOCK_ROWS: usize = 256;

/// Count, mean and centred second moment of feature rows.
// Invariant: `m2.len() == d (d + 1) / 2` with `d = mean.len() >= 1`; all entries are finite; zeros while `n == 0`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "MomentsWire")]
pub struct Moments {
    n: u64,
    /// `[d]`
    mean: Vec<f64>,
    /// `[d (d + 1) / 2]`, upper triangle by rows: sum of outer products about the mean.
    m2: Vec<f64>,
}

impl Moments {
    /// Returns the state of no rows of `d` features.
    ///
    /// # Errors
    /// `d = 0`.
    pub fn empty(d: usize) -> Result<Self, StatsError> {
        if d == 0 {
            return Err(StatsError::OutOfRange {
                what: "moments: features per row",
                at: 0,
                value: 0.0,
                range: "1 or more",
            });
        }
        Ok(Self { n: 0, mean: vec![0.0; d], m2: vec![0.0; d * (d + 1) / 2] })
    }

    /// Returns the moments of one block, `rows` being `[n, d]` by rows.
    ///
    /// # Errors
    /// A ragged block or a non-finite value.
    pub fn of_block(rows: &[f32], d: usize) -> Result<Self, StatsError> {
        let mut moments = Self::empty(d)?;
        let n_rows = check_rows(rows, d)?;
        if n_rows == 0 {
            return Ok(moments);
        }
        moments.n = n_rows as u64;
        moments.mean = mean_of(rows, d);
        let gram = lower_gram(centred(rows, &moments.mean).as_ref());
        moments.m2 = packed(&gram);
        Ok(moments)
    }

    /// Returns the moments of `rows` (`[n, d]` by rows), reduced over fixed blocks of [`BLOCK_ROWS`].
    ///
    /// # Errors
    /// A ragged matrix, a value that is not finite.
    pub fn of_rows(rows: &[f32], d: usize) -> Result<Self, StatsError> {
        let mut accumulator = MomentsAccumulator::new(d)?;
        accumulator.push_rows(rows)?;
        accumulator.finish()
    }

    /// Takes in one block of rows, `[n, d]` by rows. The digits depend on where blocks are cut; use
    /// [`MomentsAccumulator`] unless the caller already cuts them at fixed places.
    ///
    /// # Errors
    /// Rows of another width, a value that is not finite.
    pub(crate) fn push_block(&mut self, rows: &[f32]) -> Result<(), StatsError> {
        let block = Self::of_block(rows, self.d())?;
        self.merge(&block)
    }

    /// Returns the moments behind a Gaussian that knows its number of rows, such as one read from a file; its
    /// covariance comes back to rounding.
    ///
    /// # Errors
    /// A number of rows that is not known.
    pub fn of_gaussian(gaussian: &Gaussian) -> Result<Self, StatsError> {
        let Some(n) = gaussian.n() else {
            let why = "the number of rows is not known, so they cannot be merged; was the file written by another tool?";
            return Err(StatsError::Inconsistent { what: "moments of a gaussian", why: why.to_owned() });
        };
        let mean = gaussian.mean().to_vec();
        let d = mean.len();
        let factor = (n - 1) as f64;
        let entry = |(i, j): (usize, usize)| gaussian.covariance()[i * d + j] * factor;
        let m2 = (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).map(entry).collect();
        Ok(Self { n, mean, m2 })
    }

    /// Returns the moments of the rows seen that are not in `part`, by the update of [`Statistic::merge`] run
    /// backwards. Digits are lost where `part` has nearly all the spread, so the part should be a small one.
    ///
    /// # Errors
    /// Unequal widths and when `part` has more rows than this.
    pub fn without(&self, part: &Self) -> Result<Self, StatsError> {
        self.check_width(part)?;
        require_count("moments without a part: rows", part.n, self.n)?;
        let n_rest = self.n - part.n;
        if n_rest == 0 {
            return Self::empty(self.d());
        }
        let (n_all, n_part, n_rest_f64) = (self.n as f64, part.n as f64, n_rest as f64);
        let mean: Vec<f64> = self
            .mean
            .iter()
            .zip(&part.mean)
            .map(|(all, part)| all + (all - part) * (n_part / n_rest_f64))
            .collect();
        let delta: Vec<f64> = part.mean.iter().zip(&mean).map(|(part, rest)| part - rest).collect();
        let weight = n_part * n_rest_f64 / n_all;
        let mut m2 = Vec::with_capacity(self.m2.len());
        for (i, &delta_i) in delta.iter().enumerate() {
            for (j, &delta_j) in delta.iter().enumerate().skip(i) {
                let entry = self.m2[m2.len()] - part.m2[m2.len()] - weight * delta_i * delta_j;
                // Rounding may leave a constant feature a spread below zero.
                m2.push(if i == j { entry.max(0.0) } else { entry });
            }
        }
        Ok(Self { n: n_rest, mean, m2 })
    }

    /// Number of rows seen.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Features per row.
    #[must_use]
    pub fn d(&self) -> usize {
        self.mean.len()
    }

    /// Returns the mean, `[d]`.
    ///
    /// # Errors
    /// No rows.
    pub fn mean(&self) -> Result<&[f64], StatsError> {
        require_count("mean of features", 1, self.n)?;
        Ok(&self.mean)
    }

    /// Returns the unbiased covariance (divisor `n - 1`), `[d, d]` by rows, exactly symmetric.
    ///
    /// # Errors
    /// Fewer than two rows.
    pub fn covariance(&self) -> Result<Vec<f64>, StatsError> {
        require_count("covariance of features", 2, self.n)?;
        let d = self.d();
        let divisor = (self.n - 1) as f64;
        let mut covariance = vec![0.0; d * d];
        let mut at = 0;
        for i in 0..d {
            for j in i..d {
                let entry = self.m2[at] / divisor;
                covariance[i * d + j] = entry;
                covariance[j * d + i] = entry;
                at += 1;
            }
        }
        Ok(covariance)
    }

    /// Takes in `n > 0` rows with the mean `mean`, `rows` being the rows of their upper triangle about it.
    fn merge_parts<'r>(&mut self, n: u64, mean: &[f64], rows: impl Iterator<Item = &'r [f64]>) {
        let (n_before, n_later) = (self.n as f64, n as f64);
        let n_both = n_before + n_later;
        // Zero where nothing was seen before: then this is a copy, as zeros are added.
        let weight = n_before * n_later / n_both;
        let delta: Vec<f64> = mean.iter().zip(&self.mean).map(|(b, a)| b - a).collect();
        let mut rest = self.m2.as_mut_slice();
        for (i, (row, &delta_i)) in rows.zip(&delta).enumerate() {
            let (own, behind) = rest.split_at_mut(row.len());
            for ((own, later), &delta_j) in own.iter_mut().zip(row).zip(&delta[i..]) {
                *own += later + weight * delta_i * delta_j;
            }
            rest = behind;
        }
        for (own, delta) in self.mean.iter_mut().zip(&delta) {
            *own += delta * (n_later / n_both);
        }
        self.n += n;
    }

    fn check_width(&self, other: &Self) -> Result<(), StatsError> {
        if other.d() == self.d() {
            return Ok(());
        }
        let what = "moments: features per row";
        Err(StatsError::WrongSize { what, expected: self.d(), found: other.d() })
    }
}

impl Statistic for Moments {
    type Observation = [f32];
    type Value = Gaussian;

    /// Takes in one block, `[n, d]` by rows.
    fn push(&mut self, observation: &[f32]) -> Result<(), StatsError> {
        self.push_block(observation)
    }

    fn merge(&mut self, later: &Self) -> Result<(), StatsError> {
        self.check_width(later)?;
        if later.n > 0 {
            let mut rest = later.m2.as_slice();
            let rows = (0..self.d()).rev().map(|n_behind| {
                let (row, behind) = rest.split_at(n_behind + 1);
                rest = behind;
                row
            });
            self.merge_parts(later.n, &later.mean, rows);
        }
        Ok(())
    }

    fn value(&self) -> Result<Gaussian, StatsError> {
        Gaussian::new(self.mean()?.to_vec(), self.covariance()?, Some(self.n))
    }
}

/// Cuts a stream of rows into blocks of [`BLOCK_ROWS`] and folds their moments in order: to the last digit the merge of the
/// blocks' own [`Moments`].
#[derive(Clone, Debug)]
pub struct MomentsAccumulator {
    folded: Moments,
    /// `[d, d]`: room for the products of a block.
    gram: Mat<f64>,
    /// `[< BLOCK_ROWS, d]`, the rows of the block under way.
    pending: Vec<f32>,
}

impl MomentsAccumulator {
    /// Returns an accumulator for rows of `d` features.
    ///
    /// # Errors
    /// `d = 0`.
    pub fn new(d: usize) -> Result<Self, StatsError> {
        Ok(Self { folded: Moments::empty(d)?, gram: Mat::zeros(d, d), pending: Vec::new() })
    }

    /// Takes in rows in plan order, `[n, d]` by rows, in groups of any size. On an error nothing was taken in.
    ///
    /// # Errors
    /// Rows of another width, a value that is not finite.
    pub fn push_rows(&mut self, rows: &[f32]) -> Result<(), StatsError> {
        let d = self.folded.d();
        check_rows(rows, d)?;
        let mut rest = rows;
        while !rest.is_empty() {
            let n_taken = (BLOCK_ROWS * d - self.pending.len()).min(rest.len());
            let (taken, after) = rest.split_at(n_taken);
            self.pending.extend_from_slice(taken);
            rest = after;
            if self.pending.len() == BLOCK_ROWS * d {
                self.fold();
            }
        }
        Ok(())
    }

    /// Folds the block under way, if there is any of it.
    fn fold(&mut self) {
        let d = self.folded.d();
        if !self.pending.is_empty() {
            let mean = mean_of(&self.pending, d);
            lower_gram_into(&mut self.gram, centred(&self.pending, &mean).as_ref());
            let columns = (0..d).map(|j| &self.gram.col_as_slice(j)[j..]);
            self.folded.merge_parts((self.pending.len() / d) as u64, &mean, columns);
            self.pending.clear();
        }
    }

    /// Returns the moments of all rows; the last block may be short.
    ///
    /// # Errors
    /// As [`Moments::merge`](crate::statistic::Statistic::merge).
    pub fn finish(mut self) -> Result<Moments, StatsError> {
        self.fold();
        Ok(self.folded)
    }
}

/// Returns the mean of at least one row.
fn mean_of(rows: &[f32], d: usize) -> Vec<f64> {
    let mut mean = vec![0.0; d];
    for row in rows.chunks_exact(d) {
        for (sum, &x) in mean.iter_mut().zip(row) {
            *sum += f64::from(x);
        }
    }
    let n_rows = (rows.len() / d) as f64;
    mean.iter_mut().for_each(|sum| *sum /= n_rows);
    mean
}

/// Wire form of [`Moments`], checked on the way in.
#[derive(Deserialize)]
struct MomentsWire {
    n: u64,
    mean: Vec<f64>,
    m2: Vec<f64>,
}

impl TryFrom<MomentsWire> for Moments {
    type Error = StatsError;

    fn try_from(wire: MomentsWire) -> Result<Self, StatsError> {
        let expected = Self::empty(wire.mean.len())?.m2.len();
        if wire.m2.len() != expected {
            return Err(StatsError::WrongSize {
                what: "moments: entries of the packed second moment",
                expected,
                found: wire.m2.len(),
            });
        }
        require_finite("moments: mean", &wire.mean)?;
        require_finite("moments: second moment", &wire.m2)?;
        Ok(Self { n: wire.n, mean: wire.mean, m2: wire.m2 })
    }
}

/// Returns the number of rows in `rows`; fails on a ragged or non-finite block.
fn check_rows(rows: &[f32], d: usize) -> Result<usize, StatsError> {
    if !rows.len().is_multiple_of(d) {
        return Err(StatsError::WrongSize {
            what: "feature rows: numbers in the last row",
            expected: d,
            found: rows.len() % d,
        });
    }
    match rows.iter().position(|x| !x.is_finite()) {
        None => Ok(rows.len() / d),
        Some(at) => Err(StatsError::NotFinite { what: "feature rows", at, value: f64::from(rows[at]) }),
    }
}

/// Returns rows about their mean, `[n, d]`.
fn centred(rows: &[f32], mean: &[f64]) -> Mat<f64> {
    let d = mean.len();
    Mat::from_fn(rows.len() / d, d, |i, j| f64::from(rows[i * d + j]) - mean[j])
}

/// Returns the lower triangle of a square matrix as the upper one by rows: the lower part of a column is the upper part of
/// the mirrored row.
fn packed(matrix: &Mat<f64>) -> Vec<f64> {
    let d = matrix.ncols();
    let mut packed = Vec::with_capacity(d * (d + 1) / 2);
    (0..d).for_each(|j| packed.extend_from_slice(&matrix.col_as_slice(j)[j..]));
    packed
}
