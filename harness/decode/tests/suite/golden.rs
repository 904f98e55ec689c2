//! Traces of fixed seeds: a change here is a change of every committed result.
//!
//! The values are this library's own (the walk they come from is checked against a second implementation
//! in `reference`); they guard against unnoticed change, for instance of an address of a draw.

use specimen_decode::toy::ToyModel;

use crate::support::{
    AR, CHAIN_3, DYNAMIC, JACOBI_LEFT, MC_SIM, STATIC_321, built, drafter, image, target, with_rules,
    with_schedule,
};

/// Tokens, and accepted candidates per step, of a 24-token image over 16 tokens.
#[track_caller]
fn check(drafter_table: &str, expected_tokens: [u32; 24], expected_accepted: &[u32]) {
    check_cell(&format!("drafter = {drafter_table}"), expected_tokens, expected_accepted);
}

/// The same for a cell with rules or a schedule.
#[track_caller]
fn check_cell(text: &str, expected_tokens: [u32; 24], expected_accepted: &[u32]) {
    let larger = |model: ToyModel| ToyModel {
        n_vocab: 16,
        spread: 0.2,
        sampling: specimen_decode::pipeline::Sampling { top_k: 8, ..model.sampling },
        ..model
    };
    let decoded = image(built(text, larger(drafter())), larger(target()), 24, 2024);
    let accepted: Vec<u32> = decoded.steps.iter().map(|step| step.n_accepted).collect();
    let tokens: Vec<u32> = decoded.tokens.iter().map(|token| token.0).collect();
    assert_eq!((tokens.as_slice(), accepted.as_slice()), (&expected_tokens[..], expected_accepted));
}

#[test]
fn ar() {
    check(AR, [5, 1, 2, 11, 9, 8, 13, 6, 3, 8, 5, 13, 0, 13, 3, 15, 13, 3, 14, 14, 2, 1, 4, 1], &[0; 23]);
}

#[test]
fn chain() {
    check(
        CHAIN_3,
        [5, 13, 3, 2, 5, 14, 13, 10, 9, 4, 11, 2, 4, 11, 1, 11, 13, 10, 4, 11, 1, 15, 2, 15],
        &[1, 0, 1, 0, 0, 0, 1, 3, 1, 1, 0, 0, 0, 0, 0],
    );
}

#[test]
fn static_tree() {
    check(
        STATIC_321,
        [5, 13, 3, 2, 5, 4, 15, 4, 13, 11, 8, 5, 0, 13, 7, 8, 2, 4, 7, 8, 12, 6, 0, 0],
        &[1, 0, 1, 1, 1, 3, 1, 0, 0, 1, 0, 2],
    );
}

#[test]
fn mc_sim_tree() {
    check(
        MC_SIM,
        [5, 13, 3, 2, 5, 4, 15, 4, 13, 11, 8, 5, 4, 13, 13, 15, 11, 6, 3, 8, 7, 9, 12, 5],
        &[1, 0, 1, 1, 1, 3, 2, 1, 0, 0, 1, 1],
    );
}

#[test]
fn dynamic_tree() {
    check(
        DYNAMIC,
        [5, 7, 2, 15, 7, 11, 10, 8, 0, 6, 5, 13, 1, 11, 2, 8, 14, 10, 1, 14, 5, 4, 5, 2],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
    );
}

#[test]
fn lantern_on_a_dynamic_tree() {
    check_cell(
        &with_rules(DYNAMIC, r#"{ kind = "lantern", k = 6, delta = 0.2 }"#),
        [5, 0, 3, 12, 3, 8, 9, 4, 10, 14, 11, 7, 11, 3, 10, 7, 15, 2, 8, 14, 7, 12, 11, 15],
        &[1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1],
    );
}

#[test]
fn lantern_plus_plus_on_a_static_tree() {
    check_cell(
        &with_rules(STATIC_321, r#"{ kind = "lantern++", k = 6, lambda = 3.0 }"#),
        [5, 13, 3, 2, 5, 4, 15, 4, 13, 11, 8, 5, 0, 13, 7, 3, 13, 5, 5, 6, 2, 3, 15, 4],
        &[1, 0, 1, 1, 1, 3, 2, 3, 0, 2],
    );
}

#[test]
fn cascade_on_a_static_tree() {
    check_cell(
        &with_rules(STATIC_321, r#"{ kind = "cascade", tau_pos = 0.2, tau_seq = 0.1, tvd_budget = 0.5 }"#),
        [5, 13, 4, 3, 10, 6, 10, 4, 2, 11, 12, 10, 12, 14, 8, 8, 15, 8, 5, 8, 7, 12, 2, 12],
        &[2, 3, 2, 0, 2, 1, 2, 2, 0],
    );
}

#[test]
fn jacobi() {
    check(
        r#"{ proposer = "jacobi", window = 6, init = "random", active = [2, 20] }"#,
        [5, 1, 2, 9, 13, 12, 11, 6, 13, 5, 2, 10, 4, 10, 9, 0, 12, 9, 10, 15, 12, 0, 15, 8],
        &[0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 2, 0, 0],
    );
}

#[test]
fn jacobi_repeating_the_left() {
    check(
        JACOBI_LEFT,
        [5, 1, 2, 10, 0, 7, 8, 13, 8, 12, 1, 11, 10, 12, 1, 5, 4, 8, 14, 12, 9, 5, 14, 4],
        &[0, 0, 0, 2, 0, 1, 1, 2, 1, 0, 1, 1, 0, 0],
    );
}

#[test]
fn jacobi_with_the_reconstructed_prediction() {
    check(
        r#"{ proposer = "jacobi", window = 6, init = "random",
             refresh = { kind = "vp-reconstruction", mode = "ratio", lambda = 2.0, law = "tilted", from = "recorded" } }"#,
        [5, 1, 2, 10, 12, 9, 13, 14, 3, 5, 9, 14, 11, 15, 0, 12, 1, 14, 7, 3, 1, 9, 1, 15],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0],
    );
}

const GSD: &str = r#"{ kind = "gsd", group = 4, delta_p = 0.15, d_thr = 0.5 }"#;

#[test]
fn gsd_on_a_window() {
    check_cell(
        &with_rules(JACOBI_LEFT, GSD),
        [5, 1, 2, 10, 0, 7, 8, 13, 8, 12, 1, 11, 10, 12, 12, 2, 9, 6, 15, 11, 1, 14, 12, 9],
        &[0, 0, 0, 2, 0, 1, 1, 3, 0, 0, 1, 0, 3],
    );
}

#[test]
fn gsd_on_a_static_tree() {
    check_cell(
        &with_rules(STATIC_321, GSD),
        [5, 13, 3, 2, 5, 4, 15, 4, 13, 11, 8, 5, 0, 13, 7, 3, 13, 5, 5, 6, 2, 3, 15, 4],
        &[1, 0, 1, 1, 1, 3, 2, 3, 0, 2],
    );
}

#[test]
fn vvs_at_an_interval() {
    check_cell(
        &with_schedule(STATIC_321, r#"{ kind = "vvs", trigger = "interval", every = 2 }"#),
        [5, 13, 3, 2, 5, 4, 15, 4, 13, 11, 4, 2, 6, 11, 11, 8, 9, 6, 12, 6, 10, 4, 4, 6],
        &[1, 0, 1, 1, 1, 3, 1, 3, 2, 3],
    );
}

#[test]
fn vvs_by_similarity_over_lantern_over_cascade() {
    let rules = with_rules(
        DYNAMIC,
        r#"{ kind = "lantern", k = 6, delta = 0.2 }, { kind = "cascade", tau_pos = 0.2, tvd_budget = 0.5 }"#,
    );
    let schedule = r#"{ kind = "vvs", trigger = "similarity", s = 0.55, selector = "confidence" }"#;
    check_cell(
        &format!("{rules}\nschedule = {schedule}"),
        [5, 0, 3, 12, 3, 8, 9, 4, 12, 15, 9, 12, 12, 11, 6, 9, 5, 8, 2, 14, 8, 15, 10, 7],
        &[1, 1, 0, 1, 2, 2, 0, 2, 0, 1, 1, 2, 0, 0],
    );
}

#[test]
fn redundant_paths() {
    check_cell(
        &with_schedule(STATIC_321, r#"{ kind = "redundancy", every = 2 }"#),
        [5, 13, 3, 2, 5, 4, 15, 4, 13, 11, 8, 5, 0, 13, 7, 8, 2, 4, 7, 8, 12, 6, 12, 0],
        &[1, 0, 1, 1, 1, 3, 1, 0, 0, 1, 0, 2],
    );
}

#[test]
fn stale_features() {
    let stale = STATIC_321.replace(" }", ", features = { s1 = 0, s2 = 2, after = 4 } }");
    check(
        &stale,
        [5, 13, 3, 2, 5, 4, 12, 3, 6, 8, 2, 15, 12, 2, 12, 9, 14, 10, 9, 14, 1, 13, 3, 4],
        &[1, 0, 1, 1, 0, 2, 0, 0, 3, 0, 0, 0, 3],
    );
}
