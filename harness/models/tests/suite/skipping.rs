//! Whole images by methods that skip verifications or feed stale features (VVS), through the decoder's loop.

use std::rc::Rc;

use specimen_decode::{
    clock::MonotonicClock,
    decoder::decode,
    method::{MethodConfig, Parts},
    pipeline::Sampling,
    rng::Uniforms,
    trace::Decoded,
    vectors::TokenVectors,
};

use crate::support::{Choices, EVERY_HEAD, GUIDED, Head, PLAIN, draft_for, tiny};

const STATIC: &str = r#""shape": "static", "tree": "tiny_7""#;
const SHAPES: [&str; 3] = [
    r#""shape": "chain", "depth": 3"#,
    STATIC,
    r#""shape": "dynamic", "top_k": 3, "depth": 3, "total_token": 9"#,
];
const UNIFORM: &str = r#"{ "kind": "vvs", "trigger": "interval", "every": 2, "warm_up": 0 }"#;
/// A threshold that every tree passes: each verification is followed by a skip.
const DYNAMIC: &str = r#"{ "kind": "vvs", "trigger": "similarity", "s": -1.0, "warm_up": 0 }"#;
const ALWAYS: &str = r#"{ "kind": "always" }"#;

/// The method of this drafter table and this schedule, with vectors for the similarity of paths.
fn image(
    (name, head): (&str, Head),
    drafter: &str,
    schedule: &str,
    sampling: Sampling,
    seed: u64,
) -> Decoded {
    let text = format!(r#"{{ "drafter": {{ "proposer": "{name}", {drafter} }}, "schedule": {schedule} }}"#);
    let config: MethodConfig = serde_json::from_str(&text).unwrap();
    let mut choices = Choices::new(11);
    let vectors = (0..11 * 3).map(|_| choices.below(100) as f32 - 50.0).collect();
    let mut generation = tiny(sampling);
    let parts = Parts {
        draft_model: Some(Box::new(draft_for(head(), &generation))),
        codebook: Some(Rc::new(TokenVectors::new(vectors, 3).unwrap())),
        ..Parts::default()
    };
    let mut method = config.build_with(parts).unwrap();
    decode(&mut method, &mut generation, &Uniforms::new(seed), &MonotonicClock::new())
}

#[test]
fn images_with_skips_are_whole_and_reproducible_and_never_skip_twice_in_a_row() {
    for proposer in EVERY_HEAD {
        for sampling in [PLAIN, GUIDED, Sampling { temperature: 0.0, ..GUIDED }] {
            for (shape, schedule) in SHAPES.iter().flat_map(|s| [UNIFORM, DYNAMIC].map(|t| (s, t))) {
                let decoded = image(proposer, shape, schedule, sampling, 5);
                let what = format!("{}, {shape}, {schedule}", proposer.0);
                assert_eq!(decoded.tokens.len(), 16, "{what}");
                assert_eq!(decoded.tokens, image(proposer, shape, schedule, sampling, 5).tokens, "{what}");
                let forwards: Vec<u32> = decoded.steps.iter().map(|step| step.n_target_forwards).collect();
                assert!(forwards.contains(&0), "{what}: nothing was skipped");
                assert!(forwards.windows(2).all(|pair| pair != [0, 0]), "{what}: {forwards:?}");
            }
        }
    }
}

#[test]
fn a_threshold_no_tree_passes_is_the_same_as_always_verifying() {
    let never = DYNAMIC.replace("-1.0", "1.5");
    for proposer in EVERY_HEAD {
        let verified = image(proposer, STATIC, ALWAYS, GUIDED, 6).tokens;
        assert_eq!(image(proposer, STATIC, &never, GUIDED, 6).tokens, verified);
        assert_ne!(image(proposer, STATIC, UNIFORM, GUIDED, 6).tokens, verified);
    }
}

#[test]
fn stale_features_keep_the_greedy_image_and_change_the_draft() {
    let greedy = Sampling { temperature: 0.0, ..GUIDED };
    let stale = format!(r#"{STATIC}, "features": {{ "s1": 0, "s2": 2, "after": 0 }}"#);
    for proposer in EVERY_HEAD {
        let fresh = image(proposer, STATIC, ALWAYS, greedy, 7);
        assert_eq!(image(proposer, &stale, ALWAYS, greedy, 7).tokens, fresh.tokens, "verification decides");
        let sampled = |drafter: &str| image(proposer, drafter, ALWAYS, GUIDED, 7).tokens;
        assert_ne!(sampled(&stale), sampled(STATIC));
    }
}
