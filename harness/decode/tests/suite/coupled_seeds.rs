//! Coupled seeds: every lossless method gives the image of plain decoding, whose distribution is the target's.

use specimen_decode::{decoder::decode, dist::TokenId, rng::Uniforms, toy::ToyGeneration};

use crate::{
    rates::over_roots,
    support::{
        ALL, AR, N_IMAGES, N_TOKENS, P_MIN, Ticks, check_rate, distribution_of, drafter, method, target,
    },
};

fn image(drafter_table: &str, n_tokens: usize, seed: u64) -> specimen_decode::trace::Decoded {
    let (mut made, uniforms) = (method(drafter_table, drafter()), Uniforms::new(seed).coupled(true));
    decode(&mut made, &mut ToyGeneration::new(target(), n_tokens), &uniforms, &Ticks::new())
}

#[test]
fn plain_decoding_has_the_target_distribution() {
    let found = distribution_of(|seed| image(AR, N_TOKENS, seed).tokens);
    assert!(P_MIN < found.p_value, "{found:?}");
}

#[test]
fn every_lossless_method_gives_the_image_of_plain_decoding() {
    let pac = r#"{ proposer = "jacobi", window = 9, init = "random", couple = "maximal", branch = { width = 2, depth = 3 } }"#;
    for table in ALL.into_iter().chain([pac]) {
        let mut n_forwards = [0, 0];
        for seed in 0..200 {
            let (plain, found) = (image(AR, 16, seed), image(table, 16, seed));
            assert_eq!(found.tokens, plain.tokens, "{table}, seed {seed}");
            n_forwards[0] += plain.nfe();
            n_forwards[1] += found.nfe();
        }
        assert!(table == AR || n_forwards[1] < n_forwards[0], "{table} saves no forward: {n_forwards:?}");
    }
}

#[test]
fn a_draft_by_the_same_noise_is_accepted_as_often_as_two_such_tokens_are_equal() {
    let one = r#"{ proposer = "eagle1", shape = "chain", depth = 1 }"#;
    let n_hits = (0..N_IMAGES).map(|seed| u64::from(image(one, N_TOKENS, seed).steps[0].n_accepted)).sum();
    let equal = |root: &[TokenId]| -> f64 {
        let (q, p) = (target().distribution(root), drafter().distribution(root));
        let possible = (0..q.len()).filter(|&v| 0.0 < q.probs()[v] && 0.0 < p.probs()[v]);
        let chance = |v: usize| {
            let ratio = |w: usize| {
                let of = |probs: &[f32]| f64::from(probs[w]) / f64::from(probs[v]);
                of(q.probs()).max(of(p.probs()))
            };
            1.0 / (0..q.len()).map(ratio).sum::<f64>()
        };
        possible.map(chance).sum()
    };
    check_rate(n_hits, N_IMAGES, over_roots(equal));
}
