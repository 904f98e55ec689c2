//! From a prompt to a picture at toy width, by every kind of method; lossless ones have the target's distribution.

use specimen_decode::{
    clock::MonotonicClock, decoder::decode, dist::TokenId, generation::Generation, method::MethodConfig,
    pipeline::Sampling, rng::Uniforms, trace::Decoded,
};
use specimen_models::{
    heads::{described_head::HeadKind, drafters::DrafterKind},
    seam::likelihood::conditional_distributions,
};

use crate::support::{EVERY_FAMILY, GUIDED, MAX_TREE, Model, PLAIN, PROMPT, model, open};

const AR: &str = r#"{ "drafter": { "proposer": "none" } }"#;
const EAGLE: &str = r#"{ "drafter": { "proposer": "eagle1", "shape": "static", "tree": "tiny_13" } }"#;
const EAGLE3: &str = r#"{ "drafter": { "proposer": "eagle3", "shape": "static", "tree": "tiny_13" } }"#;
const DYNAMIC: &str = r#"{
    "drafter": { "proposer": "eagle1", "shape": "dynamic", "top_k": 3, "depth": 3, "total_token": 9 }
}"#;
const SJD: &str = r#"{ "drafter": { "proposer": "jacobi", "window": 6, "init": "random" } }"#;
const CASCADE: &str = r#"{
    "drafter": { "proposer": "eagle1", "shape": "static", "tree": "tiny_13" },
    "accept": [{ "kind": "cascade", "tau_pos": 0.85, "tau_seq": 0.5, "tvd_budget": 0.5 }, { "kind": "lossless" }]
}"#;
const VVS: &str = r#"{
    "drafter": { "proposer": "eagle1", "shape": "chain", "depth": 4 },
    "schedule": { "kind": "vvs", "trigger": "interval", "every": 2 }
}"#;
const LANTERN: &str = r#"{
    "drafter": { "proposer": "jacobi", "window": 6, "init": "random" },
    "accept": [{ "kind": "lantern", "k": 10, "delta": 0.3 }, { "kind": "lossless" }]
}"#;
const EVERY_METHOD: [(&str, &str); 8] = [
    ("ar", AR),
    ("eagle-1", EAGLE),
    ("eagle-1 dynamic", DYNAMIC),
    ("eagle-3", EAGLE3),
    ("sjd", SJD),
    ("cascade", CASCADE),
    ("vvs", VVS),
    ("lantern", LANTERN),
];

fn run(model: &Model, sampling: Sampling, method: &str, seed: u64) -> Decoded {
    let config: MethodConfig = serde_json::from_str(method).unwrap();
    let mut generation = open(model, sampling);
    let mut parts = model.tables.parts(&config.needs());
    for kind in HeadKind::ALL.into_iter().filter(|kind| method.contains(kind.as_written())) {
        parts.draft_model = Some(model.drafter(&kind.drafter(None), &generation, MAX_TREE).unwrap().0);
    }
    let mut method = config.build_with(parts).unwrap();
    decode(&mut method, &mut generation, &Uniforms::new(seed), &MonotonicClock::new())
}

#[test]
fn every_method_goes_from_a_prompt_to_a_picture() {
    for recipe in EVERY_FAMILY {
        let model = model(recipe());
        let form = model.recipe.form;
        for (name, method) in EVERY_METHOD {
            let decoded = run(&model, GUIDED, method, 3);
            let what = format!("{}, {name}", model.name);
            assert_eq!(decoded.tokens.len(), form.n_tokens(), "{what}");
            assert_eq!(decoded.forced as usize, form.forced().iter().flatten().count(), "{what}");
            for (&token, forced) in decoded.tokens.iter().zip(form.forced()) {
                assert!(forced.is_none_or(|forced| forced == token), "{what}: {:?}", decoded.tokens);
            }
            let picture = model.picture(&decoded.tokens);
            let [width, height] = model.recipe.pixels();
            assert_eq!((picture.width as usize, picture.height as usize), (width, height), "{what}");
            assert_eq!(picture.rgb.len(), 3 * width * height, "{what}");
            assert_eq!(decoded.tokens, run(&model, GUIDED, method, 3).tokens, "{what}: one seed, one image");
            assert_ne!(decoded.tokens, run(&model, GUIDED, method, 4).tokens, "{what}");
        }
    }
}

#[test]
fn lossless_methods_leave_the_targets_support_nowhere_and_greedy_ones_agree() {
    for recipe in EVERY_FAMILY {
        let model = model(recipe());
        let greedy = Sampling { temperature: 0.0, ..GUIDED };
        let expected = run(&model, greedy, AR, 1).tokens;
        let lossless = [("eagle-1", EAGLE), ("eagle-1 dynamic", DYNAMIC), ("eagle-3", EAGLE3), ("sjd", SJD)];
        for (name, method) in lossless {
            assert_eq!(run(&model, greedy, method, 2).tokens, expected, "{}, {name}", model.name);
            let decoded = run(&model, GUIDED, method, 5);
            assert_eq!(
                (decoded.out_of_support, decoded.n_residual_fallbacks),
                (0, 0),
                "{}, {name}",
                model.name
            );
        }
    }
}

/// The distribution of each image token is known given those before it, so `u = P(lower codes) + v P(the code)` with
/// uniform `v` is uniform, and so is every share of draws below a threshold. `z` of a sum of all of them over many
/// images says whether a method draws from another distribution.
fn z_of_uniformity(model: &Model, sampling: Sampling, method: &str, n_images: u64) -> Vec<f64> {
    let fresh = open(model, sampling);
    let mut choices = crate::support::Choices::new(11);
    let (mut n, mut sums) = (0.0, [0.0; 3]);
    for seed in 0..n_images {
        let tokens = run(model, sampling, method, 1000 + seed).tokens;
        let distributions = conditional_distributions(&fresh, &tokens);
        for (position, (distribution, token)) in distributions.iter().zip(&tokens).enumerate() {
            if fresh.forced(position).is_some() {
                continue;
            }
            let below: f32 = distribution.probs()[..token.idx()].iter().sum();
            let v = choices.below(1 << 20) as f64 / f64::from(1 << 20);
            let u = f64::from(below) + v * f64::from(distribution.prob(*token));
            // Three moments with mean 0 and variance 1 of a uniform `u`.
            let x = 2.0 * u - 1.0;
            sums[0] += 3.0_f64.sqrt() * x;
            sums[1] += 5.0_f64.sqrt() * (1.5 * x * x - 0.5);
            // The code against the distribution's own expectation of the probability of what is drawn.
            let mean: f64 = distribution.probs().iter().map(|&p| f64::from(p).powi(2)).sum();
            let square: f64 = distribution.probs().iter().map(|&p| f64::from(p).powi(3)).sum();
            sums[2] += (f64::from(distribution.prob(*token)) - mean) / (square - mean * mean).sqrt();
            n += 1.0;
        }
    }
    sums.iter().map(|sum: &f64| sum / f64::sqrt(n)).collect()
}

#[test]
fn lossless_methods_draw_from_the_targets_distribution_and_lossy_ones_are_found_out() {
    // Two-sided level of 4 standard deviations: 6e-5 for each of 30 values. Three rows of guidance have the
    // distribution of two.
    for recipe in &EVERY_FAMILY[..2] {
        let model = model(recipe());
        let lossless =
            [("ar", AR), ("eagle-1", EAGLE), ("eagle-1 dynamic", DYNAMIC), ("eagle-3", EAGLE3), ("sjd", SJD)];
        for (name, method) in lossless {
            let z = z_of_uniformity(&model, GUIDED, method, 60);
            assert!(z.iter().all(|z| z.abs() < 4.0), "{}, {name}: {z:?}", model.name);
        }
        let z = z_of_uniformity(&model, GUIDED, LANTERN, 60);
        assert!(z.iter().any(|z| z.abs() > 4.0), "{}, lantern: {z:?}", model.name);
    }
}

#[test]
fn forced_tokens_are_drafted_and_accepted_and_not_counted() {
    let model = model(crate::support::EVERY_FAMILY[0]());
    let decoded = run(&model, PLAIN, EAGLE, 8);
    let n_accepted: u32 = decoded.steps.iter().map(|step| step.n_accepted).sum();
    let n_unforced: u32 = decoded.accepted_by_depth.iter().sum();
    assert!(n_unforced < n_accepted, "{n_unforced} of {n_accepted} accepted drafts were free");
    // The header is three forced tokens: the first is drawn from the prefill, the others are drafted surely.
    assert!(decoded.steps[0].n_accepted >= 2, "{:?}", decoded.steps[0]);
}

#[test]
fn a_head_of_another_kind_is_refused_and_a_prompt_must_fit() {
    let model = model(crate::support::EVERY_FAMILY[1]());
    let generation = open(&model, PLAIN);
    let refused =
        |kind: DrafterKind| model.drafter(&kind, &generation, MAX_TREE).map(|_| ()).unwrap_err().to_string();
    assert!(refused(DrafterKind::Eagle3(Some("other".into()))).contains("it has: eagle1, eagle3"));
    assert!(refused(DrafterKind::Eagle1(Some("other".into()))).contains("`eagle1 with weights other`"));
    let long = PROMPT.repeat(60);
    let error = model.open(&long, &PLAIN, MAX_TREE).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("16 image tokens only 160 fit"), "{error}");
}

#[test]
fn neighbours_of_codes_are_codes() {
    let model = model(crate::support::EVERY_FAMILY[0]());
    let config: MethodConfig = serde_json::from_str(LANTERN).unwrap();
    let neighbours = model.tables.parts(&config.needs()).neighbours.unwrap();
    assert_eq!(neighbours.n_vocab(), open(&model, PLAIN).n_vocab());
    for code in 0..16 {
        assert!(neighbours.of(TokenId(code), 15).iter().all(|near| near.0 < 16), "code {code}");
    }
}
