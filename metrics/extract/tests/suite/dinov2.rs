//! DINOv2 against transformers, with the positions of the release, on weights by recipe in both key layouts. The published
//! shapes are compared with its f64: its own f32 is off by 5e-7 of the largest value.

use specimen_extract::{
    dinov2::{DinoLayout, DinoShape, Dinov2},
    extractor::{ExtractError, Features},
    network::{Dtype, Layer, NetworkName},
    open::{Network, open, open_recipe},
    recipe_weights::RecipeWeights,
    transformer::{Activation, StackShape},
};
use specimen_pixels::network::Batch;
use specimen_weights::{LoadError, write_safetensors};
use tch::{Kind, Tensor};

use crate::golden;

const TOY: DinoShape = DinoShape {
    stack: StackShape { width: 48, depth: 2, n_heads: 3, mlp: 192, activation: Activation::Gelu, eps: 1e-6 },
    patch: 14,
    grid: 5,
};

fn check_toy(layout: DinoLayout, file: &str, [height, width]: [i64; 2]) {
    let net = Dinov2::new(&mut RecipeWeights::new(), layout, &TOY, Kind::Float).unwrap();
    let values = golden::by_recipe("pictures", (3 * 3 * height * width) as usize, 2.0);
    let x = Tensor::from_slice(&values).view([3, 3, height, width]);
    let found = &net.run(&x, &[Layer { name: "cls", n_dims: 48 }])[0];
    let found = Features { n_dims: 48, rows: Vec::try_from(found.flatten(0, -1)).unwrap() };
    golden::check_close(file, &found, &golden::features(&format!("dinov2/{file}.npy")), 1e-5);
}

#[test]
fn class_tokens_are_those_of_the_reference_in_both_layouts() {
    check_toy(DinoLayout::Release, "toy_release_native", [70, 70]);
    check_toy(DinoLayout::HuggingFace, "toy_hf_native", [70, 70]);
}

#[test]
fn positions_are_resampled_as_the_release_resamples_them() {
    check_toy(DinoLayout::Release, "toy_release_resampled", [42, 56]);
    check_toy(DinoLayout::HuggingFace, "toy_hf_resampled", [42, 56]);
}

/// One forward of `network` at its published shape within 1e-5 of the largest value; the reference is in f64.
fn check_published(network: NetworkName, file: &str) {
    let net = open_recipe(network, &["cls"], Dtype::F32).unwrap();
    let values = golden::by_recipe("pictures", 3 * 224 * 224, 2.0);
    let found = golden::forward(&net, &Batch { n: 1, height: 224, width: 224, values });
    let expected = golden::features(&format!("dinov2/{file}.npy"));
    let largest = expected.rows.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    golden::check_close(file, &found, &expected, 1e-5 * largest);
}

#[test]
fn the_published_base_network_has_the_features_of_the_reference() {
    check_published(NetworkName::Dinov2VitB14, "b14_release");
}

#[test]
fn the_published_large_network_has_the_features_of_the_reference() {
    check_published(NetworkName::Dinov2VitL14, "l14_release");
}

#[test]
fn a_network_of_another_width_or_kind_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toy.safetensors");
    let refused = || {
        let Err(ExtractError::Weights(error)) = open(NetworkName::Dinov2VitB14, &["cls"], Dtype::F32, &path)
        else {
            panic!("a toy was not refused")
        };
        error
    };
    let mut recipe = RecipeWeights::keeping();
    Dinov2::new(&mut recipe, DinoLayout::HuggingFace, &TOY, Kind::Float).unwrap();
    write_safetensors(&path, &recipe.into_made()).unwrap();
    let LoadError::WrongShape { name, found, .. } = refused() else { panic!("another complaint") };
    assert_eq!((name.as_str(), found), ("embeddings.cls_token", vec![1, 1, 48]));
    write_safetensors(&path, &[("w".to_owned(), Tensor::from(1.0_f32))].into()).unwrap();
    assert!(refused().to_string().contains("these are no DINOv2 weights"));
}
