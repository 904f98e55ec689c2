//! How improbable the tokens are: `-log q(x)` less its mean under the distribution, the entropy `H(q)`,
//! summed over all tokens.
//!
//! Unlike ranks it weighs a token by how improbable it is, so it separates draws from a flatter or steeper
//! distribution even where few of them move. Each term has mean zero given all tokens before it, so the sum
//! over its standard deviation is normal in the limit (a martingale). Its mean is the cross entropy with the
//! distribution beyond the distribution's own entropy, the gap that a relaxed method opens.

use specimen_decode::dist::Dist;
use specimen_stats::{error::StatsError, normal::two_sided_p};

use super::{Absent, Drawn, FitTest, Outcome};

/// How far the tokens are from the distribution in nats a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surprise {
    /// Mean of `-log q(x) - H(q)` over the tokens that their distributions allow; positive where tokens are
    /// less probable than the target's own.
    pub nats: f64,
    /// Standard deviation of that mean under the distributions.
    pub standard_error: f64,
    /// Tokens that their distributions rule out, which `nats` leaves out.
    pub n_ruled_out: u64,
}

/// The test with one degree of freedom, and the gap itself, absent where no distribution has tokens of unlike
/// probability.
pub(super) fn test(images: &[Drawn], n_ruled_out: u64) -> Result<(Outcome, Option<Surprise>), StatsError> {
    let (mut sum, mut variance, mut n) = (0.0, 0.0, 0_u64);
    for (token, distribution) in images.iter().flat_map(|image| image.tokens.iter().zip(&image.distributions))
    {
        let q = distribution.prob(*token);
        if q > 0.0 {
            let (entropy, of_token) = moments(distribution);
            sum += -f64::from(q).ln() - entropy;
            variance += of_token;
            n += 1;
        }
    }
    let what = "surprise";
    // Rounding leaves as much where all tokens of a distribution are equally probable.
    if variance <= 1e-9 * n as f64 {
        let why = "no distribution has tokens of unlike probability".to_owned();
        return Ok((Err(Absent { what, why }), None));
    }
    let z = sum / variance.sqrt();
    let surprise = Surprise { nats: sum / n as f64, standard_error: variance.sqrt() / n as f64, n_ruled_out };
    let is_impossible = 0 < n_ruled_out;
    let test = FitTest {
        what,
        statistic: (!is_impossible).then_some(z * z),
        degrees_of_freedom: 1,
        p: if is_impossible { 0.0 } else { two_sided_p(z)? },
        p_by_position: Vec::new(),
    };
    Ok((Ok(test), Some(surprise)))
}

/// Mean and variance of `-log q(x)` in nats where `x` is drawn from `distribution`.
fn moments(distribution: &Dist) -> (f64, f64) {
    let total: f64 = distribution.probs().iter().map(|&q| f64::from(q)).sum();
    let (mut mean, mut square) = (0.0, 0.0);
    for q in distribution.probs().iter().map(|&q| f64::from(q)).filter(|&q| q > 0.0) {
        mean += q * -q.ln();
        square += q * q.ln().powi(2);
    }
    let (mean, square) = (mean / total, square / total);
    (mean, (square - mean * mean).max(0.0))
}
