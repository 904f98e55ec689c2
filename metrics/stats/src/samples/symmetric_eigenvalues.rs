//! Eigenvalues of a symmetric matrix, without eigenvectors.
//!
//! In two stages (Bischof, Lang and Sun, ACM Transactions on Mathematical Software 26, 2000): blocks of reflections
//! reduce the matrix to a band, nearly all of it products of matrices, then single reflections reduce the band to a
//! tridiagonal matrix ([`Band`]), whose eigenvalues faer takes by QR. One stage, which is faer's way, reads the whole
//! matrix once a column.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiagonal_self_adjoint_evd;
use faer::linalg::matmul::matmul;
use faer::linalg::temp_mat_scratch;
use faer::{Accum, Col, Mat, MatMut, MatRef, Par};

use crate::reflections::{Reflection, reflect, reflection};
use crate::tridiagonal::Band;

/// Diagonals below the main one that the first stage leaves, and columns of its panels.
const WIDTH: usize = 32;
/// Columns of the strips in which a lower triangle is worked on.
const STRIP: usize = 64;

/// Returns the eigenvalues, ascending, of the symmetric matrix that has the diagonal and the lower triangle of `matrix`;
/// what lies above is not read. Nothing for an entry or an eigenvalue that is not finite, and where QR does not converge.
pub(crate) fn symmetric_eigenvalues(mut matrix: Mat<f64>) -> Option<Vec<f64>> {
    let d = matrix.nrows();
    if d == 0 {
        return Some(Vec::new());
    }
    let lower = || (0..d).flat_map(|j| &matrix.col_as_slice(j)[j..]);
    if !lower().all(|x| x.is_finite()) {
        return None;
    }
    let largest = lower().fold(0.0, |largest: f64, x| x.abs().max(largest));
    // By a power of two, which costs no digit: squares neither overflow nor vanish.
    let scale = power_of_two_below(largest);
    for j in 0..d {
        matrix.col_as_slice_mut(j)[j..].iter_mut().for_each(|x| *x /= scale);
    }
    to_band(&mut matrix);
    let band = Band::of_lower(&matrix, WIDTH);
    drop(matrix);
    let tridiagonal = band.into_tridiagonal();
    let diagonal = Col::from_fn(d, |i| tridiagonal.diagonal[i]);
    let subdiagonal = Col::from_fn(d, |i| tridiagonal.subdiagonal.get(i).copied().unwrap_or(0.0));
    let mut eigenvalues = Col::<f64>::zeros(d);
    // Room for diagonal and subdiagonal.
    let mut memory = MemBuffer::new(temp_mat_scratch::<f64>(d, 1).array(2));
    tridiagonal_self_adjoint_evd(
        diagonal.as_diagonal(),
        subdiagonal.as_diagonal(),
        eigenvalues.as_diagonal_mut(),
        None,
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .ok()?;
    let eigenvalues: Vec<f64> = eigenvalues.iter().map(|x| x * scale).collect();
    eigenvalues.iter().all(|x| x.is_finite()).then_some(eigenvalues)
}

/// Returns the largest power of two that is not above `x`, and the smallest normal one for what lies below it.
fn power_of_two_below(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(x.to_bits() & EXPONENT).max(f64::MIN_POSITIVE)
}

/// Leaves in the lower triangle a band of [`WIDTH`] diagonals below the main one with the same eigenvalues; what lies
/// below the band is rubbish.
fn to_band(matrix: &mut Mat<f64>) {
    let d = matrix.nrows();
    for from in (0..d).step_by(WIDTH).take_while(|from| from + WIDTH + 1 < d) {
        let at = from + WIDTH;
        let n = d - at;
        let mut panel: Vec<f64> =
            (from..at).flat_map(|j| matrix.col_as_slice(j)[at..].iter().copied()).collect();
        let tau = pulp::Arch::new().dispatch(
            #[inline(always)]
            || factor_panel(&mut panel, n),
        );
        for (j, column) in panel.chunks_exact_mut(n).enumerate() {
            let n_triangle = n.min(j + 1);
            matrix.col_as_slice_mut(from + j)[at..at + n_triangle].copy_from_slice(&column[..n_triangle]);
            column[..n_triangle].fill(0.0);
            if j < n {
                column[j] = 1.0;
            }
        }
        let v = MatRef::from_column_major_slice(&panel[..n * tau.len()], n, tau.len());
        reflect_trailing(matrix.as_mut().submatrix_mut(at, at, n, n), v, &tau);
    }
}

/// Factors the columns of length `n` in `panel` as `Q R`: leaves `R` on and above the diagonal, below it the vectors of
/// the reflections `Q` is the product of, without their leading 1. Returns their `tau`.
#[inline(always)]
fn factor_panel(panel: &mut [f64], n: usize) -> Vec<f64> {
    let n_reflections = n.min(panel.len() / n);
    let mut taus = Vec::with_capacity(n_reflections);
    for j in 0..n_reflections {
        let (done, rest) = panel.split_at_mut((j + 1) * n);
        let v = &mut done[j * n + j..];
        let Reflection { tau, beta } = reflection(v);
        for column in rest.chunks_exact_mut(n) {
            reflect(&mut column[j..], v, tau);
        }
        v[0] = beta;
        taus.push(tau);
    }
    taus
}

/// Makes the symmetric `A`, of which the lower triangle is kept, `Q^T A Q`, where `Q = I - V S V^T` is the product of
/// the reflections: `A - V X^T - X V^T` with `Y = A V S` and `X = Y - V S^T V^T Y / 2`.
fn reflect_trailing(mut a: MatMut<'_, f64>, v: MatRef<'_, f64>, tau: &[f64]) {
    let (n, k) = (v.nrows(), v.ncols());
    let s = block_factor(v, tau);
    let mut y = Mat::zeros(n, k);
    product(y.as_mut(), Accum::Replace, symmetric_product(a.as_ref(), v).as_ref(), s.as_ref(), 1.0);
    let inner = s.transpose() * (v.transpose() * &y);
    product(y.as_mut(), Accum::Add, v, inner.as_ref(), -0.5);
    // Both products at once: `[V X] [X V]^T`.
    let side_by_side = |left: MatRef<'_, f64>, right: MatRef<'_, f64>| {
        let mut both = Mat::zeros(n, 2 * k);
        both.subcols_mut(0, k).copy_from(left);
        both.subcols_mut(k, k).copy_from(right);
        both
    };
    let (vx, xv) = (side_by_side(v, y.as_ref()), side_by_side(y.as_ref(), v));
    for j in (0..n).step_by(STRIP) {
        let (n_rows, n_columns) = (n - j, STRIP.min(n - j));
        let strip = a.as_mut().submatrix_mut(j, j, n_rows, n_columns);
        product(strip, Accum::Add, vx.subrows(j, n_rows), xv.subrows(j, n_columns).transpose(), -1.0);
    }
}

/// Returns the upper triangular `S` with `I - V S V^T` the product of the reflections (Schreiber and Van Loan, SIAM J.
/// Sci. Stat. Comput. 10, 1989).
fn block_factor(v: MatRef<'_, f64>, tau: &[f64]) -> Mat<f64> {
    let gram = v.transpose() * v;
    let mut s = Mat::zeros(tau.len(), tau.len());
    for (j, &tau) in tau.iter().enumerate() {
        for i in 0..j {
            let sum: f64 = (i..j).map(|l| s[(i, l)] * gram[(l, j)]).sum();
            s[(i, j)] = -tau * sum;
        }
        s[(j, j)] = tau;
    }
    s
}

/// Returns `A V`, of the symmetric `A` reading the lower triangle only.
fn symmetric_product(a: MatRef<'_, f64>, v: MatRef<'_, f64>) -> Mat<f64> {
    let n = v.nrows();
    let mut sum = Mat::zeros(n, v.ncols());
    for j in (0..n).step_by(STRIP) {
        let width = STRIP.min(n - j);
        let corner = a.submatrix(j, j, width, width);
        let corner = Mat::from_fn(width, width, |i, l| if i >= l { corner[(i, l)] } else { corner[(l, i)] });
        product(sum.subrows_mut(j, width), Accum::Add, corner.as_ref(), v.subrows(j, width), 1.0);
        let (below, n_below) = (j + width, n - j - width);
        let strip = a.submatrix(below, j, n_below, width);
        product(sum.subrows_mut(below, n_below), Accum::Add, strip, v.subrows(j, width), 1.0);
        product(sum.subrows_mut(j, width), Accum::Add, strip.transpose(), v.subrows(below, n_below), 1.0);
    }
    sum
}

fn product(to: MatMut<'_, f64>, accum: Accum, a: MatRef<'_, f64>, b: MatRef<'_, f64>, factor: f64) {
    matmul(to, accum, a, b, factor, Par::Seq);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;
    use crate::counter_rng::CounterRng;

    /// A matrix with these eigenvalues: `Q diag Q^T`, `Q` a product of reflections by vectors drawn at `seed`.
    fn with_eigenvalues(values: &[f64], seed: u64) -> Mat<f64> {
        let d = values.len();
        let mut matrix = Mat::from_fn(d, d, |i, j| if i == j { values[i] } else { 0.0 });
        for round in 0..3 {
            let rng = CounterRng::new(seed + round);
            let v = Mat::from_fn(d, 1, |i, _| rng.uniform(i as u64) - 0.5);
            let tau = 2.0 / v.squared_norm_l2();
            let right = Mat::from_fn(1, d, |_, j| {
                matrix.col_as_slice(j).iter().zip(v.col_as_slice(0)).map(|(a, b)| a * b).sum::<f64>()
            });
            matrix -= faer::Scale(tau) * (&v * &right);
            let left = &matrix * &v;
            matrix -= faer::Scale(tau) * (&left * v.transpose());
        }
        matrix
    }

    #[test]
    fn eigenvalues_that_were_put_in_come_out() {
        // Around every edge of bands, panels and strips.
        for d in [1, 2, 3, 16, 32, 33, 34, 35, 63, 64, 65, 66, 97, 98, 99, 128, 129, 200, 300] {
            let values: Vec<f64> = (0..d).map(|i| (i as f64 - 3.0) * 0.25 + (i % 5) as f64 * 1e-3).collect();
            let mut expected = values.clone();
            expected.sort_by(f64::total_cmp);
            let mut matrix = with_eigenvalues(&values, d as u64);
            // Never read.
            (1..d).for_each(|j| matrix.col_as_slice_mut(j)[..j].fill(f64::NAN));
            let found = symmetric_eigenvalues(matrix).unwrap();
            assert_eq!(found.len(), d);
            let largest = expected[d - 1].abs().max(1.0);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-13 * largest, "{d}: {found} {expected}");
            }
        }
    }

    #[test]
    fn matrices_with_nothing_to_reflect_keep_their_eigenvalues() {
        let d = 100;
        let diagonal = Mat::from_fn(d, d, |i, j| if i == j { (i as f64 - 50.0).powi(3) } else { 0.0 });
        let found = symmetric_eigenvalues(diagonal).unwrap();
        for (i, x) in found.iter().enumerate() {
            let expected = (i as f64 - 50.0).powi(3);
            // faer divides by the largest entry and multiplies again.
            assert!((x - expected).abs() <= 2.0 * f64::EPSILON * expected.abs(), "{x} {expected}");
        }
        assert_eq!(symmetric_eigenvalues(Mat::zeros(d, d)).unwrap(), vec![0.0; d]);
        assert_eq!(symmetric_eigenvalues(Mat::zeros(0, 0)).unwrap(), Vec::<f64>::new());
        // All ones: rank 1.
        let ones = symmetric_eigenvalues(Mat::from_fn(d, d, |_, _| 1.0)).unwrap();
        assert!(
            (ones[d - 1] - 100.0).abs() < 1e-12 && ones[..d - 1].iter().all(|x| x.abs() < 1e-12),
            "{ones:?}"
        );
    }

    /// Without structure: every panel has something to reflect.
    fn drawn(d: usize, seed: u64) -> Mat<f64> {
        let rng = CounterRng::new(seed);
        Mat::from_fn(d, d, |i, j| rng.uniform((i.max(j) * d + i.min(j)) as u64) - 0.4)
    }

    /// The largest difference from faer's own eigenvalues, which come by another way.
    fn difference(matrix: &Mat<f64>) -> f64 {
        let expected = matrix.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
        let found = symmetric_eigenvalues(matrix.clone()).unwrap();
        assert_eq!(found.len(), expected.len());
        found.iter().zip(&expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn eigenvalues_are_those_of_another_way() {
        for d in [2, 31, 33, 64, 65, 96, 97, 129, 257, 513] {
            let matrix = drawn(d, 3);
            let largest = d as f64;
            assert!(difference(&matrix) < 1e-14 * largest, "{d}: {}", difference(&matrix));
            // All below zero, and in one cluster.
            let gram = matrix.transpose() * &matrix;
            let negative = faer::Scale(-1.0) * &gram;
            assert!(difference(&negative) < 1e-14 * largest * largest, "{d}: {}", difference(&negative));
            let near_one = Mat::<f64>::identity(d, d) + faer::Scale(1e-9) * &matrix;
            assert!(difference(&near_one) < 1e-13, "{d}: {}", difference(&near_one));
        }
        assert_eq!(
            symmetric_eigenvalues(faer::Scale(-1.0) * Mat::<f64>::identity(100, 100)),
            Some(vec![-1.0; 100])
        );
    }

    #[test]
    fn entries_whose_squares_underflow_move_nothing() {
        for tiny in [1.7e-162, 1e-158, 1e-150, 1e-140] {
            let matrix =
                Mat::from_fn(3, 3, |i, j| [[0.0, tiny, tiny], [tiny, 1.0, 0.5], [tiny, 0.5, -0.7]][i][j]);
            let found = symmetric_eigenvalues(matrix).unwrap();
            let root = (0.85_f64 * 0.85 + 0.25).sqrt();
            for (found, expected) in found.iter().zip([0.15 - root, 0.0, 0.15 + root]) {
                assert!((found - expected).abs() < 1e-15, "{tiny}: {found} {expected}");
            }
        }
    }

    #[test]
    fn an_eigenvalue_beyond_all_numbers_is_none() {
        let huge = Mat::from_fn(2, 2, |_, _| 1.5e308);
        assert_eq!(symmetric_eigenvalues(huge), None);
    }

    #[test]
    fn magnitudes_change_no_digit() {
        let matrix = with_eigenvalues(&(1..=70).map(f64::from).collect::<Vec<_>>(), 5);
        let plain = symmetric_eigenvalues(matrix.clone()).unwrap();
        for exponent in [-900, -300, 300, 1000] {
            let scale = 2.0_f64.powi(exponent);
            let scaled = symmetric_eigenvalues(faer::Scale(scale) * &matrix).unwrap();
            assert!(scaled.iter().zip(&plain).all(|(a, b)| *a == b * scale), "{exponent}");
        }
    }

    #[test]
    fn an_entry_that_is_no_number_is_refused() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for (i, j) in [(0, 0), (3, 1), (3, 3)] {
                let mut matrix = Mat::from_fn(4, 4, |i, j| if i == j { 1.0 } else { 0.0 });
                matrix[(i, j)] = bad;
                assert_eq!(symmetric_eigenvalues(matrix), None);
            }
        }
    }

    #[test]
    fn the_scale_is_a_power_of_two_not_above_the_number() {
        for (x, expected) in [(1.0, 1.0), (1.999, 1.0), (2.0, 2.0), (0.3, 0.25), (0.0, f64::MIN_POSITIVE)] {
            assert_eq!(power_of_two_below(x), expected);
        }
        assert_eq!(power_of_two_below(f64::MAX), 2.0_f64.powi(1023));
    }
}
