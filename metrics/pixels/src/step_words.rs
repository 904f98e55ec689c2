//! The steps in words, for people who read a protocol.

use std::fmt;

use crate::resample::{Filter, PassOrder};
use crate::step::{CropSide, Resampler, Rounding, Step, Target};

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CentreCrop { side: CropSide::Shortest, .. } => {
                f.write_str("crop the largest square in the middle")
            }
            Self::CentreCrop { side: CropSide::Pixels(side), .. } => {
                write!(f, "crop {side}x{side} in the middle")
            }
            Self::Resize { to: Target::Square(side), by } => {
                write!(f, "resize to {side}x{side}, whatever the shape, {by}")
            }
            Self::Resize { to: Target::ShortestSide(side), by } => {
                write!(f, "resize the shorter side to {side} and keep the shape, {by}")
            }
            Self::Resize { to: Target::LongestSide(side), by } => {
                write!(f, "resize the longer side to {side} and keep the shape, {by}")
            }
            Self::PadToSquare { side } => {
                write!(f, "put it in the middle of {side}x{side} zeros")
            }
            Self::Clip => f.write_str("limit to 0 to 255"),
            Self::Quantise { rounding: Rounding::HalfEven } => {
                f.write_str("round to bytes, halves to the even neighbour")
            }
            Self::Quantise { rounding: Rounding::Truncate } => f.write_str("cut the fraction off, to bytes"),
            Self::Standardise { subtract: [0.0, 0.0, 0.0], divide } => write!(f, "divide by {}", rgb(divide)),
            Self::Standardise { subtract, divide } => {
                write!(f, "subtract {}, then divide by {}", rgb(subtract), rgb(divide))
            }
            Self::Multiply { by } => write!(f, "multiply by {by}"),
        }
    }
}

impl fmt::Display for Resampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PilU8 { filter, passes } => {
                write!(f, "by Pillow's {} filter in bytes{}", name(*filter), order(*passes))
            }
            Self::PilF32 { filter, passes } => {
                write!(f, "by Pillow's {} filter in floats{}", name(*filter), order(*passes))
            }
            Self::TorchBilinear { antialias: true, .. } => {
                f.write_str("by torch's bilinear kernel in floats with antialiasing")
            }
            Self::TorchBilinear { align_corners, .. } => {
                let corners = if *align_corners { ", corners aligned" } else { "" };
                write!(f, "by torch's bilinear kernel in floats without antialiasing{corners}")
            }
            Self::TorchBicubic { antialias: true } => {
                f.write_str("by torch's bicubic kernel in floats with antialiasing")
            }
            Self::TorchBicubic { antialias: false } => {
                f.write_str("by torch's bicubic kernel in floats without antialiasing")
            }
            Self::TorchBilinearU8 => f.write_str("by torch's bilinear kernel in bytes without antialiasing"),
            Self::Tf1Bilinear => {
                f.write_str("by TensorFlow 1's bilinear kernel, without half-pixel centres or antialiasing")
            }
        }
    }
}

fn name(filter: Filter) -> &'static str {
    match filter {
        Filter::Nearest => "nearest",
        Filter::Box => "box",
        Filter::Bilinear => "bilinear",
        Filter::Hamming => "Hamming",
        Filter::Bicubic => "bicubic",
        Filter::Lanczos => "Lanczos",
    }
}

fn order(passes: PassOrder) -> &'static str {
    match passes {
        PassOrder::Pillow12 => "",
        PassOrder::Pillow13 => " in the order of Pillow 13",
    }
}

/// One number where the three channels have the same.
fn rgb(values: &[f32; 3]) -> String {
    match values {
        [r, g, b] if r == g && g == b => r.to_string(),
        [r, g, b] => format!("({r}, {g}, {b})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_channels_are_one_number() {
        let words = |subtract, divide| Step::Standardise { subtract, divide }.to_string();
        assert_eq!(words([0.0; 3], [255.0; 3]), "divide by 255");
        assert_eq!(words([0.5; 3], [0.5, 0.25, 1.0]), "subtract 0.5, then divide by (0.5, 0.25, 1)");
    }
}
