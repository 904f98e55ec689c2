//! From tests to verdicts. A method's p-value is the smallest of its tests times their number (Bonferroni);
//! over methods Holm's correction is taken, apart for those that claim exactness and for relaxed ones, so
//! that a sound set of exact methods is suspected with probability [`ALPHA`] at most.

use serde::Serialize;
use specimen_stats::{chi_square_power::detectable_tv, multiple_tests::holm};

use super::{
    Case,
    goodness_of_fit::{Absent, FitTest, FitTests, Surprise},
    subject::Subject,
};
use crate::error::RunError;

/// Level of all tests of one kind of method together.
pub const ALPHA: f64 = 1e-3;

/// What a method promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Claim {
    /// The target's distribution.
    Exact,
    /// Another distribution, for speed.
    Relaxed,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// An exact method whose draws fit the distribution.
    Kept,
    /// An exact method whose draws do not: a bug.
    Broken,
    /// A relaxed method that was found out, as it must be.
    Detected,
    /// A relaxed method that could not be distinguished from the target: the test is too weak, or the method
    /// does nothing.
    Unnoticed,
}

/// One test, as it is reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestResult {
    /// What was counted.
    pub what: &'static str,
    /// The statistic; null if a token was drawn that its distribution rules out.
    pub statistic: Option<f64>,
    /// Its degrees of freedom.
    pub degrees_of_freedom: u64,
    /// Its p-value.
    pub p: f64,
    /// By position; null where the distributions leave too little to chance to be tested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub p_by_position: Vec<Option<f64>>,
}

/// A test that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// What would have been tested.
    pub what: &'static str,
    /// What there was too little of.
    pub why: String,
}

/// How improbable tokens are, beyond those of the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// Mean of `-log q(x) - H(q)` over tokens, in nats.
    pub nats: f64,
    /// Its standard error under the target.
    pub standard_error: f64,
    /// Tokens of probability zero, which `nats` leaves out.
    pub n_ruled_out: u64,
}

/// One method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Examined {
    /// Its name.
    pub name: String,
    /// The configuration in one line.
    pub method: String,
    /// What it promises.
    pub claim: Claim,
    /// The tests.
    pub tests: Vec<TestResult>,
    /// Tests that there was too little for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Missing>,
    /// p-value of all its tests.
    pub p: f64,
    /// The same after Holm's correction over all methods of its claim.
    pub p_holm: f64,
    /// What `tv` is about: `images`, all of whose distribution was counted, or `ranks` of tokens in their
    /// distributions.
    pub tv_of: &'static str,
    /// Total variation from the distribution in the cells that were counted, noise included.
    pub tv: f64,
    /// What noise alone gives on average.
    pub tv_of_noise: f64,
    /// Distance in nats a token; null where images are counted whole.
    pub gap: Option<Gap>,
    /// What came of it.
    pub verdict: Verdict,
}

/// All methods.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Examination {
    /// What was decoded.
    pub subject: String,
    /// Images of each method.
    pub n_images: u64,
    /// Tokens of each image.
    pub n_tokens: usize,
    /// Level of all tests of one claim together.
    pub alpha: f64,
    /// Total variation between the cells compared that would have been found with a probability of 80 %
    /// wherever it lies: after pooling, in the test of `tv`. Null where no method has that test.
    pub detectable_tv: Option<f64>,
    /// Whether every exact method sampled from the distribution and every relaxed one was detected.
    pub passed: bool,
    /// The methods, in the order given.
    pub methods: Vec<Examined>,
}

impl Examined {
    /// Verdict and correction are those of a method alone until others join it.
    pub(super) fn new(case: &Case, claim: Claim, found: &FitTests) -> Self {
        let smallest = found.tests.iter().map(|test| test.p).fold(1.0, f64::min);
        let p = (smallest * found.tests.len() as f64).min(1.0);
        let missing = |absent: &Absent| Missing { what: absent.what, why: absent.why.clone() };
        let reported = |test: &FitTest| TestResult {
            what: test.what,
            statistic: test.statistic,
            degrees_of_freedom: test.degrees_of_freedom,
            p: test.p,
            p_by_position: test.p_by_position.clone(),
        };
        Self {
            name: case.name.clone(),
            method: case.method.canonical(),
            claim,
            tests: found.tests.iter().map(reported).collect(),
            absent: found.absent.iter().map(missing).collect(),
            p,
            p_holm: p,
            tv_of: found.variation.of,
            tv: found.variation.found,
            tv_of_noise: found.variation.of_noise,
            gap: found.surprise.map(|Surprise { nats, standard_error, n_ruled_out }| Gap {
                nats,
                standard_error,
                n_ruled_out,
            }),
            verdict: verdict(claim, p),
        }
    }
}

impl Examination {
    /// Joins the methods: corrects their p-values and passes the verdicts.
    pub(super) fn new(
        subject: &dyn Subject,
        n_images: u64,
        mut methods: Vec<Examined>,
    ) -> Result<Self, RunError> {
        for claim in [Claim::Exact, Claim::Relaxed] {
            let mut of_claim: Vec<&mut Examined> =
                methods.iter_mut().filter(|method| method.claim == claim).collect();
            let p_values: Vec<f64> = of_claim.iter().map(|method| method.p).collect();
            for (method, p_holm) in of_claim.iter_mut().zip(holm(&p_values)?) {
                method.p_holm = p_holm;
                method.verdict = verdict(claim, p_holm);
            }
        }
        let n_exact = methods.iter().filter(|method| method.claim == Claim::Exact).count().max(1);
        let (counted, n) = subject.counted(n_images);
        let tests = methods.iter().flat_map(|method| &method.tests);
        let n_cells = tests
            .filter(|test| test.what == counted && test.statistic.is_some())
            .map(|test| test.degrees_of_freedom + 1)
            .max();
        let alpha_of_one = ALPHA / (n_exact * subject.n_tests()) as f64;
        Ok(Self {
            subject: subject.describe(),
            n_images,
            n_tokens: subject.n_tokens(),
            alpha: ALPHA,
            detectable_tv: n_cells.map(|n_cells| detectable_tv(alpha_of_one, n_cells, n)).transpose()?,
            passed: methods.iter().all(|m| matches!(m.verdict, Verdict::Kept | Verdict::Detected)),
            methods,
        })
    }

    /// Names of the methods with this verdict.
    pub fn with_verdict(&self, verdict: Verdict) -> Vec<&str> {
        self.methods.iter().filter(|m| m.verdict == verdict).map(|m| m.name.as_str()).collect()
    }
}

fn verdict(claim: Claim, p: f64) -> Verdict {
    match (claim, p < ALPHA) {
        (Claim::Exact, false) => Verdict::Kept,
        (Claim::Exact, true) => Verdict::Broken,
        (Claim::Relaxed, true) => Verdict::Detected,
        (Claim::Relaxed, false) => Verdict::Unnoticed,
    }
}
