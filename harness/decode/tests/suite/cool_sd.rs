//! Cool-SD: lossless with weights of at most 1, and otherwise as far from the target as its equations say.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    generation::Scores,
    tree::{NodeId, Proposal, TokenTree},
    verify::{Level, Mass},
};

use crate::{
    rates::{over_roots, wide},
    relaxed::{ONE_SAMPLED, TREES, check_is_naive, check_second_token},
    support::{
        N_IMAGES, N_TOKENS, N_VOCAB, P_MIN, built, check_rate, distribution_of, drafter, image, neighbours,
        target, with_rules,
    },
};

/// Weight at depth 1 of `delta = 4`.
const WEIGHT: f64 = 4.0 * 0.496_585_303_791_409_5;

#[test]
fn weights_of_one_are_the_lossless_rule() {
    check_is_naive(r#"{ kind = "cool-sd", delta = 1.0, nu = 0.0 }"#);
}

#[test]
fn weights_below_one_keep_the_target_distribution() {
    for drafter_table in TREES {
        let text = with_rules(drafter_table, r#"{ kind = "cool-sd", delta = 1.1 }"#);
        assert!(crate::support::parsed(&text).is_lossless());
        let found = distribution_of(|seed| image(built(&text, drafter()), target(), N_TOKENS, seed).tokens);
        assert!(P_MIN < found.p_value, "{drafter_table}: {found:?}");
    }
    let relaxed = with_rules(TREES[0], r#"{ kind = "cool-sd", delta = 2.1 }"#);
    assert!(!crate::support::parsed(&relaxed).is_lossless(), "2.1 exp(-0.7) is above 1");
}

#[test]
fn one_sampled_candidate_follows_the_equations() {
    let text = with_rules(ONE_SAMPLED, r#"{ kind = "cool-sd", delta = 4.0 }"#);
    let accepted =
        |q: &[f64], p: &[f64]| -> Vec<f64> { q.iter().zip(p).map(|(q, p)| p.min(WEIGHT * q)).collect() };
    check_second_token(&text, |q, p| {
        let taken = accepted(q, p);
        let left: Vec<f64> = q.iter().zip(&taken).map(|(q, taken)| (q - taken).max(0.0)).collect();
        let (total, rest) = (left.iter().sum::<f64>(), 1.0 - taken.iter().sum::<f64>());
        // Without a residual the target's own distribution takes its place.
        let left = if 1e-7 < total { left } else { q.to_vec() };
        let total: f64 = left.iter().sum();
        taken.iter().zip(&left).map(|(taken, left)| taken + rest * left / total).collect()
    });
    let expected = over_roots(|root| {
        accepted(&wide(&target().distribution(root)), &wide(&drafter().distribution(root))).iter().sum()
    });
    let first =
        |seed| u64::from(image(built(&text, drafter()), target(), N_TOKENS, seed).steps[0].n_accepted);
    check_rate((0..N_IMAGES).map(first).sum(), N_IMAGES, expected);
}

/// One row after every node.
struct Everywhere(Rc<Dist>);

impl Scores for Everywhere {
    fn dist(&self, _: NodeId) -> Rc<Dist> {
        Rc::clone(&self.0)
    }
    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

/// `w_i = delta exp(-nu i - mu)` with `delta = 3`, `nu = 0.7`, `mu = 0.2`: exp(-0.9), exp(-1.6), exp(-2.3) times 3.
#[test]
fn the_weight_falls_with_depth_and_by_mu() {
    const WEIGHTS: [f32; 3] = [1.219_709, 0.605_689_5, 0.300_776_5];
    let dist = |weights: &[f32]| Rc::new(Dist::from_weights(weights.to_vec()).unwrap());
    let (q, p) = (dist(&[0.2, 0.3, 0.4, 0.1]), dist(&[0.4, 0.4, 0.1, 0.1]));
    let mut tree = TokenTree::new(TokenId(0));
    let mut parent = TokenTree::ROOT;
    for token in [1, 0, 0] {
        let proposal = Proposal::Sampled { distribution: p.clone(), conditional: 0.4 };
        parent = tree.push(parent, TokenId(token), proposal);
    }
    let text = with_rules(TREES[0], r#"{ kind = "cool-sd", delta = 3.0, nu = 0.7, mu = 0.2 }"#);
    let mut rule = built(&text, drafter()).rule;
    let scores = Everywhere(q.clone());
    let close = |a: f32, b: f32| (a - b).abs() < 1e-6;
    for step in 0..2 {
        rule.begin_step();
        assert_eq!(rule.tvd_spent(), 0.0, "step {step}");
        let mut spent = 0.0;
        for (at, weight) in WEIGHTS.into_iter().enumerate() {
            let level = Level { tree: &tree, scores: &scores, parent: NodeId(at), q: &q, tried: &[] };
            let (child, own) = (NodeId(at + 1), q.prob(tree[NodeId(at + 1)].token));
            let Mass { target, draft } = rule.mass(&level, child);
            assert!(close(target, weight * own) && close(draft, 0.4), "depth {}: {target}, {draft}", at + 1);
            let taken = rule.taken(&level, child).mass.unwrap();
            for (v, taken) in taken.into_iter().enumerate() {
                let expected = p.probs()[v].min(weight * q.probs()[v]);
                assert!(close(taken, expected), "depth {}, token {v}: {taken}, {expected}", at + 1);
            }
            // What is accepted beyond the plain test: 0.3 of 0.4 at depth 1, nothing where the weight is below 1.
            spent += ((weight * own / 0.4).min(1.0) - own / 0.4).max(0.0);
        }
        assert!(0.1 < spent && close(rule.tvd_spent() as f32, spent), "{} of {spent}", rule.tvd_spent());
    }
}

#[test]
fn the_vanilla_residual_of_lantern_and_lantern_plus_plus_is_that_of_cool_sd() {
    let near = neighbours(N_VOCAB);
    let check = |keys: &str, limit: &dyn Fn(f64) -> f64| {
        let text = with_rules(ONE_SAMPLED, &format!(r#"{{ {keys}, k = 3, residual = "vanilla" }}"#));
        check_second_token(&text, |q, p| {
            // `Q f`: what each token is accepted with.
            let taken = |x: usize| {
                let mut lent = 0.0;
                for y in near.of(TokenId(x as u32), 3) {
                    if limit(q[x]) < lent + q[y.idx()] {
                        break;
                    }
                    lent += q[y.idx()];
                }
                p[x].min(q[x] + lent)
            };
            let taken: Vec<f64> = (0..N_VOCAB).map(taken).collect();
            let left: Vec<f64> = q.iter().zip(&taken).map(|(q, taken)| (q - taken).max(0.0)).collect();
            let (total, rest) = (left.iter().sum::<f64>(), 1.0 - taken.iter().sum::<f64>());
            assert!(0.0 < total, "something is left");
            taken.iter().zip(&left).map(|(taken, left)| taken + rest * left / total).collect()
        });
    };
    check(r#"kind = "lantern++", lambda = 3.0"#, &|own| 2.0 * own);
    check(r#"kind = "lantern", delta = 0.25"#, &|_| 0.25);
}
