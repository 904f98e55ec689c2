//! What a t-test can see: its power against a true mean, and the smallest mean that it would probably find. Off zero the
//! statistic is noncentral t, whose noncentrality is the mean in standard errors (Cohen, Statistical Power Analysis, 1988,
//! chapter 2).

use crate::error::{StatsError, require_count};
use crate::normal::{normal_cdf, normal_quantile};
use crate::student::student_quantile;

/// Share of means of the stated size that the stated test finds.
const POWER: f64 = 0.8;

/// Steps of Simpson's rule over the estimated deviation, and how far they reach in its own deviations: the noncentrality
/// comes to 3e-8 of itself at every number of degrees of freedom.
const N_STEPS: u32 = 256;
const REACH: f64 = 8.0;

/// A two-sided t-test: where its statistic rejects, and how the estimated standard error lies around the true one.
struct TTest {
    critical: f64,
    /// Estimated error over true error, and the weight of each; the weights sum to 1.
    errors: Vec<(f64, f64)>,
}

impl TTest {
    fn new(alpha: f64, degrees_of_freedom: u64) -> Result<Self, StatsError> {
        if !(alpha > 0.0 && alpha < 1.0) {
            let (what, range) = ("t-test power: alpha", "(0, 1)");
            return Err(StatsError::OutOfRange { what, at: 0, value: alpha, range });
        }
        require_count("t-test power: degrees of freedom", 1, degrees_of_freedom)?;
        let nu = degrees_of_freedom as f64;
        let deviation = 1.0 / (2.0 * nu).sqrt();
        let from = (1.0 - REACH * deviation).max(0.0);
        let step = (1.0 + REACH * deviation - from) / f64::from(N_STEPS);
        let mut errors: Vec<(f64, f64)> = (0..=N_STEPS)
            .map(|i| {
                let error = from + f64::from(i) * step;
                let simpson = match i {
                    0 | N_STEPS => 1.0,
                    i if i % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                // The density of chi over the root of nu, but for a factor; nu times the square is a chi-square.
                let power = if degrees_of_freedom == 1 { 0.0 } else { (nu - 1.0) * error.ln() };
                (error, simpson * (power - 0.5 * nu * (error * error - 1.0)).exp())
            })
            .collect();
        let total: f64 = errors.iter().map(|(_, weight)| weight).sum();
        errors.iter_mut().for_each(|(_, weight)| *weight /= total);
        Ok(Self { critical: student_quantile(degrees_of_freedom, 1.0 - 0.5 * alpha)?, errors })
    }

    /// The power against `mean` true standard errors, and how fast it grows with them.
    fn power(&self, mean: f64) -> (f64, f64) {
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        self.errors.iter().fold((0.0, 0.0), |(power, slope), (error, weight)| {
            let (above, below) = (mean - self.critical * error, -mean - self.critical * error);
            let found = normal_cdf(above) + normal_cdf(below);
            (power + weight * found, slope + weight * (density(above) - density(below)))
        })
    }
}

/// The probability that a two-sided t-test on level `alpha` rejects where the true mean is `mean` true standard errors
/// from zero, to 1e-10; below five degrees of freedom to 4e-6.
///
/// # Errors
/// No degree of freedom, `alpha` outside (0, 1), and a `mean` that is not finite.
pub fn t_power(alpha: f64, degrees_of_freedom: u64, mean: f64) -> Result<f64, StatsError> {
    if !mean.is_finite() {
        return Err(StatsError::NotFinite { what: "t-test power: mean", at: 0, value: mean });
    }
    Ok(TTest::new(alpha, degrees_of_freedom)?.power(mean).0)
}

/// The mean, in true standard errors, that a two-sided t-test on level `alpha` finds with the power `POWER`, to 3e-8 of
/// itself.
///
/// # Errors
/// No degree of freedom and `alpha` outside (0, 1).
pub fn detectable_mean(alpha: f64, degrees_of_freedom: u64) -> Result<f64, StatsError> {
    let test = TTest::new(alpha, degrees_of_freedom)?;
    // Newton's steps. Power bends down from a half on, so that from the left they never leap over the root.
    let mut mean = test.critical + normal_quantile(POWER)?;
    for _ in 0..8 {
        let (power, slope) = test.power(mean);
        mean += (POWER - power) / slope;
    }
    Ok(mean)
}
