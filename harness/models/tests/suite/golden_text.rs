//! The way from captions to features against its references: cleaning, word ids, the encoder of T5; and the words of
//! Janus.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};
use specimen_datasets::{
    caption::CaptionPolicy,
    catalog::{OpenOptions, open},
    data_root::DataRoot,
};
use specimen_models::{
    families::{
        janus::Janus,
        llamagen::t5::{
            CaptionError, CaptionFeatures, FeatureStore, T5Config, T5Encoder, bucket, clean_caption,
        },
        text_tokenizer::TextTokenizer,
    },
    files::random_weights::RandomWeights,
};
use tch::{Device, Kind};

use crate::{
    golden::{Recipe, check_close, numbers, path, tensor},
    real_data::file_below,
};

const SMALL_T5: T5Config = T5Config {
    n_layers: 2,
    n_heads: 2,
    d_model: 24,
    d_head: 8,
    d_ffn: 32,
    n_words: 60,
    n_buckets: 32,
    max_distance: 128,
    norm_eps: 1e-6,
};

fn json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path(name)).unwrap()).unwrap()
}

fn toy_tokenizer(name: &str) -> TextTokenizer {
    let file = format!("../../weights/toy/{name}-tokenizer.json");
    TextTokenizer::open(&path(&file)).unwrap()
}

#[test]
fn captions_are_cleaned_as_by_the_reference() {
    for pair in json("captions.json").as_array().unwrap() {
        let [caption, expected] = [0, 1].map(|at| pair[at].as_str().unwrap());
        assert_eq!(clean_caption(caption), expected, "{caption:?}");
    }
}

#[test]
fn words_are_those_of_the_python_tokenizers() {
    let golden = json("tokenizers.json");
    let texts: Vec<&str> =
        golden["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for name in ["t5", "janus", "liquid"] {
        let tokenizer = toy_tokenizer(name);
        for (text, ids) in texts.iter().zip(golden[name].as_array().unwrap()) {
            let expected: Vec<i64> = ids.as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
            assert_eq!(tokenizer.encode(text).unwrap(), expected, "{name}: {text:?}");
        }
    }
}

#[test]
fn features_of_words_are_those_of_the_reference_with_pads() {
    let encoder = T5Encoder::new(&mut Recipe, &SMALL_T5).unwrap();
    let found = encoder.encode(&numbers("t5.safetensors", "words"));
    check_close(&found, &tensor("t5.safetensors", "features"), 1e-4, "T5");
}

#[test]
fn distances_fall_into_the_buckets_of_the_reference() {
    let [distances, expected] = ["distances", "buckets"].map(|name| numbers("t5.safetensors", name));
    let found: Vec<i64> = distances.iter().map(|&distance| bucket(distance, 32, 128)).collect();
    assert_eq!(found, expected);
}

fn captions(store: Option<FeatureStore>, seed: u64) -> CaptionFeatures {
    let config = T5Config { n_words: 128, ..SMALL_T5 };
    let encoder = T5Encoder::new(&mut RandomWeights::new(seed), &config).unwrap();
    CaptionFeatures::new(toy_tokenizer("t5"), encoder, store)
}

#[test]
fn a_long_caption_is_cut_and_keeps_its_end() {
    let tokenizer = toy_tokenizer("t5");
    let caption = "a red circle on a blue square and the dog";
    let whole = tokenizer.encode(caption).unwrap();
    assert!(7 < whole.len(), "{whole:?}");
    let encoder = T5Encoder::new(&mut RandomWeights::new(1), &T5Config { n_words: 128, ..SMALL_T5 }).unwrap();
    let cut = [&whole[..6], &whole[whole.len() - 1..]].concat();
    check_close(&captions(None, 1).of(caption, 7).unwrap(), &encoder.encode(&cut), 0.0, "cut");
}

#[test]
fn features_are_kept_on_disk_and_come_back_bit_by_bit() {
    let folder = tempfile::tempdir().unwrap();
    let store =
        |digest: &str| Some(FeatureStore::new(folder.path(), &[digest.to_owned()], &SMALL_T5, Kind::Float));
    let made = captions(store("one"), 1).of("A red  circle", 12).unwrap();
    // Another encoder would give something else: what comes back was kept.
    let kept = captions(store("one"), 2).of("a red circle", 12).unwrap();
    check_close(&made, &kept, 0.0, "kept");
    let other = captions(store("two"), 2).of("a red circle", 12).unwrap();
    assert!(!made.allclose(&other, 0.0, 0.0, false), "another encoder's features are its own");
    // The same weights read as another network, and a caption that is cut elsewhere, have features of their own.
    let eps = T5Config { norm_eps: 0.5, ..SMALL_T5 };
    let store = |config| Some(FeatureStore::new(folder.path(), &["one".to_owned()], config, Kind::Float));
    let other = captions(store(&eps), 2).of("a red circle", 12).unwrap();
    assert!(!made.allclose(&other, 0.0, 0.0, false), "another configuration's features are its own");
    let long = "a red circle on a blue square";
    let one = captions(store(&SMALL_T5), 1);
    let lengths = [6, 7, 6].map(|n_slots| one.of(long, n_slots).unwrap().size()[0]);
    assert_eq!(lengths, [6, 7, 6]);
    let again = captions(store(&SMALL_T5), 2);
    for n_slots in [7, 6] {
        check_close(&again.of(long, n_slots).unwrap(), &one.of(long, n_slots).unwrap(), 0.0, "cut and kept");
    }
}

#[test]
fn a_kept_file_that_is_not_whole_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = || Some(FeatureStore::new(folder.path(), &["one".to_owned()], &SMALL_T5, Kind::Float));
    let made = captions(store(), 1).of("a dog", 12).unwrap();
    let below = std::fs::read_dir(folder.path().join("captions")).unwrap().next().unwrap().unwrap().path();
    let below = below.join("slots-12");
    let file = std::fs::read_dir(below).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, [0; 9]).unwrap();
    check_close(&captions(store(), 1).of("a dog", 12).unwrap(), &made, 0.0, "made again");
    check_close(&captions(store(), 2).of("a dog", 12).unwrap(), &made, 0.0, "kept again");
}

#[test]
fn a_folder_that_takes_no_features_is_an_error_of_its_own_with_what_the_system_said() {
    let folder = tempfile::tempdir().unwrap();
    // A file where the folder should be.
    std::fs::write(folder.path().join("captions"), "").unwrap();
    let store = FeatureStore::new(folder.path(), &["one".to_owned()], &SMALL_T5, Kind::Float);
    let error = captions(Some(store), 1).of("a dog", 12).unwrap_err();
    assert!(matches!(error, CaptionError::NotKept { .. }), "{error}");
}

#[test]
fn a_prompt_of_janus_is_a_question_with_an_image_for_an_answer() {
    let model =
        Janus::made(specimen_catalog::entry("janus-toy").unwrap(), None, Kind::Float, Device::Cpu).unwrap();
    let names: BTreeMap<i64, &str> = [(257, "B"), (259, "I"), (260, "U"), (261, "A")].into();
    let words = model.prompt.words("a bus near the sea").unwrap();
    let expected = json("tokenizers.json")["janus"][5].clone();
    let expected: Vec<i64> = expected.as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
    assert_eq!(words, expected);
    let marks: String = words.iter().filter_map(|word| names.get(word)).copied().collect();
    assert_eq!(marks, "BUAI");
}

/// SHA-256 of the cleaned prompts of a dataset, one a line; of MSCOCO every caption in file order.
fn digest_of_cleaned(root: DataRoot, dataset: &str) -> String {
    let options =
        OpenOptions { root: Some(root), caption: Some(CaptionPolicy::All), ..OpenOptions::default() };
    let set = open(dataset, &options).unwrap();
    let mut digest = Sha256::new();
    for prompt in set.prompts() {
        digest.update(clean_caption(&prompt.text));
        digest.update("\n");
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_caption_of_coco_and_every_parti_prompt_is_cleaned_as_by_the_reference() {
    let test = "every_caption_of_coco_and_every_parti_prompt_is_cleaned_as_by_the_reference";
    // 25,014 captions and 1,632 prompts, by `make_captions.py`.
    for (dataset, file, expected) in [
        (
            "coco2017-val",
            "coco/captions_val2017.json.gz",
            "ad4152153e4aa88cd0bb3ad58cafccee8c5542d1bca8a658ef8283685f8fbf8b",
        ),
        (
            "parti-prompts",
            "parti/PartiPrompts.tsv",
            "e1603f4e8dacfd39ea7c9ea7a125558bf99f4e1b5f505256ed1211eb06b1bbfc",
        ),
    ] {
        if let Some(root) = file_below(test, file) {
            assert_eq!(digest_of_cleaned(root, dataset), expected, "{dataset}");
        }
    }
}
