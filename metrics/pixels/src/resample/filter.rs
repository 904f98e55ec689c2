//! The kernels of Pillow's resampling, in `f64`, over the distance to a pixel's centre.

use std::f64::consts::PI;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A resampling filter by Pillow's name for it. All but [`Filter::Nearest`] widen with the scale when a picture
/// shrinks, which keeps it free of aliasing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// The nearest pixel.
    Nearest,
    /// The mean of the pixels under an output pixel.
    Box,
    /// Linear.
    Bilinear,
    /// Sharper than linear, as wide.
    Hamming,
    /// Cubic with `a = -0.5`.
    Bicubic,
    /// Windowed sinc over three lobes.
    Lanczos,
}

impl Filter {
    /// Half the width of the kernel in pixels at scale 1; `None` for [`Filter::Nearest`], which has no kernel.
    pub(crate) fn support(self) -> Option<f64> {
        match self {
            Self::Nearest => None,
            Self::Box => Some(0.5),
            Self::Bilinear | Self::Hamming => Some(1.0),
            Self::Bicubic => Some(2.0),
            Self::Lanczos => Some(3.0),
        }
    }

    /// The weight at distance `x`; 0 outside the support. The order of the operations is Pillow's: the weights
    /// of its float mode are compared bit by bit.
    pub(crate) fn weight(self, x: f64) -> f64 {
        match self {
            Self::Nearest => 0.0,
            Self::Box => f64::from(u8::from(x > -0.5 && x <= 0.5)),
            Self::Bilinear => (1.0 - x.abs()).max(0.0),
            Self::Hamming => hamming(x.abs()),
            Self::Bicubic => bicubic(x.abs()),
            Self::Lanczos => {
                if (-3.0..3.0).contains(&x) {
                    sinc(x) * sinc(x / 3.0)
                } else {
                    0.0
                }
            }
        }
    }
}

fn hamming(x: f64) -> f64 {
    // Pillow writes these two in single precision.
    const MEAN: f64 = 0.54_f32 as f64;
    const SWING: f64 = 0.46_f32 as f64;
    if x == 0.0 {
        return 1.0;
    }
    if x >= 1.0 {
        return 0.0;
    }
    let angle = x * PI;
    angle.sin() / angle * (MEAN + SWING * angle.cos())
}

fn bicubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    if x < 1.0 {
        ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * A
    } else {
        0.0
    }
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    let angle = x * PI;
    angle.sin() / angle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_one_at_its_centre_and_nothing_at_its_edge() {
        for filter in [Filter::Box, Filter::Bilinear, Filter::Hamming, Filter::Bicubic, Filter::Lanczos] {
            let support = filter.support().expect("these have kernels");
            assert_eq!(filter.weight(0.0), 1.0, "{filter:?}");
            assert!(filter.weight(support + 1e-9).abs() < 1e-8, "{filter:?}");
        }
    }
}
