//! When two numbers are one but for rounding.

/// How far sums of the same terms in another order may differ, as a share of the size of the terms. Between the machine's
/// 1e-16 and any difference that a measurement can show.
pub const ROUNDING: f64 = 1e-12;

/// Whether `a` and `b` differ by at most the rounding of numbers up to `size`, which is at least 0.
#[must_use]
pub fn is_equal(a: f64, b: f64, size: f64) -> bool {
    a == b || (a - b).abs() <= ROUNDING * size
}

#[cfg(test)]
mod tests {
    use super::is_equal;

    #[test]
    fn sums_in_another_order_are_equal_and_the_next_step_is_not() {
        let (one, other) = (0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1);
        assert!(one != other && is_equal(one, other, 0.6));
        assert!(!is_equal(1.0, 1.0 + 1e-11, 1.0) && is_equal(1.0, 1.0 + 1e-11, 100.0));
        assert!(is_equal(0.0, 0.0, 0.0) && !is_equal(0.0, 1e-300, 0.0));
        assert!(is_equal(f64::INFINITY, f64::INFINITY, f64::INFINITY) && !is_equal(f64::NAN, 1.0, 1.0));
    }
}
