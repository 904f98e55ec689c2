//! MNIST and the manifest on the published files.

use crate::presence;
use specimen_datasets::manifest::{Status, item};
use specimen_datasets::mnist::Mnist;

#[test]
fn the_mnist_test_split_has_its_published_class_counts() {
    let test = "the_mnist_test_split_has_its_published_class_counts";
    let places = ["mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"];
    let Some(root) = presence::root_with(test, &places) else { return };
    let [images, labels] = places.map(|place| root.path().join(place));
    let mnist = Mnist::read(&images, &labels).unwrap();
    let mut counts = [0; 10];
    for label in mnist.labels() {
        counts[usize::from(*label)] += 1;
    }
    assert_eq!(counts, [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    assert_eq!(mnist.pixels().len(), 7_840_000);
    assert_eq!(mnist.image(9_999).iter().filter(|pixel| **pixel > 0).count(), 240);
}

#[test]
fn published_files_have_the_digests_of_the_manifest() {
    for key in ["coco2017-val-captions", "parti-prompts", "mnist-test-images", "mnist-test-labels"] {
        let item = item(key);
        let test = format!("published_files_have_the_digests_of_the_manifest ({})", item.key);
        let places: Vec<&str> = item.places.iter().map(String::as_str).collect();
        let Some(root) = presence::root_with_any(&test, &places) else { continue };
        let status = item.verify(Some(&root)).unwrap();
        assert!(matches!(status, Status::Present { .. }), "{}: {status:?}", item.key);
    }
}
