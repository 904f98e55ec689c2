//! Inception against pytorch-fid, clean-fid, torch-fidelity and torchmetrics, with the pixels of each.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::Value;
use sha2::{Digest, Sha256};
use specimen_extract::{
    extractor::{ExtractError, Features},
    network::{Dtype, NetworkName},
    open::{open, open_recipe, recipe_tensors},
};
use specimen_pixels::network::{Batch, FeatureNetwork};
use specimen_weights::{LoadError, write_safetensors};
use tch::{Kind, Tensor};

use crate::golden;

/// The rows of every golden file.
const PICTURES: [&str; 4] =
    ["odd_161x120_420.jpg", "odd_161x120_444.jpg", "rgb_120x203.png", "tiny_33x17.png"];

const PYTORCH_FID: &str = r#"[
    {"step": "standardise", "subtract": [0, 0, 0], "divide": [255, 255, 255]},
    {"step": "resize", "to": {"square": 299},
     "by": {"engine": "torch-bilinear", "antialias": false, "align_corners": false}},
    {"step": "standardise", "subtract": [0.5, 0.5, 0.5], "divide": [0.5, 0.5, 0.5]}]"#;
const CLEAN: &str = r#"[
    {"step": "resize", "to": {"square": 299}, "by": {"engine": "pil-f32", "filter": "bicubic"}},
    {"step": "clip"},
    {"step": "standardise", "subtract": [128, 128, 128], "divide": [128, 128, 128]}]"#;
const TORCH_FIDELITY: &str = r#"[
    {"step": "resize", "to": {"square": 299}, "by": {"engine": "tf1-bilinear"}},
    {"step": "standardise", "subtract": [128, 128, 128], "divide": [128, 128, 128]}]"#;
const TORCHMETRICS: &str = r#"[
    {"step": "resize", "to": {"square": 299},
     "by": {"engine": "torch-bilinear", "antialias": true, "align_corners": false}},
    {"step": "standardise", "subtract": [128, 128, 128], "divide": [128, 128, 128]}]"#;

/// Layers of one pass against golden files, in f32.
fn check(steps: &str, layers: &[(&str, &str)]) {
    let names: Vec<&str> = layers.iter().map(|(layer, _)| *layer).collect();
    let net = open_recipe(NetworkName::InceptionFid, &names, Dtype::F32).unwrap();
    let found = golden::forward(&net, &golden::pictures(&PICTURES, steps));
    let mut begin = 0;
    for (part, (_, file)) in net.parts().into_iter().zip(layers) {
        let own = found.rows.chunks_exact(found.n_dims).flat_map(|row| &row[begin..begin + part.n_dims]);
        let own = Features { n_dims: part.n_dims, rows: own.copied().collect() };
        golden::check_close(file, &own, &golden::features(&format!("inception/{file}.npy")), 1e-4);
        begin += part.n_dims;
    }
    assert_eq!(begin, found.n_dims);
}

#[test]
fn every_layer_has_the_features_of_pytorch_fid() {
    let layers = [
        ("64", "pytorch_fid_64_pooled"),
        ("192", "pytorch_fid_192_pooled"),
        ("768", "pytorch_fid_768_pooled"),
        ("2048", "pytorch_fid_2048"),
    ];
    check(PYTORCH_FID, &layers);
}

#[test]
fn pooled_features_and_logits_are_those_of_torch_fidelity() {
    let layers = [
        ("logits", "torch_fidelity_logits"),
        ("2048", "torch_fidelity_2048"),
        ("logits-unbiased", "torch_fidelity_logits_unbiased"),
    ];
    check(TORCH_FIDELITY, &layers);
}

#[test]
fn features_are_those_of_clean_fid() {
    check(CLEAN, &[("2048", "cleanfid_clean_2048_x-128_div128")]);
}

#[test]
fn features_are_those_of_torchmetrics_with_antialiasing() {
    check(TORCHMETRICS, &[("2048", "torchmetrics_antialias_2048")]);
}

/// The golden pictures as clean-fid makes them, and their features in `dtype`.
fn clean_features(dtype: Dtype) -> (Batch, Features) {
    let batch = golden::pictures(&PICTURES, CLEAN);
    let net = open_recipe(NetworkName::InceptionFid, &["2048"], dtype).unwrap();
    let features = golden::forward(&net, &batch);
    (batch, features)
}

#[test]
fn bf16_is_off_by_less_than_a_percent_and_says_that_it_is_bf16() {
    let net = open_recipe(NetworkName::InceptionFid, &["2048"], Dtype::Bf16).unwrap();
    assert_eq!(net.identity(), "inception-fid-2048-bf16@recipe");
    let expected = golden::features("inception/cleanfid_clean_2048_x-128_div128.npy");
    let (_, found) = clean_features(Dtype::Bf16);
    let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
    let mut differences = found.rows.iter().zip(&expected.rows).map(|(a, b)| a - b);
    let error = norm(&mut differences) / norm(&mut expected.rows.iter().copied());
    // The reference in bf16 with folded norms is off by 4.7e-3, with norms in bf16 by 7.1e-3.
    assert!((1e-5..1e-2).contains(&error), "{error:e}");
}

#[test]
fn batch_size_moves_features_by_rounding_only() {
    let (batch, together) = clean_features(Dtype::F32);
    let net = open_recipe(NetworkName::InceptionFid, &["2048"], Dtype::F32).unwrap();
    let size = batch.values.len() / batch.n;
    let alone = batch
        .values
        .chunks_exact(size)
        .flat_map(|values| golden::forward(&net, &Batch { n: 1, values: values.to_vec(), ..batch }).rows);
    let alone = Features { n_dims: 2048, rows: alone.collect() };
    // Sums of up to 3,456 products in another order, through 94 convolutions, at values up to 8.
    golden::check_close("one by one", &alone, &together, 2e-5);
}

#[test]
fn torchs_threads_move_features_by_rounding_only() {
    let net = open_recipe(NetworkName::InceptionFid, &["2048"], Dtype::F32).unwrap();
    let (batch, _) = clean_features(Dtype::F32);
    let before = tch::get_num_threads();
    let [one, two] = [1, 2].map(|n| {
        tch::set_num_threads(n);
        golden::forward(&net, &batch)
    });
    tch::set_num_threads(before);
    golden::check_close("one thread and two", &one, &two, 2e-5);
}

static TENSORS: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
    let tensors = recipe_tensors(NetworkName::InceptionFid);
    let bytes = |tensor: &Tensor| {
        let mut bytes = vec![0; tensor.numel() * 4];
        let n = bytes.len();
        tensor.contiguous().view_dtype(Kind::Uint8).copy_data_u8(&mut bytes, n);
        bytes
    };
    tensors.iter().map(|(name, tensor)| (name.clone(), bytes(tensor))).collect()
});

#[test]
fn weights_by_recipe_are_those_of_the_goldens() {
    let mut hasher = Sha256::new();
    TENSORS.values().for_each(|bytes| hasher.update(bytes));
    let digest: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, golden::json("inception/expected.json")["param_sha256"]);
}

#[test]
fn the_parameters_are_those_of_the_official_file() {
    let test = "the_parameters_are_those_of_the_official_file";
    let Some(path) = specimen_testdata::find(test, "weights/fid_inception_statedict_keys.json") else {
        return;
    };
    let listed: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(listed.len(), 566);
    let mut official = BTreeMap::new();
    for entry in &listed {
        let key = entry["key"].as_str().unwrap();
        let shape: Vec<i64> = serde_json::from_value(entry["shape"].clone()).unwrap();
        if !key.ends_with(".num_batches_tracked") {
            official.insert(key.to_owned(), shape);
        }
    }
    let ours = recipe_tensors(NetworkName::InceptionFid);
    let ours: BTreeMap<_, _> = ours.into_iter().map(|(name, tensor)| (name, tensor.size())).collect();
    assert_eq!(ours, official);
}

#[test]
fn a_file_opens_strictly_and_gives_the_features_of_its_weights() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inception.safetensors");
    let mut tensors = recipe_tensors(NetworkName::InceptionFid);
    tensors.insert("Mixed_5b.branch1x1.bn.num_batches_tracked".to_owned(), Tensor::from(0_i64));
    write_safetensors(&path, &tensors).unwrap();
    let digest = blake3_of(&path);
    let layers = ["logits", "64"];
    let net = open(NetworkName::InceptionFid, &layers, Dtype::F32, &path).unwrap();
    let digest = &digest[..12];
    assert_eq!(net.identity(), format!("inception-fid-logits-f32@{digest} + inception-fid-64-f32@{digest}"));
    let batch = golden::pictures(&PICTURES[..1], TORCH_FIDELITY);
    let recipe = open_recipe(NetworkName::InceptionFid, &layers, Dtype::F32).unwrap();
    assert_eq!(golden::forward(&net, &batch), golden::forward(&recipe, &batch));

    let open_again = || open(NetworkName::InceptionFid, &["2048"], Dtype::F32, &path).map(|_| ());
    tensors.insert("AuxLogits.fc.weight".to_owned(), Tensor::from(0.0_f32));
    write_safetensors(&path, &tensors).unwrap();
    let Err(ExtractError::Weights(LoadError::Unexpected { n: 1, first, .. })) = open_again() else {
        panic!("a head that this network does not have was not refused")
    };
    assert_eq!(first, "AuxLogits.fc.weight");
    tensors.remove("AuxLogits.fc.weight");
    tensors.insert("fc.weight".to_owned(), Tensor::zeros([1000, 2048], (Kind::Float, tch::Device::Cpu)));
    write_safetensors(&path, &tensors).unwrap();
    let Err(ExtractError::Weights(LoadError::WrongShape { name, expected, .. })) = open_again() else {
        panic!("the weights of 1000 classes were not refused")
    };
    assert_eq!((name.as_str(), expected), ("fc.weight", vec![1008, 2048]));
}

fn blake3_of(path: &std::path::Path) -> String {
    specimen_weights::Checkpoint::open(path, None, tch::Device::Cpu).unwrap().digest().to_owned()
}

#[test]
fn a_batch_of_another_size_is_refused() {
    let net = open_recipe(NetworkName::InceptionFid, &["64"], Dtype::F32).unwrap();
    let batch = |n: usize, height: usize, width: usize, n_values: usize| {
        let error = net.rows(&Batch { n, height, width, values: vec![0.0; n_values] }).unwrap_err();
        error.to_string()
    };
    let expected = "inception-fid takes at least one picture of 299x299 with 3 planes, found ";
    assert_eq!(batch(0, 299, 299, 0), format!("{expected}0 of 299x299 in 0 values"));
    assert_eq!(batch(1, 299, 298, 3 * 299 * 298), format!("{expected}1 of 298x299 in 267306 values"));
    assert_eq!(batch(2, 299, 299, 3 * 299 * 299), format!("{expected}2 of 299x299 in 268203 values"));
}
