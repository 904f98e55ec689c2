//! The heads of the embedded model, as a spec names them.

use specimen_datasets::scenes::{Scene, VAL_SEED, Vocabulary};
use specimen_decode::{
    clock::MonotonicClock, decoder::decode, method::MethodConfig, pipeline::Sampling, rng::Uniforms,
    trace::Decoded,
};
use specimen_models::{families::tiny, heads::drafters::DrafterKind, seam::loaded_model::LoadedModel};
use tch::{Device, Kind};

use crate::support::PLAIN;

const SAMPLING: Sampling = Sampling { guidance: 3.0, ..PLAIN };

fn model() -> LoadedModel {
    let encode = |caption: &str| {
        Vocabulary::encode(caption).map(|ids| ids.to_vec()).map_err(|error| error.to_string())
    };
    tiny::embedded(Kind::Float, Device::Cpu, Box::new(encode)).unwrap()
}

fn named(name: &str) -> Option<String> {
    Some(name.to_owned())
}

/// An image of the embedded model drafted by `kind`; `proposer` and `schedule` as a spec has them.
fn image(model: &LoadedModel, kind: &DrafterKind, proposer: &str, schedule: &str) -> Decoded {
    let text = format!(
        r#"{{ "drafter": {{ "proposer": "{proposer}", "shape": "chain", "depth": 3 }}, "schedule": {schedule} }}"#
    );
    let config: MethodConfig = serde_json::from_str(&text).unwrap();
    let max_tree = config.max_tree_nodes();
    let caption = Scene::new(VAL_SEED, 3).caption();
    let mut generation = model.open(&caption, &SAMPLING, max_tree).unwrap();
    let draft = model.drafter(kind, &generation, config.max_run_nodes()).unwrap().0;
    let mut method = config.build(Some(draft)).unwrap();
    decode(&mut method, &mut generation, &Uniforms::new(1), &MonotonicClock::new())
}

const ALWAYS: &str = r#"{ "kind": "always" }"#;

#[test]
fn every_head_of_the_embedded_model_has_learned_to_draft() {
    let model = model();
    let heads = [
        ("eagle1", DrafterKind::Eagle1(None)),
        ("eagle1", DrafterKind::Eagle1(named("further"))),
        ("eagle1", DrafterKind::Eagle1(named("cascade"))),
        ("eagle3", DrafterKind::Eagle3(None)),
    ];
    for (proposer, kind) in heads {
        let decoded = image(&model, &kind, proposer, ALWAYS);
        assert_eq!(decoded.tokens.len(), 256);
        let accepted = decoded.steps.iter().map(|step| f64::from(step.n_accepted)).sum::<f64>();
        // A distribution that knows nothing would have about one candidate in a hundred accepted.
        let a_step = accepted / decoded.steps.len() as f64;
        assert!(a_step > 0.5, "{kind:?}: {a_step} of 3 candidates are accepted a step");
    }
}

#[test]
fn weights_that_are_not_named_are_the_standard_ones_and_others_differ() {
    let model = model();
    let tokens = |weights| image(&model, &DrafterKind::Eagle1(weights), "eagle1", ALWAYS).tokens;
    let standard = tokens(None);
    assert_eq!(tokens(named("standard")), standard);
    assert_ne!(tokens(named("cascade")), standard);
}

#[test]
fn an_unknown_head_is_answered_with_those_there_are() {
    let model = model();
    let generation = model.open(&Scene::new(VAL_SEED, 3).caption(), &SAMPLING, 1).unwrap();
    for (kind, asked) in [
        (DrafterKind::Eagle1(named("cascad")), "`eagle1 with weights cascad`"),
        (DrafterKind::Eagle3(named("cascade")), "`eagle3 with weights cascade`"),
        (DrafterKind::Model("igpt-mnist".into()), "igpt-mnist"),
    ] {
        let message = model.drafter(&kind, &generation, 1).map(|_| ()).unwrap_err().to_string();
        let known = "it has: eagle1, eagle1 with weights further, eagle1 with weights cascade, eagle3";
        for part in [asked, known] {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }
}

#[test]
fn the_embedded_model_decodes_with_skipped_verifications() {
    let model = model();
    let every_second = r#"{ "kind": "vvs", "trigger": "interval", "every": 2 }"#;
    for (proposer, kind) in [("eagle1", DrafterKind::Eagle1(None)), ("eagle3", DrafterKind::Eagle3(None))] {
        let decoded = image(&model, &kind, proposer, every_second);
        let n_skips = decoded.steps.iter().filter(|step| step.n_target_forwards == 0).count();
        assert_eq!(decoded.tokens.len(), 256);
        assert!(decoded.steps.len() / 2 <= n_skips + 5, "{proposer}: {n_skips} of {}", decoded.steps.len());
    }
}
