//! Peak signal-to-noise ratio of two pictures of 8 bits a channel: `10 log10(255^2 / MSE)`, the mean squared error being
//! over all pixels and channels together (`peak_signal_noise_ratio` of scikit-image with `data_range=255`).

use crate::error::{StatsError, require_count};

/// The largest value of a byte, which is the peak.
const PEAK: f64 = 255.0;

/// Returns the mean squared difference of the bytes of two pictures, in `[0, 255^2]`. The sum is exact.
///
/// # Errors
/// No byte; pictures of different numbers of bytes.
pub fn mean_squared_error(a: &[u8], b: &[u8]) -> Result<f64, StatsError> {
    require_count("mean squared error", 1, a.len() as u64)?;
    if a.len() != b.len() {
        return Err(StatsError::WrongSize { what: "bytes of a picture", expected: a.len(), found: b.len() });
    }
    let square = |(&a, &b): (&u8, &u8)| u64::from(a.abs_diff(b)).pow(2);
    Ok(a.iter().zip(b).map(square).sum::<u64>() as f64 / a.len() as f64)
}

/// Returns the ratio in decibels that belongs to a mean squared error of at least 0; `None` for 0, where it is infinite.
#[must_use]
pub fn decibels(mean_squared_error: f64) -> Option<f64> {
    (mean_squared_error > 0.0).then(|| 10.0 * (PEAK * PEAK / mean_squared_error).log10())
}

/// Returns the ratio of two pictures in decibels; `None` for equal ones, where it is infinite.
///
/// # Errors
/// As [`mean_squared_error`].
pub fn psnr(a: &[u8], b: &[u8]) -> Result<Option<f64>, StatsError> {
    Ok(decibels(mean_squared_error(a, b)?))
}
