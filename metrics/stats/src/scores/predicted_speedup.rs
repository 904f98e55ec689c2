//! The speedup that the counts promise, to be set beside the measured one.
//!
//! A step costs one verify forward and the drafter's forwards, and emits `tau` tokens; AR pays one forward a token. In
//! units of an AR forward the ratio is `tau / (r_verify + n_draft c_draft)`: Leviathan et al. 2023, theorem 3.8, with
//! the verify forward's own cost kept (there it is 1). What the measured speedup lacks of it was lost on the host.

use crate::error::{StatsError, require_finite};

/// Costs of one step, in units of the time of one AR target forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepCosts {
    /// Verify forward over AR forward, above 0; a little over 1 while memory-bound.
    pub r_verify: f64,
    /// Drafter forwards a step, 0 or more (a mean, so it need not be whole).
    pub n_draft: f64,
    /// Drafter forward over AR target forward, 0 or more.
    pub c_draft: f64,
}

/// Returns `tau / (r_verify + n_draft * c_draft)` for `tau` tokens per forward, at least 1.
///
/// # Errors
/// Values out of the stated ranges.
pub fn predicted_speedup(tau: f64, costs: &StepCosts) -> Result<f64, StatsError> {
    require_finite(
        "predicted speedup: tau, r_verify, n_draft, c_draft",
        &[tau, costs.r_verify, costs.n_draft, costs.c_draft],
    )?;
    let out_of_range = |what, value, range| Err(StatsError::OutOfRange { what, at: 0, value, range });
    if tau < 1.0 {
        return out_of_range("predicted speedup: tau", tau, "1 or more tokens per forward");
    }
    if costs.r_verify <= 0.0 {
        return out_of_range("predicted speedup: r_verify", costs.r_verify, "a number above 0");
    }
    if costs.n_draft < 0.0 {
        return out_of_range("predicted speedup: n_draft", costs.n_draft, "0 or more");
    }
    if costs.c_draft < 0.0 {
        return out_of_range("predicted speedup: c_draft", costs.c_draft, "0 or more");
    }
    Ok(tau / (costs.r_verify + costs.n_draft * costs.c_draft))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn a_free_drafter_speeds_up_by_the_tokens_per_forward() {
        let costs = StepCosts { r_verify: 1.0, n_draft: 5.0, c_draft: 0.0 };
        assert_eq!(predicted_speedup(2.5, &costs).unwrap(), 2.5);
    }

    #[test]
    fn draft_and_verify_costs_divide_the_speedup() {
        let costs = StepCosts { r_verify: 1.2, n_draft: 4.0, c_draft: 0.2 };
        assert!((predicted_speedup(3.0, &costs).unwrap() - 1.5).abs() < 1e-15);
    }

    #[test]
    fn impossible_costs_are_errors() {
        for (tau, r_verify, n_draft, c_draft) in
            [(0.5, 1.0, 1.0, 0.1), (2.0, 0.0, 1.0, 0.1), (2.0, 1.0, -1.0, 0.1), (2.0, 1.0, 1.0, f64::NAN)]
        {
            assert!(predicted_speedup(tau, &StepCosts { r_verify, n_draft, c_draft }).is_err());
        }
    }

    #[test]
    fn the_edges_of_the_ranges_belong_to_them() {
        let costs = StepCosts { r_verify: 2.0, n_draft: 0.0, c_draft: 0.0 };
        assert_eq!(predicted_speedup(1.0, &costs).unwrap(), 0.5);
    }
}
