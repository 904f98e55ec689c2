//! Means and their standard errors, of values that are independent and of groups of dependent ones.

use std::collections::BTreeMap;

use crate::{
    bootstrap::{BootstrapPlan, Interval, bootstrap},
    error::{StatsError, require_count, require_finite},
    p_values::student::student_quantile,
};

/// Returns the arithmetic mean.
///
/// # Errors
/// No values and non-finite ones.
pub fn arithmetic_mean(values: &[f64]) -> Result<f64, StatsError> {
    require_count("arithmetic mean", 1, values.len() as u64)?;
    require_finite("arithmetic mean", values)?;
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sample standard deviation (divisor `n - 1`), two passes.
///
/// # Errors
/// Fewer than two values.
pub(crate) fn standard_deviation(values: &[f64]) -> Result<f64, StatsError> {
    require_count("standard deviation", 2, values.len() as u64)?;
    let mean = arithmetic_mean(values)?;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Ok((squares / (values.len() - 1) as f64).sqrt())
}

/// Returns the standard error of the mean, `s / sqrt(n)`.
///
/// # Errors
/// Fewer than two values.
pub fn standard_error(values: &[f64]) -> Result<f64, StatsError> {
    Ok(standard_deviation(values)? / (values.len() as f64).sqrt())
}

/// Returns the mean of `values` and the ends of its 95 % interval: Student's t over the means of groups, because values of
/// one group (the images of one prompt) are not independent. `groups` names the group of each value; there is no interval
/// for a single group.
///
/// # Errors
/// No values and non-finite ones.
pub fn mean_over_groups(values: &[f64], groups: &[&str]) -> Result<(f64, Option<[f64; 2]>), StatsError> {
    let mean = arithmetic_mean(values)?;
    let mut by_group: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (&value, &group) in values.iter().zip(groups) {
        by_group.entry(group).or_default().push(value);
    }
    let of_groups: Vec<f64> =
        by_group.values().map(|values| arithmetic_mean(values)).collect::<Result<_, _>>()?;
    if of_groups.len() < 2 {
        return Ok((mean, None));
    }
    let half = student_quantile(of_groups.len() as u64 - 1, 0.975)? * standard_error(&of_groups)?;
    Ok((mean, Some([mean - half, mean + half])))
}

/// As [`mean_over_groups`], with a BCa bootstrap over the groups, which stays inside of the range of the values; there is no
/// interval of fewer groups than [`fewest_observations`](crate::fewest::fewest_observations) of the level.
///
/// # Errors
/// No values and non-finite ones.
pub fn bootstrap_mean_over_groups(
    values: &[f64],
    groups: &[&str],
    plan: &BootstrapPlan,
) -> Result<(f64, Option<Interval>), StatsError> {
    let mean = arithmetic_mean(values)?;
    let mut by_group: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (&value, &group) in values.iter().zip(groups) {
        let (sum, n) = by_group.entry(group).or_default();
        *sum += value;
        *n += 1.0;
    }
    if by_group.len() < 2 {
        return Ok((mean, None));
    }
    let sums: Vec<(f64, f64)> = by_group.into_values().collect();
    let of_chosen = |chosen: &[usize]| {
        let (sum, n) = chosen.iter().fold((0.0, 0.0), |(sum, n), &at| (sum + sums[at].0, n + sums[at].1));
        sum / n
    };
    Ok((mean, bootstrap(sums.len(), plan, of_chosen)?.interval))
}

/// Returns the mean of the strata's means (each stratum counts alike, whatever its size) and the ends of its 95 % interval:
/// the standard errors of the strata's means over their units add in squares, and Student's t has the degrees of freedom of
/// Welch and Satterthwaite. `units` and `strata` name the unit (the prompt) and the stratum (the task) of each value; there is
/// no interval where a stratum has a single unit.
///
/// # Errors
/// No values and non-finite ones.
pub fn mean_of_strata(
    values: &[f64],
    units: &[&str],
    strata: &[&str],
) -> Result<(f64, Option<[f64; 2]>), StatsError> {
    arithmetic_mean(values)?;
    let mut by_stratum: BTreeMap<&str, Stratum<'_>> = BTreeMap::new();
    for ((&value, &unit), &stratum) in values.iter().zip(units).zip(strata) {
        let stratum = by_stratum.entry(stratum).or_default();
        stratum.all.push(value);
        stratum.by_unit.entry(unit).or_default().push(value);
    }
    let n_strata = by_stratum.len() as f64;
    let (mut mean, mut variance, mut shares) = (0.0, 0.0, 0.0);
    let mut has_interval = true;
    for Stratum { all, by_unit } in by_stratum.into_values() {
        mean += arithmetic_mean(&all)? / n_strata;
        if by_unit.len() < 2 {
            has_interval = false;
            continue;
        }
        let of_units: Vec<f64> =
            by_unit.values().map(|values| arithmetic_mean(values)).collect::<Result<_, _>>()?;
        let own = (standard_error(&of_units)? / n_strata).powi(2);
        variance += own;
        shares += own * own / (of_units.len() - 1) as f64;
    }
    if !has_interval {
        return Ok((mean, None));
    }
    if shares == 0.0 {
        return Ok((mean, Some([mean, mean])));
    }
    let degrees = (variance * variance / shares).floor().max(1.0) as u64;
    let half = student_quantile(degrees, 0.975)? * variance.sqrt();
    Ok((mean, Some([mean - half, mean + half])))
}

/// The values of a stratum, and those of each of its units.
#[derive(Default)]
struct Stratum<'u> {
    all: Vec<f64>,
    by_unit: BTreeMap<&'u str, Vec<f64>>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn the_standard_error_divides_the_sample_deviation_by_root_n() {
        // Deviations -1.5, -.5, .5, 1.5: variance 5 / 3, over 4 rows.
        assert!((standard_error(&[1.0, 2.0, 3.0, 4.0]).unwrap() - (5.0_f64 / 12.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn values_of_one_group_count_once_in_the_interval() {
        // Groups (1, 3) and (6): means 2 and 6, standard error 2, t(1) at 97.5 % = 12.706205.
        let (mean, ci95) = mean_over_groups(&[1.0, 3.0, 6.0], &["a", "a", "b"]).unwrap();
        assert!((mean - 10.0 / 3.0).abs() < 1e-15);
        assert!((ci95.unwrap()[1] - mean - 2.0 * 12.706_204_736).abs() < 1e-6);
        assert_eq!(mean_over_groups(&[1.0, 3.0], &["a", "a"]).unwrap(), (2.0, None));
    }

    #[test]
    fn groups_are_resampled_whole_and_the_interval_keeps_the_range() {
        let plan = BootstrapPlan::new(1, 2000, 0.95).unwrap();
        let values = [0.0, 0.2, 1.0, 1.0, 1.0, 0.9, 0.9, 0.8];
        let groups = ["a", "a", "b", "c", "c", "d", "e", "f"];
        let (mean, interval) = bootstrap_mean_over_groups(&values, &groups, &plan).unwrap();
        let interval = interval.unwrap();
        assert!((mean - 5.8 / 8.0).abs() < 1e-15);
        assert!(interval.lower < mean && mean < interval.upper, "{interval:?}");
        // The worst resample is group a alone, and the best is b or c alone.
        assert!(0.1 <= interval.lower && interval.upper <= 1.0, "{interval:?}");
        assert_eq!(bootstrap_mean_over_groups(&[0.5, 0.7], &["a", "a"], &plan).unwrap().1, None);
        let (_, still) =
            bootstrap_mean_over_groups(&[1.0; 6], &["a", "b", "c", "d", "e", "f"], &plan).unwrap();
        assert_eq!(still.map(|ends| [ends.lower, ends.upper]), Some([1.0, 1.0]));
    }

    #[test]
    fn values_of_fewer_than_six_groups_have_a_mean_without_a_bootstrap_interval() {
        let plan = BootstrapPlan::new(1, 2000, 0.95).unwrap();
        let values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        // Six values, five prompts.
        let groups = ["a", "a", "b", "c", "d", "e"];
        let (mean, interval) = bootstrap_mean_over_groups(&values, &groups, &plan).unwrap();
        assert!((mean - 0.35).abs() < 1e-15 && interval.is_none(), "{interval:?}");
    }

    #[test]
    fn each_stratum_counts_alike_and_their_errors_add_in_squares() {
        // Stratum a: units 0 and 1 (two values each), mean 1/2, standard error 1/2. Stratum b: units 1, 1, 0: mean 2/3, squared
        // standard error 1/9. Variance (1/4 + 1/9) / 4; degrees of freedom 1.899, so t(1) at 97.5 % = 12.706205.
        let values = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0];
        let units = ["0", "0", "1", "1", "2", "3", "4"];
        let strata = ["a", "a", "a", "a", "b", "b", "b"];
        let (mean, ci95) = mean_of_strata(&values, &units, &strata).unwrap();
        assert!((mean - 7.0 / 12.0).abs() < 1e-15);
        let half = 12.706_204_736 * ((0.25_f64 + 1.0 / 9.0) / 4.0).sqrt();
        assert!((ci95.unwrap()[1] - mean - half).abs() < 1e-6, "{ci95:?}");
        assert_eq!(mean_of_strata(&values[..5], &units[..5], &strata[..5]).unwrap(), (0.75, None));
        assert_eq!(mean_of_strata(&[1.0, 1.0], &["0", "1"], &["a", "a"]).unwrap(), (1.0, Some([1.0, 1.0])));
        assert!(mean_of_strata(&[], &[], &[]).is_err());
    }

    #[test]
    fn what_has_no_mean_is_an_error() {
        assert!(arithmetic_mean(&[]).is_err());
        assert!(arithmetic_mean(&[1.0, f64::NAN]).is_err());
        assert!(standard_deviation(&[1.0]).is_err());
    }
}
