//! The published Image-GPT weights: numbers computed from the model's equations in f64 (numpy) on the first
//! 64 MNIST test images, and decoding for real.

use specimen_catalog::entry;
use specimen_datasets::{Digest, data_root::DataRoot};
use specimen_decode::{
    clock::MonotonicClock, decoder::decode, dist::TokenId, generation::Generation, pipeline::Sampling,
    rng::Uniforms, trace::Decoded,
};
use specimen_models::{
    catalog::{Made, OpenModel, open},
    families::igpt,
    heads::{drafters::DrafterKind, model_draft::VocabularyMap},
    seam::{
        distributions::distributions,
        likelihood::{nll_bits, teacher_forced},
        loaded_model::LoadedModel,
    },
};
use tch::{Device, Kind, Tensor, no_grad};

use crate::{
    real_data::{NAMES, data, file, igpt, mnist, only, palette, tokenize},
    support::{F32, GUIDED, PLAIN, check_distribution, method, row_values},
};

const N_IMAGES: usize = 64;

/// Distributions of all tokens of one image, `[784, 16]`, in the order of the model's own vocabulary.
fn image_distributions(model: &LoadedModel, tokens: &[TokenId]) -> Tensor {
    no_grad(|| {
        let generation = model.open("", &PLAIN, 1).unwrap();
        let features = teacher_forced(&generation, tokens);
        distributions(&generation.backbone().logits(&features), &PLAIN)
    })
}

#[track_caller]
fn check_close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() < tolerance, "{what}: expected {expected}, found {found}");
}

#[test]
fn likelihood_entropy_and_top_1_on_test_digits_are_the_published_ones() {
    let Some(root) = data("likelihood_entropy_and_top_1_on_test_digits_are_the_published_ones") else {
        return;
    };
    let (model, mnist) = (igpt(&root, "igpt-mnist"), mnist(&root));
    let levels = palette(&root, "igpt-mnist");
    let (mut nats, mut entropy, mut n_top_1) = (Vec::new(), 0.0, 0);
    for i in 0..N_IMAGES {
        let tokens = tokenize(&levels, mnist.image(i));
        let bits = nll_bits(&model.open("", &PLAIN, 1).unwrap(), &tokens);
        nats.push(bits * std::f64::consts::LN_2);
        let distributions = image_distributions(&model, &tokens).to_kind(Kind::Double);
        entropy -= (&distributions * distributions.log()).sum(Kind::Double).double_value(&[]);
        let best: Vec<i64> = Vec::try_from(distributions.argmax(-1, false)).unwrap();
        n_top_1 += best.iter().zip(&tokens).filter(|(best, token)| **best == i64::from(token.0)).count();
    }
    // 784 sums of f32 rounding: 1e-5 is far above it and far below any mistake in the network.
    for (found, expected) in nats.iter().zip([0.258_225_07, 0.344_115_86, 0.148_308_63, 0.361_653_37]) {
        check_close("nats per token of an image", *found, expected, 1e-5);
    }
    let n_tokens = (N_IMAGES * 784) as f64;
    check_close("nats per token", nats.iter().sum::<f64>() / N_IMAGES as f64, 0.301_799_30, 1e-5);
    check_close("entropy in nats", entropy / n_tokens, 0.299_662_38, 1e-5);
    check_close("top-1", n_top_1 as f64 / n_tokens, 0.902_104_59, 2e-4);
}

#[test]
fn single_distributions_are_those_of_the_equations() {
    let Some(root) = data("single_distributions_are_those_of_the_equations") else { return };
    let (model, mnist) = (igpt(&root, "igpt-mnist"), mnist(&root));
    let levels = palette(&root, "igpt-mnist");
    let distributions = image_distributions(&model, &tokenize(&levels, mnist.image(0)));
    let first = row_values(&distributions.get(0));
    check_close("first pixel black", first[0].into(), 0.999_912_45, 1e-6);
    check_close("first pixel of level 14", first[14].into(), 3.137_634_46e-5, 1e-8);
    let middle = row_values(&distributions.get(300));
    check_close("pixel 300 of level 13", middle[13].into(), 0.956_583_06, 1e-5);
    check_close("pixel 300 of level 1", middle[1].into(), 0.022_159_98, 1e-5);
}

#[test]
fn bf16_moves_likelihoods_little_and_grey_levels_not_at_all() {
    let Some(root) = data("bf16_moves_likelihoods_little_and_grey_levels_not_at_all") else { return };
    let open = |kind| igpt::open(entry("igpt-mnist").unwrap(), &only(&root), kind, Device::Cpu).unwrap();
    let (model, bf16) = (igpt(&root, "igpt-mnist"), open(Kind::BFloat16));
    let levels = palette(&root, "igpt-mnist");
    let every: Vec<TokenId> = (0..784).map(|i| TokenId(i % 16)).collect();
    assert_eq!(bf16.picture(&every), model.picture(&every));
    let tokens = tokenize(&levels, mnist(&root).image(0));
    let nats = nll_bits(&bf16.open("", &PLAIN, 1).unwrap(), &tokens) * std::f64::consts::LN_2;
    check_close("nats per token in bf16", nats, 0.258_225_07, 0.01);
}

#[test]
fn a_quantised_digit_looks_like_the_digit() {
    let Some(root) = data("a_quantised_digit_looks_like_the_digit") else { return };
    let (model, mnist) = (igpt(&root, "igpt-mnist"), mnist(&root));
    let levels = palette(&root, "igpt-mnist");
    let tokens = tokenize(&levels, mnist.image(0));
    assert_eq!(
        tokens[291..303].iter().map(|t| t.0).collect::<Vec<_>>(),
        [14, 3, 14, 3, 3, 3, 3, 7, 15, 13, 6, 0]
    );
    let picture = model.picture(&tokens);
    assert_eq!((picture.width, picture.height, picture.rgb.len()), (28, 28, 3 * 784));
    for (pixel, &grey) in picture.rgb.chunks(3).zip(mnist.image(0)) {
        assert_eq!(pixel, [pixel[0]; 3]);
        // Neighbouring levels are at most 0.08 apart.
        assert!(pixel[0].abs_diff(grey) <= 11, "{grey} became {}", pixel[0]);
    }
}

/// The fashion model's distributions over one image's tokens, `[784][16]`, in the digit model's vocabulary.
fn fashion_distributions(fashion: &LoadedModel, map: &VocabularyMap, tokens: &[TokenId]) -> Vec<Vec<f32>> {
    let mapped: Vec<TokenId> = tokens.iter().map(|&token| map.drafter_id(token)).collect();
    let distributions = image_distributions(fashion, &mapped);
    let distribution = |i: i64| {
        let distribution = row_values(&distributions.get(i));
        (0..16).map(|token| distribution[map.drafter_id(TokenId(token)).idx()]).collect()
    };
    (0..784).map(distribution).collect()
}

fn by_brightness(root: &DataRoot) -> VocabularyMap {
    let [levels, fashion] = NAMES.map(|name| palette(root, name));
    VocabularyMap::by_rank(levels.centroids(), fashion.centroids(), Device::Cpu)
}

#[test]
fn the_fashion_model_overlaps_with_the_digit_model_as_published() {
    let Some(root) = data("the_fashion_model_overlaps_with_the_digit_model_as_published") else { return };
    let (model, mnist) = (igpt(&root, "igpt-mnist"), mnist(&root));
    let levels = palette(&root, "igpt-mnist");
    let fashion = igpt(&root, "igpt-fmnist");
    let map = by_brightness(&root);
    let (mut overlaps, mut where_uncertain) = (Vec::new(), Vec::new());
    for i in 0..N_IMAGES {
        let tokens = tokenize(&levels, mnist.image(i));
        let distributions = image_distributions(&model, &tokens);
        for (j, p) in (0..).zip(fashion_distributions(&fashion, &map, &tokens)) {
            let q = row_values(&distributions.get(j));
            let overlap: f64 = q.iter().zip(p).map(|(&q, p)| f64::from(q.min(p))).sum();
            overlaps.push(overlap);
            if q.iter().map(|&q| -f64::from(q) * f64::from(q).ln()).sum::<f64>() > 0.5 {
                where_uncertain.push(overlap);
            }
        }
    }
    let mean = |overlaps: &[f64]| overlaps.iter().sum::<f64>() / overlaps.len() as f64;
    check_close("overlap", mean(&overlaps), 0.892_213_61, 1e-5);
    // A position within rounding of the entropy border may fall on the other side.
    check_close("share of uncertain positions", where_uncertain.len() as f64 / 50_176.0, 0.155_193_72, 1e-4);
    check_close("overlap where uncertain", mean(&where_uncertain), 0.572_380_60, 2e-4);
}

#[test]
fn the_fashion_drafter_answers_with_the_fashion_models_distributions() {
    let Some(root) = data("the_fashion_drafter_answers_with_the_fashion_models_distributions") else {
        return;
    };
    let (model, mnist) = (igpt(&root, "igpt-mnist"), mnist(&root));
    let levels = palette(&root, "igpt-mnist");
    let fashion = igpt(&root, "igpt-fmnist");
    let tokens = tokenize(&levels, mnist.image(0));
    let expected = fashion_distributions(&fashion, &by_brightness(&root), &tokens);
    let generation = model.open("", &PLAIN, 1).unwrap();
    let kind = DrafterKind::Model("igpt-fmnist".into());
    let (mut draft, time) = model.drafter(&kind, &generation, 1).unwrap();
    for n_sampled in 1..784 {
        let distribution = draft.begin(&tokens[..n_sampled]);
        check_distribution(&distribution, &expected[n_sampled], F32, &format!("{n_sampled} sampled"));
    }
    assert!(time.ns() > 0);
}

fn decoded(model: &LoadedModel, drafter: &str, by: &str) -> Decoded {
    let config = method(drafter);
    let max_tree = config.max_tree_nodes();
    let mut generation = model.open("", &PLAIN, max_tree).unwrap();
    let draft = model.drafter(&DrafterKind::Model(by.into()), &generation, config.max_run_nodes()).unwrap().0;
    let mut method = config.build(Some(draft)).unwrap();
    decode(&mut method, &mut generation, &Uniforms::new(3), &MonotonicClock::new())
}

#[test]
fn every_shape_of_draft_decodes_a_picture_in_fewer_forwards() {
    let Some(root) = data("every_shape_of_draft_decodes_a_picture_in_fewer_forwards") else { return };
    let model = igpt(&root, "igpt-mnist");
    let shapes = [
        r#""shape": "chain", "depth": 5"#,
        r#""shape": "static", "tree": "tiny_13""#,
        r#""shape": "dynamic", "top_k": 4, "depth": 4, "total_token": 12"#,
    ];
    for shape in shapes {
        let drafter = format!(r#"{{ "proposer": "model", "model": "igpt-fmnist", {shape} }}"#);
        let decoded = decoded(&model, &drafter, "igpt-fmnist");
        assert_eq!((decoded.tokens.len(), decoded.out_of_support), (784, 0), "{shape}");
        // Overlap 0.89 gives four tokens a forward; half of that is certain.
        assert!(decoded.nfe() < 784 / 2, "{shape}: {} forwards", decoded.nfe());
        let n_ink = model.picture(&decoded.tokens).rgb.iter().filter(|byte| **byte > 128).count() / 3;
        assert!((20..300).contains(&n_ink), "{shape}: a digit has some ink, found {n_ink} pixels");
    }
}

#[test]
fn drafting_for_itself_is_accepted_throughout() {
    let Some(root) = data("drafting_for_itself_is_accepted_throughout") else { return };
    for name in NAMES {
        let drafter =
            format!(r#"{{ "proposer": "model", "model": "{name}", "shape": "chain", "depth": 6 }}"#);
        let decoded = decoded(&igpt(&root, name), &drafter, name);
        let n_rejected: u32 = decoded.steps.iter().map(|step| step.n_drafted - step.n_accepted).sum();
        assert_eq!(n_rejected, 0, "{name}");
    }
}

#[test]
fn what_the_model_cannot_do_is_said_clearly() {
    let Some(root) = data("what_the_model_cannot_do_is_said_clearly") else { return };
    let model = igpt(&root, "igpt-mnist");
    let refused = |prompt, sampling| model.open(prompt, &sampling, 1).map(|_| ()).unwrap_err();
    let prompt = refused("a seven", PLAIN).to_string();
    assert!(prompt.contains("cannot take the prompt") && prompt.contains("\"a seven\""), "{prompt}");
    let guidance = refused("", GUIDED);
    assert!(guidance.to_string().contains("guidance must be 1, found 2.5"), "{guidance}");
    let generation = model.open("", &Sampling { temperature: 0.0, ..PLAIN }, 1).unwrap();
    for kind in [DrafterKind::Eagle1(None), DrafterKind::Eagle3(None), DrafterKind::Model("tiny".into())] {
        let error = model.drafter(&kind, &generation, 1).map(|_| ()).unwrap_err();
        let message = error.to_string();
        assert!(NAMES.iter().all(|name| message.contains(name)), "{message}");
    }
    assert_eq!((model.n_tokens, generation.n_vocab()), (784, 16));
}

#[test]
fn a_model_names_its_files_and_their_digests() {
    let Some(root) = data("a_model_names_its_files_and_their_digests") else { return };
    let [mnist, fashion] = NAMES;
    for (which, other) in [(mnist, fashion), (fashion, mnist)] {
        let found = igpt(&root, which).weights;
        assert_eq!(found.len(), 2);
        for (weights, (role, which)) in found.iter().zip([("target", which), ("drafter", other)]) {
            let bytes = std::fs::read(root.path().join(file(which))).unwrap();
            assert_eq!((weights.role.as_str(), weights.digest.as_str()), (role, Digest::of(&bytes).as_str()));
            assert!(file(which).ends_with(&weights.file));
        }
    }
}

#[test]
fn a_model_without_the_others_weights_drafts_for_itself_only() {
    let Some(root) = data("a_model_without_the_others_weights_drafts_for_itself_only") else { return };
    let folder = tempfile::tempdir().unwrap();
    let alone = DataRoot::new(folder.path());
    let path = file("igpt-mnist");
    std::fs::create_dir_all(alone.path().join(path).parent().unwrap()).unwrap();
    std::fs::copy(root.path().join(path), alone.path().join(path)).unwrap();
    let model = igpt(&alone, "igpt-mnist");
    assert_eq!(model.weights.len(), 1);
    let generation = model.open("", &PLAIN, 1).unwrap();
    let drafter = |name: &str| model.drafter(&DrafterKind::Model(name.into()), &generation, 1).map(|_| ());
    drafter("igpt-mnist").unwrap();
    let error = drafter("igpt-fmnist").unwrap_err();
    assert!(error.to_string().ends_with("\n    specimen data fetch igpt-fmnist"), "{error}");
}

#[test]
fn weights_that_a_user_names_are_those_that_are_read() {
    let Some(root) = data("weights_that_a_user_names_are_those_that_are_read") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("mine.safetensors");
    // Those of the other data set, so that the usual place cannot be what was read.
    std::fs::copy(root.path().join(file("igpt-fmnist")), &mine).unwrap();
    let options = OpenModel {
        kind: Kind::Float,
        device: Device::Cpu,
        data_root: Some(root.path().to_owned()),
        weights: Some(mine.clone()),
        heads: Vec::new(),
        made: Made::Not,
        encode_caption: |_| Ok(Vec::new()),
        three_way_guidance: false,
        graphs: None,
    };
    let model = open("igpt-mnist", &options).unwrap();
    let digest = Digest::of(&std::fs::read(&mine).unwrap());
    let read = &model.weights[0];
    assert_eq!((read.file.as_str(), read.digest.as_str()), ("mine.safetensors", digest.as_str()));
}
