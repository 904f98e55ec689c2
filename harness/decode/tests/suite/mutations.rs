//! The checks have teeth: each classic mistake, made on purpose, is found by a distribution or a rate.

use specimen_decode::{
    decoder::Method,
    dist::TokenId,
    drafter::Drafter,
    generation::Scores,
    rng::Uniforms,
    tree::{NodeId, Proposal, TokenTree},
};

use crate::{
    rates::{over_roots, siblings_acceptance, wide},
    reference::{Mistake, decode},
    support::{
        CHAIN_3, DYNAMIC, N_IMAGES, N_TOKENS, P_MIN, STATIC_321, distribution_of, drafter, image, method,
        target, z_score,
    },
};

#[track_caller]
fn check_found(drafter_table: &str, mistake: Mistake) {
    let found = distribution_of(|seed| decode(drafter_table, target(), seed, mistake));
    assert!(found.p_value < P_MIN, "{mistake:?} went unnoticed: {found:?}");
}

#[test]
fn without_a_mistake_the_second_walk_keeps_the_distribution() {
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        let found = distribution_of(|seed| decode(drafter_table, target(), seed, Mistake::None));
        assert!(P_MIN < found.p_value, "{found:?}");
    }
}

#[test]
fn a_dropped_residual_breaks_the_distribution() {
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        check_found(drafter_table, Mistake::ResidualDropped);
    }
}

#[test]
fn a_rejected_sibling_that_is_kept_breaks_the_distribution() {
    check_found(STATIC_321, Mistake::SiblingKept);
    check_found(DYNAMIC, Mistake::SiblingKept);
}

#[test]
fn an_unconditional_ratio_breaks_the_distribution() {
    check_found(STATIC_321, Mistake::UnconditionalRatio);
}

#[test]
fn a_bonus_token_from_the_wrong_row_breaks_the_distribution() {
    // A draft as deep as the image never reads its bonus token; one of depth 1 does.
    check_found(r#"{ proposer = "eagle1", shape = "chain", depth = 1 }"#, Mistake::BonusFromTheRoot);
}

#[test]
fn a_distribution_read_at_a_siblings_row_breaks_the_distribution() {
    check_found(STATIC_321, Mistake::WrongRow);
}

/// Calls every sampled candidate chosen.
struct CalledChosen(Box<dyn Drafter>);

impl Drafter for CalledChosen {
    fn draft(&mut self, tokens: &[TokenId], n_left: usize, step: u32, uniforms: &Uniforms) -> TokenTree {
        let sampled = self.0.draft(tokens, n_left, step, uniforms);
        let mut chosen = TokenTree::new(sampled[TokenTree::ROOT].token);
        for node in sampled.ids().skip(1) {
            chosen.push(sampled[node].parent.unwrap(), sampled[node].token, Proposal::Chosen);
        }
        chosen
    }

    fn observe(&mut self, _: &TokenTree, _: &[NodeId], _: Option<&dyn Scores>, _: u32, _: &Uniforms) {}

    fn n_forwards(&self) -> u32 {
        self.0.n_forwards()
    }
}

#[test]
fn sampled_candidates_called_chosen_keep_the_distribution_but_miss_the_rate() {
    let one_level = r#"{ proposer = "eagle1", shape = "static", tree = [[0],[1]] }"#;
    let expected = over_roots(|root| {
        siblings_acceptance(&wide(&target().distribution(root)), &wide(&drafter().distribution(root)), 2)
    });
    let rate_z = |make: &dyn Fn() -> Method| {
        let first = |seed| f64::from(image(make(), target(), N_TOKENS, seed).steps[0].n_accepted);
        let n_hits: f64 = (0..N_IMAGES).map(first).sum();
        z_score(n_hits, N_IMAGES as f64, expected, expected * (1.0 - expected))
    };
    let right = || method(one_level, drafter());
    let wrong = || Method { drafter: Box::new(CalledChosen(right().drafter)), ..right() };
    assert!(rate_z(&right).abs() < 4.5);
    assert!(rate_z(&wrong) < -10.0, "a third of the acceptance is gone, and the rate check sees it");
    let distribution = distribution_of(|seed| image(wrong(), target(), N_TOKENS, seed).tokens);
    assert!(P_MIN < distribution.p_value, "the distribution alone cannot see it: {distribution:?}");
}
