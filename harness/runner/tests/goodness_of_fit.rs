//! The tests of distributions themselves: how often they reject what was drawn from the distributions, and
//! what they say of draws that were not.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    rng::{Purpose, Uniforms},
};
use specimen_runner::lossless::goodness_of_fit::{Drawn, FitTests, of_conditionals};
use specimen_stats::significance::chi_square_fit;

const N_VOCAB: usize = 24;
const N_TOKENS: usize = 12;

/// A distribution that depends on the token before, with a few probable tokens and many improbable ones.
fn distribution(position: usize, before: TokenId) -> Rc<Dist> {
    let spread = |v: usize| (((v * 7 + position * 5 + before.idx() * 3) % N_VOCAB) as f32 / 6.0).exp();
    Rc::new(Dist::from_weights((0..N_VOCAB).map(spread).collect()).unwrap())
}

/// An image whose tokens follow `drawn_from` of the distributions that are given.
fn image(seed: u64, drawn_from: impl Fn(&Rc<Dist>) -> Rc<Dist>) -> Drawn {
    let uniforms = Uniforms::new(seed);
    let (mut tokens, mut distributions, mut before) = (Vec::new(), Vec::new(), TokenId(0));
    for position in 0..N_TOKENS {
        let distribution = distribution(position, before);
        before = drawn_from(&distribution).sample(uniforms.uniform(Purpose::Draft, position as u32, 0));
        tokens.push(before);
        distributions.push(distribution);
    }
    Drawn { tokens, distributions }
}

fn tested(run: u64, n_images: u64, drawn_from: impl Fn(&Rc<Dist>) -> Rc<Dist>) -> FitTests {
    let images: Vec<Drawn> = (0..n_images).map(|at| image(run << 20 | at, &drawn_from)).collect();
    of_conditionals(&images).unwrap()
}

#[test]
fn each_test_rejects_draws_from_the_laws_as_often_as_its_level_says() {
    const N_RUNS: u64 = 2000;
    let runs: Vec<FitTests> = (0..N_RUNS).map(|run| tested(run, 32, Rc::clone)).collect();
    for (at, what) in ["marginals", "pairs", "ranks", "surprise"].into_iter().enumerate() {
        assert!(runs.iter().all(|run| run.tests[at].what == what && run.absent.is_empty()));
        for level in [0.2, 0.05, 0.01] {
            let n = runs.iter().filter(|run| run.tests[at].p < level).count() as f64;
            let expected = level * N_RUNS as f64;
            // Four standard deviations of the count, and a fifth of the level for the approximation by
            // chi-square.
            let slack = 4.0 * (expected * (1.0 - level)).sqrt() + 0.2 * expected;
            assert!((n - expected).abs() < slack, "{what}: {n} of {N_RUNS} below {level}");
        }
    }
}

#[test]
fn a_flatter_law_is_told_by_its_gap_in_nats() {
    let flatter = |distribution: &Rc<Dist>| {
        Rc::new(Dist::from_weights(distribution.probs().iter().map(|q| q.powf(0.8)).collect()).unwrap())
    };
    let found = tested(1, 200, flatter);
    // The exact gap: the mean over distributions of the cross entropy less the entropy. All distributions
    // here are one distribution permuted.
    let (q, p) = (distribution(0, TokenId(0)), flatter(&distribution(0, TokenId(0))));
    let of = |weights: &Dist| -> f64 {
        let terms = weights.probs().iter().zip(q.probs());
        terms.map(|(&w, &q)| f64::from(w) * -f64::from(q).ln()).sum()
    };
    let (expected, surprise) = (of(&p) - of(&q), found.surprise.unwrap());
    assert!((surprise.nats - expected).abs() < 4.0 * surprise.standard_error, "{surprise:?} for {expected}");
    assert!(found.tests[3].p < 1e-6 && surprise.n_ruled_out == 0, "{found:?}");
}

#[test]
fn where_all_laws_are_one_the_marginals_are_pearsons_test_of_the_cells() {
    let distribution = Rc::new(Dist::from_probs(vec![0.25; 4]));
    let tokens: Vec<TokenId> = (0..32).map(|at| TokenId([0, 0, 1, 2, 3, 1, 0, 3][at % 8])).collect();
    let images: Vec<Drawn> = tokens
        .iter()
        .map(|&token| Drawn { tokens: vec![token], distributions: vec![distribution.clone()] })
        .collect();
    let found = of_conditionals(&images).unwrap();
    let pearson = chi_square_fit(&[12, 8, 4, 8], &[0.25; 4]).unwrap();
    let marginals = &found.tests[0];
    assert_eq!((marginals.what, marginals.degrees_of_freedom), ("marginals", 3));
    assert!((marginals.statistic.unwrap() - pearson.statistic).abs() < 1e-6, "{marginals:?}");
    // One token an image has no neighbour, 32 are too few for 20 ranks, and one is as probable
    // as the other.
    assert_eq!(
        found.absent.iter().map(|absent| absent.what).collect::<Vec<_>>(),
        ["pairs", "ranks", "surprise"]
    );
    assert!(!found.absent[0].why.is_empty());
}

#[test]
fn a_token_that_its_law_rules_out_refutes_it_without_a_statistic() {
    let mut images: Vec<Drawn> = (0..32).map(|seed| image(seed, Rc::clone)).collect();
    let token = images[3].tokens[5];
    images[3].distributions[5] = Rc::new(images[3].distributions[5].without(&[token]).unwrap());
    let found = of_conditionals(&images).unwrap();
    let ranks = found.tests.iter().find(|test| test.what == "ranks").unwrap();
    assert_eq!((ranks.statistic, ranks.p, found.surprise.unwrap().n_ruled_out), (None, 0.0, 1));
}

#[test]
fn laws_that_leave_nothing_to_chance_leave_no_test() {
    let one =
        || Drawn { tokens: vec![TokenId(1)], distributions: vec![Rc::new(Dist::one_hot(3, TokenId(1)))] };
    let images: Vec<Drawn> = std::iter::repeat_with(one).take(4).collect();
    assert!(of_conditionals(&images).is_err());
}
