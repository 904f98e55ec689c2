//! Who is best and who is second among those that compete.

use std::collections::BTreeMap;

use specimen_stats::rounding::is_equal;

/// An entry's place among its rivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// No place, or none that is marked.
    #[default]
    None,
    /// The best; several where they tie.
    Best,
    /// The next value after the best, where at least three compete.
    Second,
}

/// Places within groups: `rivals[i]` is the group in which entry `i` competes and its value, absent where it does not.
/// An entry alone in its group has not won anything, nor has one of a group whose values are all the same.
pub fn ranks<G: Ord>(rivals: &[Option<(G, f64)>], higher_is_better: bool) -> Vec<Rank> {
    let mut groups: BTreeMap<&G, Vec<f64>> = BTreeMap::new();
    for (group, value) in rivals.iter().flatten() {
        groups.entry(group).or_default().push(*value);
    }
    for values in groups.values_mut() {
        values.sort_by(f64::total_cmp);
        if higher_is_better {
            values.reverse();
        }
    }
    // Means of the same scores in another order differ by rounding.
    let is_tie = |a: f64, b: f64| is_equal(a, b, a.abs().max(b.abs()));
    let place = |(group, value): &(G, f64)| {
        let values = &groups[group];
        let Some(second) = values.iter().find(|other| !is_tie(**other, values[0])) else { return Rank::None };
        match *value {
            best if is_tie(best, values[0]) => Rank::Best,
            next if is_tie(next, *second) && values.len() > 2 => Rank::Second,
            _ => Rank::None,
        }
    };
    rivals.iter().map(|rival| rival.as_ref().map_or(Rank::None, place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[Option<f64>], higher: bool, expected: &[Rank]) {
        let rivals: Vec<Option<((), f64)>> = values.iter().map(|value| value.map(|v| ((), v))).collect();
        assert_eq!(ranks(&rivals, higher), expected, "{values:?}");
    }

    #[test]
    fn the_best_and_the_next_are_marked_in_the_direction_asked_for() {
        use Rank::{Best, None as No, Second};
        check(&[Some(1.0), Some(3.0), None, Some(2.0)], true, &[No, Best, No, Second]);
        check(&[Some(1.0), Some(3.0), None, Some(2.0)], false, &[Best, No, No, Second]);
        check(&[Some(2.0), Some(2.0), Some(1.0)], true, &[Best, Best, Second]);
        check(&[Some(1.0), Some(2.0)], true, &[No, Best]);
        check(&[Some(1.0)], true, &[No]);
        check(&[Some(2.0), Some(2.0), Some(2.0)], true, &[No, No, No]);
        // A sum in another order.
        check(&[Some(0.1 + 0.2), Some(0.3), Some(0.2)], true, &[Best, Best, Second]);
        check(&[], true, &[]);
    }

    #[test]
    fn groups_do_not_compete() {
        let rivals = [Some(("a", 1.0)), Some(("b", 9.0)), Some(("a", 2.0)), Some(("b", 8.0))];
        assert_eq!(ranks(&rivals, true), [Rank::None, Rank::Best, Rank::Best, Rank::None]);
    }
}
