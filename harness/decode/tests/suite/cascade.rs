//! CASCADE: off where its numbers say so, within its budget, and otherwise its pseudo-code token by token,
//! with every option.

use specimen_decode::{
    decoder::Method,
    method::RuleConfig,
    methods::lantern::{Bound, Residual},
    tree::NodeId,
    verify::{AcceptanceRule, Level, Mass, Taken},
};

use crate::{
    reference::{Mistake, Plain, Rules, decode_with},
    relaxed::{TREES, check_as_second, check_is_naive},
    second_rules::{self, Cascade},
    support::{DYNAMIC, N_VOCAB, STATIC_321, built, drafter, image, neighbours, parsed, target, with_rules},
};

/// Two thresholds, a budget, and options.
fn rule(tau_pos: f64, tau_seq: f64, budget: f64, options: &str) -> String {
    format!(
        r#"{{ kind = "cascade", tau_pos = {tau_pos:?}, tau_seq = {tau_seq:?}, tvd_budget = {budget:?}{options} }}"#
    )
}

const OPTIONS: [&str; 10] = [
    "",
    r#", convergence_mass = "next_level""#,
    r#", convergence_pairs = "all_next_level""#,
    r#", dedupe = "strict""#,
    r#", budget_scope = "level""#,
    r#", budget_scope = "image""#,
    r#", charge = "if_used""#,
    r#", charge = "if_used", budget_scope = "image""#,
    r#", residual = "zero_used""#,
    r#", convergence_mass = "next_level", convergence_pairs = "all_next_level", dedupe = "strict", budget_scope = "level", charge = "if_used", residual = "zero_used", threshold = ">=""#,
];

pub(crate) fn second(accept: &str, inner: Box<dyn Rules>) -> Cascade {
    let config = parsed(&format!("accept = [{accept}]"));
    let RuleConfig::Cascade(config) = &config.accept[0] else { panic!("a cascade is given") };
    Cascade::new(inner, config.clone())
}

#[test]
fn a_threshold_no_cosine_passes_or_an_empty_budget_equals_the_lossless_rule() {
    for options in OPTIONS {
        check_is_naive(&rule(1.01, 1.01, 0.5, options));
        check_is_naive(&rule(0.0, 0.0, 0.0, options));
    }
    check_is_naive(&rule(1.0, 1.0, 0.5, ""));
}

#[test]
fn cascade_decodes_token_by_token_as_its_pseudo_code() {
    for drafter_table in [STATIC_321, DYNAMIC] {
        for options in OPTIONS {
            for budget in [0.5, 0.15] {
                let accept = rule(0.2, 0.1, budget, options);
                check_as_second(drafter_table, &accept, &mut second(&accept, Box::new(Plain)));
            }
        }
    }
}

#[test]
fn the_ablations_use_one_set_each() {
    let only_i = r#"{ kind = "cascade", tau_pos = 0.2, tvd_budget = 0.5 }"#;
    let only_c = r#"{ kind = "cascade", tau_seq = 0.1, tvd_budget = 0.5 }"#;
    for accept in [only_i, only_c] {
        for drafter_table in TREES {
            check_as_second(drafter_table, accept, &mut second(accept, Box::new(Plain)));
        }
    }
    let alpha = |accept: &str| alpha(&with_rules(STATIC_321, accept));
    let (naive, i, c) = (alpha(r#"{ kind = "lossless" }"#), alpha(only_i), alpha(only_c));
    let both = alpha(&rule(0.2, 0.1, 0.5, ""));
    assert!(naive < i && naive < c && i < both && c < both, "{naive} {i} {c} {both}");
}

#[test]
fn cascade_over_lantern_adds_to_what_lantern_grants() {
    let cascade = rule(0.2, 0.1, 0.3, "");
    let accept = format!(r#"{cascade}, {{ kind = "lantern", k = 4, delta = 0.1 }}"#);
    for drafter_table in [STATIC_321, DYNAMIC] {
        let (bound, residual) = (Bound::Absolute(0.1), Residual::Paper);
        let inner = second_rules::Lantern { nearest: neighbours(N_VOCAB), k: 4, bound, residual };
        check_as_second(drafter_table, &accept, &mut second(&cascade, Box::new(inner)));
    }
}

/// Accepted candidates per step over many images.
pub(crate) fn alpha(text: &str) -> f64 {
    let (mut n_accepted, mut n_steps) = (0, 0);
    for seed in 0..600 {
        let decoded = image(built(text, drafter()), target(), 12, seed);
        n_accepted += decoded.steps.iter().map(|step| step.n_accepted).sum::<u32>();
        n_steps += decoded.steps.len();
    }
    f64::from(n_accepted) / n_steps as f64
}

#[test]
fn acceptance_grows_with_the_budget_and_falls_with_the_thresholds() {
    let alpha = |tau: f64, budget: f64| alpha(&with_rules(STATIC_321, &rule(tau, tau, budget, "")));
    let by_budget: Vec<f64> = [0.0, 0.05, 0.1, 0.2, 0.5].map(|budget| alpha(0.3, budget)).to_vec();
    let by_tau: Vec<f64> = [1.0, 0.9, 0.7, 0.5, 0.3].map(|tau| alpha(tau, 0.5)).to_vec();
    for series in [by_budget, by_tau] {
        assert!(series.is_sorted() && series[0] + 0.1 < series[4], "{series:?}");
    }
}

/// Asserts after every claim that the budget holds.
struct Watched {
    inner: Box<dyn AcceptanceRule>,
    budget: f64,
}

impl AcceptanceRule for Watched {
    fn begin_image(&mut self) {
        self.inner.begin_image();
    }
    fn begin_step(&mut self) {
        self.inner.begin_step();
        assert_eq!(self.inner.tvd_spent(), 0.0, "spending is counted per verification");
    }
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        self.inner.mass(level, candidate)
    }
    fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
        self.inner.taken(level, candidate)
    }
    fn settle(&mut self, r: f64, accepted: bool) {
        self.inner.settle(r, accepted);
        assert!(self.inner.tvd_spent() <= self.budget, "{} of {}", self.inner.tvd_spent(), self.budget);
    }
    fn tvd_spent(&self) -> f64 {
        self.inner.tvd_spent()
    }
}

#[test]
fn a_verification_never_spends_more_than_the_budget() {
    for options in ["", r#", budget_scope = "image""#, r#", charge = "if_used""#] {
        for budget in [0.05, 0.2, 0.5] {
            let mut most = 0.0_f64;
            for seed in 0..300 {
                let text = with_rules(STATIC_321, &rule(0.2, 0.1, budget, options));
                let method = built(&text, drafter());
                let watched = Method { rule: Box::new(Watched { inner: method.rule, budget }), ..method };
                let decoded = image(watched, target(), 12, seed);
                if options.contains("image") {
                    assert!(decoded.tvd_spent <= budget + 1e-9, "{} of {budget}", decoded.tvd_spent);
                }
                most = most.max(decoded.tvd_spent);
            }
            assert!(0.5 * budget < most, "{most} of {budget} is no test of the bound");
        }
    }
}

#[test]
fn what_cascade_spends_is_what_its_pseudo_code_charges() {
    for options in OPTIONS {
        let accept = rule(0.2, 0.1, 0.4, options);
        let mut second = second(&accept, Box::new(Plain));
        for seed in 0..200 {
            decode_with(STATIC_321, target(), seed, Mistake::None, &mut second);
            let text = with_rules(STATIC_321, &accept);
            let decoded = image(built(&text, drafter()), target(), crate::support::N_TOKENS, seed);
            assert!((decoded.tvd_spent - second.spent_in_image).abs() < 1e-5, "{options}, seed {seed}");
        }
    }
}
