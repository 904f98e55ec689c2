//! A narrow ViT-H/14, from files in both key layouts, against transformers and open_clip, and the texts of PickScore and
//! HPSv2 against their tokenizers.

use specimen_extract::{
    clip::{
        shape::{ClipFamily, ClipLayout, ClipShapes, TextShape, VisionShape},
        text::TextTower,
        tokenizer::{ClipTokenizer, TextPrefix, TextRule},
    },
    network::{Dtype, NetworkName},
    open::{clip_shapes, open},
    recipe_weights::write_clip,
    transformer::{Activation, StackShape},
};
use specimen_pixels::network::{Batch, FeatureNetwork};
use specimen_weights::Checkpoint;
use tch::Device;

use crate::golden;

const LAYOUTS: [(ClipLayout, &str, &str); 2] =
    [(ClipLayout::HuggingFace, "hf", "pickscore_ids"), (ClipLayout::OpenAi, "open_clip", "hpsv2_ids")];

/// Towers with two heads each of the widths that they have.
fn narrow() -> (VisionShape, TextShape) {
    let stack = |width| StackShape { width, depth: 2, n_heads: 2, mlp: 4 * width, ..VisionShape::H14.stack };
    (
        VisionShape { stack: stack(160), n_joint: 64, ..VisionShape::H14 },
        TextShape { stack: stack(128), n_joint: 64, ..TextShape::H },
    )
}

fn ids(key: &str) -> Vec<Vec<u32>> {
    serde_json::from_value(golden::json("clip_h/expected.json")[key].clone()).unwrap()
}

#[test]
fn towers_of_a_narrow_h14_have_the_reference_embeddings_in_both_layouts() {
    let scratch = tempfile::tempdir().unwrap();
    let (vision, text) = narrow();
    let values = golden::by_recipe("pixels", 3 * 3 * 224 * 224, 1.0);
    let batch = Batch { n: 3, height: 224, width: 224, values };
    for (layout, name, texts) in LAYOUTS {
        let path = scratch.path().join(format!("{name}.safetensors"));
        write_clip(&path, layout, &vision, &text).unwrap();
        // Nothing beside the file says heads and activation: they are those of the network's family.
        let net = open(NetworkName::PickScoreV1, &["embedding"], Dtype::F32, &path).unwrap();
        let identity = net.identity();
        assert!(identity.starts_with("pickscore-v1[160x2,h2,gelu,assumed]-embedding-f32@"), "{identity}");
        let expected = golden::features(&format!("clip_h/{name}_image.npy"));
        golden::check_close(name, &golden::forward(&net, &batch), &expected, 1e-5);
        let tower = TextTower::open_on(Device::Cpu, NetworkName::HpsV21, &path, Dtype::F32).unwrap();
        assert!(tower.identity().starts_with("clip-text[128x2,h2,gelu,assumed]-"), "{}", tower.identity());
        let expected = golden::features(&format!("clip_h/{name}_text.npy"));
        golden::check_close(name, &tower.embed_ids(&ids(texts)).unwrap(), &expected, 1e-5);
        // As a network of OpenAI's it would be another one.
        let other = TextTower::open(&path, Dtype::F32).unwrap();
        assert!(other.identity().contains("[128x2,h2,quick-gelu,assumed]"), "{}", other.identity());
    }
}

#[test]
fn the_published_shape_is_known_without_a_configuration_and_a_configuration_counts() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("weights.safetensors");
    let (vision, text) = narrow();
    write_clip(&path, ClipLayout::HuggingFace, &vision, &text).unwrap();
    let config = r#"{"vision_config": {"num_attention_heads": 4, "hidden_act": "gelu"}}"#;
    std::fs::write(scratch.path().join("config.json"), config).unwrap();
    let checkpoint = Checkpoint::open(&path, None, Device::Cpu).unwrap();
    let shape = |family| VisionShape::of(&checkpoint, ClipLayout::HuggingFace, family).unwrap().stack;
    assert_eq!(shape(ClipFamily::LaionH14).n_heads, 4);
    assert_eq!(shape(ClipFamily::OpenAi), shape(ClipFamily::LaionH14));
    let published = ClipShapes::H14;
    assert_eq!((published.vision.stack.n_heads, published.vision.stack.activation), (16, Activation::Gelu));
    assert_eq!((published.text.stack.n_heads, published.text.stack.activation), (16, Activation::Gelu));
    assert_eq!(published.vision.side(), 224);
}

#[test]
fn a_network_without_texts_has_no_tower_of_texts() {
    let opened = TextTower::open_on(
        Device::Cpu,
        NetworkName::InceptionFid,
        std::path::Path::new("w.safetensors"),
        Dtype::F32,
    );
    let why = opened.err().unwrap().to_string();
    assert!(why.contains("w.safetensors") && why.contains("inception-fid has no tower of texts"), "{why}");
    let with_texts = NetworkName::ALL.into_iter().filter(|network| clip_shapes(*network).is_some());
    assert_eq!(with_texts.count(), 8);
}

#[test]
fn texts_of_pickscore_and_hpsv2_have_the_ids_of_their_tokenizers() {
    let test = "texts_of_pickscore_and_hpsv2_have_the_ids_of_their_tokenizers";
    let vocabulary = "tokenizers/bpe_simple_vocab_16e6.txt.gz";
    let Some(path) = specimen_testdata::find(test, vocabulary) else { return };
    let tokenizer = ClipTokenizer::read(&path).unwrap();
    let texts: Vec<String> =
        serde_json::from_value(golden::json("clip_h/expected.json")["texts"].clone()).unwrap();
    for (rule, key) in [(TextRule::HuggingFaceTruncated, "pickscore_ids"), (TextRule::OpenClip, "hpsv2_ids")]
    {
        // The tool mends the encoding of two texts, which this program leaves to the user.
        let mended = |text: &str| match rule {
            TextRule::OpenClip => text.replace("Ã©", "é").replace("â€™", "'"),
            _ => text.to_owned(),
        };
        let found = |text: &String| tokenizer.sequence_by(&mended(text), TextPrefix::None, rule);
        assert_eq!(texts.iter().map(found).collect::<Vec<_>>(), ids(key), "{key}");
    }
    // Cut, and with an end inside.
    let counts = |rule| tokenizer.counts(&texts, TextPrefix::None, rule).map(|(_, n)| n);
    assert_eq!(counts(TextRule::OpenClip), [1, 1, 0]);
    assert_eq!(counts(TextRule::HuggingFaceTruncated), [1, 1, 0]);
}
