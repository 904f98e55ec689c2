//! ImageReward against the package image-reward 1.5 on weights by recipe: ids, scores of golden pictures, and what is refused.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::Value;
use specimen_extract::{
    extractor::ExtractError,
    imagereward::{ImageReward, ImageRewardShape, WordPieces, catalog_entry, recipe_tensors},
    network::Dtype,
};
use specimen_pixels::network::{Batch, PromptedNetwork};
use specimen_weights::{LoadError, write_safetensors};
use tch::{Device, Tensor};

use crate::golden;

/// As the package cuts prompts.
const N_TOKENS: usize = 35;
const NARROW: ImageRewardShape = ImageRewardShape::new([128, 2, 512], [64, 3, 192], 180, 40);
const PIXELS: &str = r#"[
    {"step": "resize", "to": {"shortest-side": 224}, "by": {"engine": "pil-u8", "filter": "bicubic"}},
    {"step": "centre-crop", "side": {"pixels": 224}, "offset": "half-even"},
    {"step": "standardise", "subtract": [0, 0, 0], "divide": [255, 255, 255]},
    {"step": "standardise", "subtract": [0.48145466, 0.4578275, 0.40821073],
     "divide": [0.26862954, 0.26130258, 0.27577711]}]"#;

fn expected() -> Value {
    golden::json("imagereward/expected.json")
}

fn vocabulary() -> PathBuf {
    golden::path("imagereward/vocab.txt")
}

fn words() -> WordPieces {
    WordPieces::read(&vocabulary()).unwrap()
}

fn list<T: serde::de::DeserializeOwned>(value: &Value) -> Vec<T> {
    serde_json::from_value(value.clone()).unwrap()
}

fn pictures(expected: &Value) -> Batch {
    let names: Vec<String> = list(&expected["pictures"]);
    golden::pictures(&names.iter().map(String::as_str).collect::<Vec<_>>(), PIXELS)
}

/// The scores of every picture with every text within 1e-5 of the largest one of the reference, `[picture][text]`.
fn check_scores(network: &ImageReward, batch: &Batch, texts: &[&str], reference: &Value) {
    let reference: Vec<Vec<f64>> = list(reference);
    let largest = reference.iter().flatten().fold(0.0_f64, |largest, score| largest.max(score.abs()));
    for (at, text) in texts.iter().enumerate() {
        let found = network.scores(batch, &vec![*text; batch.n]).unwrap();
        assert_eq!(found.len(), reference.len());
        for (found, row) in found.into_iter().zip(&reference) {
            let off = (f64::from(found) - row[at]).abs();
            assert!(off <= 1e-5 * largest, "{text}: {found} instead of {}", row[at]);
        }
    }
}

#[test]
fn texts_have_the_ids_of_the_package() {
    let (expected, words) = (expected(), words());
    let texts: Vec<String> = list(&expected["texts"]);
    let ids: Vec<Vec<i64>> = list(&expected["ids"]);
    assert_eq!(words.n_words() as u64, expected["n_words"].as_u64().unwrap());
    for (text, ids) in texts.iter().zip(&ids) {
        assert_eq!(&words.ids(text, N_TOKENS), ids, "{text:?}");
        assert_eq!(words.n_ids(text) > N_TOKENS, words.ids(text, 512).len() > N_TOKENS, "{text:?}");
    }
    assert_eq!(texts.len(), 22);
    assert_eq!(words.ids("a bright star", 3), [2, 5, 3]);
}

#[test]
fn pixels_are_those_that_the_package_makes() {
    use sha2::{Digest, Sha256};
    let expected = expected();
    let batch = pictures(&expected);
    let digests: Vec<String> = list(&expected["pixels_sha256"]);
    for (picture, digest) in batch.values.chunks_exact(3 * 224 * 224).zip(&digests) {
        let bytes: Vec<u8> = picture.iter().flat_map(|value| value.to_le_bytes()).collect();
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(&found, digest);
    }
}

#[test]
fn a_narrow_network_has_the_scores_of_the_package() {
    let expected = expected();
    let all: Vec<String> = list(&expected["texts"]);
    let texts: Vec<&str> =
        list::<usize>(&expected["narrow_texts"]).into_iter().map(|at| all[at].as_str()).collect();
    let network = ImageReward::open_recipe(&NARROW, words(), N_TOKENS).unwrap();
    let batch = pictures(&expected);
    check_scores(&network, &batch, &texts, &expected["narrow_scores"]);
    // A score does not depend on the prompts beside it.
    let mixed = network.scores(&batch, &[texts[3], texts[0], texts[2]]).unwrap();
    let alone = |at: usize, text: usize| network.scores(&batch, &[texts[text]; 3]).unwrap()[at];
    assert_eq!(mixed, [alone(0, 3), alone(1, 0), alone(2, 2)]);
    assert_eq!(network.counts(&all), [("captions_cut", 4)]);
    assert!(
        network.identity().starts_with("imagereward[128x2,64x3]-reward-f32@recipe + wordpiece@"),
        "{}",
        network.identity()
    );
}

#[test]
fn the_published_network_has_the_scores_of_the_package() {
    let expected = expected();
    let folder = tempfile::tempdir().unwrap();
    // The small vocabulary and numbered words behind it.
    let mut lines = std::fs::read_to_string(vocabulary()).unwrap();
    for at in 0..30_522 - lines.lines().count() {
        lines.push_str(&format!("word{at}\n"));
    }
    let path = folder.path().join("vocab.txt");
    std::fs::write(&path, lines).unwrap();
    let words = WordPieces::read(&path).unwrap();
    let network = ImageReward::open_recipe(&ImageRewardShape::PUBLISHED, words, N_TOKENS).unwrap();
    assert!(network.identity().starts_with("imagereward-reward-f32@recipe"), "{}", network.identity());
    let all: Vec<String> = list(&expected["texts"]);
    check_scores(&network, &pictures(&expected), &[&all[0], &all[1]], &expected["published_scores"]);
}

#[test]
fn tensors_have_the_names_of_the_package_and_those_it_leaves_out_are_dropped() {
    let in_file: BTreeSet<String> = list(&expected()["names"]).into_iter().collect();
    let pattern = |name: &str| {
        let part = |part: &str| if part.parse::<u32>().is_ok() { "#".to_owned() } else { part.to_owned() };
        name.split('.').map(part).collect::<Vec<_>>().join(".")
    };
    let own: BTreeSet<String> = recipe_tensors(&NARROW).keys().map(|name| pattern(name)).collect();
    let recipe = catalog_entry().convert.as_ref().unwrap();
    let left_out: BTreeSet<String> = in_file.difference(&own).cloned().collect();
    assert!(own.is_subset(&in_file) && left_out.len() == 5, "{left_out:?}");
    assert!(left_out.iter().all(|name| recipe.drops(name)), "{left_out:?}");
    assert!(!own.iter().any(|name| recipe.drops(name)));
}

fn open(path: &Path, words: WordPieces, n_tokens: usize) -> Result<ImageReward, ExtractError> {
    ImageReward::open_on(Device::Cpu, Dtype::F32, path, words, n_tokens)
}

#[test]
fn files_are_read_strictly_but_for_what_the_package_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("narrow.safetensors");
    let mut tensors = recipe_tensors(&NARROW);
    tensors.insert("blip.vision_proj.weight".to_owned(), Tensor::from(1.0_f32));
    tensors.insert(
        "blip.text_encoder.embeddings.position_ids".to_owned(),
        Tensor::arange(40, tch::kind::INT64_CPU),
    );
    write_safetensors(&path, &tensors).unwrap();
    let expected = expected();
    let batch = pictures(&expected);
    let [of_file, of_recipe] =
        [open(&path, words(), N_TOKENS), ImageReward::open_recipe(&NARROW, words(), N_TOKENS)]
            .map(|network| network.unwrap().scores(&batch, &["a red star"; 3]).unwrap());
    assert_eq!(of_file, of_recipe);

    tensors.insert("blip.text_encoder.pooler.dense.weight".to_owned(), Tensor::from(1.0_f32));
    write_safetensors(&path, &tensors).unwrap();
    let Err(ExtractError::Weights(LoadError::Unexpected { first, .. })) = open(&path, words(), N_TOKENS)
    else {
        panic!("a tensor too many was taken")
    };
    assert_eq!(first, "blip.text_encoder.pooler.dense.weight");
    tensors.remove("blip.text_encoder.pooler.dense.weight");
    tensors.remove("blip.text_encoder.encoder.layer.1.crossattention.self.key.bias");
    write_safetensors(&path, &tensors).unwrap();
    let Err(ExtractError::Weights(LoadError::MissingTensor { name, .. })) = open(&path, words(), N_TOKENS)
    else {
        panic!("a tensor is missing")
    };
    assert_eq!(name, "blip.text_encoder.encoder.layer.1.crossattention.self.key.bias");
    tensors.insert(
        "blip.visual_encoder.pos_embed".to_owned(),
        Tensor::zeros([1, 577, 128], tch::kind::FLOAT_CPU),
    );
    write_safetensors(&path, &tensors).unwrap();
    let why = open(&path, words(), N_TOKENS).err().unwrap().to_string();
    assert!(why.contains("these weights have patches of 16 and 577 tokens"), "{why}");
    write_safetensors(&path, &[("w".to_owned(), Tensor::from(1.0_f32))].into()).unwrap();
    let why = open(&path, words(), N_TOKENS).err().unwrap().to_string();
    assert!(why.contains("these are not the weights of ImageReward"), "{why}");
}

#[test]
fn a_vocabulary_that_is_none_or_another_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vocab.txt");
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        WordPieces::read(&path).err().unwrap().to_string()
    };
    assert!(refused("a\nb\n").contains("no line `[PAD]`; expected vocab.txt of bert-base-uncased"));
    assert!(refused("[PAD]\na\na\n").contains("line 3: the token `a` is that of id 1 already"));
    let gone = WordPieces::read(&folder.path().join("nothing.txt")).err().unwrap().to_string();
    assert!(gone.contains("nothing.txt") && gone.contains("cannot read it"), "{gone}");
    let wide = ImageRewardShape { n_words: 181, ..NARROW };
    let why = ImageReward::open_recipe(&wide, words(), N_TOKENS).err().unwrap().to_string();
    assert!(why.contains("expected the vocabulary of the weights, 179 tokens, found 178"), "{why}");
    let why = ImageReward::open_recipe(&NARROW, words(), 41).err().unwrap().to_string();
    assert!(why.contains("prompts of 2 to 40 tokens, found 41"), "{why}");
}

#[test]
fn batches_of_another_size_and_prompts_of_another_number_are_refused() {
    let network = ImageReward::open_recipe(&NARROW, words(), N_TOKENS).unwrap();
    let batch = |side: usize| Batch { n: 1, height: side, width: side, values: vec![0.0; 3 * side * side] };
    let why = network.scores(&batch(32), &["a"]).unwrap_err().to_string();
    assert!(why.contains("at least one picture of 224x224"), "{why}");
    let why = network.scores(&batch(224), &[]).unwrap_err().to_string();
    assert!(why.contains("a prompt for each picture, found 0 for 1"), "{why}");
}
