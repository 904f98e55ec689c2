//! Rows scaled to unit length, where a statistic looks at directions only.

use faer::Mat;

use crate::error::StatsError;
use crate::features::FeatureRows;

/// Returns the rows in f64, `[d, n]`, each divided by its length; fails on a row of zeros, which has no direction.
pub(crate) fn unit_rows(what: &'static str, features: &FeatureRows) -> Result<Mat<f64>, StatsError> {
    let length = |i: usize| features.row(i).iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let lengths: Vec<f64> = (0..features.n()).map(length).collect();
    if let Some(at) = lengths.iter().position(|&length| length == 0.0) {
        return Err(StatsError::OutOfRange { what, at, value: 0.0, range: "a row whose length is above 0" });
    }
    Ok(Mat::from_fn(features.d(), features.n(), |j, i| f64::from(features.row(i)[j]) / lengths[i]))
}
