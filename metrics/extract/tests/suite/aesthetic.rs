//! The heads of LAION's aesthetic predictor against their class in torch, on weights by recipe.

use specimen_extract::{
    aesthetic::{AestheticHead, AestheticName, recipe_tensors},
    extractor::ExtractError,
};
use specimen_weights::{LoadError, write_safetensors};
use tch::Device;

use crate::golden;

fn check_head(name: AestheticName, key: &str) {
    let expected = golden::json("aesthetic/expected.json");
    let scores: Vec<f64> =
        expected[key].as_array().unwrap().iter().map(|score| score.as_f64().unwrap()).collect();
    let mut rows = golden::by_recipe("rows", 6 * 768, 3.0);
    rows[3 * 768..4 * 768].fill(0.0);
    let found = AestheticHead::open_recipe(name).scores(&rows, 768).unwrap();
    let scale = scores.iter().fold(0.0_f64, |most, score| most.max(score.abs()));
    for (found, expected) in found.iter().zip(&scores) {
        assert!((found - expected).abs() <= 1e-5 * scale, "{}: {found} {expected}", name.name());
    }
    assert_eq!(found.len(), scores.len());
    let keys: Vec<&str> =
        expected[format!("{key}_keys")].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    let mut own: Vec<String> =
        recipe_tensors(name).into_keys().map(|key| key.replacen("layers.", "", 1)).collect();
    own.sort();
    assert_eq!(own, keys);
}

#[test]
fn heads_of_linear_layers_have_the_scores_of_torch() {
    check_head(AestheticName::SacLogosAva1Linear, "linear");
    check_head(AestheticName::AvaLogosLinear, "linear");
}

#[test]
fn the_head_with_relu_has_the_scores_of_torch() {
    check_head(AestheticName::AvaLogosRelu, "relu");
}

#[test]
fn heads_are_read_from_files_beside_other_tensors_and_other_heads_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.safetensors");
    let name = AestheticName::AvaLogosLinear;
    let mut tensors = recipe_tensors(name);
    tensors.insert("visual.proj".to_owned(), tch::Tensor::from(1.0_f32));
    write_safetensors(&path, &tensors).unwrap();
    let head = AestheticHead::open_on(Device::Cpu, name, &path).unwrap();
    let rows = golden::by_recipe("rows", 768, 3.0);
    assert_eq!(
        head.scores(&rows, 768).unwrap(),
        AestheticHead::open_recipe(name).scores(&rows, 768).unwrap()
    );
    assert!(head.identity().starts_with("aesthetic-ava-logos-f32@"), "{}", head.identity());
    let other = AestheticHead::open_on(Device::Cpu, AestheticName::AvaLogosRelu, &path);
    let Err(ExtractError::Weights(LoadError::MissingTensor { name, .. })) = other else {
        panic!("a head without ReLU was taken for one with it")
    };
    assert_eq!(name, "layers.3.weight");
    let narrow = head.scores(&rows[..512], 512).err().unwrap().to_string();
    assert!(narrow.contains("takes embeddings of 768 numbers, found rows of 512"), "{narrow}");
}

#[test]
fn every_head_is_in_the_catalog_with_the_tower_that_it_needs() {
    for name in AestheticName::ALL {
        assert_eq!(name.entry().needs, ["clip-vit-l14"]);
        assert_eq!(name.entry().weights().count(), 1);
    }
}
