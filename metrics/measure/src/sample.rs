//! What a statistic needs of one side: all rows, or the mean and covariance alone, which do not grow with the rows.

use specimen_stats::StatsError;
use specimen_stats::features::FeatureRows;
use specimen_stats::gaussian::{FactoredGaussian, Gaussian};
use specimen_stats::moments::{Moments, MomentsAccumulator};
use specimen_stats::statistic::Statistic;
use specimen_stats::statistics_file::Origin;

/// Takes in rows one after the other and keeps their mean and covariance. As long as there are no more rows than
/// features the rows themselves are kept: they are the exact factor of a covariance without full rank.
#[derive(Clone, Debug)]
pub struct Spread {
    state: State,
    d: usize,
}

#[derive(Clone, Debug)]
enum State {
    /// `[<= d, d]`
    Few(Vec<f32>),
    Many(MomentsAccumulator),
}

impl Spread {
    /// Of no rows of `d` features.
    pub fn new(d: usize) -> Result<Self, StatsError> {
        Moments::empty(d)?;
        Ok(Self { state: State::Few(Vec::new()), d })
    }

    /// Takes in rows, `[n, d]` by rows.
    pub fn push(&mut self, rows: &[f32]) -> Result<(), StatsError> {
        match &mut self.state {
            State::Few(kept) => {
                if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
                    let value = f64::from(rows[at]);
                    return Err(StatsError::NotFinite { what: "feature rows", at, value });
                }
                kept.extend_from_slice(rows);
                if kept.len() > self.d * self.d {
                    let mut moments = MomentsAccumulator::new(self.d)?;
                    moments.push_rows(kept)?;
                    self.state = State::Many(moments);
                }
                Ok(())
            }
            State::Many(moments) => moments.push_rows(rows),
        }
    }

    /// Rows, mean and covariance in the form that distances take, and how many rows there were.
    pub fn factored(self) -> Result<Factored, StatsError> {
        match self.state {
            State::Few(rows) => {
                let rows = FeatureRows::new(rows, self.d)?;
                Ok(Factored { n: Some(rows.n() as u64), factored: FactoredGaussian::of_rows(&rows)? })
            }
            State::Many(moments) => {
                // A matrix each at 2048 features: what is not needed any more goes first.
                let gaussian = moments.finish()?.value()?;
                Factored::of(&gaussian)
            }
        }
    }

    /// The mergeable state of all rows.
    pub fn moments(self) -> Result<Moments, StatsError> {
        match self.state {
            State::Few(rows) => Moments::of_rows(&rows, self.d),
            State::Many(moments) => moments.finish(),
        }
    }
}

/// One side of a Frechet distance.
#[derive(Clone, Debug)]
pub struct Factored {
    /// Rows behind it, if known.
    pub n: Option<u64>,
    /// Mean and factored covariance.
    pub factored: FactoredGaussian,
}

impl Factored {
    /// Of a mean and covariance.
    pub fn of(gaussian: &Gaussian) -> Result<Self, StatsError> {
        Ok(Self { n: gaussian.n(), factored: gaussian.factor()? })
    }
}

/// Mean and covariance of one side, collected here or given.
#[derive(Clone, Debug)]
pub enum Side {
    /// Of rows.
    Spread(Spread),
    /// Of a statistics file.
    Given(Gaussian),
}

impl Side {
    /// Features of a row.
    pub fn d(&self) -> usize {
        match self {
            Self::Spread(spread) => spread.d,
            Self::Given(gaussian) => gaussian.mean().len(),
        }
    }

    /// In the form that distances take.
    pub fn factored(self) -> Result<Factored, StatsError> {
        match self {
            Self::Spread(spread) => spread.factored(),
            Self::Given(gaussian) => Factored::of(&gaussian),
        }
    }

    /// As mean and covariance.
    pub fn gaussian(self) -> Result<Gaussian, StatsError> {
        match self {
            Self::Spread(spread) => spread.moments()?.value(),
            Self::Given(gaussian) => Ok(gaussian),
        }
    }

    /// In the form that merges.
    pub fn moments(self) -> Result<Moments, StatsError> {
        match self {
            Self::Spread(spread) => spread.moments(),
            Self::Given(gaussian) => Moments::of_gaussian(&gaussian),
        }
    }
}

/// All rows of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The rows, in the order of their keys.
    pub features: FeatureRows,
    /// What made them, where it is known.
    pub origin: Option<Origin>,
}
