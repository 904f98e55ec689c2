//! Coupled seeds: every lossless method gives the image of plain decoding, whose distribution is the target's, and a relaxed
//! one differs from it by what its rule grants.

use specimen_decode::{
    decoder::decode, dist::TokenId, method::rule_examples, rng::Uniforms, toy::ToyGeneration, trace::Decoded,
};

use crate::{
    rates::over_roots,
    support::{
        ALL, AR, CHAIN_3, DYNAMIC, JACOBI, JACOBI_LEFT, N_IMAGES, N_TOKENS, P_MIN, STATIC_321, Ticks, built,
        check_rate, distribution_of, drafter, target, with_rules, with_schedule,
    },
};

fn image(drafter_table: &str, n_tokens: usize, seed: u64) -> Decoded {
    of_cell(&format!("drafter = {drafter_table}"), n_tokens, &Uniforms::new(seed).coupled(true))
}

fn of_cell(text: &str, n_tokens: usize, uniforms: &Uniforms) -> Decoded {
    let mut made = built(text, drafter());
    decode(&mut made, &mut ToyGeneration::new(target(), n_tokens), uniforms, &Ticks::new())
}

#[test]
fn plain_decoding_has_the_target_distribution() {
    let found = distribution_of(|seed| image(AR, N_TOKENS, seed).tokens);
    assert!(P_MIN < found.p_value, "{found:?}");
}

#[test]
fn every_lossless_method_gives_the_image_of_plain_decoding() {
    let jacobi = |more: &str| format!(r#"{{ proposer = "jacobi", window = 5, init = "random", {more} }}"#);
    let more = [
        jacobi(r#"couple = "maximal""#),
        jacobi(r#"couple = "gumbel""#),
        jacobi(r#"refresh = { kind = "vp-reconstruction", mode = "ratio", lambda = 1.0, law = "tilted" }"#),
    ];
    let pac = r#"{ proposer = "jacobi", window = 9, init = "random", couple = "maximal", branch = { width = 2, depth = 3 } }"#;
    for table in ALL.into_iter().chain([pac]).chain(more.iter().map(String::as_str)) {
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

/// Rules that their numbers switch off, and a schedule that skips nothing.
#[test]
fn a_relaxed_method_that_grants_nothing_gives_the_image_of_plain_decoding() {
    let rules = [
        r#"{ kind = "lantern", k = 0, delta = 0.3 }"#,
        r#"{ kind = "lantern", k = 4, delta = 0.0, residual = "refcode" }"#,
        r#"{ kind = "lantern++", k = 4, lambda = 1.0 }"#,
        r#"{ kind = "gsd", group = 1 }"#,
        r#"{ kind = "cool-sd", delta = 1.0, nu = 0.7 }"#,
        r#"{ kind = "cascade", tau_pos = 1.01, tau_seq = 1.01, tvd_budget = 0.5 }"#,
    ];
    let never = with_schedule(CHAIN_3, r#"{ kind = "vvs", trigger = "never", warm_up = 0 }"#);
    let of_rules = rules.iter().flat_map(|accept| {
        [CHAIN_3, STATIC_321, DYNAMIC, JACOBI, JACOBI_LEFT].map(|table| with_rules(table, accept))
    });
    for text in of_rules.chain([never]) {
        for seed in 0..150 {
            let found = of_cell(&text, 12, &Uniforms::new(seed).coupled(true));
            assert_eq!(found.tokens, image(AR, 12, seed).tokens, "{text}, seed {seed}");
        }
    }
}

/// The share of tokens that equal those of plain decoding, and the forwards, with coupled seeds and with independent draws.
#[test]
fn a_relaxed_method_differs_by_what_its_rule_grants() {
    const N_SEEDS: u64 = 400;
    let ar = format!("drafter = {AR}");
    let share = |text: &str, is_coupled: bool| {
        let of_seed = |seed| {
            let uniforms = Uniforms::new(seed).coupled(is_coupled);
            let (plain, found) = (of_cell(&ar, 12, &uniforms), of_cell(text, 12, &uniforms));
            (
                plain.tokens.iter().zip(&found.tokens).filter(|(plain, found)| plain == found).count(),
                found.nfe(),
            )
        };
        let (equal, nfe): (Vec<_>, Vec<_>) = (0..N_SEEDS).map(of_seed).unzip();
        (equal.iter().sum::<usize>() as f64 / (12 * N_SEEDS) as f64, nfe.iter().sum::<u32>())
    };
    let plain = share(&with_rules(CHAIN_3, r#"{ kind = "gsd", group = 1 }"#), true);
    for accept in rule_examples() {
        let text = with_rules(CHAIN_3, accept);
        let (coupled, independent) = (share(&text, true), share(&text, false));
        assert!(independent.0 < coupled.0 && coupled.0 < 1.0, "{accept}: {coupled:?}, {independent:?}");
        assert!(coupled.1 < plain.1, "{accept} saves no forward: {coupled:?}, plain {plain:?}");
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
