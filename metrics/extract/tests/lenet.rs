//! LeNet-5 against its published accuracy and against values computed from its equations in f64 (numpy).
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use specimen_datasets::{
    data_root::DataRoot,
    mnist::{Mnist, SIDE},
};
use specimen_extract::{
    extractor::{FeatureExtractor, Pictures},
    lenet::{LeNet, N_FEATURES},
    weights_lookup::Places,
};

/// The real data folder, if `file` is in it; otherwise `test` is skipped.
fn data_with(test: &str, file: &str) -> Option<DataRoot> {
    specimen_testdata::folder_with(test, &[file]).map(DataRoot::new)
}

fn mnist(root: &DataRoot) -> Mnist {
    let file = |name: &str| root.path().join("mnist").join(name);
    Mnist::read(&file("t10k-images-idx3-ubyte.gz"), &file("t10k-labels-idx1-ubyte.gz")).unwrap()
}

fn grey(bytes: &[u8]) -> Pictures {
    Pictures { width: SIDE, height: SIDE, channels: 1, bytes: bytes.to_vec() }
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
    let digits = net.classify(&grey(mnist.pixels())).unwrap();
    let n_right = digits.iter().zip(mnist.labels()).filter(|(a, b)| a == b).count();
    // 9,821 in f64; rounding may move a digit or two that sits on the border of two classes.
    assert!(n_right.abs_diff(9821) <= 2, "{n_right} of 10000");
}

#[test]
fn features_equal_those_of_the_equations() {
    let Some(root) = data_with("features_equal_those_of_the_equations", IMAGES) else { return };
    let (net, mnist) = (open(&root), mnist(&root));
    let features = net.features(&grey(mnist.image(0))).unwrap();
    assert_eq!((features.n_dims, features.rows.len()), (N_FEATURES, N_FEATURES));
    let expected = [0.965_861, 0.978_214, 0.991_263, 0.602_742, -0.902_766, -0.021_883_9];
    for (found, expected) in features.rows.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "expected {expected}, found {found}");
    }
    let sum: f32 = features.rows.iter().sum();
    assert!((sum + 6.852_644).abs() < 1e-4, "sum {sum}");
}

#[test]
fn an_rgb_picture_of_equal_channels_has_the_features_of_the_grey_one() {
    let test = "an_rgb_picture_of_equal_channels_has_the_features_of_the_grey_one";
    let Some(root) = data_with(test, IMAGES) else { return };
    let (net, mnist) = (open(&root), mnist(&root));
    let pixels = &mnist.pixels()[..3 * SIDE * SIDE];
    let rgb = Pictures { channels: 3, bytes: pixels.iter().flat_map(|&p| [p; 3]).collect(), ..grey(&[]) };
    assert_eq!(net.features(&rgb).unwrap(), net.features(&grey(pixels)).unwrap());
}

#[test]
fn pictures_of_another_size_or_in_colour_are_refused() {
    let test = "pictures_of_another_size_or_in_colour_are_refused";
    let Some(root) = data_with(test, "weights/lenet_mnist/lenet.safetensors") else { return };
    let net = open(&root);
    let mut coloured = Pictures { channels: 3, ..grey(&[0; 2 * 3 * SIDE * SIDE]) };
    coloured.bytes[5 * SIDE * SIDE] = 1;
    let cases = [
        (grey(&[]), "in 0 bytes"),
        (grey(&[0; SIDE * SIDE + 1]), "in 785 bytes"),
        (Pictures { width: 14, height: 56, ..grey(&[0; SIDE * SIDE]) }, "14x56"),
        (Pictures { channels: 2, ..grey(&[0; 2 * SIDE * SIDE]) }, "2 channels"),
        (coloured, "picture 1 in colour"),
    ];
    for (pictures, expected) in cases {
        let message = net.classify(&pictures).unwrap_err().to_string();
        assert!(message.contains("28x28 grey") && message.contains(expected), "{message}");
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
