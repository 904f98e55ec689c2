//! A narrow CLIP with the real vocabulary on real photos and captions, from files in both key layouts, against
//! transformers with open_clip's pixels and ids.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;
use specimen_extract::{
    clip::{
        shape::{ClipLayout, TextShape, VisionShape},
        text::{ClipText, TextTower},
        tokenizer::ClipTokenizer,
    },
    extractor::Features,
    network::{Dtype, NetworkName},
    open::open,
    recipe_weights::write_clip,
    transformer::{Activation, StackShape},
};
use specimen_pixels::{
    Pipeline, decode,
    network::{Batch, FeatureNetwork},
};

use crate::golden;

const STACK: StackShape =
    StackShape { width: 128, depth: 2, n_heads: 2, mlp: 512, activation: Activation::QuickGelu, eps: 1e-5 };
const VISION: VisionShape = VisionShape { stack: STACK, patch: 32, grid: 7, n_joint: 64 };
const TEXT: TextShape = TextShape { stack: STACK, context: 77, n_vocab: 49_408, n_joint: 64 };

const PIXELS: &str = r#"[
    {"step": "resize", "to": {"shortest-side": 224}, "by": {"engine": "pil-u8", "filter": "bicubic"}},
    {"step": "centre-crop", "side": {"pixels": 224}, "offset": "half-even"},
    {"step": "standardise", "subtract": [0, 0, 0], "divide": [255, 255, 255]},
    {"step": "standardise", "subtract": [0.48145466, 0.4578275, 0.40821073],
     "divide": [0.26862954, 0.26130258, 0.27577711]}]"#;

/// The photos in the order of the golden rows.
fn photos(folder: &Path, coco: &Value, ids: &[u64]) -> Batch {
    let pipeline: Pipeline = serde_json::from_str(PIXELS).unwrap();
    let images = coco["images"].as_array().unwrap().iter();
    let files: BTreeMap<u64, &str> =
        images.map(|image| (image["id"].as_u64().unwrap(), image["file_name"].as_str().unwrap())).collect();
    let pixels = |id: &u64| {
        let bytes = std::fs::read(folder.join("coco_val2017").join(files[id])).unwrap();
        pipeline.apply(decode(&bytes).unwrap()).unwrap().into_float().to_planes()
    };
    Batch { n: ids.len(), height: 224, width: 224, values: ids.iter().flat_map(pixels).collect() }
}

fn cosines(a: &Features, b: &Features) -> Vec<f64> {
    let sum = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    let cosine = |(a, b): (&[f32], &[f32])| sum(a, b) / (sum(a, a) * sum(b, b)).sqrt();
    a.rows.chunks_exact(a.n_dims).zip(b.rows.chunks_exact(b.n_dims)).map(cosine).collect()
}

#[test]
fn real_photos_and_captions_score_as_in_transformers_in_both_layouts() {
    let test = "real_photos_and_captions_score_as_in_transformers_in_both_layouts";
    let Some(vocabulary) = specimen_testdata::find(test, "tokenizers/bpe_simple_vocab_16e6.txt.gz") else {
        return;
    };
    let Some(folder) = specimen_testdata::find(test, "photos") else { return };
    let coco = std::fs::read(folder.join("captions_photos40_longest1.json")).unwrap();
    let coco: Value = serde_json::from_slice(&coco).unwrap();
    let expected = golden::json("clip_narrow/expected.json");
    let ids: Vec<u64> = serde_json::from_value(expected["ids"].clone()).unwrap();
    assert_eq!(ids.len(), 40);
    let captions = coco["annotations"].as_array().unwrap().iter();
    let captions: BTreeMap<u64, &str> = captions
        .map(|caption| (caption["image_id"].as_u64().unwrap(), caption["caption"].as_str().unwrap()))
        .collect();
    let texts: Vec<String> = ids.iter().map(|id| captions[id].to_owned()).collect();
    let batch = photos(&folder, &coco, &ids);
    let scratch = tempfile::tempdir().unwrap();
    for (layout, name) in [(ClipLayout::HuggingFace, "hf"), (ClipLayout::OpenAi, "openai")] {
        let path = scratch.path().join(format!("{name}.safetensors"));
        write_clip(&path, layout, &VISION, &TEXT).unwrap();
        let vision = open(NetworkName::ClipVitB32, &["embedding"], Dtype::F32, &path).unwrap();
        let identity = vision.identity();
        assert!(
            identity.starts_with("clip-vit-b32[128x2,h2,quick-gelu,assumed]-embedding-f32@"),
            "{identity}"
        );
        assert_eq!(vision.n_dims(), 64);
        let tokenizer = ClipTokenizer::read(&vocabulary).unwrap();
        let text = ClipText::new(TextTower::open(&path, Dtype::F32).unwrap(), tokenizer).unwrap();
        let (images, texts) = (golden::forward(&vision, &batch), text.embed(&texts).unwrap());
        golden::check_close(name, &images, &golden::features(&format!("clip_narrow/{name}_image.npy")), 1e-5);
        golden::check_close(name, &texts, &golden::features(&format!("clip_narrow/{name}_text.npy")), 1e-5);
        let expected_cosines: Vec<f64> =
            serde_json::from_value(expected[format!("{name}_cosines")].clone()).unwrap();
        for (found, expected) in cosines(&images, &texts).iter().zip(&expected_cosines) {
            assert!((found - expected).abs() < 1e-6, "{name}: {found} instead of {expected}");
        }
        let scale = expected[format!("{name}_logit_scale")].as_f64().unwrap();
        assert!((text.tower().logit_scale() - scale).abs() < 1e-6, "{name}");
    }
}

#[test]
fn a_tower_for_another_vocabulary_takes_no_tokenizer() {
    let tiny = TextTower::open(&golden::path("clip/hf/model.safetensors"), Dtype::F32).unwrap();
    let tokenizer = ClipTokenizer::from_merges(&[]).unwrap();
    let Err(error) = ClipText::new(tiny, tokenizer) else { panic!("600 words were taken for 49408") };
    let expected = "takes a tower of 77 tokens of 49408 words, found one of 16 tokens of 600 words";
    assert!(error.to_string().ends_with(expected), "{error}");
}
