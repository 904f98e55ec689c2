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

/// A cell of the plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trade {
    /// Over the baseline.
    pub(crate) speedup: f64,
    /// In the unit of the metric.
    pub(crate) quality: f64,
    /// Whether it counts; the others move the reference point only.
    pub(crate) is_on_frontier: bool,
}

/// The area that the frontier dominates beyond a speedup of 1 and the worst quality of all `cells`; `None` without cells.
pub(crate) fn hypervolume(cells: &[Trade], higher_is_better: bool) -> Option<Hypervolume> {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let worst = cells.iter().map(|cell| sign * cell.quality).fold(f64::INFINITY, f64::min);
    let frontier = cells.iter().filter(|cell| cell.is_on_frontier);
    let goods: Vec<(f64, f64)> = frontier.map(|cell| (cell.speedup, sign * cell.quality)).collect();
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
    fn a_cell_behind_the_frontier_moves_the_reference_and_adds_no_area() {
        let cell = |speedup, quality, is_on_frontier| Trade { speedup, quality, is_on_frontier };
        let cells = [cell(2.0, 1.0, true), cell(1.5, 2.0, false), cell(1.0, 0.5, false)];
        assert_eq!(hypervolume(&cells, true), Some(Hypervolume { value: 0.5, reference: 0.5 }));
        // Where lower is better the reference is the highest.
        assert_eq!(hypervolume(&cells, false), Some(Hypervolume { value: 1.0, reference: 2.0 }));
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
