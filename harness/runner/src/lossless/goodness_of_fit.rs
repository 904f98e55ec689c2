//! Tests of drawn tokens against the distributions they should have been drawn from.
//!
//! Over a toy all images are counted against their exact joint distribution. A model has too many images for
//! that, but the distribution of every token given those before it is known from one teacher-forced pass. So
//! the tests are about conditional distributions: which tokens are at a position (`marginals`), the place of
//! a token in its distribution, alone and with its neighbour (`ranks`), and how improbable tokens are on the
//! whole (`surprise`).

mod marginals;
mod ranks;
mod surprise;

use std::rc::Rc;

use specimen_decode::dist::{Dist, TokenId};
use specimen_stats::{
    error::StatsError,
    significance::{MIN_EXPECTED, chi_square_fit},
};

pub use self::surprise::Surprise;

/// Tokens of one image with the distributions they should have been drawn from.
pub struct Drawn {
    /// `[n_tokens]`
    pub tokens: Vec<TokenId>,
    /// Given the tokens before, `[n_tokens]`.
    pub distributions: Vec<Rc<Dist>>,
}

/// One finished test.
#[derive(Clone, Debug, PartialEq)]
pub struct FitTest {
    /// What was tested: `joint`, `marginals`, `pairs`, `ranks` or `surprise`.
    pub what: &'static str,
    /// The statistic, chi-square under the distributions; `None` if a token was drawn that its distribution
    /// rules out.
    pub statistic: Option<f64>,
    /// Its degrees of freedom, summed over positions.
    pub degrees_of_freedom: u64,
    /// Probability of such a statistic under the distributions; 0 for a token that its distribution rules
    /// out.
    pub p: f64,
    /// The same at each position, `None` where the distributions leave too little to chance to be tested;
    /// empty for tests over all positions together.
    pub p_by_position: Vec<Option<f64>>,
}

/// A test that there was too little for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// What would have been tested.
    pub what: &'static str,
    /// What there was too little of.
    pub why: String,
}

/// How far counts are from what was expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// What was counted: `images` or `ranks`. A total variation of ranks sees no exchange of tokens that have
    /// the same place of their distributions, so it is a lower bound of that of the distributions.
    pub of: &'static str,
    /// Total variation between what was counted and what was expected; includes the noise.
    pub found: f64,
    /// What noise alone gives on average.
    pub of_noise: f64,
}

/// All tests of one method, and how far it is from the distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct FitTests {
    /// The tests, at least one.
    pub tests: Vec<FitTest>,
    /// Tests that are missing, with the reason.
    pub absent: Vec<Absent>,
    /// Distance in cells.
    pub variation: Variation,
    /// Distance in nats; `None` where images are counted whole.
    pub surprise: Option<Surprise>,
}

/// Counts images against the exact distribution of all images, both `[n_cells]`.
pub fn of_joint(counts: &[u64], joint: &[f64]) -> Result<FitTests, StatsError> {
    let variation = variation("images", counts, joint);
    all(vec![counted("joint", counts, joint)?], variation, None)
}

/// Tests images of one prompt against their conditional distributions.
pub fn of_conditionals(images: &[Drawn]) -> Result<FitTests, StatsError> {
    let is_ruled_out = |(token, distribution): (&TokenId, &Rc<Dist>)| distribution.prob(*token) == 0.0;
    let drawn = || images.iter().flat_map(|image| image.tokens.iter().zip(&image.distributions));
    let n_ruled_out = drawn().filter(|&pair| is_ruled_out(pair)).count() as u64;
    let counts = ranks::count(images);
    let (of_surprise, surprise) = surprise::test(images, n_ruled_out)?;
    let mut of_ranks = counted("ranks", &counts.single, &even(counts.single.len()))?;
    if let (Ok(test), true) = (&mut of_ranks, 0 < n_ruled_out) {
        *test = FitTest { statistic: None, p: 0.0, ..test.clone() };
    }
    let outcomes = vec![
        marginals::test(images)?,
        counted("pairs", &counts.pairs, &even(counts.pairs.len()))?,
        of_ranks,
        of_surprise,
    ];
    let variation = variation("ranks", &counts.single, &even(counts.single.len()));
    all(outcomes, variation, surprise)
}

/// A test, or why there is none.
type Outcome = Result<FitTest, Absent>;

/// Fails if there is no test at all: nothing can then be said of the method.
fn all(
    outcomes: Vec<Outcome>,
    variation: Variation,
    surprise: Option<Surprise>,
) -> Result<FitTests, StatsError> {
    let (mut tests, mut absent) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(test) => tests.push(test),
            Err(missing) => absent.push(missing),
        }
    }
    if tests.is_empty() {
        let needed = 2 * MIN_EXPECTED as u64;
        return Err(StatsError::TooFew { what: "tests of a distribution: observations", needed, found: 0 });
    }
    Ok(FitTests { tests, absent, variation, surprise })
}

/// Pearson's test of one table of counts against probabilities.
fn counted(what: &'static str, counts: &[u64], expected: &[f64]) -> Result<Outcome, StatsError> {
    match chi_square_fit(counts, expected) {
        Ok(fit) => Ok(Ok(FitTest {
            what,
            statistic: Some(fit.statistic),
            degrees_of_freedom: fit.degrees_of_freedom,
            p: fit.p,
            p_by_position: Vec::new(),
        })),
        Err(StatsError::Impossible { .. }) => Ok(Ok(FitTest {
            what,
            statistic: None,
            degrees_of_freedom: 0,
            p: 0.0,
            p_by_position: Vec::new(),
        })),
        Err(error @ StatsError::TooFew { .. }) => Ok(Err(Absent { what, why: error.to_string() })),
        Err(error) => Err(error),
    }
}

/// `n` cells of the same probability.
fn even(n: usize) -> Vec<f64> {
    vec![1.0 / n as f64; n]
}

/// Total variation between counts and probabilities, and what noise alone gives on average.
fn variation(of: &'static str, counts: &[u64], expected: &[f64]) -> Variation {
    let n = counts.iter().sum::<u64>() as f64;
    let found = counts.iter().zip(expected).map(|(&count, p)| (count as f64 / n - p).abs());
    // The mean of |z| is sqrt(2 / pi); cells that expect less than one observation are nearly certain misses.
    let noise =
        expected.iter().map(|p| (2.0 * p * (1.0 - p) / (std::f64::consts::PI * n)).sqrt().min(2.0 * p));
    Variation { of, found: 0.5 * found.sum::<f64>(), of_noise: 0.5 * noise.sum::<f64>() }
}
