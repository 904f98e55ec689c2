//! Bytes to bytes in fixed point: sums in 32 bits with so many behind the point, rounded at the end.

use super::taps::Arithmetic;

/// The arithmetic of weights with this many bits behind the point.
pub(super) struct FixedPoint<const FRACTION_BITS: u32>;

impl<const FRACTION_BITS: u32> Arithmetic for FixedPoint<FRACTION_BITS> {
    type In = u8;
    type Wide = i32;
    type Weight = i32;
    type Sum = i32;
    type Out = u8;

    const START: i32 = 1 << (FRACTION_BITS - 1);

    fn widen(sample: u8) -> i32 {
        i32::from(sample)
    }

    fn add(sum: i32, sample: i32, weight: i32) -> i32 {
        sum + sample * weight
    }

    fn finish(sum: i32) -> u8 {
        (sum >> FRACTION_BITS).clamp(0, 255) as u8
    }
}
