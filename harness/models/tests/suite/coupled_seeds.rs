//! Coupled seeds on the published architectures at toy width: every lossless method draws the image of plain decoding.

use specimen_decode::{
    clock::MonotonicClock, decoder::decode, dist::TokenId, method::MethodConfig, pipeline::Sampling,
    rng::Uniforms,
};
use specimen_models::seam::loaded_model::LoadedModel;

use crate::{
    support::{GUIDED, PLAIN},
    toys::{CHAMELEONS, TOYS, method_on, toy},
};

/// Drafters whose methods are lossless with the plain test.
pub(crate) const DRAFTERS: [&str; 10] = [
    r#"{ "proposer": "eagle1", "shape": "chain", "depth": 3 }"#,
    r#"{ "proposer": "eagle1", "shape": "static", "tree": "tiny_7" }"#,
    r#"{ "proposer": "eagle1", "shape": "dynamic", "top_k": 3, "depth": 3, "total_token": 9 }"#,
    r#"{ "proposer": "eagle3", "shape": "static", "tree": "tiny_7" }"#,
    r#"{ "proposer": "jacobi", "window": 6, "init": "random" }"#,
    r#"{ "proposer": "jacobi", "window": 6, "init": "repeat-left" }"#,
    r#"{ "proposer": "jacobi", "window": 6, "init": "random", "couple": "maximal" }"#,
    r#"{ "proposer": "jacobi", "window": 6, "init": "random", "couple": "gumbel" }"#,
    r#"{ "proposer": "jacobi", "window": 6, "init": "random", "refresh": { "kind": "vp-reconstruction", "mode": "ratio", "lambda": 1.0, "law": "tilted" } }"#,
    r#"{ "proposer": "jacobi", "window": 9, "init": "random", "couple": "maximal", "branch": { "width": 2, "depth": 3 } }"#,
];

fn image(model: &LoadedModel, (prompt, sampling): (&str, &Sampling), cell: &str) -> (Vec<TokenId>, u32) {
    let config: MethodConfig = serde_json::from_str(cell).unwrap();
    let mut generation = model.open(prompt, sampling, config.max_tree_nodes()).unwrap();
    let mut method = method_on(model, &config, &generation);
    let uniforms = Uniforms::new(8).coupled(true);
    let decoded = decode(&mut method, &mut generation, &uniforms, &MonotonicClock::new());
    let n_forwards = decoded.nfe();
    (decoded.tokens, n_forwards)
}

#[test]
fn every_lossless_method_draws_the_image_of_plain_decoding_on_every_model() {
    let mut n_parted = 0;
    for (name, prompt) in TOYS.into_iter().chain(CHAMELEONS) {
        let model = toy(name);
        for sampling in [&PLAIN, &Sampling { top_k: 20, ..GUIDED }] {
            let (plain, n_plain) =
                image(&model, (prompt, sampling), r#"{ "drafter": { "proposer": "none" } }"#);
            let mut n_fewest = n_plain;
            for drafter in DRAFTERS {
                let (found, n_forwards) =
                    image(&model, (prompt, sampling), &format!(r#"{{ "drafter": {drafter} }}"#));
                assert_eq!(found, plain, "{name}, {drafter}");
                n_fewest = n_fewest.min(n_forwards);
            }
            assert!(n_fewest < n_plain, "{name}: no method accepts a draft");
            let gsd = r#"{ "drafter": { "proposer": "jacobi", "window": 6, "init": "random" }, "accept": [{ "kind": "gsd", "group": 8 }] }"#;
            n_parted += u32::from(image(&model, (prompt, sampling), gsd).0 != plain);
        }
    }
    assert!(7 < n_parted, "a relaxed rule is seen in {n_parted} of 14 images");
}
