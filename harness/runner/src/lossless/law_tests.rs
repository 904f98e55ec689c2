//! Tests of drawn tokens against the laws they should have been drawn from.
//!
//! Over a toy all images are counted against their exact joint law. A model has too many images for that, but
//! the law of every token given those before it is known from one teacher-forced pass. So the tests are about
//! conditional laws. Marginals: at each position the tokens drawn, against the mean of the laws they were drawn
//! from; as those laws differ between images, the sum is at most chi-square and the test errs on the side of
//! passing. Ranks: where a token stands in its law by falling probability, made continuous by a uniform number, must
//! be uniform, whatever the law (the probability integral transform; Rosenblatt 1952). Pairs: the ranks of
//! neighbouring tokens must be uniform together.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    rng::{Purpose, Uniforms},
};
use specimen_stats::{
    error::StatsError,
    significance::{MIN_EXPECTED, chi_square_fit, chi_square_p},
};

/// Tokens of one image with the laws they should have been drawn from.
pub struct Drawn {
    /// `[n_tokens]`
    pub tokens: Vec<TokenId>,
    /// Given the tokens before, `[n_tokens]`.
    pub laws: Vec<Rc<Dist>>,
}

/// One finished test.
#[derive(Clone, Debug, PartialEq)]
pub struct LawTest {
    /// What was counted: `joint`, `marginals`, `pairs` or `ranks`.
    pub what: &'static str,
    /// Pearson's statistic; `None` if a token was drawn that the law rules out.
    pub statistic: Option<f64>,
    /// Cells less one, summed over positions.
    pub degrees_of_freedom: u64,
    /// Probability of such a statistic under the laws; 0 for a token that the law rules out.
    pub p: f64,
    /// The same at each position or pair of them, `None` where too little was counted; empty for tests over all.
    pub p_by_position: Vec<Option<f64>>,
}

/// All tests of one method, and how far it is from the law.
#[derive(Clone, Debug, PartialEq)]
pub struct LawTests {
    /// The tests.
    pub tests: Vec<LawTest>,
    /// Total variation between what was counted and what was expected, in the cells of the last test; includes the
    /// noise.
    pub tv: f64,
    /// What `tv` is about where there is only noise.
    pub tv_of_noise: f64,
}

/// Bins of a token's rank.
pub const N_RANKS: usize = 20;

/// Bins of each of two neighbouring ranks.
const N_PAIR_RANKS: usize = 5;

/// Sets the random part of a rank apart from every draw of the image itself.
const RANK_KEY: u64 = 0x7261_6e6b_0000_0000;

/// Counts images against the exact law of all images, both `[n_cells]`.
///
/// # Errors
/// Too few images.
pub fn of_joint(counts: &[u64], joint: &[f64]) -> Result<LawTests, StatsError> {
    let mut test = Summed::new("joint");
    test.add(counts, joint)?;
    let (tv, tv_of_noise) = variation(counts, joint);
    Ok(LawTests { tests: vec![test.finish(false)?], tv, tv_of_noise })
}

/// Tests images of one prompt against their conditional laws.
///
/// # Errors
/// Too few images.
pub fn of_conditionals(images: &[Drawn]) -> Result<LawTests, StatsError> {
    let n_tokens = images.first().map_or(0, |image| image.tokens.len());
    let mut marginals = Summed::new("marginals");
    for position in 0..n_tokens {
        marginals.position(|test| marginal(images, position, test))?;
    }
    let (mut by_rank, mut by_pair) = (vec![0; N_RANKS], vec![0; N_PAIR_RANKS * N_PAIR_RANKS]);
    for (at, image) in images.iter().enumerate() {
        let ranks = ranks(at, image);
        ranks.iter().for_each(|&rank| by_rank[bin(rank, N_RANKS)] += 1);
        for pair in ranks.windows(2) {
            by_pair[bin(pair[0], N_PAIR_RANKS) * N_PAIR_RANKS + bin(pair[1], N_PAIR_RANKS)] += 1;
        }
    }
    let mut pairs = Summed::new("pairs");
    pairs.add(&by_pair, &even(by_pair.len()))?;
    let mut ranks = Summed::new("ranks");
    ranks.add(&by_rank, &even(N_RANKS))?;
    let is_ruled_out = |(token, law): (&TokenId, &Rc<Dist>)| law.prob(*token) == 0.0;
    ranks.is_impossible = images.iter().any(|image| image.tokens.iter().zip(&image.laws).any(is_ruled_out));
    let (tv, tv_of_noise) = variation(&by_rank, &even(N_RANKS));
    Ok(LawTests {
        tests: vec![marginals.finish(true)?, pairs.finish(false)?, ranks.finish(false)?],
        tv,
        tv_of_noise,
    })
}

/// A test under way: statistics of independent parts add up.
struct Summed {
    what: &'static str,
    statistic: f64,
    degrees_of_freedom: u64,
    is_impossible: bool,
    p_by_position: Vec<Option<f64>>,
}

impl Summed {
    fn new(what: &'static str) -> Self {
        Self { what, statistic: 0.0, degrees_of_freedom: 0, is_impossible: false, p_by_position: Vec::new() }
    }

    /// Adds a table of counts against probabilities. A table with fewer than two cells to count adds nothing.
    fn add(&mut self, counts: &[u64], expected: &[f64]) -> Result<(), StatsError> {
        match chi_square_fit(counts, expected) {
            Ok(fit) => {
                self.statistic += fit.statistic;
                self.degrees_of_freedom += fit.degrees_of_freedom;
            }
            Err(StatsError::Impossible { .. }) => self.is_impossible = true,
            Err(StatsError::TooFew { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Adds one position, whose own p-value is kept.
    fn position(
        &mut self,
        count: impl FnOnce(&mut Self) -> Result<(), StatsError>,
    ) -> Result<(), StatsError> {
        let mut of_position = Self::new(self.what);
        count(&mut of_position)?;
        self.p_by_position.push(of_position.p()?);
        self.statistic += of_position.statistic;
        self.degrees_of_freedom += of_position.degrees_of_freedom;
        self.is_impossible |= of_position.is_impossible;
        Ok(())
    }

    fn p(&self) -> Result<Option<f64>, StatsError> {
        match (self.is_impossible, self.degrees_of_freedom) {
            (true, _) => Ok(Some(0.0)),
            (false, 0) => Ok(None),
            (false, degrees) => chi_square_p(self.statistic, degrees).map(Some),
        }
    }

    fn finish(self, by_position: bool) -> Result<LawTest, StatsError> {
        let p = self.p()?.ok_or(StatsError::TooFew {
            what: self.what,
            needed: 2 * MIN_EXPECTED as u64,
            found: 0,
        })?;
        Ok(LawTest {
            what: self.what,
            statistic: (!self.is_impossible).then_some(self.statistic),
            degrees_of_freedom: self.degrees_of_freedom,
            p,
            p_by_position: if by_position { self.p_by_position } else { Vec::new() },
        })
    }
}

/// Mean over images of the laws at `position`, `[n_vocab]`.
fn mean_law<'a>(laws: impl Iterator<Item = &'a Rc<Dist>>) -> Vec<f64> {
    let mut mean: Vec<f64> = Vec::new();
    let mut n = 0.0;
    for law in laws {
        mean.resize(law.len(), 0.0);
        mean.iter_mut().zip(law.probs()).for_each(|(sum, &p)| *sum += f64::from(p));
        n += 1.0;
    }
    let total: f64 = mean.iter().sum();
    // A law sums to 1 up to rounding in f32; a mean that is off by more is caught where it was made.
    debug_assert!((total / n - 1.0).abs() < 1e-3 || n == 0.0, "laws sum to 1");
    mean.iter().map(|sum| sum / total).collect()
}

/// Tokens drawn at `position` against the mean of their laws.
fn marginal(images: &[Drawn], position: usize, test: &mut Summed) -> Result<(), StatsError> {
    let expected = mean_law(images.iter().map(|image| &image.laws[position]));
    let mut counts = vec![0; expected.len()];
    images.iter().for_each(|image| counts[image.tokens[position].idx()] += 1);
    test.add(&counts, &expected)
}

/// Where each token stands in its law by falling probability, in `[0, 1)`: uniform and independent if the token
/// was drawn from it. `at` is the image's number.
fn ranks(at: usize, image: &Drawn) -> Vec<f64> {
    let uniforms = Uniforms::new(RANK_KEY ^ at as u64);
    let rank = |(position, (&token, law)): (usize, (&TokenId, &Rc<Dist>))| {
        let p = law.prob(token);
        let is_before = |&(id, &other): &(usize, &f32)| p < other || (p == other && id < token.idx());
        let before: f64 =
            law.probs().iter().enumerate().filter(is_before).map(|(_, &other)| f64::from(other)).sum();
        before + uniforms.uniform(Purpose::Root, position as u32, 0) * f64::from(p)
    };
    image.tokens.iter().zip(&image.laws).enumerate().map(rank).collect()
}

/// The bin of `rank` among `n` of one size.
fn bin(rank: f64, n: usize) -> usize {
    ((rank * n as f64) as usize).min(n - 1)
}

/// `n` cells of the same probability.
fn even(n: usize) -> Vec<f64> {
    vec![1.0 / n as f64; n]
}

/// Total variation between counts and probabilities, and what noise alone gives on average.
fn variation(counts: &[u64], expected: &[f64]) -> (f64, f64) {
    let n = counts.iter().sum::<u64>() as f64;
    let found = counts.iter().zip(expected).map(|(&count, p)| (count as f64 / n - p).abs());
    // The mean of |z| is sqrt(2 / pi); cells that expect less than one observation are nearly certain misses.
    let noise =
        expected.iter().map(|p| (2.0 * p * (1.0 - p) / (std::f64::consts::PI * n)).sqrt().min(2.0 * p));
    (0.5 * found.sum::<f64>(), 0.5 * noise.sum::<f64>())
}
