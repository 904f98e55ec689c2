//! Whole images through the decoder's loop, by every shape of draft.

use specimen_decode::{
    clock::MonotonicClock, decoder::decode, drafter::DraftModel, generation::Generation, pipeline::Sampling,
    rng::Uniforms, trace::Decoded,
};
use specimen_models::{
    heads::{eagle_draft::EagleDraft, model_draft::ModelDraft},
    seam::{draft_time::DraftTime, generation::ModelGeneration},
};

use crate::support::{EVERY_NETWORK, GUIDED, Open, PLAIN, eagle_head, method, tiny};

const AR: &str = r#"{ "proposer": "none" }"#;
const SHAPES: [&str; 4] = [
    r#""shape": "chain", "depth": 4"#,
    r#""shape": "static", "tree": "tiny_7""#,
    r#""shape": "static", "tree": "tiny_13""#,
    r#""shape": "dynamic", "top_k": 3, "depth": 3, "total_token": 9"#,
];

fn eagle(shape: &str) -> String {
    format!(r#"{{ "proposer": "eagle1", {shape} }}"#)
}

fn by_model(shape: &str) -> String {
    format!(r#"{{ "proposer": "model", "model": "itself", {shape} }}"#)
}

fn run(
    generation: &mut ModelGeneration,
    drafter: &str,
    draft: Option<Box<dyn DraftModel>>,
    seed: u64,
) -> Decoded {
    let mut method = method(drafter).build(draft).unwrap();
    decode(&mut method, generation, &Uniforms::new(seed), &MonotonicClock::new())
}

fn with_eagle(sampling: Sampling, drafter: &str, seed: u64) -> Decoded {
    let mut generation = tiny(sampling);
    let max_run = method(drafter).max_run_nodes();
    let draft = EagleDraft::new(eagle_head(), &generation, max_run, DraftTime::new(tch::Device::Cpu));
    run(&mut generation, drafter, Some(Box::new(draft)), seed)
}

fn with_itself(open: Open, drafter: &str, seed: u64) -> Decoded {
    let mut generation = open();
    let backbone = generation.backbone().clone();
    let prefix = generation.prefix().shallow_clone();
    let draft = ModelDraft::new(
        backbone,
        prefix,
        *generation.sampling(),
        None,
        generation.n_tokens() + method(drafter).max_run_nodes(),
        DraftTime::new(tch::Device::Cpu),
    );
    run(&mut generation, drafter, Some(Box::new(draft)), seed)
}

#[test]
fn one_seed_gives_one_image_and_another_seed_another() {
    for sampling in [PLAIN, GUIDED] {
        for shape in SHAPES {
            let image = |seed| with_eagle(sampling, &eagle(shape), seed).tokens;
            assert_eq!(image(1), image(1), "{shape}");
            assert_ne!(image(1), image(2), "{shape}");
        }
    }
    for (name, open) in EVERY_NETWORK {
        let image = |seed| with_itself(open, &by_model(SHAPES[1]), seed).tokens;
        assert_eq!(image(1), image(1), "{name}");
        assert_ne!(image(1), image(2), "{name}");
    }
}

#[test]
fn every_shape_fills_the_image_within_the_targets_support() {
    for (name, open) in EVERY_NETWORK {
        for shape in SHAPES {
            let decoded = with_itself(open, &by_model(shape), 3);
            assert_eq!(decoded.tokens.len(), open().n_tokens(), "{name}, {shape}");
            assert_eq!((decoded.out_of_support, decoded.n_residual_fallbacks), (0, 0), "{name}, {shape}");
        }
    }
}

#[test]
fn a_model_that_drafts_for_itself_is_always_accepted() {
    for (name, open) in EVERY_NETWORK {
        let decoded = with_itself(open, &by_model(SHAPES[0]), 4);
        for step in &decoded.steps {
            assert_eq!(step.n_accepted, step.n_drafted, "{name}");
        }
    }
}

#[test]
fn greedy_images_are_those_of_autoregressive_decoding() {
    for sampling in [PLAIN, GUIDED].map(|sampling| Sampling { temperature: 0.0, ..sampling }) {
        let expected = run(&mut tiny(sampling), AR, None, 5).tokens;
        for shape in SHAPES {
            assert_eq!(with_eagle(sampling, &eagle(shape), 6).tokens, expected, "{shape}");
        }
    }
}

#[test]
fn a_dynamic_tree_may_run_more_nodes_than_it_keeps() {
    let shape = r#""shape": "dynamic", "top_k": 8, "depth": 6, "total_token": 3"#;
    assert_eq!(with_eagle(GUIDED, &eagle(shape), 7).tokens.len(), 16);
    assert_eq!(with_itself(|| tiny(GUIDED), &by_model(shape), 7).tokens.len(), 16);
}
