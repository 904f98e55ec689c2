//! CLIP's towers against transformers and open_clip, each on weights in its own key layout.

use std::path::PathBuf;

use specimen_extract::{
    clip::{
        shape::{ClipFamily, ClipLayout, TextShape, VisionShape},
        text::TextTower,
        vision::ClipVision,
    },
    extractor::Features,
    network::{Dtype, NetworkName},
    open::{open, open_recipe, recipe_tensors},
    recipe_weights::RecipeWeights,
    transformer::{Activation, StackShape},
};
use specimen_pixels::network::{Batch, FeatureNetwork};
use specimen_stats::npy::read_npy;
use specimen_weights::{Checkpoint, write_safetensors};
use tch::{Device, Kind, Tensor};

use crate::golden;

const LAYOUTS: [(ClipLayout, &str, &str); 2] = [
    (ClipLayout::HuggingFace, "hf", "clip/hf/model.safetensors"),
    (ClipLayout::OpenAi, "openai", "clip/openai/open_clip_model.safetensors"),
];

fn values(tensor: &Tensor) -> Vec<f32> {
    Vec::try_from(tensor.flatten(0, -1)).unwrap()
}

/// The golden texts, end token included, padding not.
fn texts() -> Vec<Vec<u32>> {
    let ids = read_npy(&std::fs::read(golden::path("clip/input_ids.npy")).unwrap()).unwrap();
    let text = |row: &[f64]| {
        let n = row.iter().position(|&id| id == 599.0).unwrap() + 1;
        row[..n].iter().map(|&id| id as u32).collect()
    };
    ids.values.chunks_exact(ids.n_columns).map(text).collect()
}

#[test]
fn pictures_have_the_reference_embeddings_in_both_layouts() {
    let pixels = Tensor::from_slice(&golden::by_recipe("pixels", 4 * 3 * 32 * 32, 1.0)).view([4, 3, 32, 32]);
    for (layout, name, file) in LAYOUTS {
        let mut checkpoint = Checkpoint::open(&golden::path(file), Some(Kind::Float), Device::Cpu).unwrap();
        assert_eq!(ClipLayout::of(&checkpoint).unwrap(), layout);
        let shape = VisionShape::of(&checkpoint, layout, ClipFamily::OpenAi).unwrap();
        assert_eq!((shape.side(), shape.stack.n_heads, shape.n_joint), (32, 4, 24), "{name}");
        let tower = ClipVision::new(&mut checkpoint, layout, &shape, Kind::Float).unwrap();
        let found = Features { n_dims: 24, rows: values(&tower.embed(&pixels)) };
        let expected = golden::features(&format!("clip/{name}_image_embeds.npy"));
        golden::check_close(name, &found, &expected, 1e-5);
    }
}

#[test]
fn texts_have_the_reference_embeddings_in_both_layouts() {
    for (_, name, file) in LAYOUTS {
        let tower = TextTower::open(&golden::path(file), Dtype::F32).unwrap();
        let expected = golden::features(&format!("clip/{name}_text_embeds.npy"));
        golden::check_close(name, &tower.embed_ids(&texts()).unwrap(), &expected, 1e-5);
        assert!(
            tower.identity().starts_with("clip-text[32x2,h4,quick-gelu]-embedding-f32@"),
            "{}",
            tower.identity()
        );
    }
    let tower = TextTower::open(&golden::path(LAYOUTS[0].2), Dtype::F32).unwrap();
    let expected = golden::json("clip/expected.json")["logit_scale"].as_f64().unwrap();
    assert!((tower.logit_scale() - expected).abs() < 1e-6);
}

#[test]
fn texts_are_computed_in_the_type_asked_for_and_named_so() {
    let path = golden::path(LAYOUTS[1].2);
    let [exact, rounded] = [Dtype::F32, Dtype::Bf16].map(|dtype| TextTower::open(&path, dtype).unwrap());
    let identity = rounded.identity();
    assert!(identity.starts_with("clip-text[32x2,h4,quick-gelu]-embedding-bf16@"), "{identity}");
    let [exact, rounded] = [exact, rounded].map(|tower| tower.embed_ids(&texts()).unwrap());
    assert_ne!(exact, rounded);
    let sum = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    for (a, b) in exact.rows.chunks_exact(24).zip(rounded.rows.chunks_exact(24)) {
        let cosine = sum(a, b) / (sum(a, a) * sum(b, b)).sqrt();
        assert!((0.999..0.999_999_9).contains(&cosine), "{cosine}");
    }
}

#[test]
fn heads_and_activation_are_part_of_the_identity_and_so_is_that_they_are_assumed() {
    let (file, heads) = (LAYOUTS[0].2, |n: u32, act: &str| {
        format!(r#"{{"text_config": {{"num_attention_heads": {n}, "hidden_act": "{act}"}}}}"#)
    });
    let identity = |config: &str| {
        let (_folder, path) = copied(file, Some(("config.json", config)));
        TextTower::open(&path, Dtype::F32).unwrap().identity()
    };
    let names =
        [identity(&heads(4, "quick_gelu")), identity(&heads(2, "quick_gelu")), identity(&heads(4, "gelu"))];
    for (name, part) in names.iter().zip(["[32x2,h4,quick-gelu]", "[32x2,h2,quick-gelu]", "[32x2,h4,gelu]"]) {
        assert!(name.contains(part), "{name}");
    }
    // Of a tower whose width is a multiple of 64 heads can be assumed, unless the weights name OpenAI's release.
    let stack = StackShape {
        width: 64,
        depth: 1,
        n_heads: 1,
        mlp: 256,
        activation: Activation::QuickGelu,
        eps: 1e-5,
    };
    let mut recipe = RecipeWeights::keeping();
    let shape = TextShape { stack, context: 8, n_vocab: 20, n_joint: 8 };
    TextTower::new(&mut recipe, ClipLayout::OpenAi, &shape, Kind::Float).unwrap();
    let vision = VisionShape { stack, patch: 32, grid: 7, n_joint: 8 };
    ClipVision::new(&mut recipe, ClipLayout::OpenAi, &vision, Kind::Float).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.safetensors");
    write_safetensors(&path, &recipe.into_made()).unwrap();
    let text = || TextTower::open(&path, Dtype::F32).unwrap().identity();
    let pictures = || open(NetworkName::ClipVitB32, &["embedding"], Dtype::F32, &path).unwrap().identity();
    assert!(text().starts_with("clip-text[64x1,h1,quick-gelu,assumed]-embedding-f32@"), "{}", text());
    assert!(
        pictures().starts_with("clip-vit-b32[64x1,h1,quick-gelu,assumed]-embedding-f32@"),
        "{}",
        pictures()
    );
    let config =
        r#"{"model_cfg": {"quick_gelu": true, "text_cfg": {"heads": 2}, "vision_cfg": {"head_width": 32}}}"#;
    std::fs::write(folder.path().join("open_clip_config.json"), config).unwrap();
    assert!(text().starts_with("clip-text[64x1,h2,quick-gelu]-"), "{}", text());
    assert!(pictures().starts_with("clip-vit-b32[64x1,h2,quick-gelu]-"), "{}", pictures());
}

#[test]
fn a_text_has_the_same_embedding_whatever_stands_beside_it() {
    let tower = TextTower::open(&golden::path(LAYOUTS[1].2), Dtype::F32).unwrap();
    let texts = texts();
    let together = tower.embed_ids(&texts).unwrap();
    let alone = texts.iter().flat_map(|text| tower.embed_ids(std::slice::from_ref(text)).unwrap().rows);
    let alone = Features { n_dims: 24, rows: alone.collect() };
    // Sums of at most 128 products in another order, at values up to 3.
    golden::check_close("one by one", &alone, &together, 2e-6);
    assert_eq!(tower.embed_ids(&[]).unwrap(), Features { n_dims: 24, rows: Vec::new() });
}

#[test]
fn ids_that_the_tower_does_not_know_are_refused() {
    let tower = TextTower::open(&golden::path(LAYOUTS[0].2), Dtype::F32).unwrap();
    let refused = |text: Vec<u32>| tower.embed_ids(&[vec![598, 599], text]).unwrap_err().to_string();
    let expected = "the tower of texts takes 1 to 16 ids below 600, found text 1 with ";
    assert_eq!(refused(vec![598, 600]), format!("{expected}2 ids up to Some(600)"));
    assert_eq!(refused(vec![1; 17]), format!("{expected}17 ids up to Some(1)"));
    assert_eq!(refused(Vec::new()), format!("{expected}0 ids up to None"));
}

/// A copy of the weights `file` in a folder of its own, with `config` beside it.
fn copied(file: &str, config: Option<(&str, &str)>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.safetensors");
    std::fs::copy(golden::path(file), &path).unwrap();
    if let Some((name, text)) = config {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    (folder, path)
}

fn text_shape(file: &str, config: Option<(&str, &str)>) -> Result<TextShape, String> {
    let (_folder, path) = copied(file, config);
    let checkpoint = Checkpoint::open(&path, None, Device::Cpu).unwrap();
    let layout = ClipLayout::of(&checkpoint).unwrap();
    TextShape::of(&checkpoint, layout, ClipFamily::OpenAi).map_err(|error| error.to_string())
}

#[test]
fn what_tensors_do_not_say_is_read_from_the_configuration_beside_them() {
    let [(_, _, hf), (_, _, openai)] = LAYOUTS;
    let reported = text_shape(
        hf,
        Some(("config.json", r#"{"text_config": {"num_attention_heads": 2, "hidden_act": "gelu"}}"#)),
    );
    let stack = reported.unwrap().stack;
    assert_eq!((stack.n_heads, stack.activation), (2, Activation::Gelu));
    let reported =
        text_shape(openai, Some(("open_clip_config.json", r#"{"model_cfg": {"text_cfg": {"heads": 8}}}"#)));
    let stack = reported.unwrap().stack;
    assert_eq!((stack.n_heads, stack.activation), (8, Activation::Gelu));
    // A width of 32 is no multiple of 64.
    let untold = text_shape(openai, None).unwrap_err();
    assert!(untold.ends_with("put the open_clip_config.json of these weights beside them"), "{untold}");
    let other =
        text_shape(hf, Some(("config.json", r#"{"text_config": {"hidden_size": 512}}"#))).unwrap_err();
    assert!(other.ends_with("its text width is 512, that of the weights beside it 32"), "{other}");
    let act =
        text_shape(hf, Some(("config.json", r#"{"text_config": {"hidden_act": "relu"}}"#))).unwrap_err();
    assert!(act.contains("hidden_act `relu` is neither"), "{act}");
    assert!(text_shape(hf, Some(("config.json", "{"))).unwrap_err().contains("no JSON"));
}

#[test]
fn weights_of_another_network_or_size_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.safetensors");
    write_safetensors(&path, &[("w".to_owned(), Tensor::from(1.0_f32))].into()).unwrap();
    let refused = |path: &std::path::Path| {
        let Err(error) = open(NetworkName::ClipVitB32, &["embedding"], Dtype::F32, path) else {
            panic!("{} was not refused", path.display())
        };
        error.to_string()
    };
    assert!(refused(&path).contains("these are no CLIP weights"));
    let message = refused(&golden::path(LAYOUTS[1].2));
    let expected = "clip-vit-b32 has patches of 32 in 224 pixels, these weights have patches of 8 in 32";
    assert!(message.ends_with(expected), "{message}");
    recipe_tensors(NetworkName::ClipVitB32).keys().for_each(|name| assert!(name.starts_with("visual.")));
}

#[test]
fn bf16_embeddings_point_where_those_of_f32_do() {
    let batch =
        Batch { n: 2, height: 224, width: 224, values: golden::by_recipe("p", 2 * 3 * 224 * 224, 2.0) };
    let rows = |dtype| {
        let net = open_recipe(NetworkName::ClipVitB32, &["embedding"], dtype).unwrap();
        golden::forward(&net, &batch).rows
    };
    let (exact, rounded) = (rows(Dtype::F32), rows(Dtype::Bf16));
    for (a, b) in exact.chunks_exact(512).zip(rounded.chunks_exact(512)) {
        let sum = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let cosine = sum(a, b) / (sum(a, a) * sum(b, b)).sqrt();
        // The reference network is at 0.99992 and above.
        assert!((0.9995..0.999_999).contains(&cosine), "{cosine}");
    }
}
