//! From a symmetric band to a symmetric tridiagonal matrix of the same eigenvalues.
//!
//! Column by column a reflection clears what lies below the subdiagonal; what it fills in further down is pushed out
//! over the end by further reflections, a band's width at a time (Murata and Horikoshi, Information Processing in Japan
//! 15, 1975; Lang, SIAM J. Sci. Comput. 14, 1993). Only the first column of each filled block is cleared, the next sweep
//! finds the rest of it where its own block lies.

use faer::Mat;

use crate::reflections::{Reflection, add_scaled, dot, reflect, reflection};

/// The lower half of a symmetric matrix, zero beyond `width` places below the diagonal.
#[derive(Debug)]
pub(crate) struct Band {
    d: usize,
    width: usize,
    /// Column `j` at `2 width j`, from the diagonal downwards, with room for what reflections fill in.
    columns: Vec<f64>,
}

/// Diagonal, `[d]`, and subdiagonal, `[d - 1]`, of a symmetric matrix.
pub(crate) struct Tridiagonal {
    pub(crate) diagonal: Vec<f64>,
    pub(crate) subdiagonal: Vec<f64>,
}

impl Band {
    /// Takes the diagonal and the `width` (1 or more) diagonals below it out of a square matrix.
    pub(crate) fn of_lower(matrix: &Mat<f64>, width: usize) -> Self {
        let d = matrix.nrows();
        let mut columns = vec![0.0; 2 * width * d];
        for (j, column) in columns.chunks_exact_mut(2 * width).enumerate() {
            let within = &matrix.col_as_slice(j)[j..d.min(j + width + 1)];
            column[..within.len()].copy_from_slice(within);
        }
        Self { d, width, columns }
    }

    /// Returns the tridiagonal matrix.
    pub(crate) fn into_tridiagonal(mut self) -> Tridiagonal {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || self.sweep_all(),
        );
        let entries =
            |below: usize, n: usize| (0..n).map(|j| self.columns[2 * self.width * j + below]).collect();
        Tridiagonal { diagonal: entries(0, self.d), subdiagonal: entries(1, self.d.saturating_sub(1)) }
    }

    #[inline(always)]
    fn sweep_all(&mut self) {
        let (d, width) = (self.d, self.width);
        let (mut v, mut next, mut work) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        for column in 0..d.saturating_sub(2) {
            // Rows `at .. at + n` are reflected, beginning with those of this column.
            let mut at = column + 1;
            let mut n = width.min(d - at);
            let mut tau = self.clear(column, at, &mut v[..n]);
            loop {
                self.reflect_diagonal_block(at, &v[..n], tau, &mut work[..n]);
                let below = at + n;
                let n_below = width.min(d - below);
                if n_below == 0 {
                    break;
                }
                self.reflect_columns(at, below, &v[..n], tau, &mut work[..n_below]);
                tau = self.clear(at, below, &mut next[..n_below]);
                for j in at + 1..below {
                    reflect(self.part(j, below, n_below), &next[..n_below], tau);
                }
                std::mem::swap(&mut v, &mut next);
                (at, n) = (below, n_below);
            }
        }
    }

    /// Rows `from .. from + n` of a column.
    #[inline(always)]
    fn part(&mut self, column: usize, from: usize, n: usize) -> &mut [f64] {
        let start = 2 * self.width * column + from - column;
        &mut self.columns[start..start + n]
    }

    /// Reflects the rows of a column that begin at `from` to their first, and leaves the vector in `v`.
    #[inline(always)]
    fn clear(&mut self, column: usize, from: usize, v: &mut [f64]) -> f64 {
        let entries = self.part(column, from, v.len());
        v.copy_from_slice(entries);
        let Reflection { tau, beta } = reflection(v);
        entries.fill(0.0);
        entries[0] = beta;
        tau
    }

    /// Reflects rows and columns of the symmetric block that begins at `at`: with `w = tau D v` it becomes
    /// `D - v x^T - x v^T`, `x = w - (tau / 2) (w^T v) v`.
    #[inline(always)]
    fn reflect_diagonal_block(&mut self, at: usize, v: &[f64], tau: f64, x: &mut [f64]) {
        let n = v.len();
        x.fill(0.0);
        for j in 0..n {
            let column = self.part(at + j, at + j, n - j);
            x[j] += dot(column, &v[j..]);
            add_scaled(&mut x[j + 1..], v[j], &column[1..]);
        }
        let half = 0.5 * tau * dot(x, v);
        for (x, v) in x.iter_mut().zip(v) {
            *x = tau * (*x - half * v);
        }
        for j in 0..n {
            let column = self.part(at + j, at + j, n - j);
            let (v_j, x_j) = (v[j], x[j]);
            for ((entry, v), x) in column.iter_mut().zip(&v[j..]).zip(&x[j..]) {
                *entry -= v * x_j + x * v_j;
            }
        }
    }

    /// Reflects the columns from `at` on in the rows from `below` on: subtracts `tau (B v) v^T`.
    #[inline(always)]
    fn reflect_columns(&mut self, at: usize, below: usize, v: &[f64], tau: f64, along: &mut [f64]) {
        along.fill(0.0);
        for (j, &v_j) in v.iter().enumerate() {
            add_scaled(along, v_j, self.part(at + j, below, along.len()));
        }
        for (j, &v_j) in v.iter().enumerate() {
            add_scaled(self.part(at + j, below, along.len()), -tau * v_j, along);
        }
    }
}
