//! GSD: a group of one is the lossless rule, larger ones accept more and are detected, and the clusters are
//! those of a full sort.

use crate::{
    cascade::alpha,
    reference::Rules,
    relaxed::{DRAFTERS, check_as_second, check_detected, check_is_naive},
    second_rules,
    support::{DYNAMIC, JACOBI, N_VOCAB, STATIC_321, codebook, with_rules},
};

fn second(group: usize, delta_p: f64, d_thr: f64) -> second_rules::Gsd {
    second_rules::Gsd { group, delta_p, d_thr, embeddings: codebook(N_VOCAB) }
}

#[test]
fn a_group_of_one_equals_the_lossless_rule_on_windows_and_trees() {
    check_is_naive(r#"{ kind = "gsd", group = 1 }"#);
    check_is_naive(r#"{ kind = "gsd", group = 1, delta_p = 0.15, d_thr = 0.5 }"#);
    check_is_naive(r#"{ kind = "gsd", group = 5, delta_p = 1e-9 }"#);
}

#[test]
fn gsd_decodes_token_by_token_as_its_pseudo_code() {
    for drafter_table in DRAFTERS {
        for group in [2, 3, 5] {
            let plain = format!(r#"{{ kind = "gsd", group = {group} }}"#);
            check_as_second(drafter_table, &plain, &mut second(group, 2.0, 99.0));
            let filtered = format!(r#"{{ kind = "gsd", group = {group}, delta_p = 0.1, d_thr = 0.4 }}"#);
            check_as_second(drafter_table, &filtered, &mut second(group, 0.1, 0.4));
        }
    }
}

#[test]
fn cascade_over_gsd_adds_to_the_mass_of_the_cluster() {
    let cascade = r#"{ kind = "cascade", tau_pos = 0.2, tau_seq = 0.1, tvd_budget = 0.3 }"#;
    let accept = format!(r#"{cascade}, {{ kind = "gsd", group = 3 }}"#);
    for drafter_table in [STATIC_321, DYNAMIC] {
        let inner: Box<dyn Rules> = Box::new(second(3, 2.0, 99.0));
        check_as_second(drafter_table, &accept, &mut crate::cascade::second(cascade, inner));
    }
}

#[test]
fn a_larger_group_accepts_more() {
    for drafter_table in [JACOBI, STATIC_321] {
        let alpha = |group: usize| {
            alpha(&with_rules(drafter_table, &format!(r#"{{ kind = "gsd", group = {group} }}"#)))
        };
        let (one, three) = (alpha(1), alpha(3));
        assert!(one + 0.1 < three, "{drafter_table}: {one} {three}");
    }
}

#[test]
fn gsd_is_detected() {
    for drafter_table in DRAFTERS {
        check_detected(&with_rules(drafter_table, r#"{ kind = "gsd", group = 3 }"#));
    }
}
