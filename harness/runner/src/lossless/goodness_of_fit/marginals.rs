//! Which tokens are at a position, over images whose distributions there differ: a sum of unlike draws
//! (Poisson multinomial), with the mean `sum p_i` and the covariance `sum diag(p_i) - p_i p_i^T` over images
//! `i`.
//!
//! Tokens are binned by id into cells of about equal expectation, so that a few images suffice. Given the
//! tokens before a position its statistic is chi-square whatever they are, so those of all positions add up.

use specimen_decode::dist::{Dist, TokenId};
use specimen_stats::{error::StatsError, significance::chi_square_p};

use super::{Absent, Drawn, FitTest, Outcome};

/// Images a cell is to expect.
const EXPECTED: usize = 8;

/// Cells of one position; more would see no more of a difference that is spread over tokens.
const MAX_CELLS: usize = 32;

/// Variance of a count below which it is not near enough to a normal number to be tested.
const MIN_VARIANCE: f64 = 4.0;

/// The test over all positions that can be tested.
pub(super) fn test(images: &[Drawn]) -> Result<Outcome, StatsError> {
    let what = "marginals";
    let n_positions = images.first().map_or(0, |image| image.tokens.len());
    let (mut statistic, mut degrees_of_freedom) = (0.0, 0);
    let mut p_by_position = Vec::with_capacity(n_positions);
    for position in 0..n_positions {
        let distributions: Vec<&Dist> = images.iter().map(|image| &*image.distributions[position]).collect();
        let tokens: Vec<TokenId> = images.iter().map(|image| image.tokens[position]).collect();
        p_by_position.push(match at_position(&distributions, &tokens) {
            None => None,
            Some((of_position, degrees)) => {
                statistic += of_position;
                degrees_of_freedom += degrees;
                Some(chi_square_p(of_position, degrees)?)
            }
        });
    }
    if degrees_of_freedom == 0 {
        let n = images.len();
        let why = format!("{n} images leave no position with two cells of a variance of {MIN_VARIANCE}");
        return Ok(Err(Absent { what, why }));
    }
    let p = chi_square_p(statistic, degrees_of_freedom)?;
    Ok(Ok(FitTest { what, statistic: Some(statistic), degrees_of_freedom, p, p_by_position }))
}

/// Statistic and degrees of freedom at one position, `None` if there are fewer than two cells.
/// `distributions` and `tokens`: one an image.
fn at_position(distributions: &[&Dist], tokens: &[TokenId]) -> Option<(f64, u64)> {
    let (cell_of, n_cells) = cells(distributions);
    if n_cells < 2 {
        return None;
    }
    // The last cell follows from the others.
    let n_free = n_cells - 1;
    let mut off = vec![0.0; n_free];
    let mut covariance = vec![vec![0.0; n_free]; n_free];
    for (distribution, token) in distributions.iter().zip(tokens) {
        let mut p = vec![0.0; n_cells];
        distribution.probs().iter().zip(&cell_of).for_each(|(&mass, &cell)| p[cell] += f64::from(mass));
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|mass| *mass /= total);
        for a in 0..n_free {
            off[a] += f64::from(u8::from(cell_of[token.idx()] == a)) - p[a];
            for b in 0..n_free {
                covariance[a][b] += f64::from(u8::from(a == b)) * p[a] - p[a] * p[b];
            }
        }
    }
    Some((inverse_form(covariance, off)?, n_free as u64))
}

/// The cell of each token, and how many cells there are: a cell ends where those so far expect their share of
/// the images and it is left enough to chance; what remains goes to the last one.
fn cells(distributions: &[&Dist]) -> (Vec<usize>, usize) {
    let n_wanted = (distributions.len() / EXPECTED).clamp(2, MAX_CELLS);
    let share = distributions.len() as f64 / n_wanted as f64;
    let n_vocab = distributions.first().map_or(0, |distribution| distribution.len());
    let mut cell_of = Vec::with_capacity(n_vocab);
    let (mut cell, mut mass, mut until) = (0_usize, vec![0.0; distributions.len()], 0.0);
    for token in 0..n_vocab {
        cell_of.push(cell);
        for (sum, distribution) in mass.iter_mut().zip(distributions) {
            let p = f64::from(distribution.probs()[token]);
            *sum += p;
            until += p;
        }
        let variance = || mass.iter().map(|p| p * (1.0 - p)).sum::<f64>();
        // Rounding in f32 must not make the last cell miss its end.
        if share * (cell as f64 + 1.0) <= until * (1.0 + 1e-4) && MIN_VARIANCE <= variance() {
            cell += 1;
            mass.fill(0.0);
        }
    }
    cell_of.iter_mut().for_each(|own| *own = (*own).min(cell.saturating_sub(1)));
    (cell_of, cell)
}

/// `x^T A^-1 x` for symmetric `a` by Cholesky's factors, `None` if it has no inverse.
fn inverse_form(mut a: Vec<Vec<f64>>, mut x: Vec<f64>) -> Option<f64> {
    let mut form = 0.0;
    for j in 0..x.len() {
        let pivot = a[j][j];
        // Far below the least variance of a cell: the cells are tied to one another.
        if pivot < 1e-3 * MIN_VARIANCE {
            return None;
        }
        form += x[j] * x[j] / pivot;
        let (above, below) = a.split_at_mut(j + 1);
        let (own, x_own) = (&above[j], x[j]);
        for (row, x) in below.iter_mut().zip(&mut x[j + 1..]) {
            let factor = row[j] / pivot;
            *x -= factor * x_own;
            for (entry, own) in row[j + 1..].iter_mut().zip(&own[j + 1..]) {
                *entry -= factor * own;
            }
        }
    }
    Some(form)
}
