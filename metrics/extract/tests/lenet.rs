//! LeNet-5 against its published accuracy and against values computed from its equations in f64 (numpy).
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use specimen_datasets::{
    data_root::DataRoot,
    mnist::{Mnist, SIDE},
};
use specimen_extract::{
    lenet::{LeNet, N_FEATURES},
    weights_lookup::Places,
};
use specimen_pixels::{
    Image,
    network::{Batch, FeatureNetwork},
};
use specimen_weights::{Checkpoint, Init, ParamSource};
use tch::{Device, Kind, Tensor};

/// The real data folder, if `file` is in it; otherwise `test` is skipped.
fn data_with(test: &str, file: &str) -> Option<DataRoot> {
    specimen_testdata::folder_with(test, &[file]).map(DataRoot::new)
}

fn mnist(root: &DataRoot) -> Mnist {
    let file = |name: &str| root.path().join("mnist").join(name);
    Mnist::read(&file("t10k-images-idx3-ubyte.gz"), &file("t10k-labels-idx1-ubyte.gz")).unwrap()
}

fn grey(bytes: &[u8]) -> Batch {
    let image = |grey: &[u8]| Image::new(SIDE, SIDE, grey.iter().flat_map(|&byte| [byte; 3]).collect());
    let images: Vec<Image> = bytes.chunks_exact(SIDE * SIDE).map(image).collect();
    Batch::of_images(&images, |byte| f32::from(byte) / 255.0)
}

fn open(root: &DataRoot) -> LeNet {
    LeNet::open(&Places { own: vec![root.path().to_owned()], ..Places::default() }).unwrap()
}

const IMAGES: &str = "mnist/t10k-images-idx3-ubyte.gz";

#[test]
fn the_published_accuracy_on_the_test_digits_is_reached() {
    let Some(root) = data_with("the_published_accuracy_on_the_test_digits_is_reached", IMAGES) else {
        return;
    };
    let (net, mnist) = (open(&root), mnist(&root));
    let path = root.path().join("weights/lenet_mnist/lenet.safetensors");
    let mut weights = Checkpoint::open(&path, Some(Kind::Float), Device::Cpu).unwrap();
    let mut param = |name: &str, shape: &[i64]| weights.param(name, shape, Init::Constant(0.0)).unwrap();
    let (weight, bias) = (param("fc.f7.weight", &[10, N_FEATURES as i64]), param("fc.f7.bias", &[10]));
    let rows: Vec<f32> =
        mnist.pixels().chunks(250 * SIDE * SIDE).flat_map(|bytes| net.rows(&grey(bytes)).unwrap()).collect();
    let logits = Tensor::from_slice(&rows).view([-1, N_FEATURES as i64]).linear(&weight, Some(&bias));
    let digits = Vec::<i64>::try_from(logits.argmax(1, false)).unwrap();
    let n_right = digits.iter().zip(mnist.labels()).filter(|(a, b)| **a == i64::from(**b)).count();
    // 9,821 in f64; rounding may move a digit or two that sits on the border of two classes.
    assert!(n_right.abs_diff(9821) <= 2, "{n_right} of 10000");
}

#[test]
fn features_equal_those_of_the_equations() {
    let Some(root) = data_with("features_equal_those_of_the_equations", IMAGES) else { return };
    let (net, mnist) = (open(&root), mnist(&root));
    let features = net.rows(&grey(mnist.image(0))).unwrap();
    assert_eq!((features.len(), net.n_dims()), (N_FEATURES, N_FEATURES));
    let expected = [0.965_861, 0.978_214, 0.991_263, 0.602_742, -0.902_766, -0.021_883_9];
    for (found, expected) in features.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "expected {expected}, found {found}");
    }
    let sum: f32 = features.iter().sum();
    assert!((sum + 6.852_644).abs() < 1e-4, "sum {sum}");
}

#[test]
fn pictures_of_another_size_or_in_colour_are_refused() {
    let test = "pictures_of_another_size_or_in_colour_are_refused";
    let Some(root) = data_with(test, "weights/lenet_mnist/lenet.safetensors") else { return };
    let net = open(&root);
    let mut coloured = grey(&[0; 2 * SIDE * SIDE]);
    coloured.values[5 * SIDE * SIDE] = 1.0;
    let small = Batch { n: 1, height: 14, width: 56, values: vec![0.0; 3 * SIDE * SIDE] };
    let none = Batch { n: 0, height: SIDE, width: SIDE, values: Vec::new() };
    for (batch, expected) in [
        (none, "at least one picture of 28x28 with 3 planes, found 0 of 28x28"),
        (small, "found 1 of 56x14"),
        (coloured, "grey pictures (equal channels), found picture 1 in colour"),
    ] {
        let message = net.rows(&batch).unwrap_err().to_string();
        assert!(message.starts_with("LeNet-5 takes ") && message.contains(expected), "{message}");
    }
}

#[test]
fn absent_weights_are_named_with_what_to_fetch() {
    let Err(error) = LeNet::open(&Places::default()) else { panic!("nothing is there") };
    let message = error.to_string();
    for part in ["SPECIMEN_DATA", "abdulfatir/gan-metrics-pytorch", "specimen data fetch lenet-mnist"] {
        assert!(message.contains(part), "`{part}` is not in `{message}`");
    }
}
