//! Relaxed rules equal the lossless one where their numbers switch them off, and otherwise leave the target's
//! distribution exactly as their pseudo-code says.

use specimen_decode::{
    method::{MethodConfig, RULE_KEYS, rule_examples},
    methods::lantern::{Bound, Residual},
};

use crate::{
    chi_square::chi_square,
    rates::{over_roots, wide},
    reference::{Asked, Mistake, Rules, decode_with},
    second_rules,
    support::{
        CHAIN_3, DYNAMIC, JACOBI, JACOBI_LEFT, N_IMAGES, N_TOKENS, N_VOCAB, P_MIN, STATIC_321, built,
        check_rate, distribution_of, drafter, image, method, neighbours, parsed, target, with_rules,
    },
};

pub(crate) const TREES: [&str; 3] = [CHAIN_3, STATIC_321, DYNAMIC];
pub(crate) const DRAFTERS: [&str; 5] = [CHAIN_3, STATIC_321, DYNAMIC, JACOBI, JACOBI_LEFT];
const RESIDUALS: [(Residual, &str); 3] =
    [(Residual::Paper, "paper"), (Residual::Vanilla, "vanilla"), (Residual::Refcode, "refcode")];

/// The images of many seeds are those of the lossless rule.
#[track_caller]
pub(crate) fn check_is_naive(accept: &str) {
    for drafter_table in DRAFTERS {
        let text = with_rules(drafter_table, accept);
        for seed in 0..150 {
            let naive = image(method(drafter_table, drafter()), target(), N_TOKENS, seed);
            let found = image(built(&text, drafter()), target(), N_TOKENS, seed);
            assert_eq!(found.tokens, naive.tokens, "{accept} over {drafter_table}, seed {seed}");
            assert_eq!(found.tvd_spent, 0.0);
        }
    }
}

/// Token by token the walk of `second`.
#[track_caller]
pub(crate) fn check_as_second(drafter_table: &str, accept: &str, second: &mut dyn Rules) {
    let text = with_rules(drafter_table, accept);
    for seed in 0..600 {
        let expected = decode_with(drafter_table, target(), seed, Mistake::None, second);
        let found = image(built(&text, drafter()), target(), N_TOKENS, seed).tokens;
        assert_eq!(found, expected, "{accept} over {drafter_table}, seed {seed}");
    }
}

#[track_caller]
pub(crate) fn check_detected(text: &str) {
    let found = distribution_of(|seed| image(built(text, drafter()), target(), N_TOKENS, seed).tokens);
    assert!(found.p_value < P_MIN, "a relaxed method went unnoticed: {text}: {found:?}");
}

#[test]
fn lantern_without_neighbours_and_lantern_plus_plus_at_lambda_1_equal_the_lossless_rule() {
    check_is_naive(r#"{ kind = "lantern", k = 0, delta = 0.3 }"#);
    check_is_naive(r#"{ kind = "lantern", k = 0, delta = 0.3, residual = "refcode" }"#);
    check_is_naive(r#"{ kind = "lantern++", k = 4, lambda = 1.0 }"#);
    check_is_naive(r#"{ kind = "lantern++", k = 4, lambda = 1.0, residual = "vanilla" }"#);
    check_is_naive(
        r#"{ kind = "lantern", k = 4, delta = 0.0 }, { kind = "lantern++", k = 4, lambda = 1.0 }"#,
    );
}

#[test]
fn lantern_with_nothing_to_borrow_keeps_the_target_distribution() {
    for drafter_table in TREES {
        let text = with_rules(drafter_table, r#"{ kind = "lantern", k = 4, delta = 0.0 }"#);
        let found = distribution_of(|seed| image(built(&text, drafter()), target(), N_TOKENS, seed).tokens);
        assert!(P_MIN < found.p_value, "{found:?}");
    }
}

#[test]
fn the_residual_of_the_reference_code_loses_the_distribution_even_with_nothing_to_borrow() {
    for drafter_table in TREES {
        check_detected(&with_rules(
            drafter_table,
            r#"{ kind = "lantern", k = 3, delta = 0.0, residual = "refcode" }"#,
        ));
    }
}

#[test]
fn every_rule_that_relaxes_is_detected() {
    for accept in rule_examples() {
        let chains_only = parsed(&format!("accept = [{accept}]")).accept[0].needs_chain();
        for drafter_table in TREES.into_iter().filter(|&table| table == CHAIN_3 || !chains_only) {
            check_detected(&with_rules(drafter_table, accept));
        }
    }
}

/// GSD-SV and LANTERN-SV.
#[test]
fn runs_are_tested_with_the_ratios_of_the_rule_inside() {
    const SV: &str = r#"{ kind = "sjd-sv", alpha = 0.8 }"#;
    let sum_of_forwards = |accept: &str| -> u32 {
        let text = with_rules(JACOBI, accept);
        (0..600).map(|seed| image(built(&text, drafter()), target(), 16, seed).nfe()).sum()
    };
    let over = |inner: &str| format!("{SV}, {inner}");
    for inner in [r#"{ kind = "gsd", group = 1 }"#, r#"{ kind = "lantern", k = 0, delta = 0.3 }"#] {
        for drafter_table in [CHAIN_3, JACOBI, JACOBI_LEFT] {
            for seed in 0..150 {
                let [plain, found] = [SV.to_owned(), over(inner)].map(|accept| {
                    image(built(&with_rules(drafter_table, &accept), drafter()), target(), N_TOKENS, seed)
                        .tokens
                });
                assert_eq!(found, plain, "{inner} over {drafter_table}, seed {seed}");
            }
        }
    }
    for inner in
        [r#"{ kind = "gsd", group = 3, delta_p = 0.4 }"#, r#"{ kind = "lantern", k = 2, delta = 0.4 }"#]
    {
        check_detected(&with_rules(CHAIN_3, &over(inner)));
        let [both, of_runs, of_inner] = [&over(inner), SV, inner].map(sum_of_forwards);
        assert!(both < of_runs && both < of_inner, "{inner}: {both}, {of_runs}, {of_inner}");
    }
}

#[test]
fn a_rule_of_runs_is_the_outermost_and_asks_none_that_counts() {
    let refused = |accept: &str| {
        let config = toml::from_str::<MethodConfig>(&with_rules(JACOBI, accept)).unwrap();
        config.validate().unwrap_err().to_string()
    };
    let sv = r#"{ kind = "sjd-sv", alpha = 0.8 }"#;
    let lantern = format!(r#"{{ kind = "lantern", k = 2, delta = 0.4 }}, {sv}"#);
    assert!(refused(&lantern).contains("accept rule 1 is sjd-sv"), "{}", refused(&lantern));
    let twice = format!("{sv}, {sv}");
    assert!(refused(&twice).contains("write it first"), "{}", refused(&twice));
    let cascade = format!(r#"{sv}, {{ kind = "cascade", tau_pos = 0.85, tvd_budget = 0.5 }}"#);
    assert!(refused(&cascade).contains("sjd-sv asks cascade"), "{}", refused(&cascade));
}

#[test]
fn a_rule_for_chains_is_refused_over_a_tree() {
    let validated = |drafter_table: &str| {
        let text = with_rules(drafter_table, r#"{ kind = "sjd-sv", alpha = 0.5 }"#);
        let config = toml::from_str::<MethodConfig>(&text).map_err(|error| error.to_string())?;
        config.validate().map_err(|error| error.to_string())
    };
    assert_eq!((validated(CHAIN_3), validated(JACOBI)), (Ok(()), Ok(())));
    let branched = JACOBI.replace("window = 3", "window = 9, branch = { width = 2, depth = 2 }");
    for table in [STATIC_321, DYNAMIC, &branched] {
        assert!(validated(table).unwrap_err().contains("sjd-sv tests a chain of guesses"), "{table}");
    }
}

#[test]
fn lantern_decodes_token_by_token_as_its_pseudo_code() {
    for drafter_table in DRAFTERS {
        for (residual, name) in RESIDUALS {
            for (k, delta, lambda) in [(4, 0.15, 2.5), (1, 0.3, 4.0)] {
                let second =
                    |bound| second_rules::Lantern { nearest: neighbours(N_VOCAB), k, bound, residual };
                let accept =
                    format!(r#"{{ kind = "lantern", k = {k}, delta = {delta}, residual = "{name}" }}"#);
                check_as_second(drafter_table, &accept, &mut second(Bound::Absolute(delta)));
                let accept =
                    format!(r#"{{ kind = "lantern++", k = {k}, lambda = {lambda}, residual = "{name}" }}"#);
                check_as_second(drafter_table, &accept, &mut second(Bound::Relative(lambda)));
            }
        }
    }
}

/// One chosen candidate below the root.
const ONE_CHOSEN: &str =
    r#"{ proposer = "eagle1", shape = "dynamic", top_k = 1, depth = 1, total_token = 2 }"#;
/// One sampled candidate below the root.
pub(crate) const ONE_SAMPLED: &str = r#"{ proposer = "eagle1", shape = "chain", depth = 1 }"#;

/// The exact distribution of the second token under LANTERN with one chosen candidate, and the mass moved.
fn one_chosen(q: &[f64], p: &[f64], rule: &second_rules::Lantern) -> (Vec<f64>, f64) {
    let x = (0..q.len()).rev().max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
    let (lenders, lent) = rule.lent(q, x);
    let leaves = |v: usize| v == x || (rule.residual == Residual::Paper && lenders.contains(&v));
    let left: f64 = (0..q.len()).filter(|&v| !leaves(v)).map(|v| q[v]).sum();
    let rejected = 1.0 - q[x] - lent;
    let other = |v: usize| if leaves(v) { 0.0 } else { rejected * q[v] / left };
    ((0..q.len()).map(|v| if v == x { q[x] + lent } else { other(v) }).collect(), lent)
}

/// The same with one candidate sampled from `p`: every draw, test and correction enumerated.
fn one_sampled(q: &[f64], p: &[f64], rule: &second_rules::Lantern) -> Vec<f64> {
    let mut distribution = vec![0.0; q.len()];
    for x in (0..q.len()).filter(|&x| 0.0 < p[x]) {
        let (lenders, lent) = rule.lent(q, x);
        let accept = ((q[x] + lent) / p[x]).min(1.0);
        distribution[x] += p[x] * accept;
        let mut left: Vec<f64> = q.iter().zip(p).map(|(q, p)| (q - p).max(0.0)).collect();
        if rule.residual == Residual::Paper {
            lenders.iter().for_each(|&y| left[y] = 0.0);
        }
        let total: f64 = left.iter().sum();
        let left = if 1e-7 < total { left } else { q.to_vec() };
        let total: f64 = left.iter().sum();
        left.iter().enumerate().for_each(|(v, left)| distribution[v] += p[x] * (1.0 - accept) * left / total);
    }
    distribution
}

/// Images of two tokens: the first is exact, the second follows `distribution(root)`.
#[track_caller]
pub(crate) fn check_second_token(text: &str, distribution: impl Fn(&[f64], &[f64]) -> Vec<f64>) -> f64 {
    let first = wide(&target().distribution(&[]));
    let mut joint = Vec::new();
    for (root, first) in first.iter().enumerate() {
        let context = [specimen_decode::dist::TokenId(root as u32)];
        let second =
            distribution(&wide(&target().distribution(&context)), &wide(&drafter().distribution(&context)));
        assert!((second.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        joint.extend(second.iter().map(|p| first * p));
    }
    let mut counts = vec![0; N_VOCAB * N_VOCAB];
    let mut spent = 0.0;
    for seed in 0..N_IMAGES {
        let decoded = image(built(text, drafter()), target(), 2, seed);
        counts[decoded.tokens[0].idx() * N_VOCAB + decoded.tokens[1].idx()] += 1;
        spent += decoded.tvd_spent;
    }
    let found = chi_square(&counts, &joint);
    assert!(P_MIN < found.p_value, "the distribution is not what the rule says: {text}: {found:?}");
    spent / N_IMAGES as f64
}

fn total_variation(a: &[f64], b: &[f64]) -> f64 {
    0.5 * a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>()
}

#[test]
fn one_chosen_candidate_moves_exactly_the_borrowed_mass_and_no_more_than_delta() {
    for (residual, name) in [(Residual::Paper, "paper"), (Residual::Vanilla, "vanilla")] {
        for delta in [0.1, 0.2, 0.4] {
            let bound = Bound::Absolute(delta);
            let rule = second_rules::Lantern { nearest: neighbours(N_VOCAB), k: 4, bound, residual };
            let accept = format!(r#"{{ kind = "lantern", k = 4, delta = {delta}, residual = "{name}" }}"#);
            let text = with_rules(ONE_CHOSEN, &accept);
            let spent = check_second_token(&text, |q, p| {
                let (distribution, lent) = one_chosen(q, p, &rule);
                assert!(lent <= delta && (total_variation(&distribution, q) - lent).abs() < 1e-6);
                distribution
            });
            let expected = over_roots(|root| {
                one_chosen(&wide(&target().distribution(root)), &wide(&drafter().distribution(root)), &rule).1
            });
            assert!(0.001 < expected && expected <= delta, "{expected} moved of at most {delta}");
            assert!((spent - expected).abs() < 0.01, "{spent} reported, {expected} moved");
        }
    }
}

#[test]
fn one_sampled_candidate_follows_the_enumerated_distribution() {
    for (residual, name) in [(Residual::Paper, "paper"), (Residual::Vanilla, "vanilla")] {
        let relative = r#"kind = "lantern++", k = 4, lambda = 2.0"#;
        let absolute = r#"kind = "lantern", k = 4, delta = 0.3"#;
        for (bound, accept) in [(Bound::Absolute(0.3), absolute), (Bound::Relative(2.0), relative)] {
            let rule = second_rules::Lantern { nearest: neighbours(N_VOCAB), k: 4, bound, residual };
            let text = with_rules(ONE_SAMPLED, &format!(r#"{{ {accept}, residual = "{name}" }}"#));
            check_second_token(&text, |q, p| one_sampled(q, p, &rule));
        }
    }
}

#[test]
fn one_chosen_candidate_is_accepted_with_its_own_and_the_borrowed_mass() {
    let bound = Bound::Absolute(0.4);
    let rule = second_rules::Lantern { nearest: neighbours(N_VOCAB), k: 4, bound, residual: Residual::Paper };
    let expected = over_roots(|root| {
        let (q, p) = (wide(&target().distribution(root)), wide(&drafter().distribution(root)));
        let x = (0..q.len()).rev().max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
        q[x] + rule.lent(&q, x).1
    });
    let text = with_rules(ONE_CHOSEN, r#"{ kind = "lantern", k = 4, delta = 0.4 }"#);
    let first =
        |seed| u64::from(image(built(&text, drafter()), target(), N_TOKENS, seed).steps[0].n_accepted);
    check_rate((0..N_IMAGES).map(first).sum(), N_IMAGES, expected);
}

#[test]
fn tokens_the_target_rules_out_are_emitted_by_lantern_and_counted() {
    let text = with_rules(STATIC_321, r#"{ kind = "lantern", k = 4, delta = 0.4 }"#);
    let mut n_outside = 0;
    for seed in 0..500 {
        let decoded = image(built(&text, drafter()), target(), N_TOKENS, seed);
        let impossible =
            |&i: &usize| target().distribution(&decoded.tokens[..i]).prob(decoded.tokens[i]) == 0.0;
        assert_eq!((0..N_TOKENS).filter(impossible).count(), decoded.out_of_support as usize);
        n_outside += decoded.out_of_support;
    }
    assert!(0 < n_outside);
}

#[test]
fn the_borrowed_mass_is_reported_as_spent() {
    struct Summing(second_rules::Lantern, f64);
    impl Rules for Summing {
        fn claim(&mut self, asked: &Asked<'_>) -> crate::reference::Claim {
            self.1 += self.0.lent(asked.g, asked.x).1;
            self.0.claim(asked)
        }
    }
    let text = with_rules(STATIC_321, r#"{ kind = "lantern", k = 4, delta = 0.2 }"#);
    for seed in 0..300 {
        let (bound, residual) = (Bound::Absolute(0.2), Residual::Paper);
        let rule = second_rules::Lantern { nearest: neighbours(N_VOCAB), k: 4, bound, residual };
        let mut summing = Summing(rule, 0.0);
        decode_with(STATIC_321, target(), seed, Mistake::None, &mut summing);
        let decoded = image(built(&text, drafter()), target(), N_TOKENS, seed);
        assert!((decoded.tvd_spent - summing.1).abs() < 1e-5, "{} of {}", decoded.tvd_spent, summing.1);
    }
}

#[test]
fn every_number_of_a_rule_is_refused_or_its_images_are_whole() {
    const NUMBERS: [&str; 10] =
        ["0.0", "-0.0", "1e-300", "1e-46", "-100.0", "100.0", "1e38", "1e39", "1e300", "-1e300"];
    let (mut n_decoded, mut n_refused) = (0, 0);
    for (example, key) in
        rule_examples().into_iter().flat_map(|rule| RULE_KEYS.iter().map(move |key| (rule, key)))
    {
        // The key with another number, in place of its own where the example has one.
        let inside = example.trim_matches(['{', '}', ' ']);
        let is_other = |part: &&str| part.split('=').next().is_some_and(|name| name.trim() != *key);
        let kept: Vec<&str> = inside.split(", ").filter(is_other).collect();
        for number in NUMBERS {
            let accept = format!("{{ {}, {key} = {number} }}", kept.join(", "));
            let text = with_rules(CHAIN_3, &accept);
            let Ok(config) = toml::from_str::<MethodConfig>(&text) else { continue };
            if config.validate().is_err() {
                n_refused += 1;
                continue;
            }
            for seed in 0..20 {
                let found = image(built(&text, drafter()), target(), N_TOKENS, seed);
                assert!(found.tvd_spent.is_finite(), "{accept}: {}", found.tvd_spent);
            }
            n_decoded += 1;
        }
    }
    assert!(n_decoded > 40 && n_refused > 20, "{n_decoded} decoded, {n_refused} refused");
}
