//! One value against one bound.

use specimen_record::Reading;
use specimen_stats::{
    fewest::FEWEST_OBSERVATIONS,
    rounding::{ROUNDING, is_equal},
};

use super::rules::{Bound, Direction, percent};
use crate::table::deciding;

/// Whether `measured` keeps the bound, and if not, by what. Both values are there.
pub(crate) fn judge(
    bound: Bound,
    direction: Direction,
    baseline: &Reading,
    measured: &Reading,
) -> Result<(), String> {
    let (Some(old), Some(new)) = (baseline.value, measured.value) else {
        return Err("a value is missing".to_owned());
    };
    let is_held = match direction {
        Direction::Both => true,
        Direction::HigherIsBetter => new < old,
        Direction::LowerIsBetter => new > old,
    };
    let sign = if new < old { '-' } else { '+' };
    let moved_by = |allowed: f64| format!("it moved by {sign}{}", deciding((new - old).abs(), &[allowed], 4));
    match bound {
        Bound::Window { low, high } => match (low..=high).contains(&new) {
            true => Ok(()),
            false => Err(format!("{} is outside [{low}, {high}]", deciding(new, &[low, high], 4))),
        },
        _ if !is_held => Ok(()),
        Bound::Exact => match is_equal(new, old, old.abs()) {
            true => Ok(()),
            false => Err(format!("{}, and may not move", moved_by(0.0))),
        },
        Bound::Relative { tolerance } => match (new - old).abs() <= (tolerance + ROUNDING) * old.abs() {
            true => Ok(()),
            false if old == 0.0 => Err("it was 0".to_owned()),
            false => {
                let (moved, allowed) = (100.0 * (new / old - 1.0), percent(tolerance));
                let sign = if moved < 0.0 { '-' } else { '+' };
                Err(format!(
                    "it moved by {sign}{} %, {allowed} % allowed",
                    deciding(moved.abs(), &[allowed], 2)
                ))
            }
        },
        Bound::Absolute { tolerance } => match (new - old).abs() <= tolerance {
            true => Ok(()),
            false => Err(format!("{}, {tolerance} allowed", moved_by(tolerance))),
        },
        // What did not move needs no interval; counts never have one.
        Bound::Interval if is_equal(new, old, old.abs()) => Ok(()),
        Bound::Interval => {
            let (Some([old_low, old_high]), Some([low, high])) = (baseline.ci95, measured.ci95) else {
                let few = [baseline, measured].into_iter().find(|side| side.ci95.is_none());
                let few = few.and_then(|side| side.observations).map_or(String::new(), |found| {
                    format!(": {found}, and one needs at least {FEWEST_OBSERVATIONS}")
                });
                let advice = match few.is_empty() {
                    true => {
                        "; for a value that never has one take `exact`, `relative`, `absolute` or `window`"
                    }
                    false => "",
                };
                return Err(format!("it moved, and a 95 % interval is missing{few}{advice}"));
            };
            match low > old_high || high < old_low {
                true => Err(format!(
                    "its interval [{}, {}] and the baseline's [{}, {}] do not meet",
                    deciding(low, &[old_high], 4),
                    deciding(high, &[old_low], 4),
                    deciding(old_low, &[high], 4),
                    deciding(old_high, &[low], 4)
                )),
                false => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use specimen_record::{Observations, ObservedUnit};

    use super::*;

    fn check(bound: Bound, direction: Direction, old: f64, kept: &[f64], broken: &[f64]) {
        let with = |value: f64| Reading {
            value: Some(value),
            ci95: Some([value - 0.1, value + 0.1]),
            ..Reading::default()
        };
        for &new in kept {
            assert_eq!(judge(bound, direction, &with(old), &with(new)), Ok(()), "{bound:?} {new}");
        }
        for &new in broken {
            assert!(judge(bound, direction, &with(old), &with(new)).is_err(), "{bound:?} {new}");
        }
    }

    #[test]
    fn bounds_hold_up_to_their_ends_and_only_in_their_direction() {
        use Direction::{Both, HigherIsBetter, LowerIsBetter};
        check(Bound::Exact, Both, 2.0, &[2.0], &[2.000001, 1.9]);
        check(Bound::Exact, Both, 0.0, &[0.0], &[1.0]);
        check(Bound::Relative { tolerance: 0.5 }, Both, 2.0, &[1.0, 3.0], &[0.99, 3.01, f64::NAN]);
        check(Bound::Relative { tolerance: 0.5 }, HigherIsBetter, 2.0, &[1.0, 30.0], &[0.99]);
        check(Bound::Relative { tolerance: 0.1 }, LowerIsBetter, 2.0, &[0.1, 2.2], &[2.3]);
        check(Bound::Relative { tolerance: 0.1 }, LowerIsBetter, 0.0, &[0.0], &[0.1]);
        check(Bound::Absolute { tolerance: 0.5 }, Both, -2.0, &[-2.5, -1.5], &[-2.6, -1.4]);
        check(Bound::Window { low: 1.0, high: 3.0 }, Both, 99.0, &[1.0, 3.0], &[0.9, 3.1, f64::NAN]);
        check(Bound::Interval, Both, 2.0, &[1.85, 2.15], &[1.75, 2.25]);
        check(Bound::Interval, HigherIsBetter, 2.0, &[1.85, 9.0], &[1.75]);
    }

    #[test]
    fn a_bound_on_intervals_is_not_kept_by_a_value_without_one() {
        let batches = Observations { n: 2, of: ObservedUnit::Batches };
        let side = |value, ci95| Reading {
            value: Some(value),
            ci95,
            observations: Some(batches),
            ..Reading::default()
        };
        let judged = |new, direction| judge(Bound::Interval, direction, &side(2.0, None), &side(new, None));
        let why = judged(2.1, Direction::Both).unwrap_err();
        assert_eq!(why, "it moved, and a 95 % interval is missing: 2 batches, and one needs at least 6");
        let counted = |value| Reading { observations: None, ..side(value, None) };
        let why = judge(Bound::Interval, Direction::Both, &counted(2.0), &counted(2.1)).unwrap_err();
        assert!(
            why.ends_with(
                "; for a value that never has one take `exact`, `relative`, `absolute` or `window`"
            )
        );
        // What did not move, or moved to the better, needs none.
        assert_eq!(judged(2.0, Direction::Both), Ok(()));
        assert_eq!(judged(2.0 + 4e-16, Direction::Both), Ok(()), "a sum in another order");
        assert_eq!(judged(2.1, Direction::HigherIsBetter), Ok(()));
        assert!(judged(2.1, Direction::LowerIsBetter).is_err());
    }
}
