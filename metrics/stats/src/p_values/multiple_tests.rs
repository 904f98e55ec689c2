//! Several tests at once: p-values that hold for all of them together.

use crate::error::StatsError;

/// p-values after Holm's step-down correction (Scandinavian Journal of Statistics 6, 1979), in the order given: the
/// probability of at least one false rejection among all is at most `a` if those at or below `a` are rejected,
/// however the tests depend on one another.
///
/// # Errors
/// A p-value outside `[0, 1]`.
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, StatsError> {
    if let Some((at, &value)) = p_values.iter().enumerate().find(|(_, p)| !(0.0..=1.0).contains(*p)) {
        return Err(StatsError::OutOfRange { what: "Holm: p-value", at, value, range: "[0, 1]" });
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]).then(a.cmp(&b)));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest: f64 = 0.0;
    for (rank, &test) in order.iter().enumerate() {
        let n_left = (p_values.len() - rank) as f64;
        highest = highest.max((n_left * p_values[test]).min(1.0));
        adjusted[test] = highest;
    }
    Ok(adjusted)
}
