//! LPIPS against the package lpips 0.1.4, on weights by recipe.

use specimen_extract::{
    extractor::ExtractError,
    lpips::{LpipsFiles, LpipsName, OpenLpips, recipe_tensors},
    network::Dtype,
    recipe_weights::uniform,
};
use specimen_pixels::{
    Image,
    network::{Batch, PairNetwork},
};
use specimen_weights::{LoadError, write_safetensors};
use tch::Device;

use crate::golden;

/// Differences of f32 sums over layers of up to 512 channels, relative.
const TOLERANCE: f64 = 1e-5;

fn batch(image: Image) -> Batch {
    Batch::of_images(&[image], |byte| (f64::from(byte) / 127.5 - 1.0) as f32)
}

/// Pair `index` of `make.py`.
fn pair(index: usize, width: usize, height: usize) -> [Batch; 2] {
    let n = width * height * 3;
    let bytes = |name: String| uniform(&name, n).map(|u| ((u + 1.0) * 128.0) as u8).collect::<Vec<u8>>();
    let (a, b) = (bytes(format!("a{index}")), bytes(format!("b{index}")));
    let other = (0..n).map(|at| if at / 3 % 3 == 0 { b[at] } else { a[at] }).collect();
    [a, other].map(|rgb| batch(Image::new(width, height, rgb)))
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// The largest relative difference of distances and of parts of layers.
fn check_net(name: LpipsName, key: &str) {
    let expected = golden::json("lpips/expected.json");
    let net = OpenLpips::open_recipe(name, Dtype::F32);
    let mut largest = 0.0_f64;
    for (index, size) in expected["sizes"].as_array().unwrap().iter().enumerate() {
        let [a, b] = pair(index, size[0].as_u64().unwrap() as usize, size[1].as_u64().unwrap() as usize);
        let layers: Vec<f64> = net.layers([&a, &b]).unwrap().into_iter().map(f64::from).collect();
        let of_layers = numbers(&expected[key]["layers"][index]);
        assert_eq!(layers.len(), of_layers.len());
        let found = net.distances([&a, &b]).unwrap();
        let all = layers
            .iter()
            .zip(of_layers)
            .chain(found.iter().zip(vec![numbers(&expected[key]["distances"])[index]]));
        for (found, expected) in all {
            largest = largest.max((found / expected - 1.0).abs());
        }
        assert_eq!(net.distances([&a, &a]).unwrap(), [0.0]);
        assert!(net.layers([&a, &a]).unwrap().iter().all(|part| *part == 0.0));
    }
    assert!(largest <= TOLERANCE, "{}: off by {largest:e}", name.name());
    assert_eq!(expected[key]["smallest"], name.smallest(), "{key}");
}

#[test]
fn distances_in_alexnet_are_those_of_the_package() {
    check_net(LpipsName::Alex, "alex");
}

#[test]
fn distances_in_vgg16_are_those_of_the_package() {
    check_net(LpipsName::Vgg, "vgg");
}

#[test]
fn distances_in_squeezenet_are_those_of_the_package() {
    check_net(LpipsName::Squeeze, "squeeze");
}

#[test]
fn the_smallest_pictures_are_taken_and_smaller_ones_are_refused() {
    for name in LpipsName::ALL {
        let net = OpenLpips::open_recipe(name, Dtype::F32);
        let least = name.smallest();
        let [a, b] = pair(0, least, least + 3);
        assert!(net.distances([&a, &b]).unwrap()[0] > 0.0);
        let [a, b] = pair(0, least + 3, least - 1);
        let why = net.distances([&a, &b]).unwrap_err().to_string();
        let expected = format!(
            "{} takes pictures of at least {least}x{least} pixels, found {}x{}; give larger pictures",
            name.name(),
            least + 3,
            least - 1
        );
        assert_eq!(why, expected);
    }
}

#[test]
fn pairs_of_a_batch_have_the_distances_that_they_have_alone() {
    let net = OpenLpips::open_recipe(LpipsName::Squeeze, Dtype::F32);
    let [first, second] = [pair(0, 40, 32), pair(1, 40, 32)];
    let side = |at: usize| Batch {
        n: 2,
        values: [&first[at], &second[at]].iter().flat_map(|batch| batch.values.clone()).collect(),
        ..first[at].clone()
    };
    let together = net.distances([&side(0), &side(1)]).unwrap();
    for (pair, found) in [&first, &second].into_iter().zip(together) {
        let alone = net.distances([&pair[0], &pair[1]]).unwrap()[0];
        assert!((found / alone - 1.0).abs() <= TOLERANCE);
    }
    let unequal = net.layers([&side(0), &first[1]]).unwrap_err().to_string();
    assert!(unequal.contains("takes as many pictures of one size on both sides"), "{unequal}");
}

#[test]
fn weights_are_read_from_the_two_published_files_or_from_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let name = LpipsName::Alex;
    let all = recipe_tensors(name);
    let (mut trunk, heads): (std::collections::BTreeMap<_, _>, std::collections::BTreeMap<_, _>) = all
        .iter()
        .map(|(name, x)| (name.clone(), x.shallow_clone()))
        .partition(|(name, _)| name.starts_with("features."));
    write_safetensors(&path("both"), &all).unwrap();
    // The layers of the classes are in the published file.
    trunk.insert("classifier.6.bias".to_owned(), tch::Tensor::zeros([1000], (tch::Kind::Float, Device::Cpu)));
    write_safetensors(&path("trunk"), &trunk).unwrap();
    write_safetensors(&path("heads"), &heads).unwrap();
    let open = |files: LpipsFiles<'_>| OpenLpips::open_on(Device::Cpu, name, Dtype::F32, files);
    let [a, b] = pair(0, 48, 40);
    let expected = OpenLpips::open_recipe(name, Dtype::F32).distances([&a, &b]).unwrap();
    let apart = open(LpipsFiles::Published { trunk: &path("trunk"), heads: &path("heads") }).unwrap();
    assert_eq!(apart.distances([&a, &b]).unwrap(), expected);
    let together = open(LpipsFiles::Together(&path("both"))).unwrap();
    assert_eq!(together.distances([&a, &b]).unwrap(), expected);
    let (heads, trunk) =
        apart.identity().split_once(" + ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(heads.starts_with("lpips-alex-f32@") && trunk.starts_with("alexnet-f32@"), "{heads} {trunk}");
    assert_eq!((heads.len(), trunk.len()), (15 + 12, 12 + 12));
    assert_ne!(heads[15..], trunk[12..]);
    // The heads of another kind have other widths.
    let Err(ExtractError::Weights(LoadError::WrongShape { name, .. })) =
        OpenLpips::open_on(Device::Cpu, LpipsName::Vgg, Dtype::F32, LpipsFiles::Together(&path("both")))
    else {
        panic!("AlexNet was taken for VGG16")
    };
    assert_eq!(name, "features.0.weight");
}

#[test]
fn half_precision_is_near_and_says_so() {
    let net = OpenLpips::open_recipe(LpipsName::Alex, Dtype::Bf16);
    let [a, b] = pair(0, 64, 48);
    let exact = OpenLpips::open_recipe(LpipsName::Alex, Dtype::F32).distances([&a, &b]).unwrap()[0];
    let found = net.distances([&a, &b]).unwrap()[0];
    assert!(found != exact && (found / exact - 1.0).abs() < 0.02, "{found} {exact}");
    assert!(net.identity().starts_with("lpips-alex-bf16@recipe + alexnet-bf16@"), "{}", net.identity());
}

#[test]
fn every_kind_has_heads_and_a_trunk_in_the_catalog() {
    for (name, trunk) in LpipsName::ALL.into_iter().zip(["alexnet", "vgg16", "squeezenet1-1"]) {
        assert_eq!(name.heads().name, name.name());
        assert_eq!(name.trunk().name, trunk);
        assert!([name.heads(), name.trunk()].iter().all(|entry| entry.weights().count() == 1));
    }
}
