//! The published architectures at toy width, from a prompt to a picture by every family of methods; lossless ones draw
//! from the target's own distribution.

use std::{cell::Cell, rc::Rc};

use specimen_decode::{
    clock::MonotonicClock,
    decoder::{Method, decode},
    dist::TokenId,
    generation::Generation,
    method::{MethodConfig, Parts, Proposer},
    pipeline::Sampling,
    rng::Uniforms,
    trace::Decoded,
    tree::TokenTree,
};
use specimen_models::{
    catalog::{Made, OpenModel, open},
    heads::drafters::DrafterKind,
    seam::{
        generation::ModelGeneration, likelihood::conditional_distributions, loaded_model::LoadedModel,
        static_steps::StepBuffers,
    },
};
use tch::{Device, Kind};

use crate::{
    coupled_seeds::DRAFTERS,
    support::{
        Choices, F32, GUIDED, MAX_TREE, PLAIN, check_distribution, fresh_distribution, random_history,
        total_variation,
    },
};

/// Names with a prompt each.
pub(crate) const TOYS: [(&str, &str); 5] = [
    ("llamagen-toy", "a red circle"),
    ("llamagen-c2i-toy", "7"),
    ("janus-toy", "a bus near the sea"),
    ("emu3-toy", "a bus near the sea"),
    ("liquid-toy", "a bus near the sea"),
];

/// Those of the family that is tested apart.
pub(crate) const CHAMELEONS: [(&str, &str); 2] = [("anole-toy", "a red bus"), ("lumina-toy", "a red bus")];

const EAGLE: &str = r#""drafter": { "proposer": "eagle1", "shape": "static", "tree": "tiny_7" }"#;

const DYNAMIC: &str =
    r#""drafter": { "proposer": "eagle1", "shape": "dynamic", "top_k": 3, "depth": 3, "total_token": 9 }"#;

/// Methods by name; those that keep the target's distribution first.
pub(crate) fn methods() -> [(&'static str, String); 7] {
    [
        ("ar", r#"{ "drafter": { "proposer": "none" } }"#.to_owned()),
        ("eagle1", format!("{{ {EAGLE} }}")),
        ("eagle1 dynamic", format!("{{ {DYNAMIC} }}")),
        ("sjd", r#"{ "drafter": { "proposer": "jacobi", "window": 6, "init": "random" } }"#.to_owned()),
        (
            "cascade",
            format!(
                r#"{{ {EAGLE}, "accept": [{{ "kind": "cascade", "tau_pos": 0.5, "tvd_budget": 1.0 }}, {{ "kind": "lossless" }}] }}"#
            ),
        ),
        (
            "vvs",
            format!(
                r#"{{ {EAGLE}, "schedule": {{ "kind": "vvs", "trigger": "interval", "every": 2, "warm_up": 0 }} }}"#
            ),
        ),
        (
            "lantern",
            format!(
                r#"{{ {EAGLE}, "accept": [{{ "kind": "lantern", "k": 10, "delta": 0.2 }}, {{ "kind": "lossless" }}] }}"#
            ),
        ),
    ]
}

const LOSSLESS: usize = 4;

pub(crate) fn toy(name: &str) -> Rc<LoadedModel> {
    toy_with(name, None)
}

/// The same where `graphs` says whether its steps run over buffers that stay where they are.
fn toy_with(name: &str, graphs: Option<bool>) -> Rc<LoadedModel> {
    let options = OpenModel {
        kind: Kind::Float,
        device: Device::Cpu,
        data_root: None,
        weights: None,
        heads: Vec::new(),
        made: Made::Not,
        encode_caption: |_| Err("a toy has its own words".into()),
        three_way_guidance: false,
        graphs,
    };
    open(name, &options).unwrap()
}

/// The method that `config` says, drafting for `generation`.
pub(crate) fn method_on(model: &LoadedModel, config: &MethodConfig, generation: &ModelGeneration) -> Method {
    let kind = match config.drafter.proposer {
        Proposer::Eagle1 => Some(DrafterKind::Eagle1(None)),
        Proposer::Eagle3 => Some(DrafterKind::Eagle3(None)),
        _ => None,
    };
    let draft_model = kind.map(|kind| model.drafter(&kind, generation, config.max_run_nodes()).unwrap().0);
    let parts = Parts { draft_model, ..model.tables.parts(&config.needs()) };
    config.build_with(parts).unwrap()
}

fn image(model: &LoadedModel, what: (&str, Sampling), method: &str, seed: u64) -> Vec<TokenId> {
    decoded(model, what, method, seed).tokens
}

fn decoded(model: &LoadedModel, (prompt, sampling): (&str, Sampling), method: &str, seed: u64) -> Decoded {
    let config: MethodConfig = serde_json::from_str(method).unwrap();
    let mut generation = model.open(prompt, &sampling, config.max_tree_nodes()).unwrap();
    let mut method = method_on(model, &config, &generation);
    decode(&mut method, &mut generation, &Uniforms::new(seed), &MonotonicClock::new())
}

#[test]
fn a_beam_that_runs_more_nodes_than_its_tree_keeps_has_room_from_the_start() {
    // A cache never grows, so a drafter that was given less room than it needs would panic.
    let beam = r#"{ "drafter": { "proposer": "eagle1", "shape": "dynamic", "top_k": 8, "depth": 6, "total_token": 4 } }"#;
    let config: MethodConfig = serde_json::from_str(beam).unwrap();
    assert_eq!((config.max_tree_nodes(), config.max_run_nodes()), (4, 48));
    for (name, prompt) in TOYS {
        let model = toy(name);
        let tokens = image(&model, (prompt, GUIDED), beam, 3);
        assert_eq!(tokens.len(), model.n_tokens, "{name}");
    }
}

#[test]
fn every_method_draws_a_picture_from_a_prompt_and_the_same_one_again() {
    for (name, prompt) in TOYS {
        let model = toy(name);
        for (method_name, method) in methods() {
            for sampling in [PLAIN, Sampling { top_k: 20, ..GUIDED }] {
                let draw = |seed| image(&model, (prompt, sampling), &method, seed);
                let tokens = draw(1);
                assert_eq!(tokens.len(), model.n_tokens, "{name}, {method_name}");
                assert_eq!(tokens, draw(1), "{name}, {method_name}");
                assert_ne!(tokens, draw(2), "{name}, {method_name}");
                let picture = model.picture(&tokens);
                assert_eq!((picture.width, picture.height, picture.rgb.len()), (8, 8, 192), "{name}");
                assert!(picture.rgb.iter().any(|&level| level != picture.rgb[0]), "{name}: one grey");
            }
        }
    }
}

const EAGLE3: &str = r#"{ "drafter": { "proposer": "eagle3", "shape": "static", "tree": "tiny_7" } }"#;

/// Asserts that the second of `models` decodes the tokens and accepts the drafts that the first does.
#[track_caller]
fn check_same(models: [&LoadedModel; 2], what: (&str, Sampling), method: &str, seed: u64) {
    let [expected, found] = models.map(|model| {
        let Decoded { tokens, steps, .. } = decoded(model, what, method, seed);
        (tokens, steps.iter().map(|step| step.n_accepted).collect::<Vec<_>>())
    });
    assert_eq!(found, expected, "{}, {method}, {what:?}", models[0].name);
}

/// The pads of a caption, the layers that a head taps and the buffers of a step before must leave no trace.
#[test]
fn over_buffers_every_method_decodes_the_tokens_and_accepts_the_drafts_that_it_does_without() {
    for (name, prompt) in TOYS.into_iter().chain(CHAMELEONS) {
        let [plain, buffered] = [Some(false), Some(true)].map(|graphs| toy_with(name, graphs));
        // The second and the third leave other slots empty than the one before.
        let prompts =
            if prompt == "7" { ["7", "3", "7"] } else { [prompt, "a dog", "a red bus near the red sea"] };
        let all = methods().into_iter().chain([("eagle3", EAGLE3.to_owned())]);
        for (_, method) in all {
            for (seed, prompt) in (5..).zip(prompts) {
                check_same([&plain, &buffered], (prompt, GUIDED), &method, seed);
            }
        }
    }
}

/// A GPU runs a step a few times and then captures it, which can fail at any point.
#[test]
fn steps_that_cannot_be_captured_draw_the_same_tokens_and_the_first_reason_is_said_once() {
    for (name, prompt) in TOYS.into_iter().chain(CHAMELEONS) {
        let plain = toy_with(name, Some(false));
        let n_tried = Cell::new(0);
        let refuse = move |step: &mut dyn FnMut()| {
            let nth = n_tried.replace(n_tried.get() + 1);
            (0..nth % 4).for_each(|_| step());
            format!("refusal {nth}")
        };
        let mut refused = Rc::into_inner(toy(name)).unwrap();
        let buffers = Rc::new(StepBuffers::refused_by(refuse));
        refused.steps = Some(buffers.clone());
        for (seed, (_, method)) in (5..).zip(methods()) {
            check_same([&plain, &refused], (prompt, GUIDED), &method, seed);
        }
        let found = buffers.captures();
        assert!(found.n_refused > 4 && found.n_captured == 0, "{name}: {found:?}");
        assert_eq!(buffers.take_refusal().as_deref(), Some("refusal 0"), "{name}");
        assert_eq!(buffers.take_refusal(), None, "{name}");
    }
}

#[test]
fn over_buffers_other_drafters_and_rules_do_so_too_guided_or_not() {
    let jacobi = r#""drafter": { "proposer": "jacobi", "window": 6, "init": "random" }"#;
    let relaxed = [
        format!(r#"{{ {jacobi}, "accept": [{{ "kind": "gsd", "group": 8 }}] }}"#),
        format!(r#"{{ {EAGLE}, "accept": [{{ "kind": "cool-sd", "delta": 6.0 }}] }}"#),
    ];
    let lossless = DRAFTERS.map(|drafter| format!(r#"{{ "drafter": {drafter} }}"#));
    for (name, prompt) in TOYS.into_iter().chain(CHAMELEONS) {
        let [plain, buffered] = [Some(false), Some(true)].map(|graphs| toy_with(name, graphs));
        for method in lossless.iter().chain(&relaxed) {
            for sampling in [PLAIN, GUIDED] {
                check_same([&plain, &buffered], (prompt, sampling), method, 5);
            }
        }
    }
}

#[test]
fn an_eagle_3_head_keeps_the_targets_distribution() {
    for (name, prompt) in TOYS {
        let model = toy(name);
        let drawn: Vec<Vec<TokenId>> =
            (0..48).map(|seed| image(&model, (prompt, GUIDED), EAGLE3, seed)).collect();
        let eagle1 = image(&model, (prompt, GUIDED), &methods()[1].1, 0);
        assert!(drawn.iter().all(|tokens| tokens.len() == eagle1.len()), "{name}");
        for miss in misses(&|| model.open(prompt, &GUIDED, 1).unwrap(), &drawn) {
            assert!(miss.abs() < 4.0, "{name}: off by {miss:.1} standard deviations");
        }
    }
}

#[test]
fn the_picture_depends_on_the_prompt() {
    for (name, prompt) in TOYS {
        let model = toy(name);
        let distribution = |prompt: &str| model.open(prompt, &GUIDED, MAX_TREE).unwrap().prefill();
        let other = if prompt == "7" { "3" } else { "a dog on the square" };
        assert!(total_variation(&distribution(prompt), &distribution(other)) > 0.01, "{name}");
    }
}

#[test]
fn a_prompt_that_is_no_class_is_refused_with_what_would_be_taken() {
    for prompt in ["a dog", "10", "-1", ""] {
        let refused =
            toy("llamagen-c2i-toy").open(prompt, &GUIDED, MAX_TREE).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("the number of a class, 0 to 9"), "{refused}");
    }
}

/// Standard deviations by which the tokens of `images` miss how often each distribution's likelier half is drawn, and
/// how often an even token is: two events of known probability at every position.
fn misses(fresh: &dyn Fn() -> ModelGeneration, images: &[Vec<TokenId>]) -> [f64; 2] {
    let (mut excess, mut variance) = ([0.0; 2], [0.0; 2]);
    for tokens in images {
        for (distribution, token) in conditional_distributions(&fresh(), tokens).iter().zip(tokens) {
            let probs = distribution.probs();
            let mut ranked: Vec<usize> = (0..probs.len()).collect();
            ranked.sort_by(|&a, &b| probs[b].total_cmp(&probs[a]));
            let mut likely = vec![false; probs.len()];
            let mut mass = 0.0;
            for id in ranked {
                if mass < 0.5 {
                    likely[id] = true;
                    mass += f64::from(probs[id]);
                }
            }
            let events: [&dyn Fn(usize) -> bool; 2] = [&|id| likely[id], &|id| id % 2 == 0];
            for (at, event) in events.iter().enumerate() {
                let p: f64 =
                    probs.iter().enumerate().filter(|(id, _)| event(*id)).map(|(_, p)| f64::from(*p)).sum();
                excess[at] += f64::from(u8::from(event(token.idx()))) - p;
                variance[at] += p * (1.0 - p);
            }
        }
    }
    [0, 1].map(|at| excess[at] / variance[at].sqrt())
}

#[test]
fn lossless_methods_draw_from_the_targets_distribution_and_another_temperature_is_found_out() {
    const N_IMAGES: u64 = 48;
    for (name, prompt) in TOYS {
        let model = toy(name);
        let fresh = || model.open(prompt, &GUIDED, 1).unwrap();
        let drawn = |method: &str, sampling| -> Vec<Vec<TokenId>> {
            (0..N_IMAGES).map(|seed| image(&model, (prompt, sampling), method, seed)).collect()
        };
        for (method_name, method) in &methods()[..LOSSLESS] {
            for miss in misses(&fresh, &drawn(method, GUIDED)) {
                // One in 15,000 for each of 40 numbers; seeds are fixed.
                assert!(miss.abs() < 4.0, "{name}, {method_name}: off by {miss:.1} standard deviations");
            }
        }
        let hot = Sampling { temperature: 2.0 * GUIDED.temperature, ..GUIDED };
        let [likely, _] = misses(&fresh, &drawn(&methods()[0].1, hot));
        assert!(
            likely < -4.0,
            "{name}: twice the temperature is off by only {likely:.1} standard deviations"
        );
    }
}

#[test]
fn guidance_1_is_the_prompts_row_alone_and_swapped_rows_are_another_distribution() {
    for (name, prompt) in TOYS {
        let model = toy(name);
        let guided = model.open(prompt, &GUIDED, MAX_TREE).unwrap();
        assert_eq!(guided.n_rows(), 2, "{name}");
        let behind = |prefix: tch::Tensor, sampling| {
            ModelGeneration::new(guided.backbone().clone(), sampling, prefix, model.n_tokens, MAX_TREE)
        };
        // Two rows under a guidance of 1 have the distribution of the first.
        let plain = model.open(prompt, &PLAIN, MAX_TREE).unwrap();
        let mut both = behind(guided.prefix().shallow_clone(), PLAIN);
        random_history(&mut both, 3, |tokens, _, dists| {
            check_distribution(&dists[0], &fresh_distribution(&plain, tokens), F32, name);
        });
        let distribution = |prefix: tch::Tensor| {
            let mut generation = behind(prefix, GUIDED);
            generation.prefill();
            generation.score(&TokenTree::new(Choices::new(1).token(64))).dist(TokenTree::ROOT)
        };
        let swapped = distribution(guided.prefix().flip([0]));
        assert!(total_variation(&distribution(guided.prefix().shallow_clone()), &swapped) > 0.01, "{name}");
    }
}
