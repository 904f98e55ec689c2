//! Householder reflections of vectors.
//!
//! Sums run in [`LANES`] fixed strands, so that they can be vectorised and their digits do not depend on the width of a
//! processor's vectors. Everything here is inlined into its caller, which chooses the instructions
//! (`pulp::Arch::dispatch`).

/// Strands of a sum.
const LANES: usize = 8;
/// Least sum of squares that a reflection is made for. Below it squares have lost digits to underflow, and a reflection
/// with a wrong length moves vectors of any size; what it leaves out is less than 1e-145, beside entries of about 1.
const LEAST_SQUARES: f64 = f64::MIN_POSITIVE / f64::EPSILON;

/// A reflection `I - tau v v^T` that takes the vector it was made from to `beta` times the first unit vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reflection {
    /// Zero where there is nothing to reflect, else from 1 to 2.
    pub(crate) tau: f64,
    pub(crate) beta: f64,
}

/// Returns the dot product of two vectors of one length.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len(), "vectors of one length");
    let mut strands = [0.0; LANES];
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_lanes.remainder().iter().zip(b_lanes.remainder());
    let rest: f64 = rest.map(|(x, y)| x * y).sum();
    for (x, y) in a_lanes.zip(b_lanes) {
        for lane in 0..LANES {
            strands[lane] += x[lane] * y[lane];
        }
    }
    strands.iter().sum::<f64>() + rest
}

/// Adds `factor x` to `y`.
#[inline(always)]
pub(crate) fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// Makes `x`, which is not empty, the vector `v` of the reflection that leaves only its first entry; `v` begins with 1.
/// For entries of at most about 1 whose differences below [`LEAST_SQUARES`] do not matter.
#[inline(always)]
pub(crate) fn reflection(x: &mut [f64]) -> Reflection {
    let head = x[0];
    x[0] = 1.0;
    let tail = &mut x[1..];
    let squares = dot(tail, tail);
    if squares < LEAST_SQUARES {
        tail.fill(0.0);
        return Reflection { tau: 0.0, beta: head };
    }
    // Of the two signs the one that does not cancel.
    let beta = -(head * head + squares).sqrt().copysign(head);
    for x in tail {
        *x /= head - beta;
    }
    Reflection { tau: (beta - head) / beta, beta }
}

/// Reflects `x`: subtracts `tau v (v^T x)`.
#[inline(always)]
pub(crate) fn reflect(x: &mut [f64], v: &[f64], tau: f64) {
    let along = dot(v, x);
    add_scaled(x, -tau * along, v);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reflection_leaves_the_first_entry_only() {
        for x in [vec![3.0, 4.0], vec![-3.0, 0.0, 4.0], vec![0.0, 2.0], (0..19).map(f64::from).collect()] {
            let norm = dot(&x, &x).sqrt();
            let mut v = x.clone();
            let Reflection { tau, beta } = reflection(&mut v);
            assert!((beta.abs() - norm).abs() < 1e-14 * norm && beta * x[0] <= 0.0 && v[0] == 1.0, "{x:?}");
            // A reflection is its own inverse, which holds for `tau |v|^2 = 2` alone.
            assert!((tau * dot(&v, &v) - 2.0).abs() < 1e-14 && (1.0..=2.0).contains(&tau), "{tau}");
            let mut reflected = x.clone();
            reflect(&mut reflected, &v, tau);
            reflected[0] -= beta;
            assert!(reflected.iter().all(|y| y.abs() < 1e-13 * norm), "{reflected:?}");
        }
    }

    #[test]
    fn where_nothing_is_left_to_reflect_nothing_moves() {
        for x in [
            vec![-5.0],
            vec![2.0, 0.0],
            vec![0.0, 0.0, 0.0],
            vec![1.0, 1e-200],
            vec![1e-160, 1e-161],
            vec![1.0, 1e-148],
        ] {
            let mut v = x.clone();
            let Reflection { tau, beta } = reflection(&mut v);
            assert_eq!((tau, beta), (0.0, x[0]));
            assert!(v[0] == 1.0 && v[1..].iter().all(|&v| v == 0.0));
        }
    }

    #[test]
    fn a_dot_product_has_every_term_once() {
        for n in [0_usize, 1, 7, 8, 9, 16, 23] {
            let a: Vec<f64> = (0..n).map(|i| 2.0_f64.powi(i as i32)).collect();
            assert_eq!(dot(&a, &vec![1.0; n]), 2.0_f64.powi(n as i32) - 1.0);
        }
    }
}
