//! The area of the speed-quality plane that a frontier dominates, as far as a reference point: one number for
//! how far a set of methods pushes both at once (Zitzler and Thiele 1998, in two dimensions).

/// A dominated area.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hypervolume {
    /// Speedups times the unit of the quality.
    pub(crate) value: f64,
    /// Quality of the reference point; its speedup is 1.
    pub(crate) reference: f64,
}

/// The area that `points`, speedup and quality, dominate beyond a speedup of 1 and the worst quality among them; `None`
/// without points.
pub(crate) fn hypervolume(points: &[(f64, f64)], higher_is_better: bool) -> Option<Hypervolume> {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let goods: Vec<(f64, f64)> = points.iter().map(|(speedup, quality)| (*speedup, sign * quality)).collect();
    let worst = goods.iter().map(|(_, good)| *good).fold(f64::INFINITY, f64::min);
    worst.is_finite().then(|| Hypervolume { value: area(&goods, (1.0, worst)), reference: sign * worst })
}

/// Area of the union of the rectangles between `origin` and each point that exceeds it in both coordinates.
fn area(points: &[(f64, f64)], origin: (f64, f64)) -> f64 {
    let mut beyond: Vec<(f64, f64)> =
        points.iter().copied().filter(|(x, y)| *x > origin.0 && *y > origin.1).collect();
    beyond.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut sum, mut high) = (0.0, origin.1);
    for (x, y) in beyond {
        if y > high {
            sum += (x - origin.0) * (y - high);
            high = y;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_rectangles_count_once() {
        assert_eq!(area(&[(2.0, 1.0)], (1.0, 0.0)), 1.0);
        assert_eq!(area(&[(2.0, 3.0), (3.0, 1.0)], (1.0, 0.0)), 4.0);
        assert_eq!(area(&[(3.0, 1.0), (2.0, 3.0), (2.0, 1.0)], (1.0, 0.0)), 4.0);
    }

    #[test]
    fn what_is_slower_than_the_reference_adds_nothing() {
        assert_eq!(area(&[(0.9, 5.0), (2.0, -1.0)], (1.0, 0.0)), 0.0);
    }

    #[test]
    fn adding_a_point_never_shrinks_the_area() {
        let points = [(1.5, 0.2), (1.2, 0.9), (2.4, 0.1), (1.9, 0.4)];
        for n in 1..points.len() {
            assert!(area(&points[..n + 1], (1.0, 0.0)) >= area(&points[..n], (1.0, 0.0)));
        }
    }
}
