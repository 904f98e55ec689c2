//! Image folders, MNIST and the manifest on the published files.

use crate::presence;
use specimen_datasets::catalog::{OpenOptions, open};
use specimen_datasets::image_folder::ImageFolder;
use specimen_datasets::manifest::{COCO_CAPTIONS, MNIST_IMAGES, MNIST_LABELS, PARTI_PROMPTS, Status};
use specimen_datasets::mnist::Mnist;
use specimen_datasets::reference::prompts_with_reference;
use specimen_datasets::{CaptionPolicy, PromptId};

#[test]
fn photos_are_paired_with_all_their_captions_by_id() {
    let test = "photos_are_paired_with_all_their_captions_by_id";
    let places = ["photos/coco_val2017", "photos/captions_photos40_all.json"];
    let Some(root) = presence::root_with(test, &places) else { return };
    let photos = ImageFolder::scan(&root.path().join(places[0])).unwrap();
    assert_eq!(photos.entries().len(), 40);
    assert_eq!(photos.entries()[0].id, PromptId::number(12_280));
    let options =
        OpenOptions { root: Some(root), caption: Some(CaptionPolicy::All), ..OpenOptions::default() };
    let captions = open(places[1], &options).unwrap();
    let pairs = prompts_with_reference(&captions, &photos).complete().unwrap();
    assert_eq!(pairs.len(), 200);
    for pair in pairs {
        let image_id: u64 = pair.left.image_id.as_ref().unwrap().as_str().parse().unwrap();
        assert!(pair.right.ends_with(format!("{image_id:012}.jpg")));
    }
}

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
    for item in [COCO_CAPTIONS, PARTI_PROMPTS, MNIST_IMAGES, MNIST_LABELS] {
        let test = format!("published_files_have_the_digests_of_the_manifest ({})", item.key);
        let Some(root) = presence::root_with_any(&test, item.places) else { continue };
        let status = item.verify(Some(&root)).unwrap();
        assert!(matches!(status, Status::Present { .. }), "{}: {status:?}", item.key);
    }
}
